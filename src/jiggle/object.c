/* pelt_jiggle: creation, poses, time, vertices. */
#include "jiggle/object.h"

#include "core/math3.h"
#include "core/mesh.h"
#include "jiggle/rigid.h"

#include <pelt/run.h>

/* Fraction of a substep: times closer to its end coincide with it, so that rounding in sums of steps does not skip
 * it. */
#define TIME_TOLERANCE 1e-6

/* ---- Creation --------------------------------------------------------------------------------------------- */

/* Weights of a model without a skin, or where the settings do not ask for its skin. */
static pelt_result (*const by_heat[])(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                      const px_lattice *lattice, const px_jiggle_heat *heat,
                                      px_weight_table *weights) = {
    [PELT_JIGGLE_WEIGHTS_SKIN] = px_jiggle_weights_by_heat,
    [PELT_JIGGLE_WEIGHTS_LATTICE] = px_jiggle_weights_by_heat,
    [PELT_JIGGLE_WEIGHTS_ITERATED] = px_jiggle_weights_by_iteration,
};

static pelt_result make_weights(pelt_jiggle *j, pelt_context *context) {
    uint32_t joint_count = j->model->skeleton.joint_count;
    if (j->desc.weights == PELT_JIGGLE_WEIGHTS_SKIN && j->model->skin.bone_count > 0)
        return px_jiggle_weights_from_skin(context, j->arena, &j->subject, &j->lattice, &j->weights);
    px_jiggle_heat *heat = PX_NEW(j->arena, px_jiggle_heat, joint_count);
    if (!heat)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < joint_count; n++)
        heat[n] = (px_jiggle_heat){1, 1};
    for (uint32_t n = 0; n < j->desc.joint_count; n++) {
        const pelt_jiggle_joint *from = &j->desc.joints[n];
        heat[from->joint].strength = from->strength > 0 ? from->strength : 1;
        heat[from->joint].width = from->width > 0 ? from->width : 1;
    }
    return by_heat[j->desc.weights](context, j->arena, &j->subject, &j->lattice, heat, &j->weights);
}

/* Normals of the mesh in the rest pose; smooth normals where it has none. */
static pelt_result make_normals(pelt_jiggle *j, pelt_context *context, float **out) {
    const pelt_mesh *mesh = &j->model->mesh;
    size_t floats = 3 * (size_t)mesh->vertex_count;
    float *normals = *out = PX_NEW(j->arena, float, floats);
    if (!normals)
        return PELT_ERROR_MEMORY;
    if (!mesh->normals)
        return pelt_mesh_normals(context, mesh, j->subject.positions, normals);
    float *positions = PX_ALLOC(context, float, floats);
    if (!positions)
        return PELT_ERROR_MEMORY;
    pelt_result result = pelt_model_pose(context, j->model, NULL, 0, PELT_SKINNING_LINEAR, positions, normals);
    px_free(context, positions);
    return result;
}

static pelt_result make_mesh(pelt_jiggle *j, const px_lattice *lattice, const px_jiggle_kernels *kernels,
                             const float *normals, px_mesh_embedding *mesh) {
    PX_TRY(px_mesh_embedding_make(j->arena, lattice, kernels, normals, mesh));
    return px_mesh_shape_make(j->arena, j->model, normals, mesh);
}

/* Without skin weights, the rig's skinning does not describe the particles: hold nothing. */
static pelt_result make_hold(pelt_jiggle *j, pelt_context *context) {
    if (j->desc.weights != PELT_JIGGLE_WEIGHTS_SKIN || j->model->skin.bone_count == 0)
        return PELT_OK;
    bool *rigid;
    PX_TRY(px_rigid_find(j->arena, &j->subject, &j->desc, &rigid));
    return px_hold_make(context, j->arena, &j->subject, &j->lattice, &j->weights, &j->detail, &j->thickness, rigid,
                        &j->hold);
}

static pelt_result make_state(pelt_jiggle *j) {
    const pelt_skeleton *skeleton = &j->model->skeleton;
    size_t floats = 4 * px_jiggle_padded(j->lattice.particle_count);
    PX_TRY(px_path_make(j->arena, skeleton, &j->path));
    j->locals = PX_NEW(j->arena, pelt_transform, skeleton->joint_count);
    j->globals = PX_NEW(j->arena, pelt_affine, skeleton->joint_count);
    j->globals_before = PX_NEW(j->arena, pelt_affine, skeleton->joint_count);
    j->skin = PX_NEW(j->arena, float, floats);
    j->shown = PX_NEW(j->arena, float, floats);
    j->volumes = PX_NEW(j->arena, pelt_jiggle_volume, j->primary.part_count + j->detail.primary.part_count);
    if (!j->locals || !j->globals || !j->globals_before || !j->skin || !j->shown || !j->volumes)
        return PELT_ERROR_MEMORY;
    pelt_jiggle_reset(j);
    return PELT_OK;
}

