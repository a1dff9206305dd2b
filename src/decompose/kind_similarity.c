/* Similarity bones: L = s·R, a rotation and a uniform scale (S. Umeyama, "Least-squares estimation of transformation
 * parameters between two point patterns", 1991).
 *
 * The objective of a block is s² tr Σ − 2 s tr(Rᵀ C). The best R is the polar factor of C for any s > 0; the best s is
 * tr(Rᵀ C) / tr Σ, which is not negative. Every block is solved exactly.
 */
#include "decompose/kinds.h"

#include <math.h>

#define MIN_SCALE 1e-6 /* at scale 0 the matrix would lose its rotation */
#define SCALE_PULL                                                                                                     \
    1e-12 /* damping towards the current scale, relative to the bone's mass: decides for a bone with a single vertex,
           * whose scatter is only rounding (in the unit sphere) */

/* The scale of s·R, negative if it mirrors (possible below a host that mirrors). */
static double scale_of(const double m[9]) {
    double square = 0, determinant = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                                     m[2] * (m[3] * m[7] - m[4] * m[6]);
    for (int e = 0; e < 9; e++)
        square += m[e] * m[e];
    return copysign(px_fmax(sqrt(square / 3), MIN_SCALE), determinant);
}

static double dot(const double a[9], const double b[9]) {
    double sum = 0;
    for (int e = 0; e < 9; e++)
        sum += a[e] * b[e];
    return sum;
}

static void solve_block(const px_blocks *blocks, size_t j, const double covariance[9], double linear[9]) {
    const px_bone_moment *bone = &blocks->bones[j];
    double rotation[9], scale = scale_of(linear), pull = SCALE_PULL * bone->mass;
    for (int e = 0; e < 9; e++)
        rotation[e] = linear[e] / scale;
    px_rotation_towards(covariance, rotation);
    double size = bone->scatter[0] + bone->scatter[4] + bone->scatter[8];
    scale = px_fmax((dot(rotation, covariance) + pull * scale) / (px_fmax(size, 0) + pull), MIN_SCALE);
    for (int e = 0; e < 9; e++)
        linear[e] = scale * rotation[e];
}

static void project(const double *axes, double linear[9]) {
    (void)axes;
    double rotation[9];
    px_polar3(linear, rotation, NULL);
    double scale = px_fmax(dot(rotation, linear) / 3, MIN_SCALE);
    for (int e = 0; e < 9; e++)
        linear[e] = scale * rotation[e];
}

static void follow(px_stretch *path, const double linear[9]) {
    double scale = scale_of(linear);
    for (int e = 0; e < 9; e++)
        path->u[e] = linear[e] / scale;
    path->s[0] = path->s[1] = path->s[2] = scale;
}

const px_bone_kind px_bone_similarity = {
    .name = "similarity",
    .scales = true,
    .host = PX_HOST_SIMILARITY,
    .solve_block = solve_block,
    .project = project,
    .follow = follow,
};
