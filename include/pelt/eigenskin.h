/* Pelt: what a skin gets wrong in bent poses, learned from examples and put right in any pose.
 *
 * "EigenSkin: Real Time Large Deformation Character Skinning in Hardware" (Kry, James, Pai 2002). Examples are mapped
 * back to the rest pose through the inverse of the blended transforms; the displacements there belong to joints, each
 * with a support of its own; their principal components become morph targets, and drivers (model.h) give these their
 * weights in any pose. Displacements come before the skin, which is the order of glTF.
 *
 *   v_i = T_i · (rest_i + morphs + Σ_j Σ_n w_jn(rotation of joint j) · d_ijn)
 *
 * Any set of poses will do. Where several joints move at once, displacements are divided among the joints near a
 * vertex by least squares: u_i = Σ_j m_ij f_j(rotation of j) with the smoothest f_j that are 0 at rest. Where poses move
 * one joint each, that is the paper's interpolation by radial basis functions.
 */
#ifndef PELT_EIGENSKIN_H
#define PELT_EIGENSKIN_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_EIGENSKIN_MODES_MAX   64u
#define PELT_EIGENSKIN_KERNEL_AUTO 3u

typedef struct pelt_eigenskin_desc {
    uint32_t cookie;         /* set by pelt_eigenskin_desc_default; do not change */
    double support;          /* vertices that a joint displaces by no more than this part of the largest displacement it
                              * makes are not its own, and up to twice that its say fades in; 0 to 1, default 0.04 */
    uint32_t modes;          /* morph targets of a joint, at most; 0 to 64, default 5 */
    double error;            /* relative displacement error at which fewer are enough; 0 (default): `modes` of them */
    uint32_t max_per_vertex; /* displacements that a vertex takes from all joints together, at most; 0: any number;
                              * default 10. Else at least `modes` */
    bool normals;        /* the targets correct normals too, with the same weights; default false. Needs mesh.normals */
    uint32_t kernel;     /* pelt_kernel, or PELT_EIGENSKIN_KERNEL_AUTO (default): by leave-one-out error */
    double radius;       /* of the kernel, radians; 0 (default): by leave-one-out error */
    bool split;          /* swing and twist of a joint drive apart and add up; default false */
    double regularise;   /* noise to expect in the examples, as a part of the kernel's mean; at most 1; 0 (default): by
                              * leave-one-out error */
    bool exact;          /* every example is met: no noise, no end of supports, all modes and centres (the fields for
                              * these are not used); default false. Two examples of the same pose are an error then */
    const char *against; /* name of the joint against which those turn that have no weighted joint above them and are
                              * not alone in that (flat skeletons); NULL (default): the one with which each shares
                              * most vertices, else the nearest */
    uint32_t centres;    /* poses of a joint that are kept as centres, at most, farthest first, 2 to 1024; default
                              * 64. With more poses the examples are met in least squares */
} pelt_eigenskin_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_eigenskin_options(void);
PELT_EXPERIMENTAL PELT_API pelt_eigenskin_desc pelt_eigenskin_desc_default(void);

/* What the rig should look like in a pose. The rest pose needs none: it is right as it is. */
typedef struct pelt_pose_example {
    const char *name;             /* for messages */
    const pelt_transform *locals; /* [joint] */
    const float *positions;       /* [vertex][3] in world space */
    const float *normals; /* [vertex][3] in world space, or NULL: those of the surface; used with desc.normals */
} pelt_pose_example;

/* A joint that drives morph targets. */
typedef struct pelt_eigenskin_joint {
    uint32_t joint;        /* of the model */
    uint32_t against;      /* the joint against which it turns, or PELT_NONE: its parent */
    uint32_t vertex_count; /* in its support */
    uint32_t mode_count;   /* morph targets that it drives */
    uint32_t centre_count; /* centres of its kernel */
    double radius;         /* of its kernel, radians */
    double displacement;   /* the largest that it makes in the examples, object units */
    double gain;           /* 0 to 1: the part of its corrections that was kept. Under 1 all of them would have made
                            * poses that are left out worse; 0: none was better */
} pelt_eigenskin_joint;

typedef struct pelt_eigenskin_report {
    uint32_t example_count; /* given */
    uint32_t pose_count;    /* different poses among them; examples of one pose count as their mean */
    uint32_t rest_count;    /* examples in the rest pose: nothing is learned from these */
    uint32_t odd_count;     /* of these: with another shape than the rest pose has */
    pelt_kernel kernel;     /* chosen … */
    double regularise;      /* … and noise expected */
    double turn_degrees;  /* above 0: shapes of examples are turned against their poses, by so much at each joint (RMS);
                               * that was taken for noise in the poses */
    uint32_t mode_count;  /* modes per joint, at most */
    uint32_t morph_count; /* targets made */
    uint32_t vertex_count;    /* that differ in place, motion or weights */
    uint32_t ill_conditioned; /* of these: T was singular, mirrored or squeezed to under a tenth in some example */
    const double *errors;  /* [mode_count + 1] √(Σ |missing displacement|² / Σ |displacement|²) at rest over all
                               * examples, with 0, 1 … mode_count modes per joint; lives in the model */
    double left_out_error; /* the same when every example is predicted by the others, with all modes: well above
                               * errors[mode_count], there are too few examples */
    double normals_before, normals_after; /* RMS difference of unit normals (skinned by cofactors); NaN unless asked */
    uint32_t joint_count;                 /* joints that drive targets */
    const pelt_eigenskin_joint *joints;   /* [joint_count] those that drive; lives in the model */
} pelt_eigenskin_report;

/* Adds morph targets ("elbow mode 1"), drivers, and tracks of their weights for every motion. Joints drive when a joint
 * above them and one at or below them have weights, or when they turn against a sibling: turning the whole rig changes
 * nothing. Morphs that are there stay
 * and count, with what drivers say or their rest weights. Fails with ERROR_INPUT when two examples, or one and the rest
 * pose, have the same rotations of all joints that drive, naming both. After a failure the model is as it was. `desc`
 * and `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_eigenskin(pelt_context *context, pelt_model *model,
                                                      const pelt_pose_example *examples, uint32_t example_count,
                                                      const pelt_eigenskin_desc *desc, pelt_eigenskin_report *report);

#ifdef __cplusplus
}
#endif

#endif