static pelt_result fill(pelt_jiggle *j, pelt_context *context) {
    const px_jiggle_kernels *kernels = px_jiggle_kernels_of(pelt_simd_best());
    float *normals, low[3], high[3];
    PX_TRY(px_jiggle_check(context, j->model, &j->desc));
    PX_TRY(px_jiggle_subject_make(context, j->arena, j->model, &j->subject));
    PX_TRY(px_jiggle_lattice(context, j->arena, &j->subject, j->desc.cells, j->desc.particles, &j->lattice));
    PX_TRY(make_weights(j, context));
    PX_TRY(px_jiggle_parts_make(j->arena, &j->subject, &j->lattice, &j->weights, &j->desc, &j->parts));
    PX_TRY(px_primary_make(j->arena, &j->subject, &j->lattice, &j->weights, &j->parts, &j->desc, &j->primary));
    PX_TRY(make_normals(j, context, &normals));
    PX_TRY(px_thickness_make(j->arena, &j->subject, &j->lattice, &j->weights, &j->thickness));
    PX_TRY(px_swing_make(j->arena, &j->subject, &j->lattice, &j->weights, &j->thickness, kernels, normals, &j->desc,
                         &j->swing));
    if (j->desc.weights == PELT_JIGGLE_WEIGHTS_SKIN)
        PX_TRY(px_detail_make(context, j->arena, &j->subject, &j->lattice, &j->desc, &j->detail));
    px_detail_relieve(&j->detail, &j->primary);
    PX_TRY(px_detail_rest(j->arena, &j->detail, &j->lattice, &j->rest));
    PX_TRY(make_mesh(j, &j->rest, kernels, normals, &j->mesh));
    PX_TRY(make_mesh(j, &j->detail.lattice, kernels, normals, &j->detail.mesh));
    PX_TRY(make_hold(j, context));
    j->jump = j->desc.teleport * px_box(j->subject.positions, j->model->mesh.vertex_count, low, high);
    return make_state(j);
}

pelt_result pelt_jiggle_create(pelt_context *context, pelt_model *model, const pelt_jiggle_desc *desc,
                               pelt_jiggle **jiggle) {
    *jiggle = NULL;
    PX_TAKE_DESC(context, jiggle, desc, settings);
    px_arena *arena = px_arena_create(context);
    pelt_jiggle *j = arena ? PX_NEW(arena, pelt_jiggle, 1) : NULL;
    if (!j) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    px_arena_keep(model->memory);
    *j = (pelt_jiggle){.arena = arena, .model = model, .desc = settings};
    const char *subject = px_subject(context, model->path[0] ? model->path : NULL);
    pelt_result result = fill(j, context);
    px_subject(context, subject);
    if (result == PELT_OK)
        *jiggle = j;
    else
        px_arena_destroy(arena);
    return result;
}

