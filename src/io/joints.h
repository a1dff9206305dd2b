/* Builds the skeleton of a model joint by joint, for skeleton files (BVH, ASF). */
#ifndef PELT_IO_JOINTS_H
#define PELT_IO_JOINTS_H

#include "io/words.h"

/* Suffix of an end joint: the tip of a leaf bone becomes a joint named after the bone plus this suffix. */
#define PX_JOINT_END "_end"

/* Allocates a capacity of `most` joints in a model that has none. */
pelt_result px_joints_begin(pelt_model *model, uint32_t most);
/* Appends a joint without rotation. Its name is `name` followed by `suffix`. */
pelt_result px_joints_add(pelt_model *model, px_word name, const char *suffix, uint32_t parent, const double place[3]);

#endif
