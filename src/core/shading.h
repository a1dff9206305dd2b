/* The normals that a moving mesh should show, frame by frame.
 *
 * Vertices that weld and have about the same normal shade one piece of surface: up to a hard edge, or all around. The
 * area-weighted normal of a piece turns with its triangles. A vertex keeps its own normal relative to that of its piece and
 * to an edge of its largest triangle; its tangent moves with the two edges of that triangle.
 */
#ifndef PELT_CORE_SHADING_H
#define PELT_CORE_SHADING_H

#include "core/skin.h"

typedef struct px_shading {
    const pelt_mesh *mesh;
    pelt_vertex_classes pieces;
    uint32_t *corners; /* [vertex][2] of its largest triangle, the other two; PELT_NONE: it has none with an area */
    float *normals;    /* [vertex][3] along piece normal, edge and their cross product; NULL: the piece's own */
    float *tangents;   /* [vertex][2] along the two edges; NULL: the mesh has none */
} px_shading;

/* From mesh.positions, normals and tangents (those that are there), which must stay. Needs mesh.weld. */
pelt_result px_shading_make(px_arena *arena, const pelt_mesh *mesh, px_shading *out);
/* Unit normals [vertex][3] and, unless NULL, tangents [vertex][3] where `points` [point][3] are; `sums` is scratch
 * [piece][3]. */
void px_shading_frame(const px_shading *s, const float *points, double *sums, float *normals, float *tangents);

#endif
