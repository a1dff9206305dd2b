/* Pelt: baked ambient occlusion or sky light of a moving rig, as vertex colours. Experimental.
 *
 * The light at every vertex is computed in every frame of the rig's motions, with shadows of the rig on itself, and stored as
 * a few patterns of colour over the mesh whose weights change over time (James and Twigg 2005, section 6):
 *   colour of vertex i in frame k = Σ_r weights[k][r] · patterns[r][i]
 * In the model these are mesh.colors, the mean over all frames, and a morph for every pattern, with tracks of weights.
 */
#ifndef PELT_LIGHT_H
#define PELT_LIGHT_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pelt_light_kind {
    PELT_LIGHT_AMBIENT, /* ambient occlusion: cosine-weighted share of unblocked directions */
    PELT_LIGHT_SKY,     /* a sky dome: colour `sky` above (+y), `ground` below, interpolated between */
    PELT_LIGHT_TRANSFER /* precomputed radiance transfer: vectors for any light, and colours in the light of the sky and a sun */
} pelt_light_kind;

typedef enum pelt_light_factors {
    PELT_LIGHT_NMF, /* weights and patterns are ≥ 0 (Lee and Seung 2000) */
    PELT_LIGHT_SVD  /* truncated singular value decomposition: least error; values of both signs */
} pelt_light_factors;

#define PELT_LIGHT_RANK_MAX 64u

typedef struct pelt_light_desc {
    uint32_t cookie;     /* set by pelt_light_desc_default; do not change */
    uint32_t kind;       /* pelt_light_kind */
    uint32_t factors;    /* pelt_light_factors */
    uint32_t rank;       /* patterns, 1 to PELT_LIGHT_RANK_MAX; default 4; no more are made than there are frames */
    uint32_t directions; /* sampled on the sphere, 8 to 65536; default 256 */
    double reach;        /* length of rays, as a fraction of the mesh's diagonal; 0 (default): unlimited */
    double sky[3];       /* SKY: linear red, green, blue; default 1, 1, 1 */
    double ground[3];    /* default 0.3, 0.25, 0.2 */
    double sun[3];       /* TRANSFER: direction to the sun, any length but 0; default 0.4, 0.7, 0.6 */
    double sun_color[3]; /* TRANSFER: linear light of a surface that faces the sun, 0 to 100; default 0.5, 0.47, 0.4 */
    uint32_t bands;      /* TRANSFER: of spherical harmonics: 3 (default; 9 coefficients) or 4 (16) */
    uint32_t transfer_rank; /* TRANSFER: patterns of transfer vectors, 1 to PELT_LIGHT_RANK_MAX; default 8 */
    double bounce;          /* share of light that the rig and the floor reflect, once, 0 to 1; default 0: none */
    bool floor; /* a floor at the lowest point (−y) of all frames blocks and reflects light; default false */
    /* frames per second of the motions; 0 (default): 30, or fewer so that all motions together have about 120 frames */
    double fps;
} pelt_light_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_light_options(void);
PELT_EXPERIMENTAL PELT_API pelt_light_desc pelt_light_desc_default(void);

typedef struct pelt_light_report {
    uint32_t frame_count;  /* of all motions; 1: the rest pose */
    double fps;            /* the rate that was used */
    uint32_t vertex_count; /* welded vertices */
    uint32_t rank;         /* patterns that were made */
    uint64_t ray_count;    /* rays cast */
    double mean;           /* mean colour over all vertices and frames, 0 to 1 */
    double change_rms; /* root mean square distance of colours from their means over time: error of constant colours */
    double error_rms;  /* root mean square error of the patterns */
    double error_max;  /* largest error */
    double bounds[PELT_LIGHT_RANK_MAX + 1]; /* [0 … rank] error_rms of the truncated SVD, a lower bound for each rank */
    uint32_t coefficient_count;             /* TRANSFER: 9 or 16; else 0 */
    uint32_t transfer_rank;                 /* TRANSFER: patterns of transfer vectors that were made; else 0 */
    /* [0 … transfer_rank] root mean square error of the coefficients */
    double transfer_bounds[PELT_LIGHT_RANK_MAX + 1];
} pelt_light_report;

/* Adds colours, morphs and tracks of weights to the model. mesh.colors (NULL: white) are multiplied by the mean light; existing
 * morphs are kept. Without motions the light of the rest pose becomes the colours, and no morphs are added. `report` may be
 * NULL. After a failure the model is unchanged. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_light(pelt_context *context, pelt_model *model, const pelt_light_desc *desc,
                                                  pelt_light_report *report);

#ifdef __cplusplus
}
#endif

#endif
