/* Pelt: what is done to skin weights after they were made: smoothed, pruned, mirrored, carried to another mesh.
 *
 * All functions work on the model in place and replace its skin's bones and weights only (and, where a transfer brings
 * a skeleton along, skeleton and motions); after a failure the model is as it was. Vertices that are one when welded
 * get the same weights, unless they have no joint in common: instances of a mesh that lie over each other when bound.
 * Weights stay ≥ 0 and sum to 1. Parts that merely hang from a joint have no weights of their own and stay as they
 * are.
 */
#ifndef PELT_WEIGHTS_H
#define PELT_WEIGHTS_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What may change. Names are divided by commas or lines. */
typedef struct pelt_weights_scope {
    uint32_t cookie;     /* set by pelt_weights_scope_default; do not change */
    const char *joints;  /* only weights of these joints; NULL (default): of all */
    const char *parts;   /* only vertices of parts, or with materials, of these names; NULL (default): all */
    const char *lock;    /* joints whose weights stay: the others share the rest; NULL (default): none */
    uint32_t influences; /* bones per vertex, 1 to 8; 0 (default): as many as the skin has */
} pelt_weights_scope;
PELT_API const pelt_option_table *pelt_weights_scope_options(void);
/* Defaults: everything may change. */
PELT_API pelt_weights_scope pelt_weights_scope_default(void);

typedef struct pelt_weights_report {
    uint32_t vertex_count;    /* welded vertices that could change */
    uint32_t changed_count;   /* those that did, by more than 1e-6 */
    double change_mean;       /* over the vertices that could: Σ_j |w − w before|, 0 to 2 */
    double change_max;        /* largest of these sums */
    uint32_t influence_count; /* most bones of a vertex now */
} pelt_weights_report;

/* `scope`, `desc` and `report` may be NULL in all functions. */

/* ---- Smooth, prune, normalise ----------------------------------------------------------------------------- */

typedef struct pelt_smooth_desc {
    uint32_t cookie;     /* set by pelt_smooth_desc_default; do not change */
    double strength;     /* 0 to 1: how far a vertex goes to the mean of its neighbours each time; default 0.5 */
    uint32_t iterations; /* default 5 */
} pelt_smooth_desc;
PELT_API const pelt_option_table *pelt_smooth_options(void);
PELT_API pelt_smooth_desc pelt_smooth_desc_default(void);

/* Weights move to the mean of those at the other ends of a vertex's edges. */
PELT_API pelt_result pelt_weights_smooth(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                         const pelt_smooth_desc *desc, pelt_weights_report *report);

typedef struct pelt_prune_desc {
    uint32_t cookie;  /* set by pelt_prune_desc_default; do not change */
    double threshold; /* 0 to 1: smaller weights go, but for a vertex's largest; default 0.01 */
} pelt_prune_desc;
PELT_API const pelt_option_table *pelt_prune_options(void);
PELT_API pelt_prune_desc pelt_prune_desc_default(void);

/* Small weights go, and what they had is shared by the rest. */
PELT_API pelt_result pelt_weights_prune(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                        const pelt_prune_desc *desc, pelt_weights_report *report);

/* Weights sum to 1, are sorted, and are the same where vertices are welded. */
PELT_API pelt_result pelt_weights_normalise(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                            pelt_weights_report *report);

/* ---- Mirror ----------------------------------------------------------------------------------------------- */

/* Which side is copied to which. */
typedef enum pelt_mirror_side {
    PELT_MIRROR_LEFT_TO_RIGHT, /* as joints are named; without such names left is the positive side */
    PELT_MIRROR_RIGHT_TO_LEFT,
    PELT_MIRROR_POSITIVE_TO_NEGATIVE, /* as vertices lie */
    PELT_MIRROR_NEGATIVE_TO_POSITIVE,
    PELT_MIRROR_AVERAGE /* both sides get the mean of both */
} pelt_mirror_side;

