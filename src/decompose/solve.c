/* Alternating least squares: transforms, then rest positions and weights; relocation of the bones that explain least, and
 * exchange of bones.
 *
 * Alternating minimisation converges slowly along narrow valleys. Two accelerations:
 *
 *   affine bones  quasi-Newton steps of the transforms (quasi_newton.c)
 *   other kinds   before each iteration, rest positions and weights are extrapolated by `ahead` times their last change
 *
 * If the objective rises in a quasi-Newton step, the plain step takes its place. If it rises otherwise, the iteration is
 * rejected and the previous state restored. So accepted objectives never rise.
 */
#include "decompose/solve.h"
#include "decompose/kinds.h"
#include "decompose/pulls.h"

#include <math.h>

#define AHEAD_MAX    4.0 /* larger factors nearly always overshoot */
#define AHEAD_LITTLE 0.1 /* with smaller factors an iteration counts as plain */
#define AHEAD_FROM   4u  /* iterations without extrapolation: the first changes have no stable direction */
#define NEWTON_FROM  2u  /* iterations without quasi-Newton steps */
#define SEARCH_STEPS 8u  /* iterations that search for better bones of all vertices; later ones only of some */

/* Extrapolates rest positions, and weights of vertices whose set of bones is unchanged, by `ahead` times their change
 * since fit->before. Stores the state before extrapolation in fit->before. */
static void step_ahead(px_fit *fit, double ahead) {
    size_t N = fit->vertex_count, K = fit->influence_count;
    px_fit_state *now = &fit->now, *old = &fit->before;
    for (size_t e = 0; e < 3 * N; e++) {
        double value = now->rest[e];
        now->rest[e] += ahead * (value - old->rest[e]);
        old->rest[e] = value;
    }
    for (size_t i = 0; i < N; i++) {
        double *w = now->weights + i * K, *old_w = old->weights + i * K, sum = 0;
        bool same = now->counts[i] == old->counts[i] && !px_fit_locked(fit, i) &&
                    memcmp(now->bones + i * K, old->bones + i * K, now->counts[i] * sizeof *now->bones) == 0;
        for (size_t a = 0; a < now->counts[i]; a++) {
            double value = w[a];
            if (same)
                w[a] = px_fmax(value + ahead * (value - old_w[a]), 0);
            old_w[a] = value;
            sum += w[a];
        }
        for (size_t a = 0; same && a < now->counts[i]; a++)
            w[a] /= sum;
        for (size_t a = now->counts[i]; a < K; a++)
            old_w[a] = 0; /* clear weights of bones that the vertex no longer uses */
        memcpy(old->bones + i * K, now->bones + i * K, K * sizeof *now->bones);
        old->counts[i] = now->counts[i];
    }
    size_t n = 4 * (size_t)fit->bone_count;
    memcpy(old->reduced, now->reduced, n * fit->dimension * sizeof *now->reduced);
    if (now->full)
        memcpy(old->full, now->full, n * fit->row_count * sizeof *now->full);
    if (now->axes)
        memcpy(old->axes, now->axes, 9 * (size_t)fit->bone_count * sizeof *now->axes);
    old->objective = now->objective;
}

void px_solver_restart(px_solver *solver) {
    px_fit_state_copy(solver->fit, &solver->fit->now, &solver->fit->before);
    px_quasi_newton_restart(&solver->history);
    solver->ahead = 0;
    solver->steps = 0;
}

void px_solver_start(px_solver *solver) {
    px_solver_restart(solver);
    solver->turn = 0;
}

/* Vertex step for the current transforms. */
static pelt_result vertices(px_solver *solver) {
    px_fit *fit = solver->fit;
    bool all = solver->turn < SEARCH_STEPS;
    px_fit_gram(fit);
    return all ? px_fit_vertices(fit, true) : px_fit_vertices_due(fit, solver->turn);
}

