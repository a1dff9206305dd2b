/* Rotations as unit quaternions x y z w in double precision, for long products (Euler angles, global orientations) in
 * which float rounding would accumulate. */
#ifndef PELT_CORE_ROTATION_H
#define PELT_CORE_ROTATION_H

#include "core/math3.h"

#define PX_DEGREE (3.14159265358979323846 / 180)

typedef struct px_rotation {
    double q[4];
} px_rotation;

static inline px_rotation px_rotation_identity(void) {
    return (px_rotation){{0, 0, 0, 1}};
}

static inline px_rotation px_rotation_of(const float q[4]) {
    return (px_rotation){{q[0], q[1], q[2], q[3]}};
}

static inline void px_rotation_store(px_rotation a, float q[4]) {
    for (int c = 0; c < 4; c++)
        q[c] = (float)a.q[c];
    px_quat_normalize(q);
}

/* Rotation about axis 0, 1 or 2; positive angles are counter-clockwise seen from the tip of the axis. */
static inline px_rotation px_rotation_about(int axis, double radians) {
    px_rotation a = {{0, 0, 0, px_cos(radians / 2)}};
    a.q[axis] = px_sin(radians / 2);
    return a;
}

/* a·b: applies b first, then a. */
static inline px_rotation px_rotation_mul(px_rotation a, px_rotation b) {
    const double *p = a.q, *q = b.q;
    return (px_rotation){
        {p[3] * q[0] + p[0] * q[3] + p[1] * q[2] - p[2] * q[1], p[3] * q[1] - p[0] * q[2] + p[1] * q[3] + p[2] * q[0],
         p[3] * q[2] + p[0] * q[1] - p[1] * q[0] + p[2] * q[3], p[3] * q[3] - p[0] * q[0] - p[1] * q[1] - p[2] * q[2]}};
}

static inline px_rotation px_rotation_inverse(px_rotation a) {
    return (px_rotation){{-a.q[0], -a.q[1], -a.q[2], a.q[3]}};
}

/* Rotates v; `out` may be v. */
static inline void px_rotation_apply(px_rotation a, const double v[3], double out[3]) {
    px_rotation r = px_rotation_mul(px_rotation_mul(a, (px_rotation){{v[0], v[1], v[2], 0}}), px_rotation_inverse(a));
    for (int c = 0; c < 3; c++)
        out[c] = r.q[c];
}

/* The rotation part of a matrix, as px_transform_from_affine extracts it; scale is dropped. */
static inline px_rotation px_rotation_of_affine(const pelt_affine *a) {
    pelt_transform t;
    px_transform_from_affine(a, &t);
    return px_rotation_of(t.rotation);
}

/* The smallest rotation from direction a to direction b (any lengths; identity when one is 0). */
static inline px_rotation px_rotation_between(const double a[3], const double b[3]) {
    double lengths = px_length3(a) * px_length3(b), dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if (!(lengths > 0) || !isfinite(lengths))
        return px_rotation_identity();
    px_rotation r = {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], lengths + dot}};
    if (r.q[3] <= 1e-12 * lengths) { /* opposite directions: 180° about any axis perpendicular to a */
        int least = fabs(a[0]) <= fabs(a[1]) && fabs(a[0]) <= fabs(a[2]) ? 0 : fabs(a[1]) <= fabs(a[2]) ? 1 : 2;
        int next = (least + 1) % 3, last = (least + 2) % 3;
        r = (px_rotation){{0}};
        r.q[next] = a[last];
        r.q[last] = -a[next];
    }
    double norm = sqrt(r.q[0] * r.q[0] + r.q[1] * r.q[1] + r.q[2] * r.q[2] + r.q[3] * r.q[3]);
    for (int c = 0; c < 4; c++)
        r.q[c] /= norm;
    return r;
}

#endif
