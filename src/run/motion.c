/* Cutting a motion, and closing a cycle that omits its last key. */
#include "core/frames.h"
#include "core/mesh.h"
#include "run/skin.h"

#include <math.h>

#define NEAR_KEY   1e-6 /* seconds: a key this close to an end of a part coincides with it */
#define MAX_GAP    1.5  /* steps: a pose farther from the last one is not its successor */
#define MIN_STEPS  4.0  /* steps of a motion: with fewer, its direction is unknown */
#define MIN_COSINE 0.5  /* between the step that closes a cycle and its neighbours */

/* ---- Tracks ------------------------------------------------------------------------------------------------ */

/* A track under construction. */
typedef struct draft {
    pelt_track *track;
    float *times, *values; /* writable arrays of `track` */
} draft;

/* Makes an empty track with capacity for `key_count` keys. */
static pelt_result make_track(pelt_model *model, const pelt_track *like, size_t key_count, pelt_track *track,
                              draft *out) {
    size_t width = like->width * (like->interpolation == PELT_INTERPOLATION_CUBIC ? (size_t)3 : 1);
    *out = (draft){.track = track,
                   .times = PX_NEW(model->memory, float, key_count),
                   .values = PX_NEW(model->memory, float, px_mul_size(key_count, width))};
    *track = *like;
    track->key_count = 0;
    track->times = out->times;
    track->values = out->values;
    return out->times && out->values ? PELT_OK : PELT_ERROR_MEMORY;
}

static float *key_values(const draft *d, uint32_t key, int tangent) {
    bool cubic = d->track->interpolation == PELT_INTERPOLATION_CUBIC;
    size_t rows = cubic ? 3 * (size_t)key + (size_t)(1 + tangent) : key;
    return d->values + rows * d->track->width;
}

/* Appends the value of `from` at time `at`, with key time `time`. */
static void add_sample(const pelt_track *from, float at, float time, const draft *out) {
    uint32_t key = out->track->key_count++;
    out->times[key] = time;
    bool cubic = from->interpolation == PELT_INTERPOLATION_CUBIC;
    float *value = key_values(out, key, 0);
    px_track_sample(from, at, true, value, cubic ? key_values(out, key, -1) : NULL);
    if (!cubic)
        return;
    px_track_sample(from, at, false, value, key_values(out, key, 1));
    double length2 = 0;
    for (uint32_t c = 0; c < from->width; c++)
        length2 += (double)value[c] * (double)value[c];
    if (from->path != PELT_PATH_ROTATION || !(length2 > 0))
        return;
    for (int tangent = -1; tangent < 2; tangent++) /* keys of rotations are unit quaternions */
        for (uint32_t c = 0; c < 4; c++)
            key_values(out, key, tangent)[c] = (float)((double)key_values(out, key, tangent)[c] / sqrt(length2));
}

static void add_key(const pelt_track *from, uint32_t key, float time, const draft *out) {
    size_t floats = from->width * (from->interpolation == PELT_INTERPOLATION_CUBIC ? (size_t)3 : 1);
    uint32_t made = out->track->key_count++;
    out->times[made] = time;
    memcpy(out->values + floats * made, from->values + floats * key, floats * sizeof *out->values);
}

static float last_time(const draft *d) {
    return d->times[d->track->key_count - 1];
}

/* ---- Parts ------------------------------------------------------------------------------------------------- */

static pelt_result cut_track(pelt_model *model, const pelt_track *track, double first, double last, double shift,
                             pelt_track *cut) {
    draft out;
    PX_TRY(make_track(model, track, (size_t)track->key_count + 2, cut, &out));
    add_sample(track, (float)first, (float)(first - shift), &out);
    if (track->key_count == 1)
        return PELT_OK;
    for (uint32_t k = 0; k < track->key_count; k++) {
        double time = (double)track->times[k];
        if (time > first + NEAR_KEY && time < last - NEAR_KEY && (float)(time - shift) > last_time(&out))
            add_key(track, k, (float)(time - shift), &out);
    }
    if ((float)(last - shift) > last_time(&out))
        add_sample(track, (float)last, (float)(last - shift), &out);
    return PELT_OK;
}

pelt_result pelt_motion_part(pelt_context *context, pelt_model *model, const pelt_motion *motion, double from,
                             double to, pelt_motion *part) {
    double start = (double)motion->start, end = px_fmin((double)motion->end, start + to), first = start + from;
    *part = *motion;
    if (!(from >= 0 && first <= end))
        return px_fail(context, PELT_ERROR_USAGE, "nothing of motion '%s', which lasts %.4g s, is between %g and %g s",
                       motion->name, (double)motion->end - start, from, to);
    if (from == 0 && end >= (double)motion->end)
        return PELT_OK;
    px_result_begin(model);
    pelt_track *tracks = PX_NEW(model->memory, pelt_track, motion->track_count);
    pelt_result result = tracks ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < motion->track_count && result == PELT_OK; t++)
        result = cut_track(model, &motion->tracks[t], first, end, from, &tracks[t]);
    if (result == PELT_OK) {
        part->tracks = tracks;
        part->end = (float)(end - from);
    }
    return px_result_end(model, result);
}

