/* Removal of whole key frames: tracks keep their common times, which a file stores once. From each key the next one is as
 * far as every frame between stays within the bound. */
#include "budget/thin.h"

#include <math.h>
#include <pelt/run.h>

#define GAP_MAX 16u /* frames between two keys; bounds the time of the search */

typedef struct thinning {
    pelt_context *context;
    const pelt_model *model;
    const pelt_motion *motion;
    const pelt_clip *clip;
    pelt_motion pair; /* the motion with two keys only */
    float *positions; /* [vertex][3] */
    float *points;    /* [point][3] */
    float pair_times[2];
} thinning;

/* Keys of `track` at two frames. */
static void set_pair(const thinning *t, uint32_t a, uint32_t b) {
    for (uint32_t n = 0; n < t->motion->track_count; n++) {
        const pelt_track *from = &t->motion->tracks[n];
        float *values = (float *)(uintptr_t)t->pair.tracks[n].values;
        size_t width = from->width, one = from->key_count == 1;
        memcpy(values, from->values + (one ? 0 : a * width), width * sizeof *values);
        memcpy(values + width, from->values + (one ? 0 : b * width), width * sizeof *values);
    }
}

static pelt_result frame_distance(thinning *t, uint32_t k, double *distance) {
    const pelt_mesh *mesh = &t->model->mesh;
    double most = 0;
    PX_TRY(
        pelt_model_pose(t->context, t->model, &t->pair, t->clip->times[k], PELT_SKINNING_LINEAR, t->positions, NULL));
    PX_TRY(pelt_clip_read(t->context, t->clip, k, 0, t->clip->point_count, t->points));
    for (size_t p = 0; p < t->clip->point_count; p++) {
        const float *a = t->points + 3 * p, *b = t->positions + 3 * (size_t)pelt_class_vertex(&mesh->points, p);
        double x = (double)a[0] - (double)b[0], y = (double)a[1] - (double)b[1], z = (double)a[2] - (double)b[2];
        most = px_fmax(most, x * x + y * y + z * z);
    }
    *distance = sqrt(most);
    return PELT_OK;
}

/* *fits: all frames between two keys stay within the bound. */
static pelt_result try_gap(thinning *t, uint32_t a, uint32_t b, double bound, bool *fits) {
    t->pair_times[0] = t->clip->times[a];
    t->pair_times[1] = t->clip->times[b];
    set_pair(t, a, b);
    *fits = true;
    for (uint32_t k = a + 1; k < b && *fits; k++) {
        double distance;
        PX_TRY(frame_distance(t, k, &distance));
        *fits = distance <= bound;
    }
    return PELT_OK;
}

static pelt_result find_keys(thinning *t, double bound, uint32_t *keys, uint32_t *count) {
    uint32_t frames = t->clip->frame_count;
    keys[(*count)++] = 0;
    for (uint32_t a = 0, b; a + 1 < frames; a = b) {
        bool fits = true;
        PX_TRY(px_cancelled(t->context));
        for (b = a + 1; fits && b + 1 < frames && b + 1 - a <= GAP_MAX; b += fits)
            PX_TRY(try_gap(t, a, b + 1, bound, &fits));
        keys[(*count)++] = b;
    }
    return PELT_OK;
}

static pelt_result begin(thinning *t, px_arena *scratch) {
    pelt_track *tracks = PX_NEW(scratch, pelt_track, t->motion->track_count);
    t->positions = PX_NEW(scratch, float, 3 * (size_t)t->model->mesh.vertex_count);
    t->points = PX_NEW(scratch, float, 3 * (size_t)t->clip->point_count);
    if (!tracks || !t->positions || !t->points)
        return PELT_ERROR_MEMORY;
    t->pair = *t->motion;
    t->pair.tracks = tracks;
    for (uint32_t n = 0; n < t->motion->track_count; n++) {
        tracks[n] = t->motion->tracks[n];
        tracks[n].key_count = 2;
        tracks[n].times = t->pair_times;
        if (!(tracks[n].values = PX_NEW(scratch, float, 2 * (size_t)tracks[n].width)))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

static pelt_result take_keys(pelt_context *context, pelt_model *model, pelt_motion *motion, const pelt_clip *clip,
                             const uint32_t *keys, uint32_t count) {
    float *times = pelt_model_alloc(context, model, count, sizeof *times);
    pelt_track *tracks = pelt_model_alloc(context, model, motion->track_count, sizeof *tracks);
    if (!times || !tracks)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < count; k++)
        times[k] = clip->times[keys[k]];
    for (uint32_t n = 0; n < motion->track_count; n++) {
        pelt_track *track = &tracks[n];
        *track = motion->tracks[n];
        if (track->key_count == 1)
            continue;
        size_t width = track->width;
        float *values = pelt_model_alloc(context, model, count, width * sizeof *values);
        if (!values)
            return PELT_ERROR_MEMORY;
        for (size_t k = 0; k < count; k++)
            memcpy(values + k * width, track->values + keys[k] * width, width * sizeof *values);
        track->values = values;
        track->times = times;
        track->key_count = count;
    }
    motion->tracks = tracks;
    return PELT_OK;
}

pelt_result px_thin_keys(pelt_context *context, pelt_model *model, pelt_motion *motion, const pelt_clip *clip,
                         double bound, uint32_t *key_count) {
    thinning t = {.context = context, .model = model, .motion = motion, .clip = clip};
    *key_count = clip->frame_count;
    for (uint32_t n = 0; n < motion->track_count; n++)
        if (motion->tracks[n].key_count != 1 && motion->tracks[n].key_count != clip->frame_count)
            return PELT_OK;
    px_arena *scratch = px_arena_create(context);
    uint32_t *keys = scratch ? PX_NEW(scratch, uint32_t, clip->frame_count) : NULL, count = 0;
    pelt_result result = keys ? begin(&t, scratch) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = find_keys(&t, bound, keys, &count);
    if (result == PELT_OK && count < clip->frame_count)
        result = take_keys(context, model, motion, clip, keys, count);
    if (result == PELT_OK)
        *key_count = count;
    px_arena_destroy(scratch);
    return result;
}
