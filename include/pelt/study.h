/* Pelt: other ways to store a vertex animation, for skins to be compared with.
 *
 *   truncated SVD  (Alexa and Müller 2000) every point is a sum of trajectories that all points share
 *   clustered PCA  (Sattler, Sarlette and Klein 2005) points are in clusters, each with a few trajectories of its own
 *   spread bones   (Kavan et al. 2007, "Skinning Arbitrary Deformations") bones at even distances over the mesh, weights
 *                  by distance
 *
 * The first is the second with one cluster. All clips of a model count together.
 */
#ifndef PELT_STUDY_H
#define PELT_STUDY_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The trajectories of a model's points, reduced without loss: read once, stored in many ways. */
typedef struct pelt_study pelt_study;

/* The smaller of a study's points and numbers in a trajectory (3 for each frame): its singular value decomposition
 * takes time with the cube of it. */
#define PELT_STUDY_MOST 4096u

/* Reads all clips. Fails with ERROR_INPUT when there is no frame, and with ERROR_UNSUPPORTED beyond PELT_STUDY_MOST.
 * Holds 48 bytes for each point and frame. The model is not needed afterwards. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_study_create(pelt_context *context, const pelt_model *model,
                                                         pelt_study **study);
/* NULL is allowed. */
PELT_EXPERIMENTAL PELT_API void pelt_study_destroy(pelt_study *study);

/* E_rms of the truncated SVD with 0, 1, 2 … components, [count], before its numbers are rounded to floats; the last is
 * that of all of them. Lives in the study. */
PELT_EXPERIMENTAL PELT_API const double *pelt_study_errors(const pelt_study *study, uint32_t *count);

typedef struct pelt_components_desc {
    uint32_t cookie;     /* set by pelt_components_desc_default; do not change */
    uint32_t clusters;   /* at least 1 (default): truncated SVD; no more are made than there are points */
    uint32_t components; /* of each cluster, at least 1; default 4; no more are made than there are to find */
    uint32_t
        rounds; /* in which points choose their cluster, at most; default 10: as good as is published, more are better */
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
    pelt_clip clip; /* the above, evaluated when read; frames of all clips in order, times are their numbers */
} pelt_components;

/* The result lives in the study. `desc` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_study_components(pelt_study *study, const pelt_components_desc *desc,
                                                             const pelt_components **components);

/* Gives the model `bones` bones (fewer where positions run out) spread evenly over its rest pose: each is where the
 * others are farthest. The weights of a vertex are those of its `influences` (1 to 8) nearest bones, and fall with the
 * distance d like exp(−2 d²/r²), r being the largest distance of any vertex from its nearest bone. Nothing moves yet:
 * pelt_decompose finds the best transforms with rig = the model, given_weights and fixed_rest. Skeleton, skin, motions,
 * morphs and drivers are replaced; after a failure the model is as it was. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_study_spread(pelt_context *context, pelt_model *model, uint32_t bones,
                                                         uint32_t influences);

#ifdef __cplusplus
}
#endif

#endif
