/* Acclaim skeletons (ASF) and their motions (AMC): what the two files share. */
#ifndef PELT_IO_ASF_H
#define PELT_IO_ASF_H

#include "core/rotation.h"
#include "io/words.h"

/* Degrees of freedom: translations 0 to 2, rotations 3 to 5, the length. */
enum { PX_ASF_ROTATION = 3, PX_ASF_LENGTH = 6, PX_ASF_FREEDOMS = 7 };

/* What an AMC file needs to know of a bone. */
typedef struct px_asf_bone {
    const char *name;
    uint32_t joint;
    uint32_t freedom_count;
    uint8_t freedoms[PX_ASF_FREEDOMS]; /* in the order of the AMC's numbers; none twice */
    uint8_t turns[3];                  /* axes 0 to 2 of its rotations, the one applied first in front */
    uint32_t turn_count;               /* number of turns */
    px_rotation axes;                  /* C: the rotations are about axes turned so */
} px_asf_bone;

/* The document of a model that was read from ASF. */
typedef struct px_asf {
    uint32_t bone_count;
    px_asf_bone *bones;         /* [bone], the root first */
    double unit;                /* file lengths times this are the model's */
    double angle;               /* file angles times this are radians, unless the AMC says otherwise */
    const pelt_transform *rest; /* [joint] as read, before any conversion */
    px_space space;             /* how the skeleton was converted since; motions follow */
} px_asf;

pelt_result px_asf_read(const px_read *read);
/* The document of a model that was read from ASF; else NULL. */
px_asf *px_asf_of(const pelt_model *model);
/* Keeps for later motions how the skeleton was converted, if it was read from ASF. */
void px_asf_turned(const pelt_model *model, const px_space *space);

#endif
