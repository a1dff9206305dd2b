/* EigenSkin from inside. Index letters: u unit, p pose (an example), j joint that drives, c centre, n mode.
 *
 * Every joint that drives has features, the kernels of its centres beside what they are at rest, and from them a kernel
 * matrix of the poses, K_j = Z |Φ|⁻¹ Zᵀ, with Z [pose][centre] the features and Φ [centre][centre] the kernels of the
 * centres among themselves. |Φ| has the absolute values of Φ's eigenvalues: thin plates have negative ones too. Where
 * every pose is a centre, that is φ(p,q) − φ(p,0) − φ(0,q) + φ(0,0) for kernels that are positive.
 * The displacements of a unit over the poses, u = Σ_j m_j K_j a, a from (Σ_j m_j K_j + λI) a = u, are the likeliest if
 * those of joint j are random functions with covariance m_j K_j. The same a divides them among the joints.
 */
#ifndef PELT_EIGENSKIN_INTERNAL_H
#define PELT_EIGENSKIN_INTERNAL_H

#include "core/driver.h"
#include "core/skin.h"
#include "numeric/numeric.h"

#include <pelt/eigenskin.h>

/* Angles under this are none, radians: poses that differ by no more are the same. */
#define PX_SAME_ANGLE 1e-3
/* Leaving poses out says something about a joint when it turns in so many of them: with fewer, every pose stands alone,
 * and none can be told from the others. */
#define PX_LEAST_POSES 4u

/* A part of a joint's rotation, and which of the joint's centres belong to it. */
typedef struct px_part {
    pelt_rotation_part part;
    float axis[3];
    uint32_t first_centre, centre_count;
    px_rotation *rotations; /* [pose]; those that differ from rest by noise alone are at rest */
} px_part;

/* A joint that drives. */
typedef struct px_bend {
    uint32_t joint;   /* of the model */
    uint32_t against; /* the joint against which it turns, or PELT_NONE: its parent */
    uint32_t part_count;
    px_part parts[2];      /* the whole rotation, or swing and twist */
    uint32_t centre_count; /* C, of all parts; the first of each part is the rest pose */
    uint32_t turned;       /* poses in which it is not at rest */
    float *centres;        /* [centre][4] */
    double radius;         /* of the kernel, radians */
    double *rest;          /* [centre] the kernels in the rest pose */
    double *basis;         /* [centre][centre] |Φ|^(−1/2), turned: basis · basisᵀ = |Φ|⁻¹ */
    double *factor;        /* [pose][centre] Z · basis */
    double *kernel;        /* [pose][pose] factor · factorᵀ */
    size_t share_count;    /* */
    uint32_t *shares;      /* [share_count] of its units, ascending */
    double displacement;   /* the largest that it makes … */
    double seen;           /* … and that, of units no more than the skin misses of them in world space */
    double gain;           /* 0 to 1: what is kept of its corrections, by what they do for poses left out */
    uint32_t mode_count;   /* */
    double *weights;       /* [mode][pose] */
    double *coefficients;  /* [mode][centre] */
} px_bend;

/* What is above what, as the skin sees it. */
typedef struct px_bend_hierarchy {
    uint8_t *weighted; /* [joint] a bone at it has weight */
    uint8_t *drives;   /* [joint] */
    uint32_t *above;   /* [joint] the weighted joint that it bends against, or PELT_NONE */
    uint32_t *against; /* [joint] the same where that is none of its ancestors, or PELT_NONE */
} px_bend_hierarchy;

/* What a joint has to say about a unit. */
typedef struct px_share {
    uint32_t bend;
    float prior; /* m: how much its kernel counts there, in whole sixteenths */
    float fade;  /* of its displacements at the border of its support, 0 to 1 */
} px_share;

