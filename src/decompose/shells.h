/* Shells that move rigidly. */
#ifndef PELT_DECOMPOSE_SHELLS_H
#define PELT_DECOMPOSE_SHELLS_H

#include "decompose/gather.h"

/* Groups of rigid shells: the shells of a group move by the same rigid motion, which differs from those of the others. */
typedef struct px_shells {
    uint32_t group_count;  /* 0: none */
    uint32_t vertex_count; /* of all groups together */
    uint32_t *groups;      /* [vertex] its group, by descending size of their largest shells; PELT_NONE: in none */
} px_shells;

#define PX_SHELLS_MOST 256u /* groups for which the number of bones may be chosen: what skins of 8 bits can index */

/* Finds at most `most` groups that hold half of the vertices or more. None where there are more groups, or fewer vertices:
 * exact teeth and buttons are not worth the bones that a body needs. `out` lives in the fit's arena. */
pelt_result px_shells_find(px_fit *fit, const pelt_model *input, const px_gathered *plan, uint32_t most,
                           px_shells *out);

/* Groups that get a bone each when there are `count` bones: all, or none where all other vertices would have no bone. */
uint32_t px_shells_bones(const px_fit *fit, const px_shells *shells, uint32_t count);

#endif
