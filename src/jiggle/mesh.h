/* Embedding of the mesh in its lattice. */
#ifndef PELT_JIGGLE_MESH_H
#define PELT_JIGGLE_MESH_H

#include "core/math3.h"
#include "jiggle/kernels.h"

/* Morphs of the mesh (shape.c). */
typedef struct px_mesh_shape {
    const pelt_model *model;
    const float *rest_normals; /* [vertex][3] in the world, at rest */
    float *changes;            /* [morph] weights now, from those at rest */
    double *turns;             /* [vertex][9] the skin at rest: from the bind pose to the world */
    float *places,
        *normals; /* [vertex][3] with morphs as they are, in the bind pose; normals NULL where the mesh has none */
} px_mesh_shape;

typedef struct px_mesh_embedding {
    const px_lattice *lattice;
    const px_jiggle_kernels *kernels;
    uint32_t *firsts; /* [cell + 1] */
    px_mesh_block *blocks;
    float *cofactors;     /* [particle][12] scratch, rows of four */
    float *scales;        /* [particle] 1 / (cell's side · cells around it) */
    px_mesh_shape *shape; /* NULL: there are no morphs */
} px_mesh_embedding;

/* normals [vertex][3] at rest. */
pelt_result px_mesh_embedding_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels,
                                   const float *normals, px_mesh_embedding *out);
/* Lets morphs of the model move vertices in their cells; normals [vertex][3] as above must stay. */
pelt_result px_mesh_shape_make(px_arena *arena, const pelt_model *model, const float *normals,
                               px_mesh_embedding *embedding);
/* Weights [morph] from now on. */
void px_mesh_shape_set(px_mesh_embedding *embedding, const float *weights);
/* Vertices with the particles at `particles` [particle][4]: positions [vertex][3], and normals [vertex][3] or NULL. */
void px_mesh_embedding_run(const px_mesh_embedding *embedding, const float *particles, float *positions,
                           float *normals);

#endif
