/* Flesh in every frame: the loops over blocks of particles and cells, once for every instruction set (core/lanes.h).
 * Each body of a kernel does the same operations in the same order, so all agree to the last bit.
 */
#ifndef PELT_JIGGLE_KERNELS_H
#define PELT_JIGGLE_KERNELS_H

#include "core/core.h"

#include <pelt/run.h>

/* Particles and cells come in blocks of this many; the last one is filled up with some that weigh nothing. */
#define PX_JIGGLE_BLOCK 8u
static inline size_t px_jiggle_padded(size_t count) {
    return px_block_count(count, PX_JIGGLE_BLOCK) * PX_JIGGLE_BLOCK;
}

/* ---- Skinning of particles -------------------------------------------------------------------------------- */

/* How a joint has moved since rest, T = translation · R · S: what of it blends, less the identity, so that a rig at rest
 * moves nothing, to the last bit. */
typedef struct px_joint_motion {
    float rotation[4]; /* of R: a quaternion, on the side of its neighbours' */
    float matrix[12];  /* T − 1, as pelt_affine */
    float stretch[6];  /* S − 1: xx xy xz yy yz zz */
    float unused[2];
} px_joint_motion;

typedef struct px_skin_pass {
    uint32_t block_count;
    uint32_t influences;            /* room of a row */
    const uint8_t *counts;          /* [block] influences in use */
    const uint16_t *joints;         /* [particle][influences] */
    const float *weights;           /* [particle][influences] */
    const float *rest;              /* [particle][4] x y z 0 */
    const float *centres;           /* [particle][4] x y z 0: what the particle turns about */
    const px_joint_motion *motions; /* [joint] */
    float amount;                   /* 0: linear blend … 1: no collapse */
    float *positions;               /* [particle][4] out: x y z 0 */
    float *fields; /* [particle][4] out: from the centre to the particle, as they lie now; det S − 1 */
} px_skin_pass;

/* ---- Volume ----------------------------------------------------------------------------------------------- */

/* Eight cells, and which of their octants count. */
typedef struct px_volume_block {
    uint32_t corners[8][PX_JIGGLE_BLOCK]; /* [corner][cell] particles */
    float shares[8][PX_JIGGLE_BLOCK];     /* [corner][cell] 1/8 for the octant of a particle that counts, else 0 */
} px_volume_block;

/* Adds to sums [coefficient][cell] the volume of positions + λ · field as a polynomial in λ. */
typedef void px_volume_kernel(const px_volume_block *blocks, size_t block_count, const float *positions,
                              const float *field, float sums[4][PX_JIGGLE_BLOCK]);

/* ---- Bodies ----------------------------------------------------------------------------------------------- */

typedef struct px_jiggle_kernels {
    void (*skin)(const px_skin_pass *pass);
    px_volume_kernel *volume;
} px_jiggle_kernels;

extern const px_jiggle_kernels px_jiggle_scalar, px_jiggle_sse2, px_jiggle_avx2, px_jiggle_neon;
/* Those for an instruction set, which must be available. */
const px_jiggle_kernels *px_jiggle_kernels_of(pelt_simd simd);

#endif
