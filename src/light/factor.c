/* Colours over time, A [frame][column], as weights and patterns, A ≈ W·H.
 *
 * The truncated SVD comes from the eigenvectors of the Gram matrix A·Aᵀ. Non-negative matrix factorisation (Lee and
 * Seung 2000) starts from it: under central projection the frames are points in the space of the SVD's patterns, and
 * all frames are mixtures of the corners of a simplex around these points. Negative entries of a corner are set to 0,
 * and alternating least squares, one pattern at a time, reduces the error that this causes (HALS: Cichocki and Phan
 * 2009). */
#include "light/light.h"

#include <math.h>

#define MAX_SWEEPS        3000u
#define CONVERGENCE_RATIO 1e-6 /* stop when a sweep lowers the error by less than this fraction */

/* ---- Singular values -------------------------------------------------------------------------------------- */

pelt_result px_light_svd(pelt_context *context, const double *a, size_t frame_count, size_t column_count, uint32_t rank,
                         double *weights, double *patterns, double *bounds) {
    double *gram = PX_ALLOC(context, double, frame_count *frame_count),
           *values = PX_ALLOC(context, double, frame_count);
    pelt_result result = gram && values ? PELT_OK : PELT_ERROR_MEMORY;
    double left = 0;
    if (result == PELT_OK) {
        px_syrk(1, px_matrix_in(a, frame_count, column_count), 0, px_matrix_of(gram, frame_count, frame_count));
        for (size_t k = 0; k < frame_count; k++)
            left += gram[k * frame_count + k];
        result = px_symmetric_eigen(context, px_matrix_of(gram, frame_count, frame_count), values);
    }
    if (result == PELT_OK) {
        for (uint32_t r = 0; r <= rank; r++) {
            bounds[r] = sqrt(px_fmax(left, 0) / (double)(frame_count * column_count));
            if (r == rank)
                break;
            left -= px_fmax(values[frame_count - 1 - r], 0);
            const double *vector = gram + (frame_count - 1 - r) * frame_count;
            double sum = 0;
            for (size_t k = 0; k < frame_count; k++)
                sum += vector[k];
            for (size_t k = 0; k < frame_count; k++) /* sign: colours are ≥ 0, so the first pattern then is too */
                weights[k * rank + r] = sum < 0 ? -vector[k] : vector[k];
        }
        px_gemm(1, px_transposed(px_matrix_of(weights, frame_count, rank)), px_matrix_in(a, frame_count, column_count),
                0, px_matrix_of(patterns, rank, column_count));
    }
    px_free(context, gram);
    px_free(context, values);
    return result;
}

/* ---- Initial factors -------------------------------------------------------------------------------------- */

/* Coordinate n of corner c of a regular simplex with `corners` corners, centred at 0, whose faces are at distance 1. */
static double simplex(uint32_t corners, uint32_t c, uint32_t n) {
    double d = corners - 1.0; /* dimension, and distance of the corners from the centre */
    double along = sqrt((d + 1) * (d - n) / (d * (d - n + 1)));
    return d * (c < n ? 0 : c == n ? along : -along / (d - n));
}

/* Replaces W·H of the SVD by (W·T⁻¹)·(T·H), with patterns at the corners of a simplex around all frames; both
 * clamped at 0. */
static pelt_result start(pelt_context *context, size_t frame_count, size_t column_count, uint32_t rank, double *weights,
                         double *patterns) {
    size_t square = (size_t)rank * rank;
    double *turn = PX_ALLOC(context, double, square + 2 * (size_t)rank);
    double *made = PX_ALLOC(context, double, px_max_size(frame_count, column_count) * rank);
    pelt_result result = turn && made ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        double *middle = turn + square, *reach = middle + rank, radius = 0;
        for (uint32_t r = 1; r < rank; r++) {
            for (size_t k = 0; k < frame_count; k++)
                middle[r] += weights[k * rank + r] / px_fmax(weights[k * rank], 1e-9) / (double)frame_count;
            for (size_t k = 0; k < frame_count; k++)
                reach[r] =
                    px_fmax(reach[r], fabs(weights[k * rank + r] / px_fmax(weights[k * rank], 1e-9) - middle[r]));
        }
        for (size_t k = 0; k < frame_count; k++) {
            double sum = 0;
            for (uint32_t r = 1; r < rank; r++) {
                double off = weights[k * rank + r] / px_fmax(weights[k * rank], 1e-9) - middle[r];
                sum += reach[r] > 0 ? off * off / (reach[r] * reach[r]) : 0;
            }
            radius = px_fmax(radius, sqrt(sum));
        }
        for (uint32_t c = 0; c < rank; c++) { /* corner c as a combination of the SVD's patterns */
            turn[c * rank] = 1;
            for (uint32_t r = 1; r < rank; r++)
                turn[c * rank + r] = middle[r] + radius * px_fmax(reach[r], 1e-12) * simplex(rank, c, r - 1);
        }
        px_gemm(1, px_matrix_of(turn, rank, rank), px_matrix_in(patterns, rank, column_count), 0,
                px_matrix_of(made, rank, column_count));
        for (size_t e = 0; e < rank * column_count; e++)
            patterns[e] = px_fmax(made[e], 0);
        /* Weights: barycentric coordinates of each frame, which are ≥ 0 inside the simplex. */
        for (size_t k = 0; k < frame_count; k++)
            for (uint32_t c = 0; c < rank; c++) {
                double share = 1, size = px_fmax(weights[k * rank], 1e-9);
                for (uint32_t r = 1; r < rank; r++) {
                    double off = (weights[k * rank + r] / size - middle[r]) / px_fmax(reach[r], 1e-12);
                    share += radius > 0 ? off / radius * simplex(rank, c, r - 1) / (double)(rank - 1) : 0;
                }
                made[k * rank + c] = size * px_fmax(share, 0) / rank;
            }
        memcpy(weights, made, frame_count * rank * sizeof *weights);
    }
    px_free(context, turn);
    px_free(context, made);
    return result;
}

