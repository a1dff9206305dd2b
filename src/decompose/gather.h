/* From clips to a reduced fit. */
#ifndef PELT_DECOMPOSE_GATHER_H
#define PELT_DECOMPOSE_GATHER_H

#include "decompose/fit.h"

/* Parts of a reduction that do not depend on the number of bones: a search over that number computes them once. All NULL at
 * first; free with px_reduction_cache_free. */
typedef struct px_reduction_cache {
    double *gram;    /* A Aᵀ [row][row], lower triangle */
    double *vectors; /* [row][row] its eigenvectors, one per row … */
    double *values;  /* … and eigenvalues [row], ascending */
    /* The last projection: coordinates in this basis. */
    uint32_t dimension;
    double *basis; /* [row][dimension] */
    float *coords; /* [vertex][dimension] */
    double *norms; /* [vertex] */
    double *rest;  /* [vertex][3] */
} px_reduction_cache;
void px_reduction_cache_free(pelt_context *context, px_reduction_cache *cache);

/* Which points are the fit's vertices, and the normalisation. */
typedef struct px_gathered {
    uint32_t point_count;
    uint32_t *points;   /* [vertex] the point that stands for it, ascending */
    uint32_t *vertices; /* [the mesh's vertex] the fit's vertex that it became */
    double center[3];
    double radius;
    size_t rest_row;           /* 3 · the frame that is the rest pose at first */
    px_reduction_cache *cache; /* NULL: none */
} px_gathered;

/* Sets norms, dimension, basis, coords and now.rest (allocated by the caller). Of `desc` it uses reduce, epsilon and
 * memory. */
/* clips: as many frames as fit->row_count / 3. */
pelt_result px_fit_gather(px_fit *fit, const pelt_clip *clips, const px_gathered *plan,
                          const pelt_decompose_desc *desc);

#endif
