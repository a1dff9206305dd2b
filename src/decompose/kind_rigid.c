/* Rigid bones: L is a rotation, so tr(L Σ Lᵀ) is constant and the best L is the polar factor of C (weighted
 * Procrustes). Every block is solved exactly, so the objective never rises. */
#include "decompose/kinds.h"

static void solve_block(const px_blocks *blocks, size_t j, const double covariance[9], double linear[9]) {
    (void)blocks, (void)j;
    px_rotation_towards(covariance, linear);
}

static void project(const double *axes, double linear[9]) {
    (void)axes;
    double rotation[9];
    px_polar3(linear, rotation, NULL);
    memcpy(linear, rotation, sizeof rotation);
}

static void follow(px_stretch *path, const double linear[9]) {
    memcpy(path->u, linear, sizeof path->u);
}

const px_bone_kind px_bone_rigid = {
    .name = "rigid",
    .joins = true,
    .host = PX_HOST_RIGID,
    .solve_block = solve_block,
    .project = project,
    .follow = follow,
};
