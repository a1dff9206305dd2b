/* Exact reduction through the smaller of the two Gram matrices, and the choice of the dimension. */
#include "decompose/reduce.h"

#include <math.h>

/* ---- Products --------------------------------------------------------------------------------------------- */

#define TILE       64u  /* rows of the result per task */
#define NEGLIGIBLE 1e-3 /* default loss (E_rms): a thousandth of the error of a good fit */

typedef struct products {
    px_matrix a, c;
} products;

static pelt_result add_tile(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const products *p = user;
    size_t end = first + count;
    px_gemm(1, px_matrix_part(p->a, first, count, 0, p->a.columns),
            px_transposed(px_matrix_part(p->a, 0, end, 0, p->a.columns)), 1,
            px_matrix_part(p->c, first, count, 0, end));
    return PELT_OK;
}

pelt_result px_add_products(pelt_context *context, px_matrix a, px_matrix c) {
    return px_parallel(context, NULL, a.rows, TILE, add_tile, &(products){a, c});
}

double px_orthonormalise(double *q, size_t count, size_t width, double *scratch) {
    double *v = q + count * width, lengths[3] = {0, 0, 0};
    px_matrix before = px_matrix_of(q, count, width), row = px_matrix_of(v, 1, width);
    for (int pass = 0; pass < 3; pass++) { /* the third pass only measures the length */
        for (size_t e = 0; e < width; e++)
            lengths[pass] += v[e] * v[e];
        if (pass == 2 || count == 0)
            continue;
        px_gemm(1, row, px_transposed(before), 0, px_matrix_of(scratch, 1, count));
        px_gemm(-1, px_matrix_of(scratch, 1, count), before, 1, row);
    }
    /* If the second projection removes most of the remainder of the first, only rounding remains. */
    if (!(lengths[2] > 0.25 * lengths[1]) || !(lengths[1] > 1e-28 * lengths[0]))
        return 0;
    double scale = 1 / sqrt(lengths[2]);
    for (size_t e = 0; e < width; e++)
        v[e] *= scale;
    return sqrt(lengths[1]);
}

/* ---- Dimension -------------------------------------------------------------------------------------------- */

double px_reduction_limit(const px_fit *fit, double error) {
    return error * error * 1e-6 * (double)fit->total_count * (double)fit->row_count;
}

/* The smallest dimension whose loss is at most `limit`. */
static size_t dimension_for(const double *values, size_t count, double lost, double limit) {
    size_t cut = 0;
    while (cut + 1 < count && lost + px_fmax(values[cut], 0) <= limit)
        lost += px_fmax(values[cut++], 0);
    return count - cut;
}

/* T X has rank 4P at most, so a fit uses little more than the 4P leading directions: with 6P its error is 0.7 % lower on
 * average, and iterations take 9 % longer. At least 64 are kept, which costs few bones nothing.
 * The motion of an input rig is not limited to these directions, so all are kept. */
size_t px_reduction_used(const px_reduction *r) {
    bool all = r->desc->epsilon > 0 || r->desc->rig;
    return px_min_size(all ? SIZE_MAX : px_max_size(4 * (size_t)r->fit->bone_target, 64), r->fit->row_count);
}

double px_reduction_epsilon(const px_reduction *r) {
    return r->desc->epsilon > 0 ? r->desc->epsilon : NEGLIGIBLE;
}

/* Bytes of a fit with this dimension: arrays per vertex, per row and per pair of bones. */
static size_t bytes_taken(const px_reduction *r, size_t dimension) {
    const px_fit *fit = r->fit;
    size_t n = 4 * (size_t)fit->bone_capacity;
    size_t state = 3 * sizeof(double) + (sizeof(double) + sizeof(uint16_t)) * fit->influence_count + 1;
    size_t vertex = 3 * state + 5 * sizeof(double) + dimension * sizeof(float);
    size_t row = (r->block_vertices + 7 * n) * sizeof(double);
    return vertex * fit->vertex_count + row * fit->row_count +
           16 * n * (n + dimension) * sizeof(double); /* S, H, Q and the 16 vectors of quasi_newton.h */
}

