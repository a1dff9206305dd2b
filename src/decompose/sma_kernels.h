/* Inner loops of rotations and mean shift, compiled once for every machine and once for AVX2 with the same results: bytes are summed
 * exactly, floats in a fixed order. */
#include "decompose/sma.h"

#include <math.h>
#include <stdlib.h>

/* ---- Rotations --------------------------------------------------------------------------------------------- */

typedef double quad __attribute__((vector_size(8 * PX_TURN_LANES), aligned(8), may_alias)); /* any address */

#define QUAD(place)  (*(quad *)(uintptr_t)(place))
#define NEWTON_STEPS 12
#define NEWTON_LAST  1e-14 /* squared change of the matrix after which it is a rotation to double precision */
#define SINGULAR     1e-6  /* determinant below which the singular value decomposition is used */

/* The polar factor by Newton's iteration X ← (X + X⁻ᵀ) / 2 (Higham 1986). */
static unsigned turn(double edges[6][PX_TURN_LANES], const double inverses[9][PX_TURN_LANES],
                     double rotations[9][PX_TURN_LANES]) {
    quad o[9], x[9]; /* o: e21, e31, n̂ */
    for (int e = 0; e < 6; e++)
        o[e] = QUAD(edges[e]);
    for (int r = 0; r < 3; r++)
        o[6 + r] = o[(r + 1) % 3] * o[3 + (r + 2) % 3] - o[(r + 2) % 3] * o[3 + (r + 1) % 3];
    quad square = o[6] * o[6] + o[7] * o[7] + o[8] * o[8], scale;
    for (size_t l = 0; l < PX_TURN_LANES; l++)
        scale[l] = square[l] > 0 ? 1 / sqrt(square[l]) : 0;
    for (int e = 0; e < 9; e++)
        x[e] = o[e / 3] * QUAD(inverses[e % 3]) + o[3 + e / 3] * QUAD(inverses[3 + e % 3]) +
               o[6 + e / 3] * scale * QUAD(inverses[6 + e % 3]);
    unsigned failed = 0, moving = (1u << PX_TURN_LANES) - 1;
    for (int n = 0; n < NEWTON_STEPS && (moving & ~failed); n++) {
        quad cofactors[9], change = {0};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                const quad *a = x + (r + 1) % 3 * 3, *b = x + (r + 2) % 3 * 3;
                cofactors[3 * r + c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
            }
        quad determinant = x[0] * cofactors[0] + x[1] * cofactors[1] + x[2] * cofactors[2], half = 0.5 / determinant;
        for (int e = 0; e < 9; e++) {
            quad next = 0.5 * x[e] + half * cofactors[e];
            change += (next - x[e]) * (next - x[e]);
            x[e] = next;
        }
        moving = 0;
        for (size_t l = 0; l < PX_TURN_LANES; l++) {
            failed |= !(determinant[l] > SINGULAR) ? 1u << l : 0;
            moving |= !(change[l] < NEWTON_LAST) ? 1u << l : 0;
        }
    }
    for (int e = 0; e < 9; e++)
        QUAD(rotations[e]) = x[e];
    return failed | moving;
}

/* ---- Range queries ---------------------------------------------------------------------------------------- */

static uint32_t byte_distance(const uint8_t *a, const uint8_t *b, size_t pitch) {
    uint32_t sum = 0;
    for (size_t e = 0; e < pitch; e++)
        sum += (uint32_t)abs((int)a[e] - (int)b[e]);
    return sum;
}

static void sketch(const uint8_t *bytes, size_t pitch, int16_t out[PX_SHIFT_SKETCH]) {
    size_t run = pitch / PX_SHIFT_SKETCH;
    for (size_t s = 0; s < PX_SHIFT_SKETCH; s++) {
        int sum = 0;
        for (size_t e = s * run; e < (s + 1) * run; e++)
            sum += bytes[e];
        out[s] = (int16_t)sum;
    }
}

#define WORDS 16u /* lanes of 16 bits */

/* Sums of four words fit in 16 bits: pitch · 255 / 4 < 2^16 up to PX_SHIFT_PITCH_MOST. */
static uint32_t sum_words(const int16_t words[WORDS]) {
    const uint64_t even = UINT64_C(0x0000FFFF0000FFFF);
    uint64_t quads[WORDS / 4];
    memcpy(quads, words, sizeof quads);
    uint64_t sum = quads[0] + quads[1] + quads[2] + quads[3];
    sum = (sum & even) + (sum >> 16 & even);
    return (uint32_t)(sum + (sum >> 32));
}

static uint32_t sketch_distance(const int16_t *a, const int16_t *b) {
    int16_t words[WORDS] = {0};
    for (size_t s = 0; s < PX_SHIFT_SKETCH; s += WORDS)
        for (size_t l = 0; l < WORDS; l++) {
            int16_t off = (int16_t)(a[s + l] - b[s + l]);
            words[l] = (int16_t)(words[l] + (off < 0 ? -off : off));
        }
    return sum_words(words);
}

