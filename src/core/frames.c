/* Motions as sampled frames: see frames.h. */
#include "core/frames.h"

#include <math.h>

pelt_result px_frames_create(pelt_model *model, const uint8_t *moves, uint32_t frame_count, px_frames *frames) {
    uint32_t joint_count = model->skeleton.joint_count;
    *frames = (px_frames){.frame_count = frame_count,
                          .times = PX_NEW(model->memory, float, frame_count),
                          .translations = PX_NEW(model->memory, float *, joint_count),
                          .rotations = PX_NEW(model->memory, float *, joint_count)};
    if (!frames->times || !frames->translations || !frames->rotations)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < joint_count; j++) {
        if (moves[j] & PX_MOVES_TRANSLATION &&
            !(frames->translations[j] = PX_NEW(model->memory, float, (size_t)3 * frame_count)))
            return PELT_ERROR_MEMORY;
        if (moves[j] & PX_MOVES_ROTATION &&
            !(frames->rotations[j] = PX_NEW(model->memory, float, (size_t)4 * frame_count)))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

/* q and −q are the same rotation. Some players interpolate without choosing the shorter arc, so consecutive keys get
 * the same sign. */
static void join_signs(float *rotations, uint32_t count) {
    for (size_t k = 1; k < count; k++) {
        float *q = rotations + 4 * k, dot = 0;
        for (int c = 0; c < 4; c++)
            dot += q[c] * q[c - 4];
        for (int c = 0; c < 4 && dot < 0; c++)
            q[c] = -q[c];
    }
}

static void add_track(pelt_motion *motion, const px_frames *frames, uint32_t joint, pelt_path path, float *values) {
    if (!values)
        return;
    motion->tracks[motion->track_count++] = (pelt_track){.joint = joint,
                                                         .path = path,
                                                         .interpolation = PELT_INTERPOLATION_LINEAR,
                                                         .width = path == PELT_PATH_ROTATION ? 4 : 3,
                                                         .key_count = frames->frame_count,
                                                         .times = frames->times,
                                                         .values = values};
}

pelt_result px_frames_add_motion(pelt_model *model, const px_frames *frames, const char *name) {
    uint32_t joint_count = model->skeleton.joint_count;
    pelt_motion motion = {.name = name, .tracks = PX_NEW(model->memory, pelt_track, (size_t)2 * joint_count)};
    pelt_motion *motions = PX_NEW(model->memory, pelt_motion, (size_t)model->motion_count + 1);
    if (!motion.tracks || !motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < joint_count && frames->frame_count; j++) {
        if (frames->rotations[j])
            join_signs(frames->rotations[j], frames->frame_count);
        add_track(&motion, frames, j, PELT_PATH_TRANSLATION, frames->translations[j]);
        add_track(&motion, frames, j, PELT_PATH_ROTATION, frames->rotations[j]);
    }
    if (motion.track_count == 0)
        return PELT_OK;
    motion.start = frames->times[0];
    motion.end = frames->times[frames->frame_count - 1];
    if (model->motion_count)
        memcpy(motions, model->motions, model->motion_count * sizeof *motions);
    motions[model->motion_count++] = motion;
    model->motions = motions;
    return PELT_OK;
}

/* ---- Rates ------------------------------------------------------------------------------------------------ */

#define DEFAULT_FPS 30.0     /* where keys are not at regular times */
#define MAX_FRAMES  8640000u /* a day at 100 per second: beyond, times are damaged rather than long */

/* A motion that ends this little of a frame after a frame ends at it: key times are rounded to float. */
#define FRAME_SLACK 1e-3

static double rate_of_keys(const pelt_motion *motion) {
    const pelt_track *longest = NULL;
    for (uint32_t t = 0; t < motion->track_count; t++)
        if (!longest || motion->tracks[t].key_count > longest->key_count)
            longest = &motion->tracks[t];
    if (!longest || longest->key_count < 2)
        return DEFAULT_FPS;
    const float *times = longest->times;
    double first = times[0], step = ((double)times[longest->key_count - 1] - first) / (longest->key_count - 1);
    for (uint32_t k = 0; k < longest->key_count; k++)
        if (!(fabs(first + step * k - (double)times[k]) <= 0.05 * step)) /* times in files are rounded */
            return DEFAULT_FPS;
    return isfinite(1 / step) ? 1 / step : DEFAULT_FPS;
}

double px_motion_key_step(const pelt_motion *motion) {
    return 1 / rate_of_keys(motion);
}

double px_motion_steps(double duration, double fps) {
    return ceil(duration * fps - FRAME_SLACK);
}

pelt_result px_motion_frames(pelt_context *context, const pelt_motion *motion, double fps, double *rate,
                             uint32_t *frame_count) {
    double duration = (double)motion->end - (double)motion->start;
    *rate = fps > 0 ? fps : rate_of_keys(motion);
    double frames = px_motion_steps(duration, *rate) + 1;
    if (!(frames >= 1 && frames <= MAX_FRAMES))
        return px_fail(context, PELT_ERROR_INPUT,
                       "motion '%s' lasts %g s, which would be %g frames: too long; use fewer frames per second",
                       motion->name, duration, frames);
    *frame_count = (uint32_t)frames;
    if (frames - 1 > duration * *rate + FRAME_SLACK)
        *rate = (frames - 1) / duration;
    return PELT_OK;
}

float px_motion_frame_time(const pelt_motion *motion, double rate, uint32_t frame_count, uint32_t frame) {
    return frame > 0 && frame + 1 == frame_count ? motion->end : (float)((double)motion->start + frame / rate);
}
