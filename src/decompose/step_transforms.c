/* The transforms for given moments: T_r S = Q.
 *
 * Affine: the normal equations, pulled ever so slightly towards the previous transforms. The pull decides the
 * directions in which S says nothing (flat or unused bones) and can only lower the objective, however strong it must be
 * for Cholesky. Rigid: per frame and bone the weighted Procrustes problem for what the other bones leave over, from 4×4
 * blocks of the moments; every one is solved exactly, so the objective falls with each.
 */
#include "decompose/fit.h"

#include <math.h>

/* ---- Affine ----------------------------------------------------------------------------------------------- */

static pelt_result solve_affine(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    double *system = PX_ALLOC(fit->context, double, n *(n + d));
    if (!system)
        return PELT_ERROR_MEMORY;
    double *rhs = system + n * n, trace = 0;
    for (size_t r = 0; r < n; r++)
        trace += fit->scatter[r * n + r];
    for (double pull = 1e-11; pull < 1; pull *= 100) {
        double amount = pull * trace / (double)n;
        memcpy(system, fit->scatter, n * n * sizeof *system);
        for (size_t r = 0; r < n; r++)
            system[r * n + r] += amount;
        for (size_t e = 0; e < n * d; e++)
            rhs[e] = fit->cross[e] + amount * fit->now.reduced[e];
        if (px_cholesky_solve(px_matrix_of(system, n, n), px_matrix_of(rhs, n, d))) {
            memcpy(fit->now.reduced, rhs, n * d * sizeof *rhs);
            break;
        }
    }
    px_free(fit->context, system);
    return PELT_OK;
}

/* ---- Rigid ------------------------------------------------------------------------------------------------ */

#define SWEEPS           3 /* over the bones; more gain little before the weights have moved */
#define FRAMES_PER_BLOCK 4

typedef struct rigid_job {
    px_fit *fit;
    const double *full_cross; /* A Xᵀ = B Qᵀ [row][4P] */
    double *products;         /* T S [row][4P] */
} rigid_job;

/* The best rigid motion for moment m [3][4] of a bone with scatter s (4×4, pitch n). */
static void procrustes(double m[3][4], const double *s, size_t n, double out[3][4]) {
    double mass = s[3 * n + 3], covariance[9], rotation[9];
    for (size_t r = 0; r < 3; r++)
        for (size_t c = 0; c < 3; c++)
            covariance[3 * r + c] = m[r][c] - m[r][3] * s[3 * n + c] / mass;
    px_polar3(covariance, rotation, NULL);
    for (size_t r = 0; r < 3; r++) {
        double moved = 0;
        for (size_t c = 0; c < 3; c++) {
            out[r][c] = rotation[3 * r + c];
            moved += rotation[3 * r + c] * s[3 * n + c];
        }
        out[r][3] = (m[r][3] - moved) / mass;
    }
}

static void improve_bone(const rigid_job *job, size_t frame, size_t j) {
    px_fit *fit = job->fit;
    size_t n = 4 * (size_t)fit->bone_count, first = 3 * frame * n;
    const double *s = fit->scatter + 4 * j * n + 4 * j;
    if (s[3 * n + 3] < 1e-9) /* carries nothing */
        return;
    double *t = fit->now.full + first + 4 * j, *products = job->products + first;
    const double *q = job->full_cross + first + 4 * j;
    double m[3][4], next[3][4];
    for (size_t r = 0; r < 3; r++)
        for (size_t c = 0; c < 4; c++) {
            m[r][c] = q[r * n + c] - products[r * n + 4 * j + c];
            for (size_t e = 0; e < 4; e++)
                m[r][c] += t[r * n + e] * s[e * n + c];
        }
    procrustes(m, s, n, next);
    for (size_t r = 0; r < 3; r++)
        for (size_t e = 0; e < 4; e++) {
            double change = next[r][e] - t[r * n + e];
            t[r * n + e] = next[r][e];
            const double *row = fit->scatter + (4 * j + e) * n;
            for (size_t c = 0; c < n; c++)
                products[r * n + c] += change * row[c];
        }
}

static pelt_result improve_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const rigid_job *job = user;
    for (size_t k = first; k < first + count; k++)
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (size_t j = 0; j < job->fit->bone_count; j++)
                improve_bone(job, k, j);
    return PELT_OK;
}

static pelt_result solve_rigid(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, rows = fit->row_count;
    double *full_cross = PX_ALLOC(fit->context, double, 2 * rows * n);
    if (!full_cross)
        return PELT_ERROR_MEMORY;
    rigid_job job = {fit, full_cross, full_cross + rows * n};
    px_matrix full = px_matrix_of(fit->now.full, rows, n), basis = px_matrix_in(fit->basis, rows, d);
    px_gemm(1, basis, px_transposed(px_matrix_in(fit->cross, n, d)), 0, px_matrix_of(full_cross, rows, n));
    px_gemm(1, full, px_matrix_in(fit->scatter, n, n), 0, px_matrix_of(job.products, rows, n));
    pelt_result result = px_parallel(fit->context, NULL, rows / 3, FRAMES_PER_BLOCK, improve_frames, &job);
    px_gemm(1, px_transposed(full), basis, 0, px_matrix_of(fit->now.reduced, n, d));
    px_free(fit->context, full_cross);
    return result;
}

pelt_result px_fit_transforms(px_fit *fit) {
    return fit->kind == PELT_TRANSFORMS_RIGID ? solve_rigid(fit) : solve_affine(fit);
}
