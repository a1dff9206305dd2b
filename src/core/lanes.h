/* SIMD vectors of floats. The includer defines LANES as 1, 4, 8 or 16; kernels written with these functions then
 * process that many vertices at once. With LANES 1 they are plain floats: the scalar reference is compiled from the
 * same source.
 *
 * Eight lanes are two halves of four, as in AVX: shuffles stay within a half, and rows of four floats are loaded in
 * pairs, one per half. With four lanes there is one half: the second row of a pair is ignored. Arithmetic uses GNU
 * vector extensions, so that x86, ARM and WebAssembly share one source. Intrinsics are used only for the square root, mask tests,
 * and where compilers generate poor code (16-bit integers, half stores).
 */
#ifndef PELT_CORE_LANES_H
#define PELT_CORE_LANES_H

#include "core/inline.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if LANES == 1

typedef float lanes;
typedef int lanes_mask;

INLINE lanes lanes_sqrt(lanes x) {
    return __builtin_sqrtf(x);
}
INLINE lanes lanes_select(lanes_mask mask, lanes yes, lanes no) {
    return mask ? yes : no;
}
INLINE int lanes_all(lanes_mask mask) {
    return mask;
}
/* x negated where `sign` is negative (−0 included). */
INLINE lanes lanes_flip(lanes x, lanes sign) {
    return __builtin_signbit(sign) ? -x : x;
}
/* p[0], p[stride], p[2·stride] … */
INLINE lanes lanes_stride(const float *p, size_t stride) {
    (void)stride;
    return p[0];
}
/* Transposes [lane][3] or [lane][4] in memory to one vector per component (load), and back (store). */
INLINE void lanes_load3(const float *p, lanes out[3]) {
    memcpy(out, p, 3 * sizeof *p);
}
INLINE void lanes_store3(float *p, const lanes in[3]) {
    memcpy(p, in, 3 * sizeof *p);
}
INLINE lanes lanes_from_i16(const int16_t *p) {
    return p[0];
}
/* As load4 and store4, with rows of four floats `stride` floats apart. */
INLINE void lanes_load4_stride(const float *p, size_t stride, lanes out[4]) {
    (void)stride;
    memcpy(out, p, 4 * sizeof *p);
}
INLINE void lanes_store4_stride(float *p, size_t stride, const lanes in[4]) {
    (void)stride;
    memcpy(p, in, 4 * sizeof *p);
}

#else

typedef float quad __attribute__((vector_size(16)));
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t lanes_mask __attribute__((vector_size(4 * LANES)));

INLINE lanes lanes_select(lanes_mask mask, lanes yes, lanes no) {
    return (lanes)((mask & (lanes_mask)yes) | (~mask & (lanes_mask)no));
}
INLINE lanes lanes_flip(lanes x, lanes sign) {
    return (lanes)((lanes_mask)x ^ ((lanes_mask)sign & INT32_MIN));
}
INLINE quad quad_load(const float *p) {
    quad out;
    memcpy(&out, p, sizeof out);
    return out;
}

#if LANES == 4

#if defined(__aarch64__)
#include <arm_neon.h>
INLINE lanes lanes_sqrt(lanes x) {
    return (lanes)vsqrtq_f32((float32x4_t)x);
}
INLINE int lanes_all(lanes_mask mask) {
    return vminvq_u32((uint32x4_t)mask) != 0;
}
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
INLINE lanes lanes_sqrt(lanes x) {
    return (lanes)wasm_f32x4_sqrt((v128_t)x);
}
INLINE int lanes_all(lanes_mask mask) {
    return wasm_i32x4_all_true((v128_t)mask);
}
#else
#include <emmintrin.h>
INLINE lanes lanes_sqrt(lanes x) {
    return (lanes)_mm_sqrt_ps((__m128)x);
}
INLINE int lanes_all(lanes_mask mask) {
    return _mm_movemask_ps((__m128)mask) == 15;
}
#endif

INLINE lanes lanes_from_i16(const int16_t *p) {
    typedef int16_t shorts __attribute__((vector_size(8)));
    shorts in;
    memcpy(&in, p, sizeof in);
    return __builtin_convertvector(in, lanes);
}

/* Selects elements a b c d of the concatenation of x and y (0 to 3: x, 4 to 7: y). */
#define SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)