typedef struct px_eigenskin {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model;
    uint32_t example_count;
    const pelt_pose_example *examples; /* [example] */
    uint32_t *example_poses;           /* [example] the pose it is an example of, or PELT_NONE: the rest pose */
    uint32_t pose_count;               /* P: different ones */
    double *pose_examples;             /* [pose] how many examples; displacements are their means */
    pelt_eigenskin_desc desc;
    pelt_kernel kernel; /* that of the desc, or the one with the least leave-one-out error … */
    double noise;       /* … and λ, as a part of the mean of the diagonal */
    pelt_mesh mesh;     /* the model's, welded by the examples */
    double size;        /* of the mesh: the diagonal of its box */
    px_bend_hierarchy hierarchy;
    px_units units;
    double *counts;        /* [unit] its vertices */
    double *missed;        /* [unit] the farthest that the skin is from an example, in world space */
    double *scales;        /* [unit] how much larger than in the mesh it is in world space, at rest */
    pelt_affine *palettes; /* [example][bone] */
    pelt_affine *globals;  /* [example][joint] */
    bool refined;          /* shapes count as turned against their poses … */
    double *turns;         /* … [example][joint][3] by these rotation vectors, radians */
    uint32_t width;        /* rows of a unit: 3 for its place, then 3 for its normal where asked */
    double *displacements; /* [unit][width][pose] at rest; those of places times the unit's scale, to be compared */
    double *targets;       /* [unit][width][pose] what modes are fitted to: these, or without their noise */
    double *residuals;     /* [unit][width][pose] what modes leave of the targets */
    double *solutions;     /* [unit][width][pose] the a of above */
    uint32_t ill_count;    /* */
    uint32_t rest_count;   /* examples in the rest pose … */
    uint32_t odd_count;    /* … that have another shape */
    double left_out;       /* the error of predicting poses by the others */
    uint32_t bend_count;   /* */
    px_bend *bends;        /* [bend] ascending by joint */
    size_t *offsets;       /* [unit + 1] where its shares begin */
    px_share *shares;      /* [share] of a unit ascending by joint */
    uint32_t *share_units; /* [share] */
    uint32_t mode_count;   /* the most that a joint has */
    double *modes;         /* [share][width][desc.modes] displacements */
    double *errors;        /* [desc.modes + 1] in the model's memory */
    double normal_rms[2];  /* before and after */
    uint32_t morph_count;  /* made */
} px_eigenskin;

static inline const float *px_eigenskin_rest(const px_eigenskin *e, uint32_t joint) {
    return e->model->skeleton.rest[joint].rotation;
}
/* Rows of a unit in displacements or solutions, as a view [width][pose]. */
static inline px_matrix px_unit_rows(const px_eigenskin *e, double *array, size_t unit) {
    return px_matrix_of(array + unit * e->width * e->pose_count, e->width, e->pose_count);
}

/* Fills the hierarchy (hierarchy.c). */
pelt_result px_eigenskin_find_hierarchy(px_eigenskin *e);
/* Joints that drive and their centres, and which examples are of the same pose; fails for those when the examples are to
 * be met exactly (bends.c). */
pelt_result px_eigenskin_find_bends(px_eigenskin *e);

/* Units and displacements (gather.c). */
pelt_result px_eigenskin_gather(px_eigenskin *e);
/* Finds how shapes are turned against their poses (refine.c), … */
pelt_result px_eigenskin_refine(px_eigenskin *e, const float *morph_weights);
/* … what that displaces a vertex by, … */
void px_eigenskin_turned(const px_eigenskin *e, uint32_t example, uint32_t vertex, const double rest[3], double out[3]);
/* … and by how much a weighted joint is turned, RMS; 0 unless refined. */
double px_eigenskin_turn_degrees(const px_eigenskin *e);

/* Kernels of all joints, with the radius and the noise of the least leave-one-out error (kernels.c) … */
pelt_result px_eigenskin_choose(px_eigenskin *e, pelt_kernel kernel);
/* … and the noise once more, with that error over all poses and units. */
pelt_result px_eigenskin_choose_noise(px_eigenskin *e, double *error);

/* Which joints may have a say about which units, before anything is solved (supports.c) … */
pelt_result px_eigenskin_candidates(px_eigenskin *e);
/* … and which keep it, after. */
pelt_result px_eigenskin_supports(px_eigenskin *e);

/* Solves for all units (solve.c). */
pelt_result px_eigenskin_solve(px_eigenskin *e);
/* The relative error of predicting every pose by the others, from enough of the units: over poses of joints that turn
 * often enough, NaN where there are none, and over all poses. */
pelt_result px_eigenskin_leave_out(px_eigenskin *e, double errors[2]);
/* Gains of the joints, targets, and the error of predicting every pose by the others with these. */
pelt_result px_eigenskin_shrink(px_eigenskin *e);

/* Modes of every joint, their coefficients, and errors (modes.c). */
pelt_result px_eigenskin_modes(px_eigenskin *e);

/* Displacements of normals: rows 3 to 5 of every unit (normals.c) … */
pelt_result px_eigenskin_pull_normals(px_eigenskin *e);
/* … and how far normals are off, before and after. */
pelt_result px_eigenskin_measure_normals(px_eigenskin *e);

/* Puts all into the model (apply.c). */
pelt_result px_eigenskin_apply(px_eigenskin *e);

#endif
