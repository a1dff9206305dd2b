/* What the files of the study share.
 *
 *   study.c       trajectories, read and reduced: A = C·B, A [point][3 frame], rows of B orthonormal, most first
 *   components.c  clusters of points, principal components of each
 *   spread.c      bones at even distances
 */
#ifndef PELT_STUDY_ROOM_H
#define PELT_STUDY_ROOM_H

#include <pelt/study.h>

#include "numeric/numeric.h"

struct pelt_study {
    pelt_context *context;
    px_arena *arena;
    uint32_t frame_count, point_count;
    double center[3], radius; /* of the first frame's ball: trajectories are in its units */
    size_t dimension;         /* D */
    double *directions;       /* [D][3 frame], B */
    double *coords;           /* [point][D], C */
    double *errors;           /* [D + 1] E_rms of the first 0, 1 … D of them */
};

/* The `count` leading right singular vectors of a [n][m], rows of out [count][m], and the squares of their singular
 * values, descending. What is nothing but rounding becomes 0. count ≤ min(n, m). */
pelt_result px_study_principal(pelt_context *context, px_matrix a, size_t count, double *squares, px_matrix out);

#endif
