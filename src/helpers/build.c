/* Joints, tracks and bones of helpers. A helper is a child of the joint of its bone, and rests where that bone's inverse bind
 * matrix puts it: without tracks it moves as the bone does. */
#include "core/frames.h"
#include "core/math3.h"
#include "core/mesh.h"
#include "decompose/nodes.h"
#include "helpers/helpers.h"

/* Key reduction may move vertices by this fraction of the mesh's diagonal. */
#define KEY_TOLERANCE  2e-5
#define MIN_INFLUENCES 4u

static const double identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

typedef struct build {
    px_helper_plan *plan;
    pelt_model *model;
    px_arena *memory;    /* of the model */
    uint32_t node_count; /* helpers */
    px_bone_node *nodes; /* [helper] */
    double *matrices;    /* [helper][frame of all motions][12] of paths */
    float *times;        /* [frame of all motions] */
    uint32_t *firsts;    /* [motion + 1] first frame */
    double reach;        /* half the diagonal of the mesh, object units */
    pelt_skeleton skeleton;
    pelt_skin skin;
    pelt_motion *motions;
} build;

/* The bone that a helper is attached to. */
static uint32_t host_of(const build *b, uint32_t helper) {
    return b->plan->pairs[helper / 2].bones[helper % 2];
}

/* ---- Paths ------------------------------------------------------------------------------------------------ */

/* The origin of the joint of b at the time of binding: bones turn about it. */
static void joint_place(const pelt_model *model, uint32_t bone, double out[3]) {
    pelt_affine bind = px_affine_identity();
    px_affine_inverse(&model->skin.inverse_binds[bone], &bind);
    for (int c = 0; c < 3; c++)
        out[c] = (double)bind.m[4 * c + 3];
}

static void find_reach(build *b) {
    float low[3], high[3];
    double size = px_box(b->model->mesh.positions, b->model->mesh.vertex_count, low, high);
    b->reach = size > 0 ? 0.5 * size : 1;
}

static pelt_result make_nodes(build *b) {
    const px_helper_plan *plan = b->plan;
    const pelt_skin *skin = &b->model->skin;
    bool nested = plan->desc.transforms == PELT_HELPERS_AFFINE;
    const px_bone_kind *kind = nested ? &px_bone_affine : &px_bone_rigid;
    b->node_count = 2 * plan->pair_count;
    if (!(b->nodes = PX_NEW(plan->arena, px_bone_node, b->node_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t h = 0; h < b->node_count; h++) {
        double pivot[3];
        joint_place(b->model, plan->pairs[h / 2].bones[1], pivot);
        b->nodes[h] = px_bone_node_make(kind, b->model->skeleton.joint_count + (nested ? 2 * h + 1 : h),
                                        &skin->inverse_binds[host_of(b, h)], pivot);
    }
    return PELT_OK;
}

/* Matrices of all helpers in all frames. */
static pelt_result make_paths(build *b) {
    const px_helper_plan *plan = b->plan;
    const pelt_model *model = b->model;
    size_t total = plan->frame_count, at = 0;
    b->matrices = PX_NEW(plan->arena, double, px_mul_size(px_mul_size(b->node_count, total), 12));
    b->times = PX_NEW(plan->arena, float, total);
    b->firsts = PX_NEW(plan->arena, uint32_t, (size_t)model->motion_count + 1);
    pelt_transform *locals = PX_NEW(plan->arena, pelt_transform, model->skeleton.joint_count);
    pelt_affine *globals = PX_NEW(plan->arena, pelt_affine, model->skeleton.joint_count);
    px_helper_bones bones;
    PX_TRY(px_helper_bones_alloc(plan->arena, model, &bones));
    if (!b->matrices || !b->times || !b->firsts || !locals || !globals)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        double rate;
        uint32_t frames;
        PX_TRY(px_motion_frames(plan->context, &model->motions[m], plan->desc.fps, &rate, &frames));
        for (uint32_t k = 0; k < frames; k++, at++) {
            PX_TRY(px_progress(plan->context, "helper bones", at, total));
            b->times[at] = px_motion_frame_time(&model->motions[m], rate, frames, k);
            pelt_motion_sample(model, &model->motions[m], b->times[at], locals, NULL);
            px_helper_bones_pose(model, locals, globals, &bones);
            for (uint32_t n = 0; n < plan->pair_count; n++) {
                double controls[2][12];
                px_helper_controls(&bones, plan->pairs[n].bones[0], plan->pairs[n].bones[1], plan->desc.transforms,
                                   controls[0], controls[1]);
                for (uint32_t h = 2 * n; h < 2 * n + 2; h++)
                    px_bone_node_matrix(&b->nodes[h], controls[h % 2], b->matrices + 12 * (h * total + at));
            }
        }
        b->firsts[m + 1] = (uint32_t)at;
    }
    return PELT_OK;
}

/* Axes and scales of a nested helper, common to all motions. */
static pelt_result choose_frame(void *user, size_t h, size_t count, size_t block) {
    (void)count, (void)block;
    const build *b = user;
    const px_helper_plan *plan = b->plan;
    px_bone_path *paths = PX_ALLOC(plan->context, px_bone_path, b->model->motion_count);
    if (!paths)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < b->model->motion_count; m++)
        paths[m] = (px_bone_path){.kind = b->nodes[h].kind,
                                  .turn = b->nodes[h].turn,
                                  .frame_count = b->firsts[m + 1] - b->firsts[m],
                                  .matrices = b->matrices + 12 * (h * plan->frame_count + b->firsts[m])};
    px_keys_frame(paths, b->model->motion_count, &b->nodes[h].frame);
    px_free(plan->context, paths);
    return PELT_OK;
}