INLINE lanes lanes_stride(const float *p, size_t stride) {
    return (lanes){p[0], p[stride], p[2 * stride], p[3 * stride]};
}
INLINE lanes lanes_pair(const float *low, const float *high) {
    (void)high;
    return quad_load(low);
}
/* The same four floats in every half. */
INLINE lanes lanes_repeat(const float *p) {
    return quad_load(p);
}
INLINE lanes lanes_pair_splat(float low, float high) {
    (void)high;
    return (lanes){low, low, low, low};
}
INLINE void lanes_store_pair(float *low, float *high, lanes x) {
    (void)high;
    memcpy(low, &x, sizeof x);
}
INLINE void lanes_store_halves(float *p, lanes a, lanes b, lanes c) {
    memcpy(p, &a, sizeof a);
    memcpy(p + 4, &b, sizeof b);
    memcpy(p + 8, &c, sizeof c);
}

#elif LANES == 8

#include <immintrin.h>
INLINE lanes lanes_sqrt(lanes x) {
    return (lanes)_mm256_sqrt_ps((__m256)x);
}
INLINE int lanes_all(lanes_mask mask) {
    return _mm256_movemask_ps((__m256)mask) == 255;
}
INLINE lanes lanes_from_i16(const int16_t *p) {
    return (lanes)_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)));
}

/* The same selection within each half. */
#define SHUFFLE_LOW(e)  ((e) < 4 ? (e) : (e) + 4)
#define SHUFFLE_HIGH(e) ((e) < 4 ? (e) + 4 : (e) + 8)
#define SHUFFLE(x, y, a, b, c, d)                                                                                      \
    __builtin_shufflevector(x, y, SHUFFLE_LOW(a), SHUFFLE_LOW(b), SHUFFLE_LOW(c), SHUFFLE_LOW(d), SHUFFLE_HIGH(a),     \
                            SHUFFLE_HIGH(b), SHUFFLE_HIGH(c), SHUFFLE_HIGH(d))

INLINE lanes lanes_stride(const float *p, size_t stride) {
    return (lanes){p[0],          p[stride],     p[2 * stride], p[3 * stride],
                   p[4 * stride], p[5 * stride], p[6 * stride], p[7 * stride]};
}
INLINE lanes lanes_halves(quad low, quad high) {
    return (lanes)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)low), (__m128)high, 1);
}
INLINE lanes lanes_repeat(const float *p) {
    return (lanes)_mm256_broadcast_ps((const __m128 *)p);
}
INLINE lanes lanes_low_halves(lanes a, lanes b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
}
INLINE lanes lanes_high_halves(lanes a, lanes b) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}
INLINE lanes lanes_pair(const float *low, const float *high) {
    return lanes_halves(quad_load(low), quad_load(high));
}
INLINE lanes lanes_pair_splat(float low, float high) {
    return (lanes){low, low, low, low, high, high, high, high};
}
INLINE void lanes_store_pair(float *low, float *high, lanes x) {
    _mm_storeu_ps(low, _mm256_castps256_ps128((__m256)x));
    _mm_storeu_ps(high, _mm256_extractf128_ps((__m256)x, 1));
}
/* Stores the low halves of a, b and c consecutively, then their high halves. */
INLINE void lanes_store_halves(float *p, lanes a, lanes b, lanes c) {
    _mm256_storeu_ps(p, _mm256_insertf128_ps((__m256)a, _mm256_castps256_ps128((__m256)b), 1));
    _mm256_storeu_ps(p + 8, _mm256_blend_ps((__m256)c, (__m256)a, 0xF0));
    _mm256_storeu_ps(p + 16, _mm256_permute2f128_ps((__m256)b, (__m256)c, 0x31));
}

#elif LANES == 16

#include <immintrin.h>
INLINE lanes lanes_sqrt(lanes x) {
    return (lanes)_mm512_sqrt_ps((__m512)x);
}
INLINE int lanes_all(lanes_mask mask) {
    return _mm512_movepi32_mask((__m512i)mask) == 0xFFFF;
}
INLINE lanes lanes_from_i16(const int16_t *p) {
    return (lanes)_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}

