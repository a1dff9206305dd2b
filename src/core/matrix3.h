/* 3×3 matrices in double precision, row-major: singular value decomposition, polar decomposition, inverse. */
#ifndef PELT_CORE_MATRIX3_H
#define PELT_CORE_MATRIX3_H

#include <stdbool.h>

/* Singular value decomposition a = u · diag(s) · vᵀ. u and v are rotations (determinant 1), s[0] ≥ s[1] ≥ |s[2]|; s[2]
 * is negative exactly when a has a negative determinant. Accurate to a few 1e-16 of s[0] for finite matrices of any
 * magnitude and rank; a matrix that is not finite is treated as zero. Zero gives u = v = identity. */
void px_svd3(const double a[9], double u[9], double s[3], double v[9]);

/* Polar decomposition a = rotation · stretch: the rotation (determinant 1) nearest to a in the Frobenius norm, and a
 * symmetric matrix, positive semidefinite unless det a < 0. `stretch` may be NULL. If several rotations are equally
 * near, returns one of them. */
void px_polar3(const double a[9], double rotation[9], double stretch[9]);

/* The inverse of m. Returns false when m is ill-conditioned or has a negative determinant; absolute singular values
 * smaller than `least` (> 0) times the largest are then raised to that bound. Zero gives zero. */
bool px_invert3(const double m[9], double least, double out[9]);

#endif
