/* Rigid shells of the mesh. */
#ifndef PELT_JIGGLE_RIGID_H
#define PELT_JIGGLE_RIGID_H

#include "jiggle/jiggle.h"

#include <pelt/jiggle.h>

/* rigid [vertex]: one joint alone moves its shell; NULL: no shell is rigid. No shell is rigid whose softness `desc` sets (by
 * softness, joints or maps), and none where one joint moves the whole mesh. In the arena. */
pelt_result px_rigid_find(px_arena *arena, const px_jiggle_subject *subject, const pelt_jiggle_desc *desc,
                          bool **rigid);

#endif
