/* Evaluates a model at a time of a motion: local transforms, global transforms, palette; then morphs and skins the
 * vertices. */
#include "core/math3.h"
#include "core/skin.h"
#include "run/skin.h"

/* Vertices morphed at a time, on the stack: 12 KB, which stays in the L1 cache until they are skinned. */
#define MORPH_VERTICES 512
/* Same as in pelt_skin_run_threads. */
#define BLOCK_VERTICES 4096

/* ---- Palette and morph weights ---------------------------------------------------------------------------- */

static pelt_result make_palette(px_pose *pose, const pelt_transform *locals, const float *sliders) {
    const pelt_model *model = pose->model;
    pelt_affine *globals = PX_NEW(pose->scratch, pelt_affine, model->skeleton.joint_count);
    pose->palette = PX_NEW(pose->scratch, pelt_affine, model->skin.bone_count);
    if (!globals || !pose->palette)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    if (sliders)
        pelt_slider_globals(&model->sliders, sliders, globals);
    pelt_skin_palette(&model->skin, globals, pose->palette);
    if (pose->skinning != PELT_SKINNING_DUAL_QUATERNION)
        return PELT_OK;
    uint32_t bones = model->skin.bone_count;
    pelt_affine *stretches = PX_NEW(pose->scratch, pelt_affine, bones);
    pose->dual_quaternions = PX_NEW(pose->scratch, pelt_dual_quaternion, bones);
    if (!stretches || !pose->dual_quaternions)
        return PELT_ERROR_MEMORY;
    pelt_dual_quaternions(pose->palette, bones, pose->dual_quaternions);
    if (pelt_stretches(pose->palette, pose->dual_quaternions, bones, stretches))
        pose->stretches = stretches;
    return PELT_OK;
}

/* Sets the pose from local transforms [joint], morph weights [morph] and values of sliders (or NULL); `weights` must outlive
 * the pose. */
static pelt_result take_pose(px_pose *pose, const pelt_transform *locals, const float *weights, const float *sliders) {
    const pelt_model *model = pose->model;
    for (uint32_t t = 0; t < model->morphs.morph_count; t++)
        if (weights[t] != 0)
            pose->weights = weights;
    return model->skin.bone_count ? make_palette(pose, locals, sliders) : PELT_OK;
}

static pelt_result fill_pose(px_pose *pose, const pelt_motion *motion, float time) {
    const pelt_model *model = pose->model;
    pelt_transform *locals = PX_NEW(pose->scratch, pelt_transform, model->skeleton.joint_count);
    float *weights = PX_NEW(pose->scratch, float, model->morphs.morph_count);
    if (!locals || !weights)
        return PELT_ERROR_MEMORY;
    pelt_motion_sample(model, motion, time, locals, weights);
    return take_pose(pose, locals, weights, NULL);
}

pelt_result px_pose_make(pelt_context *context, const pelt_model *model, const pelt_motion *motion, float time,
                         pelt_skinning skinning, px_pose *pose) {
    *pose = (px_pose){.model = model, .skinning = skinning, .scratch = px_arena_create(context)};
    if (!pose->scratch)
        return PELT_ERROR_MEMORY;
    pelt_result result = fill_pose(pose, motion, time);
    if (result != PELT_OK)
        px_pose_free(pose);
    return result;
}

void px_pose_free(px_pose *pose) {
    px_arena_destroy(pose->scratch);
    *pose = (px_pose){0};
}

/* ---- The vertices ----------------------------------------------------------------------------------------- */

/* Skins rest or morphed arrays that begin at vertex `first`. */
static void skin_range(const px_pose *pose, size_t first, size_t count, const float *positions, const float *normals,
                       float *out_positions, float *out_normals) {
    const pelt_skin *skin = &pose->model->skin;
    pelt_skin_job job = {
        .vertex_count = (uint32_t)count,
        .influence_count = skin->influence_count,
        .bones = skin->bones + first * skin->influence_count,
        .weights = skin->weights + first * skin->influence_count,
        .palette = pose->palette,
        .dual_quaternions = pose->dual_quaternions,
        .stretches = pose->stretches,
        .skinning = pose->skinning,
        .positions = positions,
        .normals = out_normals ? normals : NULL,
        .out_positions = out_positions,
        .out_normals = out_normals,
    };
    job.exact = true;
    pelt_skin_run(&job);
}

