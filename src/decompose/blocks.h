/* Transforms of bone kinds that leave the basis (rigid, similarity, trs): block coordinate descent over (frame, bone)
 * blocks, from moments alone.
 *
 * For one block T = [L t] the objective is tr(T S_jj Tᵀ) − 2 tr(T Mᵀ), where M [3][4] is the residual cross moment
 * without bone j: M_kj = Q_kj − Σ_l T_kl S_lj over the other bones l. The best t follows from L. Eliminating it leaves
 * tr(L Σ Lᵀ) − 2 tr(L Cᵀ), with Σ [3][3] the scatter of the bone's vertices about their mean and C [3][3] their
 * covariance with the residual. Each bone kind provides a function that lowers this.
 */
#ifndef PELT_DECOMPOSE_BLOCKS_H
#define PELT_DECOMPOSE_BLOCKS_H

#include "decompose/fit.h"

/* Moments of one bone, from its diagonal block of S. */
typedef struct px_bone_moment {
    double mass;       /* sum of squared weights; 0: no vertices, or locked: the bone is skipped */
    double mean[3];    /* centroid, weighted by squared weights */
    double scatter[9]; /* Σ */
} px_bone_moment;

typedef struct px_blocks {
    px_fit *fit;
    double *cross;         /* A Xᵀ = B Qᵀ [row][4P] */
    px_bone_moment *bones; /* [bone] */
    uint32_t *first;       /* [bone + 1] into `others` and `shared` */
    uint32_t *others;      /* bones that share vertices with a bone: few, so S is sparse */
    double *shared;        /* [entry of others][4][4] S_lj */
} px_blocks;

/* Uses fit->scatter and fit->cross. After a failure there is nothing to free. */
pelt_result px_blocks_create(px_fit *fit, px_blocks *blocks);
void px_blocks_free(px_blocks *blocks);

/* Computes C of a block and `middle` [3], the best position of the bone's mean. */
void px_block_left(const px_blocks *blocks, size_t frame, size_t j, double covariance[9], double middle[3]);
void px_block_get(const px_blocks *blocks, size_t frame, size_t j, double linear[9]);
/* Stores L and the best translation for it. */
void px_block_put(const px_blocks *blocks, size_t frame, size_t j, const double linear[9], const double middle[3]);

/* Improves L for Σ of bone j and C; the block's objective never rises. */
typedef void px_block_solve(const px_blocks *blocks, size_t j, const double covariance[9], double linear[9]);
/* Several sweeps over the bones of every frame. */
pelt_result px_blocks_sweep(px_blocks *blocks, px_block_solve *solve);
/* Recomputes fit->now.reduced from fit->now.full. */
void px_blocks_reduce(px_fit *fit);

/* Replaces r by the rotation R that maximises tr(Rᵀ C). A penalty of 1e-10 towards the old r decides directions that C
 * leaves undetermined. */
void px_rotation_towards(const double c[9], double r[9]);

#endif
