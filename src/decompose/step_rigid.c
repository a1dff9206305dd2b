/* Rigid bones: L is a rotation, tr(L Σ Lᵀ) is constant, and the best one is the polar factor of C (weighted
 * Procrustes). Every block is solved exactly, so the objective falls with each. */
#include "decompose/blocks.h"
#include "decompose/kinds.h"

static void solve_block(const px_blocks *blocks, size_t j, const double covariance[9], double linear[9]) {
    (void)blocks, (void)j;
    px_rotation_towards(covariance, linear);
}

pelt_result px_fit_rigid(px_fit *fit) {
    px_blocks blocks;
    PX_TRY(px_blocks_create(fit, &blocks));
    pelt_result result = px_blocks_sweep(&blocks, solve_block);
    px_blocks_reduce(fit);
    px_blocks_free(&blocks);
    return result;
}
