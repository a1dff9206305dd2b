/* SVD of 3×3 matrices along a path, continuous in time. Jacobi rotations on mᵀm start from the axes of the previous
 * matrix and turn by less than 45 degrees each, so they converge to the nearest set of axes; equal scales need no
 * rotation. */
#include "decompose/stretch.h"
#include "numeric/numeric.h"

#include <math.h>
#include <string.h>

px_stretch px_stretch_start(const double u[9]) {
    px_stretch path = {.s = {1, 1, 1}, .v = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .signs = {1, 1, 1}};
    memcpy(path.u, u, sizeof path.u);
    return path;
}

/* Jacobi rotation: rotates columns p and q of v, and w = (m v)ᵀ(m v), such that w[p][q] becomes 0. */
static void rotate_pair(double w[9], double v[9], int p, int q) {
    double wpq = w[3 * p + q];
    double tau = (w[4 * q] - w[4 * p]) / (2 * wpq);
    double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau)), c = 1 / sqrt(1 + t * t), s = t * c;
    for (int r = 0; r < 3; r++) {
        double a = v[3 * r + p], b = v[3 * r + q];
        v[3 * r + p] = c * a - s * b;
        v[3 * r + q] = s * a + c * b;
    }
    for (int r = 0; r < 3; r++) {
        double a = w[3 * r + p], b = w[3 * r + q];
        w[3 * r + p] = c * a - s * b;
        w[3 * r + q] = s * a + c * b;
    }
    for (int r = 0; r < 3; r++) {
        double a = w[3 * p + r], b = w[3 * q + r];
        w[3 * p + r] = c * a - s * b;
        w[3 * q + r] = s * a + c * b;
    }
}

static void multiply(const double a[9], const double b[9], double out[9]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

static void find_axes(const double m[9], double v[9]) {
    double mv[9], w[9];
    multiply(m, v, mv);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            w[3 * r + c] = mv[r] * mv[c] + mv[3 + r] * mv[3 + c] + mv[6 + r] * mv[6 + c];
    double small = 1e-13 * (w[0] + w[4] + w[8]);
    for (int sweep = 0; sweep < 12; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++)
                if (fabs(w[3 * p + q]) > small)
                    rotate_pair(w, v, p, q);
}

static double dot_columns(const double *a, int p, const double *b, int q) {
    return a[p] * b[q] + a[3 + p] * b[3 + q] + a[6 + p] * b[6 + q];
}

/* Column c of u: the image of axis c, orthogonalised against the columns `done`. If that has no length, the column of
 * the previous frame; if that fails too, a coordinate axis. Returns the length of the image. */
static double place_column(double u[9], const int *done, int done_count, int c, const double *mv,
                           const double *before) {
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double length = sqrt(dot_columns(mv, c, mv, c));
    const double *sources[5] = {mv, before, identity, identity, identity};
    for (int attempt = 0; attempt < 5; attempt++) {
        int column = attempt < 2 ? c : attempt - 2;
        for (int r = 0; r < 3; r++)
            u[3 * r + c] = sources[attempt][3 * r + column];
        double full = sqrt(dot_columns(u, c, u, c));
        for (int d = 0; d < done_count; d++) {
            double along = dot_columns(u, c, u, done[d]);
            for (int r = 0; r < 3; r++)
                u[3 * r + c] -= along * u[3 * r + done[d]];
        }
        double left = sqrt(dot_columns(u, c, u, c));
        if (full > 1e-12 && left > 0.3 * full) {
            for (int r = 0; r < 3; r++)
                u[3 * r + c] /= left;
            break;
        }
    }
    return length;
}

static double determinant(const double u[9]) {
    return u[0] * (u[4] * u[8] - u[5] * u[7]) - u[1] * (u[3] * u[8] - u[5] * u[6]) + u[2] * (u[3] * u[7] - u[4] * u[6]);
}

/* Gain, as a sum of cosines, that a change of sign must exceed: rotations of up to 105 degrees remain rotations. */
#define SIGN_COST 0.5

/* Makes u a rotation near the previous one by negating columns and their scales. */
static void choose_signs(px_stretch *path, const double before[9]) {
    int best = 0;
    double most = -INFINITY;
    for (int pattern = 0; pattern < 8; pattern++) { /* bit c: column c is negated */
        int turned = (pattern & 1) + (pattern >> 1 & 1) + (pattern >> 2);
        if ((turned % 2 == 1) != (determinant(path->u) < 0))
            continue;
        double score = 0;
        for (int c = 0; c < 3; c++) {
            double sign = pattern >> c & 1 ? -1 : 1;
            score += sign * dot_columns(path->u, c, before, c) - (sign == path->signs[c] ? 0 : SIGN_COST);
        }
        if (score > most) {
            most = score;
            best = pattern;
        }
    }
    for (int c = 0; c < 3; c++) {
        path->signs[c] = best >> c & 1 ? -1 : 1;
        path->s[c] *= path->signs[c];
        for (int r = 0; r < 3; r++)
            path->u[3 * r + c] *= path->signs[c];
    }
}

/* For matrices with shear, which have no exact factors with fixed v: approximates them by alternating scales and
 * rotation. Other matrices do not change. */
static void refine(px_stretch *path, const double mv[9]) {
    for (int round = 0; round < 8; round++) {
        double scaled[9];
        for (int c = 0; c < 3; c++)
            path->s[c] = dot_columns(path->u, c, mv, c);
        for (int e = 0; e < 9; e++)
            scaled[e] = mv[e] * path->s[e % 3];
        double largest = px_fmax(fabs(path->s[0]), px_fmax(fabs(path->s[1]), fabs(path->s[2])));
        double smallest = px_fmin(fabs(path->s[0]), px_fmin(fabs(path->s[1]), fabs(path->s[2])));
        if (smallest <= 1e-6 * largest) /* flat: the matrix does not determine the rotation */
            return;
        px_polar3(scaled, path->u, NULL);
    }
    for (int c = 0; c < 3; c++)
        path->s[c] = dot_columns(path->u, c, mv, c);
}

void px_stretch_follow(px_stretch *path, const double m[9], bool fixed) {
    double mv[9], before[9];
    memcpy(before, path->u, sizeof before);
    if (!fixed)
        find_axes(m, path->v);
    multiply(m, path->v, mv);
    int order[3] = {0, 1, 2}; /* longest first: its direction is the most precise */
    double lengths[3];
    for (int c = 0; c < 3; c++)
        lengths[c] = dot_columns(mv, c, mv, c);
    for (int a = 0; a < 2; a++)
        for (int c = a + 1; c < 3; c++)
            if (lengths[order[c]] > lengths[order[a]]) {
                int swap = order[a];
                order[a] = order[c];
                order[c] = swap;
            }
    for (int a = 0; a < 3; a++)
        path->s[order[a]] = place_column(path->u, order, a, order[a], mv, before);
    choose_signs(path, before);
    if (fixed)
        refine(path, mv);
}
