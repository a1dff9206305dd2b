/* Inner loops of mean shift, compiled once for every machine and once for AVX2 with the same results: lanes are summed in
 * a fixed order and bytes exactly. */
#include "decompose/sma.h"

#include <math.h>
#include <stdlib.h>

static uint32_t byte_distance(const uint8_t *a, const uint8_t *b, size_t pitch, uint32_t limit) {
    uint32_t sum = 0;
    for (size_t first = 0; first < pitch && sum <= limit; first += PX_SHIFT_BYTES)
        for (size_t e = first; e < first + PX_SHIFT_BYTES; e++)
            sum += (uint32_t)abs((int)a[e] - (int)b[e]);
    return sum;
}

typedef float lanes8 __attribute__((vector_size(4 * PX_SHIFT_LANES), aligned(4), may_alias)); /* any address */

#define AT(place) (*(const lanes8 *)(place))

/* Four times eight floats are summed in registers: two cache lines of each point. */
static void add_weighted(const float *points, size_t pitch, const uint32_t *near, const float *weights, size_t count,
                         float *sum) {
    size_t e = 0;
    for (; e + 32 <= pitch; e += 32) {
        lanes8 a = AT(sum + e), b = AT(sum + e + 8), c = AT(sum + e + 16), d = AT(sum + e + 24);
        for (size_t n = 0; n < count; n++) {
            const float *point = points + near[n] * pitch + e;
            a += weights[n] * AT(point);
            b += weights[n] * AT(point + 8);
            c += weights[n] * AT(point + 16);
            d += weights[n] * AT(point + 24);
        }
        *(lanes8 *)(sum + e) = a;
        *(lanes8 *)(sum + e + 8) = b;
        *(lanes8 *)(sum + e + 16) = c;
        *(lanes8 *)(sum + e + 24) = d;
    }
    for (; e < pitch; e += PX_SHIFT_LANES) {
        lanes8 a = AT(sum + e);
        for (size_t n = 0; n < count; n++)
            a += weights[n] * AT(points + near[n] * pitch + e);
        *(lanes8 *)(sum + e) = a;
    }
}

static float sum_lanes(const float lanes[PX_SHIFT_LANES]) {
    float sum = 0;
    for (size_t l = 0; l < PX_SHIFT_LANES; l++)
        sum += lanes[l];
    return sum;
}

static float distance(const float *a, const float *b, size_t pitch) {
    float lanes[PX_SHIFT_LANES] = {0};
    for (size_t e = 0; e < pitch; e += PX_SHIFT_LANES)
        for (size_t l = 0; l < PX_SHIFT_LANES; l++)
            lanes[l] += fabsf(a[e + l] - b[e + l]);
    return sum_lanes(lanes);
}

static float box_distance(const float *box, const float *sketch) {
    const float *low = box, *high = box + PX_SHIFT_SKETCH;
    float lanes[PX_SHIFT_LANES] = {0};
    for (size_t s = 0; s < PX_SHIFT_SKETCH; s += PX_SHIFT_LANES)
        for (size_t l = 0; l < PX_SHIFT_LANES; l++) {
            float below = low[s + l] - sketch[s + l], above = sketch[s + l] - high[s + l];
            float off = below > above ? below : above;
            lanes[l] += off > 0 ? off : 0;
        }
    return sum_lanes(lanes);
}

#define SHIFT_KERNELS                                                                                                  \
    { byte_distance, add_weighted, distance, box_distance }
