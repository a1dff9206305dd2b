/* The space that errors are measured in, and solvers work in. */
#ifndef PELT_CORE_BALL_H
#define PELT_CORE_BALL_H

#include "core/core.h"

#include <pelt/measure.h>

/* The smallest ball around the points of the clip's first frame; radius 1 where that would be 0. Where the first frame has less
 * than a tenth of the median size (things that grow from a point), it is the ball of the frame of median size instead. Sizes are
 * RMS distances from the mean, of at most 64 frames. `frame`: which one it is, or NULL. Fails when a point is not finite. */
pelt_result px_clip_ball(pelt_context *context, const pelt_clip *clip, pelt_ball *ball, uint32_t *frame);

#endif
