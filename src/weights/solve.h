/* Sparse symmetric systems of the weight operations: one unknown per row, one system per bone. */
#ifndef PELT_WEIGHTS_SOLVE_H
#define PELT_WEIGHTS_SOLVE_H

#include "core/core.h"

/* out = A·x; returns xᵀ·A·x. */
typedef double px_cg_multiply_fn(const void *user, const double *x, double *out);

/* A·x = b, A symmetric and positive definite. */
typedef struct px_cg {
    px_cg_multiply_fn *multiply;
    const void *user;
    uint32_t count;         /* unknowns */
    const double *diagonal; /* [unknown] of A, > 0 */
    uint32_t iterations;    /* at most */
    double tolerance;       /* stop at this residual, relative to that of the start */
} px_cg;
/* x [unknown]: in the start, out the solution. r [unknown]: in b − A·x, out the last residual. scratch [2 · unknown]. */
void px_cg_solve(const px_cg *system, double *x, double *r, double *scratch);

#endif
