/* Search for the number of bones. Each trial is a complete run, from seeds to the last iteration, so the result equals
 * that of setting `bones` to the number found.
 *
 * With a target error: the number grows, by extrapolation of the errors so far, until the target is reached; then the
 * interval is narrowed until n bones reach it and n − 1 do not. Errors do not fall monotonically, so a few smaller
 * numbers are tried too if n − 1 missed by little.
 *
 * Without a target: the number grows by half until the error is small, or until half as many more bones gain too
 * little. If there are rigid components, each of their motions gets a bone from the second trial on, and the number
 * that grows is that of the other bones.
 */
#include "decompose/decomposer.h"

#include <math.h>

#define FIRST_BONES       4u   /* second trial, after 1 bone, which is enough for a mesh that moves as one body */
#define MOST_REACHING     256u /* largest number of bones with a target error */
#define MOST_CHOSEN       64u  /* largest number of bones without */
#define SMALL_ERROR       1.0  /* E_rms: a thousandth of the radius … */
#define SMALL_ERROR_RATIO 0.2  /* … and this fraction of the error with one bone, so that small motions count too */
#define STILL_ERROR       0.01 /* E_rms below which one bone is enough */
#define MIN_GAIN_RATIO                                                                                                 \
    0.85 /* 1.5 times as many bones must bring the error below this fraction, or they are not worth it */
#define ERROR_SCATTER 1.1 /* random variation of the error between neighbouring numbers of bones … */
#define TRIALS_BELOW  2u  /* … so this many smaller numbers are tried after a miss within it */
#define TRIALS_MOST   PX_TRIALS_MOST

typedef struct search {
    pelt_context *context;
    pelt_model *model;
    pelt_decompose_desc desc;
    uint32_t most;  /* largest number of bones */
    uint32_t rigid; /* groups of rigid components; known after the first trial */
    bool all_rigid; /* rigid components hold all vertices */
    uint32_t count;
    uint32_t bones[TRIALS_MOST]; /* [trial] ascending */
    double errors[TRIALS_MOST];
    /* Fewest bones that reached the target, or the last trial. NULL: no trial yet, or the trial must be repeated: memory is
     * bounded, or an earlier run made it. */
    pelt_decomposer *best;
    uint32_t best_bones;
    px_reduction_cache cache; /* not used if memory is bounded */
    px_checkpoint checkpoint; /* not used without desc.checkpoint */
} search;

/* ---- Trials ----------------------------------------------------------------------------------------------- */

static pelt_result solve(search *s, uint32_t bones, pelt_decomposer **out) {
    pelt_decompose_desc desc = s->desc;
    desc.bones = bones;
    px_shared shared = {s->desc.memory ? NULL : &s->cache, s->desc.checkpoint ? &s->checkpoint : NULL};
    PX_TRY(px_decomposer_create(s->context, s->model, &desc, shared, out));
    pelt_result result = PELT_OK;
    for (bool done = false; result == PELT_OK && !done;)
        result = pelt_decomposer_step(*out, &done);
    if (result == PELT_OK)
        result = px_decomposer_settle(*out);
    if (result != PELT_OK) {
        pelt_decomposer_destroy(*out);
        *out = NULL;
    }
    return result;
}

static void note(search *s, uint32_t bones, double error) {
    uint32_t place = s->count++;
    for (; place > 0 && s->bones[place - 1] > bones; place--) {
        s->bones[place] = s->bones[place - 1];
        s->errors[place] = s->errors[place - 1];
    }
    s->bones[place] = bones;
    s->errors[place] = error;
}

static bool reached(const search *s, double error) {
    return s->desc.error > 0 && error <= s->desc.error;
}

/* Runs a trial, unless an earlier run has done so: *d is NULL then. */
static pelt_result run_trial(search *s, uint32_t bones, px_trial *trial, pelt_decomposer **d) {
    px_checkpoint *known = &s->checkpoint;
    *d = NULL;
    for (uint32_t t = 0; t < known->trial_count; t++)
        if (known->trials[t].bones == bones) {
            *trial = known->trials[t];
            return PELT_OK;
        }
    PX_TRY(solve(s, bones, d));
    *trial = (px_trial){.error = pelt_decomposer_error(*d),
                        .bones = bones,
                        .rigid = (*d)->shells.group_count,
                        .all_rigid = (*d)->shells.vertex_count == (*d)->fit.total_count};
    known->trials[known->trial_count++] = *trial;
    return PELT_OK;
}

/* Runs one trial and keeps it if it is the best so far: more bones are better until the target is reached, fewer from
 * then on. */
static pelt_result try_bones(search *s, uint32_t bones, double *error) {
    pelt_decomposer *d;
    px_trial trial;
    PX_TRY(px_progress(s->context, "search", bones, s->most));
    PX_TRY(run_trial(s, bones, &trial, &d));
    *error = trial.error;
    note(s, bones, *error);
    s->rigid = trial.rigid;
    s->all_rigid = trial.all_rigid;
    bool better = s->best_bones == 0 || bones > s->best_bones || reached(s, *error);
    pelt_decomposer *gone = d;
    if (better) {
        gone = s->best;
        s->best = d;
        s->best_bones = bones;
    }
    pelt_decomposer_destroy(gone);
    if (s->desc.memory > 0) { /* two decomposers may not fit in the memory limit */
        pelt_decomposer_destroy(s->best);
        s->best = NULL;
    }
    return PELT_OK;
}

/* ---- Target error ------------------------------------------------------------------------------------------- */

