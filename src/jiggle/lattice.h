/* Construction of the lattice: connected pieces of fine voxels, which are merged into cells. */
#ifndef PELT_JIGGLE_LATTICE_H
#define PELT_JIGGLE_LATTICE_H

#include "jiggle/jiggle.h"
#include "voxel/voxel.h"

#define PX_LATTICE_FINE 4u /* voxels per side of a cell; a power of 2 */

/* Pieces of the surface and its interior in fine voxels, and the connections between them. */
typedef struct px_pieces {
    px_grid grid;
    px_graph graph;         /* edges connect pieces of one voxel or across a voxel face; weights are unused */
    uint16_t (*cells)[3];   /* [piece] coordinates of its voxel */
    float *fills;           /* [piece] filled fraction of its voxel: 1 inside, about 0.5 at the surface */
    uint32_t *vertex_nodes; /* [vertex] its piece */
} px_pieces;

/* `resolution`: voxels along the longest side of the bounding box. Arrays live in the arena. */
pelt_result px_pieces_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, uint32_t resolution,
                           px_pieces *pieces);

/* ---- Sheets ----------------------------------------------------------------------------------------------- */

/* Triangles per voxel. Coordinates are in grid space: voxel (x, y, z) spans (x, y, z) to (x + 1, y + 1, z + 1). */
typedef struct px_sheets {
    const px_voxels *voxels;
    const uint32_t *triangles; /* [triangle][3] */
    double (*points)[3];       /* [vertex] */
    uint32_t *firsts;          /* [voxel + 1] */
    uint32_t *items;           /* [item] triangles, grouped by voxel and, within a voxel, by sheet */
} px_sheets;

/* A connected component of the triangles in one voxel: items[first] … items[first + count − 1]. */
typedef struct px_sheet {
    uint32_t first, count;
    double point[3], normal[3]; /* a point of the sheet and its outward unit normal; normal 0: the sheet has no area */
} px_sheet;

/* Sets point and normal at the point of the sheet nearest to the centre of its voxel. */
void px_sheet_sample(const px_sheets *sheets, uint32_t voxel, px_sheet *sheet);
/* Returns true if two sheets, of one voxel or of two neighbours, bound the same body: only interior lies between
 * their inner sides, or one covers the other as clothes cover skin. */
bool px_sheets_belong(const px_sheets *sheets, uint32_t voxel, const px_sheet *a, uint32_t next, const px_sheet *b);
/* Returns true if only interior lies between p, an interior point, and the inner side of a sheet in `voxel`. */
bool px_sheet_has_inside(const px_sheets *sheets, uint32_t voxel, const px_sheet *sheet, const double p[3]);

#endif
