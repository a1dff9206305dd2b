/* Method fesam: iterations over transforms, rest pose and weights, from seeds or from a rig (Kavan, Sloan, O'Sullivan
 * 2010). Extensions: bone relocation and exchange, helper bones, and a final penalty towards rotations.
 *
 * The steps are in solve.c (one iteration), kind_*.c (transforms) and step_vertices.c (rest pose and weights).
 */
#include "decompose/coarse.h"
#include "decompose/decomposer.h"
#include "decompose/kinds.h"
#include "decompose/pulls.h"

#include <math.h>

#define ADD_GROUPS   4u   /* batches of helper bones: each starts from the residuals of the previous one */
#define HELPER_ERROR 1e-2 /* E_rms below which no helper bones are added */
#define MOVE_EVERY   8u   /* iterations between attempts to relocate bones … */
#define MOVE_LAST    32u  /* … up to this one */

/* Exchange of bones. */
#define EXCHANGE_SHARE 0.2  /* bones added and removed again, as a fraction … */
#define EXCHANGE_AT    10u  /* … after this iteration; other kinds than affine: … */
#define EXCHANGE_LATER 12u  /* … after this one, four iterations after the first relocation */
#define EXCHANGE_TRIAL 10u  /* iterations before the result is judged */
#define LATE_EVERY     20u  /* effort best: iterations between further attempts, with half as many bones, … */
#define LATE_FROM      60u  /* … from this one */
#define LATE_LAST      240u /* … to this one */
#define LATE_TRIAL     40u

/* ---- Initial bones ------------------------------------------------------------------------------------------ */

/* Starts of affine bones. Stiff bones find the limbs of a body, free bones the folds of cloth. Which are better shows after one
 * iteration: the best of the first three ends with 0.91 of the error of free bones alone (27 clips and numbers of bones), the
 * best of five with 0.97 of that (45). */
static const double stiffness[] = {PX_FREE_BONES, 0.1, 0.6, 0.03, 0.3, 0.17};
#define STARTS      5u
#define STARTS_BEST 6u /* effort best */

/* Seeds of all bones, and weights. */
static pelt_result start_bones(pelt_decomposer *d, const px_shells *shells, double start) {
    PX_TRY(px_fit_seed(&d->fit, shells, d->fit.bone_target, start));
    return d->desc.published || d->desc.iterations == 0 ? px_fit_measure(&d->fit) : px_fit_vertices(&d->fit, false);
}

/* The same from the initial rest pose, and one iteration or all. */
static pelt_result try_start(pelt_decomposer *d, const px_shells *shells, double start, bool all) {
    px_fit *fit = &d->fit;
    fit->rest_pull = 0; /* its first value is a guess */
    if (fit->home)
        memcpy(fit->now.rest, fit->home, 3 * (size_t)fit->vertex_count * sizeof *fit->home);
    PX_TRY(start_bones(d, shells, start));
    px_solver_start(&d->solver);
    d->report.iteration_count = 0;
    bool done = false;
    do
        PX_TRY(pelt_decomposer_step(d, &done));
    while (all && !done);
    return PELT_OK;
}

/* Effort best compares the starts after all iterations of effort default, so that its result is not worse. */
static pelt_result start_best(pelt_decomposer *d, const px_shells *shells, double *chosen) {
    px_fit *fit = &d->fit;
    px_checkpoint *checkpoint = d->checkpoint;
    pelt_decompose_desc desc = d->desc;
    px_fit_state best = {.objective = INFINITY};
    bool all = d->desc.effort == PELT_EFFORT_BEST;
    uint32_t bone_count = 0, count = all ? STARTS_BEST : STARTS;
    PX_TRY(px_fit_state_make(fit, &best));
    d->checkpoint = NULL;
    if (all) {
        d->desc.effort = PELT_EFFORT_DEFAULT;
        d->desc.iterations /= PX_BEST_ITERATIONS(fit->kind);
        d->desc.tolerance /= PX_BEST_TOLERANCE;
    }
    pelt_result result = PELT_OK;
    for (size_t s = 0; result == PELT_OK && s < count && !(px_fit_error(fit, best.objective) < PX_FIT_EXACT); s++) {
        result = try_start(d, shells, stiffness[s], all);
        if (result == PELT_OK && fit->now.objective < best.objective) {
            px_fit_state_copy(fit, &fit->now, &best);
            bone_count = fit->bone_count;
            *chosen = stiffness[s];
        }
    }
    if (result == PELT_OK) {
        fit->bone_count = bone_count;
        px_fit_state_copy(fit, &best, &fit->now);
    }
    fit->rest_pull = 0;
    d->desc = desc;
    d->checkpoint = checkpoint;
    d->report.iteration_count = 0;
    d->done = false;
    return result;
}

