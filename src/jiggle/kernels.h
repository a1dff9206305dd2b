/* Kernels of a frame: loops over blocks of particles and cells, compiled for every instruction set (core/lanes.h). All
 * versions do the same operations in the same order and agree bit for bit.
 */
#ifndef PELT_JIGGLE_KERNELS_H
#define PELT_JIGGLE_KERNELS_H

#include "jiggle/jiggle.h"

#include <pelt/jiggle.h>
#include <pelt/run.h>

/* Particles and cells per block; the last block is padded with elements of weight 0. */
#define PX_JIGGLE_BLOCK 8u
static inline size_t px_jiggle_padded(size_t count) {
    return px_block_count(count, PX_JIGGLE_BLOCK) * PX_JIGGLE_BLOCK;
}

/* ---- Skinning of particles -------------------------------------------------------------------------------- */

/* Motion of a joint from rest, T = translation · R · S, in the form that is blended. The identity is subtracted, so
 * that a rig at rest displaces particles by exactly 0. */
typedef struct px_joint_motion {
    float rotation[4]; /* quaternion of R; its sign: choose_side (skin.c) */
    float matrix[12];  /* T − 1, as pelt_affine */
    float stretch[6];  /* S − 1: xx xy xz yy yz zz */
    float unused[2];
} px_joint_motion;

typedef struct px_skin_pass {
    uint32_t block_count;
    uint32_t influences;            /* stride of joints and weights */
    const uint8_t *counts;          /* [block] influences in use */
    const uint16_t *joints;         /* [particle][influences] */
    const float *weights;           /* [particle][influences] */
    const float *rest;              /* [particle][4] x y z 0 */
    const float *centres;           /* [particle][4] x y z 0: centre of rotation */
    const px_joint_motion *motions; /* [joint] */
    float amount;                   /* 0: linear blend skinning … 1: rotation about the centres */
    float *positions;               /* [particle][4] out: x y z 0 */
    float *turns;                   /* [particle][4] out: quaternion of R */
    float *growths;                 /* [particle] out: det S − 1 */
} px_skin_pass;
typedef void px_skin_kernel(const px_skin_pass *pass);

/* ---- Volume ----------------------------------------------------------------------------------------------- */

/* Eight cells, and which of their octants belong to the part. */
typedef struct px_volume_block {
    uint32_t corners[8][PX_JIGGLE_BLOCK]; /* [corner][cell] particles */
    float shares[8][PX_JIGGLE_BLOCK];     /* [corner][cell] filled fraction / 8 for octants of the part, else 0 */
} px_volume_block;

/* Distance from the corner at which octants are measured, in cells: (1 − 1/√3) / 2, two-point Gauss quadrature. */
#define PX_VOLUME_GAUSS 0.21132487f

/* Adds the volume of positions + λ · field, as a polynomial in λ, to sums [coefficient][cell]. field NULL: adds only
 * the constant term to sums[0], with identical bits. `inset`: PX_VOLUME_GAUSS, or 0 to measure octants at the corners. */
typedef void px_volume_kernel(const px_volume_block *blocks, size_t block_count, float inset, const float *positions,
                              const float *field, float sums[4][PX_JIGGLE_BLOCK]);

/* ---- Shape matching --------------------------------------------------------------------------------------- */

/* Floats per particle summed over each region (UP), and floats per region summed over the regions of each particle
 * (DOWN). */
#define PX_MATCH_UP   32u
#define PX_MATCH_DOWN 24u

/* Windowed sums along chains: out[p] = Σ in[q] over the q at most `half` items from p in the same chain. */
typedef struct px_window_pass {
    const px_chains *chains;
    const uint8_t *again; /* [item] an earlier item is the same particle: add to its sum */
    uint32_t half;
    bool add; /* add to `out` instead of replacing it */
    const float *in;
    float *out;
} px_window_pass;
typedef void px_window_kernel(const px_window_pass *pass);

