/* Skeletons of files that hold one (BVH, ASF), joint by joint. */
#ifndef PELT_IO_JOINTS_H
#define PELT_IO_JOINTS_H

#include "io/words.h"

/* The end of the last bone of a branch is a joint with the bone's name and this behind it. */
#define PX_JOINT_END "_end"

/* Room for so many joints in the model, which has none yet. */
pelt_result px_joints_begin(pelt_model *model, uint32_t most);
/* Adds one without rotation; its name is the two behind each other. */
pelt_result px_joints_add(pelt_model *model, px_word name, const char *suffix, uint32_t parent, const double place[3]);

#endif
