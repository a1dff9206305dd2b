/* Pelt: corrective shapes. Morph targets with animated weights for what a skin misses of its animation.
 *
 * Displacements are added to the rest pose before skinning, as glTF's morph targets are, so every engine plays them: R
 * targets, and their weights as an animation channel.
 *
 *   v_i(k) = T_ik · (rest_i + morphs + Σ_r c_rk · d_ir),   T_ik the blended transform of vertex i in frame k
 *
 * SKINNED (the default) minimises the error after skinning, Σ |v_i(k) − p_ik|², by alternating exact least squares. An
 * additional mode never raises the error. REST is the method of "Skinning Mesh Animations" (James and Twigg 2005, §6):
 * positions are transformed to the rest pose by T⁻¹, and a truncated SVD of the displacements gives R modes; where T
 * compresses, errors at rest and on screen differ, and an additional mode may raise the error.
 */
#ifndef PELT_CORRECT_H
#define PELT_CORRECT_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_CORRECT_RANK_MAX 100u

/* Where errors are minimised: in the skinned frames (SKINNED), or in the rest pose (REST), as in SMA 2005. */
typedef enum pelt_correct_basis { PELT_CORRECT_SKINNED, PELT_CORRECT_REST } pelt_correct_basis;

typedef struct pelt_correct_desc {
    uint32_t cookie; /* set by pelt_correct_desc_default; do not change */
    uint32_t rank;   /* R, morph targets at most; 0 to 100, and no more than there are frames; default 10 */
    double error;    /* E_rms at which fewer are enough; 0 (default): `rank` of them */
    uint32_t basis;  /* pelt_correct_basis; default SKINNED */
    uint32_t sweeps; /* SKINNED: alternations for each rank at most, 0 to 100; default 4 */
    bool normals;    /* the targets correct normals too, with the same weights; default false. Needs mesh.normals */
    /* further targets at most, for normals alone, with weights of their own (eq. 13 of the paper); 0 to 100, and no
     * more than there are frames; default 0. Needs mesh.normals */
    uint32_t normal_rank;
    /* pelt_normal_rule by which players skin corrected normals: MATRIX (default) or INVERSE, the two forms of eq. 13
     * of the paper */
    uint32_t normal_rule;
} pelt_correct_desc;
PELT_API const pelt_option_table *pelt_correct_options(void);
PELT_API pelt_correct_desc pelt_correct_desc_default(void);

/* What a motion of the rig should look like. Frame k is at the motion's start + times[k] − times[0]. */
typedef struct pelt_correct_pair {
    uint32_t motion;       /* of the model; PELT_NONE: the skin stands still, and gets a motion of weights */
    const pelt_clip *clip; /* of the mesh's points */
} pelt_correct_pair;

typedef struct pelt_correct_report {
    uint32_t rank;            /* targets made: fewer than asked for when the error is reached or no more help */
    uint32_t normal_rank;     /* targets that correct normals alone; not counted in `rank` */
    uint32_t frame_count;     /* of all clips */
    uint32_t vertex_count;    /* that differ in place, motion or weights */
    uint32_t ill_conditioned; /* of these: T was singular, mirrored or squeezed to under a tenth in some frame */
    const double *errors; /* [rank + 1] E_rms of rank 0, 1 … rank: what that rank alone gives; lives in the model */
    /* RMS difference of unit normals, skinned by desc.normal_rule; NaN unless they are corrected */
    double normals_before, normals_after;
} pelt_correct_report;

/* Adds morph targets and a channel of weights to a rig, for all pairs together. Other morphs stay, and so do motions that
 * are in no pair. E_rms is that of pelt_compare_clips, with a point's vertices counted alike. Holds 24 bytes for each
 * vertex and frame (36 with normals), 72 for each vertex and rank, 48 for each bone and frame, 80 for each pair of frames, and for each
 * couple of bones that share a vertex 48 · frames + 24 · R². After a failure the model is as it was. `desc` and `report`
 * may be NULL. */
PELT_API pelt_result pelt_correct(pelt_context *context, pelt_model *model, const pelt_correct_pair *pairs,
                                  uint32_t pair_count, const pelt_correct_desc *desc, pelt_correct_report *report);

#ifdef __cplusplus
}
#endif

#endif
