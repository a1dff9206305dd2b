/* Least squares with non-negative weights (NNLS), and with weights on the simplex (non-negative, sum 1). */
#ifndef PELT_NUMERIC_SIMPLEX_H
#define PELT_NUMERIC_SIMPLEX_H

#include <stddef.h>

#define PX_SIMPLEX_MAX 17 /* largest n: candidate bones of a vertex before they are reduced to its influences */

/* Minimises wᵀ g w − 2 bᵀ w over w ≥ 0, Σw = 1, exactly (primal active set method), and returns the minimum.
 * g [n][PX_SIMPLEX_MAX]: Gram matrix, symmetric, positive semidefinite; b [n]; w [n]: in, a feasible start; out, the
 * solution. Weights that start at zero may become positive. Never worse than the start. */
double px_simplex_least(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, double *w);
/* Non-negative least squares: the same over w ≥ 0 without the sum (active set method of Lawson and Hanson 1974). w may
 * start at zero. */
double px_nonnegative_least(size_t n, double g[][PX_SIMPLEX_MAX], const double *b, double *w);

#endif
