/* The mesh in its lattice, from inside. */
#ifndef PELT_JIGGLE_MESH_H
#define PELT_JIGGLE_MESH_H

#include "core/math3.h"
#include "jiggle/kernels.h"

typedef struct px_mesh_embedding {
    const px_lattice *lattice;
    const px_jiggle_kernels *kernels;
    uint32_t *firsts; /* [cell + 1] */
    px_mesh_block *blocks;
    float *cofactors; /* [particle][12] scratch, rows of four */
    float *scales;    /* [particle] 1 / (cell's side · cells around it) */
} px_mesh_embedding;

/* normals [vertex][3] at rest. */
pelt_result px_mesh_embedding_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels,
                                   const float *normals, px_mesh_embedding *out);
/* Vertices with the particles at `particles` [particle][4]: positions [vertex][3], and normals [vertex][3] or NULL. */
void px_mesh_embedding_run(const px_mesh_embedding *embedding, const float *particles, float *positions,
                           float *normals);

#endif
