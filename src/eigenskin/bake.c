/* Motions get the weights that drivers give their poses: keys where rotations have theirs, and as many between as linear
 * interpolation needs. */
#include "eigenskin/apply.h"

#include <stdlib.h>

/* Between keys vertices may be displaced wrongly by this part of the size. */
#define TOLERANCE 1e-4
/* The step from a key to the next is halved so often at most: rotations may jump there. */
#define MAX_DEPTH 6

typedef struct bake_work {
    px_eigenskin_apply_work *w;
    pelt_model posed;          /* with the new morphs, and the new drivers alone */
    const pelt_motion *motion; /* */
    pelt_transform *locals;    /* [joint] scratch */
    float *sampled;            /* [old morph] scratch */
    float *rows;               /* [MAX_DEPTH + 4][morph of `posed`] weights at the times in hand */
    float *limits;             /* [added] how far a weight may be off */
    px_buffer times;           /* floats: those of the keys, ascending */
} bake_work;

/* weights [morph of `posed`]. */
static void weights_at(const bake_work *b, double time, float *weights) {
    pelt_motion_sample(&b->posed, b->motion, (float)time, b->locals, NULL);
    pelt_pose_weights(&b->posed, b->locals, weights);
}

/* ---- Times ------------------------------------------------------------------------------------------------ */

/* Between two times, at u from 0 to 1 of the way; leaves the weights there in `row`. */
static bool is_straight(const bake_work *b, float first, float last, double u, const float *before, const float *after,
                        float *row) {
    weights_at(b, (1 - u) * (double)first + u * (double)last, row);
    for (uint32_t m = 0; m < b->w->added_count; m++) {
        uint32_t at = b->w->places[m];
        double linear = (1 - u) * (double)before[at] + u * (double)after[at];
        if (fabs((double)row[at] - linear) > (double)b->limits[m])
            return false;
    }
    return true;
}

/* Adds the times that are needed after the first up to the last. `before` and `after` are the weights there, `rows` has
 * room for more. A quarter tells curves that cross the line in the middle. */
static void add_times(bake_work *b, float first, float last, int depth, const float *before, const float *after,
                      float *rows) {
    float middle = (float)(((double)first + (double)last) / 2), *next = rows + b->posed.morphs.morph_count;
    bool divides = depth < MAX_DEPTH && middle > first && middle < last;
    if (!divides || (is_straight(b, first, last, 0.25, before, after, rows) &&
                     is_straight(b, first, last, 0.5, before, after, rows))) {
        px_buffer_add(&b->times, &last, sizeof last);
        return;
    }
    weights_at(b, (double)middle, rows);
    add_times(b, first, middle, depth + 1, before, rows, next);
    add_times(b, middle, last, depth + 1, rows, after, next);
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool drives(const bake_work *b, uint32_t joint) {
    for (uint32_t d = 0; d < b->posed.driver_count; d++)
        if (b->posed.drivers[d].joint == joint)
            return true;
    return false;
}

/* Fills `times`: none when no joint that drives turns. */
static pelt_result find_times(bake_work *b) {
    px_buffer keys = {.context = b->w->e->context};
    size_t morphs = b->posed.morphs.morph_count;
    float *before = b->rows, *after = b->rows + morphs;
    b->times.size = 0;
    for (uint32_t t = 0; t < b->motion->track_count; t++) {
        const pelt_track *track = &b->motion->tracks[t];
        if (track->path == PELT_PATH_ROTATION && drives(b, track->joint))
            px_buffer_add(&keys, track->times, track->key_count * sizeof(float));
    }
    const float *times = (const float *)(const void *)keys.data;
    size_t count = keys.failed ? 0 : keys.size / sizeof *times;
    if (count) {
        qsort(keys.data, count, sizeof *times, compare_floats);
        px_buffer_add(&b->times, times, sizeof *times);
        weights_at(b, (double)times[0], before);
    }
    for (size_t k = 1; k < count; k++) {
        if (times[k] == times[k - 1])
            continue;
        weights_at(b, (double)times[k], after);
        add_times(b, times[k - 1], times[k], 0, before, after, b->rows + 2 * morphs);
        memcpy(before, after, morphs * sizeof *before);
    }
    bool failed = keys.failed || b->times.failed;
    px_buffer_free(&keys);
    return failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Tracks ----------------------------------------------------------------------------------------------- */

static pelt_result bake_group(bake_work *b, uint32_t group, pelt_motion *out) {
    px_eigenskin_apply_work *w = b->w;
    const px_morph_group *g = &w->groups[group];
    pelt_model *model = w->e->model;
    pelt_track *old = px_weights_track(out, g->joint), track;
    const float *times = (const float *)(const void *)b->times.data;
    uint32_t count = (uint32_t)(b->times.size / sizeof *times);
    float *values;
    if (w->widths[group] == g->old_count)
        return PELT_OK;
    if (count == 0)
        return old ? px_weights_widen(model->memory, w->widths[group], old) : PELT_OK;
    PX_TRY(px_weights_rekey(model, b->motion, g, w->widths[group], times, count, b->sampled, &track, &values));
    for (uint32_t k = 0; k < track.key_count; k++) {
        weights_at(b, (double)track.times[k], b->rows);
        for (uint32_t m = 0; m < w->added_count; m++)
            if (w->added[m].joint == g->joint)
                values[(size_t)k * track.width + w->added[m].index] = b->rows[w->places[m]];
    }
    px_motion_set_weights(out, &track);
    return PELT_OK;
}

static pelt_result bake_motion(bake_work *b, const pelt_motion *motion, pelt_motion *out) {
    b->motion = motion;
    PX_TRY(find_times(b));
    PX_TRY(px_motion_extend(b->w->e->model->memory, motion, b->w->group_count, out));
    for (uint32_t g = 0; g < b->w->group_count; g++)
        PX_TRY(bake_group(b, g, out));
    return PELT_OK;
}

/* The weight of a morph may be off by what displaces some vertex by the tolerance. */
static float limit_of(const px_eigenskin *e, const pelt_morph *morph) {
    double most = 0;
    for (size_t i = 0; i < morph->vertex_count; i++)
        most = fmax(most, (double)px_dot3(morph->positions + 3 * i, morph->positions + 3 * i));
    return (float)(TOLERANCE * e->size / sqrt(most));
}

pelt_result px_eigenskin_bake(px_eigenskin_apply_work *w) {
    px_eigenskin *e = w->e;
    const pelt_model *model = e->model;
    bake_work b = {.w = w, .posed = *model, .times = {.context = e->context}};
    b.posed.morphs = w->morphs;
    b.posed.drivers = w->drivers + model->driver_count;
    b.posed.driver_count = w->driver_count - model->driver_count;
    b.locals = PX_NEW(e->scratch, pelt_transform, model->skeleton.joint_count);
    b.sampled = PX_NEW(e->scratch, float, model->morphs.morph_count);
    b.rows = PX_NEW(e->scratch, float, (MAX_DEPTH + 4) * (size_t)w->morphs.morph_count);
    b.limits = PX_NEW(e->scratch, float, w->added_count);
    w->motions = PX_NEW(model->memory, pelt_motion, model->motion_count);
    if (!b.locals || !b.sampled || !b.rows || !b.limits || !w->motions)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < w->added_count; m++)
        b.limits[m] = limit_of(e, &w->added[m]);
    pelt_result result = PELT_OK;
    for (uint32_t m = 0; result == PELT_OK && m < model->motion_count; m++)
        result = bake_motion(&b, &model->motions[m], &w->motions[m]);
    px_buffer_free(&b.times);
    return result;
}