/* Normalises morphed normals if there is no skin; the skinning kernel normalises the others. */
static void normalize_all(float *normals, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float *n = normals + 3 * i;
        double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
        for (int c = 0; c < 3 && length > 0; c++)
            n[c] = (float)(n[c] / length);
    }
}

static void morph_range(const px_pose *pose, size_t first, size_t count, float *out_positions, float *out_normals) {
    const pelt_model *model = pose->model;
    if (!pose->palette) {
        px_morph_range(&model->mesh, &model->morphs, pose->weights, first, count, out_positions, out_normals, NULL);
        if (out_normals)
            normalize_all(out_normals, count);
        return;
    }
    for (size_t done = 0; done < count;) {
        float positions[3 * MORPH_VERTICES], normals[3 * MORPH_VERTICES];
        size_t n = px_min_size(MORPH_VERTICES, count - done);
        px_morph_range(&model->mesh, &model->morphs, pose->weights, first + done, n, positions,
                       out_normals ? normals : NULL, NULL);
        skin_range(pose, first + done, n, positions, normals, out_positions + 3 * done,
                   out_normals ? out_normals + 3 * done : NULL);
        done += n;
    }
}

void px_pose_range(const px_pose *pose, size_t first, size_t count, float *out_positions, float *out_normals) {
    const pelt_mesh *mesh = &pose->model->mesh;
    if (count == 0)
        return;
    if (pose->weights) {
        morph_range(pose, first, count, out_positions, out_normals);
    } else if (pose->palette) {
        skin_range(pose, first, count, mesh->positions + 3 * first, out_normals ? mesh->normals + 3 * first : NULL,
                   out_positions, out_normals);
    } else {
        memcpy(out_positions, mesh->positions + 3 * first, 3 * count * sizeof(float));
        if (out_normals)
            memcpy(out_normals, mesh->normals + 3 * first, 3 * count * sizeof(float));
    }
}

/* Adds Σ (palette · place) gradientᵀ to `linear`: the change of the weights along the surface. */
static void add_gradients(const px_pose *pose, uint32_t vertex, const float place[3], double linear[9]) {
    const pelt_weight_gradients *g = &pose->gradients;
    for (uint32_t n = g->offsets[vertex]; n < g->offsets[vertex + 1]; n++) {
        const float *m = pose->palette[g->entries[n].bone].m;
        for (int e = 0; e < 9; e++) {
            const float *row = m + e / 3 * 4;
            double moved = (double)row[0] * place[0] + (double)row[1] * place[1] + (double)row[2] * place[2] + row[3];
            linear[e] += moved * (double)g->scales[vertex] * g->entries[n].value[e % 3];
        }
    }
}

