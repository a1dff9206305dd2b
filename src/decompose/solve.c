/* Iterations: transforms and vertices in turn, stepping ahead where that pays; bones that explain little move to where
 * the error is.
 *
 * Alternating steps converge slowly along valleys. Before each iteration rest positions and weights are therefore
 * carried on by `ahead` times their last change; when the objective then rises, the iteration is taken back. Accepted
 * objectives never rise.
 */
#include "decompose/solve.h"

#include <math.h>

#define AHEAD_MAX   4.0 /* changes carried further overshoot nearly always */
#define PLAIN_STEPS 4u  /* before stepping ahead: the first changes point nowhere yet */

/* Carries rest positions on, and weights where the bones are the same, by `ahead` times their change since `before`;
 * then `before` becomes what was. */
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
                w[a] = fmax(value + ahead * (value - old_w[a]), 0);
            old_w[a] = value;
            sum += w[a];
        }
        for (size_t a = 0; same && a < now->counts[i]; a++)
            w[a] /= sum;
        for (size_t a = now->counts[i]; a < K; a++)
            old_w[a] = 0; /* bones that it had once */
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
    solver->ahead = 0;
    solver->steps = 0;
}

pelt_result px_solver_step(px_solver *solver) {
    px_fit *fit = solver->fit;
    step_ahead(fit, solver->steps < PLAIN_STEPS ? 0 : solver->ahead);
    PX_TRY(px_fit_moments(fit));
    PX_TRY(px_fit_transforms(fit));
    px_fit_gram(fit);
    PX_TRY(px_fit_vertices(fit, true));
    bool worse = fit->now.objective > fit->before.objective;
    if (worse)
        px_fit_state_copy(fit, &fit->before, &fit->now);
    solver->ahead = worse ? solver->ahead * 0.5 : fmin(fmax(solver->ahead, 0.5) * 1.2, AHEAD_MAX);
    solver->steps++;
    return PELT_OK;
}

/* ---- Moving bones ----------------------------------------------------------------------------------------- */

pelt_result px_solver_move_bones(px_solver *solver, px_fit_state *spare, double expected, bool *moved) {
    px_fit *fit = solver->fit;
    px_fit_state_copy(fit, &fit->now, spare);
    px_fit_gram(fit); /* of the state as it is: the last step may have been taken back */
    uint32_t count = 1 + fit->bone_count / 16;
    for (uint32_t b = 0; b < count && fit->bone_count > 2; b++) {
        uint32_t least;
        PX_TRY(px_fit_least_bone(fit, &least));
        px_fit_remove_bone(fit, least);
        PX_TRY(px_fit_vertices(fit, false));
        PX_TRY(px_fit_add_bone(fit));
        PX_TRY(px_fit_vertices(fit, false));
    }
    px_solver_restart(solver);
    /* What is still worse than before after half the steps will not get below what is expected. */
    for (int n = 0; n < PX_TRIAL_STEPS && (n < PX_TRIAL_STEPS / 2 || fit->now.objective < spare->objective); n++)
        PX_TRY(px_solver_step(solver));
    *moved = fit->now.objective < expected;
    if (!*moved) {
        px_fit_state_copy(fit, spare, &fit->now);
        px_solver_restart(solver);
    }
    return PELT_OK;
}

/* ---- As many bones as needed ------------------------------------------------------------------------------ */

#define GROW_STEPS   3  /* iterations after each group of new bones */
#define SETTLE_STEPS 12 /* iterations until the error with these bones is known well enough */
#define FLAT         0.85 /* half as many bones again must bring the error below this fraction, or they are not worth it */

static pelt_result steps(px_solver *solver, int count) {
    for (int n = 0; n < count; n++)
        PX_TRY(px_solver_step(solver));
    return PELT_OK;
}

pelt_result px_solver_add_bones(px_solver *solver, uint32_t count) {
    px_fit *fit = solver->fit;
    for (uint32_t b = 0; b < count && fit->bone_count < fit->bone_capacity; b++) {
        PX_TRY(px_fit_add_bone(fit));
        PX_TRY(px_fit_vertices(fit, false));
    }
    px_solver_restart(solver);
    return steps(solver, GROW_STEPS);
}

static double error_of(const px_solver *solver) {
    return px_fit_error(solver->fit, solver->fit->now.objective);
}

/* Takes bones away, the least useful first, for as long as the error stays within reach of the target. */
static pelt_result trim(px_solver *solver, px_fit_state *spare, double target) {
    px_fit *fit = solver->fit;
    while (fit->bone_count > 1) {
        uint32_t least, count = fit->bone_count;
        px_fit_state_copy(fit, &fit->now, spare);
        px_fit_gram(fit);
        PX_TRY(px_fit_least_bone(fit, &least));
        px_fit_remove_bone(fit, least);
        PX_TRY(px_fit_vertices(fit, false));
        px_solver_restart(solver);
        for (int n = 0; n < SETTLE_STEPS && error_of(solver) > target; n++)
            PX_TRY(px_solver_step(solver));
        if (error_of(solver) > target) {
            fit->bone_count = count;
            px_fit_state_copy(fit, spare, &fit->now);
            px_solver_restart(solver);
            return PELT_OK;
        }
    }
    return PELT_OK;
}

/* Every trial has more bones than the one before, so that they cannot be more than there is room for. */
static void note_trial(px_solver *solver) {
    solver->trial_bones[solver->trial_count] = solver->fit->bone_count;
    solver->trial_errors[solver->trial_count++] = (float)error_of(solver);
}

pelt_result px_grow(px_solver *solver, px_fit_state *spare, double target) {
    px_fit *fit = solver->fit;
    PX_TRY(steps(solver, GROW_STEPS));
    note_trial(solver);
    double last = error_of(solver);
    uint32_t last_count = fit->bone_count;
    while (fit->bone_count < fit->bone_capacity && error_of(solver) > target) {
        PX_TRY(px_progress(fit->context, "grow", fit->bone_count, fit->bone_capacity));
        PX_TRY(px_solver_add_bones(solver, 1 + fit->bone_count / 8));
        if (target > 0 && error_of(solver) < 1.5 * target) /* a few more iterations may be all that is missing */
            PX_TRY(steps(solver, SETTLE_STEPS));
        note_trial(solver);
        if (!(target > 0) && 2 * fit->bone_count >= 3 * last_count) {
            if (error_of(solver) > FLAT * last || error_of(solver) < 1)
                break;
            last = error_of(solver);
            last_count = fit->bone_count;
        }
    }
    return target > 0 && error_of(solver) <= target ? trim(solver, spare, target) : PELT_OK;
}
