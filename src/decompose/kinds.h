/* Kinds of bone: which matrices a bone may have, how these are fitted to moments, and what a file needs to play them.
 *
 * To add a kind: a file with a px_bone_kind, its name in PX_BONE_KINDS, and its value in pelt_transforms (decompose.h).
 */
#ifndef PELT_DECOMPOSE_KINDS_H
#define PELT_DECOMPOSE_KINDS_H

#include "decompose/blocks.h"
#include "decompose/stretch.h"

/* In the order of pelt_transforms. */
#define PX_BONE_KINDS(KIND) KIND(affine) KIND(trs) KIND(rigid) KIND(similarity)

/* Which bones of a rig can carry a new bone: with host⁻¹ · M the bone must still be of its kind. */
typedef enum px_host_matrices { PX_HOST_INVERTIBLE, PX_HOST_SIMILARITY, PX_HOST_RIGID } px_host_matrices;

struct px_bone_kind {
    const char *name;   /* in the option `transforms` */
    bool unconstrained; /* any 3×4 matrix: transforms are kept in the basis (state.reduced) alone. They may flatten or
                         * mirror, so they are pulled towards rotations at the end (pulls.h) */
    bool has_axes;      /* L = R·diag(s)·U: state.axes has U of every bone */
    bool scales;        /* joints have a track of scales */
    bool nested;        /* two nodes for a bone, the inner one with a track of rotations */
    bool joins;         /* bones can be joined into a hierarchy */
    px_host_matrices host;

    /* Better transforms for the moments fit->scatter and fit->cross, never worse ones. Kinds that are not unconstrained
     * have NULL and are solved block by block, after `prepare` (NULL: nothing to do). */
    pelt_result (*fit)(px_fit *fit);
    pelt_result (*prepare)(px_blocks *blocks);
    px_block_solve *solve_block;

    /* Replaces a linear part by a near one of this kind. axes: U of the bone, or NULL. NULL for unconstrained kinds. */
    void (*project)(const double *axes, double linear[9]);
    /* The factors of the next linear part along a path; see stretch.h. */
    void (*follow)(px_stretch *path, const double linear[9]);
};

#define PX_BONE_DECLARE(name) extern const px_bone_kind px_bone_##name;
PX_BONE_KINDS(PX_BONE_DECLARE)
#undef PX_BONE_DECLARE

/* By pelt_transforms. */
const px_bone_kind *px_bone_kind_at(uint32_t transforms);

#endif
