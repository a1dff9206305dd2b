/* A triangle soup snapped to an integer lattice on a grid.
 *
 * Vertices are rounded to a lattice of 2^shift steps per cell, at most 2^20 steps along the grid. Products of three
 * coordinates then fit in 64 bits, so that all predicates below are exact: a line hits an edge shared by two triangles
 * once, closed surfaces do not leak, and vertices are inside the cells that they touch. Rounding moves a vertex by at
 * most a two-millionth of the grid along each axis.
 */
#ifndef PELT_VOXEL_SOUP_H
#define PELT_VOXEL_SOUP_H

#include "voxel/buckets.h"
#include "voxel/voxel.h"

#define PX_LATTICE_BITS 20u

typedef struct px_soup {
    pelt_context *context;
    const px_grid *grid;
    uint32_t shift;            /* a cell has 2^shift lattice steps */
    int32_t (*points)[3];      /* [vertex] */
    const uint32_t *triangles; /* [triangle][3] */
    uint32_t triangle_count;
    uint8_t *turned; /* [triangle] 1: its winding is reversed */
} px_soup;

/* Sets `shift`, and allocates and fills `points`, which the caller frees. The other fields must be set. */
pelt_result px_soup_snap(px_soup *soup, const float *positions, uint32_t vertex_count);
/* Allocates and fills `turned`, which the caller frees. Needs `points`. */
pelt_result px_soup_turn(px_soup *soup, uint32_t vertex_count);
/* log2 of the lattice steps per cell. */
uint32_t px_lattice_shift(const px_grid *grid);
/* The nearest lattice point, clamped to the grid. */
void px_lattice_point(const px_grid *grid, const float position[3], int32_t point[3]);

/* Slices of the grid perpendicular to an axis, grouped into blocks, which are the units of parallel work. The bucket of
 * a block lists the triangles whose box touches it. */
typedef struct px_slices {
    uint32_t axis, block_size, block_count;
    px_buckets triangles;
} px_slices;
pelt_result px_slices_make(const px_soup *soup, uint32_t axis, px_slices *slices);

/* Closed interval of integers; empty when lo > hi. */
typedef struct px_interval {
    int64_t lo, hi;
} px_interval;

/* Intersects the interval with { t : a·t + b ≥ 0 }. */
static inline void px_interval_clip(px_interval *i, int64_t a, int64_t b) {
    if (i->lo > i->hi)
        return;
    if (a > 0) {
        int64_t value = a * i->lo + b;
        if (value < 0)
            i->lo += (a - 1 - value) / a;
    } else if (a < 0) {
        int64_t value = a * i->hi + b;
        if (value < 0)
            i->hi -= (-a - 1 - value) / -a;
    } else if (b < 0) {
        i->hi = i->lo - 1;
    }
}

/* The cells along an axis that a triangle's bounding box touches. Cells are closed: a point on a face is in both
 * cells. */
static inline px_interval px_triangle_cells(const px_soup *soup, uint32_t triangle, uint32_t axis) {
    const uint32_t *corners = soup->triangles + 3 * (size_t)triangle;
    int32_t low = INT32_MAX, high = 0;
    for (uint32_t k = 0; k < 3; k++) {
        int32_t at = soup->points[corners[k]][axis];
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    int64_t last = soup->grid->size[axis] - 1, step = (int64_t)1 << soup->shift;
    int64_t lo = ((low + step - 1) >> soup->shift) - 1, hi = high >> soup->shift;
    return (px_interval){lo < 0 ? 0 : lo, hi > last ? last : hi};
}

/* Sets bits [first, end) of a row. */
static inline void px_bits_set(uint64_t *row, uint32_t first, uint32_t end) {
    for (uint32_t word = first / 64; word * 64 < end; word++) {
        uint64_t bits = UINT64_MAX;
        if (word == first / 64)
            bits &= UINT64_MAX << first % 64;
        if (end - word * 64 < 64)
            bits &= ~(UINT64_MAX << (end - word * 64));
        row[word] |= bits;
    }
}

/* ---- Hits ------------------------------------------------------------------------------------------------- */

/* Intersections of triangles with lines through the centres of cells. A hit is encoded as 2 · depth, in lattice steps
 * along the line, plus 1 when the line leaves the solid there (a back face seen in the positive direction). Sorted by
 * this code, coincident faces are entered before they are left: a two-sided sheet encloses nothing, and two solids that
 * touch stay solid. */
static inline bool px_hit_leaves(uint32_t hit) {
    return hit & 1;
}

/* Sorted hits of the lines along `axis` through the cells of a block of slices. The bucket of a line is (slice − first
 * slice) · size + cell, with cell and size along the third axis. */
pelt_result px_hits_make(const px_soup *soup, const px_slices *slices, uint32_t block, uint32_t axis, px_buckets *hits);

/* Iterator over the runs of cells along one line whose centres are inside. */
typedef struct px_line {
    const uint32_t *hits; /* [count] sorted */
    uint32_t count, next; /* number of hits; the next one */
    uint32_t views;       /* bit 0: positive direction votes, bit 1: negative direction votes */
    int32_t depth, total; /* shells entered minus shells left: before `next`, and after the last hit */
    uint32_t size, shift; /* cells of the line; log2 of lattice steps per cell */
} px_line;
px_line px_line_of(const px_soup *soup, const px_buckets *hits, uint32_t bucket, uint32_t axis, uint32_t views);
/* The next run: cells [first, end). Returns false when there are no more. */
bool px_line_next(px_line *line, uint32_t *first, uint32_t *end);

/* ---- Boundary --------------------------------------------------------------------------------------------- */

/* Sets the bits of all cells in slices [first, end) of z that a triangle touches: bits [slice − first][y][words]. Cells
 * are closed: touching a corner counts. */
void px_boundary_set(const px_soup *soup, uint32_t triangle, uint32_t first, uint32_t end, uint32_t words,
                     uint64_t *bits);

#endif
