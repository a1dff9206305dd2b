/* Bakes drivers into weight tracks of motions: keys at the keys of the driving rotations, and as many in between as
 * linear interpolation needs. */
#include "core/driver.h"
#include "core/mesh.h"
#include "core/morphs.h"

#include <stdlib.h>

/* Largest error of a vertex between keys, relative to the diagonal of the mesh. */
#define TOLERANCE 1e-4
/* Largest number of bisections between two keys; bounded because rotations may jump (STEP). */
#define MAX_DEPTH 6

typedef struct drive_work {
    pelt_context *context;
    const pelt_model *model;
    const pelt_driver *drivers; /* [driver_count] those to bake */
    uint32_t driver_count;
    const pelt_motion *motion;
    pelt_transform *locals; /* [joint] scratch */
    float *sampled;         /* [morph] scratch */
    float *rows;            /* [MAX_DEPTH + 4][morph] weights at the times in hand */
    float *limits;          /* [morph] how far a weight may be off; negative: it is not driven */
    px_buffer times;        /* floats: those of the keys, ascending */
} drive_work;

/* weights [morph]: of those that are driven. */
static void weights_at(const drive_work *d, double time, float *weights) {
    pelt_motion_sample(d->model, d->motion, (float)time, d->locals, NULL);
    px_drivers_weights(&d->model->skeleton, d->drivers, d->driver_count, d->locals, weights);
}

/* ---- Times ------------------------------------------------------------------------------------------------ */

/* Between two times, at u from 0 to 1 of the way; leaves the weights there in `row`. */
static bool is_straight(const drive_work *d, float first, float last, double u, const float *before, const float *after,
                        float *row) {
    weights_at(d, (1 - u) * (double)first + u * (double)last, row);
    for (uint32_t m = 0; m < d->model->morphs.morph_count; m++) {
        double linear = (1 - u) * (double)before[m] + u * (double)after[m];
        if (d->limits[m] >= 0 && fabs((double)row[m] - linear) > (double)d->limits[m])
            return false;
    }
    return true;
}

/* Adds the times that are needed after the first up to the last. `before` and `after` are the weights there, `rows` has
 * room for more. A quarter tells curves that cross the line in the middle. */
