/* Inner loops of the moments S and Q. Every element is summed over the vertices in ascending order, by one thread. The
 * including file defines LANES (passes.h) and MOMENT_BLOCK, the name of the function. */
#include "decompose/passes.h"

/* The rows of S of bone j: Σ over its vertices of w_ij (v, 1) · x_iᵀ. */
static void add_scatter(const px_moment_pass *p, size_t j) {
    const px_fit *fit = p->fit;
    size_t n = 4 * (size_t)fit->bone_count, K = fit->influence_count;
    double *rows = fit->scatter + 4 * j * n;
    memset(rows, 0, 4 * n * sizeof *rows);
    for (size_t e = p->firsts[j]; e < p->firsts[j + 1]; e++) {
        size_t i = p->influences[e] / K;
        const double *v = fit->now.rest + 3 * i;
        px_quad x = {v[0], v[1], v[2], 1};
        for (size_t a = 0; a < fit->now.counts[i]; a++) {
            px_quad y = fit->now.weights[p->influences[e]] * fit->now.weights[i * K + a] * x;
            double *block = rows + 4 * (size_t)fit->now.bones[i * K + a];
            for (size_t r = 0; r < 4; r++)
                PX_QUAD(block + r * n) += x[r] * y;
        }
    }
}

#define GROUP (LANES / 2) /* vertices at a time: their factors fit in registers */

/* Columns [first, first + count) of the rows of Q of bone j: Σ over its vertices of w_ij (v, 1) · c_iᵀ. */
static void add_cross(const px_moment_pass *p, size_t j, size_t first, size_t count) {
    const px_fit *fit = p->fit;
    size_t d = fit->dimension, K = fit->influence_count;
    double sums[4][PX_MOMENT_COLUMNS];
    memset(sums, 0, sizeof sums);
    for (size_t e = p->firsts[j]; e < p->firsts[j + 1]; e += GROUP) { /* the last group is filled up with factors 0 */
        const float *coords[GROUP];
        double x[GROUP][4] = {{0}};
        for (size_t v = 0; v < GROUP; v++) {
            size_t influence = p->influences[e + v < p->firsts[j + 1] ? e + v : e], i = influence / K;
            coords[v] = fit->coords + i * d + first;
            for (size_t r = 0; r < 4 && e + v < p->firsts[j + 1]; r++)
                x[v][r] = fit->now.weights[influence] * (r < 3 ? fit->now.rest[3 * i + r] : 1);
        }
        for (size_t v = 0; v < GROUP; v++) {
            const float *next =
                fit->coords + p->influences[px_min_size(e + v + 2 * GROUP, p->firsts[j + 1] - 1)] / K * d + first;
            for (size_t ahead = 0; ahead < count; ahead += 16)
                __builtin_prefetch(next + ahead);
        }
        size_t c = 0;
        for (; c + LANES <= count; c += LANES) {
            px_lanes wide[GROUP];
            for (size_t v = 0; v < GROUP; v++)
                wide[v] = PX_LANES_WIDE(coords[v] + c);
            for (size_t r = 0; r < 4; r++) {
                px_lanes sum = PX_LANES(sums[r] + c);
                for (size_t v = 0; v < GROUP; v++)
                    sum += x[v][r] * wide[v];
                PX_LANES(sums[r] + c) = sum;
            }
        }
        for (; c < count; c++)
            for (size_t r = 0; r < 4; r++)
                for (size_t v = 0; v < GROUP; v++)
                    sums[r][c] += x[v][r] * (double)coords[v][c];
    }
    for (size_t r = 0; r < 4; r++)
        memcpy(fit->cross + (4 * j + r) * d + first, sums[r], count * sizeof(double));
}

/* Block `first` of `parts` per bone: S, then PX_MOMENT_COLUMNS columns of Q each. */
pelt_result MOMENT_BLOCK(void *user, size_t first, size_t count, size_t block) {
    (void)count, (void)block;
    const px_moment_pass *p = user;
    size_t j = first / p->parts, part = first % p->parts;
    if (part == 0)
        add_scatter(p, j);
    else
        add_cross(p, j, (part - 1) * PX_MOMENT_COLUMNS,
                  px_min_size(PX_MOMENT_COLUMNS, p->fit->dimension - (part - 1) * PX_MOMENT_COLUMNS));
    return PELT_OK;
}
