/* 3×3 matrices in double precision, row by row. */
#ifndef PELT_CORE_MATRIX3_H
#define PELT_CORE_MATRIX3_H

#include <stdbool.h>

/* a = u · diag(s) · vᵀ, all row by row. u and v are rotations (determinant 1), s[0] ≥ s[1] ≥ |s[2]|; s[2] is negative
 * exactly when a reflects. Accurate to a few 1e-16 of s[0] for every finite matrix of any size and rank; one that is
 * not finite counts as zero. Zero gives identities. */
void px_svd3(const double a[9], double u[9], double s[3], double v[9]);

/* a = rotation · stretch: the rotation (determinant 1) nearest to a, and a symmetric matrix, positive semidefinite
 * unless a reflects. `stretch` may be NULL. Where several rotations are equally near, one of them. */
void px_polar3(const double a[9], double rotation[9], double stretch[9]);

/* The inverse of m, row by row; false when m is ill-conditioned: singular, mirrored or squeezed. Singular values under
 * `least` (more than 0) of the largest then count as that much. Zero gives zero. */
bool px_invert3(const double m[9], double least, double out[9]);

#endif
