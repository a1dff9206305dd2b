/* Construction of the lattice: connected pieces of fine voxels, from which cells are made. */
#ifndef PELT_JIGGLE_LATTICE_H
#define PELT_JIGGLE_LATTICE_H

#include "jiggle/jiggle.h"
#include "voxel/voxel.h"

#define PX_LATTICE_FINE 4u /* voxels along a cell's side: a power of 2 */

/* Pieces of the surface and its interior in fine voxels, and the connections between them. */
typedef struct px_pieces {
    px_grid grid;
    px_graph graph;         /* edges connect pieces of one voxel or across a face; weights are unused */
    uint16_t (*cells)[3];   /* [piece] voxel */
    float *fills;           /* [piece] filled fraction of its voxel: 1 inside, about 0.5 at the surface */
    uint32_t *vertex_nodes; /* [vertex] */
} px_pieces;

/* `resolution` voxels along the longest side. In the arena. */
pelt_result px_pieces_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, uint32_t resolution,
                           px_pieces *pieces);

/* ---- Sheets ----------------------------------------------------------------------------------------------- */

/* Triangles in voxels. Places are in grid space: voxel (x, y, z) is from there to (x + 1, y + 1, z + 1). */
typedef struct px_sheets {
    const px_voxels *voxels;
    const uint32_t *triangles; /* [triangle][3] */
    double (*points)[3];       /* [vertex] */
    uint32_t *firsts;          /* [voxel + 1] */
    uint32_t *items;           /* [item] triangles: those of a voxel, and in it those of a sheet, side by side */
} px_sheets;

/* Triangles connected within one voxel: items[first] … items[first + count − 1]. */
typedef struct px_sheet {
    uint32_t first, count;
    double point[3], normal[3]; /* a place on it and its outward normal, of length 1, or 0 where it has no area */
} px_sheet;

/* Sets point and normal at the place of the sheet nearest to the centre of its voxel. */
void px_sheet_sample(const px_sheets *sheets, uint32_t voxel, px_sheet *sheet);
/* Whether sheets of one voxel or of two neighbours belong to one body: only interior lies between their inner sides, or one
 * lies over the other as clothes over skin. */
bool px_sheets_belong(const px_sheets *sheets, uint32_t voxel, const px_sheet *a, uint32_t next, const px_sheet *b);
/* Whether only interior lies between a point inside and the inner side of a sheet in `voxel`. */
bool px_sheet_has_inside(const px_sheets *sheets, uint32_t voxel, const px_sheet *sheet, const double p[3]);

#endif
