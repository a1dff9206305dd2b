/* Rotation nearest to a 3×3 matrix, for every instruction set: Newton's method on quaternions, from a guess. The includer
 * defines LANES (see core/lanes.h). Used by shape matching and by polar blending.
 */
#ifndef PELT_JIGGLE_POLAR_KERNEL_H
#define PELT_JIGGLE_POLAR_KERNEL_H

#include "core/lanes.h"

/* Added to the diagonal of A and of the inertia (cells²; regions weigh about 1): flat, thin and inverted regions get a
 * defined rotation, towards rest. */
#define RIDGE 1e-3f

/* Solves (trace(s) − s) x = b, s symmetric: xx xy xz yy yz zz. If the matrix is not positive definite (inverted
 * region): x = b / |trace|. */
INLINE void solve_turn(const lanes s[6], const lanes b[3], lanes x[3]) {
    lanes trace = s[0] + s[3] + s[5];
    lanes xx = trace - s[0], yy = trace - s[3], zz = trace - s[5], xy = -s[1], xz = -s[2], yz = -s[4];
    lanes c0 = yy * zz - yz * yz, c1 = xz * yz - xy * zz, c2 = xy * yz - xz * yy;
    lanes minor = xx * yy - xy * xy, det = xx * c0 + xy * c1 + xz * c2;
    lanes_mask good = (xx > RIDGE * RIDGE) & (minor > RIDGE * RIDGE * RIDGE) & (det > RIDGE * RIDGE * RIDGE * RIDGE);
    lanes inverse = 1.0f / lanes_select(good, det, trace * trace + RIDGE * RIDGE);
    lanes along = lanes_sqrt(trace * trace) * inverse; /* b / |trace|, kept finite */
    x[0] = lanes_select(good, (c0 * b[0] + c1 * b[1] + c2 * b[2]) * inverse, along * b[0]);
    x[1] = lanes_select(good, (c1 * b[0] + (xx * zz - xz * xz) * b[1] + (xy * xz - xx * yz) * b[2]) * inverse,
                        along * b[1]);
    x[2] = lanes_select(good, (c2 * b[0] + (xy * xz - xx * yz) * b[1] + minor * b[2]) * inverse, along * b[2]);
}

/* R − 1 of a unit quaternion, row-major, without cancellation near the identity. */
INLINE void turn_of(const lanes q[4], lanes e[9]) {
    lanes x = q[0] + q[0], y = q[1] + q[1], z = q[2] + q[2];
    lanes xx = q[0] * x, yy = q[1] * y, zz = q[2] * z, xy = q[0] * y, xz = q[0] * z, yz = q[1] * z;
    lanes wx = q[3] * x, wy = q[3] * y, wz = q[3] * z;
    e[0] = -(yy + zz), e[1] = xy - wz, e[2] = xz + wy;
    e[3] = xy + wz, e[4] = -(xx + zz), e[5] = yz - wx;
    e[6] = xz - wy, e[7] = yz + wx, e[8] = -(xx + yy);
}

/* Rotates q so that Rᵀ a becomes more symmetric: one Newton step towards the maximum of trace(Rᵀ a). */
INLINE void improve_rotation(const lanes a[9], lanes q[4]) {
    lanes e[9], b[9], s[6], g[3], x[3];
    turn_of(q, e);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            b[3 * r + c] = a[3 * r + c] + (e[r] * a[c] + e[3 + r] * a[3 + c] + e[6 + r] * a[6 + c]);
    s[0] = b[0], s[3] = b[4], s[5] = b[8];
    s[1] = 0.5f * (b[1] + b[3]), s[2] = 0.5f * (b[2] + b[6]), s[4] = 0.5f * (b[5] + b[7]);
    g[0] = b[7] - b[5], g[1] = b[2] - b[6], g[2] = b[3] - b[1];
    solve_turn(s, g, x);
    for (int c = 0; c < 3; c++)
        x[c] *= 0.5f;
    lanes out[4] = {q[0] + q[3] * x[0] + (q[1] * x[2] - q[2] * x[1]), q[1] + q[3] * x[1] + (q[2] * x[0] - q[0] * x[2]),
                    q[2] + q[3] * x[2] + (q[0] * x[1] - q[1] * x[0]), q[3] - (q[0] * x[0] + q[1] * x[1] + q[2] * x[2])};
    lanes length2 = out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3];
    lanes inverse = 1.0f / lanes_sqrt(length2);
    lanes_mask good = (length2 > 0.5f) & (length2 < 1e30f); /* at least 1 up to rounding; otherwise NaN */
    for (int c = 0; c < 4; c++)
        q[c] = lanes_select(good, out[c] * inverse, (lanes){0} + (c == 3 ? 1.0f : 0.0f));
}

#endif