typedef struct pelt_mirror_desc {
    uint32_t cookie; /* set by pelt_mirror_desc_default; do not change */
    uint32_t axis;   /* 0 x (default), 1 y, 2 z: across which the mesh is symmetric, in the space of its positions */
    uint32_t side;   /* pelt_mirror_side; default left to right */
    double plane;    /* where on the axis; default 0 */
} pelt_mirror_desc;
PELT_API const pelt_option_table *pelt_mirror_options(void);
PELT_API pelt_mirror_desc pelt_mirror_desc_default(void);

typedef struct pelt_mirror_report {
    pelt_weights_report weights; /* change of the weights */
    uint32_t exact_count;        /* welded vertices that took the weights of one at their mirrored place … */
    uint32_t near_count;         /* … or of the nearest place on the other side's surface */
    uint32_t middle_count;       /* on the plane: made symmetric */
    uint32_t kept_count;         /* nothing is near their mirrored place: kept as they are */
    const uint32_t *pairs;       /* [joint] its counterpart, which may be itself, or PELT_NONE; in the model's memory */
} pelt_mirror_report;

/* Weights of one side go to the other, from joints to their counterparts: by name, or by place where names say nothing.
 * Weights of a joint without counterpart go to that of its nearest ancestor that has one; on the plane, and where both
 * sides are averaged, they stay. */
PELT_API pelt_result pelt_weights_mirror(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                         const pelt_mirror_desc *desc, pelt_mirror_report *report);

/* ---- Transfer --------------------------------------------------------------------------------------------- */

/* The pose in which the two meshes lie over each other. */
typedef enum pelt_transfer_pose {
    PELT_TRANSFER_AUTO, /* whichever brings them nearer */
    PELT_TRANSFER_BIND, /* as their positions are */
    PELT_TRANSFER_REST  /* as their skins show them at rest */
} pelt_transfer_pose;

/* Whose joints the result has. */
typedef enum pelt_transfer_skeleton {
    PELT_SKELETON_AUTO, /* those of `to` where names are the same: one if it is skinned, else half of them */
    PELT_SKELETON_FROM, /* those of `from`, with its inverse bind matrices and motions, behind the nodes of `to` */
    PELT_SKELETON_TO    /* those of `to`; weights of joints that it lacks go to their nearest ancestor that it has */
} pelt_transfer_skeleton;

typedef struct pelt_transfer_desc {
    uint32_t cookie;     /* set by pelt_transfer_desc_default; do not change */
    double angle;        /* degrees, 0 to 180, by which normals may differ beyond a tenth of `distance`; default 45 */
    double distance;     /* how far matches may be, as a fraction of the diagonal of `from`; default 0.05 */
    uint32_t influences; /* bones per vertex, 1 to 8; 0 (default): as many as `from` has */
    uint32_t pose;       /* pelt_transfer_pose; default auto */
    uint32_t skeleton;   /* pelt_transfer_skeleton; default auto */
} pelt_transfer_desc;
PELT_API const pelt_option_table *pelt_transfer_options(void);
PELT_API pelt_transfer_desc pelt_transfer_desc_default(void);

typedef struct pelt_transfer_report {
    uint32_t vertex_count;  /* welded vertices of `to`, whose weights are … */
    uint32_t matched_count; /* … from the nearest place on the surface of `from` … */
    uint32_t filled_count;  /* … smoothly from matched ones around … */
    uint32_t far_count;     /* … from the nearest place, though that is no good match: no matched one is connected */
    double distance_mean;   /* of matched ones, as a fraction of the diagonal of `from` … */
    double distance_max;    /* … */
    uint32_t pose;          /* pelt_transfer_pose that was used: bind or rest */
    uint32_t skeleton;      /* pelt_transfer_skeleton that was used: from or to */
    uint32_t lost_count;    /* joints of `from` with weights that `to` lacks … */
    const uint32_t *lost;   /* … their numbers in `from`; in the memory of `to` */
} pelt_transfer_report;

/* The weights of `from` go to `to`, another mesh of much the same shape. */
PELT_API pelt_result pelt_weights_transfer(pelt_context *context, const pelt_model *from, pelt_model *to,
                                           const pelt_transfer_desc *desc, pelt_transfer_report *report);

#ifdef __cplusplus
}
#endif

#endif