/* Unit of length: cells. y = (skin − centre) / cell; u: displacements from the skin, w: velocities relative to it. */
typedef struct px_swing_pass {
    uint32_t block_count;
    float cell, centre[3];
    float step;           /* h, seconds */
    float region_damping; /* 1 − exp(−rate · h) */
    const float *skin;    /* [particle][4] units */
    const float *shape;   /* [particle][4] cells: rest shape, for PELT_JIGGLE_REGIONS_REST */
    const float *masses;  /* [particle] 1 / Σ weights of the regions that contain it */
    const float *deltas;  /* [particle] */
    const float *keeps;   /* [particle] velocity kept per substep, exp(−damping · h) */
    const float *pulls;   /* [particle] α / h */
    const float *pushes;  /* [particle][4] h · acceleration; NULL: no forces */
    const float *sums;    /* [region][PX_MATCH_UP] */
    const float *shares;  /* [region] weight of the region */
    float *rotations;     /* [region][4] quaternions */
    float *rows;          /* out: [particle][PX_MATCH_UP] or [region][PX_MATCH_DOWN] */
    const float *goals;   /* [particle][PX_MATCH_DOWN] */
    float *u, *w;         /* [particle][4] */
    float *skin_before;   /* [particle][4] in/out, units: skin of the previous substep; set to `skin` */
    float *skin_velocity; /* [particle][4] in/out: velocity of the skin, cells / s */
} px_swing_pass;
typedef void px_swing_kernel(const px_swing_pass *pass);
/* The steps of one substep, in order; between them rows are summed over regions, and back. */
typedef struct px_match_kernels {
    px_swing_kernel *fill_rows, *match_regions, *move_particles;
} px_match_kernels;

/* ---- Mesh ------------------------------------------------------------------------------------------------- */

/* Vertices of one cell; a partial block repeats its last vertex. */
typedef struct px_mesh_block {
    float places[3][PX_JIGGLE_BLOCK];  /* coordinates in the cell, 0 to 1 */
    float normals[3][PX_JIGGLE_BLOCK]; /* at rest */
    uint32_t vertices[PX_JIGGLE_BLOCK];
} px_mesh_block;

typedef struct px_mesh_pass {
    uint32_t cell_count;
    const uint32_t (*cells)[8]; /* [cell] particles */
    const uint32_t *firsts;     /* [cell + 1] first block of each cell */
    const px_mesh_block *blocks;
    const float *particles; /* [particle][4] units */
    const float *cofactors; /* [particle][12] cofactors of the deformation gradient, rows of 4; NULL: no normals */
    float *positions;       /* [vertex][3] */
    float *normals;         /* [vertex][3] */
} px_mesh_pass;
typedef void px_mesh_kernel(const px_mesh_pass *pass);

/* ---- Dispatch --------------------------------------------------------------------------------------------- */

typedef struct px_jiggle_kernels {
    px_skin_kernel *skin[PELT_JIGGLE_BLEND_POLAR + 1]; /* [pelt_jiggle_blend] */
    px_volume_kernel *volume;
    px_window_kernel *sum_up, *sum_down;
    px_match_kernels match[PELT_JIGGLE_REGIONS_REST + 1]; /* [pelt_jiggle_regions] */
    px_mesh_kernel *mesh;
} px_jiggle_kernels;
/* The functions that the kernel headers define. */
#define PX_JIGGLE_KERNELS                                                                                              \
    {                                                                                                                  \
        {skin_about_centres, skin_by_polar}, add_volumes, sum_up, sum_down,                                            \
            {{fill_rows, match_regions, move_particles}, {fill_rest_rows, match_rest_regions, move_rest_particles}},   \
            move_vertices                                                                                              \
    }

extern const px_jiggle_kernels px_jiggle_scalar, px_jiggle_sse2, px_jiggle_avx2, px_jiggle_neon, px_jiggle_wasm;
/* The kernels for an instruction set, which must be available. */
const px_jiggle_kernels *px_jiggle_kernels_of(pelt_simd simd);

#endif
