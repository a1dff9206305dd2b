/* Inner loops of the dense algebra, compiled for several kinds of machine (dense_kernel.h) with the same results: every
 * element is a sum in a fixed order, whatever the width of the vectors, and products are rounded before they are added. */
#ifndef PELT_NUMERIC_KERNELS_H
#define PELT_NUMERIC_KERNELS_H

#include "numeric/numeric.h"

/* Sequence of plane rotations: for i = last − 1 down to first, rows (i, i + 1) become
 * (c·row i − s·row i+1, s·row i + c·row i+1), with (c, s) = turns[last − 1 − i]. */
typedef struct px_rotations {
    size_t first, last;
    const double (*turns)[2]; /* [last − first] */
} px_rotations;

typedef struct px_dense_kernels {
    /* c [m][n] = alpha · a [m][k] · b [k][n] + beta · c; k > 0, c not transposed. */
    void (*multiply)(double alpha, px_matrix a, px_matrix b, double beta, px_matrix c);
    /* px_multiply_rows with b.rows > 0. */
    void (*multiply_rows)(const float *const *rows, size_t count, px_matrix b, float *c);
    /* Applies sequences in order to columns [column, column + columns) of rows of length `pitch`. */
    void (*rotate)(const px_rotations *sequences, size_t count, double *rows, size_t pitch, size_t column,
                   size_t columns);
    /* Σ a_e b_e, in eight partial sums. */
    double (*dot)(const double *a, const double *b, size_t count);
} px_dense_kernels;

/* The fastest for this machine. */
const px_dense_kernels *px_dense_kernels_here(void);

extern const px_dense_kernels px_dense_kernels_any;
#if defined(__x86_64__)
extern const px_dense_kernels px_dense_kernels_avx2, px_dense_kernels_avx512;
#endif

#endif
