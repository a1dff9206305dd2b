/* Pelt: editing skin weights: smooth, relax, repair, prune, limit, normalise, copy, mirror, transfer to another mesh.
 *
 * All functions work in place and replace only the skin's bones and weights (a transfer may add skeleton and motions). On
 * failure the model is unchanged. Welded vertices get the same weights, unless they have no joint in common (instances
 * of a mesh that coincide in the bind pose). Weights are ≥ 0 and sum to 1. Parts that follow a joint without weights are
 * not changed.
 */
#ifndef PELT_WEIGHTS_H
#define PELT_WEIGHTS_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What may change. Names are separated by commas or lines. */
typedef struct pelt_weights_scope {
    uint32_t cookie;    /* set by pelt_weights_scope_default; do not change */
    const char *joints; /* change only weights of these joints; NULL (default): all */
    /* change only vertices of parts or materials with these names, or of regions "box(X Y Z X Y Z)" (lower and upper corner,
     * in the space of mesh.positions), "sphere(X Y Z R)", "vertices(0 7-12)"; NULL (default): all */
    const char *parts;
    const char *lock;    /* joints that keep their weights; the others share the rest; NULL (default): none */
    uint32_t influences; /* bones per vertex, 1 to 8; 0 (default): as many as the skin has */
} pelt_weights_scope;
PELT_API const pelt_option_table *pelt_weights_scope_options(void);
/* Defaults: everything may change. */
PELT_API pelt_weights_scope pelt_weights_scope_default(void);

typedef struct pelt_weights_report {
    uint32_t vertex_count;    /* welded vertices in the scope */
    uint32_t changed_count;   /* of these, changed by more than 1e-6 */
    double change_mean;       /* mean over the scope of Σ_j |w − w before|, 0 to 2 */
    double change_max;        /* largest of these sums */
    uint32_t influence_count; /* largest number of bones of a vertex */
} pelt_weights_report;

/* `scope`, `desc` and `report` may be NULL in all functions. */

/* ---- Smooth, prune, normalise ----------------------------------------------------------------------------- */

typedef struct pelt_smooth_desc {
    uint32_t cookie;     /* set by pelt_smooth_desc_default; do not change */
    double strength;     /* 0 to 1: step towards the mean of the neighbours per iteration; default 0.5 */
    uint32_t iterations; /* default 5 */
} pelt_smooth_desc;
PELT_API const pelt_option_table *pelt_smooth_options(void);
PELT_API pelt_smooth_desc pelt_smooth_desc_default(void);

/* Smooths weights: each vertex moves towards the mean of its edge neighbours. */
PELT_API pelt_result pelt_weights_smooth(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                         const pelt_smooth_desc *desc, pelt_weights_report *report);

typedef struct pelt_prune_desc {
    uint32_t cookie;  /* set by pelt_prune_desc_default; do not change */
    double threshold; /* 0 to 1: remove smaller weights, except the largest of a vertex; default 0.01 */
} pelt_prune_desc;
PELT_API const pelt_option_table *pelt_prune_options(void);
PELT_API pelt_prune_desc pelt_prune_desc_default(void);

/* Removes small weights and renormalises the others. */
PELT_API pelt_result pelt_weights_prune(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                        const pelt_prune_desc *desc, pelt_weights_report *report);

/* Makes weights sum to 1, sorts them, and makes them equal on welded vertices. */
PELT_API pelt_result pelt_weights_normalise(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                            pelt_weights_report *report);

/* ---- Relax, repair, limit, copy --------------------------------------------------------------------------- */

typedef struct pelt_relax_desc {
    uint32_t cookie; /* set by pelt_relax_desc_default; do not change */
    /* length over which weights are averaged, as a fraction of the diagonal of the mesh, 0 to 1; default 0.005 */
    double radius;
    /* largest distance that a vertex moves in poses of the motions, as such a fraction, 0 to 1; default 0.01; 0: any */
    double displacement;
} pelt_relax_desc;
PELT_API const pelt_option_table *pelt_relax_options(void);
PELT_API pelt_relax_desc pelt_relax_desc_default(void);