/* Where the line through two trials, in log-log coordinates, reaches the target; clamped to [low, high]. */
static uint32_t guess(const search *s, uint32_t a, uint32_t b, uint32_t low, uint32_t high) {
    double slope = px_ln(s->errors[b] / s->errors[a]) / px_ln((double)s->bones[b] / s->bones[a]);
    double at = s->bones[b] * px_exp(px_ln(s->desc.error / s->errors[b]) / slope);
    if (!(slope < 0) || !isfinite(at))
        at = 0.5 * ((double)low + high);
    return (uint32_t)px_fmin(px_fmax(ceil(at), low), high);
}

static uint32_t trial_of(const search *s, uint32_t bones) {
    for (uint32_t t = 0; t < s->count; t++)
        if (s->bones[t] == bones)
            return t;
    return PELT_NONE;
}

/* Narrows the interval (missed, enough]: `missed` bones were tried and failed, `enough` reached the target. */
static pelt_result close_in(search *s, uint32_t missed, uint32_t *enough) {
    double error;
    for (uint32_t round = 0; *enough - missed > 1 && s->count < TRIALS_MOST; round++) {
        uint32_t middle = missed + (*enough - missed) / 2;
        if (round % 3 < 2) /* bisect every third round: the secant may converge from one side only */
            middle = guess(s, trial_of(s, missed), trial_of(s, *enough), missed + 1, *enough - 1);
        PX_TRY(try_bones(s, middle, &error));
        if (reached(s, error))
            *enough = middle;
        else
            missed = middle;
    }
    return PELT_OK;
}

static pelt_result reach_error(search *s) {
    double error = 0;
    uint32_t missed = 0, enough = 1;
    PX_TRY(try_bones(s, enough, &error));
    while (!reached(s, error) && enough < s->most) {
        missed = enough;
        enough = FIRST_BONES;
        if (s->count > 1)
            enough = guess(s, s->count - 2, s->count - 1, missed + 1 + missed / 4, 3 * missed);
        enough = enough < s->most ? enough : s->most;
        PX_TRY(try_bones(s, enough, &error));
    }
    if (!reached(s, error))
        return PELT_OK;
    PX_TRY(missed ? close_in(s, missed, &enough) : PELT_OK);
    for (uint32_t low = enough - 1; low > 1 && enough - low <= TRIALS_BELOW && s->count < TRIALS_MOST;) {
        if (s->errors[trial_of(s, low)] > ERROR_SCATTER * s->desc.error)
            break;
        if (trial_of(s, --low) == PELT_NONE)
            PX_TRY(try_bones(s, low, &error));
        if (reached(s, s->errors[trial_of(s, low)]))
            enough = low;
    }
    return PELT_OK;
}

/* ---- No target error ---------------------------------------------------------------------------------------- */

static bool is_enough(const search *s) {
    uint32_t last = s->count - 1;
    double error = s->errors[last];
    if (last == 0)
        return error < STILL_ERROR;
    if (error < SMALL_ERROR && error < SMALL_ERROR_RATIO * s->errors[0])
        return true;
    return last > 2 && error > MIN_GAIN_RATIO * s->errors[last - 1] &&
           error > MIN_GAIN_RATIO * MIN_GAIN_RATIO * s->errors[last - 2];
}

static pelt_result choose(search *s) {
    double error;
    PX_TRY(try_bones(s, 1, &error));
    if (s->all_rigid)
        return is_enough(s) ? PELT_OK : try_bones(s, s->rigid, &error);
    s->most = (uint32_t)px_min_size(s->rigid + s->most, s->model->mesh.vertex_count);
    for (uint32_t bones = FIRST_BONES; !is_enough(s) && s->best_bones < s->most; bones += bones / 2)
        PX_TRY(try_bones(s, (uint32_t)px_min_size(s->rigid + bones, s->most), &error));
    return PELT_OK;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

/* Copies the trials into the report of the best one. */
static pelt_result report_trials(const search *s, double seconds) {
    pelt_decomposer *d = s->best;
    uint32_t *bones = PX_NEW(d->fit.arena, uint32_t, s->count);
    float *errors = PX_NEW(d->fit.arena, float, s->count);
    if (!bones || !errors)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < s->count; t++) {
        bones[t] = s->bones[t];
        errors[t] = (float)s->errors[t];
    }
    d->report.search_count = s->count;
    d->report.search_bones = bones;
    d->report.search_errors = errors;
    d->report.seconds_seed = px_fmax(seconds - d->report.seconds_reduce - d->report.seconds_solve, 0);
    d->searched = true;
    return PELT_OK;
}

pelt_result px_search_bones(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                            pelt_decomposer **out) {
    double start = px_seconds();
    search s = {.context = context, .model = model, .desc = *desc};
    s.most = desc->error > 0 ? MOST_REACHING : MOST_CHOSEN;
    s.most = s.most < model->mesh.vertex_count ? s.most : model->mesh.vertex_count;
    pelt_result result = desc->checkpoint ? px_checkpoint_open(context, model, desc, &s.checkpoint) : PELT_OK;
    if (result == PELT_OK)
        result = desc->error > 0 ? reach_error(&s) : choose(&s);
    if (result == PELT_OK && !s.best)
        result = solve(&s, s.best_bones, &s.best);
    if (result == PELT_OK)
        result = report_trials(&s, px_seconds() - start);
    px_reduction_cache_free(context, &s.cache);
    if (result == PELT_OK)
        *out = s.best;
    else
        pelt_decomposer_destroy(s.best);
    return px_group_end(context, result);
}
