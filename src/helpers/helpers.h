/* Helper bones for linear blend skinning; see helpers.h.
 *
 *   helpers.c   settings, order of steps, measures
 *   poses.c     poses to fit, with the deformer as the target
 *   weights.c   weights
 *   pairs.c     dual quaternions: which pairs of bones get helpers
 *   controls.c  dual quaternions: matrices of the helpers of a pair
 *   build.c     dual quaternions: joints, tracks, skin
 *   mush.c      delta mush: smoothed weights, decomposition
 */
#ifndef PELT_HELPERS_HELPERS_H
#define PELT_HELPERS_HELPERS_H

#include "run/mush.h"
#include "weights/weights.h"

#include <pelt/helpers.h>
#include <pelt/run.h>

/* The bones of a model in one pose. */
typedef struct px_helper_bones {
    pelt_affine *palette;        /* [bone] */
    pelt_dual_quaternion *duals; /* [bone] rigid parts */
    pelt_affine *stretches;      /* [bone] palette = rigid part · stretch */
    bool stretched;              /* a stretch differs from the identity */
} px_helper_bones;

/* A pose that weights are fitted to. */
typedef struct px_helper_pose {
    px_helper_bones bones;
    float *targets;         /* [class][3] the deformer */
    const float *rests;     /* [class][3] before skinning */
    double weight;          /* of its squared error */
    uint32_t motion;        /* PELT_NONE: joints turned at random, so that poses without a motion are shown well too */
    float time;             /* in that motion */
    pelt_transform *locals; /* [joint of the given skeleton] of a random pose; else NULL */
    pelt_affine *helpers;   /* [2 · pair] matrices of the helpers */
} px_helper_pose;

typedef struct px_helper_plan {
    pelt_context *context;
    pelt_model *model;
    pelt_helper_bones_desc desc;
    px_arena *arena;
    pelt_vertex_classes
        classes;         /* vertices with the same place and weights; delta mush: those that it keeps together */
    const px_mush *mush; /* NULL: dual quaternions */
    /* [class] delta mush: bones that a vertex may have, with weights to start from, at most PX_SIMPLEX_MAX */
    px_weight_table candidates;
    uint32_t frame_count;  /* of all motions */
    uint32_t given_joints; /* joints of the model before any were added */
    uint32_t pose_count;
    px_helper_pose *poses; /* [pose] */
    uint32_t pair_count;
    pelt_helper_pair *pairs; /* [pair] in the model's lasting memory */
    uint32_t compared_count; /* bones whose motions were compared */
    uint32_t *places;        /* [bone] index among them; PELT_NONE: not compared */
    double *squares;         /* [compared][compared] mean squared angle between two bones in the motions */
} px_helper_plan;

/* Allocates the arrays of `bones` for the skin of the model. */
pelt_result px_helper_bones_alloc(px_arena *arena, const pelt_model *model, px_helper_bones *bones);
/* Sets them for local transforms [joint]; `globals` [joint]: scratch. */
void px_helper_bones_pose(const pelt_model *model, const pelt_transform *locals, pelt_affine *globals,
                          px_helper_bones *bones);

/* Samples poses of the motions, and turns joints at random. */
pelt_result px_helper_poses(px_helper_plan *plan);
/* Sets the bones and rest positions of all poses again, after the model got other bones and tracks. */
pelt_result px_helper_poses_again(px_helper_plan *plan);
/* Chooses pairs. */
pelt_result px_helper_pairs(px_helper_plan *plan);
/* How well helpers of the bones `helped` serve another pair of bones, 0 to 1: 1 for the same pair. */
double px_helper_cover(const px_helper_plan *plan, const uint32_t helped[2], const uint32_t pair[2]);

/* The angle between two bones, radians, 0 to π. */
double px_helper_angle(const pelt_dual_quaternion *a, const pelt_dual_quaternion *b);
/* Matrices of the helpers of bones a and b relative to their palettes, 3×4 row-major: helper 1 is palette[a] · first,
 * helper 2 is palette[b] · second. */
void px_helper_controls(const px_helper_bones *bones, uint32_t a, uint32_t b, uint32_t transforms, double first[12],
                        double second[12]);

/* Fits the weights of `skin`, whose bones, influence count and arrays are set. */
pelt_result px_helper_weights(px_helper_plan *plan, pelt_skin *skin);
/* Adds joints, tracks and bones to the model, by pairs. */
pelt_result px_helper_build(px_helper_plan *plan, pelt_helper_bones_report *report);
/* Adds joints, tracks and bones to the model whose clips, `targets` [motion], are delta mush of its motions. */
pelt_result px_helper_mush(px_helper_plan *plan, pelt_clip *targets, pelt_helper_bones_report *report);

#endif
