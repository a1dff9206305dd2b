/* Moments: S = X Xᵀ and Q = X Cᵀ over vertices, H = TᵀT over bones. */
#define LANES        4
#define MOMENT_BLOCK px_moment_block
#include "decompose/moments_kernel.h"

#include "decompose/divide.h"

#include <math.h>

double px_fit_error(const px_fit *fit, double objective) {
    return 1000 * sqrt(px_fmax(objective, 0) / ((double)fit->total_count * fit->row_count));
}

/* ---- Over vertices ---------------------------------------------------------------------------------------- */

/* Vertices whose coordinates are converted to doubles at a time. */
#define STRIP 256u

/* For `vertices` [count], or, where that is NULL, for vertices [first, first + count). */
static pelt_result products(const px_fit *fit, const uint32_t *vertices, size_t first, size_t count, double *y) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    double *wide = PX_ALLOC(fit->context, double, px_min_size(count, STRIP) * d);
    if (!wide)
        return PELT_ERROR_MEMORY;
    for (size_t done = 0, strip; done < count; done += strip) {
        strip = px_min_size(STRIP, count - done);
        for (size_t v = 0; v < strip; v++) {
            const float *coords = fit->coords + (vertices ? vertices[done + v] : first + done + v) * d;
            for (size_t e = 0; e < d; e++)
                wide[v * d + e] = (double)coords[e];
        }
        px_gemm(1, px_matrix_in(wide, strip, d), px_transposed(px_matrix_in(fit->now.reduced, n, d)), 0,
                px_matrix_of(y + done * n, strip, n));
    }
    px_free(fit->context, wide);
    return PELT_OK;
}

pelt_result px_fit_products(const px_fit *fit, size_t first, size_t count, double *y) {
    return products(fit, NULL, first, count, y);
}

pelt_result px_fit_products_of(const px_fit *fit, const uint32_t *vertices, size_t count, double *y) {
    return products(fit, vertices, 0, count, y);
}

pelt_result px_fit_estimates(const px_fit *fit, size_t first, size_t count, float *y) {
    const float **rows = PX_ALLOC(fit->context, const float *, count);
    if (!rows)
        return PELT_ERROR_MEMORY;
    for (size_t v = 0; v < count; v++)
        rows[v] = fit->coords + (first + v) * fit->dimension;
    px_matrix transforms = px_matrix_in(fit->now.reduced, 4 * (size_t)fit->bone_count, fit->dimension);
    px_multiply_rows(rows, count, px_transposed(transforms), y);
    px_free(fit->context, rows);
    return PELT_OK;
}

void px_fit_product(const px_fit *fit, size_t i, size_t j, double y[4]) {
    PX_PASS_HERE(px_vertex_product)(fit, i, j, y);
}

void px_fit_by_bone(const px_fit *fit, size_t first, size_t count, uint32_t *influences, uint32_t *firsts) {
    size_t P = fit->bone_count, K = fit->influence_count;
    const uint16_t *bones = fit->now.bones + first * K;
    const uint8_t *counts = fit->now.counts + first;
    memset(firsts, 0, (P + 2) * sizeof *firsts);
    for (size_t i = 0; i < count; i++)
        for (size_t a = 0; a < counts[i]; a++)
            firsts[bones[i * K + a] + 2]++;
    for (size_t j = 0; j < P; j++)
        firsts[j + 2] += firsts[j + 1];
    for (size_t i = 0; i < count; i++) /* firsts[j + 1] advances from the first influence of bone j to its last */
        for (size_t a = 0; a < counts[i]; a++)
            influences[firsts[bones[i * K + a] + 1]++] = (uint32_t)(i * K + a);
}

typedef struct moment_sum {
    const px_fit *fit;
    size_t parts; /* see px_moment_pass */
} moment_sum;

