/* Inside the reduction A ≈ B C: reading A in blocks, and the ways to find B.
 *
 * Blocks and tiles have fixed sizes and are added in order, whatever the number of threads and the memory bound: the
 * same bytes come out always.
 */
#ifndef PELT_DECOMPOSE_REDUCE_H
#define PELT_DECOMPOSE_REDUCE_H

#include "decompose/gather.h"

typedef struct px_reduction {
    px_fit *fit;
    const pelt_clip *clips; /* one after another */
    const px_gathered *plan;
    const pelt_decompose_desc *desc;
    uint32_t block_vertices; /* of a block with all frames; it has at most PX_REDUCE_BLOCK entries (or 16 vertices) */
    double *block;           /* [row][block_vertices] */
} px_reduction;

/* A copy of data [count] in place of `old`, which is freed; NULL when there is no memory. */
void *px_cache_copy(pelt_context *context, void *old, const void *data, size_t count, size_t size);

#define PX_REDUCE_BLOCK ((size_t)2 << 20) /* doubles, 16 MB: long enough sums for BLAS to be fast */

/* Part of A: `out` [3 · frame_count][count], rows of frames [frame, frame + frame_count) (counted over all clips),
 * columns of vertices [first, first + count). Runs on all threads. Fails at the first number that is not finite. */
pelt_result px_reduction_read(px_reduction *r, uint32_t first, uint32_t count, uint32_t frame, uint32_t frame_count,
                              double *out);

/* Calls use(r, user, first, count) for each block of vertices, which then is in r->block with pitch `count`. */
typedef pelt_result px_use_block_fn(px_reduction *r, void *user, uint32_t first, uint32_t count);
pelt_result px_reduction_each_block(px_reduction *r, const char *phase, px_use_block_fn *use, void *user);

/* c [n][n] += a · aᵀ, only the lower triangle, on all threads. */
pelt_result px_add_products(pelt_context *context, px_matrix a, px_matrix c);

/* Makes row `count` of q [count + 1][width] orthogonal to the rows before it, which are orthonormal, and of length 1.
 * Returns the length it had after the first projection; 0 (and the row spoilt) when it lies in their span to rounding.
 * `scratch` [count]. Twice is enough (Giraud, Langou, Rozložník, van den Eshof 2005). */
double px_orthonormalise(double *q, size_t count, size_t width, double *scratch);

/* Squares that may be lost in all for an E_rms of `error`. */
double px_reduction_limit(const px_fit *fit, double error);
/* The E_rms that may be lost: the one asked for, or a negligible one. */
double px_reduction_epsilon(const px_reduction *r);
/* Dimensions beyond which a fit with this many bones hardly gains; all where that does not hold. */
size_t px_reduction_used(const px_reduction *r);
/* How many of the leading directions to keep. `values` [count] are the squares that each explains, ascending; `rest` is
 * what none of them does. Fails where the work would take more memory than is allowed. */
pelt_result px_reduction_dimension(const px_reduction *r, const double *values, size_t count, double rest,
                                   uint32_t *dimension);

/* Ways to find a basis: each sets fit->dimension and fit->basis. */
pelt_result px_reduce_rows(px_reduction *r);     /* through A Aᵀ [row][row] */
pelt_result px_reduce_vertices(px_reduction *r); /* through AᵀA [vertex][vertex] */
pelt_result px_reduce_iterate(px_reduction *r);  /* by subspace iteration, linear in rows and in vertices */
/* The same for the `width` leading directions, with A Aᵀ [row][row] at hand. */
pelt_result px_reduce_leading(px_reduction *r, const double *gram, size_t width);
pelt_result px_reduce_columns(px_reduction *r); /* Algorithm 1 of FESAM and its alternatives */

#endif
