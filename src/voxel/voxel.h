/* Voxels: a triangle soup becomes a solid on a grid, after Dionne and de Lasa, "Geodesic voxel binding for production
 * character meshes" (2013), section 4.
 *
 * A voxel is occupied when a triangle touches it (BOUNDARY) or when its centre is inside (INTERIOR). Inside is a vote:
 * along each axis, a voxel is inside when the first face met looking either way is a back face (equation 5); it is
 * interior when at least half of the axes that vote say so, two of three (equation 6). The soup may have holes, shells
 * in shells, triangles through triangles and edges of many triangles. Shells that are wound inside out are turned, but
 * for cavities.
 *
 * Occupied voxels are numbered by z, then y, then x. Rows of them are stored as runs; there is never an array over all
 * cells of the grid, so memory grows with the surface and the occupied voxels.
 */
#ifndef PELT_VOXEL_H
#define PELT_VOXEL_H

#include "core/core.h"

/* ---- Grids ------------------------------------------------------------------------------------------------ */

#define PX_GRID_MAX 8192u /* cells along an axis */

/* Boxes side by side. The centre of cell (x, y, z) is origin + (x + ½, y + ½, z + ½) · cell. */
typedef struct px_grid {
    uint32_t size[3];
    double origin[3]; /* the lowest corner */
    double cell[3];   /* a cell's sides, > 0 */
} px_grid;

/* Cubic cells around a box, `resolution` (1 to PX_GRID_MAX − 2) along its longest side, and one empty cell all round.
 * The box stays clear of the cells' faces, whatever its shape: it may be flat or a point. */
px_grid px_grid_around(const float low[3], const float high[3], uint32_t resolution);
/* The same with a given number of cells along each axis, the empty ones included (3 to PX_GRID_MAX): cells are boxes. */
px_grid px_grid_of_size(const float low[3], const float high[3], const uint32_t size[3]);
/* The cell that holds a point, the nearest one for points outside. Vertices of the soup are in BOUNDARY voxels if a
 * triangle uses them. */
void px_grid_cell(const px_grid *grid, const float position[3], uint32_t cell[3]);

static inline double px_grid_centre(const px_grid *grid, uint32_t cell, uint32_t axis) {
    return grid->origin[axis] + (cell + 0.5) * grid->cell[axis];
}

/* ---- Voxels ----------------------------------------------------------------------------------------------- */

typedef enum px_voxel_kind { PX_VOXEL_INTERIOR, PX_VOXEL_BOUNDARY } px_voxel_kind;

/* Voxels `first` up to the next run's `first`, side by side in one row from x on. Runs of a row do not touch. */
typedef struct px_run {
    uint32_t x, first;
} px_run;

typedef struct px_voxels {
    px_grid grid;
    uint32_t count;          /* occupied voxels */
    uint32_t interior_count; /* of these INTERIOR */
    uint32_t run_count;      /* number of runs */
    uint32_t turned_count;   /* triangles of shells wound inside out, which were taken the other way round */
    uint8_t *kinds;          /* [voxel] px_voxel_kind */
    uint16_t (*cells)[3];    /* [voxel] x y z */
    uint32_t *row_runs;      /* [size y · size z + 1] first run of row y + size y · z */
    px_run *runs;            /* [run + 1] in the order of voxels; the last one closes the one before */
    uint8_t *turned;         /* [triangle] it was taken the other way round */
} px_voxels;

/* A view looks from a voxel in this direction. */
enum {
    PX_VIEW_POSITIVE_X = 1,
    PX_VIEW_NEGATIVE_X = 2,
    PX_VIEW_POSITIVE_Y = 4,
    PX_VIEW_NEGATIVE_Y = 8,
    PX_VIEW_POSITIVE_Z = 16,
    PX_VIEW_NEGATIVE_Z = 32,
    PX_VIEWS_ALL = 63
};

/* `positions` [vertex][3] finite and inside the grid, `triangles` [triangle][3] vertices, counter-clockwise seen from
 * outside. `views` that vote; an axis votes with either of its two; of two axes one is enough, without views nothing is
 * interior. The result's arrays belong to the arena; after a failure *out is empty. */
pelt_result px_voxels_make(pelt_context *context, px_arena *arena, const float *positions, uint32_t vertex_count,
                           const uint32_t *triangles, uint32_t triangle_count, const px_grid *grid, uint32_t views,
                           px_voxels *out);

/* Which triangles are where. */
typedef struct px_voxel_contents {
    uint32_t *firsts; /* [voxel + 1] */
    uint32_t
        *triangles; /* those that touch voxel v, ascending, are triangles[firsts[v]] … triangles[firsts[v + 1] − 1] */
} px_voxel_contents;

/* The contents of the voxels that px_voxels_make gave for the same soup. In the arena. */
pelt_result px_voxels_contents(pelt_context *context, px_arena *arena, const float *positions, uint32_t vertex_count,
                               const uint32_t *triangles, uint32_t triangle_count, const px_voxels *voxels,
                               px_voxel_contents *out);

/* The voxel at a cell, or PELT_NONE; cells outside the grid may be asked for, −1 too. */
uint32_t px_voxel_at(const px_voxels *voxels, uint32_t x, uint32_t y, uint32_t z);

/* The neighbours of every voxel across its faces, out [voxel][6]: −x +x −y +y −z +z, PELT_NONE where none. */
pelt_result px_voxels_neighbours(pelt_context *context, const px_voxels *voxels, uint32_t (*out)[6]);

#endif
