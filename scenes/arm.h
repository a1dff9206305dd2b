/* arm: a limb with a shape that linear blend skinning cannot reproduce, to test pose-driven corrections.
 *
 *   arm_shape.c  the ground-truth shape
 *   arm.c        the rig, a motion with ground truth, poses
 *   wring.c      the same rig, bent and twisted as far as limbs go
 */
#ifndef PELT_SCENES_ARM_H
#define PELT_SCENES_ARM_H

#include "build.h"

#define ARM_BENDS  3u  /* joints that bend: 1, 2, 3; joint 0 is the base */
#define ARM_LENGTH 3.3 /* of the axis; half spheres beyond its ends */
#define ARM_AXIS   ((vec){0, 1, 0})

/* Where the joints are along the axis, base first. */
extern const double arm_heads[ARM_BENDS + 1];
/* Radius of the arm at rest at a position along its axis. */
double arm_radius(double s);

/* Rotation of one joint from rest: rotation vector (x, 0, z) after a twist about the bone; radians. */
typedef struct arm_bend {
    double x, z, twist;
} arm_bend;

/* The bending zone of a joint in a pose. */
typedef struct arm_zone {
    double angle; /* of the swing */
    vec axis;     /* of it, unit, across the bone */
    vec inside;   /* direction towards which the bone bends */
    double twist;
    double squeeze; /* the axis has speed 1 − squeeze · bump, so that it ends at the end of the bone */
} arm_zone;

typedef struct arm_pose {
    arm_bend bends[ARM_BENDS];
    arm_zone zones[ARM_BENDS];
    quat turns[ARM_BENDS + 1]; /* global rotations of the joints */
    vec origins[ARM_BENDS + 1];
} arm_pose;

/* The rotation of a bend relative to the rest pose, in which all rotations are the identity. */
quat arm_turn(const arm_bend *bend);
arm_pose arm_pose_make(const arm_bend *bends);
/* Maps a position of the arm at rest to the pose. */
vec arm_place(const arm_pose *pose, vec rest);

/* Mesh, skeleton and skin. */
pelt_result arm_build_rig(pelt_context *context, const scene_desc *desc, pelt_model *model);

#endif