/* Smooths weights over a length, at any density of vertices, and keeps the deformation: where a vertex would move farther
 * than desc.displacement in 16 poses of the motions (of a model without motions: with all joints turned), it goes only
 * part of the way. Vertices outside the scope are boundary values. */
PELT_API pelt_result pelt_weights_relax(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                        const pelt_relax_desc *desc, pelt_weights_report *report);

typedef struct pelt_hammer_desc {
    uint32_t cookie;   /* set by pelt_hammer_desc_default; do not change */
    double difference; /* L1, 0 to 2; default 1; 0: repair every vertex in the scope */
} pelt_hammer_desc;
PELT_API const pelt_option_table *pelt_hammer_options(void);
PELT_API pelt_hammer_desc pelt_hammer_desc_default(void);

/* Repairs single vertices: those whose weights differ by more than desc.difference from at least four fifths of their
 * neighbours, which agree among themselves, get weights interpolated from the vertices around them. */
PELT_API pelt_result pelt_weights_hammer(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                         const pelt_hammer_desc *desc, pelt_weights_report *report);

typedef struct pelt_limit_desc {
    uint32_t cookie; /* set by pelt_limit_desc_default; do not change */
    uint32_t poses;  /* poses of the motions in which the change is measured, 1 to 64; default 16 */
} pelt_limit_desc;
PELT_API const pelt_option_table *pelt_limit_options(void);
PELT_API pelt_limit_desc pelt_limit_desc_default(void);

/* Limits the bones of each vertex to scope.influences (0: 4) with little change of the deformation: the weight of a bone
 * that goes moves to the bones that replace it best in poses of the motions (of a model without motions: with all
 * joints turned). pelt_weights_normalise keeps the largest weights instead. */
PELT_API pelt_result pelt_weights_limit(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                        const pelt_limit_desc *desc, pelt_weights_report *report);

typedef struct pelt_copy_desc {
    uint32_t cookie; /* set by pelt_copy_desc_default; do not change */
    /* parts, materials or regions, as pelt_weights_scope.parts; NULL (default): all vertices outside the scope */
    const char *source;
    bool rigid; /* true: all vertices get the mean weights of the source; false (default): of the nearest point */
} pelt_copy_desc;
PELT_API const pelt_option_table *pelt_copy_options(void);
PELT_API pelt_copy_desc pelt_copy_desc_default(void);

/* Copies weights from one region of the mesh to the vertices in the scope. Vertices of the source stay. */
PELT_API pelt_result pelt_weights_copy(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                       const pelt_copy_desc *desc, pelt_weights_report *report);

/* ---- Mirror ----------------------------------------------------------------------------------------------- */

/* Which side is copied to which. */
typedef enum pelt_mirror_side {
    PELT_MIRROR_LEFT_TO_RIGHT, /* by joint names; without such names left is the positive side */
    PELT_MIRROR_RIGHT_TO_LEFT,
    PELT_MIRROR_POSITIVE_TO_NEGATIVE, /* by vertex positions */
    PELT_MIRROR_NEGATIVE_TO_POSITIVE,
    PELT_MIRROR_AVERAGE /* both sides get their mean */
} pelt_mirror_side;

/* How a vertex and its mirror image find each other. */
typedef enum pelt_mirror_match {
    PELT_MIRROR_BY_POSITION, /* at the mirrored position */
    PELT_MIRROR_BY_TOPOLOGY  /* by the connections of the mesh, from an edge of its middle line; shells whose sides are
                              * not connected alike by position */
} pelt_mirror_match;

typedef struct pelt_mirror_desc {
    uint32_t cookie; /* set by pelt_mirror_desc_default; do not change */
    uint32_t axis; /* axis across which the mesh is symmetric, in the space of its positions: 0 x (default), 1 y, 2 z */
    uint32_t side; /* pelt_mirror_side; default left to right */
    double plane;  /* position of the mirror plane on the axis; default 0 */
    uint32_t match; /* pelt_mirror_match; default by position */
    /* "A-B": vertices at the ends of an edge of the middle line, for PELT_MIRROR_BY_TOPOLOGY; NULL (default): found
     * among the edges nearest to the plane */
    const char *seed;
} pelt_mirror_desc;
PELT_API const pelt_option_table *pelt_mirror_options(void);
PELT_API pelt_mirror_desc pelt_mirror_desc_default(void);

