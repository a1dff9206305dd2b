/* Inner loops of the moments S and Q. Compiled for every machine and for AVX2, with the same results: every element is
 * summed over the vertices in ascending order, by one thread. The including file defines MOMENT_BLOCK, the name of the
 * function. */
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

/* Columns [first, first + count) of the rows of Q of bone j: Σ over its vertices of w_ij (v, 1) · c_iᵀ. */
static void add_cross(const px_moment_pass *p, size_t j, size_t first, size_t count) {
    const px_fit *fit = p->fit;
    size_t d = fit->dimension, K = fit->influence_count;
    double sums[4][PX_MOMENT_COLUMNS];
    memset(sums, 0, sizeof sums);
    for (size_t e = p->firsts[j]; e < p->firsts[j + 1];
         e += 2) { /* two vertices at a time; the last one maybe with 0 */
        const float *coords[2];
        double x[2][4] = {{0}};
        for (size_t v = 0; v < 2; v++) {
            size_t influence = p->influences[e + v < p->firsts[j + 1] ? e + v : e], i = influence / K;
            coords[v] = fit->coords + i * d + first;
            for (size_t r = 0; r < 4 && e + v < p->firsts[j + 1]; r++)
                x[v][r] = fit->now.weights[influence] * (r < 3 ? fit->now.rest[3 * i + r] : 1);
        }
        const float *next = fit->coords + p->influences[px_min_size(e + 4, p->firsts[j + 1] - 1)] / K * d + first;
        for (size_t ahead = 0; ahead < count; ahead += 16)
            __builtin_prefetch(next + ahead), __builtin_prefetch(next + d + ahead);
        size_t c = 0;
        for (; c + 4 <= count; c += 4) {
            px_quad a = PX_QUAD_WIDE(coords[0] + c), b = PX_QUAD_WIDE(coords[1] + c);
            for (size_t r = 0; r < 4; r++)
                PX_QUAD(sums[r] + c) = (PX_QUAD(sums[r] + c) + x[0][r] * a) + x[1][r] * b;
        }
        for (; c < count; c++)
            for (size_t r = 0; r < 4; r++)
                sums[r][c] = (sums[r][c] + x[0][r] * (double)coords[0][c]) + x[1][r] * (double)coords[1][c];
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
