/* Pelt's run time: what an engine needs to play rigs. The functions of these headers are in libpelt-run, which needs libc, libm
 * and threads only, and in libpelt. Link one of the two. docs/runtime.md shows how an engine fills a model. */
#ifndef PELT_RUNTIME_H
#define PELT_RUNTIME_H

#include <pelt/base.h>
#include <pelt/collide.h>
#include <pelt/crowd.h>
#include <pelt/delta_mush.h>
#include <pelt/jiggle.h>
#include <pelt/measure.h>
#include <pelt/model.h>
#include <pelt/run.h>
#include <pelt/weights.h>

#endif
