/* Pelt: light that moves with a rig, as vertex colours.
 *
 * How much light comes to every vertex is found in every frame of the rig's motions, with the rig in its own way, and
 * stored as a few patterns of colour over the mesh whose weights change over time (James and Twigg 2005, section 6):
 *   colour of vertex i in frame k = Σ_r weights[k][r] · patterns[r][i]
 * In the model that is mesh.colors, the mean over all frames, and a morph for every pattern, with tracks of weights.
 */
#ifndef PELT_LIGHT_H
#define PELT_LIGHT_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pelt_light_kind {
    PELT_LIGHT_AMBIENT, /* the share of all directions that is open, by the cosine: ambient occlusion */
    PELT_LIGHT_SKY      /* light of a sky that is `sky` above (+y), `ground` below, and between in between */
} pelt_light_kind;

typedef enum pelt_light_factors {
    PELT_LIGHT_NMF, /* weights and patterns are ≥ 0 (Lee and Seung 2000) */
    PELT_LIGHT_SVD  /* truncated singular value decomposition: the least error of all, of both signs */
} pelt_light_factors;

#define PELT_LIGHT_RANK_MAX 64u

typedef struct pelt_light_desc {
    uint32_t cookie;     /* set by pelt_light_desc_default; do not change */
    uint32_t kind;       /* pelt_light_kind */
    uint32_t factors;    /* pelt_light_factors */
    uint32_t rank;       /* patterns, 1 to PELT_LIGHT_RANK_MAX; default 4; no more are made than there are frames */
    uint32_t directions; /* all round, 8 to 65536; default 256 */
    double reach; /* what is farther away than this part of the mesh's diagonal takes no light; 0 (default): all does */
    double sky[3];    /* SKY: linear red, green, blue; default 1, 1, 1 */
    double ground[3]; /* default 0.3, 0.25, 0.2 */
    double fps;       /* frames per second of the motions; 0 (default): 30, or fewer so that all motions together have
                       * about 120 frames */
} pelt_light_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_light_options(void);
PELT_EXPERIMENTAL PELT_API pelt_light_desc pelt_light_desc_default(void);

typedef struct pelt_light_report {
    uint32_t frame_count; /* of all motions; 1: the rest pose */
    double fps;           /* the rate that was used */
    uint32_t unit_count;  /* welded vertices */
    uint32_t rank;        /* patterns that were made */
    uint64_t ray_count;   /* rays cast */
    double mean;          /* colour over all vertices and frames, 0 to 1 */
    double change_rms;    /* how far colours are from their means over time: what one still pattern would miss */
    double error_rms;     /* how far the patterns are from the colours, root of the mean square, as they are written */
    double error_max;     /* the largest of those distances */
    double
        bounds[PELT_LIGHT_RANK_MAX + 1]; /* [0 … rank] error_rms of the truncated SVD: nothing of that rank is better */
} pelt_light_report;

/* Gives the model colours, morphs and tracks of weights. The light falls on mesh.colors (NULL: white), which become those
 * of the result. Morphs that are there stay. Without motions the light of the
 * rest pose becomes the colours, and there are no morphs. `report` may be NULL. After a failure the model is as it was. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_light(pelt_context *context, pelt_model *model, const pelt_light_desc *desc,
                                                  pelt_light_report *report);

#ifdef __cplusplus
}
#endif

#endif