void pelt_motion_free(pelt_model *model, pelt_motion *motion) {
    px_arena_free_result(model->memory, motion->tracks);
    *motion = (pelt_motion){.name = ""};
}

/* ---- Cycles ------------------------------------------------------------------------------------------------ */

/* poses: vertices at the start, one step after it, one step before the end, at the end. Returns true if the first
 * pose follows the last one by one step. */
static bool misses_key(float *const poses[4], uint32_t vertex_count, double size) {
    double gap = 0, step = 0, along = 0, lengths[2] = {0, 0};
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i += 3) {
        double far[3] = {0, 0, 0};
        for (size_t c = i; c < i + 3; c++) {
            double closing = (double)poses[0][c] - (double)poses[3][c];
            double behind = (double)poses[1][c] - (double)poses[0][c],
                   before = (double)poses[3][c] - (double)poses[2][c];
            double beside = 0.5 * (behind + before);
            far[0] += closing * closing;
            far[1] += behind * behind;
            far[2] += before * before;
            along += closing * beside;
            lengths[0] += closing * closing;
            lengths[1] += beside * beside;
        }
        gap = px_fmax(gap, sqrt(far[0]));
        step = px_fmax(step, sqrt(px_fmax(far[1], far[2])));
    }
    return gap > PX_CYCLE_APART * size && gap <= MAX_GAP * step && along > MIN_COSINE * sqrt(lengths[0] * lengths[1]);
}

static pelt_result find_missing(pelt_context *context, const pelt_model *model, const pelt_motion *motion, double step,
                                bool *missing) {
    uint32_t count = model->mesh.vertex_count;
    double times[4] = {motion->start, motion->start + step, motion->end - step, motion->end};
    float *poses[4], low[3], high[3], *all = px_alloc(context, px_mul_size(12, count), sizeof *all);
    pelt_result result = all ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t n = 0; result == PELT_OK && n < 4; n++) {
        poses[n] = all + n * 3 * (size_t)count;
        result = pelt_model_pose(context, model, motion, (float)times[n], PELT_SKINNING_LINEAR, poses[n], NULL);
    }
    if (result == PELT_OK)
        *missing = misses_key(poses, count, px_box(poses[0], count, low, high));
    px_free(context, all);
    return result;
}

/* Appends the value at the start as a key after the end. */
static pelt_result close_track(pelt_model *model, const pelt_track *track, const pelt_motion *motion, float time,
                               pelt_track *closed) {
    draft out;
    *closed = *track;
    if (track->key_count == 1)
        return PELT_OK;
    PX_TRY(make_track(model, track, (size_t)track->key_count + 2, closed, &out));
    for (uint32_t k = 0; k < track->key_count; k++)
        add_key(track, k, track->times[k], &out);
    if (last_time(&out) < motion->end)
        add_sample(track, motion->end, motion->end, &out);
    add_sample(track, motion->start, time, &out);
    uint32_t last = closed->key_count - 1;
    float *now = key_values(&out, last, 0), *before = key_values(&out, last - 1, 0), dot = 0;
    if (track->interpolation == PELT_INTERPOLATION_CUBIC) { /* outer tangents of the end keys are not used */
        size_t size = track->width * sizeof *now;
        memcpy(key_values(&out, last, -1), key_values(&out, last, 1), size);
        memcpy(key_values(&out, last - 1, 1), key_values(&out, last - 1, -1), size);
    }
    for (uint32_t c = 0; track->path == PELT_PATH_ROTATION && c < 4; c++)
        dot += now[c] * before[c];
    for (int tangent = -1; dot < 0 && tangent < 2; tangent++)
        for (uint32_t c = 0; c < 4; c++)
            if (tangent == 0 || track->interpolation == PELT_INTERPOLATION_CUBIC)
                key_values(&out, last, tangent)[c] *= -1;
    return PELT_OK;
}

pelt_result pelt_motion_close(pelt_context *context, pelt_model *model, const pelt_motion *motion, pelt_motion *closed,
                              double *added) {
    double step = px_motion_key_step(motion), duration = (double)motion->end - (double)motion->start;
    bool missing = false;
    *closed = *motion;
    *added = 0;
    if (!(duration >= MIN_STEPS * step) || model->mesh.vertex_count == 0)
        return PELT_OK;
    PX_TRY(find_missing(context, model, motion, step, &missing));
    if (!missing)
        return PELT_OK;
    float end = (float)((double)motion->end + step);
    px_result_begin(model);
    pelt_track *tracks = PX_NEW(model->memory, pelt_track, motion->track_count);
    pelt_result result = tracks ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < motion->track_count && result == PELT_OK; t++)
        result = close_track(model, &motion->tracks[t], motion, end, &tracks[t]);
    if (result == PELT_OK) {
        closed->tracks = tracks;
        closed->end = end;
        *added = (double)end - (double)motion->end;
    }
    return px_result_end(model, result);
}
