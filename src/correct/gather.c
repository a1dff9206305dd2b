/* Input of the corrections: classes of vertices, the rig's pose in every frame, and residuals. */
#include "correct/correct.h"

#include "core/ball.h"
#include "core/mesh.h"

#include <math.h>

/* ---- Classes ------------------------------------------------------------------------------------------------ */

/* Welds by the pairs' clips, independent of the clips in the model. */
static pelt_result find_classes(px_correction *c) {
    pelt_clip *clips = PX_NEW(c->scratch, pelt_clip, c->pair_count);
    if (!clips)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < c->pair_count; p++)
        clips[p] = *c->pairs[p].clip;
    c->mesh = c->model->mesh;
    PX_TRY(px_weld(c->scratch, &c->mesh, &c->model->morphs, clips, c->pair_count, &c->mesh.weld));
    return px_classes_by_weights(c->scratch, &c->mesh, &c->model->skin, &c->classes);
}

static pelt_result find_shares(px_correction *c) {
    const pelt_mesh *mesh = &c->mesh;
    uint32_t *counts = PX_NEW(c->scratch, uint32_t, mesh->points.count);
    c->shares = PX_NEW(c->scratch, double, c->classes.count);
    if (!counts || !c->shares)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        counts[px_correct_point(c, i)]++;
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        c->shares[pelt_vertex_class(&c->classes, i)] += 1.0 / counts[px_correct_point(c, i)];
    return PELT_OK;
}

/* ---- Poses ------------------------------------------------------------------------------------------------ */

static pelt_result make_poses(px_correction *c) {
    const pelt_model *model = c->model;
    size_t joints = model->skeleton.joint_count, bones = model->skin.bone_count, morphs = model->morphs.morph_count;
    pelt_transform *locals = PX_NEW(c->scratch, pelt_transform, joints);
    pelt_affine *globals = PX_NEW(c->scratch, pelt_affine, joints);
    c->times = PX_NEW(c->scratch, float, c->frame_count);
    c->palettes = PX_NEW(c->scratch, pelt_affine, px_mul_size(c->frame_count, bones));
    c->morph_weights = PX_NEW(c->scratch, float, px_mul_size(c->frame_count, morphs));
    if (!locals || !globals || !c->times || !c->palettes || !c->morph_weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < c->frame_count; k++) {
        uint32_t pair = px_correct_pair_of(c, k);
        const pelt_correct_pair *of = &c->pairs[pair];
        const pelt_motion *motion = of->motion == PELT_NONE ? NULL : &model->motions[of->motion];
        const float *times = of->clip->times;
        double start = motion ? (double)motion->start : (double)times[0];
        c->times[k] = (float)(start + ((double)times[k - c->pair_frames[pair]] - (double)times[0]));
        pelt_motion_sample(model, motion, c->times[k], locals, c->morph_weights + k * morphs);
        pelt_skeleton_globals(&model->skeleton, locals, globals);
        pelt_skin_palette(&model->skin, globals, c->palettes + k * bones);
    }
    return PELT_OK;
}

/* The full blended transform, 3×4. */
static void blend(const px_correction *c, uint32_t class, uint32_t frame, double out[12]) {
    const pelt_skin *skin = &c->model->skin;
    px_skin_blend(skin, c->palettes + (size_t)frame * skin->bone_count, pelt_class_vertex(&c->classes, class), out);
}

void px_correct_blend(const px_correction *c, uint32_t class, uint32_t frame, double out[9]) {
    double whole[12];
    blend(c, class, frame, whole);
    for (int e = 0; e < 9; e++)
        out[e] = whole[e + e / 3];
}

/* ---- Residuals -------------------------------------------------------------------------------------------- */

/* Points of some frames minus the positions of the uncorrected rig. */
static pelt_result residual_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const px_correction *c = user;
    float *points = PX_ALLOC(c->context, float, 3 * (size_t)c->model->mesh.points.count);
    pelt_result result = points ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t k = (uint32_t)first; result == PELT_OK && k < first + count; k++) {
        uint32_t pair = px_correct_pair_of(c, k), number = k - c->pair_frames[pair];
        const pelt_clip *clip = c->pairs[pair].clip;
        const float *weights = c->morph_weights + (size_t)k * c->model->morphs.morph_count;
        result = pelt_clip_read(c->context, clip, number, 0, clip->point_count, points);
        if (result == PELT_OK)
            px_clip_release(clip, clip->point_count);
        for (uint32_t u = 0; result == PELT_OK && u < c->classes.count; u++) {
            uint32_t vertex = pelt_class_vertex(&c->classes, u), point = px_correct_point(c, vertex);
            float *out = c->residuals + ((size_t)u * c->frame_count + k) * 3;
            double rest[3], m[12];
            px_morphed_place(c->model, weights, vertex, rest);
            blend(c, u, k, m);
            for (int a = 0; a < 3; a++) {
                double posed = m[4 * a] * rest[0] + m[4 * a + 1] * rest[1] + m[4 * a + 2] * rest[2] + m[4 * a + 3];
                out[a] = (float)((double)points[3 * (size_t)point + a] - posed);
            }
            if (!isfinite(out[0]) || !isfinite(out[1]) || !isfinite(out[2]))
                result = px_fail(c->context, PELT_ERROR_INPUT,
                                 "clip '%s': frame %u, point %u: its distance from the skin is not finite", clip->name,
                                 number, point);
        }
    }
    px_free(c->context, points);
    return result;
}

static pelt_result pull_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const px_correction *c = user;
    size_t frames = c->frame_count;
    for (size_t u = first; u < first + count; u++)
        for (size_t k = 0; k < frames; k++) {
            const float *e = c->residuals + (u * frames + k) * 3;
            double b[9];
            px_correct_blend(c, (uint32_t)u, (uint32_t)k, b);
            for (size_t a = 0; a < 3; a++)
                c->pulled[(3 * u + a) * frames + k] =
                    (float)(b[a] * (double)e[0] + b[3 + a] * (double)e[1] + b[6 + a] * (double)e[2]);
        }
    return PELT_OK;
}

pelt_result px_correct_gather(px_correction *c) {
    PX_TRY(find_classes(c));
    PX_TRY(find_shares(c));
    PX_TRY(make_poses(c));
    size_t numbers = px_mul_size(px_mul_size(c->classes.count, c->frame_count), 3);
    c->residuals = PX_NEW(c->scratch, float, numbers);
    c->pulled = PX_NEW(c->scratch, float, numbers);
    if (!c->residuals || !c->pulled)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(c->context, "reading", c->frame_count, 4, residual_block, c));
    PX_TRY(px_parallel(c->context, NULL, c->classes.count, PX_CLASS_BLOCK, pull_block, c));
    PX_TRY(px_correct_couple(c));
    const pelt_clip *clip = c->pairs[0].clip;
    pelt_ball ball;
    PX_TRY(px_clip_ball(c->context, clip, &ball, NULL));
    c->radius = ball.radius;
    c->scale = 1000 / (c->radius * sqrt(3.0 * clip->point_count * c->frame_count)); /* of E_rms; see pelt_difference */
    return PELT_OK;
}
