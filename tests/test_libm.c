/* Own functions of <math.h>: the same bits on every machine, errors within the bounds of the header, special values of Annex F. */
#include "support.h"

#include "core/libm.h"

#include <float.h>

static double ln(double x, double y) {
    (void)y;
    return px_ln(x);
}
#define ONE(name)                                                                                                      \
    static double name##_one(double x, double y) {                                                                     \
        (void)y;                                                                                                       \
        return px_##name(x);                                                                                           \
    }                                                                                                                  \
    static long double name##_long(long double x, long double y) {                                                     \
        (void)y;                                                                                                       \
        return name##l(x);                                                                                             \
    }
ONE(sin)
ONE(cos)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(exp)
ONE(expm1)
ONE(log2)
ONE(log10)
ONE(cbrt)
static long double ln_long(long double x, long double y) {
    (void)y;
    return logl(x);
}

enum { SIN, COS, TAN, ASIN, ACOS, EXP, EXPM1, LN, LOG2, LOG10, CBRT, ATAN2, POW, HYPOT, FUNCTION_COUNT };

/* `hash`: of the bits of results at random arguments: logarithms of sizes between the powers of two `low` and `high`. */
static const struct function {
    const char *name;
    double (*call)(double, double);
    long double (*precise)(long double, long double);
    double bound; /* ulp */
    int low, high;
    uint64_t hash;
} functions[FUNCTION_COUNT] = {
    [SIN] = {"sin", sin_one, sin_long, 0.8, -40, 1023, UINT64_C(0x44AE7696341A02CB)},
    [COS] = {"cos", cos_one, cos_long, 0.8, -40, 1023, UINT64_C(0xDB8653AF3F2EC120)},
    [TAN] = {"tan", tan_one, tan_long, 2.5, -40, 1023, UINT64_C(0x92A29F9E94551AB1)},
    [ASIN] = {"asin", asin_one, asin_long, 2.5, -40, 0, UINT64_C(0xBC03FF94C6BD51EC)},
    [ACOS] = {"acos", acos_one, acos_long, 2.5, -40, 0, UINT64_C(0x72C736D52AD2E0A5)},
    [EXP] = {"exp", exp_one, exp_long, 0.9, -40, 10, UINT64_C(0x2687934C6FAFF327)},
    [EXPM1] = {"expm1", expm1_one, expm1_long, 3.5, -60, 10, UINT64_C(0xDDF94253FF7D94A5)},
    [LN] = {"ln", ln, ln_long, 0.9, -1074, 1023, UINT64_C(0xA1456A2B0BF3423A)},
    [LOG2] = {"log2", log2_one, log2_long, 2, -1074, 1023, UINT64_C(0xC9640727BB7B64F2)},
    [LOG10] = {"log10", log10_one, log10_long, 0.6, -1074, 1023, UINT64_C(0xE7E45E8051A9CB30)},
    [CBRT] = {"cbrt", cbrt_one, cbrt_long, 0.7, -1074, 1023, UINT64_C(0x5BA1A3CC88703BF1)},
    [ATAN2] = {"atan2", px_atan2, atan2l, 1.5, -20, 20, UINT64_C(0xE022F02279DBB606)},
    [POW] = {"pow", px_pow, powl, 0.9, -8, 8, UINT64_C(0x6B20C00EF6F02856)},
    [HYPOT] = {"hypot", px_hypot, hypotl, 1.2, -1074, 1023, UINT64_C(0x13FDED3A275FC6CF)},
};

/* Units in the last place between a result and value + rest. */
static double ulps(double result, double value, double rest) {
    int exponent;
    if (result == value && fabs(rest) == 0)
        return 0;
    frexp(fabs(value) < DBL_MIN ? DBL_MIN : value, &exponent);
    return fabs(ldexp(result - value, 53 - exponent) - ldexp(rest, 53 - exponent));
}

