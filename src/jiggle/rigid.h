/* Shells of the mesh that are rigid. */
#ifndef PELT_JIGGLE_RIGID_H
#define PELT_JIGGLE_RIGID_H

#include "jiggle/jiggle.h"

#include <pelt/jiggle.h>

/* rigid [vertex]: whether one joint alone moves its shell; NULL: there is no such shell. None is rigid where `desc` says how
 * soft it is, by softness, joints or maps, nor when one joint moves the whole mesh. In the arena. */
pelt_result px_rigid_find(px_arena *arena, const px_jiggle_subject *subject, const pelt_jiggle_desc *desc,
                          bool **rigid);

#endif
