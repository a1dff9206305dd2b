/* Fit a rest direction (normal or tangent) to target directions in the frames, skinned as engines skin it: n' = M n /
 * |M n|, with M the linear part of the blended transform. Levenberg-Marquardt (damped Gauss-Newton) on the squared
 * angles: a step solves Σ AᵀPA · step = Σ Aᵀr over the frames.
 *
 *   A  M / |M n|
 *   P  projection onto the plane perpendicular to n'
 *   r  component of the target perpendicular to n', scaled to the length of the angle between them (radians)
 */
#ifndef PELT_CORE_DIRECTION_H
#define PELT_CORE_DIRECTION_H

#include <stdbool.h>

#define PX_DAMPING      1e-3 /* initial damping, relative to the mean of the diagonal of h */
#define PX_DAMPING_MOST 1e3  /* stop when no step with damping up to this reduces the error */

/* Normal equations h · step = g of one step. */
typedef struct px_direction_step {
    double h[6]; /* Σ AᵀPA, symmetric: xx xy xz yy yz zz */
    double g[3]; /* Σ Aᵀr */
} px_direction_step;

/* Adds a frame in which the direction is n + share · step; returns the squared angle (radians²) between M n and
 * `wanted`. A `wanted` of length 0 pulls in no direction. */
double px_direction_add(px_direction_step *s, const float m[9], const double n[3], const float wanted[3], double share);
/* Solves for the step from direction n; false when the system is singular or not finite. */
bool px_direction_solve(const px_direction_step *s, const double n[3], double damping, double step[3]);

#endif
