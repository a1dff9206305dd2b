/* Pelt: pose-driven corrective morph targets, learned from examples.
 *
 * Kry, James, Pai: "EigenSkin: Real Time Large Deformation Character Skinning in Hardware" (2002). Examples are mapped to
 * the rest pose by the inverse of the blended transforms. The displacements there are assigned to joints, each with its
 * own support; their principal components become morph targets, and drivers (model.h) compute the weights of the targets
 * in any pose. Displacements apply before the skin, as in glTF:
 *
 *   v_i = T_i · (rest_i + morphs + Σ_j Σ_n w_jn(rotation of joint j) · d_ijn)
 *
 * Examples may move any number of joints. Displacements of examples that move several are divided among the joints near a
 * vertex by least squares: u_i = Σ_j m_ij f_j(rotation of j), with the smoothest f_j that are 0 at rest. For examples that
 * move one joint each this is the interpolation by radial basis functions of the paper; preset "eigenskin2002"
 * (pelt_options_preset) has the paper's settings.
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
    uint32_t cookie; /* set by pelt_eigenskin_desc_default; do not change */
    /* fraction of the largest displacement of a joint, 0 to 1; default 0.04. Vertices that the joint displaces by
     * less are outside its support; its influence is full from twice that on */
    double support;
    uint32_t modes; /* morph targets per joint at most, 0 to 64; default 5 */
    double error;   /* relative displacement error at which fewer modes suffice, ≥ 0; 0 (default): use `modes` */
    /* displacements per vertex, of all joints together, at most; default 10, at least `modes`; 0: no bound */
    uint32_t max_per_vertex;
    bool normals;    /* correct normals too, with the same weights; default false. Requires mesh.normals */
    uint32_t kernel; /* pelt_kernel, or PELT_EIGENSKIN_KERNEL_AUTO (default): least leave-one-out error */
    double radius;   /* of the kernel, radians; 0 (default): least leave-one-out error */
    bool split;      /* drive by swing and twist of a joint separately, and add both; default false */
    /* expected noise of the examples, as a fraction of the mean of the kernel, 0 to 1; 0 (default): least
     * leave-one-out error */
    double regularise;
    /* interpolate every example: no regularisation, unbounded supports, all modes and centres, whatever the fields
     * for these; default false. Two examples of one pose are then an error */
    bool exact;
    /* interpolate the examples as far as supports and modes allow: no regularisation, no factors on corrections, no
     * fit of rotations to the shapes; default false. Implied by `exact` */
    bool interpolate;
    /* a joint and the driving joint above it that rotate together in four examples or more also drive as a pair, by
     * their common rotation, if that lowers the leave-one-out error by 2 %; default false */
    bool coupled;
    /* fit the skin's weights and the corrections in turn, if that lowers the error of left-out examples (three-fold
     * cross-validation) by 2 %; default false. Needs six examples */
    bool refit_weights;
    /* name of the joint that the roots of a flat skeleton (weighted joints without a weighted joint above them,
     * where there are several) are measured against; NULL (default): for each the joint that shares most vertices
     * with it, else the nearest */
    const char *against;
    /* poses of a joint kept as centres at most, farthest first, 2 to 1024; default 64. With more poses the examples
     * are fitted by least squares */
    uint32_t centres;
} pelt_eigenskin_desc;
PELT_EXPERIMENTAL PELT_API const pelt_option_table *pelt_eigenskin_options(void);
PELT_EXPERIMENTAL PELT_API pelt_eigenskin_desc pelt_eigenskin_desc_default(void);

/* The correct shape of the rig in a pose. The rest pose is correct by definition and needs no example. */
typedef struct pelt_pose_example {
    const char *name;             /* for messages; not NULL */
    const pelt_transform *locals; /* [joint] */
    const float *positions;       /* [vertex][3] in world space */
    const float *normals;         /* [vertex][3] in world space; NULL: normals of the surface. Used with desc.normals */
} pelt_pose_example;

/* A joint that drives morph targets. */
typedef struct pelt_eigenskin_joint {
    uint32_t joint;        /* index into the skeleton */
    uint32_t against;      /* the joint that its rotation is measured against; PELT_NONE: its parent */
    uint32_t with;         /* a pair (desc.coupled): the joint above it, whose rotation is included; else PELT_NONE */
    uint32_t vertex_count; /* vertices in its support */
    uint32_t mode_count;   /* morph targets that it drives */
    uint32_t centre_count; /* centres of its kernel */
    double radius;         /* of its kernel, radians */
    double displacement;   /* largest displacement that it causes in the examples, object units */
    /* [mode_count] of its displacements over vertices and examples, object units: the importance of each mode; lives
     * in the model */
    const double *singular_values;
    /* 0 to 1: factor on its corrections. Below 1: full corrections would have made left-out poses worse; 0: any
     * would have */
    double gain;
} pelt_eigenskin_joint;

typedef struct pelt_eigenskin_report {
    uint32_t example_count; /* examples given */
    uint32_t pose_count;    /* distinct poses; examples of one pose are averaged */
    uint32_t rest_count;    /* examples in the rest pose, which are not used */
    uint32_t odd_count;     /* of these: examples whose shape differs from the rest pose */
    pelt_kernel kernel;     /* chosen kernel */
    double regularise;      /* chosen regularisation */
    /* > 0: the shapes of examples are rotated against their poses by this much per joint (RMS); treated as noise of
     * the poses */
    double turn_degrees;
    uint32_t mode_count;   /* most modes of a joint */
    uint32_t morph_count;  /* morph targets added */
    uint32_t vertex_count; /* vertices that differ in position, motion or weights */
    /* of these: vertices whose T is singular, mirrored or scales by less than 0.1 in an example */
    uint32_t ill_conditioned;
    /* [mode_count + 1] √(Σ |missing displacement|² / Σ |displacement|²) at rest over all examples, with 0, 1 …
     * mode_count modes per joint; lives in the model */
    const double *errors;
    /* the same with every example predicted by the others, with all modes. Well above errors[mode_count]: more
     * examples are needed */
    double left_out_error;
    double normals_before; /* RMS difference of unit normals, skinned by cofactors; NaN without desc.normals */
    double normals_after;  /* the same with the corrections */
    uint32_t refit_rounds; /* rounds in which the skin's weights were fitted; 0: they were kept */
    /* error of left-out examples with the best weights found, as a fraction of that with the given ones; NaN: none
     * were tried */
    double refit_ratio;
    uint32_t joint_count;               /* length of `joints` */
    const pelt_eigenskin_joint *joints; /* [joint_count] joints that drive; lives in the model */
} pelt_eigenskin_report;

/* Adds morph targets ("elbow mode 1"), their drivers, and a weight track for every motion. A joint drives if joints above it
 * and at or below it have weights, or if it is measured against a sibling; rotating the whole rig drives nothing. Existing
 * morphs stay and apply with their driven or rest weights. With desc.exact, fails with PELT_ERROR_INPUT and names the examples
 * if two of them have one pose, or one has the rest pose with another shape. After a failure the model is as it was.
 * `desc` and `report` may be NULL. */
PELT_EXPERIMENTAL PELT_API pelt_result pelt_eigenskin(pelt_context *context, pelt_model *model,
                                                      const pelt_pose_example *examples, uint32_t example_count,
                                                      const pelt_eigenskin_desc *desc, pelt_eigenskin_report *report);

#ifdef __cplusplus
}
#endif

#endif
