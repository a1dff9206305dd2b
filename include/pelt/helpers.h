/* Pelt: helper bones with which linear blend skinning shows what another deformer does, in any engine: dual quaternion skinning, or
 * delta mush. docs/helpers.md describes both.
 *
 * Dual quaternions. Two bones a and b that share vertices get two helper bones between them, one a child of each. With the motion D from a to b,
 * a screw motion by the angle θ about the axis n, and κ = 4/3 tan(θ/4), the helpers are the inner control points of the cubic
 * Bézier curve from a to b that is tangent to that motion:
 *
 *   helper 1 = a (I + κ N)      helper 2 = b (I − κ N)      N x = n × (x − c), c on the axis
 *
 * A shift s along the axis adds s/3 to helper 1 and −s/3 to helper 2. The formula needs only the pose of the two bones, so a
 * program can drive helpers in poses that no motion of the file has.
 *
 * Delta mush. Weights of the given bones are fitted first; helper bones are then fitted to what they miss (pelt_decompose, `add`).
 */
#ifndef PELT_HELPERS_H
#define PELT_HELPERS_H

#include <pelt/delta_mush.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Transforms of helper bones. */
typedef enum pelt_helper_transforms {
    PELT_HELPERS_AFFINE, /* two nested joints per helper, the outer one with a non-uniform scale */
    PELT_HELPERS_RIGID /* one joint without scales, for engines without shear. Dual quaternions: at a third and two thirds
                          * of the way */
} pelt_helper_transforms;

typedef struct pelt_helper_bones_desc {
    uint32_t cookie; /* set by pelt_helper_bones_desc_default; do not change */
    /* helper bones at most, to 4000; delta mush: to 1000. Default 0: all that matter; delta mush: 16. Dual quaternions need two for
     * each pair of bones */
    uint32_t add;
    uint32_t influences; /* bones per vertex at most, 1 to 8; default 0: as many as the skin has, at least 4 */
    uint32_t transforms; /* pelt_helper_transforms; default PELT_HELPERS_AFFINE */
    double fps;          /* keys per second of the helper bones, 0.001 to 100,000; default 30 */
    const pelt_delta_mush_desc *mush; /* the deformer is delta mush; NULL (default): dual quaternions */
} pelt_helper_bones_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_helper_bones_options(void);
PELT_EXPERIMENTAL PELT_API pelt_helper_bones_desc pelt_helper_bones_desc_default(void);

/* Two bones of the skin with helper bones between them. */
typedef struct pelt_helper_pair {
    uint32_t bones[2]; /* a and b: bones of the skin; b has the joint with the larger index */
    uint32_t first; /* helper 1, a bone of the skin, below the joint of a; first + 1: helper 2, below the joint of b */
    double share;   /* of the squared difference between both kinds of skinning, 0 to 1 */
    double angle;   /* largest angle between a and b in the motions, radians */
} pelt_helper_pair;

/* Distances between the linear skin and the deformer on the given skin over all frames of all motions, as
 * fractions of the size: the diameter of the smallest ball around the first frame. */
typedef struct pelt_helper_error {
    double rms; /* root of the mean squared distance of points */
    double max; /* largest distance */
} pelt_helper_error;

/* Arrays live in the model. */
typedef struct pelt_helper_bones_report {
    uint32_t pair_count;           /* pairs of bones with helpers; delta mush: 0 */
    const pelt_helper_pair *pairs; /* [pair] largest share first */
    uint32_t bone_count;           /* helper bones; dual quaternions: 2 · pair_count */
    uint32_t joint_count;          /* joints that were added */
    uint32_t influence_count;      /* bones per vertex at most */
    uint32_t frame_count;          /* frames of all motions, at `fps` */
    pelt_helper_error before;      /* without helper bones */
    pelt_helper_error after;       /* with them */
    double seconds;                /* wall time */
} pelt_helper_bones_report;

/* Adds helper bones to the model, which needs a skin and a motion: joints, tracks in every motion, and weights, which are fitted
 * to the deformer on the given skin in poses of the motions. Mesh, morph targets, joints and tracks of the model stay
 * as they are. `desc` NULL: defaults. `report` may be NULL. After a failure the model is as it was. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_helper_bones_add(pelt_context *context, pelt_model *model,
                                                             const pelt_helper_bones_desc *desc,
                                                             pelt_helper_bones_report *report);

#ifdef __cplusplus
}
#endif

#endif
