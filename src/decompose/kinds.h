/* Bone kinds: which matrices a bone may have, how they are fitted to moments, and which nodes and tracks represent
 * them.
 *
 * To add a kind: write a file that defines a px_bone_kind, add its name to PX_BONE_KINDS and its value to
 * pelt_transforms (decompose.h).
 */
#ifndef PELT_DECOMPOSE_KINDS_H
#define PELT_DECOMPOSE_KINDS_H

#include "decompose/blocks.h"
#include "decompose/stretch.h"

/* In the order of pelt_transforms. */
#define PX_BONE_KINDS(KIND) KIND(affine) KIND(trs) KIND(rigid) KIND(similarity)

/* Matrices that a host (host.h) must have: host⁻¹ · M must still be of the bone's kind. */
typedef enum px_host_matrices { PX_HOST_INVERTIBLE, PX_HOST_SIMILARITY, PX_HOST_RIGID } px_host_matrices;

struct px_bone_kind {
    const char *name; /* value of the option `transforms` */
    /* unconstrained: any 3×4 matrix. Transforms are kept in the basis only (state.reduced). They may become flat or
     * mirror, so they are pulled towards rotations at the end (pulls.h). */
    bool unconstrained;
    bool has_axes; /* L = R·diag(s)·U: state.axes holds U of every bone */
    bool scales;   /* joints have a scale track */
    bool nested;   /* two nodes per bone, the inner one with a rotation track */
    bool joins;    /* bones can be joined into a hierarchy */
    px_host_matrices host;

    /* Improves the transforms for the moments fit->scatter and fit->cross. NULL: solved block by block with
     * `solve_block`, after `prepare` (NULL: nothing to prepare). The objective never rises. */
    pelt_result (*fit)(px_fit *fit);
    pelt_result (*prepare)(px_blocks *blocks);
    px_block_solve *solve_block;

    /* Projects a linear part to this kind. axes: U of the bone, or NULL. NULL for unconstrained kinds. */
    void (*project)(const double *axes, double linear[9]);
    /* Factorises the next linear part along a path; see stretch.h. */
    void (*follow)(px_stretch *path, const double linear[9]);
};

#define PX_BONE_DECLARE(name) extern const px_bone_kind px_bone_##name;
PX_BONE_KINDS(PX_BONE_DECLARE)
#undef PX_BONE_DECLARE

/* The kind of a pelt_transforms value. */
const px_bone_kind *px_bone_kind_at(uint32_t transforms);

#endif
