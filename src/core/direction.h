/* Directions at rest that engines' skinning takes to wanted ones: n' = M n / |M n|, with M the linear part of the blended
 * transform. Damped Gauss-Newton steps on squared angles: with A = M / |M n|, P the projection across n', r what the wanted
 * direction has across n' (as long as the angle between them), a step solves Σ AᵀPA · step = Σ Aᵀr over the frames.
 */
#ifndef PELT_CORE_DIRECTION_H
#define PELT_CORE_DIRECTION_H

#include <stdbool.h>

#define PX_DAMPING      1e-3 /* of the mean of the diagonal: to begin with … */
#define PX_DAMPING_MOST 1e3  /* … and when to give up */

/* The system of a step. */
typedef struct px_direction_step {
    double h[6]; /* xx xy xz yy yz zz */
    double g[3];
} px_direction_step;

/* Adds a frame, in which `share` times the step is added to direction n; returns the squared angle. A `wanted` of length 0
 * wants nothing. */
double px_direction_add(px_direction_step *s, const float m[9], const double n[3], const float wanted[3], double share);
/* The step from direction n; false: none can be told. */
bool px_direction_solve(const px_direction_step *s, const double n[3], double damping, double step[3]);

#endif
