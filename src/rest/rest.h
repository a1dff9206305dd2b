/* Rest poses that change, from inside. Index letters: i vertex, w welded vertex. */
#ifndef PELT_REST_INTERNAL_H
#define PELT_REST_INTERNAL_H

#include "core/core.h"

/* ---- Turning (turn.c) ------------------------------------------------------------------------------------- */

/* How the surface around each welded vertex turns from mesh.positions to `positions` [vertex][3]: the rotation that best
 * takes the edges there to the new ones. out [weld][9] row by row. Needs mesh.weld. */
void px_turn_rotations(const pelt_mesh *mesh, const float *positions, double *out);
/* A unit vector turned; `fallback` where it has no length. */
void px_turn_vector(const double rotation[9], const float *in, const float *fallback, float *out);

/* Turns the mesh's own normals and tangents (those that are there) along with its surface, from mesh.positions to
 * `positions` [vertex][3]: hard edges stay hard, and normal maps keep their directions. Where the mesh has no normals,
 * smooth ones are made. `normals` [vertex][3], `tangents` [vertex][4]. Needs mesh.weld. */
pelt_result px_turn_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions, float *normals,
                            float *tangents);

/* ---- Editing ---------------------------------------------------------------------------------------------- */

/* Normals and tangents (those that are there) of mesh.positions moved to `positions`, for the vertices of welded vertices
 * that `touched` [weld] marks; all others are copied (normals.c). `tangents` is NULL where the mesh has none. Needs
 * mesh.normals and mesh.weld. */
pelt_result px_edit_normals(px_arena *scratch, const pelt_mesh *mesh, const float *positions, const uint8_t *touched,
                            float *normals, float *tangents);

#endif
