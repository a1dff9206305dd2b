/* Volumes around joints of real characters in motion: the loss by linear blending, and the remaining loss with volume
 * preservation. */
#ifndef PELT_BENCH_VOLUME_TABLE_H
#define PELT_BENCH_VOLUME_TABLE_H

#include <pelt/model.h>

/* Every joint of one character in one motion: a file (.bvh, .amc), "sit", "fist", or "own:INDEX" of its own motions. */
pelt_result volume_joints(pelt_context *context, const char *rig, const char *motion, uint32_t particles);

/* The table of docs/jiggle.md: volumes as `pelt jiggle` reports them, the worst of all frames. */
pelt_result volume_table(pelt_context *context);

#endif
