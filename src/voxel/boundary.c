/* Conservative rasterisation: the cells that a triangle touches, by the separating axis test of a triangle and a box
 * (Akenine-Möller 2001), solved for whole rows.
 *
 * Box and triangle are disjoint exactly when one of these separates them: a side of the triangle's bounding box, its
 * plane, or an edge in the projection along an axis. For the cells of a grid each test is a linear inequality in the
 * cell indices x, y, z. Those of the projection along x bound y in a slice, the others bound x in a row: only touched
 * cells are visited.
 */
#include "voxel/soup.h"

/* k[0]·x + k[1]·y + k[2]·z + k[3] ≥ 0 */
typedef struct bound {
    int64_t k[4];
} bound;

typedef struct bounds {
    uint32_t count_y, count_x;
    bound of_y[6];  /* edges projected along x */
    bound of_x[14]; /* edges projected along y and z, and the plane */
} bounds;

static int64_t positive(int64_t a) {
    return a > 0 ? a : 0;
}

/* The inequality: the corner of a cell that is farthest along `normal` is in front of or on the plane through
 * `point`. */
static bound not_behind(const px_soup *soup, const int64_t normal[3], const int32_t point[3]) {
    bound b = {0};
    for (uint32_t c = 0; c < 3; c++) {
        b.k[c] = normal[c] * ((int64_t)1 << soup->shift);
        b.k[3] += positive(b.k[c]) - normal[c] * point[c];
    }
    return b;
}

/* Adds the bounds of an edge projected along an axis. `side`: side of the edge on which the triangle lies, 1 or −1; 0:
 * the projection is degenerate, so both sides bound. */
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

typedef void cells_fn(void *user, uint32_t first, uint32_t end, uint32_t y, uint32_t z);

static inline void touch_slice(const bounds *b, px_interval x, px_interval y, int64_t z, cells_fn *touched,
                               void *user) {
    for (uint32_t n = 0; n < b->count_y; n++)
        px_interval_clip(&y, b->of_y[n].k[1], b->of_y[n].k[2] * z + b->of_y[n].k[3]);
    for (int64_t row = y.lo; row <= y.hi; row++) {
        px_interval cells = x;
        for (uint32_t n = 0; n < b->count_x; n++) {
            const int64_t *k = b->of_x[n].k;
            px_interval_clip(&cells, k[0], k[1] * row + k[2] * z + k[3]);
        }
        if (cells.lo <= cells.hi)
            touched(user, (uint32_t)cells.lo, (uint32_t)cells.hi + 1, (uint32_t)row, (uint32_t)z);
    }
}

/* Calls `touched` once per row for the cells in slices [first, end) of z that a triangle touches. */
static inline void touch(const px_soup *soup, uint32_t triangle, uint32_t first, uint32_t end, cells_fn *touched,
                         void *user) {
    px_interval box[3];
    uint32_t long_sides = 0;
    for (uint32_t c = 0; c < 3; c++) {
        box[c] = px_triangle_cells(soup, triangle, c);
        long_sides += box[c].hi > box[c].lo;
    }
    bounds b = {0}; /* without bounds: in a box of 1×1×n cells a triangle touches all n */
    if (long_sides > 1) {
        const uint32_t *corners = soup->triangles + 3 * (size_t)triangle;
        const int32_t *p[3];
        for (uint32_t k = 0; k < 3; k++)
            p[k] = soup->points[corners[k]];
        make_bounds(soup, p, &b);
    }
    for (int64_t z = box[2].lo > first ? box[2].lo : first; z <= box[2].hi && z < end; z++)
        touch_slice(&b, box[0], box[1], z, touched, user);
}

/* ---- Bits -------------------------------------------------------------------------------------------------- */

typedef struct bit_rows {
    uint64_t *bits; /* [slice][y][word] */
    uint32_t first, size_y, words;
} bit_rows;

static void set_bits(void *user, uint32_t first, uint32_t end, uint32_t y, uint32_t z) {
    const bit_rows *r = user;
    px_bits_set(r->bits + ((size_t)(z - r->first) * r->size_y + y) * r->words, first, end);
}

void px_boundary_set(const px_soup *soup, uint32_t triangle, uint32_t first, uint32_t end, uint32_t words,
                     uint64_t *bits) {
    bit_rows rows = {bits, first, soup->grid->size[1], words};
    touch(soup, triangle, first, end, set_bits, &rows);
}

/* ---- Contents ---------------------------------------------------------------------------------------------- */

typedef struct filler {
    const px_voxels *voxels;
    uint32_t *places;    /* [voxel] first pass: number of triangles; second pass: write position */
    uint32_t *triangles; /* NULL in the first pass */
    uint32_t triangle;
} filler;

static void fill_cells(void *user, uint32_t first, uint32_t end, uint32_t y, uint32_t z) {
    filler *f = user;
    for (uint32_t x = first, voxel = PELT_NONE; x < end; x++) {
        /* touched cells are occupied unless painted out: consecutive in one run */
        bool next = voxel != PELT_NONE && voxel + 1 < f->voxels->count && f->voxels->cells[voxel + 1][0] == x &&
                    f->voxels->cells[voxel + 1][1] == y && f->voxels->cells[voxel + 1][2] == z;
        voxel = next ? voxel + 1 : px_voxel_at(f->voxels, x, y, z);
        if (voxel == PELT_NONE)
            continue;
        if (f->triangles)
            f->triangles[f->places[voxel]] = f->triangle;
        f->places[voxel]++;
    }
}

static pelt_result fill(px_arena *arena, const px_soup *soup, const px_voxels *voxels, px_voxel_contents *out) {
    out->firsts = PX_NEW(arena, uint32_t, (size_t)voxels->count + 2);
    if (!out->firsts)
        return PELT_ERROR_MEMORY;
    filler f = {.voxels = voxels, .places = out->firsts + 2};
    for (f.triangle = 0; f.triangle < soup->triangle_count; f.triangle++)
        touch(soup, f.triangle, 0, soup->grid->size[2], fill_cells, &f);
    size_t sum = 0;
    for (uint32_t v = 0; v < voxels->count; v++) {
        sum += out->firsts[v + 2];
        out->firsts[v + 2] = (uint32_t)sum;
    }
    out->triangles = sum <= UINT32_MAX ? PX_NEW(arena, uint32_t, sum) : NULL;
    if (!out->triangles)
        return sum <= UINT32_MAX ? PELT_ERROR_MEMORY : px_fail_memory(soup->context);
    f.places = out->firsts + 1; /* in the end, the start of the next voxel */
    f.triangles = out->triangles;
    for (f.triangle = 0; f.triangle < soup->triangle_count; f.triangle++)
        touch(soup, f.triangle, 0, soup->grid->size[2], fill_cells, &f);
    return PELT_OK;
}

pelt_result px_voxels_contents(pelt_context *context, px_arena *arena, const float *positions, uint32_t vertex_count,
                               const uint32_t *triangles, uint32_t triangle_count, const px_voxels *voxels,
                               px_voxel_contents *out) {
    px_soup soup = {
        .context = context, .grid = &voxels->grid, .triangles = triangles, .triangle_count = triangle_count};
    *out = (px_voxel_contents){0};
    pelt_result result = px_soup_snap(&soup, positions, vertex_count);
    if (result == PELT_OK)
        result = fill(arena, &soup, voxels, out);
    px_free(context, soup.points);
    return result;
}
