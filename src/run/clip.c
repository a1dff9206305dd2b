/* A clip whose frames are evaluated from a motion when they are read. */
#include "core/frames.h"
#include "run/skin.h"

#include <math.h>

typedef struct motion_clip {
    const pelt_model *model;   /* borrowed: arrays replaced in the model later do not change the clip */
    const pelt_motion *motion; /* NULL: rest pose */
    pelt_skinning skinning;
    const float *times;              /* [frame] */
    pelt_weight_gradients gradients; /* set with the normals */
} motion_clip;

/* ---- Reading ---------------------------------------------------------------------------------------------- */

/* For points whose vertices are not contiguous: poses the whole range of vertices between the lowest and the
 * highest, then picks from it. */
static pelt_result read_scattered(pelt_context *context, const px_pose *pose, const uint32_t *vertices, uint32_t count,
                                  float *out) {
    uint32_t lowest = vertices[0], highest = vertices[0];
    for (uint32_t p = 1; p < count; p++) {
        lowest = vertices[p] < lowest ? vertices[p] : lowest;
        highest = vertices[p] > highest ? vertices[p] : highest;
    }
    size_t run = (size_t)highest - lowest + 1;
    float *posed = px_alloc(context, run, 3 * sizeof *posed);
    if (!posed)
        return PELT_ERROR_MEMORY;
    px_pose_range(pose, lowest, run, posed, NULL);
    for (uint32_t p = 0; p < count; p++)
        memcpy(out + (size_t)3 * p, posed + (size_t)3 * (vertices[p] - lowest), 3 * sizeof *out);
    px_free(context, posed);
    return PELT_OK;
}

/* Called inside parallel loops of the caller: uses no threads, and allocates its own scratch memory. */
static pelt_result read_frame(pelt_context *context, const void *user, uint32_t frame, uint32_t first, uint32_t count,
                              float *out) {
    const motion_clip *clip = user;
    if (count == 0)
        return PELT_OK;
    px_pose pose;
    PX_TRY(px_pose_make(context, clip->model, clip->motion, clip->times[frame], clip->skinning, &pose));
    pelt_result result = PELT_OK;
    if (clip->model->mesh.points.of)
        result = read_scattered(context, &pose, clip->model->mesh.points.first + first, count, out);
    else
        px_pose_range(&pose, first, count, out, NULL);
    px_pose_free(&pose);
    return result;
}

static pelt_result read_normals(pelt_context *context, const void *user, uint32_t frame, bool by_vertex, uint32_t first,
                                uint32_t count, float *out) {
    const motion_clip *clip = user;
    px_pose pose;
    PX_TRY(px_pose_make(context, clip->model, clip->motion, clip->times[frame], clip->skinning, &pose));
    pose.gradients = clip->gradients;
    float(*rows)[PELT_NORMAL_RULES][3] = (void *)out;
    for (uint32_t p = 0; p < count; p++)
        px_pose_normals(&pose, by_vertex ? first + p : pelt_class_vertex(&clip->model->mesh.points, first + p),
                        rows[p]);
    px_pose_free(&pose);
    return PELT_OK;
}

/* ---- Making ----------------------------------------------------------------------------------------------- */

static pelt_result count_frames(pelt_context *context, const pelt_motion *motion, double fps, double *rate,
                                uint32_t *frame_count) {
    *frame_count = 1;
    if (!motion)
        return PELT_OK;
    if (!(fps > 0) || !isfinite(fps))
        return px_fail(context, PELT_ERROR_USAGE, "frames per second must be more than 0, not %g", fps);
    return px_motion_frames(context, motion, fps, rate, frame_count);
}

static const float *make_times(pelt_model *model, const pelt_motion *motion, double rate, uint32_t frame_count) {
    float *times = PX_NEW(model->memory, float, frame_count);
    for (uint32_t k = 0; times && motion && k < frame_count; k++)
        times[k] = px_motion_frame_time(motion, rate, frame_count, k);
    return times;
}

