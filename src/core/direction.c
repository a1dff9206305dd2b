/* Fit of a rest direction to skinned target directions: see direction.h. */
#include "core/direction.h"

#include "core/libm.h"

#define MIN_LENGTH_RATIO 1e-6 /* of a transform's size: a direction shortened to less has no image */

px_direction_frame px_direction_frame_of(const float m[9], const float target[3]) {
    px_direction_frame frame = {0};
    for (int r = 0; r < 3; r++)
        for (int e = 0, c = 0; c < 3; c++) {
            frame.wanted[c] += (double)m[3 * r + c] * (double)target[r];
            for (int d = c; d < 3; d++, e++)
                frame.square[e] += (double)m[3 * r + c] * (double)m[3 * r + d];
        }
    return frame;
}

double px_direction_add(px_direction_step *s, const px_direction_frame *frame, const double n[3]) {
    const double *a = frame->square, *t = frame->wanted;
    double v[3] = {a[0] * n[0] + a[1] * n[1] + a[2] * n[2], a[1] * n[0] + a[3] * n[1] + a[4] * n[2],
                   a[2] * n[0] + a[4] * n[1] + a[5] * n[2]};
    double square = n[0] * v[0] + n[1] * v[1] + n[2] * v[2], size = a[0] + a[3] + a[5];
    double one = square > MIN_LENGTH_RATIO * MIN_LENGTH_RATIO * size ? 1 / sqrt(square) : 0, one2 = one * one;
    double cosine = px_fmax(-1, px_fmin(1, one * (n[0] * t[0] + n[1] * t[1] + n[2] * t[2])));
    double angle = px_acos_below(1 - cosine), sine = sqrt(1 - cosine * cosine),
           stretch = sine > 1e-6 ? angle / sine : 1;
    for (int c = 0; c < 3; c++) {
        v[c] *= one2; /* Aᵀn' */
        s->g[c] += stretch * (one * t[c] - cosine * v[c]);
    }
    for (int e = 0, c = 0; c < 3; c++)
        for (int d = c; d < 3; d++, e++)
            s->h[e] += one2 * a[e] - v[c] * v[d];
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
