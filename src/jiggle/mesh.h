/* Trilinear embedding of the mesh in its lattice. */
#ifndef PELT_JIGGLE_MESH_H
#define PELT_JIGGLE_MESH_H

#include "core/math3.h"
#include "jiggle/kernels.h"

/* Morphs of the mesh (shape.c). */
typedef struct px_mesh_shape {
    const pelt_model *model;
    const float *rest_normals; /* [vertex][3] world space, at rest */
    float *changes;            /* [morph] current weight − rest weight */
    double *turns;             /* [vertex][9] 3×3 part of the skinning matrix at rest: bind pose to world */
    float *places,
        *normals; /* [vertex][3] bind pose with the current weights of morphs; normals NULL: the mesh has none */
} px_mesh_shape;

typedef struct px_mesh_embedding {
    const px_lattice *lattice;
    const px_jiggle_kernels *kernels;
    uint32_t *firsts; /* [cell + 1] first block of each cell */
    px_mesh_block *blocks;
    float *cofactors;     /* [particle][12] scratch, rows of four */
    float *scales;        /* [particle] 1 / (cell's side · cells around it) */
    px_mesh_shape *shape; /* NULL: no morphs */
} px_mesh_embedding;

/* normals [vertex][3] at rest. */
pelt_result px_mesh_embedding_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels,
                                   const float *normals, px_mesh_embedding *out);
/* Enables morphs, which move vertices within their cells. normals [vertex][3], as above, must outlive the embedding. */
pelt_result px_mesh_shape_make(px_arena *arena, const pelt_model *model, const float *normals,
                               px_mesh_embedding *embedding);
/* Sets the current weights [morph]. */
void px_mesh_shape_set(px_mesh_embedding *embedding, const float *weights);
/* Evaluates vertices for particles at `particles` [particle][4]: positions [vertex][3], and normals [vertex][3] or
 * NULL. */
void px_mesh_embedding_run(const px_mesh_embedding *embedding, const float *particles, float *positions,
                           float *normals);

#endif
