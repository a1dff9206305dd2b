/* Internals of light.
 *
 *   light.c    options and entry point
 *   bake.c     light at every vertex in every frame
 *   factor.c   colours over time as weights and patterns
 *   apply.c    patterns as morphs of the model
 */
#ifndef PELT_LIGHT_LIGHT_H
#define PELT_LIGHT_LIGHT_H

#include "numeric/numeric.h"

#include <pelt/light.h>

typedef struct px_light {
    pelt_context *context;
    px_arena *arena;
    pelt_model *model;
    pelt_light_desc desc;
    uint32_t motion_count;   /* clips: one for every motion, or one of the rest pose */
    pelt_clip *clips;        /* [motion] */
    uint32_t *motion_frames; /* [motion + 1] the first frame of each among all */
    uint32_t frame_count;    /* F, of all motions */
    uint32_t channel_count;  /* 1: grey, 3 */
    size_t column_count;     /* M, classes of mesh.weld times channels */
    double *colors;          /* [F][class][channel] ≥ 0: A */
    uint64_t ray_count;
    uint32_t rank;    /* R */
    double *weights;  /* [F][R]: W */
    double *patterns; /* [R][M]: H */
} px_light;

/* From context, arena, model and desc to colors. */
pelt_result px_light_take(px_light *light);
/* The last step of that: allocates and fills colors. */
pelt_result px_light_bake(px_light *light);

/* ---- Factors ---------------------------------------------------------------------------------------------- */

/* The leading `rank` ≤ F of a [F][M]: a ≈ W·H, columns of W orthonormal. bounds [rank + 1]: the root of the mean square
 * that is missed with none, one, two … of them. weights [F][rank], patterns [rank][M]. */
pelt_result px_light_svd(pelt_context *context, const double *a, size_t frame_count, size_t column_count, uint32_t rank,
                         double *weights, double *patterns, double *bounds);
/* Makes those of px_light_svd ≥ 0, for an a ≥ 0. Deterministic. */
pelt_result px_light_nmf(pelt_context *context, const double *a, size_t frame_count, size_t column_count, uint32_t rank,
                         double *weights, double *patterns);
/* The root of the mean square of a − W·H, and the largest of it (or NULL). */
pelt_result px_light_error(pelt_context *context, const double *a, size_t frame_count, size_t column_count,
                           uint32_t rank, const double *weights, const double *patterns, double *rms, double *most);

/* Colours, morphs and tracks of the model. */
pelt_result px_light_apply(px_light *light);

#endif
