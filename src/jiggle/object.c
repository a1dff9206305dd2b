/* The stepping object: made once, then poses in and vertices out. */
#include "jiggle/object.h"
#include "core/math3.h"

#include <pelt/run.h>

struct pelt_jiggle {
    px_arena *arena;
    pelt_model *model;
    pelt_jiggle_desc desc;
    pelt_affine *globals; /* [joint] */
    pelt_affine *palette; /* [bone] */
    float *normals;       /* [vertex][3] at rest */
};

static pelt_result fill(pelt_jiggle *j, pelt_context *context) {
    pelt_model *model = j->model;
    PX_TRY(px_jiggle_check(context, model, &j->desc));
    PX_TRY(pelt_model_weld(context, model));
    j->globals = PX_NEW(j->arena, pelt_affine, model->skeleton.joint_count);
    j->palette = PX_NEW(j->arena, pelt_affine, model->skin.bone_count);
    j->normals = PX_NEW(j->arena, float, 3 * (size_t)model->mesh.vertex_count);
    if (!j->globals || !j->palette || !j->normals)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_mesh_normals(context, &model->mesh, NULL, j->normals));
    pelt_jiggle_set_pose(j, model->skeleton.rest);
    return PELT_OK;
}

pelt_result pelt_jiggle_create(pelt_context *context, pelt_model *model, const pelt_jiggle_desc *desc,
                               pelt_jiggle **jiggle) {
    *jiggle = NULL;
    px_arena *arena = px_arena_create(context);
    pelt_jiggle *j = arena ? PX_NEW(arena, pelt_jiggle, 1) : NULL;
    if (!j) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    *j = (pelt_jiggle){.arena = arena, .model = model, .desc = desc ? *desc : pelt_jiggle_desc_default()};
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

void pelt_jiggle_set_pose(pelt_jiggle *j, const pelt_transform *locals) {
    pelt_skeleton_globals(&j->model->skeleton, locals, j->globals);
    pelt_skin_palette(&j->model->skin, j->globals, j->palette);
}

void pelt_jiggle_step(pelt_jiggle *j, double seconds) {
    (void)j, (void)seconds;
}

void pelt_jiggle_positions(const pelt_jiggle *j, float *positions, float *normals) {
    const pelt_mesh *mesh = &j->model->mesh;
    const pelt_skin *skin = &j->model->skin;
    if (skin->bone_count == 0) {
        memcpy(positions, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof *positions);
        return;
    }
    pelt_skin_run(&(pelt_skin_job){.vertex_count = mesh->vertex_count,
                                   .influence_count = skin->influence_count,
                                   .bones = skin->bones,
                                   .weights = skin->weights,
                                   .palette = j->palette,
                                   .positions = mesh->positions,
                                   .normals = normals ? j->normals : NULL,
                                   .out_positions = positions,
                                   .out_normals = normals});
}

void pelt_jiggle_reset(pelt_jiggle *j) {
    (void)j;
}

void pelt_jiggle_set_forces(pelt_jiggle *j, const pelt_jiggle_forces *forces) {
    j->desc.forces = *forces;
}

void pelt_jiggle_set_collider(pelt_jiggle *j, uint32_t index, const pelt_collider *collider) {
    (void)j, (void)index, (void)collider;
}

void pelt_jiggle_set_values(pelt_jiggle *j, const pelt_jiggle_joint *joints, uint32_t joint_count,
                            const pelt_jiggle_maps *maps) {
    (void)j, (void)joints, (void)joint_count, (void)maps;
}

pelt_jiggle_report pelt_jiggle_tell(const pelt_jiggle *j) {
    (void)j;
    return (pelt_jiggle_report){0};
}

pelt_jiggle_lattice pelt_jiggle_lattice_now(const pelt_jiggle *j) {
    (void)j;
    return (pelt_jiggle_lattice){0};
}
