/* Pelt: a motion of one skeleton on another.
 *
 * Joints are paired by a mapping of the caller's, then by what their names mean: parts of the body in the words of many
 * programs (hips = pelvis, LeftUpLeg = thigh_l = lfemur …), then equal names but for case, prefixes and punctuation.
 * A paired joint turns in the world as its partner turns from its own rest pose. All others keep their rest
 * pose, but those that move vertices and would tear from the body follow it (docs/retarget.md).
 *
 *   R(t) = W · S(t) · S(rest)⁻¹ · W⁻¹ · A · R(rest)
 *
 * R, S are global rotations of the rig's and the motion's joint; W turns the motion's world into the rig's, in steps of
 * 90 degrees (z up to y up, the way it faces); A lets the rig's limbs point at rest as the motion's do.
 */
#ifndef PELT_RETARGET_H
#define PELT_RETARGET_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a joint of the rig found its partner. */
typedef enum pelt_match_kind {
    PELT_MATCH_NONE,  /* it has none */
    PELT_MATCH_MAP,   /* the mapping says so; it may say that there is none */
    PELT_MATCH_NAME,  /* equal names */
    PELT_MATCH_ALIKE, /* equal but for case, prefixes, punctuation and how sides are written */
    PELT_MATCH_BODY   /* the same part of the body in other words; spines and necks of other lengths are spread */
} pelt_match_kind;
/* "map", "name" …; "" for NONE. */
PELT_API const char *pelt_match_name(pelt_match_kind kind);

/* The joint of the motion that a joint of the rig follows. */
typedef struct pelt_joint_match {
    uint32_t joint;       /* of the motion's skeleton, or PELT_NONE */
    pelt_match_kind kind; /* how the match was found */
} pelt_joint_match;

/* DIRECTIONS: limbs of the rig point where those of the motion do. NONE: joints turn by as much as those of the motion. */
typedef enum pelt_align { PELT_ALIGN_DIRECTIONS, PELT_ALIGN_NONE } pelt_align;
/* The motion's rest pose: its skeleton's, or its first frame. */
typedef enum pelt_motion_rest { PELT_MOTION_REST_SKELETON, PELT_MOTION_REST_FIRST } pelt_motion_rest;
/* FEET: the lowest joint stands as high as at rest. KEEP: heights stay as the motion has them. */
typedef enum pelt_ground { PELT_GROUND_FEET, PELT_GROUND_KEEP } pelt_ground;

typedef struct pelt_retarget_desc {
    uint32_t cookie; /* set by pelt_retarget_desc_default; do not change */
    const char
        *map;       /* lines "rig joint = motion joint", "rig joint =" for none, # comments; NULL (default): no lines */
    uint32_t align; /* pelt_align: whether limbs (without a body: all bones) point as the motion's; default they do */
    uint32_t rest;  /* pelt_motion_rest: the motion's rest pose is its skeleton's (default) or its first frame */
    uint32_t ground;  /* pelt_ground: the lowest joint stands as high as at rest (default), or heights are kept */
    double scale;     /* rig lengths per motion length; 0 (default): so that the legs (without legs: all bones) fit */
    double fps;       /* frames per second of the result; 0 (default): those of the motion's keys, else 30 */
    const char *name; /* of the new motion; NULL (default): the motion's */
    bool replace;     /* the rig's other motions go; default false */
} pelt_retarget_desc;
/* All but map and name. */
PELT_API const pelt_option_table *pelt_retarget_options(void);
PELT_API pelt_retarget_desc pelt_retarget_desc_default(void);

/* Fills matches [rig joint]. Uses desc->map only; `desc` may be NULL. */
PELT_API pelt_result pelt_match_joints(pelt_context *context, const pelt_skeleton *rig, const pelt_skeleton *motion,
                                       const pelt_retarget_desc *desc, pelt_joint_match *matches);

typedef struct pelt_retarget_report {
    uint32_t matched;     /* joints of the rig that have a partner */
    uint32_t frame_count; /* of the new motion */
    double fps;           /* frames per second of the new motion */
    double scale;         /* rig lengths per motion length */
    double lift;          /* how far all was lifted to stand on the rig's ground, in rig units */
    /* The most that an edge of the mesh, or a bone between joints with weights, grows over its length at rest, as a part
     * of the diagonal of the mesh at rest; of at most 24 frames. 0 without a skin. */
    double stretch;
    uint32_t stretch_frame;     /* where that is … */
    uint32_t stretch_joints[2]; /* … and between which joints of the rig; PELT_NONE when stretch is 0 */
    bool torn;                  /* stretch is above 0.15, which no sound motion reaches; there is a warning too */
} pelt_retarget_report;

/* Adds `motion` of the model `source` to the motions of `rig`, with matches [rig joint] from pelt_match_joints. `desc`
 * and `report` may be NULL. */
PELT_API pelt_result pelt_retarget(pelt_context *context, const pelt_model *source, const pelt_motion *motion,
                                   const pelt_joint_match *matches, const pelt_retarget_desc *desc, pelt_model *rig,
                                   pelt_retarget_report *report);

#ifdef __cplusplus
}
#endif

#endif
