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

/* ---- Fitting (fit.c) --------------------------------------------------------------------------------------- */

typedef struct px_normal_fit {
    const pelt_mesh *source; /* with the positions, normals and tangents that the frames carry along; welded */
    const pelt_clip *clips;  /* [clip_count] of its points */
    uint32_t clip_count;
    const pelt_model *rig;             /* skeleton and skin are used, of the same vertices */
    const pelt_motion *const *motions; /* [clip] of the rig; NULL: it stands still */
    float *normals;                    /* [vertex][3] in: where to start; out: no worse, vertex by vertex */
    float *tangents;                   /* [vertex][4] likewise, or NULL */
} px_normal_fit;

/* Rest normals that the blended transform of each vertex, as engines apply it, takes nearest to those of the frames. */
pelt_result px_fit_normals(pelt_context *context, const px_normal_fit *job);

/* ---- Editing ---------------------------------------------------------------------------------------------- */

/* Normals and tangents (those that are there) of mesh.positions moved to `positions`, for the vertices of welded vertices
 * that `touched` [weld] marks; all others are copied (normals.c). `tangents` is NULL where the mesh has none. Needs
 * mesh.normals and mesh.weld. */
pelt_result px_edit_normals(px_arena *scratch, const pelt_mesh *mesh, const float *positions, const uint8_t *touched,
                            float *normals, float *tangents);

#endif
