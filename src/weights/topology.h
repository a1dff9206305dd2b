/* Topological symmetry of a mesh. */
#ifndef PELT_WEIGHTS_TOPOLOGY_H
#define PELT_WEIGHTS_TOPOLOGY_H

#include "weights/weights.h"

typedef struct px_symmetry_query {
    const float *positions;    /* [row][3] */
    const uint32_t *triangles; /* [triangle][3] rows */
    px_mirror_plane plane;     /* edges near it are tried first; tells the positive side */
    double diagonal;           /* of the box of the positions */
    uint32_t seed[2];          /* rows of an edge of the middle line; PELT_NONE: find one */
} px_symmetry_query;

typedef struct px_symmetry {
    uint32_t count;     /* rows with an image */
    uint32_t *partners; /* [row] its mirror image, itself on the middle line, or PELT_NONE */
    int8_t *sides;      /* [row] 1 on the positive side, −1 on the other, 0 on the middle line or without an image */
} px_symmetry;
/* Finds the symmetry of every shell whose two sides are connected alike, with a middle line of edges. The mesh is welded;
 * results are in the arena. */
pelt_result px_symmetry_find(px_arena *arena, const pelt_mesh *mesh, const px_symmetry_query *query, px_symmetry *out);

#endif
