/* Detection of rigid shells: connected components of the mesh that move rigidly. */
#ifndef PELT_DECOMPOSE_SHELLS_H
#define PELT_DECOMPOSE_SHELLS_H

#include "decompose/gather.h"

/* Groups of rigid shells: all shells of a group share one rigid motion, which differs from those of other groups. */
typedef struct px_shells {
    uint32_t group_count;  /* 0: no rigid shells */
    uint32_t vertex_count; /* vertices of all groups */
    uint32_t *groups; /* [vertex] its group, ordered by descending size of the largest shell; PELT_NONE: no group */
} px_shells;

#define PX_SHELLS_MOST 256u /* most groups when the number of bones is searched: range of 8-bit bone indices */

/* Finds the groups of rigid shells. Returns none if there are more than `most` groups, or if they hold less than half
 * of the vertices: exact teeth and buttons are not worth the bones that a body needs. `out` lives in the fit's arena.
 */
pelt_result px_shells_find(px_fit *fit, const pelt_model *input, const px_gathered *plan, uint32_t most,
                           px_shells *out);

/* Number of groups that get a bone each if there are `count` bones: all, or 0 if no bone would remain for the other
 * vertices. */
uint32_t px_shells_bones(const px_fit *fit, const px_shells *shells, uint32_t count);

#endif
