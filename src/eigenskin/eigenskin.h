/* EigenSkin internals. Index letters: u class, p pose (an example), j driving joint, c centre, n mode.
 *
 * Every driving joint has features, the kernels at its centres minus their values at rest, and from them a kernel
 * matrix over the poses, K_j = Z |Φ|⁻¹ Zᵀ, with Z [pose][centre] the features and Φ [centre][centre] the kernels
 * between the centres. |Φ| has the absolute eigenvalues of Φ: thin-plate kernels also have negative ones. If every pose
 * is a centre, K_j is φ(p,q) − φ(p,0) − φ(0,q) + φ(0,0) for positive definite kernels. The displacements of a class over
 * the poses, u = Σ_j m_j K_j a, with a from (Σ_j m_j K_j + λI) a = u, are the maximum a posteriori estimate for
 * Gaussian processes of covariance m_j K_j. The same a divides them among the joints.
 */
#ifndef PELT_EIGENSKIN_INTERNAL_H
#define PELT_EIGENSKIN_INTERNAL_H

#include "core/driver.h"
#include "core/skin.h"
#include "numeric/numeric.h"

#include <pelt/eigenskin.h>

/* Radians: poses that differ by less are equal. */
#define PX_ANGLE_TOLERANCE 1e-3
/* Poses in which a joint must rotate for leave-one-out errors to be meaningful: with fewer, no pose can be predicted
 * from the others. */
#define PX_MIN_POSES 4u

/* A component of a joint's rotation (whole, swing or twist), and its centres. */
typedef struct px_part {
    pelt_rotation_part part;
    float axis[3];
    uint32_t first_centre, centre_count;
    px_rotation *rotations; /* [pose] rotation from rest; small noise around rest is set to the identity */
} px_part;

/* A driving joint. */
typedef struct px_bend {
    uint32_t joint;   /* joint of the model */
    uint32_t against; /* reference joint of its rotation; PELT_NONE: its parent */
    uint32_t with;    /* a pair: the driving joint above it, whose rotation is included; else PELT_NONE */
    uint32_t part_count;
    px_part parts[2];      /* the whole rotation, or swing and twist */
    uint32_t centre_count; /* C: centres of all parts; the first of each part is the rest pose */
    uint32_t turned;       /* number of poses in which it is not at rest */
    float *centres;        /* [centre][4] */
    double radius;         /* radius of the kernel, radians */
    double *rest;          /* [centre] kernel values of the rest pose */
    double *basis;         /* [centre][centre] basis · basisᵀ = |Φ|⁻¹ */
    double *factor;        /* [pose][centre] Z · basis */
    double *kernel;        /* [pose][pose] factor · factorᵀ */
    size_t share_count;
    uint32_t *shares;    /* [share_count] indices of its shares, ascending */
    double displacement; /* largest displacement that it causes, world units */
    double seen;         /* largest displacement, each bounded by the skin's error in world space */
    double gain;         /* factor on its corrections, 0 to 1, from leave-one-out predictions */
    uint32_t mode_count;
    double *weights;      /* [mode][pose] */
    double *coefficients; /* [mode][centre] */
    double *singular;     /* [desc.modes] singular values of the modes; in the model's memory */
} px_bend;

/* Hierarchy of weighted joints. */
typedef struct px_bend_hierarchy {
    uint8_t *weighted; /* [joint] 1: has skin weights */
    uint8_t *drives;   /* [joint] 1: drives corrections */
    uint32_t *above;   /* [joint] nearest weighted ancestor, else the reference joint, or PELT_NONE */
    uint32_t *against; /* [joint] reference joint, if not an ancestor; else PELT_NONE */
} px_bend_hierarchy;

/* Influence of a joint on a class. */
typedef struct px_share {
    uint32_t bend;
    float prior; /* m: weight of its kernel, a multiple of 1/16 */
    float fade;  /* factor on its displacements near the border of its support, 0 to 1 */
} px_share;