/* One iteration; rejected (state restored from fit->before) if the objective exceeds `most`. */
static pelt_result step_below(px_solver *solver, double most, bool *taken) {
    px_fit *fit = solver->fit;
    bool newton = fit->kind->unconstrained && !(fit->bone_pull > 0), advanced = false;
    PX_TRY(px_pull_rest(fit));
    step_ahead(fit, newton || solver->steps < AHEAD_FROM ? 0 : solver->ahead);
    PX_TRY(px_fit_moments(fit));
    if (newton && solver->steps >= NEWTON_FROM)
        PX_TRY(px_quasi_newton_advance(&solver->history, fit, &advanced));
    if (!advanced)
        PX_TRY(px_fit_transforms(fit));
    PX_TRY(vertices(solver));
    if (advanced && fit->now.objective > most) { /* the pairs stay: their curvature is right */
        px_fit_state_copy(fit, &fit->before, &fit->now);
        PX_TRY(px_fit_transforms(fit));
        PX_TRY(vertices(solver));
    }
    *taken = !(fit->now.objective > most);
    if (!*taken) {
        px_fit_state_copy(fit, &fit->before, &fit->now);
        px_quasi_newton_restart(&solver->history);
    }
    if (!*taken && !fit->kind->unconstrained && solver->ahead < AHEAD_LITTLE)
        fit->rest_most = 0.5 * fit->rest_pull; /* the penalty on rest positions outweighs the gain */
    solver->ahead = *taken ? px_fmin(px_fmax(solver->ahead, 0.5) * 1.2, AHEAD_MAX) : solver->ahead * 0.5;
    solver->steps++;
    solver->turn++;
    return PELT_OK;
}

pelt_result px_solver_step(px_solver *solver) {
    bool taken;
    return step_below(solver, solver->fit->now.objective, &taken);
}

pelt_result px_solver_step_published(px_solver *solver) {
    px_fit *fit = solver->fit;
    PX_TRY(px_fit_moments(fit));
    PX_TRY(px_fit_transforms(fit));
    px_fit_gram(fit);
    return px_fit_vertices(fit, true);
}

pelt_result px_solver_search_wide(px_solver *solver) {
    px_fit_gram(solver->fit); /* H and residuals of the current state: the last step may have been rejected */
    PX_TRY(px_fit_measure(solver->fit));
    PX_TRY(px_fit_vertices_wide(solver->fit));
    px_solver_restart(solver);
    return px_solver_step(solver);
}

/* ---- Well-conditioned bones -------------------------------------------------------------------------------- */

#define FIRM_STEPS 12
#define FIRM_SHARE 0.1  /* initial penalty on bones, as a fraction of the objective */
#define FIRM_COST  0.01 /* largest rise of the RMS error, as a fraction */

#define THIN_STEPS 16
#define THIN_PULL  0.01 /* penalty weight on bones of thin surfaces, relative to size_j² (pulls.h) */

pelt_result px_solver_firm_thin(px_solver *solver) {
    px_fit *fit = solver->fit;
    pelt_result result = PELT_OK;
    fit->bone_pull = THIN_PULL;
    fit->rest_firm = true;
    for (int n = 0; result == PELT_OK && n < THIN_STEPS; n++) {
        bool taken;
        px_solver_restart(solver); /* the error may rise, so steps are not extrapolated */
        result = step_below(solver, INFINITY, &taken);
    }
    fit->rest_firm = false;
    fit->bone_pull = 0;
    return result;
}

/* Sets bone_pull so that the penalty equals FIRM_SHARE of the objective. */
static pelt_result start_pull(px_fit *fit) {
    double *rotations = PX_ALLOC(fit->context, double, 4 * (size_t)fit->bone_count * fit->dimension), away = 0;
    pelt_result result = rotations ? px_fit_moments(fit) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_pull_rotations(fit, rotations, &away);
    px_free(fit->context, rotations);
    fit->bone_pull = away > 0 ? FIRM_SHARE * fit->now.objective / away : 0;
    return result;
}

pelt_result px_solver_firm(px_solver *solver) {
    px_fit *fit = solver->fit;
    bool pulls = fit->kind->unconstrained;
    double cost = pulls ? 1 + FIRM_COST : 1, most = fit->now.objective * cost * cost;
    if (px_fit_error(fit, fit->now.objective) < PX_FIT_EXACT)
        return PELT_OK;
    pelt_result result = pulls ? start_pull(fit) : PELT_OK;
    px_solver_restart(solver);
    /* The penalty doubles until the error would rise too much, then stays at half until it would again. */
    for (int n = 0, rejected = 0; result == PELT_OK && n < FIRM_STEPS && rejected < (pulls ? 2 : FIRM_STEPS); n++) {
        bool taken = false;
        result = step_below(solver, most, &taken);
        rejected += !taken;
        fit->bone_pull *= !taken ? 0.5 : rejected == 0 ? 2 : 1;
    }
    fit->bone_pull = 0;
    return result;
}

