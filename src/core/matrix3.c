/* Singular values, polar decomposition and inverses of 3×3 matrices.
 *
 * One-sided Jacobi (M. R. Hestenes, "Inversion of matrices by biorthogonalization and related results", J. SIAM 6(1),
 * 1958): rotations V from the right make the columns of B = A·V perpendicular; their lengths are the singular values,
 * their directions U. Unlike methods that go through Aᵀ·A it keeps small singular values. Rotations have determinant 1,
 * so V is one from the start, and U is made one by u2 = u0 × u1, which leaves a reflection's sign to s2.
 */
#include "core/matrix3.h"
#include "core/math3.h"

#include <float.h>
#include <string.h>

/* Columns with a smaller cosine count as perpendicular; below it rotations only redistribute rounding errors. */
#define PERPENDICULAR (4 * DBL_EPSILON)
/* Four or five suffice; the bound is for columns that consist of rounding errors and may not converge. */
#define MAX_SWEEPS 16

/* Jacobi rotation of rows p and q of m by the angle with cosine c and sine s. */
static void turn(double m[3][3], int p, int q, double c, double s) {
    for (int e = 0; e < 3; e++) {
        double a = m[p][e], b = m[q][e];
        m[p][e] = c * a - s * b;
        m[q][e] = s * a + c * b;
    }
}

/* Makes the columns of A·V perpendicular. b and v hold columns as rows. */
static void make_perpendicular(double b[3][3], double v[3][3]) {
    bool turned = true;
    for (int sweep = 0; sweep < MAX_SWEEPS && turned; sweep++) {
        turned = false;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                double pp = px_dot3d(b[p], b[p]), qq = px_dot3d(b[q], b[q]), pq = px_dot3d(b[p], b[q]);
                if (!(fabs(pq) > PERPENDICULAR * sqrt(pp) * sqrt(qq)))
                    continue;
                double zeta = (qq - pp) / (2 * pq), t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + px_hypot(zeta, 1));
                double c = 1 / sqrt(1 + t * t);
                turn(b, p, q, c, t * c);
                turn(v, p, q, c, t * c);
                turned = true;
            }
    }
}

/* Longest column first. Exchanging two rows and negating one is a rotation. */
static void sort_columns(double b[3][3], double v[3][3]) {
    static const int pairs[3][2] = {{0, 1}, {1, 2}, {0, 1}};
    for (int e = 0; e < 3; e++) {
        int p = pairs[e][0], q = pairs[e][1];
        if (px_dot3d(b[p], b[p]) < px_dot3d(b[q], b[q])) {
            turn(b, p, q, 0, 1);
            turn(v, p, q, 0, 1);
        }
    }
}

/* The normalised component of `from` perpendicular to the unit vector `along` (one Gram-Schmidt step). False when
 * `from` is zero, or when that component is shorter than half of `from` and therefore inaccurate. */
static bool unit_beside(const double from[3], const double along[3], double out[3]) {
    double size = px_fmax(fabs(from[0]), px_fmax(fabs(from[1]), fabs(from[2])));
    if (size == 0)
        return false;
    for (int c = 0; c < 3; c++)
        out[c] = from[c] / size;
    double part = px_dot3d(out, along), whole = px_dot3d(out, out);
    for (int c = 0; c < 3; c++)
        out[c] -= part * along[c];
    double length = px_length3(out);
    for (int c = 0; c < 3; c++)
        out[c] /= length;
    return length >= 0.5 * sqrt(whole);
}

/* The left singular vectors from perpendicular columns b, longest first and not all zero. For a column that is zero or
 * rounding, any direction is valid; the right singular vector keeps U·Vᵀ near the identity there. */
static void left_vectors(double b[3][3], double v[3][3], double u[3][3]) {
    double length = px_length3(b[0]);
    for (int c = 0; c < 3; c++)
        u[0][c] = b[0][c] / length;
    if (!unit_beside(b[1], u[0], u[1]) && !unit_beside(v[1], u[0], u[1])) {
        unit_beside(v[2], u[0], u[2]); /* v1 is nearly along u0, so v2 is not */
        px_cross3d(u[2], u[0], u[1]);
    }
    px_cross3d(u[0], u[1], u[2]);
}

static void store_columns(double columns[3][3], double out[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = columns[c][r];
}

void px_svd3(const double a[9], double u[9], double s[3], double v[9]) {
    static const double identity[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double b[3][3], left[3][3], right[3][3], size = 0;
    bool finite = true;
    memcpy(left, identity, sizeof left);
    memcpy(right, identity, sizeof right);
    s[0] = s[1] = s[2] = 0;
    for (int e = 0; e < 9; e++) {
        finite = finite && isfinite(a[e]);
        size = px_fmax(size, fabs(a[e]));
    }
    if (finite && size > 0) {
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                b[c][r] = a[3 * r + c] / size; /* squares of any finite input stay finite */
        make_perpendicular(b, right);
        sort_columns(b, right);
        left_vectors(b, right, left);
        /* enforce the order in spite of rounding */
        double first = px_dot3d(left[0], b[0]), second = px_fmin(px_fmax(px_dot3d(left[1], b[1]), 0), first);
        s[0] = size * first;
        s[1] = size * second;
        s[2] = size * px_fmax(px_fmin(px_dot3d(left[2], b[2]), second), -second);
    }
    store_columns(left, u);
    store_columns(right, v);
}

void px_polar3(const double a[9], double rotation[9], double stretch[9]) {
    double u[9], s[3], v[9];
    px_svd3(a, u, s, v);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            rotation[3 * r + c] = px_dot3d(u + 3 * r, v + 3 * c);
            if (stretch)
                stretch[3 * r + c] = v[3 * r] * s[0] * v[3 * c] + v[3 * r + 1] * s[1] * v[3 * c + 1] +
                                     v[3 * r + 2] * s[2] * v[3 * c + 2];
        }
}

/* ---- Inverses --------------------------------------------------------------------------------------------- */

static double length9(const double m[9]) {
    double sum = 0;
    for (int e = 0; e < 9; e++)
        sum += m[e] * m[e];
    return sqrt(sum);
}

/* The cofactor inverse, if m is certainly well-conditioned: |m|·|m⁻¹| in the Frobenius norm is an upper bound of the
 * condition number. A determinant below least²·|m|³ / √27, which no well-conditioned m has, may be rounding. */
static bool invert_plainly(const double m[9], double least, double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int r1 = (j + 1) % 3, r2 = (j + 2) % 3, c1 = (i + 1) % 3, c2 = (i + 2) % 3;
            out[3 * i + j] = m[3 * r1 + c1] * m[3 * r2 + c2] - m[3 * r1 + c2] * m[3 * r2 + c1];
        }
    double det = m[0] * out[0] + m[1] * out[3] + m[2] * out[6], length = length9(m);
    if (!(det > least * least * length * length * length / sqrt(27)) || !(length * length9(out) < det / least))
        return false;
    for (int e = 0; e < 9; e++)
        out[e] /= det;
    return true;
}

bool px_invert3(const double m[9], double least, double out[9]) {
    if (invert_plainly(m, least, out))
        return true;
    double u[9], s[3], v[9];
    px_svd3(m, u, s, v);
    bool well = s[2] >= least * s[0] && s[0] > 0;
    memset(out, 0, 9 * sizeof *out);
    for (int n = 0; n < 3 && s[0] > 0; n++) {
        double factor = copysign(1 / px_fmax(fabs(s[n]), least * s[0]), s[n]);
        for (int e = 0; e < 9; e++)
            out[e] += factor * v[e / 3 * 3 + n] * u[e % 3 * 3 + n];
    }
    return well;
}