typedef struct px_eigenskin {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model;
    uint32_t example_count;
    const pelt_pose_example *examples; /* [example] */
    uint32_t *example_poses;           /* [example] its pose; PELT_NONE: the rest pose */
    uint32_t pose_count;               /* P: distinct poses */
    double *pose_examples;             /* [pose] number of examples; displacements are their means */
    pelt_eigenskin_desc desc;
    pelt_kernel kernel; /* kernel of the desc, or the one with the least leave-one-out error */
    double noise;       /* λ, as a fraction of the mean of the diagonal */
    pelt_mesh mesh;     /* the model's, welded by the examples */
    double size;        /* diagonal of the bounding box of the mesh */
    px_bend_hierarchy hierarchy;
    pelt_vertex_classes classes;
    double *counts;        /* [class] number of its vertices */
    double *missed;        /* [class] largest error of the skin in an example, world space */
    double *scales;        /* [class] scale from mesh to world space at rest */
    pelt_affine *palettes; /* [example][bone] */
    pelt_affine *globals;  /* [example][joint] */
    bool refined;          /* shapes are corrected for rotations relative to their poses */
    double *turns;         /* [example][joint][3] rotation vectors of that correction, radians */
    uint32_t width;        /* rows per class: 3 for the position, 3 more for the normal with desc.normals */
    double *displacements; /* [class][width][pose] in the rest pose; positions are multiplied by `scales` */
    double *targets;       /* [class][width][pose] values that modes are fitted to: displacements, or denoised ones */
    double *residuals;     /* [class][width][pose] targets minus modes */
    double *solutions;     /* [class][width][pose] a */
    uint32_t ill_count;
    uint32_t rest_count; /* number of examples in the rest pose */
    uint32_t odd_count;  /* examples in the rest pose with another shape */
    double left_out;     /* leave-one-out error */
    uint32_t bend_count;
    uint32_t single_count;   /* bends of one joint; those of pairs follow */
    px_bend *bends;          /* [bend] ascending by joint, pairs last */
    size_t *offsets;         /* [class + 1] first share of each class */
    px_share *shares;        /* [share] grouped by class, ascending by joint */
    uint32_t *share_classes; /* [share] its class */
    uint32_t mode_count;     /* largest mode_count of a joint */
    double *modes;           /* [share][width][desc.modes] displacements per mode */
    double *errors;          /* [desc.modes + 1] relative error by number of modes; in the model's memory */
    double normal_rms[2];    /* RMS error of normals before and after */
    uint32_t morph_count;    /* number of morphs added */
    uint32_t refit_rounds;   /* rounds that fitted bone weights; 0: none helped */
    double refit_ratio;      /* error of left-out examples with the best weights tried / with the given ones */
} px_eigenskin;

static inline const float *px_eigenskin_rest(const px_eigenskin *e, uint32_t joint) {
    return e->model->skeleton.rest[joint].rotation;
}
/* Rows of a class in displacements or solutions, as a view [width][pose]. */
static inline px_matrix px_class_rows(const px_eigenskin *e, double *array, size_t class) {
    return px_matrix_of(array + class * e->width * e->pose_count, e->width, e->pose_count);
}

/* Replaces the bone weights of the model if others, with corrections, predict left-out examples better (weights.c). */
pelt_result px_eigenskin_refit_weights(px_eigenskin *e);
/* Fills the hierarchy (hierarchy.c). */
pelt_result px_eigenskin_find_hierarchy(px_eigenskin *e);
/* Finds driving joints, their centres and distinct poses. With desc.exact, fails if two examples have the same pose
 * (bends.c). */
pelt_result px_eigenskin_find_bends(px_eigenskin *e);

/* Computes classes and displacements (gather.c). */
pelt_result px_eigenskin_gather(px_eigenskin *e);
/* Estimates rotations of shapes relative to their poses (refine.c). */
pelt_result px_eigenskin_refine(px_eigenskin *e, const float *morph_weights);
/* Displacement of a vertex by the rotations of px_eigenskin_refine. */
void px_eigenskin_turned(const px_eigenskin *e, uint32_t example, uint32_t vertex, const double rest[3], double out[3]);
/* RMS angle of the rotations over weighted joints, degrees; 0 unless refined. */
double px_eigenskin_turn_degrees(const px_eigenskin *e);

/* Computes kernels of all joints, with the radius and noise of the least leave-one-out error (kernels.c). */
pelt_result px_eigenskin_choose(px_eigenskin *e, pelt_kernel kernel);
/* Chooses the noise again, over all poses and classes. */
pelt_result px_eigenskin_choose_noise(px_eigenskin *e, double *error);

/* Finds candidates: joints that may influence a class (supports.c). */
pelt_result px_eigenskin_candidates(px_eigenskin *e);
/* Finds supports. Needs a first solution. */
pelt_result px_eigenskin_supports(px_eigenskin *e);

/* Solves for all classes (solve.c). */
pelt_result px_eigenskin_solve(px_eigenskin *e);
/* Relative leave-one-out error on a sample of classes: over poses of joints with at least PX_MIN_POSES poses (NaN
 * without any), and over all poses. */
pelt_result px_eigenskin_leave_out(px_eigenskin *e, double errors[2]);
/* Computes gains of the joints, targets, and the leave-one-out error with gains. */
pelt_result px_eigenskin_shrink(px_eigenskin *e);

/* Computes modes of every joint, their coefficients, and errors (modes.c). */
pelt_result px_eigenskin_modes(px_eigenskin *e);

/* Computes displacements of normals: rows 3 to 5 of every class (normals.c). */
pelt_result px_eigenskin_pull_normals(px_eigenskin *e);
/* Measures the RMS error of normals before and after. */
pelt_result px_eigenskin_measure_normals(px_eigenskin *e);

/* Adds the result to the model, as part of an operation (px_operation) (apply.c). */
pelt_result px_eigenskin_apply(px_eigenskin *e);

#endif
