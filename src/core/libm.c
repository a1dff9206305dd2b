/* Elementary functions: see libm.h.
 *
 * Each function reduces its argument to a short interval, keeping what double rounds off in a second double, and evaluates a
 * polynomial there. The polynomials interpolate at Chebyshev nodes; the first terms, which carry the accuracy, are exact and
 * added last. Textbook: J.-M. Muller, "Elementary Functions", 3rd edition, 2016. Sums and products with their rounding errors:
 * T. J. Dekker, "A floating-point technique for extending the available precision", Numerische Mathematik 18, 1971.
 */
#include "core/libm.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SHIFT 0x1.8p52 /* (x + SHIFT) − SHIFT rounds |x| < 2^51 to a whole number */

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^e, −1022 ≤ e ≤ 1023. */
static double power_of_two(int e) {
    return of_bits((uint64_t)(e + 1023) << 52);
}

/* x · 2^e, rounded once, for 0.5 < x < 2 and |e| ≤ 1100. */
static double scaled(double x, int e) {
    if (e > 1020)
        return x * 0x1p1000 * power_of_two(e - 1000);
    return e < -1020 ? x * power_of_two(e + 100) * 0x1p-100 : x * power_of_two(e);
}

/* ---- Sine, cosine, tangent --------------------------------------------------------------------------------- */

/* x − n π/2 as the sum of two doubles, |sum| ≤ π/4 and a little. */
typedef struct reduced {
    double high, low;
    unsigned quarter; /* n mod 4 */
} reduced;

/* |x| ≥ 2^20: the bits of x · 2/π about the binary point, from an integer product. M. Payne, R. Hanek, "Radian reduction for
 * trigonometric functions", SIGNUM Newsletter 18, 1983. */
static reduced reduce_large(double x) {
    static const uint32_t two_over_pi[] = {
        0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561,
        0xB7246E3A, 0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484,
        0xE99C7026, 0xB45F7E41, 0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F,
        0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF, 0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B,
        0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08, 0x56033046, 0xFC7B6BAB}; /* binary places */
    enum { WORDS = 7, LIMBS = WORDS + 2 };
    uint64_t bits = bits_of(x), mantissa = (bits & 0xFFFFFFFFFFFFF) | UINT64_C(1) << 52;
    int e = (int)(bits >> 52 & 0x7FF) - 1075,
        first = e < 2 ? 0 : (e - 2) / 32; /* words before `first` add multiples of 4 */

    /* limbs = mantissa · 7 words, least significant first. The binary point is behind bit `point`. */
    uint32_t limbs[LIMBS + 1] = {0};
    for (int w = 0; w < WORDS; w++) {
        uint64_t word = two_over_pi[first + WORDS - 1 - w], low = word * (uint32_t)mantissa,
                 high = word * (mantissa >> 32);
        uint64_t sum = limbs[w] + (low & 0xFFFFFFFF);
        limbs[w] = (uint32_t)sum;
        sum = (sum >> 32) + limbs[w + 1] + (low >> 32) + (high & 0xFFFFFFFF);
        limbs[w + 1] = (uint32_t)sum;
        limbs[w + 2] = (uint32_t)((sum >> 32) + (high >> 32)); /* high < 2^53: nothing is carried further */
    }
    /* words[0]: whole quarters, at least two bits of them; words[1], …: the fraction. */
    uint32_t words[6];
    for (int w = 0; w < 6; w++) {
        int at = 32 * (first + WORDS) - e - 32 * w; /* its lowest bit */
        words[w] = (uint32_t)(((uint64_t)limbs[at / 32 + 1] << 32 | limbs[at / 32]) >> at % 32);
    }
    bool up = words[1] >> 31; /* from a half on: the next quarter minus the rest, whose bits are inverted */
    double high = 0, low = 0, e1, e2;
    for (int w = 5; w >= 1; w--) {
        high = px_two_sum((double)(up ? ~words[w] : words[w]) * power_of_two(-32 * w), high, &e1);
        low += e1;
    }
    double turned = px_two_product(high, 0x1.921fb54442d18p0, &e2);
    e2 += high * 0x1.1a62633145c07p-54 + low * 0x1.921fb54442d18p0;
    double sum = turned + e2, sign = up == (x < 0) ? 1 : -1;
    uint32_t quarters = words[0] + up;
    return (reduced){sign * sum, sign * (turned - sum + e2), (x < 0 ? -quarters : quarters) & 3};
}

/* W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980: π/2 in parts of 33 bits, whose products with n
 * < 2^20 are exact. */
