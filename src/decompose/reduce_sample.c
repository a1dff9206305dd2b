/* Reduction of large animations from a sample of the vertices.
 *
 * The Gram matrix A Aᵀ costs rows² per vertex, subspace iteration several passes over all vertices. Vertices of a large mesh move much like their neighbours, so a sample gives
 * nearly the same leading directions. A second sample, which the basis was not made from, tells: the basis is used only if
 * it loses hardly more there than on the first one, whose own optimum is below that of all vertices. What it loses on all
 * vertices is known after their projection, and compared again: samples may miss a small part that moves on its own.
 */
#include "decompose/reduce.h"

#include <math.h>

#define SAMPLES_PER_ROW 8u
#define WORTH           0x1p34 /* multiplications of the whole Gram matrix: a second or less below */
#define GAP_MOST        1.05   /* sum of squares lost on the second sample over that on the first */
#define TILE            64u    /* vertices per task */
#define LEAF_VERTICES   1024u  /* see core/group.h: few, because samples are small and every process should have some */

size_t px_sample_stride(const px_fit *fit) {
    size_t rows = fit->row_count, N = fit->total_count, stride = N / (SAMPLES_PER_ROW * rows);
    return stride > 1 && (double)rows * (double)rows * (double)N >= WORTH ? stride : 1;
}

/* Takes one vertex of each run of `stride`. Different vertices for shifts 0 and 1 if stride ≥ 2. */
static void take_sample(px_reduction *r, size_t stride, size_t shift, uint32_t *points) {
    r->sample = points;
    r->sample_count = 0;
    for (size_t first = 0; first + stride <= r->fit->total_count; first += stride) {
        size_t place = px_sample_place(first, stride) - first;
        points[r->sample_count++] = r->plan->points[first + (place + shift) % stride];
    }
    r->sample_leaves = px_leaves_make(r->fit->context, r->sample_count, LEAF_VERTICES, r->fit->leaves.divided);
}

typedef struct loss {
    px_reduction *r;
    uint32_t count; /* vertices of the block */
    double *sums;   /* [task][2] sums of squares: all, outside the basis */
} loss;

static pelt_result measure_some(void *user, size_t first, size_t count, size_t block) {
    const loss *l = user;
    const px_fit *fit = l->r->fit;
    size_t rows = fit->row_count, d = fit->dimension;
    px_matrix part = px_matrix_part(px_matrix_in(l->r->block, rows, l->count), 0, rows, first, count);
    double *coords = PX_ALLOC(fit->context, double, count *d), all = 0, inside = 0;
    if (!coords)
        return PELT_ERROR_MEMORY;
    px_gemm(1, px_transposed(part), px_matrix_in(fit->basis, rows, d), 0, px_matrix_of(coords, count, d));
    for (size_t e = 0; e < count * d; e++)
        inside += coords[e] * coords[e];
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count; i++)
            all += *px_matrix_at(part, row, i) * *px_matrix_at(part, row, i);
    px_free(fit->context, coords);
    l->sums[2 * block] += all;
    l->sums[2 * block + 1] += px_fmax(all - inside, 0);
    return PELT_OK;
}

static pelt_result measure_block(px_reduction *r, void *user, uint32_t first, uint32_t count, double *sums) {
    (void)user, (void)first;
    loss l = {r, count, sums};
    return px_parallel(r->fit->context, NULL, count, TILE, measure_some, &l);
}

/* Sums of squares of the sample: all, and outside the basis. */
static pelt_result measure(px_reduction *r, double sums[2]) {
    size_t tasks = px_block_count(r->block_vertices, TILE);
    double *parts = PX_ALLOC(r->fit->context, double, 2 * tasks);
    pelt_result result =
        parts ? px_reduction_sum(r, "reduce", 2 * tasks, measure_block, NULL, parts) : PELT_ERROR_MEMORY;
    sums[0] = sums[1] = 0;
    for (size_t e = 0; result == PELT_OK && e < 2 * tasks; e++)
        sums[e % 2] += parts[e];
    px_free(r->fit->context, parts);
    return result;
}

pelt_result px_reduce_sample(px_reduction *r, size_t stride, px_reduce_fn *find, double *expected) {
    double own[2] = {0}, other[2] = {0}, limit = px_reduction_limit(r->fit, px_reduction_epsilon(r));
    uint32_t *points = PX_ALLOC(r->fit->context, uint32_t, r->fit->total_count / stride);
    *expected = INFINITY;
    if (!points)
        return PELT_ERROR_MEMORY;
    take_sample(r, stride, 0, points);
    pelt_result result = find(r);
    if (result == PELT_OK)
        result = measure(r, own);
    take_sample(r, stride, 1, points);
    if (result == PELT_OK)
        result = measure(r, other);
    px_free(r->fit->context, points);
    r->sample = NULL;
    double all = (double)stride * px_fmax(own[1], other[1]);
    if (result == PELT_OK && (other[1] * own[0] <= GAP_MOST * own[1] * other[0] || all <= limit))
        *expected = px_fmax(GAP_MOST * all, limit);
    return result;
}
