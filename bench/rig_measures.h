/* How far one skin of a character is from another, its artist's: three measures, whatever made the other skin.
 *
 * Only vertices of skinned parts count; parts that merely follow a node are left out. Two bones of one joint are one.
 *
 *   L1  mean over vertices of Σ_joints |w_ours − w_artist|, both cut to their 4 largest and normalised; 0 to 2.
 *   E   mean over vertices and poses of |ours − artist's| when both skins play the character's own motions, in percent
 *       of the diagonal of the rest pose's box. Poses: 8 times of each motion (fewer where that makes more than 40
 *       poses, and 40 motions at most), in the middle of as many equal stretches of it. Motions that keep the rest pose
 *       are none.
 *   R   mean over joints that carry artist weight of Σ|ours − artist's| / Σ|artist's − rest|, sums over vertices and
 *       over the six bends of the joint: by ±45° about the world's x, y and z through the joint at rest.
 *
 * A bend Q of joint j moves a rest vertex v by W·(Q − 1)(v − j), where W sums the vertex's weights (the same as for L1)
 * over j and all joints below it, so |ours − artist's| = |W_ours − W_artist|·|(Q − 1)(v − j)|. For a turn by ±φ about an
 * axis the last factor is 2·sin(φ/2)·(distance of v from the axis): the angle cancels in R, and with it the ±.
 * Rest vertices are where the artist's skin puts them at rest; in files whose rest pose is not the bind pose the bones
 * of a vertex would each put it elsewhere, and the formula is an approximation.
 */
#ifndef PELT_BENCH_RIG_MEASURES_H
#define PELT_BENCH_RIG_MEASURES_H

#include <pelt/model.h>

typedef struct rig_measures {
    uint32_t vertex_count;     /* vertices of skinned parts */
    uint32_t joint_count;      /* joints that carry artist weight there */
    uint32_t unweighted_count; /* vertices whose weights are not numbers or do not sum to 1 (± 0.01) in our skin */
    uint32_t pose_count;       /* 0: no motions, E is NaN */
    double l1;                 /* L1 */
    double clip_percent;       /* E */
    double bend;               /* R */
    double bend_pooled;        /* as R, but numerators and denominators summed over joints: large limbs count more */
} rig_measures;

/* Where the differences lie. `moved` is the weight that lies on our second joint where the artist has it on the first: a
 * vertex's lost weight is dealt to its gaining joints in proportion, and all is divided by the vertex count, so that
 * twice the sum is L1. `bends` is the share of each joint in R, before the mean; 0 for joints that are not in it. */
typedef struct rig_details {
    double *moved; /* [joint][joint] or NULL */
    double *bends; /* [joint] or NULL */
} rig_details;

/* Compares the skins of two models of the same file (same vertices, same joints). The arrays of `details` are filled;
 * NULL: none. */
pelt_result rig_compare(pelt_context *context, const pelt_model *artist, const pelt_model *ours,
                        const rig_details *details, rig_measures *measures);

#endif