/* ---- Joints ----------------------------------------------------------------------------------------------- */

/* "wrist_helper_1"; with the other joint's name where it is not the parent: several pairs may have the same joint. */
static const char *joint_name(build *b, uint32_t h, const char *suffix) {
    const pelt_skeleton *s = &b->model->skeleton;
    const uint32_t *bones = b->plan->pairs[h / 2].bones, *joints = b->model->skin.bone_joints;
    px_buffer text = {.context = b->plan->context};
    px_buffer_format(&text, "%s_", s->names[joints[bones[1]]]);
    if (s->parents[joints[bones[1]]] != joints[bones[0]])
        px_buffer_format(&text, "%s_", s->names[joints[bones[0]]]);
    px_buffer_format(&text, "helper_%u%s", h % 2 + 1, suffix);
    const char *name = text.failed ? NULL : px_arena_text(b->memory, text.data, text.size);
    px_buffer_free(&text);
    return name;
}

static pelt_result build_skeleton(build *b) {
    const pelt_skeleton *old = &b->model->skeleton;
    bool nested = b->nodes[0].kind->nested;
    pelt_skeleton *s = &b->skeleton;
    PX_TRY(px_skeleton_extend(b->memory, old, (nested ? 2 : 1) * b->node_count, s));
    for (uint32_t h = 0; h < b->node_count; h++) {
        const px_bone_node *node = &b->nodes[h];
        double matrix[12];
        px_bone_node_matrix(node, identity, matrix);
        PX_TRY(px_bone_node_rest(b->plan->arena, node, matrix, b->model->skin.bone_joints[host_of(b, h)], s));
        if (!(s->names[node->joint] = joint_name(b, h, "")))
            return PELT_ERROR_MEMORY;
        if (nested && !(s->names[node->joint - 1] = joint_name(b, h, "_outer")))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

/* ---- Motions ---------------------------------------------------------------------------------------------- */

static pelt_result build_motions(build *b) {
    const px_helper_plan *plan = b->plan;
    const pelt_model *model = b->model;
    if (!(b->motions = PX_NEW(b->memory, pelt_motion, model->motion_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->motion_count; m++) {
        const pelt_motion *from = &model->motions[m];
        pelt_motion *to = &b->motions[m];
        *to = *from;
        if (!(to->tracks = PX_NEW(b->memory, pelt_track, from->track_count + 4 * (size_t)b->node_count)))
            return PELT_ERROR_MEMORY;
        memcpy(to->tracks, from->tracks, from->track_count * sizeof *to->tracks);
        px_node_times times = {.times = b->times + b->firsts[m],
                               .key_count = b->firsts[m + 1] - b->firsts[m],
                               .move = 2 * KEY_TOLERANCE * b->reach,
                               .reach = b->reach};
        for (uint32_t h = 0; h < b->node_count; h++) {
            const double *matrices = b->matrices + 12 * ((size_t)h * plan->frame_count + b->firsts[m]);
            PX_TRY(px_progress(plan->context, "helper tracks", (uint64_t)m * b->node_count + h,
                               (uint64_t)model->motion_count * b->node_count));
            PX_TRY(px_bone_node_tracks(b->memory, &b->nodes[h], &b->skeleton, matrices, &times, to));
        }
    }
    return PELT_OK;
}

/* ---- Skin ------------------------------------------------------------------------------------------------- */

static pelt_result build_skin(build *b) {
    const pelt_skin *old = &b->model->skin;
    pelt_skin *skin = &b->skin;
    uint32_t wanted = b->plan->desc.influences;
    skin->bone_count = old->bone_count + b->node_count;
    skin->influence_count = wanted                                  ? wanted
                            : old->influence_count < MIN_INFLUENCES ? MIN_INFLUENCES
                                                                    : old->influence_count;
    size_t size = px_mul_size(b->model->mesh.vertex_count, skin->influence_count);
    skin->bone_joints = PX_NEW(b->memory, uint32_t, skin->bone_count);
    skin->inverse_binds = PX_NEW(b->memory, pelt_affine, skin->bone_count);
    skin->bones = PX_NEW(b->memory, uint16_t, size);
    skin->weights = PX_NEW(b->memory, float, size);
    if (!skin->bone_joints || !skin->inverse_binds || !skin->bones || !skin->weights)
        return PELT_ERROR_MEMORY;
    memcpy(skin->bone_joints, old->bone_joints, old->bone_count * sizeof *skin->bone_joints);
    memcpy(skin->inverse_binds, old->inverse_binds, old->bone_count * sizeof *skin->inverse_binds);
    for (uint32_t h = 0; h < b->node_count; h++) {
        skin->bone_joints[old->bone_count + h] = b->nodes[h].joint;
        skin->inverse_binds[old->bone_count + h] = px_bone_node_bind(&b->nodes[h]);
    }
    return px_helper_weights(b->plan, skin);
}

pelt_result px_helper_build(px_helper_plan *plan, pelt_helper_bones_report *report) {
    pelt_model *model = plan->model;
    build b = {.plan = plan, .model = model, .memory = model->memory};
    report->pair_count = plan->pair_count;
    report->pairs = plan->pairs;
    report->frame_count = plan->frame_count;
    report->influence_count = model->skin.influence_count;
    if (plan->pair_count == 0)
        return PELT_OK;
    find_reach(&b);
    PX_TRY(make_nodes(&b));
    PX_TRY(make_paths(&b));
    if (b.nodes[0].kind->nested)
        PX_TRY(px_parallel(plan->context, NULL, b.node_count, 1, choose_frame, &b));
    PX_TRY(build_skeleton(&b));
    PX_TRY(build_motions(&b));
    PX_TRY(build_skin(&b));
    report->bone_count = b.node_count;
    report->joint_count = b.skeleton.joint_count - model->skeleton.joint_count;
    report->influence_count = b.skin.influence_count;
    model->skeleton = b.skeleton;
    model->skin = b.skin;
    model->motions = b.motions;
    model->changed |= PELT_CHANGED_SKELETON | PELT_CHANGED_SKIN | PELT_CHANGED_MOTIONS;
    return PELT_OK;
}
