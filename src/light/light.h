/* Baked lighting: ambient occlusion or sky light per vertex and frame, factored into a few morphs of vertex colours.
 *
 *   light.c    options and entry point
 *   rays.h     occlusion of bundles of rays
 *   bake.c     light at every vertex in every frame
 *   transfer.c precomputed radiance transfer
 *   factor.c   low-rank factorisation of colours over time, A ≈ W·H
 *   apply.c    patterns H as morphs of the model, weights W as tracks
 */
#ifndef PELT_LIGHT_LIGHT_H
#define PELT_LIGHT_LIGHT_H

#include "numeric/numeric.h"

#include <pelt/light.h>

#define PX_LIGHT_CHANNELS 16u /* at most */

typedef struct px_light {
    pelt_context *context;
    px_arena *arena;
    pelt_model *model;
    pelt_light_desc desc;
    uint32_t motion_count;   /* number of clips: one per motion, or 1 for the rest pose */
    pelt_clip *clips;        /* [motion] */
    uint32_t *motion_frames; /* [motion + 1] index of the first frame of each motion */
    uint32_t frame_count;    /* F: frames of all motions together */
    uint32_t channel_count;  /* 1: grey, 3: RGB */
    size_t column_count;     /* M: classes of mesh.weld × channels */
    double *colors;          /* A [F][class][channel], ≥ 0 */
    uint64_t ray_count;
    double *transfer;        /* [F][class][coefficient], or NULL */
    size_t transfer_columns; /* classes × coefficients */
    uint32_t transfer_rank;
    double *transfer_weights, *transfer_patterns; /* as weights and patterns */
    uint32_t rank;                                /* R: number of patterns */
    double *weights;                              /* W [F][R] */
    double *patterns;                             /* H [R][M] */
} px_light;

/* Computes `colors`. Needs context, arena, model and desc. */
pelt_result px_light_take(px_light *light);
/* Last step of px_light_take: allocates and fills `colors`. */
pelt_result px_light_bake(px_light *light);

/* ---- Factors ---------------------------------------------------------------------------------------------- */

/* Truncated SVD of a [F][M] with `rank` ≤ F: a ≈ W·H, columns of W orthonormal. bounds [rank + 1]: the RMS error
 * with 0, 1, 2 … patterns. weights [F][rank], patterns [rank][M]. */
pelt_result px_light_svd(pelt_context *context, const double *a, size_t frame_count, size_t column_count, uint32_t rank,
                         double *weights, double *patterns, double *bounds);
/* Non-negative factors, starting from the factors of px_light_svd, for a ≥ 0. Deterministic. */
pelt_result px_light_nmf(pelt_context *context, const double *a, size_t frame_count, size_t column_count, uint32_t rank,
                         double *weights, double *patterns);
/* RMS error of a − W·H, and its largest absolute entry (`most`, or NULL). */
pelt_result px_light_error(pelt_context *context, const double *a, size_t frame_count, size_t column_count,
                           uint32_t rank, const double *weights, const double *patterns, double *rms, double *most);

/* ---- Transfer --------------------------------------------------------------------------------------------- */

/* Real spherical harmonics of a unit vector: out [band_count²]; 3 or 4 bands. */
void px_harmonics(const double d[3], uint32_t band_count, double *out);
/* The light of the desc: out [bands²][red, green, blue]. */
void px_light_environment(const pelt_light_desc *desc, double out[][3]);
/* Compresses `colors`, which hold transfer vectors, and replaces them by the colours in the chosen light. */
pelt_result px_light_transfer(px_light *light, pelt_light_report *report);
/* Makes the compressed vectors in the model's memory. */
pelt_result px_light_store(px_light *light, const pelt_transfer **out);

/* Writes colours, morphs and tracks to the model. */
pelt_result px_light_apply(px_light *light);

#endif
