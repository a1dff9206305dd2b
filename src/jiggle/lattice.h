/* Lattices from inside: what of the fine voxels is joined, and cells from that. */
#ifndef PELT_JIGGLE_LATTICE_H
#define PELT_JIGGLE_LATTICE_H

#include "jiggle/jiggle.h"
#include "voxel/voxel.h"

#define PX_LATTICE_FINE 4u /* voxels along a cell's side: a power of 2 */

/* Pieces of the mesh and its inside in fine voxels, and which of them are joined. */
typedef struct px_pieces {
    px_grid grid;
    px_graph graph;         /* edges lead to pieces in the same voxel or one across a face; weights mean nothing */
    uint16_t (*cells)[3];   /* [piece] voxel */
    float *fills;           /* [piece] how much of its voxel it fills: all inside, about half where triangles are */
    uint32_t *vertex_nodes; /* [vertex] */
} px_pieces;

/* `resolution` voxels along the longest side. In the arena. */
pelt_result px_pieces_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, uint32_t resolution,
                           px_pieces *pieces);

#endif
