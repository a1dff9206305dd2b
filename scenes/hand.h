/* hand: an anatomical hand on an elastic solid, to learn pose-driven corrections as the EigenSkin paper does.
 *
 *   hand_shape.c   bones, soft tissue and axes of the joints
 *   hand_tissue.c  ground truth: static equilibrium of elastic tissue on posed bones
 *   hand.c         the rig, a motion, training and test poses
 */
#ifndef PELT_SCENES_HAND_H
#define PELT_SCENES_HAND_H

#include "build.h"

/* Joints have the names of WebXR's hand; the forearm is the root, so that the wrist can bend. Units: decimetres. The
 * right hand, fingers along +y, palm towards +z, thumb towards +x. */
enum {
    HAND_FOREARM,
    HAND_WRIST,
    HAND_THUMB,                   /* metacarpal, proximal, distal */
    HAND_FINGERS = HAND_THUMB + 3 /* index, middle, ring, little: metacarpal, proximal, intermediate, distal */
};
#define HAND_JOINTS  (HAND_FINGERS + 16u)
#define HAND_REGIONS 6u /* palm, thumb, four fingers */

/* Bones in the rest pose: joints [HAND_JOINTS], as all `joints` below. */
void hand_joints(scene_joint *joints);
void hand_solid(const scene_joint *joints, scene_solid *solid);
/* Axes of a joint at rest, object space: positive rotations flex (towards the palm) and spread (towards the thumb). */
vec hand_flex_axis(const scene_joint *joint);
vec hand_spread_axis(const scene_joint *joint);
/* The part of the hand at a position: 0 palm, 1 thumb from its proximal phalanx on, 2 to 5 fingers. */
uint32_t hand_region(const scene_joint *joints, vec p);
/* Weights at a position: smooth falloffs around the bones of its region and the palm. */
void hand_weigh(const scene_joint *joints, vec p, uint16_t *bones, float *weights);

/* Rotation of one joint from rest, degrees. */
typedef struct hand_bend {
    double flex, spread;
} hand_bend;

/* Where a bone moves the space around it: x → turn · x + shift. */
typedef struct hand_frame {
    quat turn;
    vec shift;
} hand_frame;

/* Rotation of a joint in object space, relative to the rest pose. */
quat hand_turn(const scene_joint *joint, hand_bend bend);
/* frames [HAND_JOINTS] of bends [HAND_JOINTS]. */
void hand_pose(const scene_joint *joints, const hand_bend *bends, hand_frame *frames);

/* Elastic tissue around the bones: an opaque solver in the memory of a model. `cell` is the size of its elements,
 * `tolerance` the change per iteration, in cells, at which a pose is solved; points [count][3] are embedded. */
typedef struct hand_tissue hand_tissue;
pelt_result hand_tissue_make(pelt_context *context, pelt_model *memory, double cell, double tolerance,
                             const float *points, uint32_t count, hand_tissue **tissue);
/* Positions [point][3] in equilibrium. */
void hand_tissue_solve(hand_tissue *tissue, const hand_bend *bends, float *positions);

/* The tissue of a hand that the scene made, with its resolution. */
pelt_result hand_tissue_of(pelt_context *context, const pelt_model *model, pelt_model *memory, hand_tissue **tissue);
/* Random poses of all joints, NAME_01 …, with the shape of the tissue in each; in the memory of `model`, the hand. */
pelt_result hand_random_poses(pelt_context *context, pelt_model *model, hand_tissue *tissue, uint64_t seed,
                              const char *name, uint32_t count, scene_pose *poses);

#endif
