/* Functions of <math.h> with the same result on every machine.
 *
 * C libraries agree on what IEEE 754 defines: + − × ÷, sqrt, fabs, floor, ceil, trunc, round, rint and their kin, fmod, frexp,
 * ldexp. They differ in the last bits of all other functions, glibc even between CPUs. So the library calls none of those: it
 * calls these, which use only IEEE operations and integers. tests/libm.sh fails when an object file calls another one.
 *
 * Special values are those of C17 Annex F. Errors are bounds in units in the last place (ulp) of the result, found by
 * comparing with long double (tests/test_libm.c). Float versions compute in double and round once.
 */
#ifndef PELT_CORE_LIBM_H
#define PELT_CORE_LIBM_H

#include <math.h>

double px_sin(double x);             /* 0.8 ulp */
double px_cos(double x);             /* 0.8 ulp */
double px_tan(double x);             /* 2.5 ulp */
double px_atan2(double y, double x); /* 1.5 ulp */
double px_asin(double x);            /* 2.5 ulp */
double px_acos(double x);            /* 2.5 ulp */
double px_exp(double x);             /* 0.9 ulp */
double px_expm1(double x);           /* 3.5 ulp */
double px_ln(double x);              /* log of <math.h>, 0.9 ulp; px_log writes messages */
double px_log2(double x);            /* 2 ulp; exact for powers of two */
double px_log10(double x);           /* 0.6 ulp; exact for powers of ten */
double px_pow(double x, double y);   /* 0.9 ulp */
double px_cbrt(double x);            /* 0.7 ulp */
double px_hypot(double x, double y); /* 1.2 ulp */

/* acos(1 − y) for 0 ≤ y ≤ 2, faster than px_acos: to 2.2e-8, relatively to 2e-8 near 0 (polynomial of Abramowitz and
 * Stegun, 4.4.46). */
static inline double px_acos_below(double y) {
    double x = fabs(1 - y);
    double low = (1.5707963050 + x * -0.2145988016) + x * x * (0.0889789874 + x * -0.0501743046);
    double high = (0.0308918810 + x * -0.0170881256) + x * x * (0.0066700901 + x * -0.0012624911);
    double ratio = low + x * x * (x * x) * high; /* acos(x) / √(1 − x) */
    return y <= 1 ? ratio * sqrt(y) : 3.141592653589793 - ratio * sqrt(2 - y);
}

static inline float px_sinf(float x) {
    return (float)px_sin((double)x);
}
static inline float px_cosf(float x) {
    return (float)px_cos((double)x);
}
static inline float px_expf(float x) {
    return (float)px_exp((double)x);
}
static inline float px_powf(float x, float y) {
    /* A float holds so few digits that the plain formula does for it, at a third of the cost. */
    return (float)(x > 0 && x < INFINITY ? px_exp((double)y * px_ln((double)x)) : px_pow((double)x, (double)y));
}
static inline float px_hypotf(float x, float y) {
    return (float)sqrt((double)x * (double)x + (double)y * (double)y); /* no product overflows or underflows */
}

/* The larger and the smaller value; a number rather than NaN. Of two zeros the second: C leaves it open, and C libraries
 * and compilers disagree. */
static inline double px_fmax(double a, double b) {
    return a > b || b != b ? a : b;
}
static inline double px_fmin(double a, double b) {
    return a < b || b != b ? a : b;
}
static inline float px_fmaxf(float a, float b) {
    return a > b || b != b ? a : b;
}
static inline float px_fminf(float a, float b) {
    return a < b || b != b ? a : b;
}

/* a · b = product + *rest exactly, unless a, b or their product exceed 2^996 or the product is less than 2^−969. */
static inline double px_two_product(double a, double b, double *rest) {
    double product = a * b, wide_a = 0x1.0000002p27 * a, wide_b = 0x1.0000002p27 * b;
    double a_high = wide_a - (wide_a - a), b_high = wide_b - (wide_b - b); /* 26 bits each */
    double a_low = a - a_high, b_low = b - b_high;
    *rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return product;
}

/* a + b = sum + *rest exactly. */
static inline double px_two_sum(double a, double b, double *rest) {
    double sum = a + b, of_b = sum - a;
    *rest = (a - (sum - of_b)) + (b - of_b);
    return sum;
}

#endif
