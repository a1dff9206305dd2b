/* Reference normals and tangents of a deforming mesh, per frame: the targets that skinned normals are compared with.
 *
 * Vertices that are welded and have about the same rest normal form one piece: a smooth fan of triangles, bounded by
 * hard edges. The area-weighted normal of a piece follows its triangles. A vertex keeps its rest normal relative to the
 * frame of its piece's normal and one edge of its largest triangle; its tangent follows the two edges of that triangle.
 */
#ifndef PELT_CORE_SHADING_H
#define PELT_CORE_SHADING_H

#include "core/skin.h"

typedef struct px_shading {
    const pelt_mesh *mesh;
    pelt_vertex_classes pieces;
    uint32_t *corners; /* [vertex][2] other corners of its largest triangle; PELT_NONE: no triangle with an area */
    float *normals;    /* [vertex][3] coordinates along piece normal, edge, cross product; NULL: piece normals */
    float *tangents;   /* [vertex][2] coordinates along the two edges; NULL: the mesh has no tangents */
} px_shading;

/* Reads mesh.positions and, unless NULL, mesh.normals and mesh.tangents. Keeps a pointer to the mesh. Needs
 * mesh.weld. */
pelt_result px_shading_make(px_arena *arena, const pelt_mesh *mesh, px_shading *out);
/* Unit normals [vertex][3] and, unless NULL, tangents [vertex][3] for a frame with positions `points` [point][3].
 * `sums` [piece][3] is a scratch buffer. `tangents` needs mesh.tangents. */
void px_shading_frame(const px_shading *s, const float *points, double *sums, float *normals, float *tangents);

#endif
