/* Solves large meshes on a sample of their vertices first. See coarse.c. */
#ifndef PELT_DECOMPOSE_COARSE_H
#define PELT_DECOMPOSE_COARSE_H

#include "decompose/fit.h"

/* Vertices per vertex of the sample; 1: the mesh is too small for a sample. */
size_t px_coarse_stride(const px_fit *fit);

/* A fit of the sample of `whole`, and a spare state for it. Their arrays are in `arena`, except for the basis. */
pelt_result px_coarse_make(const px_fit *whole, px_arena *arena, px_fit *sample, px_fit_state *spare);

/* Gives `whole`, whose rest positions are the initial ones, the transforms of the sample; finds rest positions, bones and
 * weights of all its vertices. */
pelt_result px_coarse_end(const px_fit *sample, px_fit *whole);

#endif
