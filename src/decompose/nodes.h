/* Joints and tracks of a bone that moves relative to a bone of a rig, its host.
 *
 * With the host's inverse bind matrix H (scale s), the pivot g and the axes B of the bone,
 *
 *   inverse bind  E = s Bᵀ (v − g)
 *   matrix        L = H X E⁻¹, relative to the host's joint
 *
 * so that global(host) · L · E = palette(host) · X. Bones of nested kinds have two joints below the host's, because one joint
 * holds no shear; the inner one is the bone's.
 */
#ifndef PELT_DECOMPOSE_NODES_H
#define PELT_DECOMPOSE_NODES_H

#include "decompose/keys.h"

typedef struct px_bone_node {
    const px_bone_kind *kind;
    uint32_t joint;      /* of the bone; the outer joint of nested kinds is the one before */
    double host[12];     /* H, linear part divided by s */
    double turn[9];      /* rotation nearest to that linear part */
    double scale;        /* s */
    double pivot[3];     /* g, object units */
    px_bone_frame frame; /* B and C; set by px_keys_frame, for kinds that are not nested the identity */
} px_bone_node;

/* `to` := a copy of the joints of `from` in `memory`, with room for `added` more, which are not set. */
pelt_result px_skeleton_extend(px_arena *memory, const pelt_skeleton *from, uint32_t added, pelt_skeleton *to);
/* A bone of this kind with this pivot, whose host has this inverse bind matrix; `frame` is the identity. */
px_bone_node px_bone_node_make(const px_bone_kind *kind, uint32_t joint, const pelt_affine *inverse_bind,
                               const double pivot[3]);
/* H X T(g) for X 3×4, row-major: the matrix that paths consist of (px_bone_path). */
void px_bone_node_matrix(const px_bone_node *node, const double x[12], double out[12]);
/* Sets the joints of `skeleton`, below the host's joint, to rest at `matrix` (px_bone_node_matrix). Names are not set. Scratch
 * memory comes from `arena`. */
pelt_result px_bone_node_rest(px_arena *arena, const px_bone_node *node, const double matrix[12], uint32_t host_joint,
                              const pelt_skeleton *skeleton);
/* E. */
pelt_affine px_bone_node_bind(const px_bone_node *node);

/* Times of a motion, and how far reduced keys may move points at the distance `reach` from the pivot. */
typedef struct px_node_times {
    const float *times; /* [key] */
    uint32_t key_count;
    pelt_interpolation interpolation;
    double move;  /* object units */
    double reach; /* object units */
} px_node_times;
/* Appends tracks for matrices [key][12] to the motion, which has room for four, with keys in `memory`. Tracks that stay in the
 * rest pose of `skeleton` are left out; redundant keys of LINEAR tracks too. */
pelt_result px_bone_node_tracks(px_arena *memory, const px_bone_node *node, const pelt_skeleton *skeleton,
                                const double *matrices, const px_node_times *times, pelt_motion *motion);

#endif
