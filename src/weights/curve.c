/* Weights between the vertices of a mesh, to second order.
 *
 * At the point p of a triangle with corners x_i and barycentric coordinates b_i,
 *
 *   w(p) = Σ_i b_i·(W_i + ½ g_i·(p − x_i))
 *
 * is exact for quadratic functions whose gradients at the corners are g_i: a quadratic f has f(p) = f_i + ½ (g_i + g_p)·(p − x_i),
 * and Σ_i b_i·(p − x_i) = 0. Gradients are least squares over the edges at a corner, in its tangent plane, so w is a linear
 * combination of the weights of the corners and their neighbours. Weights of a bone stay between the least and the largest of
 * these: steps do not overshoot. At a vertex w is the weight of this vertex.
 */
#include "weights/transfer.h"

#include "core/math3.h"

#define FLAT 1e-3 /* relative: keeps the gradient 0 in directions in which there are no neighbours */

/* Inverts a symmetric positive definite matrix by cofactors. */
static void invert(const double m[3][3], double out[3][3]) {
    double determinant = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            int c = (a + 1) % 3, d = (a + 2) % 3, e = (b + 1) % 3, f = (b + 2) % 3;
            out[b][a] = m[c][e] * m[d][f] - m[c][f] * m[d][e];
        }
    for (int a = 0; a < 3; a++)
        determinant += m[0][a] * out[a][0];
    for (int a = 0; a < 9; a++)
        out[a / 3][a % 3] /= determinant;
}

pelt_result px_curve_make(px_arena *arena, const float *positions, const double *normals, const uint32_t *triangles,
                          const px_neighbours *neighbours, uint32_t row_count, px_curve *out) {
    *out = (px_curve){positions, triangles, neighbours, NULL};
    out->slopes = px_arena_alloc(arena, neighbours->offsets[row_count], sizeof *out->slopes);
    if (!out->slopes)
        return PELT_ERROR_MEMORY;
    for (size_t r = 0; r < row_count; r++) {
        const double *n = normals + 3 * r;
        double m[3][3], inverse[3][3];
        for (int a = 0; a < 9; a++)
            m[a / 3][a % 3] = n[a / 3] * n[a % 3] + (a % 4 == 0 ? FLAT : 0);
        for (size_t e = neighbours->offsets[r]; e < neighbours->offsets[r + 1]; e++) {
            double *way = out->slopes[e], square = 0, off = 0;
            for (int c = 0; c < 3; c++) {
                way[c] = (double)positions[3 * (size_t)neighbours->items[e] + c] - (double)positions[3 * r + c];
                square += way[c] * way[c];
                off += way[c] * n[c];
            }
            for (int c = 0; c < 3; c++)
                way[c] -= off * n[c];
            for (int a = 0; a < 9 && square > 0; a++)
                m[a / 3][a % 3] += way[a / 3] * way[a % 3] / square;
            for (int c = 0; c < 3; c++)
                way[c] = square > 0 ? way[c] / square : 0;
        }
        invert((const double(*)[3])m, inverse);
        for (size_t e = neighbours->offsets[r]; e < neighbours->offsets[r + 1]; e++) {
            double way[3];
            memcpy(way, out->slopes[e], sizeof way);
            for (int c = 0; c < 3; c++)
                out->slopes[e][c] = px_dot3d(inverse[c], way);
        }
    }
    return PELT_OK;
}

static void add_share(px_curve_point *point, uint32_t row, double share) {
    uint32_t at = 0;
    while (at < point->count && point->rows[at] != row)
        at++;
    if (at == point->count) {
        point->rows[point->count++] = row;
        point->shares[at] = 0;
    }
    point->shares[at] += share;
}

void px_curve_at(const px_curve *curve, const px_surface_point *at, bool curved, px_curve_point *out) {
    const uint32_t *rows = curve->triangles + 3 * (size_t)at->triangle;
    const size_t *offsets = curve->neighbours->offsets;
    double p[3] = {0, 0, 0};
    size_t most = 3;
    out->count = 0;
    for (size_t e = 0; e < 9; e++)
        p[e % 3] += at->corners[e / 3] * (double)curve->positions[3 * (size_t)rows[e / 3] + e % 3];
    for (int k = 0; k < 3; k++)
        most += offsets[rows[k] + 1] - offsets[rows[k]];
    for (int k = 0; k < 3; k++)
        add_share(out, rows[k], at->corners[k]);
    for (int k = 0; k < 3 && curved && most <= PX_CURVE_MOST; k++) {
        double way[3];
        for (size_t c = 0; c < 3; c++)
            way[c] = p[c] - (double)curve->positions[3 * (size_t)rows[k] + c];
        for (size_t e = offsets[rows[k]]; e < offsets[rows[k] + 1]; e++) {
            double share = 0.5 * at->corners[k] * px_dot3d(curve->slopes[e], way);
            add_share(out, curve->neighbours->items[e], share);
            add_share(out, rows[k], -share);
        }
    }
}

/* Weights of bones with the number of rows that have them and their range. */
typedef struct range {
    uint32_t rows;
    double low, high;
} range;

void px_curve_weights(const px_curve_point *point, const px_weight_table *table, px_weight_sum *out) {
    range ranges[PX_WEIGHT_SUM_MOST];
    px_weight_sum sum = {0};
    for (uint32_t n = 0; n < point->count; n++) {
        size_t first = (size_t)point->rows[n] * table->capacity;
        for (size_t e = first; e < first + table->capacity && table->weights[e] > 0; e++) {
            double weight = (double)table->weights[e];
            uint32_t at = 0;
            while (at < sum.count && sum.bones[at] != table->bones[e])
                at++;
            if (at == PX_WEIGHT_SUM_MOST)
                continue;
            if (at == sum.count) {
                ranges[at] = (range){0, weight, weight};
                sum.bones[sum.count] = table->bones[e];
                sum.weights[sum.count++] = 0;
            }
            sum.weights[at] += point->shares[n] * weight;
            ranges[at].low = px_fmin(ranges[at].low, weight);
            ranges[at].high = px_fmax(ranges[at].high, weight);
            ranges[at].rows++;
        }
    }
    *out = (px_weight_sum){0};
    for (uint32_t e = 0; e < sum.count; e++) {
        double low = ranges[e].rows < point->count ? 0 : ranges[e].low;
        px_weight_sum_add(out, sum.bones[e], px_fmin(px_fmax(sum.weights[e], low), ranges[e].high));
    }
}