/* value + rest to about 106 bits, by a program for arbitrary precision (mpmath). */
static const struct {
    int function;
    double arguments[2], value, rest;
} known[] = {
    {SIN, {0x1p-1}, 0x1.eaee8744b05fp-2, -0x1.789b43c9b027dp-58},
    {SIN, {0x1.8p1}, 0x1.210386db6d55bp-3, 0x1.3c7205d08d063p-57},
    {SIN, {0x1.86ap16}, 0x1.24daa9c527e96p-5, 0x1.c767d8e3e1ca8p-60},
    {SIN, {-0x1.0f0cf064dd592p73}, 0x1.b453ab76bf397p-1, 0x1.f453790772648p-58},
    {SIN, {0x1.6ac5b262ca1ffp849}, 0x1p0, -0x1.2b089ea1e692bp-123},
    {SIN, {0x1p1023}, 0x1.205248cbdb76p-1, -0x1.a5a336baf7435p-57},
    {SIN, {0x1.921fb54442d18p1}, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbdp-109},
    {COS, {0x1p-1}, 0x1.c1528065b7d5p-1, -0x1.892111312e828p-55},
    {COS, {0x1.8p1}, -0x1.fae04be85e5d2p-1, -0x1.83effc17efb54p-55},
    {COS, {0x1.86ap16}, -0x1.ffac3841b3da7p-1, -0x1.b085bf2c1a978p-56},
    {COS, {-0x1.0f0cf064dd592p73}, 0x1.0be2cef01c8f4p-1, -0x1.b2d1bc8018c4fp-55},
    {COS, {0x1.6ac5b262ca1ffp849}, -0x1.14ae72e6ba22fp-61, 0x1.73eef1477d90ep-118},
    {COS, {0x1.921fb54442d18p0}, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110},
    {TAN, {0x1.6666666666666p-1}, 0x1.af406c2fc78aep-1, -0x1.68e6608993265p-55},
    {TAN, {0x1.921fb54442d18p0}, 0x1.d02967c31cdb5p53, -0x1.f3c72fe49aa2ap-3},
    {TAN, {-0x1.2a05f2p33}, 0x1.1de000f443f5p-1, 0x1.78d18e96fadecp-55},
    {ASIN, {0x1.999999999999ap-4}, 0x1.9a49276037884p-4, 0x1.3925d6f4efa8p-59},
    {ASIN, {-0x1.ff7ced916872bp-1}, -0x1.86ac9ad18f803p0, -0x1.69d8f0da2e37fp-54},
    {ASIN, {0x1.b7cdfd9d7bdbbp-34}, 0x1.b7cdfd9d7bdbbp-34, 0x1.b0b0ffe8fae2bp-103},
    {ASIN, {0x1.6a09e667f3bcdp-1}, 0x1.921fb54442d19p-1, -0x1.bc7e938bd7e9cp-57},
    {ACOS, {0x1.999999999999ap-4}, 0x1.787b22ce3f59p0, 0x1.09934799e432ep-58},
    {ACOS, {-0x1.ff7ced916872bp-1}, 0x1.8c66280ae928ep1, -0x1.7bc4abf48c07ap-54},
    {ACOS, {0x1.fffffffffffffp-1}, 0x1p-26, 0x1.5555555555555p-83},
    {ACOS, {-0x1p0}, 0x1.921fb54442d18p1, 0x1.1a62633145c07p-53},
    {EXP, {0x1p0}, 0x1.5bf0a8b145769p1, 0x1.4d57ee2b1013ap-53},
    {EXP, {-0x1.3333333333333p-2}, 0x1.7b4c869c37c05p-1, -0x1.0a730392f0d98p-59},
    {EXP, {0x1.62d999999999ap9}, 0x1.d75ae7a50ee14p1023, -0x1.a7242fe782b54p968},
    {EXP, {-0x1.72p9}, 0x0.0000000000055p-1022, 0},
    {EXP, {0x1.79ca10c924223p-67}, 0x1p0, 0x1.79ca10c924223p-67},
    {EXPM1, {0x1.b7cdfd9d7bdbbp-34}, 0x1.b7cdfd9dda4e3p-34, 0x1.0c95a385d91c6p-88},
    {EXPM1, {-0x1.999999999999ap-3}, -0x1.733d4a7a67a9bp-3, 0x1.eebc3ad865dfcp-61},
    {EXPM1, {0x1.4p2}, 0x1.26d389970338fp7, 0x1.f66faad9235acp-49},
    {EXPM1, {-0x1.4p5}, -0x1p0, 0x1.39792499b1a24p-58},
    {LN, {0x1p1}, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56},
    {LN, {0x1.fffffffffffffp-1}, -0x1p-53, -0x1p-107},
    {LN, {0x1.1ccf385ebc8ap1023}, 0x1.62991d5d62a5ep9, -0x1.e876db77e7b55p-47},
    {LN, {0x0.0000000000001p-1022}, -0x1.74385446d71c3p9, -0x1.8e569fa8ee781p-45},
    {LN, {0x1.4p3}, 0x1.26bb1bbb55516p1, -0x1.f48ad494ea3e9p-53},
    {LOG2, {0x1.8p1}, 0x1.95c01a39fbd68p0, 0x1.e7e802c48281ap-54},
    {LOG2, {0x1.999999999999ap-4}, -0x1.a934f0979a371p1, -0x1.8cf4b5a4471ddp-54},
    {LOG2, {0x1.7e43c8800759cp996}, 0x1.f24a09f1a8b89p9, -0x1.1ca4ec9a5578dp-46},
    {LOG10, {0x1p1}, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59},
    {LOG10, {0x1.f38p9}, 0x1.7ff1c30d1207fp1, -0x1.57849f5bb212p-55},
    {LOG10, {0x1.56e1fc2f8f359p-997}, -0x1.2cp8, 0x1.918344932408p-57},
    {CBRT, {0x1p1}, 0x1.428a2f98d728bp0, -0x1.ddc22548ea41ep-56},
    {CBRT, {0x1.0624dd2f1a9fcp-10}, 0x1.999999999999ap-4, -0x1.6666666666666p-58},
    {CBRT, {0x1.7e43c8800759cp996}, 0x1.249ad2594c37dp332, 0x1.0da9067103799p273},
    {CBRT, {0x0.0000000000001p-1022}, 0x1p-358, 0},
    {ATAN2, {0x1p0, 0x1p1}, 0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    {ATAN2, {-0x1.56e1fc2f8f359p-997, -0x1p0}, -0x1.921fb54442d18p1, -0x1.1a62633145c07p-53},
    {ATAN2, {0x1.8p1, -0x1.4f8b588e368f1p-17}, 0x1.921fed30d193ep0, 0x1.f2fa0ffc0fcb7p-56},
    {ATAN2, {0x1.7e43c8800759cp996, 0x1.1ccf385ebc8ap1023}, 0x1.5798ee2308c3ap-27, -0x1.3b2f3676ae6ap-83},
    {ATAN2, {0x0.0000000000001p-1022, 0x0.0000000000002p-1022}, 0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    {POW, {0x1.3333333333333p-2, 0x1.6666666666666p-1}, 0x1.b8d809c615f41p-2, 0x1.c311ef01df5dfp-57},
    {POW, {0x1.4p3, -0x1.2cp8}, 0x1.56e1fc2f8f359p-997, -0x0.00000004d6491p-1022},
    {POW, {0x1.000001ad7f29bp0, 0x1.dcd65p29}, 0x1.349445c228792p144, -0x1.24a322a01718bp90},
    {POW, {0x0.0000000000001p-1022, 0x1.47ae147ae147bp-7}, 0x1.328df6e1fea76p-11, 0x1.fecf3c1b98185p-65},
    {POW, {0x1p1, 0x1p-1}, 0x1.6a09e667f3bcdp0, -0x1.bdd3413b26456p-54},
    {HYPOT, {0x1p0, 0x1p0}, 0x1.6a09e667f3bcdp0, -0x1.bdd3413b26456p-54},
    {HYPOT, {0x1.7e43c8800759cp996, 0x1.7e43c8800759cp996}, 0x1.0e4d50f99b211p997, -0x1.3c6b65d50e7f7p942},
    {HYPOT, {0x0.00000000017b8p-1022, 0x0.0000000001fap-1022}, 0x0.0000000002788p-1022, 0},
    {HYPOT, {0x1p0, 0x1.12e0be826d695p-30}, 0x1p0, 0x1.2725dd1d243acp-61},
};

static void known_values(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
        const struct function *f = &functions[known[n].function];
        const double *a = known[n].arguments;
        double result = f->call(a[0], a[1]), off = ulps(result, known[n].value, known[n].rest);
        if (!(off <= f->bound))
            fail_msg("%s(%a, %a) is %a instead of %a: %g ulp", f->name, a[0], a[1], result, known[n].value, off);
    }
}

/* A number of any size between 2^low and 2^high. */
static double random_size(test_random *random, int low, int high) {
    double mantissa = test_random_real(random, 1, 2);
    return ldexp(mantissa, low + (int)test_random_below(random, (uint32_t)(high - low)));
}

static void random_arguments(const struct function *f, test_random *random, double out[2]) {
    out[0] = random_size(random, f->low, f->high);
    out[1] = random_size(random, f->low, f->high);
    uint64_t signs = test_random_bits(random);
    if (f->low > -1074 && f != &functions[POW] && signs & 1)
        out[0] = -out[0];
    if (signs & 2)
        out[1] = -out[1];
}

static void the_same_bits(void **state) {
    (void)state;
    bool wrong = false;
    for (size_t n = 0; n < FUNCTION_COUNT; n++) {
        const struct function *f = &functions[n];
        test_random random = {.state = n};
        uint64_t hash = UINT64_C(14695981039346656037);
        for (int i = 0; i < 100000; i++) {
            double a[2];
            random_arguments(f, &random, a);
            double result = f->call(a[0], a[1]);
            uint64_t bits;
            memcpy(&bits, &result, sizeof bits);
            hash = (hash ^ (result != result ? 0 : bits)) * UINT64_C(1099511628211); /* NaNs have many bits */
            hash ^= hash >> 32;
        }
        if (hash != f->hash) {
            fprintf(stderr, "%s: hash 0x%016llX\n", f->name, (unsigned long long)hash);
            wrong = true;
        }
    }
    assert_false(wrong);
}

static void errors_are_bounded(void **state) {
    (void)state;
#if !defined(__GLIBC__) || LDBL_MANT_DIG < 64
    skip(); /* its long double is a double, or not computed to its own precision */
#endif
    for (size_t n = 0; n < FUNCTION_COUNT; n++) {
        const struct function *f = &functions[n];
        test_random random = {.state = 100 + n};
        for (int i = 0; i < 100000; i++) {
            double a[2];
            random_arguments(f, &random, a);
            if (i % 2 && f->low > -1074) { /* usual sizes */
                a[0] = n == ASIN || n == ACOS ? test_random_real(&random, -1, 1)
                                              : test_random_real(&random, n == POW ? 0 : -4, 4);
                a[1] = test_random_real(&random, -4, 4);
            }
            long double precise = f->precise((long double)a[0], (long double)a[1]);
            double result = f->call(a[0], a[1]), value = (double)precise;
            double off = isfinite(value)   ? ulps(result, value, (double)(precise - (long double)value))
                         : result == value ? 0
                                           : INFINITY;
            if (!(off <= f->bound + 0.001)) /* which long double is off */
                fail_msg("%s(%a, %a) is %a instead of %a: %g ulp", f->name, a[0], a[1], result, value, off);
        }
    }
}

static void same(double result, double wanted, const char *what) {
    if (!(isnan(wanted) ? isnan(result) : result == wanted && signbit(result) == signbit(wanted)))
        fail_msg("%s is %g instead of %g", what, result, wanted);
}
#define SAME(call, wanted) same(call, wanted, #call)

static void special_values(void **state) {
    (void)state;
    SAME(px_sin(-0.0), -0.0);
    SAME(px_sin(INFINITY), NAN);
    SAME(px_sin(NAN), NAN);
    SAME(px_cos(0), 1);
    SAME(px_cos(-INFINITY), NAN);
    SAME(px_tan(-0.0), -0.0);
    SAME(px_tan(INFINITY), NAN);
    SAME(px_asin(-0.0), -0.0);
    SAME(px_asin(1.0000001), NAN);
    SAME(px_acos(1), 0);
    SAME(px_acos(-2), NAN);
    SAME(px_exp(0), 1);
    SAME(px_exp(INFINITY), INFINITY);
    SAME(px_exp(-INFINITY), 0);
    SAME(px_exp(1000), INFINITY);
    SAME(px_exp(NAN), NAN);
    SAME(px_expm1(-0.0), -0.0);
    SAME(px_expm1(-INFINITY), -1);
    SAME(px_expm1(INFINITY), INFINITY);
    SAME(px_ln(1), 0);
    SAME(px_ln(-0.0), -INFINITY);
    SAME(px_ln(-1), NAN);
    SAME(px_ln(INFINITY), INFINITY);
    SAME(px_log2(0), -INFINITY);
    SAME(px_log10(-INFINITY), NAN);
    for (int e = -1074; e < 1024; e++)
        assert_true(px_log2(ldexp(1, e)) == e);
    double ten = 1;
    for (int e = 0; e <= 22; e++, ten *= 10)
        assert_true(px_log10(ten) == e && px_pow(10, e) == ten);
    SAME(px_cbrt(-27), -3);
    SAME(px_cbrt(-0.0), -0.0);
    SAME(px_cbrt(-INFINITY), -INFINITY);
    SAME(px_atan2(-0.0, 1), -0.0);
    SAME(px_atan2(0.0, -0.0), 0x1.921fb54442d18p1);
    SAME(px_atan2(-0.0, -1), -0x1.921fb54442d18p1);
    SAME(px_atan2(1, 0), 0x1.921fb54442d18p0);
    SAME(px_atan2(-1, INFINITY), -0.0);
    SAME(px_atan2(1, -INFINITY), 0x1.921fb54442d18p1);
    SAME(px_atan2(INFINITY, -INFINITY), 0x1.2d97c7f3321d2p1);
    SAME(px_atan2(NAN, 1), NAN);
    SAME(px_hypot(INFINITY, NAN), INFINITY);
    SAME(px_hypot(3, -4), 5);
    SAME(px_hypot(0, 0), 0);
    SAME(px_hypot(NAN, 1), NAN);
    SAME(px_pow(NAN, 0), 1);
    SAME(px_pow(1, NAN), 1);
    SAME(px_pow(NAN, 1), NAN);
    SAME(px_pow(-1, INFINITY), 1);
    SAME(px_pow(-2, 3), -8);
    SAME(px_pow(-2, -2), 0.25);
    SAME(px_pow(-2, 0.5), NAN);
    SAME(px_pow(0, -1), INFINITY);
    SAME(px_pow(-0.0, -3), -INFINITY);
    SAME(px_pow(-0.0, 3), -0.0);
    SAME(px_pow(-0.0, 2.5), 0);
    SAME(px_pow(0.5, INFINITY), 0);
    SAME(px_pow(0.5, -INFINITY), INFINITY);
    SAME(px_pow(-INFINITY, 3), -INFINITY);
    SAME(px_pow(-INFINITY, -3), -0.0);
    SAME(px_pow(INFINITY, -0.5), 0);
    SAME(px_pow(2, 1024), INFINITY);
    SAME(px_pow(-2, 1025), -INFINITY);
    SAME(px_pow(2, -1074), 0x1p-1074);
    SAME(px_pow(2, -1080), 0);
    SAME(px_pow(1.5, 1e300), INFINITY);
    SAME((double)px_powf(0, 2.4f), 0);
    SAME((double)px_powf(4, -0.5f), 0.5);
    SAME((double)px_hypotf(3e38f, 1), 3e38f);
    SAME(px_fmax(NAN, -1), -1);
    SAME(px_fmax(-1, NAN), -1);
    SAME(px_fmin(NAN, -1), -1);
    SAME(px_fmin(-1, NAN), -1);
    SAME(px_fmin(NAN, NAN), NAN);
    SAME(px_fmax(0.0, -0.0), -0.0);
    SAME(px_fmin(-0.0, 0.0), 0);
    SAME((double)px_fmaxf(2, 1), 2);
    SAME((double)px_fminf(2, 1), 1);
}

/* px_acos_below: the error that libm.h states, absolutely and near 0 relatively. */
static void acos_below(void **state) {
    (void)state;
    for (int e = 0; e <= 200000; e++) {
        double y = e / 100000.0, wanted = 2 * asin(sqrt(y / 2));
        assert_true(fabs(px_acos_below(y) - wanted) < 2.2e-8);
        double small = y * 1e-3;
        wanted = 2 * asin(sqrt(small / 2));
        assert_true(fabs(px_acos_below(small) - wanted) <= 2e-8 * wanted);
    }
}

/* No step back where intervals of the argument meet. */
static void increasing(void **state) {
    (void)state;
    double before[5] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int i = -300000; i <= 300000; i++) {
        double x = i * 0x1p-18,
               now[5] = {px_exp(x), px_cbrt(x), px_atan2(x, 1), i > 0 ? px_ln(x) : -INFINITY, px_expm1(x)};
        for (int f = 0; f < 5; f++) {
            if (!(now[f] > before[f] || now[f] == -INFINITY))
                fail_msg("function %d decreases at %a", f, x);
            before[f] = now[f];
        }
    }
}

