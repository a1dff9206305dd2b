/* Baselines to compare skinning with: truncated SVD, clustered principal components, evenly spread bones.
 *
 *   study.c       trajectory matrix and its SVD: A = C·B, A [point][3 · frame], rows of B orthonormal, largest singular
 *                 value first
 *   components.c  clustered principal components
 *   spread.c      bones by farthest-point sampling
 */
#ifndef PELT_STUDY_STUDY_H
#define PELT_STUDY_STUDY_H

#include <pelt/study.h>

#include "numeric/numeric.h"

struct pelt_study {
    pelt_context *context;
    px_arena *arena;
    uint32_t frame_count, point_count;
    double center[3], radius; /* px_clip_ball of the first clip with frames; A is relative to it */
    size_t dimension;         /* D: numerical rank of A */
    double *directions;       /* B, [D][3 · frame] */
    double *coords;           /* C, [point][D] */
    double *errors;           /* [D + 1] E_rms with the first 0, 1 … D directions */
};

/* The `count` leading right singular vectors of a [n][m] as rows of out [count][m], and the squares of their singular
 * values, descending. Singular values at the level of rounding, and their vectors, become 0. count ≤ min(n, m). */
pelt_result px_study_principal(pelt_context *context, px_matrix a, size_t count, double *squares, px_matrix out);

#endif
