/* Least squares with weights that are not negative; on the simplex they sum to one as well. */
#ifndef PELT_NUMERIC_SIMPLEX_H
#define PELT_NUMERIC_SIMPLEX_H

#include <stddef.h>

#define PX_SIMPLEX_MAX 17 /* a set before it is cut back to the influences of a vertex */

/* Minimises wᵀ g w − 2 bᵀ w over w ≥ 0, Σw = 1, exactly (primal active set), and returns the minimum.
 * g [n][PX_SIMPLEX_MAX] symmetric, positive semidefinite; b [n]; w [n]: a feasible start, then the solution. Weights
 * that are zero at the start stay candidates. Never worse than the start. */
double px_simplex_least(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, double *w);
/* The same over w ≥ 0 alone (the active set of Lawson and Hanson 1974). w may start at zero. */
double px_nonnegative_least(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, double *w);

#endif
