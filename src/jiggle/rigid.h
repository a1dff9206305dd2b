/* Rigid shells: connected components of the mesh that a single joint moves (armour, tools, limbs of robots). */
#ifndef PELT_JIGGLE_RIGID_H
#define PELT_JIGGLE_RIGID_H

#include "jiggle/jiggle.h"

#include <pelt/jiggle.h>

/* Sets *rigid [vertex]: true if a single joint moves the vertex's shell; NULL: no shell is rigid. A shell whose
 * softness `desc` sets (by softness, joints or maps) is not rigid; no shell is rigid if one joint moves the whole
 * mesh. Lives in the arena. */
pelt_result px_rigid_find(px_arena *arena, const px_jiggle_subject *subject, const pelt_jiggle_desc *desc,
                          bool **rigid);

#endif