/* Compares the starts on a sample of the vertices. */
static pelt_result start_sampled(pelt_decomposer *d, size_t stride) {
    px_arena *arena = px_arena_create(d->fit.context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_fit whole = d->fit, sample;
    px_fit_state spare;
    double chosen = 0;
    pelt_result result = px_coarse_make(&whole, stride, arena, &sample, &spare);
    if (result == PELT_OK) {
        d->fit = sample;
        result = start_best(d, NULL, &chosen);
        px_coarse_transforms(&d->fit, &whole);
        d->fit = whole;
        d->solver.history = (px_quasi_newton){0}; /* its arrays are in the arena */
    }
    px_arena_destroy(arena);
    PX_TRY(result);
    PX_TRY(px_fit_seed_again(&d->fit, chosen));
    return px_fit_vertices(&d->fit, false);
}

static pelt_result start_seeds(pelt_decomposer *d, const px_shells *shells) {
    if (!d->fit.kind->unconstrained || d->desc.published || d->desc.iterations == 0 || d->fit.bone_target < 2)
        return start_bones(d, shells, PX_FREE_BONES);
    bool rigid = shells && shells->group_count > 0, samples = d->desc.effort != PELT_EFFORT_BEST && !rigid;
    size_t stride = px_coarse_starts_stride(&d->fit);
    double chosen;
    return samples && stride > 1 ? start_sampled(d, stride) : start_best(d, shells, &chosen);
}

/* Seeds, and, if `all`, all iterations. */
static pelt_result solve_sample(pelt_decomposer *d, bool all) {
    PX_TRY(start_seeds(d, NULL));
    px_solver_start(&d->solver);
    for (bool done = !all; !done;)
        PX_TRY(pelt_decomposer_step(d, &done));
    return PELT_OK;
}

/* First bones from a sample of the vertices, which takes the place of the fit while it is solved. Effort best compares its
 * starts on the sample, and iterates with all vertices unless they are very many. */
static pelt_result start_coarse(pelt_decomposer *d) {
    px_arena *arena = px_arena_create(d->fit.context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_fit whole = d->fit, sample;
    px_fit_state spare = d->spare;
    px_checkpoint *checkpoint = d->checkpoint;
    size_t stride = px_coarse_stride(&whole);
    bool all = d->desc.effort != PELT_EFFORT_BEST || stride >= PX_STRIDE_LARGE;
    pelt_result result = px_coarse_make(&whole, stride, arena, &sample, &d->spare);
    d->fit = sample;
    d->checkpoint = NULL;
    if (result == PELT_OK)
        result = solve_sample(d, all);
    sample = d->fit;
    d->fit = whole;
    d->spare = spare;
    d->checkpoint = checkpoint;
    d->solver.history = (px_quasi_newton){0}; /* its arrays are in the arena */
    d->report.iteration_count = 0;
    d->done = false;
    d->coarse = all;
    if (result == PELT_OK)
        result = px_coarse_end(&sample, stride, &d->fit);
    if (result == PELT_OK)
        px_solver_start(&d->solver);
    px_arena_destroy(arena);
    return result;
}

static pelt_result start_seeded(pelt_decomposer *d) {
    if (d->desc.seed_method == PELT_SEED_REGIONS) {
        px_seed_surface surface = {&d->neighbours, d->model->mesh.triangles, d->model->mesh.triangle_count,
                                   &d->plan.classes};
        PX_TRY(px_fit_seed_regions(&d->fit, &surface, d->fit.bone_target));
        PX_TRY(d->desc.published || d->desc.iterations == 0 ? px_fit_measure(&d->fit)
                                                            : px_fit_vertices(&d->fit, false));
    } else {
        uint32_t most = d->fit.bone_target > PX_SHELLS_MOST ? d->fit.bone_target : PX_SHELLS_MOST;
        PX_TRY(px_shells_find(&d->fit, d->model, &d->plan, most, &d->shells));
        bool iterates = !d->desc.published && d->desc.iterations > 0;
        if (iterates && d->shells.group_count == 0 && px_coarse_stride(&d->fit) > 1)
            return start_coarse(d);
        PX_TRY(start_seeds(d, &d->shells));
    }
    px_solver_start(&d->solver);
    return PELT_OK;
}

static pelt_result start_given(pelt_decomposer *d) {
    PX_TRY(px_given_start(&d->given, &d->fit, &d->plan, d->model, &d->desc));
    px_solver_start(&d->solver);
    for (uint32_t n = 0; n < d->desc.add && pelt_decomposer_error(d) > HELPER_ERROR;) {
        uint32_t group = (d->desc.add + ADD_GROUPS - 1) / ADD_GROUPS, left = d->desc.add - n;
        group = group < left ? group : left;
        PX_TRY(px_progress(d->fit.context, "add", n, d->desc.add));
        PX_TRY(px_fit_add_bones(&d->fit, group));
        PX_TRY(px_fit_vertices(&d->fit, false));
        px_solver_start(&d->solver);
        PX_TRY(px_solver_step(&d->solver));
        n += group;
    }
    return PELT_OK;
}

static pelt_result start(pelt_decomposer *d) {
    d->next_move = MOVE_EVERY;
    return d->given.rig ? start_given(d) : start_seeded(d);
}

/* ---- Iterations -------------------------------------------------------------------------------------------- */

/* Relocates bones. Only in early iterations, which leave time to converge; two failures end the attempts. */
static pelt_result move_bones(pelt_decomposer *d) {
    uint32_t n = d->report.iteration_count;
    bool wanted = !d->fit.kind->unconstrained && !d->given.rig && !d->coarse && d->fit.bone_count > 2;
    if (!wanted || n != d->next_move || n > MOVE_LAST)
        return PELT_OK;
    /* Expected objective of plain iterations over the same number of steps, extrapolated from the last ones. */
    double fall = (double)d->errors[n - 1] / (double)d->errors[n - 1 - PX_TRIAL_STEPS];
    bool moved;
    PX_TRY(px_solver_move_bones(&d->solver, &d->spare, d->fit.now.objective * fall * fall, &moved));
    d->next_move = n + (moved ? MOVE_EVERY : 2 * MOVE_EVERY);
    return PELT_OK;
}

static uint32_t exchange_at(const pelt_decomposer *d) {
    return d->fit.kind->unconstrained ? EXCHANGE_AT : EXCHANGE_LATER;
}

static uint32_t extra_bones(const pelt_decomposer *d) {
    bool wanted = !d->desc.rig && !d->desc.published && d->desc.iterations > exchange_at(d) + EXCHANGE_TRIAL;
    uint32_t target = d->fit.bone_target, extra = (uint32_t)(EXCHANGE_SHARE * target + 0.5);
    if (extra < 2 && !d->fit.kind->unconstrained)
        return 0; /* a single bone is relocated */
    return wanted ? (uint32_t)px_min_size(extra, d->fit.total_count - target) : 0;
}

static pelt_result exchange_bones(pelt_decomposer *d) {
    uint32_t n = d->report.iteration_count, extra = d->fit.bone_capacity - d->fit.bone_target;
    bool late = d->desc.effort == PELT_EFFORT_BEST && n >= LATE_FROM && n <= LATE_LAST && n % LATE_EVERY == 0;
    if (extra == 0 || d->coarse || (n != exchange_at(d) && !late))
        return PELT_OK;
    /* Plain iterations slow down: during the trial they lower the error by about twice as much as in the last iterations,
     * a fifth or half as many. */
    uint32_t back = late ? LATE_TRIAL / 2 : EXCHANGE_TRIAL / 5;
    double fall = (double)d->errors[n - 1] / (double)d->errors[n - 1 - back];
    double expected = d->fit.now.objective * px_pow(fall, 4); /* squares of errors */
    return px_solver_exchange_bones(&d->solver, &d->spare, late ? (extra + 1) / 2 : extra,
                                    late ? LATE_TRIAL : EXCHANGE_TRIAL, expected);
}

static pelt_result step(pelt_decomposer *d) {
    if (d->desc.published)
        return px_solver_step_published(&d->solver);
    PX_TRY(move_bones(d));
    PX_TRY(exchange_bones(d));
    uint64_t before = pelt_group_sent(d->fit.context);
    PX_TRY(px_solver_step(&d->solver));
    d->sent = pelt_group_sent(d->fit.context) - before;
    return PELT_OK;
}

/* ---- Final steps -------------------------------------------------------------------------------------------- */

#define OUTSIDE_COST 0.0005 /* largest rise of the error by px_pull_outside, as a fraction */
#define THIN_COST    0.02   /* the same for px_turn_bones */
/* Share of vertices and frames with inverted normals above which a surface is thin. Cloth has half of them, bodies have 5 % at most. */
#define THIN_WRONG 0.1

static pelt_result settle(pelt_decomposer *d) {
    bool firms = !d->given.rig, unconstrained = d->fit.kind->unconstrained;
    double wrong = 0;
    if (firms)
        PX_TRY(px_solver_search_wide(&d->solver));
    if (firms && unconstrained && !d->desc.free_bones && d->desc.error == 0)
        PX_TRY(px_turn_wrong(&d->fit, &d->model->mesh, &d->plan.classes, &wrong));
    bool thin = wrong > THIN_WRONG;
    if (firms)
        PX_TRY(thin ? px_solver_firm_thin(&d->solver) : px_solver_firm(&d->solver));
    if (d->desc.smooth > 0)
        PX_TRY(px_fit_smooth(&d->fit, &d->neighbours, &d->spare, d->desc.smooth));
    double exact = 1e-6 * PX_FIT_EXACT * PX_FIT_EXACT * d->fit.total_count * d->fit.row_count;
    double cost = 1 + (thin ? THIN_COST : OUTSIDE_COST), most = px_fmax(d->fit.now.objective * cost * cost, exact);
    if (!firms || !unconstrained)
        return PELT_OK;
    return thin ? px_turn_bones(&d->fit, &d->model->mesh, &d->plan.classes, most) : px_pull_outside(&d->fit, most);
}

const px_decompose_method px_method_fesam = {
    .name = "fesam", .extra_bones = extra_bones, .start = start, .step = step, .settle = settle};
