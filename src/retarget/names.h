/* Body parts by names of joints. */
#ifndef PELT_RETARGET_NAMES_H
#define PELT_RETARGET_NAMES_H

#include "core/core.h"
#include <pelt/retarget.h>

/* Parts of a body; those of one limb follow each other. */
typedef enum px_body_part {
    PX_BODY_NONE,
    PX_BODY_HIPS,
    PX_BODY_SPINE,
    PX_BODY_NECK,
    PX_BODY_HEAD,
    PX_BODY_CLAVICLE,
    PX_BODY_UPPER_ARM,
    PX_BODY_FOREARM,
    PX_BODY_HAND,
    PX_BODY_THIGH,
    PX_BODY_SHIN,
    PX_BODY_FOOT,
    PX_BODY_TOE,
    PX_BODY_COUNT
} px_body_part;

typedef enum px_body_side { PX_BODY_MIDDLE, PX_BODY_LEFT, PX_BODY_RIGHT, PX_BODY_SIDES } px_body_side;

#define PX_KEY_SIZE 48u

typedef struct px_joint_name {
    px_body_part body;
    px_body_side side;
    uint8_t branches;      /* bits: branches of the body at or below it; set only if no joint is named hips */
    char key[PX_KEY_SIZE]; /* lower case, without prefix, punctuation and side; "" when too long */
} px_joint_name;

/* Fills names [joint] of a skeleton. Some words depend on others: a "leg" beside a "thigh" is a shin. If no joint is named
 * hips, the lowest common ancestor of both legs and the upper body is the hips. */
void px_read_joint_names(const pelt_skeleton *skeleton, px_joint_name *names);

#endif