/* ---- Moving bones ----------------------------------------------------------------------------------------- */

pelt_result px_solver_move_bones(px_solver *solver, px_fit_state *spare, double expected, bool *moved) {
    px_fit *fit = solver->fit;
    px_fit_state_copy(fit, &fit->now, spare);
    px_fit_gram(fit); /* H of the current state: the last step may have been rejected */
    uint32_t count = 1 + fit->bone_count / 16;
    for (uint32_t b = 0; b < count && fit->bone_count > 2; b++) {
        uint32_t least;
        PX_TRY(px_fit_least_bone(fit, &least));
        if (least == PELT_NONE)
            break;
        PX_TRY(px_fit_remove_bone(fit, least));
        PX_TRY(px_fit_vertices(fit, false));
        PX_TRY(px_fit_add_bone(fit));
        PX_TRY(px_fit_vertices(fit, false));
    }
    px_solver_start(solver);
    /* Stop early: a trial still worse than the start after half the steps does not reach `expected`. */
    for (int n = 0; n < PX_TRIAL_STEPS && (n < PX_TRIAL_STEPS / 2 || fit->now.objective < spare->objective); n++)
        PX_TRY(px_solver_step(solver));
    *moved = fit->now.objective < expected;
    if (!*moved) {
        px_fit_state_copy(fit, spare, &fit->now);
        px_solver_restart(solver);
    }
    return PELT_OK;
}

/* ---- Exchanging bones -------------------------------------------------------------------------------------- */

#define EXCHANGE_STEPS 6u /* iterations with the added bones */
#define REMOVALS       3u /* batches in which bones are removed, an iteration after each */

static pelt_result steps(px_solver *solver, uint32_t count) {
    for (uint32_t n = 0; n < count; n++)
        PX_TRY(px_solver_step(solver));
    return PELT_OK;
}

static pelt_result remove_least(px_solver *solver, uint32_t count) {
    px_fit *fit = solver->fit;
    px_fit_gram(fit); /* H of the current state: the last step may have been rejected */
    for (uint32_t n = 0; n < count; n++) {
        uint32_t least;
        PX_TRY(px_fit_least_bone(fit, &least));
        PX_TRY(px_fit_remove_bone(fit, least == PELT_NONE ? fit->bone_count - 1 : least));
    }
    PX_TRY(px_fit_measure(fit));
    px_solver_start(solver);
    return px_solver_step(solver);
}

/* Rest positions stay: they would follow bones that do not last. */
static pelt_result add_and_remove(px_solver *solver, uint32_t extra) {
    px_fit *fit = solver->fit;
    uint32_t target = fit->bone_count;
    px_fit_gram(fit);
    PX_TRY(px_fit_measure(fit));
    PX_TRY(px_fit_add_bones(fit, extra));
    PX_TRY(px_fit_vertices(fit, false));
    px_solver_start(solver);
    PX_TRY(steps(solver, EXCHANGE_STEPS));
    for (uint32_t batch = (extra + REMOVALS - 1) / REMOVALS; fit->bone_count > target;)
        PX_TRY(remove_least(solver, (uint32_t)px_min_size(batch, fit->bone_count - target)));
    return PELT_OK;
}

pelt_result px_solver_exchange_bones(px_solver *solver, px_fit_state *spare, uint32_t extra, uint32_t trial,
                                     double expected) {
    px_fit *fit = solver->fit;
    bool fixed_rest = fit->fixed_rest;
    double rest_most = fit->rest_most;
    px_fit_state_copy(fit, &fit->now, spare);
    fit->fixed_rest = true;
    pelt_result result = add_and_remove(solver, extra);
    fit->fixed_rest = fixed_rest;
    fit->rest_most = rest_most;
    PX_TRY(result);
    px_solver_start(solver);
    PX_TRY(steps(solver, trial));
    if (!(fit->now.objective < expected)) {
        px_fit_state_copy(fit, spare, &fit->now);
        px_solver_restart(solver);
    }
    return PELT_OK;
}
