/* Motions as frames. */
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

/* q and −q are the same rotation; players that interpolate carelessly want neighbours on one side. */
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

double px_motion_rate(const pelt_motion *motion, double other) {
    const pelt_track *longest = NULL;
    for (uint32_t t = 0; t < motion->track_count; t++)
        if (!longest || motion->tracks[t].key_count > longest->key_count)
            longest = &motion->tracks[t];
    if (!longest || longest->key_count < 2)
        return other;
    const float *times = longest->times;
    double first = times[0], step = ((double)times[longest->key_count - 1] - first) / (longest->key_count - 1);
    for (uint32_t k = 0; k < longest->key_count; k++)
        if (!(fabs(first + step * k - (double)times[k]) <= 0.05 * step)) /* times in files are rounded */
            return other;
    return isfinite(1 / step) ? 1 / step : other;
}

uint32_t px_motion_frame_count(const pelt_motion *motion, double rate) {
    double frames = floor(((double)motion->end - (double)motion->start) * rate + 1e-3) + 1;
    return frames < 1 ? 1 : frames < PELT_NONE ? (uint32_t)frames : PELT_NONE - 1;
}
