/* A few numbers at once. The includer defines LANES as 1, 4 or 8; kernels written with these names then work on that
 * many vertices. One lane is plain floats: the scalar reference is the same text.
 *
 * Eight lanes are two halves of four, as AVX has them: shuffles stay within a half, and rows of four floats are loaded
 * in pairs, one per half. With four lanes the second of such a pair is the first again, and is not loaded.
 * Operations are the compiler's own (GNU vector extensions), so that x86 and ARM share one text; only the square root
 * and, where compilers make a detour, 16-bit integers need intrinsics.
 */
#ifndef PELT_CORE_LANES_H
#define PELT_CORE_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

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
/* x with its sign turned where `sign` is negative. */
INLINE lanes lanes_flip(lanes x, lanes sign) {
    return __builtin_signbit(sign) ? -x : x;
}
/* p[0], p[stride], p[2·stride] … */
INLINE lanes lanes_stride(const float *p, size_t stride) {
    (void)stride;
    return p[0];
}
/* [lane][3] or [lane][4] to one variable per component, and back. */
INLINE void lanes_load3(const float *p, lanes out[3]) {
    memcpy(out, p, 3 * sizeof *p);
}
INLINE void lanes_store3(float *p, const lanes in[3]) {
    memcpy(p, in, 3 * sizeof *p);
}
INLINE lanes lanes_from_i16(const int16_t *p) {
    return p[0];
}
/* The same where rows of four floats are `stride` floats apart. */
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

/* Elements a b c d of the eight of x and y. */
#define SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)

INLINE lanes lanes_stride(const float *p, size_t stride) {
    return (lanes){p[0], p[stride], p[2 * stride], p[3 * stride]};
}
INLINE lanes lanes_pair(const float *low, const float *high) {
    (void)high;
    return quad_load(low);
}
INLINE lanes lanes_pair_splat(float low, float high) {
    (void)high;
    return (lanes){low, low, low, low};
}
INLINE void lanes_store_pair(float *low, float *high, lanes x) {
    (void)high;
    memcpy(low, &x, sizeof x);
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

/* The same for each half. */
#define SHUFFLE_LOW(e)  ((e) < 4 ? (e) : (e) + 4)
#define SHUFFLE_HIGH(e) ((e) < 4 ? (e) + 4 : (e) + 8)
#define SHUFFLE(x, y, a, b, c, d)                                                                                      \
    __builtin_shufflevector(x, y, SHUFFLE_LOW(a), SHUFFLE_LOW(b), SHUFFLE_LOW(c), SHUFFLE_LOW(d), SHUFFLE_HIGH(a),     \
                            SHUFFLE_HIGH(b), SHUFFLE_HIGH(c), SHUFFLE_HIGH(d))

INLINE lanes lanes_stride(const float *p, size_t stride) {
    return (lanes){p[0],          p[stride],     p[2 * stride], p[3 * stride],
                   p[4 * stride], p[5 * stride], p[6 * stride], p[7 * stride]};
}
INLINE lanes lanes_pair(const float *low, const float *high) {
    return __builtin_shufflevector(quad_load(low), quad_load(high), 0, 1, 2, 3, 4, 5, 6, 7);
}
INLINE lanes lanes_pair_splat(float low, float high) {
    return (lanes){low, low, low, low, high, high, high, high};
}
INLINE void lanes_store_pair(float *low, float *high, lanes x) {
    quad a = __builtin_shufflevector(x, x, 0, 1, 2, 3), b = __builtin_shufflevector(x, x, 4, 5, 6, 7);
    memcpy(low, &a, sizeof a);
    memcpy(high, &b, sizeof b);
}

#endif

/* Four rows of four (in each half) to four columns. */
INLINE void lanes_transpose(lanes a[4]) {
    lanes low01 = SHUFFLE(a[0], a[1], 0, 4, 1, 5), high01 = SHUFFLE(a[0], a[1], 2, 6, 3, 7);
    lanes low23 = SHUFFLE(a[2], a[3], 0, 4, 1, 5), high23 = SHUFFLE(a[2], a[3], 2, 6, 3, 7);
    a[0] = SHUFFLE(low01, low23, 0, 1, 4, 5);
    a[1] = SHUFFLE(low01, low23, 2, 3, 6, 7);
    a[2] = SHUFFLE(high01, high23, 0, 1, 4, 5);
    a[3] = SHUFFLE(high01, high23, 2, 3, 6, 7);
}

/* In each half x0 y0 z0 x1 | y1 z1 x2 y2 | z2 x3 y3 z3: exactly the floats of the vertices, none behind them. */
INLINE void lanes_load3(const float *p, lanes out[3]) {
    const float *q = p + 3 * (LANES - 4);
    lanes a = lanes_pair(p, q), b = lanes_pair(p + 4, q + 4), c = lanes_pair(p + 8, q + 8);
    lanes x23 = SHUFFLE(b, c, 2, 2, 5, 5);
    lanes y01 = SHUFFLE(a, b, 1, 1, 4, 4), y23 = SHUFFLE(b, c, 3, 3, 6, 6);
    lanes z01 = SHUFFLE(a, b, 2, 2, 5, 5);
    out[0] = SHUFFLE(a, x23, 0, 3, 4, 6);
    out[1] = SHUFFLE(y01, y23, 0, 2, 4, 6);
    out[2] = SHUFFLE(z01, c, 0, 2, 4, 7);
}
INLINE void lanes_store3(float *p, const lanes in[3]) {
    float *q = p + 3 * (LANES - 4);
    lanes x = in[0], y = in[1], z = in[2];
    lanes xy0 = SHUFFLE(x, y, 0, 0, 4, 4), zx01 = SHUFFLE(z, x, 0, 0, 5, 5);
    lanes yz1 = SHUFFLE(y, z, 1, 1, 5, 5), xy2 = SHUFFLE(x, y, 2, 2, 6, 6);
    lanes zx23 = SHUFFLE(z, x, 2, 2, 7, 7), yz3 = SHUFFLE(y, z, 3, 3, 7, 7);
    lanes_store_pair(p, q, SHUFFLE(xy0, zx01, 0, 2, 4, 6));
    lanes_store_pair(p + 4, q + 4, SHUFFLE(yz1, xy2, 0, 2, 4, 6));
    lanes_store_pair(p + 8, q + 8, SHUFFLE(zx23, yz3, 0, 2, 4, 6));
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

INLINE void lanes_load4(const float *p, lanes out[4]) {
    lanes_load4_stride(p, 4, out);
}
INLINE void lanes_store4(float *p, const lanes in[4]) {
    lanes_store4_stride(p, 4, in);
}

/* Numbers one behind the other, and back. */
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
/* By a unit quaternion (r, w): v + 2 r × (r × v + w v). */
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
