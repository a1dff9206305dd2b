/* Reads clips into a reduced fit. */
#ifndef PELT_DECOMPOSE_GATHER_H
#define PELT_DECOMPOSE_GATHER_H

#include "decompose/fit.h"

/* Parts of a reduction that do not depend on the number of bones; a search over that number computes them once.
 * Initialise with zeros; free with px_reduction_cache_free. */
typedef struct px_reduction_cache {
    double *gram;    /* A Aᵀ [row][row], lower triangle */
    double *vectors; /* [row][row] its eigenvectors, one per row */
    double *values;  /* [row] its eigenvalues, ascending */
    /* The last projection: valid for this basis only. */
    uint32_t dimension;
    double *basis; /* [row][dimension] */
    float *coords; /* [vertex][dimension] */
    double *norms; /* [vertex] */
    double *rest;  /* [vertex][3] */
} px_reduction_cache;
void px_reduction_cache_free(pelt_context *context, px_reduction_cache *cache);

/* The classes of mesh vertices that the fit solves for, and the normalisation y = (x − center) / radius. */
typedef struct px_gathered {
    pelt_vertex_classes classes; /* the weld, numbered by first point: clips are read in the order of their points */
    uint32_t *points;            /* [class] its first point, ascending */
    double center[3];
    double radius;
    size_t rest_row;           /* 3 · frame of the initial rest pose */
    px_reduction_cache *cache; /* NULL: no cache */
} px_gathered;

/* Reduces the clips, which have fit->row_count / 3 frames in total. Sets norms, dimension, basis, coords and now.rest
 * (allocated by the caller). Uses desc->reduce, epsilon, rig and memory. */
pelt_result px_fit_gather(px_fit *fit, const pelt_clip *clips, const px_gathered *plan,
                          const pelt_decompose_desc *desc);

#endif
