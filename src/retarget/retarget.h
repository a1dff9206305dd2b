/* Retargeting inside: two skeletons at rest, and how one stands to the other. */
#ifndef PELT_RETARGET_RETARGET_H
#define PELT_RETARGET_RETARGET_H

#include "core/rotation.h"
#include "retarget/names.h"

/* A skeleton in a pose. */
typedef struct px_rig_pose {
    const pelt_model *model;
    pelt_transform *locals; /* [joint] */
    pelt_affine *globals;   /* [joint] */
    px_rotation *rotations; /* [joint] global */
} px_rig_pose;

pelt_result px_rig_pose_create(px_arena *arena, const pelt_model *model, px_rig_pose *pose);
/* `motion` NULL: the rest pose. */
void px_rig_pose_sample(px_rig_pose *pose, const pelt_motion *motion, float time);
static inline void px_rig_pose_place(const px_rig_pose *pose, uint32_t joint, double place[3]) {
    for (int c = 0; c < 3; c++)
        place[c] = pose->globals[joint].m[4 * c + 3];
}
static inline double px_joint_distance(const px_rig_pose *pose, uint32_t a, uint32_t b) {
    double p[3], q[3];
    px_rig_pose_place(pose, a, p);
    px_rig_pose_place(pose, b, q);
    return px_length3((double[]){p[0] - q[0], p[1] - q[1], p[2] - q[2]});
}

/* How a joint comes to its place. */
typedef enum px_travel_kind {
    PX_TRAVEL_NOT,    /* with its parent, as at rest */
    PX_TRAVEL_AS,     /* as its partner does: the hips, and joints above them */
    PX_TRAVEL_FOLLOW, /* with `leader`, from which it does not hang, as at rest; without a partner it turns with it too */
    PX_TRAVEL_OFFSET, /* from its parent as its partner does from its own: equal skeletons */
} px_travel_kind;

typedef struct px_travel {
    px_travel_kind kind;
    uint32_t leader; /* FOLLOW: a joint of the rig with a partner */
} px_travel;

/* What is found once, from the rest poses. */
typedef struct px_bridge {
    const pelt_joint_match *matches; /* [rig joint] */
    px_joint_name *names;            /* [rig joint] */
    uint32_t *above;                 /* [rig joint] the nearest joint above it that has a partner, or PELT_NONE */
    px_rotation world;               /* W: from the motion's world to the rig's */
    int up;                          /* the rig's axis that points up */
    double up_sign;                  /* or down */
    double scale;                    /* rig lengths per motion length */
    uint32_t hips;                   /* the rig's joint that carries the body; without hips the first with a partner */
    px_rotation *after;              /* [rig joint] R(t) = W · S(t) · after, where it has a partner */
    px_travel *travels;              /* [rig joint] from px_bridge_travels */
    bool late;                       /* a joint follows one that comes behind it */
} px_bridge;

/* Finds all but the travels from the two skeletons at rest. */
pelt_result px_bridge_find(px_arena *arena, const px_rig_pose *rig, const px_rig_pose *motion,
                           const pelt_joint_match *matches, const pelt_retarget_desc *desc, px_bridge *bridge);
/* The first joint with a partner that is this part of the body, or PELT_NONE. */
uint32_t px_bridge_part(const px_bridge *bridge, const px_rig_pose *rig, px_body_part body, px_body_side side);
/* How joints come to their places. Both poses are at rest; `motion` is the one to be put on the rig. */
pelt_result px_bridge_travels(px_arena *arena, const px_rig_pose *rig, const px_rig_pose *source,
                              const pelt_motion *motion, px_bridge *bridge);
/* weighted [joint]: whether vertices have weights of it. */
void px_weighted_joints(const pelt_model *model, bool *weighted);

#endif