static reduced reduce(double x) {
    if (!(fabs(x) < 0x1p20))
        return isfinite(x) ? reduce_large(x) : (reduced){x - x, 0, 0};
    double n = x * 0x1.45f306dc9c883p-1 + SHIFT;
    unsigned quarter = (unsigned)bits_of(n) & 3;
    n -= SHIFT;
    double low, high = px_two_sum(x - n * 0x1.921fb544p0, -n * 0x1.0b4611a6p-34, &low);
    low -= n * 0x1.3198a2ep-69 + n * 0x1.b839a252049c1p-104;
    double sum = high + low;
    return (reduced){sum, high - sum + low, quarter};
}

static double sine(double x, double low) {
    double z = x * x, cube = x * z;
    double p = 0x1.1111111111110p-7 +
               z * (-0x1.a01a01a019936p-13 +
                    z * (0x1.71de3a54605eep-19 +
                         z * (-0x1.ae64541266378p-26 + z * (0x1.61217ec01749cp-33 + z * -0x1.ab17a792379b8p-41))));
    return x + (cube * (-0x1.5555555555555p-3 + z * p) + low * (1 - 0.5 * z));
}

static double cosine(double x, double low) {
    double z = x * x, half = 0.5 * z, w = 1 - half;
    double p = 0x1.5555555555555p-5 +
               z * (-0x1.6c16c16c16966p-10 +
                    z * (0x1.a01a019f4e867p-16 +
                         z * (-0x1.27e4fa17a41b4p-22 + z * (0x1.1eeb68b109172p-29 + z * -0x1.907d7aebd5de5p-37))));
    return w + ((1 - w - half) + (z * z * p - x * low));
}

double px_sin(double x) {
    if (fabs(x) < 0.78)
        return fabs(x) < 0x1p-27 ? x : sine(x, 0);
    reduced r = reduce(x);
    double value = r.quarter & 1 ? cosine(r.high, r.low) : sine(r.high, r.low);
    return r.quarter & 2 ? -value : value;
}

double px_cos(double x) {
    if (fabs(x) < 0.78)
        return cosine(x, 0);
    reduced r = reduce(x);
    double value = r.quarter & 1 ? sine(r.high, r.low) : cosine(r.high, r.low);
    return (r.quarter + 1) & 2 ? -value : value;
}

double px_tan(double x) {
    if (fabs(x) < 0x1p-27)
        return x;
    reduced r = reduce(x);
    double s = sine(r.high, r.low), c = cosine(r.high, r.low);
    return r.quarter & 1 ? -c / s : s / c;
}

/* ---- Inverse functions ------------------------------------------------------------------------------------- */

