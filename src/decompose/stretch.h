/* Factors rotation · scale · rotation of 3×3 matrices, continuous over time. */
#ifndef PELT_DECOMPOSE_STRETCH_H
#define PELT_DECOMPOSE_STRETCH_H

#include <stdbool.h>

/* m = u · diag(s) · vᵀ; u and v are rotations, row-major. */
typedef struct px_stretch {
    double u[9], s[3], v[9];
    double signs[3]; /* of s: 1 or −1 */
} px_stretch;

/* State before the first matrix: v is the identity, u as given. */
px_stretch px_stretch_start(const double u[9]);
/* Decomposes the next matrix such that v rotates as little as possible from the previous one and axes keep their order.
 * Where scales are equal, so that v is undetermined, it does not change. A scale changes its sign where u would
 * otherwise have to flip: when a matrix reflects, or when it became flat and then inverted. With `fixed` v never
 * changes: for matrices that scale along those axes. */
void px_stretch_follow(px_stretch *path, const double m[9], bool fixed);

#endif
