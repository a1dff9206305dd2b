/* Reduction for many rows and many vertices: subspace iteration with a random start (N. Halko, P.-G. Martinsson, J.
 * Tropp, "Finding structure with randomness", 2011).
 *
 * Each pass computes Q A Aᵀ for Q [width][row], in blocks of vertices, and orthonormalises the result. The last pass
 * gives the Ritz values of Q, the sum of squares along each direction. The part of A outside Q follows from ‖A‖², so
 * the loss is exact, not estimated. If it is too large, Q gets wider. Time and memory are linear in rows and in
 * vertices.
 *
 * The same iteration on a given A Aᵀ finds its leading eigenvectors when few are needed.
 */
#include "decompose/reduce.h"

#include <math.h>

#define FIRST_WIDTH  256u
#define MOST_WIDTH   1024u
#define PASSES       3    /* each pass multiplies components by their squared singular values */
#define MORE_PASSES  2    /* passes after widening: the existing directions have converged */
#define GRAM_PASSES  4    /* passes on a given A Aᵀ: cheap; more change only the last digits of the last directions */
#define TILE         32u  /* directions per task */
#define DEPENDENT    1e-4 /* length of a row of length 1 outside the span of the rows before it */
#define MISSED_SHARE 0.25 /* share of the permitted loss that may lie outside Q */

typedef struct iteration {
    px_reduction *r;
    const double *gram; /* A Aᵀ [row][row]; NULL: read A */
    size_t width, most;
    double *q;       /* [width][row] */
    double *next;    /* [width][row] */
    double *y;       /* [width][block_vertices] */
    double *ritz;    /* [width][width] */
    double *values;  /* [width] */
    double *scratch; /* [width] */
    double total;    /* ‖A‖² */
    uint32_t count;  /* vertices of the current block */
    double *
        sums; /* of the current leaf: Q A Aᵀ [width][row]; in the last pass the Ritz matrix [width][width], then ‖A‖² */
    bool last;
} iteration;

static pelt_result multiply_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const iteration *it = user;
    size_t rows = it->r->fit->row_count;
    px_matrix a = px_matrix_in(it->r->block, rows, it->count),
              y = px_matrix_of(it->y + first * it->count, count, it->count);
    px_gemm(1, px_matrix_in(it->q + first * rows, count, rows), a, 0, y);
    if (!it->last)
        px_gemm(1, y, px_transposed(a), 1, px_matrix_of(it->sums + first * rows, count, rows));
    return PELT_OK;
}

static pelt_result multiply(px_reduction *r, void *user, uint32_t first, uint32_t count, double *sums) {
    (void)first;
    iteration *it = user;
    it->count = count;
    it->sums = sums;
    PX_TRY(px_parallel(r->fit->context, NULL, it->width, TILE, multiply_some, it));
    if (!it->last)
        return PELT_OK;
    for (size_t e = 0; e < (size_t)r->fit->row_count * count; e++)
        sums[it->width * it->width] += r->block[e] * r->block[e];
    return px_add_products(r->fit->context, px_matrix_in(it->y, it->width, count),
                           px_matrix_of(sums, it->width, it->width));
}

/* A pass over the vertices. */
static pelt_result multiply_all(iteration *it) {
    size_t w = it->width;
    if (!it->last)
        return px_reduction_sum(it->r, "reduce", w * it->r->fit->row_count, multiply, it, it->next);
    double *sums = PX_ALLOC(it->r->fit->context, double, w *w + 1);
    pelt_result result = sums ? px_reduction_sum(it->r, "reduce", w * w + 1, multiply, it, sums) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        memcpy(it->ritz, sums, w * w * sizeof *sums);
        it->total = sums[w * w];
    }
    px_free(it->r->fit->context, sums);
    return result;
}

static pelt_result multiply_gram_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const iteration *it = user;
    size_t rows = it->r->fit->row_count;
    px_gemm(1, px_matrix_in(it->q + first * rows, count, rows), px_matrix_in(it->gram, rows, rows), 0,
            px_matrix_of(it->next + first * rows, count, rows));
    return PELT_OK;
}

static pelt_result multiply_gram(iteration *it) {
    size_t rows = it->r->fit->row_count, w = it->width;
    PX_TRY(px_parallel(it->r->fit->context, NULL, w, TILE, multiply_gram_some, it));
    if (!it->last)
        return PELT_OK;
    for (size_t row = 0; row < rows; row++)
        it->total += it->gram[row * rows + row];
    px_gemm(1, px_matrix_in(it->q, w, rows), px_transposed(px_matrix_in(it->next, w, rows)), 0,
            px_matrix_of(it->ritz, w, w));
    return PELT_OK;
}

static pelt_result pass(iteration *it) {
    return it->gram ? multiply_gram(it) : multiply_all(it);
}

/* SplitMix64 mapped to [-1, 1): deterministic start. */
static double random_number(uint64_t index) {
    uint64_t z = (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)(int64_t)(z ^ z >> 31) * 0x1p-63;
}

/* Orthonormalises all rows, one by one; rows in the span of earlier ones are replaced by random rows. */
static void orthonormalise(iteration *it) {
    size_t rows = it->r->fit->row_count;
    for (size_t s = 0; s < it->width; s++)
        for (uint64_t attempt = 1; px_orthonormalise(it->q, s, rows, it->scratch) == 0 && attempt <= 8; attempt++)
            for (size_t e = 0; e < rows; e++)
                it->q[s * rows + e] = random_number((attempt * MOST_WIDTH + s) * rows + e);
}

