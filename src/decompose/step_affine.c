/* Affine bones (FESAM): the normal equations T_r S = Q.
 *
 * They are pulled ever so slightly towards the previous transforms. The pull decides the directions in which S says
 * nothing (flat or unused bones) and can only lower the objective, however strong it must be for Cholesky.
 *
 * Bones that are locked leave the others T_free S_ff = Q_f − T_locked S_lf.
 *
 * With fit->bone_pull the nearest rotations are wanted as well (pulls.h): that may raise the objective.
 */
#include "decompose/kinds.h"
#include "decompose/pulls.h"

/* Rows and columns of locked bones become those of the identity, and their part of the others goes to the right. */
static void hold_locked(const px_fit *fit, double *system, double *rhs) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    for (size_t l = 0; l < n; l++) {
        if (!fit->lock_motions[l / 4])
            continue;
        const double *locked = fit->now.reduced + l * d;
        for (size_t r = 0; r < n; r++) {
            double s = system[r * n + l];
            for (size_t e = 0; s != 0 && e < d; e++)
                rhs[r * d + e] -= s * locked[e];
            system[r * n + l] = system[l * n + r] = 0;
        }
        system[l * n + l] = 1;
    }
}

/* S and Q with what the pull to rotations adds to them. */
static pelt_result pull_bones(px_fit *fit, double *scatter, double *cross) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    double away;
    PX_TRY(px_pull_rotations(fit, cross, &away));
    for (size_t r = 0; r < n; r++) {
        double pull = r % 4 < 3 ? fit->bone_pull * px_pull_size(fit, r / 4) : 0;
        for (size_t e = 0; e < d; e++)
            cross[r * d + e] = fit->cross[r * d + e] + pull * cross[r * d + e];
        scatter[r * n + r] += pull;
    }
    return PELT_OK;
}

/* `wanted` [4P][dimension] is Q, and `scatter` [4P][4P] is S; system and rhs are scratch of their sizes. */
static void solve_affine(px_fit *fit, const double *scatter, const double *wanted, double *system, double *rhs) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    double trace = 0;
    for (size_t r = 0; r < n; r++)
        trace += scatter[r * n + r];
    for (double pull = 1e-11; pull < 1; pull *= 100) {
        double amount = pull * trace / (double)n;
        memcpy(system, scatter, n * n * sizeof *system);
        for (size_t r = 0; r < n; r++)
            system[r * n + r] += amount;
        for (size_t e = 0; e < n * d; e++)
            rhs[e] = wanted[e] + amount * fit->now.reduced[e];
        if (fit->lock_motions)
            hold_locked(fit, system, rhs);
        if (px_cholesky_solve(px_matrix_of(system, n, n), px_matrix_of(rhs, n, d))) {
            for (size_t r = 0; r < n; r++)
                if (!fit->lock_motions || !fit->lock_motions[r / 4])
                    memcpy(fit->now.reduced + r * d, rhs + r * d, d * sizeof *rhs);
            break;
        }
    }
}

pelt_result px_fit_affine(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, size = n * (n + d);
    bool pulled = fit->bone_pull > 0;
    double *system = PX_ALLOC(fit->context, double, pulled ? 2 * size : size);
    if (!system)
        return PELT_ERROR_MEMORY;
    double *scatter = fit->scatter, *cross = fit->cross;
    pelt_result result = PELT_OK;
    if (pulled) {
        scatter = system + size;
        cross = scatter + n * n;
        memcpy(scatter, fit->scatter, n * n * sizeof *scatter);
        result = pull_bones(fit, scatter, cross);
    }
    if (result == PELT_OK)
        solve_affine(fit, scatter, cross, system, system + n * n);
    px_free(fit->context, system);
    return result;
}
