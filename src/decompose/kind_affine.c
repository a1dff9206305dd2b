/* Affine bones (FESAM): the normal equations T_r S = Q.
 *
 * A small damping towards the previous transforms decides directions that S leaves undetermined (flat or unused bones).
 * With any damping, however strong Cholesky needs it, the objective cannot rise.
 *
 * With locked bones, the free ones solve T_free S_ff = Q_f − T_locked S_lf.
 *
 * fit->bone_pull adds a penalty towards the nearest rotations (pulls.h), which may raise the objective.
 */
#include "decompose/kinds.h"
#include "decompose/pulls.h"

/* Adds the penalty towards rotations to copies of S and Q. */
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

/* Solves for m rows of T_r, indices `rows` [m]. `scatter` [4P][4P] is S, `wanted` [4P][dimension] is Q. */
static pelt_result solve_rows(px_fit *fit, const double *scatter, const double *wanted, const size_t *rows, size_t m) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    double trace = 0, *now = fit->now.reduced, *system = PX_ALLOC(fit->context, double, m *(m + d));
    if (!system)
        return PELT_ERROR_MEMORY;
    for (size_t r = 0; r < n; r++)
        trace += scatter[r * n + r];
    bool solved = m == 0;
    for (double pull = 1e-11; pull < 1 && !solved; pull *= 100) {
        double amount = pull * trace / (double)n, *rhs = system + m * m;
        for (size_t f = 0; f < m; f++, rhs += d) {
            const double *s = scatter + rows[f] * n;
            for (size_t e = 0; e < d; e++)
                rhs[e] = wanted[rows[f] * d + e] + amount * now[rows[f] * d + e];
            for (size_t l = 0; fit->lock_motions && l < n; l++)
                for (size_t e = 0; fit->lock_motions[l / 4] && s[l] != 0 && e < d; e++)
                    rhs[e] -= s[l] * now[l * d + e];
            for (size_t c = 0; c < m; c++)
                system[f * m + c] = s[rows[c]];
            system[f * m + f] += amount;
        }
        rhs = system + m * m;
        solved = px_cholesky_solve(px_matrix_of(system, m, m), px_matrix_of(rhs, m, d));
        for (size_t f = 0; f < m && solved; f++)
            memcpy(now + rows[f] * d, rhs + f * d, d * sizeof *rhs);
    }
    px_free(fit->context, system);
    return PELT_OK;
}

static pelt_result fit_affine(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, m = 0;
    double *scatter = fit->scatter, *cross = fit->cross, *pulled = NULL;
    size_t *rows = PX_ALLOC(fit->context, size_t, n);
    pelt_result result = rows ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t r = 0; rows && r < n; r++)
        if (!fit->lock_motions || !fit->lock_motions[r / 4])
            rows[m++] = r;
    if (result == PELT_OK && fit->bone_pull > 0) {
        scatter = pulled = PX_ALLOC(fit->context, double, n *(n + d));
        result = pulled ? PELT_OK : PELT_ERROR_MEMORY;
        if (pulled) {
            cross = pulled + n * n;
            memcpy(scatter, fit->scatter, n * n * sizeof *scatter);
            result = pull_bones(fit, scatter, cross);
        }
    }
    if (result == PELT_OK)
        result = solve_rows(fit, scatter, cross, rows, m);
    px_free(fit->context, pulled);
    px_free(fit->context, rows);
    return result;
}

static void follow(px_stretch *path, const double linear[9]) {
    px_stretch_follow(path, linear, false);
}

const px_bone_kind px_bone_affine = {
    .name = "affine",
    .unconstrained = true,
    .scales = true,
    .nested = true,
    .host = PX_HOST_INVERTIBLE,
    .fit = fit_affine,
    .follow = follow,
};
