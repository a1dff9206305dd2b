/* Voxelisation: converts a triangle soup to a solid on a grid, after Dionne and de Lasa, "Geodesic voxel binding for
 * production character meshes" (2013), section 4.
 *
 * A voxel is occupied when a triangle touches it (BOUNDARY) or when its centre is inside (INTERIOR). Inside is decided
 * by a vote of the axes: along an axis, a voxel is inside when the first face in either direction is a back face
 * (equation 5). It is interior when at least half of the voting axes say so, two of three (equation 6). The soup may
 * have holes, nested shells, self-intersections and non-manifold edges. Shells that are wound inside out are reversed,
 * except cavities.
 *
 * Occupied voxels are numbered by z, then y, then x. Their rows are stored as runs; no array spans all cells of the
 * grid, so memory is proportional to the surface and the occupied voxels.
 */
#ifndef PELT_VOXEL_H
#define PELT_VOXEL_H

#include "core/core.h"

/* ---- Grids ------------------------------------------------------------------------------------------------ */

#define PX_GRID_MAX 8192u /* largest number of cells along an axis */

/* A regular grid of boxes. The centre of cell (x, y, z) is origin + (x + ½, y + ½, z + ½) · cell. */
typedef struct px_grid {
    uint32_t size[3]; /* number of cells */
    double origin[3]; /* minimum corner */
    double cell[3];   /* side lengths of a cell, > 0 */
} px_grid;

/* A grid of cubic cells around a box: `resolution` (1 to PX_GRID_MAX − 2) cells along its longest side, and a margin of
 * one empty cell on every side. The faces of the box do not lie on faces of cells, also for a flat box or a point. */
px_grid px_grid_around(const float low[3], const float high[3], uint32_t resolution);
/* The same with a given number of cells along each axis (3 to PX_GRID_MAX, margin included): cells need not be
 * cubes. */
px_grid px_grid_of_size(const float low[3], const float high[3], const uint32_t size[3]);
/* The cell that contains a point; the nearest cell for points outside. The cell of a vertex that a triangle uses is a
 * BOUNDARY voxel. */
void px_grid_cell(const px_grid *grid, const float position[3], uint32_t cell[3]);

static inline double px_grid_centre(const px_grid *grid, uint32_t cell, uint32_t axis) {
    return grid->origin[axis] + (cell + 0.5) * grid->cell[axis];
}

/* ---- Voxels ----------------------------------------------------------------------------------------------- */

typedef enum px_voxel_kind { PX_VOXEL_INTERIOR, PX_VOXEL_BOUNDARY } px_voxel_kind;

/* A maximal run of consecutive voxels in a row, starting at cell x: voxels [first, first of the next run). */
typedef struct px_run {
    uint32_t x, first;
} px_run;

typedef struct px_voxels {
    px_grid grid;
    uint32_t count;          /* occupied voxels */
    uint32_t interior_count; /* occupied voxels of kind INTERIOR */
    uint32_t run_count;      /* number of runs */
    uint32_t turned_count;   /* triangles whose winding was reversed: they belong to shells wound inside out */
    uint8_t *kinds;          /* [voxel] px_voxel_kind */
    uint16_t (*cells)[3];    /* [voxel] x y z */
    uint32_t *row_runs;      /* [size y · size z + 1] first run of row y + size y · z */
    px_run *runs;            /* [run_count + 1] in the order of voxels; the last entry is a sentinel, first = count */
    uint8_t *turned;         /* [triangle] 1: its winding was reversed */
} px_voxels;

/* Directions in which the first face seen from a voxel is examined. */
enum {
    PX_VIEW_POSITIVE_X = 1,
    PX_VIEW_NEGATIVE_X = 2,
    PX_VIEW_POSITIVE_Y = 4,
    PX_VIEW_NEGATIVE_Y = 8,
    PX_VIEW_POSITIVE_Z = 16,
    PX_VIEW_NEGATIVE_Z = 32,
    PX_VIEWS_ALL = 63
};

/* `positions` [vertex][3]: finite and inside the grid. `triangles` [triangle][3]: vertices, counter-clockwise seen from
 * outside. `views`: bits of the directions that vote. An axis votes if at least one of its two directions is set, and
 * says inside if one of them does; with fewer than three axes, one vote is enough; without views nothing is interior.
 * Arrays of the result are allocated in the arena; on failure *out is empty. */
