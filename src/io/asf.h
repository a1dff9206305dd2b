/* Acclaim skeletons (ASF) and their motions (AMC): declarations that both readers share. */
#ifndef PELT_IO_ASF_H
#define PELT_IO_ASF_H

#include "core/rotation.h"
#include "io/words.h"

/* Degrees of freedom: translations 0 to 2, rotations 3 to 5, length 6. */
enum { PX_ASF_ROTATION = 3, PX_ASF_LENGTH = 6, PX_ASF_FREEDOMS = 7 };

/* The data of a bone that the AMC reader needs. */
typedef struct px_asf_bone {
    const char *name;
    uint32_t joint;
    uint32_t freedom_count;
    uint8_t freedoms[PX_ASF_FREEDOMS]; /* in the order of the AMC's numbers, without duplicates */
    uint8_t turns[3];                  /* rotation axes (0 to 2), in order of application */
    uint32_t turn_count;               /* number of entries in turns */
    px_rotation axes;                  /* C, from the bone's `axis`: rotations are about axes rotated by C */
} px_asf_bone;

/* Document of a model that was read from ASF. */
typedef struct px_asf {
    uint32_t bone_count;
    px_asf_bone *bones;         /* [bone], the root first */
    double unit;                /* model length = unit · file length */
    double angle;               /* radians = angle · file angle, unless the AMC states its own unit */
    const pelt_transform *rest; /* [joint] rest transforms as read, before any axis or unit conversion */
    px_space space;             /* conversion that was applied to the skeleton; later motions get the same */
} px_asf;

pelt_result px_asf_read(const px_read *read);
/* The document of a model that was read from ASF, else NULL. */
px_asf *px_asf_of(const pelt_model *model);
/* Records the conversion of a skeleton that was read from ASF, for motions that are read later. */
void px_asf_turned(const pelt_model *model, const px_space *space);

#endif
