/* Vectors, quaternions (x y z w) and 3×4 affine matrices (row-major). Inputs and outputs are floats; intermediate sums
 * are doubles where float rounding would be visible. */
#ifndef PELT_CORE_MATH3_H
#define PELT_CORE_MATH3_H

#include <pelt/model.h>

#include "core/libm.h"

static inline void px_sub3(const float a[3], const float b[3], float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = a[c] - b[c];
}

static inline float px_dot3(const float a[3], const float b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void px_cross3(const float a[3], const float b[3], float out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Double-precision versions. */
static inline double px_dot3d(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void px_cross3d(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static inline double px_length3(const double v[3]) {
    return sqrt(px_dot3d(v, v));
}

/* Scales v to length 1, unless it is 0. Returns its length before. */
static inline double px_normalize3(double v[3]) {
    double length = px_length3(v);
    for (int c = 0; c < 3 && length > 0; c++)
        v[c] /= length;
    return length;
}

static inline pelt_affine px_affine_identity(void) {
    return (pelt_affine){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
}

static inline pelt_transform px_transform_identity(void) {
    return (pelt_transform){{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
}

static inline void px_affine_point(const pelt_affine *a, const float p[3], float out[3]) {
    for (int r = 0; r < 3; r++)
        out[r] = a->m[4 * r] * p[0] + a->m[4 * r + 1] * p[1] + a->m[4 * r + 2] * p[2] + a->m[4 * r + 3];
}

/* a·b: applies b first, then a. */
static inline pelt_affine px_affine_mul(const pelt_affine *a, const pelt_affine *b) {
    pelt_affine out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            double sum = c == 3 ? (double)a->m[4 * r + 3] : 0.0;
            for (int k = 0; k < 3; k++)
                sum += (double)a->m[4 * r + k] * (double)b->m[4 * k + c];
            out.m[4 * r + c] = (float)sum;
        }
    return out;
}

static inline double px_affine_determinant(const pelt_affine *a) {
    const float *m = a->m;
    return (double)m[0] * ((double)m[5] * m[10] - (double)m[6] * m[9]) -
           (double)m[1] * ((double)m[4] * m[10] - (double)m[6] * m[8]) +
           (double)m[2] * ((double)m[4] * m[9] - (double)m[5] * m[8]);
}

/* Returns false and leaves *out unchanged when a has no finite inverse. */
static inline bool px_affine_inverse(const pelt_affine *a, pelt_affine *out) {
    double det = px_affine_determinant(a), inv = 1.0 / det;
    if (!(fabs(det) > 0) || !isfinite(inv))
        return false;
    const float *m = a->m;
    pelt_affine r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) { /* transposed cofactors */
            int r1 = (j + 1) % 3, r2 = (j + 2) % 3, c1 = (i + 1) % 3, c2 = (i + 2) % 3;
            r.m[4 * i + j] =
                (float)(((double)m[4 * r1 + c1] * m[4 * r2 + c2] - (double)m[4 * r1 + c2] * m[4 * r2 + c1]) * inv);
        }
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++)
            sum += (double)r.m[4 * i + k] * (double)m[4 * k + 3];
        r.m[4 * i + 3] = (float)-sum;
    }
    for (int e = 0; e < 12; e++)
        if (!isfinite(r.m[e]))
            return false;
    *out = r;
    return true;
}

static inline pelt_affine px_affine_from_transform(const pelt_transform *t) {
    double x = t->rotation[0], y = t->rotation[1], z = t->rotation[2], w = t->rotation[3];
    double rotation[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                          2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                          2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    pelt_affine out;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++)
            out.m[4 * r + c] = (float)(rotation[3 * r + c] * (double)t->scale[c]);
        out.m[4 * r + 3] = t->translation[r];
    }
    return out;
}

static inline void px_quat_normalize(float q[4]) {
    double length = sqrt((double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3]);
    if (!(length > 1e-20) || !isfinite(length)) {
        q[0] = q[1] = q[2] = 0;
        q[3] = 1;
        return;
    }
    for (int c = 0; c < 4; c++)
        q[c] = (float)(q[c] / length);
}

/* Normalises a quaternion unless its squared length is within 1e-3 of 1. Files write 0.707 for √½; other engines use
 * such values unchanged, and our poses must match theirs to 1e-5 of the size. 1e-3 accepts values of three digits. */
static inline void px_quat_mend(float q[4]) {
    double length2 = (double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3];
    if (!(fabs(length2 - 1) <= 1e-3))
        px_quat_normalize(q);
}

/* Quaternion of a rotation matrix (row-major). */
static inline void px_quat_from_matrix(const double r[9], float q[4]) {
    double trace = r[0] + r[4] + r[8], out[4];
    if (trace > 0) {
        double s = sqrt(trace + 1) * 2;
        out[0] = (r[7] - r[5]) / s, out[1] = (r[2] - r[6]) / s, out[2] = (r[3] - r[1]) / s, out[3] = s / 4;
    } else {
        int a = r[0] >= r[4] && r[0] >= r[8] ? 0 : r[4] >= r[8] ? 1 : 2, b = (a + 1) % 3, c = (a + 2) % 3;
        double s = sqrt(px_fmax(1 + r[4 * a] - r[4 * b] - r[4 * c], 0)) * 2;
        if (s == 0) {
            q[0] = q[1] = q[2] = 0;
            q[3] = 1;
            return;
        }
        out[a] = s / 4;
        out[b] = (r[3 * a + b] + r[3 * b + a]) / s;
        out[c] = (r[3 * a + c] + r[3 * c + a]) / s;
        out[3] = (r[3 * c + b] - r[3 * b + c]) / s;
    }
    for (int e = 0; e < 4; e++)
        q[e] = (float)out[e];
    px_quat_normalize(q);
}

/* Decomposes a matrix as viewers decompose a matrix node: scale = column lengths (x negated for reflections), rotation
 * = normalised columns. Returns the largest absolute entry of the residual, relative to the largest entry of the input:
 * 0 up to rounding when the matrix has no shear. */
static inline double px_transform_from_affine(const pelt_affine *a, pelt_transform *out) {
    double rotation[9], scale[3], largest = 0, off = 0;
    for (int c = 0; c < 3; c++)
        scale[c] =
            sqrt((double)a->m[c] * a->m[c] + (double)a->m[4 + c] * a->m[4 + c] + (double)a->m[8 + c] * a->m[8 + c]);
    if (px_affine_determinant(a) < 0)
        scale[0] = -scale[0];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            rotation[3 * r + c] = scale[c] != 0 ? (double)a->m[4 * r + c] / scale[c] : r == c;
    px_quat_from_matrix(rotation, out->rotation);
    for (int c = 0; c < 3; c++) {
        out->scale[c] = (float)scale[c];
        out->translation[c] = a->m[4 * c + 3];
    }
    pelt_affine back = px_affine_from_transform(out);
    for (int e = 0; e < 12; e++) {
        largest = px_fmax(largest, fabs((double)a->m[e]));
        off = px_fmax(off, fabs((double)a->m[e] - (double)back.m[e]));
    }
    return largest > 0 ? off / largest : 0;
}

/* Spherical linear interpolation along the shorter arc; u outside [0, 1] extrapolates. */
static inline void px_quat_slerp(const float a[4], const float b[4], double u, float out[4]) {
    double dot = (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2] + (double)a[3] * b[3];
    double sign = dot < 0 ? -1 : 1, wa = 1 - u, wb = u;
    dot = px_fmin(fabs(dot), 1);
    if (dot < 0.9999995) { /* for smaller angles the division by the sine loses digits: interpolate linearly */
        double angle = px_acos(dot), s = px_sin(angle);
        wa = px_sin((1 - u) * angle) / s;
        wb = px_sin(u * angle) / s;
    }
    for (int c = 0; c < 4; c++)
        out[c] = (float)(wa * a[c] + sign * wb * b[c]);
    px_quat_mend(out);
}

#endif
