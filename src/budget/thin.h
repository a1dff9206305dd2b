/* Removal of whole key frames. */
#ifndef PELT_BUDGET_THIN_H
#define PELT_BUDGET_THIN_H

#include "core/core.h"

/* Removes key frames of a motion with a key at every frame of `clip`, in all tracks alike, while no vertex of the frames
 * between is farther than `bound` from the clip. New arrays are in the model; *key_count: frames that are left. */
pelt_result px_thin_keys(pelt_context *context, pelt_model *model, pelt_motion *motion, const pelt_clip *clip,
                         double bound, uint32_t *key_count);

#endif
