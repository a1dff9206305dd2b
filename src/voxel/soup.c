/* Snapping to the lattice, blocks of slices, intersections of lines with triangles. */
#include "voxel/soup.h"

#include <math.h>

/* ---- Lattice ---------------------------------------------------------------------------------------------- */

uint32_t px_lattice_shift(const px_grid *grid) {
    size_t largest = px_max_size(grid->size[0], px_max_size(grid->size[1], grid->size[2]));
    uint32_t shift = PX_LATTICE_BITS;
    while (largest << shift > (size_t)1 << PX_LATTICE_BITS)
        shift--;
    return shift;
}

void px_lattice_point(const px_grid *grid, const float position[3], int32_t point[3]) {
    double steps = (double)((size_t)1 << px_lattice_shift(grid));
    for (uint32_t c = 0; c < 3; c++) {
        double at = floor((position[c] - grid->origin[c]) / grid->cell[c] * steps + 0.5);
        point[c] = (int32_t)px_fmax(0, px_fmin(at, grid->size[c] * steps));
    }
}

typedef struct snap {
    px_soup *soup;
    const float *positions;
} snap;

static pelt_result snap_points(void *user, size_t first, size_t count, size_t block) {
    const snap *s = user;
    (void)block;
    for (size_t i = first; i < first + count; i++)
        px_lattice_point(s->soup->grid, s->positions + 3 * i, s->soup->points[i]);
    return PELT_OK;
}

pelt_result px_soup_snap(px_soup *soup, const float *positions, uint32_t vertex_count) {
    soup->shift = px_lattice_shift(soup->grid);
    soup->points = px_alloc(soup->context, px_max_size(vertex_count, 1), sizeof *soup->points);
    if (!soup->points)
        return PELT_ERROR_MEMORY;
    snap s = {soup, positions};
    return px_parallel(soup->context, NULL, vertex_count, 4096, snap_points, &s);
}

/* ---- Slices ----------------------------------------------------------------------------------------------- */

pelt_result px_slices_make(const px_soup *soup, uint32_t axis, px_slices *slices) {
    uint32_t size = soup->grid->size[axis];
    slices->axis = axis;
    slices->block_size = (uint32_t)px_max_size(4, (size + 31) / 32); /* enough blocks for many threads */
    slices->block_count = (size + slices->block_size - 1) / slices->block_size;
    px_pairs pairs = {.context = soup->context};
    for (uint32_t t = 0; t < soup->triangle_count; t++) {
        px_interval cells = px_triangle_cells(soup, t, axis);
        uint32_t last = (uint32_t)cells.hi / slices->block_size;
        for (uint32_t b = (uint32_t)cells.lo / slices->block_size; b <= last; b++)
            px_pairs_add(&pairs, b, t);
    }
    return px_buckets_make(&pairs, slices->block_count, &slices->triangles);
}

/* ---- Hits ------------------------------------------------------------------------------------------------- */

/* A triangle projected along the lines, counter-clockwise. At the line through cell (u, v), the barycentric coordinate
 * of corner e is (along[e]·u + across[e]·v + offset[e]) / area, which is 0 on the opposite edge. */
typedef struct shadow {
    int64_t area; /* twice the projected area, > 0 */
    int64_t along[3], across[3], offset[3];
    int64_t least[3]; /* smallest numerator inside: 0, or 1 when the edge belongs to the adjacent triangle */
    int64_t depth[3]; /* of the corners, in lattice steps along the lines */
    px_interval u, v; /* cells whose lines may hit the triangle */
    bool leaves;      /* lines leave the solid here: see px_hit_leaves */
} shadow;

/* Cells whose centres lie between the minimum and the maximum of three lattice coordinates. */
static px_interval centres_between(const px_soup *soup, const int64_t p[3]) {
    int64_t low = p[0] < p[1] ? p[0] : p[1], high = p[0] > p[1] ? p[0] : p[1], half = (int64_t)1 << soup->shift >> 1;
    low = low < p[2] ? low : p[2];
    high = high > p[2] ? high : p[2];
    return (px_interval){(low + half - 1) >> soup->shift, ((high + half) >> soup->shift) - 1};
}

