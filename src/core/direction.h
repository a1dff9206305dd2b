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

/* What a step needs of a frame; it does not depend on n. */
typedef struct px_direction_frame {
    double square[6]; /* MᵀM: xx xy xz yy yz zz */
    double wanted[3]; /* Mᵀt, t the target direction */
} px_direction_frame;

/* A target of length 0 pulls in no direction. */
px_direction_frame px_direction_frame_of(const float m[9], const float target[3]);
/* Adds a frame; returns the squared angle (radians²) between M n and the target. */
double px_direction_add(px_direction_step *s, const px_direction_frame *frame, const double n[3]);
/* Solves for the step from direction n; false when the system is singular or not finite. */
bool px_direction_solve(const px_direction_step *s, const double n[3], double damping, double step[3]);

#endif
