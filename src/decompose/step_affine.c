/* Affine bones (FESAM): the normal equations T_r S = Q.
 *
 * They are pulled ever so slightly towards the previous transforms. The pull decides the directions in which S says
 * nothing (flat or unused bones) and can only lower the objective, however strong it must be for Cholesky.
 */
#include "decompose/kinds.h"

pelt_result px_fit_affine(px_fit *fit) {
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