static uint32_t box_distance(const int16_t *box, const int16_t *sketch) {
    const int16_t *low = box, *high = box + PX_SHIFT_SKETCH;
    int16_t words[WORDS] = {0};
    for (size_t s = 0; s < PX_SHIFT_SKETCH; s += WORDS)
        for (size_t l = 0; l < WORDS; l++) {
            int16_t below = (int16_t)(low[s + l] - sketch[s + l]), above = (int16_t)(sketch[s + l] - high[s + l]);
            int16_t off = below > above ? below : above;
            words[l] = (int16_t)(words[l] + (off > 0 ? off : 0));
        }
    return sum_words(words);
}

typedef struct query {
    const px_shift_tree *tree;
    const uint8_t *positions; /* [position][pitch] */
    int16_t sketches[PX_SHIFT_PLACES][PX_SHIFT_SKETCH];
    uint32_t limit;
    px_shift_near *near;
    void *user;
} query;

/* Visits a node with places [first, end) for the positions whose bits are set in `asked`. */
static void visit(const query *q, unsigned asked, size_t node, size_t first, size_t end) {
    const px_shift_tree *tree = q->tree;
    const int16_t *box = tree->boxes + node * 2 * PX_SHIFT_SKETCH;
    unsigned inside = 0;
    for (unsigned left = asked; left; left &= left - 1) {
        int n = __builtin_ctz(left);
        inside |= (unsigned)(box_distance(box, q->sketches[n]) <= q->limit) << n;
    }
    if (inside == 0)
        return;
    if (2 * node + 2 < ((size_t)1 << tree->levels) - 1) {
        size_t middle = first + (end - first) / 2;
        visit(q, inside, 2 * node + 1, first, middle);
        visit(q, inside, 2 * node + 2, middle, end);
        return;
    }
    for (size_t p = first; p < end; p++) {
        const int16_t *point = tree->sketches + p * PX_SHIFT_SKETCH;
        unsigned near = 0, any = 0;
        for (unsigned left = inside; left; left &= left - 1) { /* without branches: their outcome is unpredictable */
            int n = __builtin_ctz(left);
            near |= (unsigned)(sketch_distance(point, q->sketches[n]) <= q->limit) << n;
        }
        if (near == 0)
            continue;
        uint32_t distances[PX_SHIFT_PLACES];
        memset(distances, 0xFF, sizeof distances);
        for (unsigned left = near; left; left &= left - 1) {
            int n = __builtin_ctz(left);
            uint32_t distance = byte_distance(q->positions + (size_t)n * tree->pitch,
                                              tree->bytes + tree->order[p] * tree->pitch, tree->pitch);
            distances[n] = distance <= q->limit ? distance : UINT32_MAX;
            any |= distance <= q->limit;
        }
        if (any)
            q->near(q->user, tree->order[p], distances);
    }
}

static void find(const px_shift_tree *tree, const uint8_t *positions, size_t count, uint32_t limit, px_shift_near *near,
                 void *user) {
    query q = {.tree = tree, .positions = positions, .limit = limit, .near = near, .user = user};
    assert(count <= PX_SHIFT_PLACES);
    for (size_t n = 0; n < count; n++)
        sketch(positions + n * tree->pitch, tree->pitch, q.sketches[n]);
    if (tree->count > 0)
        visit(&q, (1u << count) - 1, 0, 0, tree->count);
}

/* ---- Positions -------------------------------------------------------------------------------------------- */

#define CHUNK 64u /* words converted to floats at a time */

static void add_weighted(const uint16_t *restrict point, size_t pitch, const float weights[PX_SHIFT_PLACES],
                         float *restrict sums) {
    for (size_t first = 0; first < pitch; first += CHUNK) {
        float values[CHUNK];
        size_t count = px_min_size(CHUNK, pitch - first);
        for (size_t e = 0; e < count; e++)
            values[e] = (float)point[first + e];
        for (size_t n = 0; n < PX_SHIFT_PLACES; n++) {
            float *restrict sum = sums + n * pitch + first;
            for (size_t e = 0; weights[n] > 0 && e < count; e++)
                sum[e] += weights[n] * values[e];
        }
    }
}

static float distance(const float *a, const float *b, size_t pitch) {
    float lanes[PX_SHIFT_LANES] = {0}, sum = 0;
    for (size_t e = 0; e < pitch; e += PX_SHIFT_LANES)
        for (size_t l = 0; l < PX_SHIFT_LANES; l++)
            lanes[l] += fabsf(a[e + l] - b[e + l]);
    for (size_t l = 0; l < PX_SHIFT_LANES; l++)
        sum += lanes[l];
    return sum;
}

static void round_to_bytes(const float *values, size_t count, float low, float scale, const float *dithers,
                           uint8_t *bytes) {
    for (size_t e = 0; e < count; e++) {
        float x = (values[e] - low) * scale + dithers[e];
        bytes[e] = (uint8_t)(int32_t)(x < 255 ? x : 255);
    }
}

static void round_to_words(const float *values, size_t count, float low, float scale, uint16_t *words) {
    for (size_t e = 0; e < count; e++)
        words[e] = (uint16_t)(int32_t)((values[e] - low) * scale + 0.5f);
}

#define SHIFT_KERNELS                                                                                                  \
    { turn, sketch, find, byte_distance, distance, add_weighted, round_to_bytes, round_to_words }
