/* Vectors and matrices of LANES vertices (see lanes.h), shared by the skinning kernels. Matrices are rows of 4, as
 * in pelt_affine.
 */
#ifndef PELT_RUN_VECTORS_H
#define PELT_RUN_VECTORS_H

#include "core/lanes.h"

#include <float.h>

/* Below this squared length the direction is lost to rounding; above, relative errors stay at 1e-7. Reached when
 * bones scale by less than about 1e-9. */
#define SHORTEST 1e-36f

/* Normalises. Returns the lanes that have a direction: not zero, overflow or NaN. */
INLINE lanes_mask make_unit(lanes v[3]) {
    lanes length2 = lanes_dot3(v, v);
    lanes inverse = 1.0f / lanes_sqrt(length2);
    for (int c = 0; c < 3; c++)
        v[c] *= inverse;
    return (length2 > SHORTEST) & (length2 <= FLT_MAX);
}

/* Normalises; lanes without a direction, which are rare, get the rest vector. */
INLINE void unit(lanes v[3], const lanes rest[3]) {
    lanes_mask good = make_unit(v);
    if (__builtin_expect(!lanes_all(good), 0))
        for (int c = 0; c < 3; c++)
            v[c] = lanes_select(good, v[c], rest[c]);
}

/* The 3×3 part of m (rows of 4) times v. */
INLINE void turn(const lanes m[12], const lanes v[3], lanes out[3]) {
    lanes x = v[0], y = v[1], z = v[2]; /* out may be v */
    for (int r = 0; r < 3; r++)
        out[r] = m[4 * r] * x + m[4 * r + 1] * y + m[4 * r + 2] * z;
}

/* The matrix m times v. */
INLINE void move(const lanes m[12], const lanes v[3], lanes out[3]) {
    turn(m, v, out);
    for (int r = 0; r < 3; r++)
        out[r] += m[4 * r + 3];
}

/* Cofactor matrix of m (rows of 4) times n: its row r is the cross product of rows r + 1 and r + 2 (mod 3) of m. */
INLINE void cofactor(const lanes m[12], const lanes n[3], lanes out[3]) {
    for (int r = 0; r < 3; r++) {
        lanes row[3];
        lanes_cross3(m + 4 * ((r + 1) % 3), m + 4 * ((r + 2) % 3), row);
        out[r] = row[0] * n[0] + row[1] * n[1] + row[2] * n[2];
    }
}

/* Matrix of dual quaternions of any length: no need to normalise them first. If all weights are 0 the result is the
 * identity. */
INLINE void dual_matrix(const lanes q[8], lanes m[12]) {
    lanes length2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    lanes twice = 2.0f / length2;
    twice = lanes_select(length2 > SHORTEST, twice, length2 - length2);
    lanes x = twice * q[0], y = twice * q[1], z = twice * q[2], w = twice * q[3];
    lanes xx = x * q[0], xy = x * q[1], xz = x * q[2], xw = x * q[3];
    lanes yy = y * q[1], yz = y * q[2], yw = y * q[3], zz = z * q[2], zw = z * q[3];
    m[0] = 1.0f - (yy + zz), m[1] = xy - zw, m[2] = xz + yw;
    m[4] = xy + zw, m[5] = 1.0f - (xx + zz), m[6] = yz - xw;
    m[8] = xz - yw, m[9] = yz + xw, m[10] = 1.0f - (xx + yy);
    m[3] = (w * q[4] - x * q[7]) + (y * q[6] - z * q[5]);
    m[7] = (w * q[5] - y * q[7]) + (z * q[4] - x * q[6]);
    m[11] = (w * q[6] - z * q[7]) + (x * q[5] - y * q[4]);
}

#endif
