/* Rigid part of affine matrices as unit dual quaternions.
 *
 * The rotation is the one nearest to the 3×3 part (its polar factor). For matrices without shear, the common case, it
 * consists of the normalised columns. Otherwise it is the eigenvector of the largest eigenvalue of a symmetric 4×4
 * matrix: B. K. P. Horn, "Closed-form solution of absolute orientation using unit quaternions", J. Opt. Soc. Am. A
 * 4(4), 1987. This gives a rotation for every finite input, including singular and zero matrices.
 */
#include "core/math3.h"
#include "run/skin.h"

/* Columns with a smaller absolute cosine count as perpendicular: products of float matrices are not more accurate. */
#define PERPENDICULAR 1e-6

/* The 3×3 part scaled to entries of at most 1. A reflection is removed by negating the first column, as in
 * px_transform_from_affine. Returns false if all entries are 0 or one is not finite. */
static bool scaled_part(const pelt_affine *a, double m[9]) {
    double largest = 0;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            m[3 * r + c] = (double)a->m[4 * r + c];
            if (!isfinite(m[3 * r + c]))
                return false;
            largest = px_fmax(largest, fabs(m[3 * r + c]));
        }
    if (largest == 0)
        return false;
    double sign = px_affine_determinant(a) < 0 ? -1 : 1;
    for (int e = 0; e < 9; e++)
        m[e] *= (e % 3 == 0 ? sign : 1) / largest;
    return true;
}

/* Normalises the columns. Returns false, with m unchanged, if they are not perpendicular or one is zero. */
static bool unit_columns(double m[9]) {
    double length[3];
    for (int c = 0; c < 3; c++) {
        length[c] = sqrt(m[c] * m[c] + m[3 + c] * m[3 + c] + m[6 + c] * m[6 + c]);
        if (length[c] < 1e-12)
            return false;
    }
    for (int c = 0; c < 3; c++) {
        int d = (c + 1) % 3;
        double dot = m[c] * m[d] + m[3 + c] * m[3 + d] + m[6 + c] * m[6 + d];
        if (fabs(dot) > PERPENDICULAR * length[c] * length[d])
            return false;
    }
    for (int e = 0; e < 9; e++)
        m[e] /= length[e % 3];
    return true;
}

