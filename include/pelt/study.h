/* Pelt: other representations of vertex animations, to compare with skins.
 *
 *   truncated SVD  (Alexa and Müller 2000) every point is a combination of shared trajectories
 *   clustered PCA  (Sattler, Sarlette and Klein 2005) clusters of points, each with a few trajectories of its own
 *   spread bones   (Kavan et al. 2007, "Skinning Arbitrary Deformations") bones spread evenly over the mesh, weights by
 *                  distance
 *
 * Truncated SVD is clustered PCA with one cluster. All clips of a model are analysed together.
 */
#ifndef PELT_STUDY_H
#define PELT_STUDY_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The trajectories of a model's points, reduced without loss: read once, analysed in several ways. */
typedef struct pelt_study pelt_study;

/* Limit of min(points, 3 · frames) of a study: the time of its singular value decomposition grows with the cube. */
#define PELT_STUDY_MOST 4096u

/* Reads all clips. PELT_ERROR_INPUT if there is no frame, PELT_ERROR_UNSUPPORTED beyond PELT_STUDY_MOST. Needs 48 bytes
 * per point and frame. The model may be destroyed afterwards. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_study_create(pelt_context *context, const pelt_model *model,
                                                         pelt_study **study);
/* NULL is allowed. */
PELT_EXPERIMENTAL PELT_API void pelt_study_destroy(pelt_study *study);

/* E_rms [count] of the truncated SVD with 0, 1, 2 … components, before rounding to floats; the last is that of all
 * components. Lives in the study. */
PELT_EXPERIMENTAL PELT_API const double *pelt_study_errors(const pelt_study *study, uint32_t *count);

typedef struct pelt_components_desc {
    uint32_t cookie;     /* set by pelt_components_desc_default; do not change */
    uint32_t clusters;   /* 1 or more, at most the number of points; 1 (default): truncated SVD */
    uint32_t components; /* per cluster, 1 or more, at most the rank; default 4 */
    uint32_t rounds;     /* largest number of reassignment rounds; default 10, comparable to published results */
} pelt_components_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_components_options(void);
PELT_EXPERIMENTAL PELT_API pelt_components_desc pelt_components_desc_default(void);

/* Point i of frame k is at center + Σ_e coordinates[i][e] · trajectories[k][clusters[i]][e]. */
typedef struct pelt_components {
    uint32_t frame_count, point_count, cluster_count, component_count; /* sizes of the arrays below */
    float center[3];           /* subtracted from all positions before the analysis */
    const float *trajectories; /* [frame][cluster][component][3] */
    const float *coordinates;  /* [point][component] */
    const uint32_t *clusters;  /* [point] */
    uint32_t round_count;      /* rounds done */
    pelt_clip clip; /* evaluates the above when read; frames of all clips in order, times are frame indices */
} pelt_components;

/* The result lives in the study. `desc` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_study_components(pelt_study *study, const pelt_components_desc *desc,
                                                             const pelt_components **components);

/* Adds `bones` bones (fewer if there are fewer positions) spread evenly over the rest pose by farthest-point sampling.
 * Weights of a vertex are those of its `influences` (1 to 8) nearest bones and fall with the distance d like
 * exp(−2 d²/r²), r being the largest distance of any vertex from its nearest bone. Transforms are not computed: call
 * pelt_decompose with rig = the model, given_weights and fixed_rest. Replaces skeleton, skin, motions, morphs and drivers.
 * On failure the model is unchanged. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_study_spread(pelt_context *context, pelt_model *model, uint32_t bones,
                                                         uint32_t influences);

#ifdef __cplusplus
}
#endif

#endif
