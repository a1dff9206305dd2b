/* Keys of a bone: from a matrix per frame to tracks that can be interpolated, and as few of them as will do. */
#ifndef PELT_DECOMPOSE_KEYS_H
#define PELT_DECOMPOSE_KEYS_H

#include "core/core.h"
#include <pelt/decompose.h>

/* A bone over one clip. Its matrices move points given from the bone's middle to object space. */
typedef struct px_bone_path {
    pelt_transforms kind;
    uint32_t frame_count;   /* at least 1 */
    const float *times;     /* [frame] seconds */
    const double *matrices; /* [frame][12] row by row */
    double axes[9];         /* trs: the constant axes, as columns; affine: where the first frame looks for them */
    double reach;           /* how far what it carries lies from its middle, object units */
    double band;            /* how far between two frames a carried point may leave the straight line, object units */
} px_bone_path;

/* M = T·R1·S·R2 at each key. */
typedef struct px_bone_keys {
    uint32_t count;
    const float *times;     /* [key] the path's own when no key had to be added */
    float *translations;    /* [key][3] */
    float *rotations;       /* [key][4] */
    float *scales;          /* [key][3]; NULL for rigid bones */
    float *inner_rotations; /* [key][4]; NULL but for affine bones */
} px_bone_keys;

/* A key per frame. Interpolating turns and scales apart is not interpolating the matrix: where a carried point would
 * stray further than `band`, keys are added between the frames. The arrays come from `memory`. */
pelt_result px_keys_make(px_arena *memory, const px_bone_path *path, px_bone_keys *keys);

/* Leaves out keys of a LINEAR track as long as all of them stay within `tolerance` of what is then interpolated: the
 * length of the difference, for rotations that of the quaternions (half the angle). The first and the last key stay,
 * unless all are alike: then the first stays alone, or with the last when `ends` says so. Does nothing when a file
 * would not get smaller. New arrays come from `memory`. */
pelt_result px_keys_reduce(px_arena *memory, pelt_track *track, double tolerance, bool ends);

#endif