/* Orthonormalises all rows by the Cholesky factor of their products: the length of a row has been made 1 before, so the
 * products are well scaled. Rows of condition c are then orthonormal to c² · 1e-16, good enough between passes, where they need
 * only stay independent. False: they are nearly dependent, and unchanged but for their length. */
static bool orthonormalise_roughly(iteration *it) {
    size_t rows = it->r->fit->row_count, w = it->width;
    px_matrix q = px_matrix_of(it->q, w, rows), products = px_matrix_of(it->ritz, w, w);
    for (size_t s = 0; s < w; s++) {
        double *row = it->q + s * rows, square = 0;
        for (size_t e = 0; e < rows; e++)
            square += row[e] * row[e];
        double scale = square > 0 ? 1 / sqrt(square) : 0;
        for (size_t e = 0; e < rows; e++)
            row[e] *= scale;
    }
    px_syrk(1, q, 0, products);
    if (!px_cholesky(products))
        return false;
    for (size_t s = 0; s < w; s++)
        if (it->ritz[s * w + s] < DEPENDENT)
            return false;
    px_cholesky_divide(products, q);
    return true;
}

static pelt_result widen(iteration *it, size_t width) {
    pelt_context *context = it->r->fit->context;
    size_t rows = it->r->fit->row_count, old = it->width;
    double **const arrays[] = {&it->q, &it->next, &it->y, &it->ritz, &it->values, &it->scratch};
    const size_t sizes[] = {rows, rows, it->r->block_vertices, width, 1, 1};
    for (size_t a = 0; a < PX_COUNT(arrays); a++) {
        double *larger = px_resize(context, *arrays[a], px_mul_size(width, sizes[a]), sizeof(double));
        if (!larger)
            return PELT_ERROR_MEMORY;
        *arrays[a] = larger;
    }
    it->width = width;
    for (size_t e = old * rows; e < width * rows; e++)
        it->q[e] = random_number(e);
    return PELT_OK;
}

static pelt_result sharpen(iteration *it, int passes) {
    size_t rows = it->r->fit->row_count;
    it->last = false;
    for (int n = 0; n < passes; n++) {
        memset(it->next, 0, it->width * rows * sizeof(double));
        PX_TRY(pass(it));
        double *previous = it->q;
        it->q = it->next;
        it->next = previous;
        /* the second time leaves rounding errors only */
        if (!orthonormalise_roughly(it) || (n + 1 == passes && !orthonormalise_roughly(it)))
            orthonormalise(it);
    }
    it->last = true;
    it->total = 0;
    memset(it->ritz, 0, it->width * it->width * sizeof(double));
    PX_TRY(pass(it));
    double scale = it->r->sample && !it->gram ? (double)it->r->fit->total_count / it->r->sample_count : 1;
    it->total *= scale;
    for (size_t e = 0; e < it->width * it->width; e++)
        it->ritz[e] *= scale;
    return px_symmetric_eigen(it->r->fit->context, px_matrix_of(it->ritz, it->width, it->width), it->values);
}

/* Sum of squares of A outside Q. */
static double missed(const iteration *it) {
    double sum = it->total;
    for (size_t e = it->width; e-- > 0;)
        sum -= it->values[e];
    return px_fmax(sum, 0);
}

static pelt_result keep(iteration *it) {
    px_fit *fit = it->r->fit;
    size_t rows = fit->row_count, w = it->width;
    PX_TRY(px_reduction_dimension(it->r, it->values, w, missed(it), &fit->dimension));
    size_t d = fit->dimension;
    fit->basis = PX_NEW(fit->arena, double, px_mul_size(rows, d));
    if (!fit->basis)
        return PELT_ERROR_MEMORY;
    px_gemm(1, px_matrix_part(px_matrix_of(it->ritz, w, w), w - d, d, 0, w), px_matrix_in(it->q, w, rows), 0,
            px_matrix_of(it->next, d, rows));
    for (size_t e = 0; e < rows * d; e++) /* leading directions first */
        fit->basis[e] = it->next[(d - 1 - e % d) * rows + e / d];
    return PELT_OK;
}

static pelt_result iterate(iteration *it) {
    double limit = MISSED_SHARE * px_reduction_limit(it->r->fit, px_reduction_epsilon(it->r));
    size_t used = px_min_size(px_reduction_used(it->r) * 4 / 3, it->most);
    PX_TRY(widen(it, px_min_size(FIRST_WIDTH, used)));
    PX_TRY(sharpen(it, PASSES));
    while (missed(it) > limit && it->width < used) {
        PX_TRY(widen(it, px_min_size(2 * it->width, it->most)));
        PX_TRY(sharpen(it, MORE_PASSES));
    }
    return keep(it);
}

static void free_arrays(const iteration *it) {
    double *const arrays[] = {it->q, it->next, it->y, it->ritz, it->values, it->scratch};
    for (size_t a = 0; a < PX_COUNT(arrays); a++)
        px_free(it->r->fit->context, arrays[a]);
}

pelt_result px_reduce_iterate(px_reduction *r) {
    iteration it = {.r = r};
    it.most = px_min_size(MOST_WIDTH, px_min_size(r->fit->row_count, r->fit->total_count));
    pelt_result result = iterate(&it);
    free_arrays(&it);
    return result;
}

pelt_result px_reduce_leading(px_reduction *r, const double *gram, size_t width) {
    iteration it = {.r = r, .gram = gram};
    pelt_result result = widen(&it, width);
    if (result == PELT_OK)
        result = sharpen(&it, GRAM_PASSES);
    if (result == PELT_OK)
        result = keep(&it);
    free_arrays(&it);
    return result;
}
