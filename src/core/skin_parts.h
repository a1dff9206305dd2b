/* Makes parts that hang from a joint parts of the skin. */
#ifndef PELT_CORE_SKIN_PARTS_H
#define PELT_CORE_SKIN_PARTS_H

#include "core/core.h"

/* Readers give a part that hangs from a joint a bone of its own, in the space of the rest pose; skinned parts may be in
 * another one. Bones that are to carry vertices of both need them in one. So that every pose stays as it is, vertices of
 * such a part move to the space of the skin, and follow its bone of the same joint, or of the next above when no motion
 * moves those between. Parts for which there is no such bone stay as they are. Bones that nothing uses then are removed. */
pelt_result px_skin_join_parts(pelt_model *model);

#endif
