/* The space that errors are measured in, and solvers work in. */
#ifndef PELT_CORE_BALL_H
#define PELT_CORE_BALL_H

#include "core/core.h"

#include <pelt/measure.h>

/* The smallest ball around the points of the clip's first frame; radius 1 where that would be 0. Fails when a point is not
 * finite. */
pelt_result px_clip_ball(pelt_context *context, const pelt_clip *clip, pelt_ball *ball);

#endif
