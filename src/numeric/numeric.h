/* Dense algebra in double precision: named functions for BLAS and LAPACK.
 *
 * Matrices are views of row-major arrays. Element (r, c) of a view is data[r · pitch + c], of a transposed one
 * data[c · pitch + r]; nothing is ever copied to transpose it. Rows, columns and pitch must each fit in an int.
 *
 * Threads: all functions may be called from any number of threads at once. Their results depend on the number of threads
 * that OpenBLAS uses inside one call, which is the host's to set: see pelt/blas.h.
 */
#ifndef PELT_NUMERIC_H
#define PELT_NUMERIC_H

#include "core/core.h"
#include "core/matrix3.h"

/* ---- Matrices --------------------------------------------------------------------------------------------- */

typedef struct px_matrix {
    double *data;
    size_t rows, columns; /* as seen through the view */
    size_t pitch;         /* elements from a stored row to the next, at least the stored row's length */
    bool transposed;
} px_matrix;

/* All of `data` [rows][columns]. */
static inline px_matrix px_matrix_of(double *data, size_t rows, size_t columns) {
    return (px_matrix){data, rows, columns, columns, false};
}
/* The same for data that is only read: use it for inputs marked `in` below. */
static inline px_matrix px_matrix_in(const double *data, size_t rows, size_t columns) {
    return px_matrix_of((double *)(uintptr_t)data, rows, columns);
}
/* Rows [row, row + rows) and columns [column, column + columns) of a. */
px_matrix px_matrix_part(px_matrix a, size_t row, size_t rows, size_t column, size_t columns);

static inline px_matrix px_transposed(px_matrix a) {
    return (px_matrix){a.data, a.columns, a.rows, a.pitch, !a.transposed};
}
static inline double *px_matrix_at(px_matrix a, size_t row, size_t column) {
    return a.data + (a.transposed ? column * a.pitch + row : row * a.pitch + column);
}

/* c [m][n] = alpha · a [m][k] · b [k][n] + beta · c. a and b are `in`, c is not transposed. beta 0 overwrites c,
 * whatever was in it. */
void px_gemm(double alpha, px_matrix a, px_matrix b, double beta, px_matrix c);

/* c [n][n] = alpha · a [n][k] · aᵀ + beta · c, both triangles. a is `in`; for aᵀ·a pass px_transposed(a). c is not
 * transposed, and symmetric when beta is not 0. */
void px_syrk(double alpha, px_matrix a, double beta, px_matrix c);

/* ---- Decompositions --------------------------------------------------------------------------------------- */

/* a [n][n], symmetric (only the lower triangle is read), becomes L in its lower triangle, a = L·Lᵀ; the upper one is
 * left alone. False when a is not positive definite in double precision or not finite; a is then spoilt. */
bool px_cholesky(px_matrix a);
/* b [n][k], which may be transposed, becomes a⁻¹·b, with L from px_cholesky. */
void px_cholesky_apply(px_matrix l, px_matrix b);
/* Both: b [n][k] becomes a⁻¹·b, a [n][n] becomes L. False as for px_cholesky; b is then untouched. */
bool px_cholesky_solve(px_matrix a, px_matrix b);

/* All eigenvalues [n] of a symmetric a [n][n] (only the lower triangle is read), ascending; row e of a becomes the unit
 * eigenvector of value e. Fails when a is not finite (ERROR_INPUT) or there is no memory. */
pelt_result px_symmetric_eigen(pelt_context *context, px_matrix a, double *values);

/* a [m][n] = u [m][r] · diag(s [r]) · vt [r][n] with r = min(m, n); s descending, ≥ 0; columns of u and rows of vt are
 * orthonormal. a is overwritten. Fails as above. */
pelt_result px_svd(pelt_context *context, px_matrix a, px_matrix u, double *s, px_matrix vt);

#endif
