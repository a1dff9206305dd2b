/* Keys of a bone: decomposes its matrices into tracks that interpolate well, and removes redundant keys. */
#ifndef PELT_DECOMPOSE_KEYS_H
#define PELT_DECOMPOSE_KEYS_H

#include "decompose/kinds.h"

/* Constant factors of M = T·R1·S·R2·C⁻¹·Bᵀ. Bᵀ goes into the inverse bind matrix, C⁻¹ into the inner node. */
typedef struct px_bone_frame {
    double axes[9];   /* B, a rotation, row-major: its columns are the axes in the rest pose */
    double scales[3]; /* C; 1 except for nested kinds */
} px_bone_frame;

/* Matrices of a bone over one clip. They map coordinates relative to the bone's centroid to object space. */
typedef struct px_bone_path {
    const px_bone_kind *kind;
    uint32_t frame_count;   /* at least 1 */
    const double *matrices; /* [frame][12] 3×4, row-major */
    px_bone_frame frame;    /* identity for kinds that are not nested and have no axes */
    const double *turn;     /* [9] rotation, row-major, near the first linear part; NULL: the identity */
} px_bone_path;

/* One key per frame: T, R1, S and R2 of M. */
typedef struct px_bone_keys {
    float *translations;    /* [frame][3] */
    float *rotations;       /* [frame][4] */
    float *scales;          /* [frame][3]; NULL for kinds without scales */
    float *inner_rotations; /* [frame][4]; NULL for kinds that are not nested */
} px_bone_keys;

/* Chooses B and C of a bone of a nested kind, common to all its paths, such that interpolation between two frames is as
 * close as possible to linear interpolation of the matrix; see keys.c. Does not read paths[].frame. */
void px_keys_frame(const px_bone_path *paths, uint32_t path_count, px_bone_frame *frame);

/* Allocates the arrays of `keys` from `memory`. */
pelt_result px_keys_make(px_arena *memory, const px_bone_path *path, px_bone_keys *keys);

/* Removes keys of a LINEAR track while every removed key stays within `tolerance` of the interpolated value: the length
 * of the difference, for rotations of the quaternions (half the angle). The first and the last key are kept, unless all
 * are equal: then the first alone, or with the last if `ends`. Does nothing if the file would not get smaller.
 * Allocates new arrays from `memory`. */
pelt_result px_keys_reduce(px_arena *memory, pelt_track *track, double tolerance, bool ends);

#endif