/* Moments of vertices [first, first + count): S, then Q. */
static pelt_result add_moments(void *user, size_t first, size_t count, double *values) {
    const moment_sum *sum = user;
    size_t P = sum->fit->bone_count, n = 4 * P, K = sum->fit->influence_count;
    px_fit part = *sum->fit;
    part.now.rest += 3 * first;
    part.now.weights += first * K;
    part.now.bones += first * K;
    part.now.counts += first;
    part.coords = sum->parts > 1 ? part.coords + first * part.dimension : NULL;
    part.scatter = values;
    part.cross = values + n * n;
    uint32_t *influences = PX_ALLOC(part.context, uint32_t, count * K + P + 2);
    if (!influences)
        return PELT_ERROR_MEMORY;
    px_fit_by_bone(&part, 0, count, influences, influences + count * K);
    px_moment_pass pass = {&part, influences, influences + count * K, sum->parts};
    px_block_fn *body = PX_PASS_HERE(px_moment_block);
    pelt_result result = px_parallel(part.context, NULL, P * pass.parts, 1, body, &pass);
    px_free(part.context, influences);
    return result;
}

static pelt_result moments(px_fit *fit, bool cross) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, width = n * (n + (cross ? d : 0));
    moment_sum sum = {fit, 1 + (cross ? px_block_count(d, PX_MOMENT_COLUMNS) : 0)};
    double *values = PX_ALLOC(fit->context, double, width);
    pelt_result result = values ? px_fit_sum(fit, width, add_moments, &sum, values) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        memcpy(fit->scatter, values, n * n * sizeof *values);
    if (result == PELT_OK && cross)
        memcpy(fit->cross, values + n * n, n * d * sizeof *values);
    px_free(fit->context, values);
    return result;
}

pelt_result px_fit_moments(px_fit *fit) {
    return moments(fit, true);
}

pelt_result px_fit_scatter(px_fit *fit) {
    return moments(fit, false);
}

/* ---- Over bones ------------------------------------------------------------------------------------------- */

/* (v, 1)ᵀ M (v, 1) for a 4×4 block M of H as a quadric in x, y, z: ten coefficients. */
static void pair_quadric(const double *block, size_t pitch, double out[10]) {
    const double *r0 = block, *r1 = block + pitch, *r2 = block + 2 * pitch, *r3 = block + 3 * pitch;
    out[0] = r0[0], out[1] = r0[1] + r1[0], out[2] = r0[2] + r2[0], out[3] = r0[3] + r3[0];
    out[4] = r1[1], out[5] = r1[2] + r2[1], out[6] = r1[3] + r3[1];
    out[7] = r2[2], out[8] = r2[3] + r3[2], out[9] = r3[3];
}

/* H of locked bones is kept between calls while the number of bones is unchanged: with a few free bones beside hundreds
 * of a rig only the rows of the free ones are computed. */
void px_fit_gram(px_fit *fit) {
    size_t P = fit->bone_count, n = 4 * P, d = fit->dimension, pitch = px_fit_pitch(P);
    bool part = fit->lock_motions && !fit->now.full && fit->gram_count == P;
    if (fit->now.full)
        px_syrk(1, px_transposed(px_matrix_in(fit->now.full, fit->row_count, n)), 0, px_matrix_of(fit->gram, n, n));
    else if (!part)
        px_syrk(1, px_matrix_in(fit->now.reduced, n, d), 0, px_matrix_of(fit->gram, n, n));
    fit->gram_count = fit->lock_motions ? fit->bone_count : 0;
    for (size_t j = 0; j < P && part; j++) {
        if (fit->lock_motions[j])
            continue;
        double *rows = fit->gram + 4 * j * n;
        px_gemm(1, px_matrix_in(fit->now.reduced + 4 * j * d, 4, d),
                px_transposed(px_matrix_in(fit->now.reduced, n, d)), 0, px_matrix_of(rows, 4, n));
        for (size_t r = 0; r < 4; r++)
            for (size_t c = 0; c < n; c++)
                fit->gram[c * n + 4 * j + r] = rows[r * n + c];
    }
    for (size_t l = 0; l < P; l++)
        for (size_t j = 0; j < P; j++) {
            if (part && fit->lock_motions[l] && fit->lock_motions[j])
                continue;
            double quadric[10];
            const double *block = fit->gram + 4 * l * n + 4 * j;
            for (size_t r = 0; r < 4; r++)
                memcpy(fit->blocks + 16 * (l * P + j) + 4 * r, block + r * n, 4 * sizeof *block);
            pair_quadric(block, n, quadric);
            for (size_t k = 0; k < 10; k++)
                fit->pairs[(l * 10 + k) * pitch + j] = quadric[k];
            for (size_t k = 0; k < 10 && j == l; k++)
                fit->squares[k * pitch + j] = quadric[k];
        }
}