/* ---- Alternating ------------------------------------------------------------------------------------------ */

/* Non-negative least squares for x [rank][n], one row at a time: minimises ‖A − …‖ for a fixed other factor, whose
 * normal equations are gram [rank][rank] and right [rank][n]. */
static void improve_rows(uint32_t rank, size_t n, const double *gram, const double *right, double *x) {
    for (uint32_t r = 0; r < rank; r++) {
        double own = gram[r * rank + r];
        if (!(own > 0))
            continue;
        double *row = x + r * n;
        for (size_t e = 0; e < n; e++) {
            double sum = right[r * n + e];
            for (uint32_t q = 0; q < rank; q++)
                sum -= gram[r * rank + q] * x[q * n + e];
            row[e] = px_fmax(row[e] + sum / own, 0);
        }
    }
}

typedef struct half { /* one factor, x [rank][n], computed from the other one [rank][m] */
    px_matrix a;      /* [m][n] */
    const double *other;
    double *x, *gram, *right;
    uint32_t rank;
} half;

static void improve(const half *h) {
    size_t m = h->a.rows, n = h->a.columns;
    px_matrix other = px_matrix_in(h->other, h->rank, m);
    px_syrk(1, other, 0, px_matrix_of(h->gram, h->rank, h->rank));
    px_gemm(1, other, h->a, 0, px_matrix_of(h->right, h->rank, n));
    improve_rows(h->rank, n, h->gram, h->right, h->x);
}

static void transpose(const double *from, size_t rows, size_t columns, double *to) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

pelt_result px_light_nmf(pelt_context *context, const double *a, size_t frame_count, size_t column_count, uint32_t rank,
                         double *weights, double *patterns) {
    PX_TRY(start(context, frame_count, column_count, rank, weights, patterns));
    double *scratch =
        PX_ALLOC(context, double, (size_t)rank *(rank + frame_count + px_max_size(frame_count, column_count)));
    if (!scratch)
        return PELT_ERROR_MEMORY;
    double *turned = scratch + (size_t)rank * rank, *right = turned + rank * frame_count; /* `turned` is Wᵀ */
    px_matrix view = px_matrix_in(a, frame_count, column_count);
    half of_patterns = {view, turned, patterns, scratch, right, rank};
    half of_weights = {px_transposed(view), patterns, turned, scratch, right, rank};
    pelt_result result = PELT_OK;
    double before = INFINITY, after = INFINITY;
    transpose(weights, frame_count, rank, turned);
    for (uint32_t n = 0; n < MAX_SWEEPS && result == PELT_OK; n++) {
        improve(&of_weights);
        improve(&of_patterns);
        transpose(turned, rank, frame_count, weights);
        if (n % 10 != 9)
            continue;
        result = px_light_error(context, a, frame_count, column_count, rank, weights, patterns, &after, NULL);
        if (!(after < (1 - 10 * CONVERGENCE_RATIO) * before))
            break;
        before = after;
        if (result == PELT_OK)
            result = px_progress(context, "factors", n + 1, MAX_SWEEPS);
    }
    px_free(context, scratch);
    return result;
}

pelt_result px_light_error(pelt_context *context, const double *a, size_t frame_count, size_t column_count,
                           uint32_t rank, const double *weights, const double *patterns, double *rms, double *most) {
    double *row = PX_ALLOC(context, double, column_count), sum = 0, largest = 0;
    if (!row)
        return PELT_ERROR_MEMORY;
    for (size_t k = 0; k < frame_count; k++) {
        px_gemm(1, px_matrix_in(weights + k * rank, 1, rank), px_matrix_in(patterns, rank, column_count), 0,
                px_matrix_of(row, 1, column_count));
        for (size_t e = 0; e < column_count; e++) {
            double off = a[k * column_count + e] - row[e];
            sum += off * off;
            largest = px_fmax(largest, fabs(off));
        }
    }
    px_free(context, row);
    *rms = sqrt(sum / (double)(frame_count * column_count));
    if (most)
        *most = largest;
    return PELT_OK;
}
