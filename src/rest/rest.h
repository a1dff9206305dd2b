/* Changes of the rest pose: rotation of normals with the surface, fitted rest normals, normals of edited meshes. Index
 * letters: i vertex, w class of mesh.weld. */
#ifndef PELT_REST_INTERNAL_H
#define PELT_REST_INTERNAL_H

#include "core/core.h"

/* ---- Rotating (turn.c) ------------------------------------------------------------------------------------ */

/* The local rotation of the surface at each welded vertex from mesh.positions to `positions` [vertex][3]: the
 * least-squares rotation of its edges. out [weld][9], row-major. Needs mesh.weld. */
void px_turn_rotations(const pelt_mesh *mesh, const float *positions, double *out);
/* Rotates a vector and normalises it; `fallback` when its length is 0. */
void px_turn_vector(const double rotation[9], const float *in, const float *fallback, float *out);

/* Rotates the mesh's normals and tangents (those it has) with its surface, from mesh.positions to `positions`
 * [vertex][3]: hard edges stay hard, and normal maps stay valid. If the mesh has no normals, computes smooth ones. Out:
 * `normals` [vertex][3]; `tangents` [vertex][4], unused when the mesh has none. Needs mesh.weld. */
pelt_result px_turn_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions, float *normals,
                            float *tangents);

/* ---- Fitting (fit.c) --------------------------------------------------------------------------------------- */

typedef struct px_normal_fit {
    const pelt_mesh *source; /* its positions, normals and tangents define the targets of the frames; welded */
    const pelt_clip *clips;  /* [clip_count] animations of the points of `source` */
    uint32_t clip_count;
    const pelt_model *rig;             /* skeleton and skin for the vertices of `source` */
    const pelt_motion *const *motions; /* [clip] motion of the rig; entry NULL: rest pose */
    float *normals;                    /* [vertex][3] in: start; out: fitted, for no vertex worse than the start */
    float *tangents;                   /* [vertex][4] likewise; NULL: not fitted */
} px_normal_fit;

/* Fits rest normals so that, skinned by the blended transform as engines do, they are nearest to the normals of the
 * frames (least squares of angles). */
pelt_result px_fit_normals(pelt_context *context, const px_normal_fit *job);

/* ---- Editing ---------------------------------------------------------------------------------------------- */

/* Rotates normals and tangents with the surface from mesh.positions to `positions` [vertex][3], for the vertices of the
 * welded vertices marked in `touched` [weld]; copies all others (normals.c). `tangents` is NULL when the mesh has none.
 * Needs mesh.normals and mesh.weld. */
pelt_result px_edit_normals(px_arena *scratch, const pelt_mesh *mesh, const float *positions, const uint8_t *touched,
                            float *normals, float *tangents);

#endif
