/* Solves meshes on a sample of their vertices first. See coarse.c. */
#ifndef PELT_DECOMPOSE_COARSE_H
#define PELT_DECOMPOSE_COARSE_H

#include "decompose/fit.h"

#define PX_STRIDE_LARGE 3u /* that of large meshes, at least */

/* Vertices per vertex of a sample that is solved first; 1: the mesh is too small for that. */
size_t px_coarse_stride(const px_fit *fit);
/* The same for a sample by which starts are compared. */
size_t px_coarse_starts_stride(const px_fit *fit);

/* A fit of one of `stride` vertices of `whole`, and a spare state for it. Their arrays are in `arena`, except for the basis. */
pelt_result px_coarse_make(const px_fit *whole, size_t stride, px_arena *arena, px_fit *sample, px_fit_state *spare);

/* Gives `whole` the transforms of the sample. */
void px_coarse_transforms(const px_fit *sample, px_fit *whole);
/* The same; also finds rest positions, bones and weights of all its vertices, whose rest positions are the initial ones. */
pelt_result px_coarse_end(const px_fit *sample, size_t stride, px_fit *whole);

#endif