static void add_times(drive_work *d, float first, float last, int depth, const float *before, const float *after,
                      float *rows) {
    float middle = (float)(((double)first + (double)last) / 2), *next = rows + d->model->morphs.morph_count;
    bool divides = depth < MAX_DEPTH && middle > first && middle < last;
    if (!divides || (is_straight(d, first, last, 0.25, before, after, rows) &&
                     is_straight(d, first, last, 0.5, before, after, rows))) {
        px_buffer_add(&d->times, &last, sizeof last);
        return;
    }
    weights_at(d, (double)middle, rows);
    add_times(d, first, middle, depth + 1, before, rows, next);
    add_times(d, middle, last, depth + 1, rows, after, next);
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Whether a joint is another, or above it. */
static bool carries(const pelt_skeleton *skeleton, uint32_t joint, uint32_t other) {
    while (other != PELT_NONE && other > joint)
        other = skeleton->parents[other];
    return other == joint;
}

static bool drives(const drive_work *d, uint32_t joint) {
    for (uint32_t n = 0; n < d->driver_count; n++) {
        const pelt_driver *driver = &d->drivers[n];
        if (driver->joint == joint)
            return true;
        if (driver->relative && (carries(&d->model->skeleton, joint, driver->joint) ||
                                 carries(&d->model->skeleton, joint, driver->against)))
            return true;
    }
    return false;
}

/* Fills `times`: none when no joint that drives turns. */
static pelt_result find_times(drive_work *d) {
    px_buffer keys = {.context = d->context};
    size_t morphs = d->model->morphs.morph_count;
    float *before = d->rows, *after = d->rows + morphs;
    for (uint32_t t = 0; t < d->motion->track_count; t++) {
        const pelt_track *track = &d->motion->tracks[t];
        if (track->path == PELT_PATH_ROTATION && drives(d, track->joint))
            px_buffer_add(&keys, track->times, track->key_count * sizeof(float));
    }
    const float *times = (const float *)(const void *)keys.data;
    size_t count = keys.failed ? 0 : keys.size / sizeof *times;
    if (count) {
        px_sort(keys.data, count, sizeof *times, compare_floats);
        px_buffer_add(&d->times, times, sizeof *times);
        weights_at(d, (double)times[0], before);
    }
    for (size_t k = 1; k < count; k++) {
        if (times[k] == times[k - 1])
            continue;
        weights_at(d, (double)times[k], after);
        add_times(d, times[k - 1], times[k], 0, before, after, d->rows + 2 * morphs);
        memcpy(before, after, morphs * sizeof *before);
    }
    bool failed = keys.failed || d->times.failed;
    px_buffer_free(&keys);
    return failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Tracks ----------------------------------------------------------------------------------------------- */

/* The track of one joint's weights: driven ones as they are driven, others as they were. */
static pelt_result drive_joint(drive_work *d, uint32_t joint, uint32_t width, pelt_motion *out) {
    const pelt_morph_set *morphs = &d->model->morphs;
    const float *times = (const float *)(const void *)d->times.data;
    uint32_t count = (uint32_t)(d->times.size / sizeof *times);
    pelt_track track;
    float *values;
    PX_TRY(px_weights_rekey(d->model, d->motion, joint, width, times, count, d->sampled, &track, &values));
    for (uint32_t k = 0; k < track.key_count; k++) {
        weights_at(d, (double)track.times[k], d->rows);
        for (uint32_t m = 0; m < morphs->morph_count; m++)
            if (morphs->morphs[m].joint == joint && d->limits[m] >= 0)
                values[(size_t)k * width + morphs->morphs[m].index] = d->rows[m];
    }
    px_motion_set_weights(out, &track);
    return PELT_OK;
}

static pelt_result drive_joints(drive_work *d, pelt_motion *out) {
    const pelt_morph_set *morphs = &d->model->morphs;
    uint32_t joint_count = 0, width;
    for (uint32_t m = 0; m < morphs->morph_count; m++)
        joint_count += m == 0 || morphs->morphs[m].joint != morphs->morphs[m - 1].joint;
    pelt_motion extended;
    PX_TRY(px_motion_extend(d->model->memory, d->motion, joint_count, &extended));
    for (uint32_t first = 0; first < morphs->morph_count; first += width) {
        uint32_t joint = morphs->morphs[first].joint;
        bool driven = false;
        for (width = 0; first + width < morphs->morph_count && morphs->morphs[first + width].joint == joint; width++)
            driven |= d->limits[first + width] >= 0;
        if (driven)
            PX_TRY(drive_joint(d, joint, width, &extended));
    }
    *out = extended;
    return PELT_OK;
}

/* The weight of a morph may be off by what displaces some vertex by the tolerance. */
static float limit_of(double size, const pelt_morph *morph) {
    double most = 0;
    for (size_t i = 0; morph->positions && i < morph->vertex_count; i++)
        most = px_fmax(most, (double)px_dot3(morph->positions + 3 * i, morph->positions + 3 * i));
    return (float)(TOLERANCE * size / sqrt(most));
}

static void find_limits(drive_work *d) {
    float low[3], high[3];
    double size = px_box(d->model->mesh.positions, d->model->mesh.vertex_count, low, high);
    for (uint32_t m = 0; m < d->model->morphs.morph_count; m++)
        d->limits[m] = -1;
    for (uint32_t n = 0; n < d->driver_count; n++)
        for (uint32_t m = 0; m < d->drivers[n].morph_count; m++) {
            uint32_t at = d->drivers[n].morphs[m];
            d->limits[at] = limit_of(size, &d->model->morphs.morphs[at]);
        }
}

pelt_result px_motion_drive(pelt_context *context, px_arena *scratch, const pelt_model *model, uint32_t first_driver,
                            const pelt_motion *motion, pelt_motion *out) {
    if (model->driver_count == first_driver) {
        *out = *motion;
        return PELT_OK;
    }
    size_t morphs = model->morphs.morph_count;
    drive_work d = {.context = context,
                    .model = model,
                    .drivers = model->drivers + first_driver,
                    .driver_count = model->driver_count - first_driver,
                    .motion = motion,
                    .times = {.context = context}};
    d.locals = PX_NEW(scratch, pelt_transform, model->skeleton.joint_count);
    d.sampled = PX_NEW(scratch, float, morphs);
    d.rows = PX_NEW(scratch, float, (MAX_DEPTH + 4) * morphs);
    d.limits = PX_NEW(scratch, float, morphs);
    if (!d.locals || !d.sampled || !d.rows || !d.limits)
        return PELT_ERROR_MEMORY;
    find_limits(&d);
    pelt_result result = find_times(&d);
    if (result == PELT_OK && d.times.size)
        result = drive_joints(&d, out);
    else if (result == PELT_OK)
        *out = *motion;
    px_buffer_free(&d.times);
    return result;
}