/* The same selection within each quarter. */
#define SHUFFLE_PART(e, part) ((e) < 4 ? (e) + 4 * (part) : (e) + 12 + 4 * (part))
#define SHUFFLE_FOUR(a, b, c, d, part)                                                                                 \
    SHUFFLE_PART(a, part), SHUFFLE_PART(b, part), SHUFFLE_PART(c, part), SHUFFLE_PART(d, part)
#define SHUFFLE(x, y, a, b, c, d)                                                                                      \
    __builtin_shufflevector(x, y, SHUFFLE_FOUR(a, b, c, d, 0), SHUFFLE_FOUR(a, b, c, d, 1),                            \
                            SHUFFLE_FOUR(a, b, c, d, 2), SHUFFLE_FOUR(a, b, c, d, 3))
/* Selects whole quarters a to d of the concatenation of x and y (0 to 3: x, 4 to 7: y). */
#define SHUFFLE_QUARTERS(x, y, a, b, c, d)                                                                             \
    __builtin_shufflevector(x, y, 4 * (a), 4 * (a) + 1, 4 * (a) + 2, 4 * (a) + 3, 4 * (b), 4 * (b) + 1, 4 * (b) + 2,   \
                            4 * (b) + 3, 4 * (c), 4 * (c) + 1, 4 * (c) + 2, 4 * (c) + 3, 4 * (d), 4 * (d) + 1,         \
                            4 * (d) + 2, 4 * (d) + 3)

#endif

/* Transposes a 4×4 block in each half (LANES 16: in each quarter). */
INLINE void lanes_transpose(lanes a[4]) {
    lanes low01 = SHUFFLE(a[0], a[1], 0, 4, 1, 5), high01 = SHUFFLE(a[0], a[1], 2, 6, 3, 7);
    lanes low23 = SHUFFLE(a[2], a[3], 0, 4, 1, 5), high23 = SHUFFLE(a[2], a[3], 2, 6, 3, 7);
    a[0] = SHUFFLE(low01, low23, 0, 1, 4, 5);
    a[1] = SHUFFLE(low01, low23, 2, 3, 6, 7);
    a[2] = SHUFFLE(high01, high23, 0, 1, 4, 5);
    a[3] = SHUFFLE(high01, high23, 2, 3, 6, 7);
}

#if LANES == 16

/* Stores one vector per component as [lane][3] and [lane][4]. There are no loads of these: kernels with 16 lanes do not
 * need them. */
INLINE void lanes_store3(float *p, const lanes in[3]) {
    lanes x = in[0], y = in[1], z = in[2];
    lanes a = __builtin_shufflevector(x, y, 0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5);
    lanes b = __builtin_shufflevector(x, y, 21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26);
    lanes c = __builtin_shufflevector(x, y, 0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0);
    lanes rows[3] = {__builtin_shufflevector(a, z, 0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15),
                     __builtin_shufflevector(b, z, 0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15),
                     __builtin_shufflevector(c, z, 26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31)};
    for (int r = 0; r < 3; r++)
        _mm512_storeu_ps(p + 16 * r, (__m512)rows[r]);
}
INLINE void lanes_store4(float *p, const lanes in[4]) {
    lanes r[4] = {in[0], in[1], in[2], in[3]};
    lanes_transpose(r);
    lanes low01 = SHUFFLE_QUARTERS(r[0], r[1], 0, 1, 4, 5), high01 = SHUFFLE_QUARTERS(r[0], r[1], 2, 3, 6, 7);
    lanes low23 = SHUFFLE_QUARTERS(r[2], r[3], 0, 1, 4, 5), high23 = SHUFFLE_QUARTERS(r[2], r[3], 2, 3, 6, 7);
    _mm512_storeu_ps(p, (__m512)SHUFFLE_QUARTERS(low01, low23, 0, 2, 4, 6));
    _mm512_storeu_ps(p + 16, (__m512)SHUFFLE_QUARTERS(low01, low23, 1, 3, 5, 7));
    _mm512_storeu_ps(p + 32, (__m512)SHUFFLE_QUARTERS(high01, high23, 0, 2, 4, 6));
    _mm512_storeu_ps(p + 48, (__m512)SHUFFLE_QUARTERS(high01, high23, 1, 3, 5, 7));
}
INLINE void lanes_store4_stride(float *p, size_t stride, const lanes in[4]) {
    lanes rows[4] = {in[0], in[1], in[2], in[3]};
    lanes_transpose(rows);
    for (size_t v = 0; v < 4; v++) {
        _mm_storeu_ps(p + stride * v, _mm512_castps512_ps128((__m512)rows[v]));
        _mm_storeu_ps(p + stride * (v + 4), _mm512_extractf32x4_ps((__m512)rows[v], 1));
        _mm_storeu_ps(p + stride * (v + 8), _mm512_extractf32x4_ps((__m512)rows[v], 2));
        _mm_storeu_ps(p + stride * (v + 12), _mm512_extractf32x4_ps((__m512)rows[v], 3));
    }
}