/* atan(y / x) for 0 ≤ y ≤ x, neither tiny nor huge, x > 0. With c = k/16 near y/x: atan c + atan((y − c x) / (x + c y)). */
static double atan_octant(double y, double x) {
    static const double table[17][2] = {{0, 0},
                                        {0x1.ff55bb72cfdeap-5, -0x1.c934d86d23f1dp-60},
                                        {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                                        {0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58},
                                        {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                                        {0x1.362773707ebccp-2, -0x1.963a544b672d8p-57},
                                        {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                                        {0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56},
                                        {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                                        {0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56},
                                        {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                                        {0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55},
                                        {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                                        {0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57},
                                        {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                                        {0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56},
                                        {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};
    int k = (int)(16 * (y / x) + 0.5);
    double c = k / 16.0, t = k ? (y - c * x) / (x + c * y) : y / x, z = t * t;
    double p = -0x1.5555555555555p-2 +
               z * (0x1.99999999998a2p-3 +
                    z * (-0x1.24924922a4035p-3 + z * (0x1.c71c469b56088p-4 + z * -0x1.73980b9ec69d1p-4)));
    return table[k][0] + (table[k][1] + t * z * p + t);
}

double px_atan2(double y, double x) {
    if (isnan(x) || isnan(y))
        return x + y;
    double high = fabs(x), low = fabs(y);
    bool steep = low > high, left = signbit(x);
    if (steep) {
        high = low;
        low = fabs(x);
    }
    double angle;
    if (high == 0)
        angle = 0;
    else if (isinf(high))
        angle = isinf(low) ? 0x1.921fb54442d18p-1 : 0;
    else if (high > 0x1p1000 || high < 0x1p-900) /* keep products in range */
        angle = high > 1 ? atan_octant(low * 0x1p-100, high * 0x1p-100) : atan_octant(low * 0x1p150, high * 0x1p150);
    else
        angle = atan_octant(low, high);
    if (steep)
        angle = 0x1.921fb54442d18p0 - (left ? -angle - 0x1.1a62633145c07p-54 : angle - 0x1.1a62633145c07p-54);
    else if (left)
        angle = 0x1.921fb54442d18p1 - (angle - 0x1.1a62633145c07p-53);
    return copysign(angle, y);
}

double px_asin(double x) {
    return fabs(x) < 0x1p-27 ? x : px_atan2(x, sqrt((1 - x) * (1 + x)));
}

double px_acos(double x) {
    return px_atan2(sqrt((1 - x) * (1 + x)), x);
}

/* ---- Exponential ------------------------------------------------------------------------------------------- */

/* exp(x + low) for |x| ≤ 750 and a small `low`: 2^n · exp(r), |r| ≤ ln 2 / 2. */
static double exponential(double x, double low) {
    double shifted = x * 0x1.71547652b82fep0 + SHIFT, n = shifted - SHIFT;
    double high = x - n * 0x1.62e42fefa38p-1; /* exact: 42 bits times 11 */
    low -= n * 0x1.ef35793c76730p-45;
    double r = high + low;
    low += high - r;
    double z = r * r;
    double p = (0x1p-1 + r * 0x1.5555555555557p-3) +
               z * ((0x1.5555555555556p-5 + r * 0x1.11111111100dcp-7) +
                    z * ((0x1.6c16c16c162d4p-10 + r * 0x1.a01a01abe7fe1p-13) +
                         z * ((0x1.a01a01a6d889cp-16 + r * 0x1.71de0231960ebp-19) +
                              z * (0x1.27e4db646b17ep-22 + r * 0x1.af4de97ca4194p-26 + z * 0x1.1f730349868cep-29))));
    return scaled(1 + (r + (z * p + low)), (int)n);
}

double px_exp(double x) {
    if (!(fabs(x) <= 750))
        return isnan(x) ? x : x > 0 ? INFINITY : 0;
    return exponential(x, 0);
}

double px_expm1(double x) {
    if (!(fabs(x) < 0.35))
        return px_exp(x) - 1;
    double z = x * x;
    double p = 0x1.5555555555555p-3 +
               x * (0x1.5555555555556p-5 +
                    x * (0x1.1111111111111p-7 +
                         x * (0x1.6c16c16c1613fp-10 +
                              x * (0x1.a01a01a019a52p-13 +
                                   x * (0x1.a01a01a7b14bbp-16 +
                                        x * (0x1.71de3a5978b53p-19 +
                                             x * (0x1.27e4d8c2b2e6cp-22 +
                                                  x * (0x1.ae64317b8250ap-26 +
                                                       x * (0x1.1f7861ab0e5c1p-29 + x * 0x1.61b87114334a7p-33)))))))));
    return fabs(x) < 0x1p-54 ? x : x + (0.5 * z + x * z * p);
}

/* ---- Logarithm --------------------------------------------------------------------------------------------- */

/* x > 0, finite, as (1 + f) 2^k with √½ ≤ 1 + f < √2. Returns f, which is exact. */
static double fraction(double x, int *k) {
    *k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        *k = -54;
    }
    uint64_t bits = bits_of(x) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD); /* carries to the exponent from √½ on */
    *k += (int)(bits >> 52) - 1023;
    return of_bits((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1;
}

/* What is not a positive finite number. */
static double log_special(double x) {
    return x == 0 ? -INFINITY : x < 0 ? NAN : x;
}

/* log(1 + f) − f, |f| ≤ 0.42: with s = f / (2 + f), log(1 + f) = 2 atanh s = f − f²/2 + s (f²/2 + s² L(s²)). */
static double log_rest(double f, double *half_square) {
    double s = f / (2 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    double p = (0x1.5555555555555p-1 + z * 0x1.9999999999a38p-2) +
               w * ((0x1.2492492476c42p-2 + z * 0x1.c71c720168526p-3) +
                    w * ((0x1.745cf8fe328f7p-3 + z * 0x1.3b1c36b445d3ep-3) +
                         w * (0x1.0fbe71ad84e74p-3 + z * 0x1.0c05166ec83b9p-3)));
    *half_square = half;
    return s * (half + z * p);
}

double px_ln(double x) {
    if (!(x > 0) || isinf(x))
        return log_special(x);
    int k;
    double f = fraction(x, &k), half, rest = log_rest(f, &half);
    if (k == 0)
        return f - (half - rest);
    return k * 0x1.62e42feep-1 + (f - (half - (rest + k * 0x1.a39ef35793c76p-33)));
}

/* log(x) as the sum of two doubles, relative error below 2^−64, for pow: 2 atanh s = 2 s (1 + s²/3 + s⁴ M(s²)). */
static double log_precise(double x, double *out_low) {
    int k;
    double f = fraction(x, &k), e;
    double d = 2 + f, d_low = f - (d - 2), s = f / d;
    double product = px_two_product(s, d, &e), s_low = (((f - product) - e) - s * d_low) / d;
    double z_low, z = px_two_product(s, s, &z_low);
    z_low += 2 * s * s_low;
    double m = 0x1.999999999999ap-3 +
               z * (0x1.2492492492491p-3 +
                    z * (0x1.c71c71c71cfdbp-4 +
                         z * (0x1.745d1745133b6p-4 +
                              z * (0x1.3b13b1bc86c2ep-4 +
                                   z * (0x1.1110dfa7db53bp-4 +
                                        z * (0x1.e1f7fc3779fd5p-5 +
                                             z * (0x1.ac4a6261ff1e4p-5 + z * 0x1.b8d59821477a8p-5)))))));
    double third_low, third = px_two_product(z, 0x1.5555555555555p-2, &third_low);
    third_low += z * 0x1.5555555555555p-56 + z_low * 0x1.5555555555555p-2;
    double sum_low, one_low, sum = px_two_sum(third, z * z * m, &sum_low), one = px_two_sum(1, sum, &one_low);
    one_low += sum_low + third_low;
    double low, high = px_two_product(2 * s, one, &low);
    low += 2 * (s * one_low + s_low * one);
    double all_low, mid_low;
    double mid = px_two_sum(k * 0x1.a39ef356p-33, high, &mid_low), all = px_two_sum(k * 0x1.62e42feep-1, mid, &all_low);
    all_low += mid_low + low + k * 0x1.93c7673007e5fp-65;
    double out = all + all_low;
    *out_low = all - out + all_low;
    return out;
}

double px_log2(double x) {
    if (!(x > 0) || isinf(x))
        return log_special(x);
    int k;
    double f = fraction(x, &k), half, rest = log_rest(f, &half), log = f - (half - rest);
    return k + log * 0x1.71547652b82fep0;
}

double px_log10(double x) {
    if (!(x > 0) || isinf(x))
        return log_special(x);
    double low, high = log_precise(x, &low), rest, product = px_two_product(high, 0x1.bcb7b1526e50ep-2, &rest);
    return product + (rest + low * 0x1.bcb7b1526e50ep-2 + high * 0x1.95355baaafad3p-57);
}

/* ---- Powers ------------------------------------------------------------------------------------------------ */

/* 0: y is no whole number, 1: odd, 2: even. */
static int parity(double y) {
    double size = fabs(y);
    if (size >= 0x1p53)
        return 2;
    return size != floor(size) ? 0 : fmod(size, 2) != 0 ? 1 : 2;
}

double px_pow(double x, double y) {
    if (y == 0 || x == 1)
        return 1;
    if (isnan(x) || isnan(y))
        return x + y;
    double size = fabs(x), sign = signbit(x) && parity(y) == 1 ? -1 : 1;
    if (x < 0 && isfinite(x) && isfinite(y) && parity(y) == 0)
        return NAN;
    if (size == 1)
        return sign;
    if (size == 0 || isinf(size))
        return (size == 0) == (y < 0) ? sign * INFINITY : sign * 0;
    if (fabs(y) > 0x1p64)
        return (size > 1) == (y > 0) ? sign * INFINITY : sign * 0;
    double low, high = log_precise(size, &low), rest, product = px_two_product(y, high, &rest);
    if (!(fabs(product) <= 750))
        return product > 0 ? sign * INFINITY : sign * 0;
    return sign * exponential(product, rest + y * low);
}

double px_cbrt(double x) {
    if (x == 0 || !isfinite(x))
        return x;
    double size = fabs(x);
    bool tiny = size < 0x1p-1022;
    uint64_t bits = bits_of(tiny ? size * 0x1p54 : size);
    int e = (int)(bits >> 52) - 1022, thirds = (e + 2 + 3072) / 3 - 1024;
    double m = of_bits((bits & 0xFFFFFFFFFFFFF) | (uint64_t)(1022 + e - 3 * thirds) << 52); /* ⅛ ≤ m < 1 */
    double t = 0x1.6ef7d7cd66d8cp-2 +
               m * (0x1.50ba80e69b747p0 + m * (-0x1.16bdce74d65dbp0 + m * 0x1.aaa35d014643bp-2)); /* 6 bits */
    double cube = t * t * t;
    t *= (cube + 2 * m) / (2 * cube + m); /* Halley's method: 18 bits */
    cube = t * t * t;
    t *= (cube + 2 * m) / (2 * cube + m);
    /* Once more about t of 26 bits, whose square is exact. */
    t = of_bits(bits_of(t) & ~UINT64_C(0x7FFFFFF));
    double r = m / (t * t);
    t += t * ((r - t) / (2 * t + r));
    return copysign(t * power_of_two(tiny ? thirds - 18 : thirds), x);
}

double px_hypot(double x, double y) {
    double a = fabs(x), b = fabs(y), high = a > b ? a : b;
    if (isinf(a) || isinf(b))
        return INFINITY;
    double scale = high > 0x1p500 ? 0x1p-600 : high < 0x1p-400 ? 0x1p600 : 1;
    a *= scale;
    b *= scale;
    return sqrt(a * a + b * b) / scale;
}