void px_pose_normals(const px_pose *pose, uint32_t vertex, float out[PELT_NORMAL_RULES][3]) {
    const pelt_model *model = pose->model;
    double m[12], linear[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, rest[3], shown[PELT_NORMAL_RULES][3];
    float place[3], normal[3];
    if (pose->dual_quaternions) {
        px_pose_range(pose, vertex, 1, place, out[0]);
        for (int rule = 1; rule < PELT_NORMAL_RULES; rule++)
            memcpy(out[rule], out[0], sizeof out[0]);
        return;
    }
    memcpy(normal, model->mesh.normals + 3 * (size_t)vertex, sizeof normal);
    memcpy(place, model->mesh.positions + 3 * (size_t)vertex, sizeof place);
    if (pose->weights)
        px_morph_range(&model->mesh, &model->morphs, pose->weights, vertex, 1, place, normal, NULL);
    if (pose->palette)
        px_skin_blend(&model->skin, pose->palette, vertex, m);
    for (int e = 0; e < 9 && pose->palette; e++)
        linear[e] = m[e + e / 3];
    for (int c = 0; c < 3; c++)
        rest[c] = (double)normal[c];
    px_skin_direction(linear, rest, shown[PELT_NORMALS_MATRIX]);
    px_skin_normal(linear, rest, shown[PELT_NORMALS_INVERSE]);
    if (pose->palette && pose->gradients.offsets)
        add_gradients(pose, vertex, place, linear);
    px_skin_normal(linear, rest, shown[PELT_NORMALS_ACCURATE]);
    for (int e = 0; e < 3 * PELT_NORMAL_RULES; e++)
        out[e / 3][e % 3] = (float)shown[e / 3][e % 3];
}

/* ---- Whole models ----------------------------------------------------------------------------------------- */

typedef struct pose_task {
    px_pose pose;
    float *positions, *normals; /* normals may be NULL */
} pose_task;

static pelt_result pose_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const pose_task *task = user;
    px_pose_range(&task->pose, first, count, task->positions + 3 * first,
                  task->normals ? task->normals + 3 * first : NULL);
    return PELT_OK;
}

/* Evaluates all vertices on threads, then frees the pose. */
static pelt_result pose_all(pelt_context *context, px_pose *pose, float *out_positions, float *out_normals) {
    pose_task task = {*pose, out_positions, out_normals};
    pelt_result result = px_parallel(context, NULL, pose->model->mesh.vertex_count, BLOCK_VERTICES, pose_block, &task);
    px_pose_free(pose);
    return result;
}

static pelt_result check_normals(pelt_context *context, const pelt_model *model, const float *out_normals) {
    if (out_normals && !model->mesh.normals)
        return px_fail(context, PELT_ERROR_USAGE, "normals are wanted, but the mesh has none");
    return PELT_OK;
}

pelt_result pelt_model_pose(pelt_context *context, const pelt_model *model, const pelt_motion *motion, float time,
                            pelt_skinning skinning, float *out_positions, float *out_normals) {
    px_pose pose;
    PX_TRY(check_normals(context, model, out_normals));
    PX_TRY(px_pose_make(context, model, motion, time, skinning, &pose));
    return pose_all(context, &pose, out_positions, out_normals);
}

static pelt_result pose_given(pelt_context *context, const pelt_model *model, const pelt_transform *locals,
                              const float *weights, const float *sliders, pelt_skinning skinning, float *out_positions,
                              float *out_normals) {
    PX_TRY(check_normals(context, model, out_normals));
    px_pose pose = {.model = model, .skinning = skinning, .scratch = px_arena_create(context)};
    if (!pose.scratch)
        return PELT_ERROR_MEMORY;
    pelt_result result = take_pose(&pose, locals, weights, sliders);
    if (result == PELT_OK)
        return pose_all(context, &pose, out_positions, out_normals);
    px_pose_free(&pose);
    return result;
}

pelt_result pelt_model_pose_locals(pelt_context *context, const pelt_model *model, const pelt_transform *locals,
                                   const float *weights, pelt_skinning skinning, float *out_positions,
                                   float *out_normals) {
    return pose_given(context, model, locals, weights, NULL, skinning, out_positions, out_normals);
}

pelt_result pelt_model_pose_sliders(pelt_context *context, const pelt_model *model, const pelt_transform *locals,
                                    const float *sliders, pelt_skinning skinning, float *out_positions,
                                    float *out_normals) {
    float *weights = PX_ALLOC(context, float, model->morphs.morph_count);
    if (!weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->morphs.morph_count; m++)
        weights[m] = model->morphs.morphs[m].weight;
    pelt_slider_weights(&model->sliders, sliders, weights);
    pelt_result result = pose_given(context, model, locals ? locals : model->skeleton.rest, weights, sliders, skinning,
                                    out_positions, out_normals);
    px_free(context, weights);
    return result;
}