void pelt_jiggle_destroy(pelt_jiggle *jiggle) {
    if (jiggle)
        px_arena_destroy(jiggle->arena);
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

void pelt_jiggle_set_pose(pelt_jiggle *j, const pelt_transform *locals) {
    px_path_aim(&j->path, locals);
    if (j->fresh)
        pelt_jiggle_reset(j);
    j->fresh = false;
}

/* Evaluates the path of the joints at `part`, and the primary motion of that pose. */
static void move_skin(pelt_jiggle *j, double part, double seconds) {
    px_path_at(&j->path, part, seconds, j->locals);
    pelt_skeleton_globals(&j->model->skeleton, j->locals, j->globals);
    memcpy(j->skin, px_primary_move(&j->primary, j->globals, (float)j->desc.volume),
           4 * px_jiggle_padded(j->lattice.particle_count) * sizeof *j->skin);
}

void pelt_jiggle_reset(pelt_jiggle *j) {
    px_primary_reset(&j->primary);
    px_path_stop(&j->path);
    move_skin(j, 1, 0);
    memcpy(j->globals_before, j->globals, j->model->skeleton.joint_count * sizeof *j->globals);
    px_swing_reset(&j->swing, j->skin, j->primary.pass.turns);
    px_swing_show(&j->swing, j->skin, 0, j->shown);
    j->waiting = 0;
    j->fresh = true;
}

/* Returns true if a joint moves farther in the coming step than pelt_jiggle_desc.teleport allows. */
static bool jumps(pelt_jiggle *j) {
    px_path_at(&j->path, 1, 0, j->locals);
    pelt_skeleton_globals(&j->model->skeleton, j->locals, j->globals);
    for (uint32_t n = 0; j->jump > 0 && n < j->model->skeleton.joint_count; n++) {
        const float *a = j->globals_before[n].m, *b = j->globals[n].m;
        if (px_hypot(px_hypot((double)b[3] - a[3], (double)b[7] - a[7]), (double)b[11] - a[11]) > j->jump)
            return true;
    }
    memcpy(j->globals_before, j->globals, j->model->skeleton.joint_count * sizeof *j->globals);
    return false;
}

/* ---- Time ------------------------------------------------------------------------------------------------- */

/* Resets the simulation at the new pose. */
static void jump(pelt_jiggle *j) {
    double waiting = j->waiting;
    pelt_jiggle_reset(j);
    j->waiting = waiting;
    j->fresh = false;
    j->jump_count++;
}

void pelt_jiggle_step(pelt_jiggle *j, double seconds) {
    double h = j->desc.substep;
    seconds = seconds > 0 ? px_fmin(seconds, 1) : 0;
    if (jumps(j))
        jump(j);
    double count = floor((j->waiting + seconds) / h + TIME_TOLERANCE), left = j->waiting + seconds - count * h;
    if (seconds > 0)
        px_path_leave(&j->path, seconds);
    for (double n = 1; n <= count; n++) {
        double part = seconds > 0 ? (n * h - j->waiting) / seconds : 1;
        move_skin(j, part < 1 - TIME_TOLERANCE ? part : 1, seconds);
        px_swing_step(&j->swing, j->skin, j->globals);
    }
    j->waiting = left > TIME_TOLERANCE * h ? left : 0;
    if (j->waiting > 0 || count == 0)
        move_skin(j, 1, seconds);
    px_swing_show(&j->swing, j->skin, j->waiting, j->shown);
    if (seconds > 0)
        px_path_arrive(&j->path, seconds);
}

void px_jiggle_vertices(const pelt_jiggle *j, const float *particles, float *positions, float *normals) {
    px_detail detail = j->detail; /* copy of a const struct; only the scratch arrays it points to are written */
    px_hold_pose(&j->hold, &detail, j->globals);
    particles = px_hold_particles(&j->hold.coarse, particles);
    px_mesh_embedding_run(&j->mesh, particles, positions, normals);
    if (detail.lattice.particle_count > 0) {
        particles = px_detail_move(&detail, &j->primary, j->skin, particles);
        px_mesh_embedding_run(&detail.mesh, px_hold_particles(&j->hold.fine, particles), positions, normals);
    }
    px_hold_vertices(&j->hold, &j->mesh, &detail.mesh, j->globals, positions, normals);
}

void pelt_jiggle_positions(const pelt_jiggle *j, float *positions, float *normals) {
    px_jiggle_vertices(j, j->shown, positions, normals);
}

/* ---- Changes ---------------------------------------------------------------------------------------------- */

void pelt_jiggle_set_forces(pelt_jiggle *j, const pelt_jiggle_forces *forces) {
    px_swing_set_forces(&j->swing, forces);
}

void pelt_jiggle_set_weights(pelt_jiggle *j, const float *weights) {
    px_mesh_shape_set(&j->mesh, weights);
    px_mesh_shape_set(&j->detail.mesh, weights);
}

void pelt_jiggle_set_collider(pelt_jiggle *j, uint32_t index, const pelt_collider *collider) {
    px_swing_set_collider(&j->swing, index, collider);
}

void pelt_jiggle_set_grab(pelt_jiggle *j, const pelt_jiggle_grab *grab) {
    px_swing_set_grab(&j->swing, j->shown, grab);
}

void pelt_jiggle_set_values(pelt_jiggle *j, const pelt_jiggle_joint *joints, uint32_t joint_count,
                            const pelt_jiggle_maps *maps) {
    px_swing_set_values(&j->swing, joints, joint_count, maps);
}

void pelt_jiggle_get_values(const pelt_jiggle *j, pelt_jiggle_value value, float *out) {
    const px_values *v = &j->swing.values;
    const float *particles[] = {[PELT_JIGGLE_VALUE_STIFFNESS] = v->stiffness,
                                [PELT_JIGGLE_VALUE_DAMPING] = v->damping,
                                [PELT_JIGGLE_VALUE_DELTA] = v->deltas,
                                [PELT_JIGGLE_VALUE_PIN] = v->pins};
    px_values_at_vertices(v, particles[value], out);
}

/* ---- Reports ---------------------------------------------------------------------------------------------- */

pelt_jiggle_report pelt_jiggle_get_report(pelt_jiggle *j) {
    px_primary_report(&j->primary, j->volumes);
    uint32_t volume_count = px_detail_report(&j->detail, &j->primary, j->volumes);
    return (pelt_jiggle_report){.cell_count = j->lattice.cell_count,
                                .particle_count = j->lattice.particle_count,
                                .pinned_count = px_values_pinned(&j->swing.values),
                                .cell = (double)j->lattice.cell,
                                .volume_count = volume_count,
                                .volumes = j->volumes,
                                .teleport_count = j->jump_count};
}

pelt_jiggle_lattice pelt_jiggle_get_lattice(const pelt_jiggle *j) {
    return (pelt_jiggle_lattice){.cell_count = j->lattice.cell_count,
                                 .particle_count = j->lattice.particle_count,
                                 .cells = (const uint32_t(*)[8])j->lattice.cells,
                                 .positions = (const float(*)[4])j->shown};
}
