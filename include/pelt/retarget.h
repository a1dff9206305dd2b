/* Pelt: motion retargeting: a motion of one skeleton on another.
 *
 * Joints are matched by a mapping of the caller, then by the meaning of their names (body parts in the naming conventions
 * of many programs: hips = pelvis, LeftUpLeg = thigh_l = lfemur …), then by names that are equal but for case, prefixes
 * and punctuation. A matched joint rotates in world space as its partner rotates from its own rest pose. Unmatched joints
 * keep their rest pose; those that move vertices and would tear the mesh follow the body (docs/retarget.md).
 *
 *   R(t) = W · S(t) · S(rest)⁻¹ · W⁻¹ · A · R(rest)
 *
 * R, S: global rotation of the joint of the rig and of the motion. W: rotation from the world of the motion to that of the
 * rig, in steps of 90 degrees (up axis, facing direction). A: aligns the limbs of the rig at rest with those of the motion.
 */
#ifndef PELT_RETARGET_H
#define PELT_RETARGET_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a joint of the rig was matched. */
typedef enum pelt_match_kind {
    PELT_MATCH_NONE,  /* unmatched */
    PELT_MATCH_MAP,   /* by the mapping, which may also name no partner */
    PELT_MATCH_NAME,  /* equal names */
    PELT_MATCH_ALIKE, /* names equal but for case, prefixes, punctuation and notation of the side */
    PELT_MATCH_BODY   /* the same body part; spines and necks of different lengths are distributed */
} pelt_match_kind;
/* "map", "name" …; "" for NONE. */
PELT_API const char *pelt_match_name(pelt_match_kind kind);

/* The joint of the motion that a joint of the rig follows. */
typedef struct pelt_joint_match {
    uint32_t joint;       /* of the motion's skeleton, or PELT_NONE */
    pelt_match_kind kind; /* how the match was found */
} pelt_joint_match;

/* DIRECTIONS: limbs of the rig point in the directions of those of the motion. NONE: joints rotate by the same amounts. */
typedef enum pelt_align { PELT_ALIGN_DIRECTIONS, PELT_ALIGN_NONE } pelt_align;
/* The rest pose of the motion: that of its skeleton, or its first frame. */
typedef enum pelt_motion_rest { PELT_MOTION_REST_SKELETON, PELT_MOTION_REST_FIRST } pelt_motion_rest;
/* FEET: the lowest joint is as high as at rest. KEEP: heights are those of the motion. */
typedef enum pelt_ground { PELT_GROUND_FEET, PELT_GROUND_KEEP } pelt_ground;

typedef struct pelt_retarget_desc {
    uint32_t cookie; /* set by pelt_retarget_desc_default; do not change */
    /* text of lines "rig joint = motion joint", "rig joint =" for no partner, "# comment"; NULL (default): no
     * mapping */
    const char *map;
    uint32_t align;  /* pelt_align, of limbs (in skeletons without limbs: of all bones); default DIRECTIONS */
    uint32_t rest;   /* pelt_motion_rest; default SKELETON */
    uint32_t ground; /* pelt_ground; default FEET */
    /* rig length per motion length, ≥ 0; 0 (default): ratio of the leg lengths (without legs: of all bones) */
    double scale;
    double fps;       /* frames per second of the result, ≥ 0; 0 (default): rate of the motion's keys, else 30 */
    const char *name; /* of the new motion; NULL (default): name of `motion` */
    bool replace;     /* remove the other motions of the rig; default false */
} pelt_retarget_desc;
/* All fields but map and name. */
PELT_API const pelt_option_table *pelt_retarget_options(void);
PELT_API pelt_retarget_desc pelt_retarget_desc_default(void);

/* Fills matches [rig joint]. Uses desc->map only; `desc` may be NULL. */
PELT_API pelt_result pelt_match_joints(pelt_context *context, const pelt_skeleton *rig, const pelt_skeleton *motion,
                                       const pelt_retarget_desc *desc, pelt_joint_match *matches);

typedef struct pelt_retarget_report {
    uint32_t matched;     /* joints of the rig with a partner */
    uint32_t frame_count; /* of the new motion */
    double fps;           /* frames per second of the new motion */
    double scale;         /* rig length per motion length */
    double lift;          /* upward translation of the whole motion to the ground of the rig, in rig units */
    /* largest growth of a mesh edge, or of a bone between weighted joints, over its rest length, as a fraction of
     * the diagonal of the mesh at rest, in at most 24 frames; 0 without a skin */
    double stretch;
    uint32_t stretch_frame;     /* frame of the largest growth */
    uint32_t stretch_joints[2]; /* joints of the rig that it lies between; PELT_NONE if stretch is 0 */
    bool torn;                  /* stretch > 0.15: the mesh is torn; a warning is logged */
} pelt_retarget_report;

/* Adds `motion` of the model `source` to the motions of `rig`, as the last one. `matches` [rig joint] from pelt_match_joints.
 * After a failure the rig is as it was. `desc` and `report` may be NULL. */
PELT_API pelt_result pelt_retarget(pelt_context *context, const pelt_model *source, const pelt_motion *motion,
                                   const pelt_joint_match *matches, const pelt_retarget_desc *desc, pelt_model *rig,
                                   pelt_retarget_report *report);

#ifdef __cplusplus
}
#endif

#endif
