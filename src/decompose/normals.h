/* Normals and tangents of a mesh whose rest pose has changed. */
#ifndef PELT_DECOMPOSE_NORMALS_H
#define PELT_DECOMPOSE_NORMALS_H

#include "core/core.h"

/* Turns the mesh's own normals and tangents (those that are there) along with its surface, from mesh.positions to
 * `positions` [vertex][3]: hard edges stay hard, and normal maps keep their directions. Where the mesh has no normals,
 * smooth ones are made. `normals` [vertex][3], `tangents` [vertex][4]. Needs mesh.weld. */
pelt_result px_turn_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions, float *normals,
                            float *tangents);

#endif
