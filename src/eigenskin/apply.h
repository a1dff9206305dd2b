/* What modes become in the model, while it is being made. */
#ifndef PELT_EIGENSKIN_APPLY_H
#define PELT_EIGENSKIN_APPLY_H

#include "core/morphs.h"
#include "eigenskin/eigenskin.h"

typedef struct px_morph_source {
    uint32_t bend, mode;
} px_morph_source;

typedef struct px_eigenskin_apply_work {
    px_eigenskin *e;
    px_morph_group *groups;
    uint32_t group_count;
    uint32_t *widths; /* [group] morphs of its joint, with the new ones */
    uint32_t added_count;
    pelt_morph *added;        /* [added] */
    px_morph_source *sources; /* [added] */
    uint32_t *places;         /* [added] in … */
    pelt_morph_set morphs;    /* … the model's morphs with them */
    pelt_driver *drivers;     /* [driver] the old ones first */
    uint32_t driver_count;
    pelt_motion *motions; /* [motion] */
} px_eigenskin_apply_work;

/* Makes `motions`, with tracks of weights. */
pelt_result px_eigenskin_bake(px_eigenskin_apply_work *w);

#endif
