/* Fit of a rest direction to skinned target directions: see direction.h. */
#include "core/direction.h"

#include "core/libm.h"

#define MIN_LENGTH_RATIO 1e-6 /* of a transform's size: a direction shortened to less has no image */

double px_direction_add(px_direction_step *s, const float b[9], const double n[3], const float t[3], double share) {
    double m[3], p[3], q[3], square = 0, size = 0;
    for (int r = 0; r < 3; r++) {
        m[r] = (double)b[3 * r] * n[0] + (double)b[3 * r + 1] * n[1] + (double)b[3 * r + 2] * n[2];
        square += m[r] * m[r];
    }
    for (int e = 0; e < 9; e++)
        size += (double)b[e] * (double)b[e];
    double one = square > MIN_LENGTH_RATIO * MIN_LENGTH_RATIO * size ? 1 / sqrt(square) : 0;
    for (int r = 0; r < 3; r++)
        m[r] *= one;
    double cosine = px_fmax(-1, px_fmin(1, m[0] * (double)t[0] + m[1] * (double)t[1] + m[2] * (double)t[2]));
    double angle = px_acos(cosine), sine = sqrt(1 - cosine * cosine), stretch = sine > 1e-6 ? angle / sine : 1;
    for (int c = 0; c < 3; c++) {
        double x = (double)b[c] * one, y = (double)b[3 + c] * one, z = (double)b[6 + c] * one;
        p[c] = x * m[0] + y * m[1] + z * m[2];
        q[c] = x * (double)t[0] + y * (double)t[1] + z * (double)t[2];
        s->g[c] += share * stretch * (q[c] - cosine * p[c]);
    }
    double own = share * share, w = own * one * one;
    for (int e = 0, c = 0; c < 3; c++)
        for (int d = c; d < 3; d++, e++)
            s->h[e] += w * ((double)b[c] * (double)b[d] + (double)b[3 + c] * (double)b[3 + d] +
                            (double)b[6 + c] * (double)b[6 + d]) -
                       own * p[c] * p[d];
    return angle * angle;
}

bool px_direction_solve(const px_direction_step *s, const double n[3], double damping, double step[3]) {
    const double *h = s->h, *g = s->g;
    double mean = (h[0] + h[3] + h[5]) / 3, own = damping * mean;
    if (!(mean > 0))
        return false;
    /* H n = 0, since the length of n has no effect: add mean · n nᵀ, which makes the system regular. */
    double a = h[0] + own + mean * n[0] * n[0], b = h[1] + mean * n[0] * n[1], c = h[2] + mean * n[0] * n[2];
    double d = h[3] + own + mean * n[1] * n[1], e = h[4] + mean * n[1] * n[2], f = h[5] + own + mean * n[2] * n[2];
    double i00 = d * f - e * e, i01 = c * e - b * f, i02 = b * e - c * d;
    double i11 = a * f - c * c, i12 = b * c - a * e, i22 = a * d - b * b;
    double det = a * i00 + b * i01 + c * i02;
    step[0] = (i00 * g[0] + i01 * g[1] + i02 * g[2]) / det;
    step[1] = (i01 * g[0] + i11 * g[1] + i12 * g[2]) / det;
    step[2] = (i02 * g[0] + i12 * g[1] + i22 * g[2]) / det;
    return det > 0 && isfinite(step[0]) && isfinite(step[1]) && isfinite(step[2]);
}