pelt_result px_reduction_dimension(const px_reduction *r, const double *values, size_t count, double rest,
                                   uint32_t *dimension) {
    const px_fit *fit = r->fit;
    size_t d = dimension_for(values, count, rest, px_reduction_limit(fit, px_reduction_epsilon(r)));
    *dimension = (uint32_t)px_min_size(d, px_reduction_used(r));
    size_t size = bytes_taken(r, *dimension);
    if (r->desc->memory == 0 || size <= r->desc->memory)
        return PELT_OK;
    return px_fail(fit->context, PELT_ERROR_MEMORY,
                   "the work takes %zu MB beside the model, more than the %zu MB allowed: allow a memory of %zuM, "
                   "fewer bones or a larger epsilon",
                   (size >> 20) + 1, r->desc->memory >> 20, (size >> 20) + 1);
}

/* ---- Eigenvectors of A Aᵀ ----------------------------------------------------------------------------------- */

static pelt_result add_rows(px_reduction *r, void *user, uint32_t first, uint32_t count, double *gram) {
    (void)user, (void)first;
    size_t rows = r->fit->row_count;
    return px_add_products(r->fit->context, px_matrix_in(r->block, rows, count), px_matrix_of(gram, rows, rows));
}

/* Sets fit->dimension and allocates fit->basis. */
static pelt_result make_basis(px_reduction *r, const double *values, size_t count, double rest) {
    px_fit *fit = r->fit;
    PX_TRY(px_reduction_dimension(r, values, count, rest, &fit->dimension));
    fit->basis = PX_NEW(fit->arena, double, px_mul_size(fit->row_count, fit->dimension));
    return fit->basis ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result all_directions(px_reduction *r, double *gram) {
    px_fit *fit = r->fit;
    size_t rows = fit->row_count;
    px_reduction_cache *cache = r->sample ? NULL : r->plan->cache; /* it holds what all vertices give */
    double *values = PX_ALLOC(fit->context, double, rows);
    pelt_result result = values ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK && cache && cache->values) {
        memcpy(gram, cache->vectors, rows * rows * sizeof *gram);
        memcpy(values, cache->values, rows * sizeof *values);
    } else if (result == PELT_OK) {
        result = px_symmetric_eigen(fit->context, px_matrix_of(gram, rows, rows), values);
        if (result == PELT_OK && cache) {
            cache->vectors = px_cache_copy(fit->context, cache->vectors, gram, rows * rows, sizeof *gram);
            cache->values = px_cache_copy(fit->context, cache->values, values, rows, sizeof *values);
            result = cache->vectors && cache->values ? PELT_OK : PELT_ERROR_MEMORY;
        }
    }
    if (result == PELT_OK)
        result = make_basis(r, values, rows, 0);
    for (size_t e = 0; result == PELT_OK && e < rows * fit->dimension; e++) /* leading directions first */
        fit->basis[e] = gram[(rows - 1 - e % fit->dimension) * rows + e / fit->dimension];
    px_free(fit->context, values);
    return result;
}

/* A full eigendecomposition costs the cube of the rows. If the fit uses few directions, as in long animations, only
 * these are computed. */
static pelt_result find_directions(px_reduction *r, double *gram) {
    size_t rows = r->fit->row_count, width = px_reduction_used(r) * 4 / 3;
    if (3 * width > rows)
        return all_directions(r, gram);
    for (size_t row = 0; row < rows; row++)
        for (size_t c = row + 1; c < rows; c++)
            gram[row * rows + c] = gram[c * rows + row];
    return px_reduce_leading(r, gram, width);
}

pelt_result px_reduce_rows(px_reduction *r) {
    px_fit *fit = r->fit;
    px_reduction_cache *cache = r->sample ? NULL : r->plan->cache;
    size_t size = px_mul_size(fit->row_count, fit->row_count);
    double *gram = PX_ALLOC(fit->context, double, size);
    pelt_result result = gram ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK && cache && cache->gram)
        memcpy(gram, cache->gram, size * sizeof *gram);
    else if (result == PELT_OK) {
        result = px_reduction_sum(r, "reduce", size, add_rows, NULL, gram);
        for (size_t e = 0; r->sample && e < size; e++)
            gram[e] *= (double)fit->total_count / r->sample_count;
        if (result == PELT_OK && cache &&
            !(cache->gram = px_cache_copy(fit->context, cache->gram, gram, size, sizeof *gram)))
            result = PELT_ERROR_MEMORY;
    }
    if (result == PELT_OK)
        result = find_directions(r, gram);
    px_free(fit->context, gram);
    return result;
}

/* ---- Eigenvectors of AᵀA ------------------------------------------------------------------------------------ */