#else

/* Each half loads x0 y0 z0 x1 | y1 z1 x2 y2 | z2 x3 y3 z3: exactly 3·LANES floats are read, none beyond them. */
INLINE void lanes_load3(const float *p, lanes out[3]) {
    const float *q = p + 3 * (LANES - 4);
    lanes a = lanes_pair(p, q), b = lanes_pair(p + 4, q + 4), c = lanes_pair(p + 8, q + 8);
    lanes yz01 = SHUFFLE(a, b, 1, 2, 4, 5), xy23 = SHUFFLE(b, c, 2, 3, 5, 6);
    out[0] = SHUFFLE(a, xy23, 0, 3, 4, 6);
    out[1] = SHUFFLE(yz01, xy23, 0, 2, 5, 7);
    out[2] = SHUFFLE(yz01, c, 1, 3, 4, 7);
}
INLINE void lanes_store3(float *p, const lanes in[3]) {
    lanes xy = SHUFFLE(in[0], in[1], 0, 2, 4, 6), yz = SHUFFLE(in[1], in[2], 1, 3, 5, 7);
    lanes zx = SHUFFLE(in[2], in[0], 0, 2, 5, 7); /* z0 z2 x1 x3 */
    lanes_store_halves(p, SHUFFLE(xy, zx, 0, 2, 4, 6), SHUFFLE(yz, xy, 0, 2, 5, 7), SHUFFLE(zx, yz, 1, 3, 5, 7));
}
INLINE void lanes_load4_stride(const float *p, size_t stride, lanes out[4]) {
    const float *q = p + stride * (LANES - 4);
    for (size_t v = 0; v < 4; v++)
        out[v] = lanes_pair(p + stride * v, q + stride * v);
    lanes_transpose(out);
}
INLINE void lanes_store4_stride(float *p, size_t stride, const lanes in[4]) {
    float *q = p + stride * (LANES - 4);
    lanes rows[4] = {in[0], in[1], in[2], in[3]};
    lanes_transpose(rows);
    for (size_t v = 0; v < 4; v++)
        lanes_store_pair(p + stride * v, q + stride * v, rows[v]);
}

#endif

#endif

#if LANES != 16
INLINE void lanes_load4(const float *p, lanes out[4]) {
    lanes_load4_stride(p, 4, out);
}
INLINE void lanes_store4(float *p, const lanes in[4]) {
    lanes_store4_stride(p, 4, in);
}
#endif

/* The same number in every lane. */
INLINE lanes lanes_splat(float x) {
    return x - (lanes){0};
}
/* Load and store of LANES consecutive floats. */
INLINE lanes lanes_load(const float *p) {
    lanes out;
    memcpy(&out, p, sizeof out);
    return out;
}
INLINE void lanes_store(float *p, lanes in) {
    memcpy(p, &in, sizeof in);
}

INLINE lanes lanes_dot3(const lanes a[3], const lanes b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
INLINE void lanes_cross3(const lanes a[3], const lanes b[3], lanes out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
/* Rotates v by a unit quaternion (r, w): v + 2 r × (r × v + w v). */
INLINE void lanes_turn3(const lanes q[4], const lanes v[3], lanes out[3]) {
    lanes inner[3], outer[3];
    lanes_cross3(q, v, inner);
    for (int c = 0; c < 3; c++)
        inner[c] += q[3] * v[c];
    lanes_cross3(q, inner, outer);
    for (int c = 0; c < 3; c++)
        out[c] = v[c] + 2.0f * outer[c];
}

#endif