/* Integer `x`, however large: its lowest 64 bits, in two's complement. */
static uint64_t low_bits(double x) {
    double low = fmod(x, 0x1p64);
    return low < 0 ? -(uint64_t)-low : (uint64_t)low;
}

/* Whether a b is exactly product + rest, and product is a b rounded. Not by fma(): that of MinGW-w64 rounds twice. */
static bool is_product(double a, double b, double product, double rest) {
    int a_exponent, b_exponent;
    double a_digits = ldexp(frexp(a, &a_exponent), 53), b_digits = ldexp(frexp(b, &b_exponent), 53);
    int scale = 106 - a_exponent - b_exponent;
    double whole = ldexp(product, scale), part = ldexp(rest, scale);
    return product == a * b && fabs(rest) <= fabs(product) * 0x1p-53 && part == floor(part) &&
           low_bits(whole) + low_bits(part) == low_bits(a_digits) * low_bits(b_digits);
}

static void exact_parts(void **state) {
    (void)state;
    test_random random = {.state = 7};
    for (int i = 0; i < 100000; i++) {
        double a = random_size(&random, -30, 30), b = random_size(&random, -30, 30), rest;
        double product = px_two_product(a, -b, &rest);
        assert_true(is_product(a, -b, product, rest));
        assert_false(is_product(a, -b, product, nextafter(rest, 1)));
        double sum = px_two_sum(a, -b, &rest);
        assert_true(sum == a - b && sum + rest == sum);
        assert_true((sum - a) + b == rest || fabs(rest) <= fabs(sum) * 0x1p-53);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values),       cmocka_unit_test(the_same_bits),
                                       cmocka_unit_test(errors_are_bounded), cmocka_unit_test(special_values),
                                       cmocka_unit_test(increasing),         cmocka_unit_test(acos_below),
                                       cmocka_unit_test(exact_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
