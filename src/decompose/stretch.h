/* A 3×3 matrix as rotation · scale · rotation, followed over time without jumps. */
#ifndef PELT_DECOMPOSE_STRETCH_H
#define PELT_DECOMPOSE_STRETCH_H

#include <stdbool.h>

/* m = u · diag(s) · vᵀ; u and v are rotations, row by row. */
typedef struct px_stretch {
    double u[9], s[3], v[9];
    double signs[3]; /* of s: 1 or −1 */
} px_stretch;

/* Before the first matrix: v begins as the identity, u as given. */
px_stretch px_stretch_start(const double u[9]);
/* Decomposes the next matrix so that v turns as little as possible from the one before, no axis changes its place, and
 * where scales are equal, so that any v would do, it stays. Scales change their sign where u would have to turn about
 * otherwise: when a matrix reflects, or when it went flat and came out on the other side. With `fixed` v stays in any
 * case: right for matrices that scale along those axes. */
void px_stretch_follow(px_stretch *path, const double m[9], bool fixed);

#endif
