/* Poses between those that are set, from inside. */
#ifndef PELT_JIGGLE_PATH_H
#define PELT_JIGGLE_PATH_H

#include "core/core.h"

/* Numbers of a local transform. */
#define PX_PATH_NUMBERS 10

/* From where a joint was to where it goes. Rotations are on one side, so that numbers can be blended. */
typedef struct px_joint_path {
    float from[PX_PATH_NUMBERS], to[PX_PATH_NUMBERS]; /* translation, rotation, scale */
    float leaving[PX_PATH_NUMBERS];                   /* per second, at the beginning */
    float arriving[PX_PATH_NUMBERS];                  /* and at the end */
    float chord[PX_PATH_NUMBERS];                     /* per second, of the step before */
} px_joint_path;

typedef struct px_path {
    uint32_t joint_count;
    px_joint_path *joints; /* [joint] */
    double interval;       /* seconds of the step before; 0: there was none */
} px_path;

pelt_result px_path_make(px_arena *arena, const pelt_skeleton *skeleton, px_path *path);
/* Where joints go: local transforms [joint]; those that are not finite go where they went. */
void px_path_aim(px_path *path, const pelt_transform *locals);
/* The coming step takes so long, more than 0. */
void px_path_leave(px_path *path, double seconds);
/* Local transforms [joint] so far on the way: 0 to 1, which is exactly where it goes. */
void px_path_at(const px_path *path, double part, double seconds, pelt_transform *locals);
/* It is there, after so many seconds; the next step begins. */
void px_path_arrive(px_path *path, double seconds);
/* It is there and stands still. */
void px_path_stop(px_path *path);

#endif
