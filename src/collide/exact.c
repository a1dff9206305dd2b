/* Exact signs of determinants of floats.
 *
 * Doubles nearly always decide: the error of the computed determinant is less than 8 · 2⁻⁵³ of its permanent. Otherwise
 * the determinant is evaluated as a sum of products of three coordinates, each of which two doubles represent exactly,
 * and sums of doubles are kept as expansions: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast
 * Robust Geometric Predicates", Discrete & Computational Geometry 18, 1997. No product of three floats overflows or
 * underflows a double, so this holds for all finite floats.
 */
#include "collide/collide.h"

#include <math.h>

#define DOUBT 1e-15 /* > 8 · 2⁻⁵³ */

static int sign_of(double value) {
    return (value > 0) - (value < 0);
}

/* ---- Exact sums ------------------------------------------------------------------------------------------- */

/* A non-overlapping expansion, smallest part first; the sum of the parts is the value. */
typedef struct exact_sum {
    double parts[48];
    int count;
} exact_sum;

static void add(exact_sum *sum, double value) {
    int kept = 0;
    for (int p = 0; p < sum->count; p++) {
        double part = sum->parts[p], total = value + part;
        double of_part = total - value, rest = (value - (total - of_part)) + (part - of_part);
        value = total;
        if (rest != 0)
            sum->parts[kept++] = rest;
    }
    if (value != 0)
        sum->parts[kept++] = value;
    sum->count = kept;
}

static void add_product(exact_sum *sum, float a, float b, double c) {
    double rest, three = px_two_product((double)a * (double)b, c, &rest); /* a · b is exact: 48 bits */
    add(sum, rest);
    add(sum, three);
}

/* Adds sign · det(u, v, w). */
static void add_determinant(exact_sum *sum, double sign, const float u[3], const float v[3], const float w[3]) {
    for (int x = 0; x < 3; x++) {
        int y = (x + 1) % 3, z = (x + 2) % 3;
        add_product(sum, v[y], w[z], sign * (double)u[x]);
        add_product(sum, v[z], w[y], -sign * (double)u[x]);
    }
}

static int sign_of_sum(const exact_sum *sum) {
    return sum->count ? sign_of(sum->parts[sum->count - 1]) : 0;
}

/* ---- Determinants ----------------------------------------------------------------------------------------- */

static void subtract(const float a[3], const float b[3], double out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (double)a[c] - (double)b[c];
}

/* Returns the sign of det(u, v, w), or 2 if doubles cannot decide. */
static int quick_sign(const double u[3], const double v[3], const double w[3]) {
    double determinant = 0, permanent = 0;
    for (int x = 0; x < 3; x++) {
        int y = (x + 1) % 3, z = (x + 2) % 3;
        double plus = v[y] * w[z], minus = v[z] * w[y];
        determinant += u[x] * (plus - minus);
        permanent += fabs(u[x]) * (fabs(plus) + fabs(minus));
    }
    return fabs(determinant) > DOUBT * permanent ? sign_of(determinant) : 2;
}

int px_orient(const float a[3], const float b[3], const float c[3], const float d[3]) {
    double u[3], v[3], w[3];
    subtract(b, a, u);
    subtract(c, a, v);
    subtract(d, a, w);
    int sign = quick_sign(u, v, w);
    if (sign != 2)
        return sign;
    exact_sum sum = {.count = 0};
    add_determinant(&sum, 1, b, c, d);
    add_determinant(&sum, -1, a, c, d);
    add_determinant(&sum, 1, a, b, d);
    add_determinant(&sum, -1, a, b, c);
    return sign_of_sum(&sum);
}

int px_orient_line(const float o[3], const float u[3], const float a[3], const float b[3]) {
    double line[3] = {(double)u[0], (double)u[1], (double)u[2]}, v[3], w[3];
    subtract(a, o, v);
    subtract(b, o, w);
    int sign = quick_sign(line, v, w);
    if (sign != 2)
        return sign;
    exact_sum sum = {.count = 0};
    add_determinant(&sum, 1, u, a, b);
    add_determinant(&sum, -1, u, o, b);
    add_determinant(&sum, -1, u, a, o);
    return sign_of_sum(&sum);
}

int px_orient_plane(const float a[3], const float b[3], const float c[3], int x, int y) {
    exact_sum sum = {.count = 0};
    const float *corners[3] = {a, b, c};
    for (int e = 0; e < 3; e++) {
        const float *p = corners[e], *q = corners[(e + 1) % 3];
        add(&sum, (double)p[x] * (double)q[y]);
        add(&sum, -((double)p[y] * (double)q[x]));
    }
    return sign_of_sum(&sum);
}