/* One Jacobi rotation that makes n[p][q] zero, accumulated in the columns of v. */
static void jacobi_turn(double n[4][4], double v[4][4], int p, int q) {
    if (n[p][q] == 0)
        return;
    double theta = (n[q][q] - n[p][p]) / (2 * n[p][q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + px_hypot(theta, 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int e = 0; e < 4; e++) {
        double a = n[e][p], b = n[e][q];
        n[e][p] = c * a - s * b;
        n[e][q] = s * a + c * b;
        a = v[e][p], b = v[e][q];
        v[e][p] = c * a - s * b;
        v[e][q] = s * a + c * b;
    }
    for (int e = 0; e < 4; e++) {
        double a = n[p][e], b = n[q][e];
        n[p][e] = c * a - s * b;
        n[q][e] = s * a + c * b;
    }
    n[p][q] = n[q][p] = 0;
}

/* Quaternion of the rotation nearest to m. Rows and columns of n are in the order w x y z, so that w wins ties. */
static void nearest_rotation(const double m[9], float q[4]) {
    double a = m[7] - m[5], b = m[2] - m[6], c = m[3] - m[1];
    double n[4][4] = {{m[0] + m[4] + m[8], a, b, c},
                      {a, m[0] - m[4] - m[8], m[1] + m[3], m[2] + m[6]},
                      {b, m[1] + m[3], m[4] - m[0] - m[8], m[5] + m[7]},
                      {c, m[2] + m[6], m[5] + m[7], m[8] - m[0] - m[4]}};
    double v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    for (int sweep = 0; sweep < 12; sweep++) { /* converges quadratically: 4 or 5 sweeps suffice */
        double off = 0;
        for (int p = 0; p < 4; p++)
            for (int r = p + 1; r < 4; r++)
                off += n[p][r] * n[p][r];
        if (off < 1e-30)
            break;
        for (int p = 0; p < 4; p++)
            for (int r = p + 1; r < 4; r++)
                jacobi_turn(n, v, p, r);
    }
    int best = 0;
    for (int e = 1; e < 4; e++)
        if (n[e][e] > n[best][best])
            best = e;
    for (int e = 0; e < 4; e++)
        q[e] = (float)v[(e + 1) % 4][best];
    px_quat_normalize(q);
}

void pelt_dual_quaternions(const pelt_affine *palette, uint32_t count, pelt_dual_quaternion *out) {
    for (uint32_t j = 0; j < count; j++) {
        float *q = out[j].q;
        double m[9], t[3];
        if (!scaled_part(&palette[j], m))
            memcpy(q, (float[4]){0, 0, 0, 1}, 4 * sizeof *q);
        else if (unit_columns(m))
            px_quat_from_matrix(m, q);
        else
            nearest_rotation(m, q);
        for (int c = 0; c < 3; c++)
            t[c] = isfinite(palette[j].m[4 * c + 3]) ? 0.5 * (double)palette[j].m[4 * c + 3] : 0;
        /* dual = ½ t · real, with t as a pure quaternion */
        double x = q[0], y = q[1], z = q[2], w = q[3];
        q[4] = (float)(t[0] * w + t[1] * z - t[2] * y);
        q[5] = (float)(t[1] * w + t[2] * x - t[0] * z);
        q[6] = (float)(t[2] * w + t[0] * y - t[1] * x);
        q[7] = (float)-(t[0] * x + t[1] * y + t[2] * z);
    }
}

pelt_affine px_affine_from_dual(const pelt_dual_quaternion *dual) {
    double x = dual->q[0], y = dual->q[1], z = dual->q[2], w = dual->q[3];
    double a = dual->q[4], b = dual->q[5], c = dual->q[6], d = dual->q[7];
    double scale = 2 / (x * x + y * y + z * z + w * w);
    double m[12] = {1 - scale * (y * y + z * z), scale * (x * y - w * z),
                    scale * (x * z + w * y),     scale * (w * a - d * x + y * c - z * b),
                    scale * (x * y + w * z),     1 - scale * (x * x + z * z),
                    scale * (y * z - w * x),     scale * (w * b - d * y + z * a - x * c),
                    scale * (x * z - w * y),     scale * (y * z + w * x),
                    1 - scale * (x * x + y * y), scale * (w * c - d * z + x * b - y * a)};
    pelt_affine out;
    for (int e = 0; e < 12; e++)
        out.m[e] = (float)m[e];
    return out;
}

/* A stretch within these tolerances of a uniform scale, or of scale 1, is replaced by it: rounding of chains of
 * float matrices. */
#define SHEAR_ROUNDING 1e-4f
#define SCALE_ROUNDING 2e-6f

/* Replaces a stretch that is nearly a uniform scale by exactly that. Returns true if the stretch is not the
 * identity. */
static bool tidy_stretch(float m[12]) {
    float scale = (m[0] + m[5] + m[10]) / 3, off = 0;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            off = px_fmaxf(off, fabsf(m[4 * r + c] - (r == c ? scale : 0)));
    if (!(off <= SHEAR_ROUNDING * scale))
        return true;
    bool scales = fabsf(scale - 1) > SCALE_ROUNDING;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            m[4 * r + c] = r != c ? 0 : scales ? scale : 1;
    return scales;
}

bool pelt_stretches(const pelt_affine *palette, const pelt_dual_quaternion *rigid, uint32_t count, pelt_affine *out) {
    bool any = false;
    for (uint32_t j = 0; j < count; j++) {
        pelt_affine turn = px_affine_from_dual(&rigid[j]);
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++) {
                double sum = 0; /* the inverse of a rotation is its transpose */
                for (int e = 0; e < 3; e++)
                    sum += (double)turn.m[4 * e + r] * (double)palette[j].m[4 * e + c];
                out[j].m[4 * r + c] = isfinite(sum) ? (float)sum : r == c;
            }
            out[j].m[4 * r + 3] = 0;
        }
        any |= tidy_stretch(out[j].m);
    }
    return any;
}
