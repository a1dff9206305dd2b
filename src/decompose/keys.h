/* Keys of a bone: from a matrix per frame to tracks that can be interpolated, and as few of them as will do. */
#ifndef PELT_DECOMPOSE_KEYS_H
#define PELT_DECOMPOSE_KEYS_H

#include "decompose/kinds.h"

/* What of a bone is constant: M = T·R1·S·R2·C⁻¹·Bᵀ. Bᵀ goes into the inverse bind matrix, C⁻¹ to the inner node. */
typedef struct px_bone_frame {
    double axes[9];   /* B, a rotation row by row: its columns are the axes in the rest pose */
    double scales[3]; /* C; 1 but for nested kinds */
} px_bone_frame;

/* A bone over one clip. Its matrices move points given from the bone's middle to object space. */
typedef struct px_bone_path {
    const px_bone_kind *kind;
    uint32_t frame_count;   /* at least 1 */
    const double *matrices; /* [frame][12] row by row */
    px_bone_frame frame;    /* the identity for kinds without axes that are not nested */
} px_bone_path;

/* A key per frame: T, R1, S and R2 of M. */
typedef struct px_bone_keys {
    float *translations;    /* [frame][3] */
    float *rotations;       /* [frame][4] */
    float *scales;          /* [frame][3]; NULL for kinds without scales */
    float *inner_rotations; /* [frame][4]; NULL for kinds that are not nested */
} px_bone_keys;

/* Chooses B and C of a bone of a nested kind, the same for all its paths, so that what is interpolated between two frames is as
 * near as possible to the straight line; see keys.c. Their own frames are not read. */
void px_keys_frame(const px_bone_path *paths, uint32_t path_count, px_bone_frame *frame);

/* The arrays come from `memory`. */
pelt_result px_keys_make(px_arena *memory, const px_bone_path *path, px_bone_keys *keys);

/* Leaves out keys of a LINEAR track as long as all of them stay within `tolerance` of what is then interpolated: the
 * length of the difference, for rotations that of the quaternions (half the angle). The first and the last key stay,
 * unless all are alike: then the first stays alone, or with the last when `ends` says so. Does nothing when a file
 * would not get smaller. New arrays come from `memory`. */
pelt_result px_keys_reduce(px_arena *memory, pelt_track *track, double tolerance, bool ends);

#endif