pelt_result px_voxels_make(pelt_context *context, px_arena *arena, const float *positions, uint32_t vertex_count,
                           const uint32_t *triangles, uint32_t triangle_count, const px_grid *grid, uint32_t views,
                           px_voxels *out);

enum { PX_PAINT_BOX, PX_PAINT_SPHERE, PX_PAINT_TRIANGLES };

/* Cells to add or remove by hand. */
typedef struct px_voxel_paint {
    bool add;                 /* false: remove */
    uint32_t kind;            /* PX_PAINT_… */
    double numbers[6];        /* BOX: low, high; SPHERE: centre, radius: cells whose centre they contain */
    const uint8_t *triangles; /* TRIANGLES: [triangle] 1: the cells that it touches */
} px_voxel_paint;

/* px_voxels_make; then paints [paint_count] add or remove cells, in this order. Cells of the margin are not added; added
 * ones are INTERIOR unless a triangle touches them. runs_only: kinds and cells stay NULL, and memory is proportional to
 * the surface. */
pelt_result px_voxels_make_painted(pelt_context *context, px_arena *arena, const float *positions,
                                   uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count,
                                   const px_grid *grid, uint32_t views, const px_voxel_paint *paints,
                                   uint32_t paint_count, bool runs_only, px_voxels *out);

/* The triangles that touch each voxel, in compressed rows. */
typedef struct px_voxel_contents {
    uint32_t *firsts; /* [voxel + 1] */
    uint32_t
        *triangles; /* triangles that touch voxel v, ascending: half-open range triangles[firsts[v] .. firsts[v + 1]) */
} px_voxel_contents;

/* Lists the triangles of each voxel, for voxels created from the same soup. Allocated in the
 * arena. */
pelt_result px_voxels_contents(pelt_context *context, px_arena *arena, const float *positions, uint32_t vertex_count,
                               const uint32_t *triangles, uint32_t triangle_count, const px_voxels *voxels,
                               px_voxel_contents *out);

/* The voxel at a cell, or PELT_NONE. Coordinates outside the grid are allowed, including (uint32_t)−1. */
uint32_t px_voxel_at(const px_voxels *voxels, uint32_t x, uint32_t y, uint32_t z);

/* ---- Blocks ------------------------------------------------------------------------------------------------ */

#define PX_MAX_BLOCK 16u /* voxels along the edge of a block */

/* A coarse grid whose cells are blocks of factor³ voxels of a fine one. The voxels of the coarse grid are its blocks; a block
 * whose fine voxels are not connected within it is several voxels, one per piece. So surfaces stay apart that the fine grid
 * separates. The first piece, the largest, has the number of the block; further pieces come after all blocks, in a row of their
 * own: row_runs has one more row. */
typedef struct px_voxel_pieces {
    uint32_t factor;      /* 2, 4 … PX_MAX_BLOCK; 0: the voxels are no blocks */
    uint32_t block_count; /* voxels from here on are further pieces */
    uint32_t split_count; /* blocks with several pieces */
    uint32_t *splits;     /* [split] block, ascending */
    uint32_t *firsts;     /* [split] its second piece; further ones follow */
    uint8_t *labels;      /* [split][factor³] fine voxels by z, y, x: number of the piece; 255: not occupied */
    uint64_t *is_split;   /* [block / 64] bits */
    uint32_t link_count;
    uint32_t (*links)[2]; /* [link] pieces that share a face, besides neighbours: a piece has one neighbour per side */
} px_voxel_pieces;

/* The grid of blocks. Its margin is empty as that of the fine grid. */
px_grid px_grid_of_blocks(const px_grid *fine, uint32_t factor);
/* `fine`: the same soup on the fine grid, runs suffice. `blocks`: on px_grid_of_blocks; pieces are added to it. Allocates
 * neighbours [voxel][6] as px_voxels_neighbours has them, without those that share no face of the fine grid. */
pelt_result px_voxels_split(pelt_context *context, px_arena *arena, const px_voxels *fine, uint32_t factor,
                            px_voxels *blocks, uint32_t (**neighbours)[6], px_voxel_pieces *pieces);
/* The piece of a block at a place in it, each coordinate 0 to 1. PELT_NONE: a block of several pieces has no voxel there. */
uint32_t px_voxel_piece(const px_voxel_pieces *pieces, uint32_t block, const float inside[3]);

/* The face neighbours of every voxel, out [voxel][6]: −x +x −y +y −z +z; PELT_NONE where there is none. */
pelt_result px_voxels_neighbours(pelt_context *context, const px_voxels *voxels, uint32_t (*out)[6]);

#endif
