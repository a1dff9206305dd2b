/* Converts rigid parts (attached to a joint) into skinned parts. */
#ifndef PELT_CORE_SKIN_PARTS_H
#define PELT_CORE_SKIN_PARTS_H

#include "core/core.h"

/* Readers give a part attached to a joint a bone of its own; its vertices and those of skinned parts may be in
 * different bind spaces. A bone can carry vertices of both only if they are in one space. So vertices of such a part
 * are transformed to the bind space of the skin and assigned to its bone of the same joint, or of the nearest ancestor
 * that has one, if no motion animates the joints in between. Every pose is unchanged. Parts without such a bone are
 * unchanged. Replaced bones are removed. */
pelt_result px_skin_join_parts(pelt_model *model);

#endif
