/* Conjugate gradients with Jacobi preconditioner (Shewchuk, An Introduction to the Conjugate Gradient Method, 1994). */
#include "weights/solve.h"

void px_cg_solve(const px_cg *system, double *x, double *r, double *scratch) {
    uint32_t count = system->count;
    const double *diagonal = system->diagonal;
    double *p = scratch, *q = scratch + count, rho = 0, first;
    for (uint32_t u = 0; u < count; u++) {
        p[u] = r[u] / diagonal[u];
        rho += r[u] * p[u];
    }
    first = rho;
    for (uint32_t n = 0; n < system->iterations && rho > system->tolerance * system->tolerance * first; n++) {
        double energy = system->multiply(system->user, p, q), step = rho / energy, next = 0;
        if (!(energy > 0))
            break;
        for (uint32_t u = 0; u < count; u++) {
            x[u] += step * p[u];
            r[u] -= step * q[u];
            next += r[u] * r[u] / diagonal[u];
        }
        for (uint32_t u = 0; u < count; u++)
            p[u] = r[u] / diagonal[u] + next / rho * p[u];
        rho = next;
    }
}
