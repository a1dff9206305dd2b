/* Vectors and matrices of LANES vertices (see lanes.h), shared by the skinning kernels. Matrices are rows of 4, as
 * in pelt_affine. The includer may define FUSED as 1 (8 or 16 lanes): products are then added without rounding them
 * first, which is faster and gives other last bits.
 */
#ifndef PELT_RUN_VECTORS_H
#define PELT_RUN_VECTORS_H

#include "core/lanes.h"

#include <float.h>

#ifndef FUSED
#define FUSED 0
#endif

/* a·b + c and a·b − c. */
#if FUSED && LANES == 16
INLINE lanes mad(lanes a, lanes b, lanes c) {
    return (lanes)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
INLINE lanes msub(lanes a, lanes b, lanes c) {
    return (lanes)_mm512_fmsub_ps((__m512)a, (__m512)b, (__m512)c);
}
#elif FUSED
INLINE lanes mad(lanes a, lanes b, lanes c) {
    return (lanes)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
INLINE lanes msub(lanes a, lanes b, lanes c) {
    return (lanes)_mm256_fmsub_ps((__m256)a, (__m256)b, (__m256)c);
}
INLINE quad quad_mad(quad a, quad b, quad c) {
    return (quad)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
}
#else
INLINE lanes mad(lanes a, lanes b, lanes c) {
    return a * b + c;
}
INLINE lanes msub(lanes a, lanes b, lanes c) {
    return a * b - c;
}
#if LANES > 1
INLINE quad quad_mad(quad a, quad b, quad c) {
    return a * b + c;
}
#endif
#endif

INLINE lanes dot(const lanes a[3], const lanes b[3]) {
    return mad(a[2], b[2], mad(a[1], b[1], a[0] * b[0]));
}

/* Below this squared length the direction is lost to rounding; above, relative errors stay at 1e-7. Reached when
 * bones scale by less than about 1e-9. */
#define SHORTEST 1e-36f

/* 1 / √x for x of at least SHORTEST: from the usual estimate by an integer, two steps of third order, y + y (r/2 + 3/8
 * r²) with r = 1 − x y², give an error of 2e-7. Twelve operations: for loops that are bound by the divider. */
#if FUSED
INLINE lanes inverse_root(lanes x) {
    lanes y = (lanes)(0x5F375A86 - ((lanes_mask)x >> 1));
    for (int step = 0; step < 2; step++) {
        lanes r = mad(-(x * y), y, lanes_splat(1));
        y = mad(y * r, mad(lanes_splat(0.375f), r, lanes_splat(0.5f)), y);
    }
    return y;
}
#else
INLINE lanes inverse_root(lanes x) {
    return 1.0f / lanes_sqrt(x);
}
#endif

/* Multiply v, of squared length length2, by its inverse length. Return the lanes that have a direction: not zero,
 * overflow or NaN. */
INLINE lanes_mask scale_to_unit(lanes v[3], lanes length2, lanes inverse) {
    for (int c = 0; c < 3; c++)
        v[c] *= inverse;
    return (length2 > SHORTEST) & (length2 <= FLT_MAX);
}
INLINE lanes_mask make_unit(lanes v[3]) {
    lanes length2 = dot(v, v);
    return scale_to_unit(v, length2, 1.0f / lanes_sqrt(length2));
}
/* The same by inverse_root. */
INLINE lanes_mask make_unit_fast(lanes v[3]) {
    lanes length2 = dot(v, v);
    return scale_to_unit(v, length2, inverse_root(length2));
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
        out[r] = mad(m[4 * r + 2], z, mad(m[4 * r + 1], y, m[4 * r] * x));
}

/* The matrix m times v. */
INLINE void move(const lanes m[12], const lanes v[3], lanes out[3]) {
#if FUSED
    lanes x = v[0], y = v[1], z = v[2];
    for (int r = 0; r < 3; r++)
        out[r] = mad(m[4 * r + 2], z, mad(m[4 * r + 1], y, mad(m[4 * r], x, m[4 * r + 3])));
#else
    turn(m, v, out);
    for (int r = 0; r < 3; r++)
        out[r] += m[4 * r + 3];
#endif
}

/* Cofactor matrix of m (rows of 4) times n. With the columns a, b, c of m it is n0 (b × c) + n1 (c × a) + n2 (a × b) =
 * (n0 b − n1 a) × c + n2 (a × b): 33 operations instead of 42. */
INLINE void cofactor(const lanes m[12], const lanes n[3], lanes out[3]) {
    lanes d[3];
    for (int r = 0; r < 3; r++)
        d[r] = msub(n[0], m[4 * r + 1], n[1] * m[4 * r]);
    for (int r = 0; r < 3; r++) {
        const lanes *p = m + 4 * ((r + 1) % 3), *q = m + 4 * ((r + 2) % 3);
        lanes first = msub(d[(r + 1) % 3], q[2], d[(r + 2) % 3] * p[2]);
        out[r] = mad(n[2], msub(p[0], q[1], q[0] * p[1]), first);
    }
}

/* Matrix of dual quaternions of any length: no need to normalise them first. If all weights are 0 the result is the
 * identity. */
INLINE void dual_matrix(const lanes q[8], lanes m[12]) {
    lanes length2 = mad(q[3], q[3], dot(q, q));
    lanes twice = 2.0f / length2;
    twice = lanes_select(length2 > SHORTEST, twice, length2 - length2);
    lanes x = twice * q[0], y = twice * q[1], z = twice * q[2], w = twice * q[3];
    lanes xx = x * q[0], xy = x * q[1], xz = x * q[2], xw = x * q[3];
    lanes yy = y * q[1], yz = y * q[2], yw = y * q[3], zz = z * q[2], zw = z * q[3];
    m[0] = 1.0f - (yy + zz), m[1] = xy - zw, m[2] = xz + yw;
    m[4] = xy + zw, m[5] = 1.0f - (xx + zz), m[6] = yz - xw;
    m[8] = xz - yw, m[9] = yz + xw, m[10] = 1.0f - (xx + yy);
    m[3] = msub(w, q[4], x * q[7]) + msub(y, q[6], z * q[5]);
    m[7] = msub(w, q[5], y * q[7]) + msub(z, q[4], x * q[6]);
    m[11] = msub(w, q[6], z * q[7]) + msub(x, q[5], y * q[4]);
}

#endif
