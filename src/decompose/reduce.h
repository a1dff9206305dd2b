/* Internals of the reduction A ≈ B C: reading A in blocks, and the algorithms that find the basis B.
 *
 * Blocks and tiles have fixed sizes and are summed in a fixed order, so results are bit-identical for any number of
 * threads and any memory limit.
 */
#ifndef PELT_DECOMPOSE_REDUCE_H
#define PELT_DECOMPOSE_REDUCE_H

#include "decompose/gather.h"

typedef struct px_reduction {
    px_fit *fit;
    const pelt_clip *clips; /* concatenated in time */
    const px_gathered *plan;
    const pelt_decompose_desc *desc;
    const uint32_t *sample; /* [sample_count] points of the vertices to read, ascending; NULL: all of the plan */
    uint32_t sample_count;
    px_leaves sample_leaves; /* order of sums over the sample */
    bool whole;              /* px_reduction_read reads vertices of all processes, not only own ones */
    uint32_t block_vertices; /* vertices of a block with all frames: ≤ PX_REDUCE_BLOCK entries, but ≥ 16 vertices */
    double *block;           /* [row][block_vertices] */
} px_reduction;

/* Frees `old` and returns a copy of data [count]; NULL if out of memory. */
void *px_cache_copy(pelt_context *context, void *old, const void *data, size_t count, size_t size);

#define PX_REDUCE_BLOCK ((size_t)2 << 20) /* doubles, 16 MB: inner products long enough for fast matrix products */

/* Reads part of A into `out` [3 · frame_count][count]: rows of frames [frame, frame + frame_count), numbered over all
 * clips, columns of vertices [first, first + count): own ones (all if `whole`) or those of the sample. Multithreaded. Fails at the first value that is not finite. */
pelt_result px_reduction_read(px_reduction *r, uint32_t first, uint32_t count, uint32_t frame, uint32_t frame_count,
                              double *out);

/* Sums over all vertices, or the sample, as px_leaves_sum: calls add(r, user, first, count, values) for each block of vertices;
 * r->block then holds it with row pitch `count`. */
typedef pelt_result px_add_block_fn(px_reduction *r, void *user, uint32_t first, uint32_t count, double *values);
pelt_result px_reduction_sum(px_reduction *r, const char *phase, size_t width, px_add_block_fn *add, void *user,
                             double *values);

/* c [n][n] += a · aᵀ, lower triangle only; multithreaded. */
pelt_result px_add_products(pelt_context *context, px_matrix a, px_matrix c);

/* Gram-Schmidt step: makes row `count` of q [count + 1][width] orthogonal to the orthonormal rows before it and scales
 * it to length 1. Returns its length after the first projection, or 0 (row undefined) if it lies in their span up to
 * rounding. `scratch` [count]. Two projections are enough (Giraud, Langou, Rozložník, van den Eshof 2005). */
double px_orthonormalise(double *q, size_t count, size_t width, double *scratch);

/* Sum of squares that corresponds to an E_rms of `error`. */
double px_reduction_limit(const px_fit *fit, double error);
/* E_rms that the reduction may lose: desc->epsilon, or a negligible default. */
double px_reduction_epsilon(const px_reduction *r);
/* Largest useful dimension for this number of bones; row_count if no such bound applies. */
size_t px_reduction_used(const px_reduction *r);
/* Number of leading directions to keep. `values` [count]: sum of squares along each direction, ascending; `rest`: sum
 * of squares outside all of them. Fails if the fit would exceed desc->memory. */
pelt_result px_reduction_dimension(const px_reduction *r, const double *values, size_t count, double rest,
                                   uint32_t *dimension);

/* Algorithms that find a basis; each sets fit->dimension and fit->basis. The first two take the sample if there is one. */
typedef pelt_result px_reduce_fn(px_reduction *r);
px_reduce_fn px_reduce_rows;     /* eigenvectors of A Aᵀ [row][row] */
px_reduce_fn px_reduce_iterate;  /* subspace iteration; linear in rows and in vertices */
px_reduce_fn px_reduce_vertices; /* eigenvectors of AᵀA [vertex][vertex] */
/* Subspace iteration for the `width` leading directions with A Aᵀ [row][row] given. */
pelt_result px_reduce_leading(px_reduction *r, const double *gram, size_t width);
px_reduce_fn px_reduce_columns; /* Algorithm 1 of FESAM and its variants */

/* A vertex of the run of `stride` vertices from `first`, at a pseudo-random place: the order of the vertices does not matter. */
static inline size_t px_sample_place(size_t first, size_t stride) {
    return first + (first * UINT64_C(0x9E3779B97F4A7C15) >> 32) % stride;
}
/* One of how many vertices px_reduce_sample should take; 1: all, a sample is not worth it. */
size_t px_sample_stride(const px_fit *fit);
/* Applies px_reduce_rows or px_reduce_iterate to one of `stride` ≥ 2 vertices. *expected: the basis is nearly as good as
 * that of all vertices if these have at most this sum of squares outside it; infinite: it is not good, compute it from
 * all vertices. */
pelt_result px_reduce_sample(px_reduction *r, size_t stride, px_reduce_fn *find, double *expected);

#endif
