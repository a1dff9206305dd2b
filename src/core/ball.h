/* The reference sphere of a clip: errors are measured relative to its radius, and solvers work in its units. */
#ifndef PELT_CORE_BALL_H
#define PELT_CORE_BALL_H

#include "core/core.h"

#include <pelt/measure.h>

/* The smallest enclosing sphere of the clip's first frame; a radius of 0 becomes 1. If the first frame is smaller than
 * a tenth of the median size (shapes that grow from a point), the frame of median size is used instead. The size of a
 * frame is the RMS distance of its points from their mean; at most 64 frames are sampled. `frame`: out, the frame used;
 * may be NULL. Fails when a point is not finite. */
pelt_result px_clip_ball(pelt_context *context, const pelt_clip *clip, pelt_ball *ball, uint32_t *frame);
/* The same, found by process 0 for all processes of the group, which call it together. */
pelt_result px_clip_ball_shared(pelt_context *context, const pelt_clip *clip, pelt_ball *ball, uint32_t *frame);

#endif