typedef struct pelt_mirror_report {
    pelt_weights_report weights; /* change of the weights */
    uint32_t exact_count;        /* welded vertices with a vertex at their mirrored position, or an image by topology */
    uint32_t near_count;         /* those that took the closest point on the surface of the other side */
    uint32_t middle_count;       /* those on the plane, or on the middle line: made symmetric */
    uint32_t topology_count;     /* those with an image by topology, on both sides; 0 by position */
    uint32_t kept_count;         /* those without anything near their mirrored position: not changed */
    const uint32_t *pairs;       /* [joint] its counterpart (possibly itself), or PELT_NONE; lives in the model */
} pelt_mirror_report;

/* Mirrors weights from one side to the other. Joints are paired by name, else by position. Weights of a joint without a
 * counterpart go to the counterpart of its nearest ancestor that has one; on the plane, and with AVERAGE, they stay. */
PELT_API pelt_result pelt_weights_mirror(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                         const pelt_mirror_desc *desc, pelt_mirror_report *report);

/* ---- Transfer --------------------------------------------------------------------------------------------- */

/* The pose in which the two meshes coincide. */
typedef enum pelt_transfer_pose {
    PELT_TRANSFER_AUTO, /* whichever is closer */
    PELT_TRANSFER_BIND, /* mesh.positions */
    PELT_TRANSFER_REST  /* skinned in the rest pose */
} pelt_transfer_pose;

/* Skeleton of the result. */
typedef enum pelt_transfer_skeleton {
    PELT_SKELETON_AUTO, /* that of `to` if names match (one if it is skinned, else half of them), else that of `from` */
    PELT_SKELETON_FROM, /* that of `from`, with inverse bind matrices and motions, appended to the nodes of `to` */
    PELT_SKELETON_TO    /* that of `to`; weights of joints that it lacks go to the nearest ancestor that it has */
} pelt_transfer_skeleton;

typedef struct pelt_transfer_desc {
    uint32_t cookie; /* set by pelt_transfer_desc_default; do not change */
    /* largest angle between normals of a match farther than a tenth of `distance`; degrees, 0 to 180, default 45 */
    double angle;
    double distance;     /* largest distance of a match, as a fraction of the diagonal of `from`; default 0.05 */
    uint32_t influences; /* bones per vertex, 1 to 8; 0 (default): as many as `from` has */
    uint32_t pose;       /* pelt_transfer_pose; default auto */
    uint32_t skeleton;   /* pelt_transfer_skeleton; default auto */
} pelt_transfer_desc;
PELT_API const pelt_option_table *pelt_transfer_options(void);
PELT_API pelt_transfer_desc pelt_transfer_desc_default(void);

typedef struct pelt_transfer_report {
    uint32_t vertex_count;  /* welded vertices of `to` */
    uint32_t matched_count; /* with a match on the surface of `from` */
    uint32_t filled_count;  /* interpolated from matched vertices */
    uint32_t far_count;     /* without a match or a connected matched vertex: closest point of `from` */
    double distance_mean;   /* mean distance of matches, as a fraction of the diagonal of `from` */
    double distance_max;    /* largest distance of matches, as such a fraction */
    uint32_t pose;          /* pelt_transfer_pose that was used: bind or rest */
    uint32_t skeleton;      /* pelt_transfer_skeleton that was used: from or to */
    uint32_t lost_count;    /* joints of `from` with weights that `to` lacks */
    const uint32_t *lost;   /* [lost_count] their indices in `from`; lives in `to` */
} pelt_transfer_report;

/* Transfers the weights of `from` to `to`, another mesh of similar shape. */
PELT_API pelt_result pelt_weights_transfer(pelt_context *context, const pelt_model *from, pelt_model *to,
                                           const pelt_transfer_desc *desc, pelt_transfer_report *report);

#ifdef __cplusplus
}
#endif

#endif
