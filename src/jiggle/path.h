/* Interpolation between the poses that the caller sets. */
#ifndef PELT_JIGGLE_PATH_H
#define PELT_JIGGLE_PATH_H

#include "core/core.h"

/* Floats of a local transform. */
#define PX_PATH_NUMBERS 10

/* Path of a joint over one step. Quaternions of both ends have the same sign, so that components can be
 * interpolated. */
typedef struct px_joint_path {
    float from[PX_PATH_NUMBERS], to[PX_PATH_NUMBERS]; /* translation, rotation, scale */
    float leaving[PX_PATH_NUMBERS];                   /* derivative at the start, per second */
    float arriving[PX_PATH_NUMBERS];                  /* derivative at the end */
    float chord[PX_PATH_NUMBERS];                     /* mean velocity of the previous step, per second */
} px_joint_path;

typedef struct px_path {
    uint32_t joint_count;
    px_joint_path *joints; /* [joint] */
    double interval;       /* length of the previous step, seconds; 0: none */
} px_path;

pelt_result px_path_make(px_arena *arena, const pelt_skeleton *skeleton, px_path *path);
/* Sets the end of the step: local transforms [joint]. A transform that is not finite keeps the previous end. */
void px_path_aim(px_path *path, const pelt_transform *locals);
/* Sets the length of the coming step, > 0. */
void px_path_leave(px_path *path, double seconds);
/* Evaluates local transforms [joint] at `part`, 0 to 1, of a step of `seconds`; exact at 1. */
void px_path_at(const px_path *path, double part, double seconds, pelt_transform *locals);
/* Ends a step of this length and starts the next one at its end. */
void px_path_arrive(px_path *path, double seconds);
/* Ends the step with velocity 0. */
void px_path_stop(px_path *path);

#endif
