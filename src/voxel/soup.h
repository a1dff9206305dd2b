/* A triangle soup on a grid, in integers.
 *
 * Vertices are moved to a lattice of 2^shift steps per cell, at most 2^20 along the grid. Three coordinates multiplied
 * then fit 64 bits, so that every decision below is exact: edges shared by triangles are hit once, closed surfaces have
 * no leak, and vertices are inside the cells that they touch. The move is at most a two-millionth of the grid.
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
    uint8_t *turned; /* [triangle] its front is its back */
} px_soup;

/* Allocates `points`, to be freed by the caller, who has set the rest. */
pelt_result px_soup_snap(px_soup *soup, const float *positions, uint32_t vertex_count);
/* Allocates and fills `turned`, to be freed by the caller. */
pelt_result px_soup_turn(px_soup *soup, uint32_t vertex_count);
/* log2 of the steps in a cell. */
uint32_t px_lattice_shift(const px_grid *grid);
/* The lattice's nearest point within the grid. */
void px_lattice_point(const px_grid *grid, const float position[3], int32_t point[3]);

/* Slices of the grid across an axis, in blocks: what is worked on at a time. The bucket of a block has the triangles
 * that touch it. */
typedef struct px_slices {
    uint32_t axis, block_size, block_count;
    px_buckets triangles;
} px_slices;
pelt_result px_slices_make(const px_soup *soup, uint32_t axis, px_slices *slices);

/* Whole numbers lo to hi; empty when lo > hi. */
typedef struct px_interval {
    int64_t lo, hi;
} px_interval;

/* Keeps those t with a·t + b ≥ 0. */
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

/* The cells that a triangle's box touches along an axis. Cells are closed: a point on a face is in both. */
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

/* Where lines through the centres of cells meet faces. A hit is one number: its depth along the line in lattice steps,
 * doubled, plus 1 when the line leaves through the face (a back face looking up the axis). Sorted by that number, faces
 * that lie in each other are entered before they are left: so a sheet of two sides holds nothing, and two solids that
 * touch stay whole, each seen from its other side. */
static inline bool px_hit_leaves(uint32_t hit) {
    return hit & 1;
}

/* The lines along `axis` through the cells of a block of slices: bucket (slice − first slice) · size + cell across. */
pelt_result px_hits_make(const px_soup *soup, const px_slices *slices, uint32_t block, uint32_t axis, px_buckets *hits);

/* Goes along one line and finds the runs of cells whose centres are inside. */
typedef struct px_line {
    const uint32_t *hits;
    uint32_t count, next; /* of the hits */
    uint32_t views;       /* bit 0: up the line, bit 1: down */
    int32_t depth, total; /* shells entered and not left: so far, and behind the last hit */
    uint32_t size, shift; /* cells of the line; lattice */
} px_line;
px_line px_line_of(const px_soup *soup, const px_buckets *hits, uint32_t bucket, uint32_t axis, uint32_t views);
/* Cells [first, end), false when there are no more. */
bool px_line_next(px_line *line, uint32_t *first, uint32_t *end);

/* ---- Boundary --------------------------------------------------------------------------------------------- */

/* Sets the bits of all cells that a triangle touches in slices [first, end) of z: bits [slice][y][words]. Cells are
 * closed: one that is touched at a corner counts. */
void px_boundary_set(const px_soup *soup, uint32_t triangle, uint32_t first, uint32_t end, uint32_t words,
                     uint64_t *bits);

#endif
