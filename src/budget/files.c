/* Files of candidates: written to memory, read back and compared with the clips. */
#include "budget/search.h"

#include <math.h>
#include <pelt/measure.h>
#include <pelt/run.h>

#define PROBES 12u /* frames with the largest errors, and as many spread evenly, that precisions are tried on */

/* ---- Errors ----------------------------------------------------------------------------------------------- */

typedef struct comparison {
    const pelt_clip *clip, *played;
    pelt_context *context;
    double *most, *sums; /* [frame] */
    const bool *wanted;  /* [frame]; NULL: all */
} comparison;

static pelt_result compare_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const comparison *c = user;
    size_t points = c->clip->point_count;
    float *a = PX_ALLOC(c->context, float, 6 * points), *b = a ? a + 3 * points : NULL;
    pelt_result result = a ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t k = first; k < first + count && result == PELT_OK; k++) {
        if (c->wanted && !c->wanted[k])
            continue;
        result = pelt_clip_read(c->context, c->clip, (uint32_t)k, 0, (uint32_t)points, a);
        if (result == PELT_OK)
            result = pelt_clip_read(c->context, c->played, (uint32_t)k, 0, (uint32_t)points, b);
        double most = 0, sum = 0;
        for (size_t p = 0; p < points && result == PELT_OK; p++) {
            double square = 0;
            for (size_t x = 0; x < 3; x++) {
                double d = (double)a[3 * p + x] - (double)b[3 * p + x];
                square += d * d;
            }
            most = px_fmax(most, square);
            sum += square;
        }
        c->most[k] = most;
        c->sums[k] = sum;
    }
    px_free(c->context, a);
    return result;
}

/* Adds the frames with the largest errors to those that precisions are tried on, after all were measured. */
static void choose_probes(px_budget *b) {
    uint32_t step = b->frame_count / PROBES + 1;
    for (uint32_t k = 0; k < b->frame_count; k++)
        b->probed[k] |= k % step == 0;
    for (uint32_t n = 0; n < PROBES; n++) {
        uint32_t worst = PELT_NONE;
        for (uint32_t k = 0; k < b->frame_count; k++)
            if (!b->probed[k] && (worst == PELT_NONE || b->frame_most[k] > b->frame_most[worst]))
                worst = k;
        if (worst != PELT_NONE)
            b->probed[worst] = true;
    }
}

