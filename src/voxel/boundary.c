/* Cells that a triangle touches: the separating axis test of a triangle and a box (Akenine-Möller 2001), solved for
 * whole rows.
 *
 * Box and triangle are apart exactly when one of these keeps them apart: the sides of the triangle's box, its plane, or
 * an edge in the view along an axis. For the cells of a grid each of them is a linear inequality in the cell's numbers
 * x, y, z. Those seen along x bound y in a slice, the others bound x in a row: no cell that is not touched is looked at.
 */
#include "voxel/soup.h"

/* k[0]·x + k[1]·y + k[2]·z + k[3] ≥ 0 */
typedef struct bound {
    int64_t k[4];
} bound;

typedef struct bounds {
    uint32_t count_y, count_x;
    bound of_y[6];  /* seen along x */
    bound of_x[14]; /* seen along y and z, and the plane */
} bounds;

static int64_t positive(int64_t a) {
    return a > 0 ? a : 0;
}

/* The corner of a cell that is farthest along `normal` is not behind the plane through `point`. */
static bound not_behind(const px_soup *soup, const int64_t normal[3], const int32_t point[3]) {
    bound b = {0};
    for (uint32_t c = 0; c < 3; c++) {
        b.k[c] = normal[c] * ((int64_t)1 << soup->shift);
        b.k[3] += positive(b.k[c]) - normal[c] * point[c];
    }
    return b;
}

/* An edge seen along an axis, the triangle being on its `side` (1, −1; 0: seen edge on, so on both). */
static void add_edge(const px_soup *soup, const int32_t *from, const int32_t *to, uint32_t axis, int side,
                     bounds *out) {
    uint32_t d = (axis + 1) % 3, e = (axis + 2) % 3;
    for (int s = -1; s <= 1; s += 2) {
        if (s == -side)
            continue;
        int64_t normal[3] = {0};
        normal[d] = -(int64_t)s * (to[e] - from[e]);
        normal[e] = (int64_t)s * (to[d] - from[d]);
        bound b = not_behind(soup, normal, from);
        if (axis == 0)
            out->of_y[out->count_y++] = b;
        else
            out->of_x[out->count_x++] = b;
    }
}

static void make_bounds(const px_soup *soup, const int32_t *const p[3], bounds *out) {
    int64_t normal[3], back[3];
    for (uint32_t c = 0; c < 3; c++) {
        uint32_t d = (c + 1) % 3, e = (c + 2) % 3;
        normal[c] =
            (int64_t)(p[1][d] - p[0][d]) * (p[2][e] - p[0][e]) - (int64_t)(p[1][e] - p[0][e]) * (p[2][d] - p[0][d]);
        back[c] = -normal[c];
    }
    out->count_x = out->count_y = 0;
    for (uint32_t axis = 0; axis < 3; axis++)
        for (uint32_t k = 0; k < 3; k++)
            add_edge(soup, p[k], p[(k + 1) % 3], axis, (normal[axis] > 0) - (normal[axis] < 0), out);
    out->of_x[out->count_x++] = not_behind(soup, normal, p[0]);
    out->of_x[out->count_x++] = not_behind(soup, back, p[0]);
}

static void set_slice(const bounds *b, px_interval x, px_interval y, int64_t z, uint32_t words, uint64_t *slice) {
    for (uint32_t n = 0; n < b->count_y; n++)
        px_interval_clip(&y, b->of_y[n].k[1], b->of_y[n].k[2] * z + b->of_y[n].k[3]);
    for (int64_t row = y.lo; row <= y.hi; row++) {
        px_interval cells = x;
        for (uint32_t n = 0; n < b->count_x; n++) {
            const int64_t *k = b->of_x[n].k;
            px_interval_clip(&cells, k[0], k[1] * row + k[2] * z + k[3]);
        }
        if (cells.lo <= cells.hi)
            px_bits_set(slice + (size_t)row * words, (uint32_t)cells.lo, (uint32_t)cells.hi + 1);
    }
}

void px_boundary_set(const px_soup *soup, uint32_t triangle, uint32_t first, uint32_t end, uint32_t words,
                     uint64_t *bits) {
    px_interval box[3];
    uint32_t long_sides = 0;
    for (uint32_t c = 0; c < 3; c++) {
        box[c] = px_triangle_cells(soup, triangle, c);
        long_sides += box[c].hi > box[c].lo;
    }
    bounds b = {0}; /* in a box one cell wide and deep, a triangle that reaches both ends touches all cells */
    if (long_sides > 1) {
        const uint32_t *corners = soup->triangles + 3 * (size_t)triangle;
        const int32_t *p[3];
        for (uint32_t k = 0; k < 3; k++)
            p[k] = soup->points[corners[k]];
        make_bounds(soup, p, &b);
    }
    for (int64_t z = box[2].lo > first ? box[2].lo : first; z <= box[2].hi && z < end; z++)
        set_slice(&b, box[0], box[1], z, words, bits + (size_t)(z - first) * soup->grid->size[1] * words);
}
