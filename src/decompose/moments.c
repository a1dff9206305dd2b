/* Moments: S = X Xᵀ and Q = X Cᵀ over vertices, H = TᵀT over bones. */
#include "decompose/fit.h"

#include <math.h>

double px_fit_error(const px_fit *fit, double objective) {
    return 1000 * sqrt(fmax(objective, 0) / ((double)fit->vertex_count * fit->row_count));
}

/* ---- Over vertices ---------------------------------------------------------------------------------------- */

/* Vertices whose coordinates are converted to doubles at a time. */
#define STRIP 256u

pelt_result px_fit_products(const px_fit *fit, size_t first, size_t count, double *y) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    double *wide = PX_ALLOC(fit->context, double, px_min_size(count, STRIP) * d);
    if (!wide)
        return PELT_ERROR_MEMORY;
    for (size_t done = 0, strip; done < count; done += strip) {
        strip = px_min_size(STRIP, count - done);
        const float *coords = fit->coords + (first + done) * d;
        for (size_t e = 0; e < strip * d; e++)
            wide[e] = (double)coords[e];
        px_gemm(1, px_matrix_in(wide, strip, d), px_transposed(px_matrix_in(fit->now.reduced, n, d)), 0,
                px_matrix_of(y + done * n, strip, n));
    }
    px_free(fit->context, wide);
    return PELT_OK;
}

/* Adds to the four rows of Q of a bone: the coordinates are loaded once, and `restrict` lets the loop vectorise. */
static void add_cross(double *restrict q, size_t d, double w, const double v[3], const float *restrict coords) {
    double *restrict q1 = q + d, *restrict q2 = q + 2 * d, *restrict q3 = q + 3 * d;
    double x = w * v[0], y = w * v[1], z = w * v[2];
    for (size_t e = 0; e < d; e++) {
        double c = (double)coords[e];
        q[e] += x * c;
        q1[e] += y * c;
        q2[e] += z * c;
        q3[e] += w * c;
    }
}

static void add_vertex(const px_fit *fit, size_t i, double *scatter, double *cross) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, K = fit->influence_count;
    const px_fit_state *s = &fit->now;
    const double v[4] = {s->rest[3 * i], s->rest[3 * i + 1], s->rest[3 * i + 2], 1};
    const double *w = s->weights + i * K;
    const uint16_t *bones = s->bones + i * K;
    for (size_t a = 0; a < s->counts[i]; a++) {
        add_cross(cross + 4 * (size_t)bones[a] * d, d, w[a], v, fit->coords + i * d);
        for (size_t r = 0; r < 4; r++) {
            double x = w[a] * v[r], *row = scatter + (4 * (size_t)bones[a] + r) * n;
            for (size_t b = 0; b < s->counts[i]; b++)
                for (size_t c = 0; c < 4; c++)
                    row[4 * (size_t)bones[b] + c] += x * w[b] * v[c];
        }
    }
}

/* Lane 0 sums into S and Q, the others into their partial sums. */
static pelt_result add_lane(void *user, size_t first, size_t count, size_t lane) {
    px_fit *fit = user;
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension;
    double *scatter = lane ? fit->slots + (lane - 1) * n * (n + d) : fit->scatter;
    double *cross = lane ? scatter + n * n : fit->cross;
    memset(scatter, 0, n * n * sizeof *scatter);
    memset(cross, 0, n * d * sizeof *cross);
    for (size_t i = first; i < first + count; i++)
        add_vertex(fit, i, scatter, cross);
    return PELT_OK;
}

pelt_result px_fit_moments(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, N = fit->vertex_count;
    size_t lane = px_block_count(N, px_fit_lanes(fit->bone_capacity, d));
    PX_TRY(px_parallel(fit->context, NULL, N, lane, add_lane, fit));
    for (size_t l = 1; l < px_block_count(N, lane); l++) { /* in a fixed order: reproducible sums */
        const double *slot = fit->slots + (l - 1) * n * (n + d);
        for (size_t e = 0; e < n * n; e++)
            fit->scatter[e] += slot[e];
        for (size_t e = 0; e < n * d; e++)
            fit->cross[e] += slot[n * n + e];
    }
    return PELT_OK;
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
    size_t P = fit->bone_count, n = 4 * P, d = fit->dimension;
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
            pair_quadric(fit->gram + 4 * l * n + 4 * j, n, quadric);
            for (size_t k = 0; k < 10; k++)
                fit->pairs[(l * 10 + k) * P + j] = quadric[k];
        }
}