/* Projects a triangle; false when no line can hit it. */
static bool cast(const px_soup *soup, uint32_t triangle, uint32_t axis_u, uint32_t axis_v, shadow *s) {
    const uint32_t *corners = soup->triangles + 3 * (size_t)triangle;
    uint32_t axis = 3 - axis_u - axis_v;
    int64_t u[3], v[3];
    for (uint32_t k = 0; k < 3; k++) {
        const int32_t *p = soup->points[corners[k]];
        u[k] = p[axis_u], v[k] = p[axis_v], s->depth[k] = p[axis];
    }
    s->u = centres_between(soup, u);
    s->v = centres_between(soup, v);
    s->area = (u[1] - u[0]) * (v[2] - v[0]) - (v[1] - v[0]) * (u[2] - u[0]);
    if (s->area == 0 || s->u.lo > s->u.hi || s->v.lo > s->v.hi)
        return false;
    bool faces_up = (s->area > 0) == ((axis_u + 1) % 3 == axis_v);
    s->leaves = faces_up != (soup->turned[triangle] != 0);
    int64_t turn = s->area > 0 ? 1 : -1, step = (int64_t)1 << soup->shift, half = step / 2;
    s->area *= turn;
    for (uint32_t e = 0; e < 3; e++) {
        uint32_t from = (e + 1) % 3, to = (e + 2) % 3;
        int64_t du = turn * (u[to] - u[from]), dv = turn * (v[to] - v[from]);
        bool own = dv < 0 || (dv == 0 && du > 0); /* fill rule: true for exactly one direction of an edge */
        s->along[e] = -dv * step;
        s->across[e] = du * step;
        s->offset[e] = du * (half - v[from]) - dv * (half - u[from]);
        s->least[e] = !own;
    }
    return true;
}

/* The hits of one triangle with the lines through row v. */
static void hit_row(const shadow *s, int64_t v, uint32_t first_bucket, px_pairs *pairs) {
    px_interval u = s->u;
    int64_t row[3];
    for (uint32_t e = 0; e < 3; e++) {
        row[e] = s->across[e] * v + s->offset[e];
        px_interval_clip(&u, s->along[e], row[e] - s->least[e]);
    }
    for (int64_t i = u.lo; i <= u.hi; i++) {
        int64_t depth = 0;
        for (uint32_t e = 0; e < 3; e++)
            depth += (s->along[e] * i + row[e]) * s->depth[e];
        px_pairs_add(pairs, first_bucket + (uint32_t)i, (uint32_t)(depth / s->area) << 1 | s->leaves);
    }
}

pelt_result px_hits_make(const px_soup *soup, const px_slices *slices, uint32_t block, uint32_t axis,
                         px_buckets *hits) {
    uint32_t axis_v = slices->axis, axis_u = 3 - axis_v - axis, size = soup->grid->size[axis_u];
    uint32_t first = block * slices->block_size;
    uint32_t count = (uint32_t)px_min_size(slices->block_size, soup->grid->size[axis_v] - first);
    px_pairs pairs = {.context = soup->context};
    const px_buckets *bins = &slices->triangles;
    for (uint32_t t = bins->starts[block]; t < bins->starts[block + 1]; t++) {
        shadow s;
        if (!cast(soup, bins->values[t], axis_u, axis_v, &s))
            continue;
        int64_t last = s.v.hi < first + count - 1 ? s.v.hi : first + count - 1;
        for (int64_t v = s.v.lo > first ? s.v.lo : first; v <= last; v++)
            hit_row(&s, v, (uint32_t)(v - first) * size, &pairs);
    }
    PX_TRY(px_buckets_make(&pairs, count * size, hits));
    px_buckets_sort(hits, count * size);
    return PELT_OK;
}
