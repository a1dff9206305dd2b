/* Retargeting: relation between the rest poses of two skeletons. */
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

/* How the position of a joint is found. */
typedef enum px_travel_kind {
    PX_TRAVEL_NOT,    /* local translation as at rest */
    PX_TRAVEL_AS,     /* as its partner: the hips and joints above them */
    PX_TRAVEL_FOLLOW, /* rigidly with `leader`, not an ancestor; without a partner it rotates with it too */
    PX_TRAVEL_OFFSET, /* offset from its parent as its partner: equal skeletons */
} px_travel_kind;

typedef struct px_travel {
    px_travel_kind kind;
    uint32_t leader; /* FOLLOW: a matched joint of the rig */
} px_travel;

/* Computed once from the rest poses. */
typedef struct px_bridge {
    const pelt_joint_match *matches; /* [rig joint] */
    px_joint_name *names;            /* [rig joint] */
    uint32_t *above;                 /* [rig joint] nearest matched ancestor, or PELT_NONE */
    px_rotation world;               /* W: from the world of the motion to that of the rig */
    int up;                          /* up axis of the rig, 0 to 2 */
    double up_sign;                  /* 1 or −1 */
    double scale;                    /* rig lengths per motion length */
    uint32_t hips;                   /* hips of the rig; without hips the first matched joint */
    px_rotation *after;              /* [rig joint] R(t) = W · S(t) · after, of matched joints */
    px_travel *travels;              /* [rig joint] from px_bridge_travels */
    bool late;                       /* a joint follows one of a larger index */
} px_bridge;

/* Finds all but the travels from the two skeletons at rest. */
pelt_result px_bridge_find(px_arena *arena, const px_rig_pose *rig, const px_rig_pose *motion,
                           const pelt_joint_match *matches, const pelt_retarget_desc *desc, px_bridge *bridge);
/* The first matched joint of this body part, or PELT_NONE. */
uint32_t px_bridge_part(const px_bridge *bridge, const px_rig_pose *rig, px_body_part body, px_body_side side);
/* Computes travels. Both poses are at rest; `motion` is the motion to retarget. */
pelt_result px_bridge_travels(px_arena *arena, const px_rig_pose *rig, const px_rig_pose *source,
                              const pelt_motion *motion, px_bridge *bridge);
/* weighted [joint]: vertices have weights of it. */
void px_weighted_joints(const pelt_model *model, bool *weighted);

#endif