/* Blocks of frames, each with all vertices (there are fewer vertices than rows). */
typedef struct frame_blocks {
    px_reduction *r;
    uint32_t block_frames;
    double *block; /* [3 · block_frames][vertex] */
    double *gram;  /* [vertex][vertex] AᵀA, then one eigenvector per row */
    double *basis; /* [2 · dimension][row]: A U, then its orthonormalised rows */
} frame_blocks;

typedef pelt_result use_frames_fn(frame_blocks *b, uint32_t frame, uint32_t count);

static pelt_result each_frames(frame_blocks *b, use_frames_fn *use) {
    const px_fit *fit = b->r->fit;
    uint32_t frames = fit->row_count / 3;
    for (uint32_t k = 0, count; k < frames; k += count) {
        count = (uint32_t)px_min_size(b->block_frames, frames - k);
        PX_TRY(px_progress(fit->context, "reduce", k, frames));
        PX_TRY(px_reduction_read(b->r, 0, fit->vertex_count, k, count, b->block));
        PX_TRY(use(b, k, count));
    }
    return PELT_OK;
}

static pelt_result add_vertices(frame_blocks *b, uint32_t frame, uint32_t count) {
    (void)frame;
    size_t N = b->r->fit->vertex_count;
    return px_add_products(b->r->fit->context, px_transposed(px_matrix_in(b->block, 3 * (size_t)count, N)),
                           px_matrix_of(b->gram, N, N));
}

/* Writes A U for a block of frames: eigenvectors U as rows of the basis, ascending. */
static pelt_result add_basis(frame_blocks *b, uint32_t frame, uint32_t count) {
    const px_fit *fit = b->r->fit;
    size_t N = fit->vertex_count, d = fit->dimension, rows = fit->row_count;
    px_matrix vectors = px_matrix_part(px_matrix_of(b->gram, N, N), N - d, d, 0, N);
    px_gemm(1, vectors, px_transposed(px_matrix_in(b->block, 3 * (size_t)count, N)), 0,
            px_matrix_part(px_matrix_of(b->basis, d, rows), 0, d, 3 * (size_t)frame, 3 * (size_t)count));
    return PELT_OK;
}

/* Orthonormalises A U, the leading direction first. Its columns are orthogonal, but for small singular values only
 * roughly: squaring A loses half the digits. */
static pelt_result finish_basis(frame_blocks *b) {
    px_fit *fit = b->r->fit;
    size_t d = fit->dimension, rows = fit->row_count, kept = 0;
    double *scratch = PX_ALLOC(fit->context, double, d);
    for (size_t e = d; scratch && e-- > 0;) {
        memmove(b->basis + (d + kept) * rows, b->basis + e * rows, rows * sizeof(double));
        kept += px_orthonormalise(b->basis + d * rows, kept, rows, scratch) > 0;
    }
    px_free(fit->context, scratch);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    fit->dimension = (uint32_t)px_max_size(kept, 1);
    for (size_t e = 0; e < rows * fit->dimension; e++)
        fit->basis[e] = b->basis[(d + e % fit->dimension) * rows + e / fit->dimension];
    return PELT_OK;
}

static pelt_result reduce_vertices(frame_blocks *b, double *values) {
    px_fit *fit = b->r->fit;
    size_t N = fit->vertex_count;
    PX_TRY(each_frames(b, add_vertices));
    PX_TRY(px_symmetric_eigen(fit->context, px_matrix_of(b->gram, N, N), values));
    PX_TRY(make_basis(b->r, values, N, 0));
    b->basis = PX_ALLOC(fit->context, double, px_mul_size(2 * (size_t)fit->dimension, fit->row_count));
    if (!b->basis)
        return PELT_ERROR_MEMORY;
    PX_TRY(each_frames(b, add_basis));
    return finish_basis(b);
}

pelt_result px_reduce_vertices(px_reduction *r) {
    pelt_context *context = r->fit->context;
    size_t N = r->fit->vertex_count, frames = r->fit->row_count / 3;
    frame_blocks b = {.r = r};
    b.block_frames = (uint32_t)px_min_size(px_max_size(PX_REDUCE_BLOCK / 4 / (3 * N), 1), frames);
    b.block = PX_ALLOC(context, double, px_mul_size(3 * (size_t)b.block_frames, N));
    b.gram = PX_ALLOC(context, double, px_mul_size(N, N));
    double *values = PX_ALLOC(context, double, N);
    pelt_result result = b.block && b.gram && values ? reduce_vertices(&b, values) : PELT_ERROR_MEMORY;
    px_free(context, b.basis);
    px_free(context, values);
    px_free(context, b.gram);
    px_free(context, b.block);
    return result;
}