static pelt_result make_clip(pelt_model *model, const pelt_motion *motion, const float *times, uint32_t frame_count,
                             pelt_skinning skinning, pelt_clip *clip) {
    pelt_model *borrowed;
    motion_clip *user = PX_NEW(model->memory, motion_clip, 1);
    if (!user)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_model_borrow(model->memory, model, &borrowed));
    *user = (motion_clip){.model = borrowed, .motion = motion, .skinning = skinning, .times = times};
    *clip = (pelt_clip){
        .name = motion ? motion->name : "rest",
        .frame_count = frame_count,
        .point_count = model->mesh.points.count,
        .times = times,
        .source = {.read = read_frame, .user = user},
    };
    return PELT_OK;
}

pelt_result pelt_clip_from_motion(pelt_context *context, pelt_model *model, const pelt_motion *motion, double fps,
                                  pelt_skinning skinning, pelt_clip *clip) {
    *clip = (pelt_clip){.name = ""};
    uint32_t frame_count;
    double rate = fps;
    PX_TRY(count_frames(context, motion, fps, &rate, &frame_count));
    px_result_begin(model);
    const float *times = make_times(model, motion, rate, frame_count);
    return px_result_end(model,
                         times ? make_clip(model, motion, times, frame_count, skinning, clip) : PELT_ERROR_MEMORY);
}

pelt_result pelt_clip_from_motion_at(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                     const float *times, uint32_t frame_count, pelt_skinning skinning,
                                     pelt_clip *clip) {
    *clip = (pelt_clip){.name = ""};
    for (uint32_t k = 0; k < frame_count; k++)
        if (!isfinite(times[k]) || (k > 0 && times[k] < times[k - 1]))
            return px_fail(context, PELT_ERROR_USAGE, "the time of frame %u is not finite or before the one before", k);
    px_result_begin(model);
    float *copy = PX_NEW(model->memory, float, frame_count);
    if (copy && frame_count > 0)
        memcpy(copy, times, frame_count * sizeof *copy);
    return px_result_end(model, copy ? make_clip(model, motion, copy, frame_count, skinning, clip) : PELT_ERROR_MEMORY);
}

void pelt_clip_free(pelt_model *model, pelt_clip *clip) {
    px_arena_free_result(model->memory, clip->times);
    *clip = (pelt_clip){.name = ""};
}

static pelt_result add_normals(pelt_context *context, pelt_model *model, pelt_clip *clip) {
    const motion_clip *old = clip->source.user;
    pelt_model *posed; /* as the clip was made, with today's weld */
    motion_clip *user = PX_NEW(model->memory, motion_clip, 1);
    if (!user)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_model_borrow(model->memory, old->model, &posed));
    posed->mesh.weld = model->mesh.weld;
    *user = *old;
    user->model = posed;
    if (!posed->mesh.normals) {
        float *normals = PX_NEW(model->memory, float, 3 * (size_t)model->mesh.vertex_count);
        if (!normals)
            return PELT_ERROR_MEMORY;
        PX_TRY(pelt_mesh_normals(context, &model->mesh, posed->mesh.positions, normals));
        posed->mesh.normals = normals;
    }
    if (posed->skin.bone_count)
        PX_TRY(pelt_skin_gradients(context, posed, &user->gradients));
    clip->source.user = user;
    clip->source.read_normals = read_normals;
    return PELT_OK;
}

pelt_result pelt_clip_skin_normals(pelt_context *context, pelt_model *model, pelt_clip *clip) {
    if (clip->source.read != read_frame)
        return px_fail(context, PELT_ERROR_USAGE, "clip '%s' is not one of a motion: no skin moves its normals",
                       clip->name);
    PX_TRY(pelt_model_weld(context, model));
    px_arena_open_result(model->memory, clip->times);
    return px_result_end(model, add_normals(context, model, clip));
}