/* The largest distance of the motions of a file from the clips. */
pelt_result px_budget_measure(void *user, pelt_model *written, bool all, double *distance) {
    px_budget *b = user;
    double most = 0, sum = 0;
    uint32_t motion = 0, first = 0;
    if (b->points)
        PX_TRY(pelt_model_set_points(b->context, written, b->point_count, b->points));
    for (uint32_t n = 0; n < b->model->clip_count; n++) {
        const pelt_clip *clip = &b->model->clips[n];
        pelt_clip played;
        if (clip->frame_count == 0)
            continue;
        const pelt_motion *played_motion = motion < written->motion_count ? &written->motions[motion++] : NULL;
        PX_TRY(pelt_clip_from_motion_at(b->context, written, played_motion, clip->times, clip->frame_count,
                                        PELT_SKINNING_LINEAR, &played));
        comparison c = {
            clip, &played, b->context, b->frame_most + first, b->frame_sums + first, all ? NULL : b->probed + first};
        PX_TRY(px_parallel(b->context, NULL, clip->frame_count, 1, compare_frames, &c));
        first += clip->frame_count;
    }
    for (uint32_t k = 0; k < b->frame_count; k++) {
        if (!all && !b->probed[k])
            continue;
        most = px_fmax(most, b->frame_most[k]);
        sum += b->frame_sums[k];
    }
    *distance = sqrt(most);
    if (all) { /* the worst frames are probed from now on */
        choose_probes(b);
        double numbers = 3.0 * b->model->mesh.points.count * b->frame_count;
        b->error_max = *distance;
        b->error_rms = 1000 * sqrt(sum / numbers) / b->radius;
    }
    return PELT_OK;
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

/* Measures the candidate with exact numbers, and finds the points of its file's vertices. */
static pelt_result measure_exact(px_budget *b, const px_write *write) {
    px_buffer bytes = {.context = b->context};
    pelt_model *plain = NULL;
    double distance;
    b->points = NULL;
    pelt_result result = px_precision_write(write, NULL, &bytes);
    if (result == PELT_OK)
        result = px_precision_read(b->context, &bytes, &plain);
    if (result == PELT_OK)
        result = pelt_model_take_points(b->context, plain, b->model);
    if (result == PELT_OK && plain->mesh.points.of) {
        b->point_count = plain->mesh.points.count;
        b->points = PX_NEW(b->scratch, uint32_t, plain->mesh.vertex_count);
        if (b->points)
            memcpy(b->points, plain->mesh.points.of, plain->mesh.vertex_count * sizeof *b->points);
        else
            result = PELT_ERROR_MEMORY;
    }
    memset(b->probed, 0, b->frame_count * sizeof *b->probed);
    if (result == PELT_OK)
        result = px_budget_measure(b, plain, true, &distance);
    pelt_model_destroy(plain);
    px_buffer_free(&bytes);
    return result;
}

/* Finds the coarsest precision within a distance; fills in error and bytes of the trial. Neighbouring candidates need about the
 * same precision, so that of the last one is where to begin. */
static pelt_result round_within(px_budget *b, const px_write *write, double bound, px_precision *precision,
                                pelt_budget_trial *trial) {
    px_precision_guess found;
    bool goal = b->desc.max_error > 0 && !b->closest;
    bool same = b->guessed && b->guess_transforms == trial->transforms && b->guess_morphs == trial->morphs;
    px_precision_search search = {
        write, bound, b->exponent, px_budget_measure, b, goal && same && !b->thorough ? &b->guess : NULL};
    px_buffer bytes = {.context = b->context};
    PX_TRY(px_precision_find(&search, &found, &trial->error_max_units));
    *precision = found.precision;
    if (goal) {
        b->guess = found;
        b->guess_transforms = trial->transforms;
        b->guess_morphs = trial->morphs;
        b->guessed = true;
    }
    trial->error_rms = b->error_rms;
    pelt_result result = px_precision_write(write, precision, &bytes);
    trial->bytes = bytes.size + b->images;
    px_buffer_free(&bytes);
    return result;
}

bool px_budget_is_better(const px_budget *b, const pelt_budget_trial *trial, bool met) {
    const pelt_budget_trial *best = &b->best_trial;
    if (!b->best || met != b->met)
        return !b->best || met;
    if (b->desc.max_error > 0)
        return met ? trial->bytes < best->bytes : trial->error_max_units < best->error_max_units;
    return met ? trial->error_rms < best->error_rms : trial->bytes < best->bytes;
}

void px_budget_record(px_budget *b, const pelt_budget_trial *trial) {
    if (b->trial_count < PX_TRIAL_MAX)
        b->trials[b->trial_count++] = *trial;
}

/* Rounds a candidate as the goal asks and records it. *better: it is the best so far. */
pelt_result px_budget_try_file(px_budget *b, const pelt_model *candidate, pelt_budget_trial trial, bool *better) {
    static const double growth[] = {1.02, 1.1, 1.3, 1.7, 2.5, 4};
    px_write write = {.context = b->context, .model = candidate, .mesh = &candidate->mesh, .desc = &b->save};
    px_precision precision = {0};
    bool met = false;
    *better = false;
    PX_TRY(px_progress(b->context, "trials", b->trial_count, PX_TRIAL_MAX));
    PX_TRY(measure_exact(b, &write));
    trial.error_rms = b->error_rms;
    trial.error_max_units = b->error_max;
    double exact = px_fmax(b->error_max, 1e-6 * b->size), most = b->desc.max_error;
    if (most > 0 && exact <= PX_EXACT_ROOM * most) {
        PX_TRY(round_within(b, &write, most, &precision, &trial));
        met = trial.error_max_units <= most;
    } else if (most > 0 && b->closest)
        PX_TRY(round_within(b, &write, 1.05 * exact, &precision, &trial));
    for (size_t g = 0; most == 0 && !met && g < PX_COUNT(growth); g++) {
        PX_TRY(round_within(b, &write, growth[g] * exact, &precision, &trial));
        met = b->desc.bytes == 0 || trial.bytes <= b->desc.bytes;
        b->roomy |= met && g == 0;
    }
    px_budget_record(b, &trial);
    *better = trial.bytes > 0 && px_budget_is_better(b, &trial, met);
    if (*better) {
        b->best_precision = precision;
        b->best_trial = trial;
        b->met = met;
    }
    return PELT_OK;
}

pelt_result px_budget_round_best(px_budget *b) {
    px_write write = {.context = b->context, .model = b->best, .mesh = &b->best->mesh, .desc = &b->save};
    pelt_budget_trial trial = b->best_trial;
    px_precision precision;
    b->thorough = true;
    PX_TRY(measure_exact(b, &write));
    PX_TRY(round_within(b, &write, b->desc.max_error, &precision, &trial));
    if (trial.error_max_units > b->desc.max_error || trial.bytes >= b->best_trial.bytes)
        return PELT_OK;
    px_budget_record(b, &trial);
    b->best_precision = precision;
    b->best_trial = trial;
    return PELT_OK;
}
