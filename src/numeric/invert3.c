/* The inverse of a 3×3 matrix that may be ill-conditioned. */
#include "numeric/numeric.h"

#include <math.h>

static double length9(const double m[9]) {
    double sum = 0;
    for (int e = 0; e < 9; e++)
        sum += m[e] * m[e];
    return sqrt(sum);
}

/* The plain inverse, when it certainly is a good one: |m|·|m⁻¹| in the Frobenius norm is no less than the ratio of the
 * singular values. A determinant under least²·|m|³ / √27, which no good one has, may be nothing but rounding. */
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
        double factor = copysign(1 / fmax(fabs(s[n]), least * s[0]), s[n]);
        for (int e = 0; e < 9; e++)
            out[e] += factor * v[e / 3 * 3 + n] * u[e % 3 * 3 + n];
    }
    return well;
}
