/* Dense linear algebra in double precision, and one product in single precision.
 *
 * Matrices are views of row-major arrays. Element (r, c) of a view is data[r · pitch + c], of a transposed view data[c
 * · pitch + r]; transposing copies nothing.
 *
 * All functions are thread-safe. Sums have a fixed order and no product is fused with an addition, so results are the same
 * bits on every machine and for any number of threads (kernels.h).
 */
#ifndef PELT_NUMERIC_H
#define PELT_NUMERIC_H

#include "core/core.h"
#include "core/matrix3.h"

/* ---- Matrices --------------------------------------------------------------------------------------------- */

typedef struct px_matrix {
    double *data;
    size_t rows, columns; /* of the view: after transposition */
    size_t pitch;         /* elements between the starts of stored rows, at least the length of a stored row */
    bool transposed;
} px_matrix;

/* View of `data` [rows][columns]. */
static inline px_matrix px_matrix_of(double *data, size_t rows, size_t columns) {
    return (px_matrix){data, rows, columns, columns, false};
}
/* View of read-only data: pass it only to parameters marked `in` below. */
static inline px_matrix px_matrix_in(const double *data, size_t rows, size_t columns) {
    return px_matrix_of((double *)(uintptr_t)data, rows, columns);
}
/* Submatrix: rows [row, row + rows) and columns [column, column + columns) of a. */
px_matrix px_matrix_part(px_matrix a, size_t row, size_t rows, size_t column, size_t columns);

static inline px_matrix px_transposed(px_matrix a) {
    return (px_matrix){a.data, a.columns, a.rows, a.pitch, !a.transposed};
}
static inline double *px_matrix_at(px_matrix a, size_t row, size_t column) {
    return a.data + (a.transposed ? column * a.pitch + row : row * a.pitch + column);
}

/* c [m][n] = alpha · a [m][k] · b [k][n] + beta · c. a and b are `in`, c must not be transposed. With beta 0, c is
 * overwritten and may be uninitialised or NaN. */
void px_gemm(double alpha, px_matrix a, px_matrix b, double beta, px_matrix c);

/* Product in single precision, twice as fast: c [count][px_float_pitch(n)] = a · b with the rows of a given by pointers, rows
 * [count][k], and b [k][n] transposed and `in`. Elements of c behind column n are undefined. An element has a relative error of
 * about 1e-7 √k of the largest product. */
void px_multiply_rows(const float *const *rows, size_t count, px_matrix b, float *c);
#define PX_FLOAT_PITCH 48u /* whole vectors of every kind of machine */
static inline size_t px_float_pitch(size_t columns) {
    return (columns + PX_FLOAT_PITCH - 1) / PX_FLOAT_PITCH * PX_FLOAT_PITCH;
}

/* c [n][n] = alpha · a [n][k] · aᵀ + beta · c, both triangles. a is `in`; for the Gram matrix aᵀ·a pass
 * px_transposed(a). c must not be transposed, and must be symmetric when beta is not 0. */
void px_syrk(double alpha, px_matrix a, double beta, px_matrix c);

/* ---- Decompositions --------------------------------------------------------------------------------------- */

/* Cholesky factorisation a = L·Lᵀ of a symmetric a [n][n], in place: only the lower triangle is read and becomes L; the
 * upper one is unchanged. False when a is not positive definite in double precision or not finite; the contents of a
 * are then undefined. */
bool px_cholesky(px_matrix a);
/* Replaces b [n][k], which may be transposed, by a⁻¹·b, with L from px_cholesky. */
void px_cholesky_apply(px_matrix l, px_matrix b);
/* Replaces b [n][k], which must not be transposed, by L⁻¹·b. */
void px_cholesky_divide(px_matrix l, px_matrix b);
/* px_cholesky, then px_cholesky_apply: a [n][n] becomes L, b [n][k] becomes a⁻¹·b. False as for px_cholesky; b is then
 * unchanged. */
bool px_cholesky_solve(px_matrix a, px_matrix b);

/* Eigenvalues [n], ascending, of a symmetric a [n][n] (only the lower triangle is read). Row e of a becomes the unit
 * eigenvector of eigenvalue e. Fails when a is not finite (PELT_ERROR_INPUT) or out of memory. */
pelt_result px_symmetric_eigen(pelt_context *context, px_matrix a, double *values);

/* Thin singular value decomposition a [m][n] = u [m][r] · diag(s [r]) · vt [r][n] with r = min(m, n); s descending, ≥
 * 0; columns of u and rows of vt are orthonormal. a is overwritten. Fails as px_symmetric_eigen does. */
pelt_result px_svd(pelt_context *context, px_matrix a, px_matrix u, double *s, px_matrix vt);

#endif
