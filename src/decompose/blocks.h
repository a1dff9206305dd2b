/* Bones that leave the basis (rigid, trs): improved one (frame, bone) block after the other, from moments alone.
 *
 * For one block T = [L t] the objective is tr(T S_jj Tᵀ) − 2 tr(T Mᵀ) with M [3][4] what the other bones leave over:
 * M_kj = Q_kj − Σ_l T_kl S_lj. The best t follows from L; with it gone, tr(L Σ Lᵀ) − 2 tr(L Cᵀ) is left, Σ [3][3] the
 * bone's scatter about its mean and C [3][3] its covariance with what is left over. A kind of bone is a function that
 * lowers this.
 */
#ifndef PELT_DECOMPOSE_BLOCKS_H
#define PELT_DECOMPOSE_BLOCKS_H

#include "decompose/fit.h"

/* A bone's own part of S. */
typedef struct px_bone_moment {
    double mass;       /* 0: it carries nothing, or is locked, and is left alone */
    double mean[3];    /* centroid, weighted by squared weights */
    double scatter[9]; /* Σ */
} px_bone_moment;

typedef struct px_blocks {
    px_fit *fit;
    double *cross;         /* A Xᵀ = B Qᵀ [row][4P] */
    px_bone_moment *bones; /* [bone] */
    uint32_t *first;       /* [bone + 1] into `others` and `shared` */
    uint32_t *others;      /* bones that share vertices with a bone: few, so most of S is zero */
    double *shared;        /* [.][4][4] S_lj of those */
} px_blocks;

/* For fit->scatter and fit->cross. After a failure there is nothing to free. */
pelt_result px_blocks_create(px_fit *fit, px_blocks *blocks);
void px_blocks_free(px_blocks *blocks);

/* C of a block, and `middle` [3], where the bone's mean should be. */
void px_block_left(const px_blocks *blocks, size_t frame, size_t j, double covariance[9], double middle[3]);
void px_block_get(const px_blocks *blocks, size_t frame, size_t j, double linear[9]);
/* Stores L and the translation that is best with it. */
void px_block_put(const px_blocks *blocks, size_t frame, size_t j, const double linear[9], const double middle[3]);

/* Makes L better for Σ of bone j and C; never worse. */
typedef void px_block_solve(const px_blocks *blocks, size_t j, const double covariance[9], double linear[9]);
/* Several sweeps over the bones of every frame. */
pelt_result px_blocks_sweep(px_blocks *blocks, px_block_solve *solve);
/* Brings fit->now.reduced up to date with fit->now.full. */
void px_blocks_reduce(px_fit *fit);

/* The rotation that maximises tr(Rᵀ C) with an imperceptible pull towards R, which decides where C does not. */
void px_rotation_towards(const double c[9], double r[9]);

#endif
