/* Mean shift with a fixed bandwidth (Comaniciu, Meer 2002; the kernel is that of Georgescu, Shimshoni, Meer 2003, whose
 * program the paper uses).
 *
 * All points move in parallel, one step per round. Points that come close are merged: from then on a single one (the
 * leader) moves for all of them, so that few remain after some rounds.
 */
#include "decompose/sma.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS   100u
#define TOGETHER 0.1  /* of the bandwidth: points closer than this are merged */
#define ARRIVED  1e-3 /* of the bandwidth: a shorter step means convergence */
#define NEAR     0.25 /* of the bandwidth: radius of a mode */

typedef struct climb {
    pelt_context *context;
    const px_shift_points *points;
    double bandwidth;
    px_shift_tree tree;
    float *places;      /* [point][pitch] current position */
    uint32_t *leaders;  /* [point] the point that moves for it: itself, or one with a lower index */
    uint8_t *arrived;   /* [point] converged */
    uint32_t *climbers; /* [climber_count] leaders, moving or converged, ascending */
    uint32_t climber_count;
    uint32_t *moving; /* [moving_count] leaders not yet converged, in tree order, so that neighbours are
                              * processed together */
    uint32_t moving_count;
    uint32_t *sizes, *ranks; /* [point] points merged into it; index of its mode */
} climb;

/* ---- Distances -------------------------------------------------------------------------------------------- */

#define STRIDE 64u /* floats between two tests for an early exit */

/* The L1 distance; if it exceeds `limit`, any value above `limit`. */
static float distance(const float *a, const float *b, size_t pitch, float limit) {
    float sum = 0;
    for (size_t first = 0; first < pitch && sum <= limit; first += STRIDE) {
        float lanes[PX_SHIFT_LANES] = {0};
        size_t end = px_min_size(first + STRIDE, pitch);
        for (size_t e = first; e < end; e += PX_SHIFT_LANES)
            for (size_t l = 0; l < PX_SHIFT_LANES; l++)
                lanes[l] += fabsf(a[e + l] - b[e + l]);
        for (size_t l = 0; l < PX_SHIFT_LANES; l++)
            sum += lanes[l];
    }
    return sum;
}

static float *place_of(const climb *c, uint32_t point) {
    return c->places + point * c->points->pitch;
}

/* ---- A round ---------------------------------------------------------------------------------------------- */

static void add_scaled(float *restrict sum, const float *restrict point, size_t pitch, float weight) {
    for (size_t e = 0; e < pitch; e++)
        sum[e] += weight * point[e];
}

/* A batch of moving points, each with the weighted mean of the points near it. */
typedef struct rope {
    const climb *c;
    const uint32_t *climbers;
    float *means; /* [climber][pitch] */
    float totals[PX_SHIFT_PLACES];
} rope;

static void add_near(void *user, size_t n, uint32_t near) {
    rope *r = user;
    size_t pitch = r->c->points->pitch;
    const float *point = r->c->points->values + near * pitch;
    float h = (float)r->c->bandwidth, off = distance(place_of(r->c, r->climbers[n]), point, pitch, h), x = 1 - off / h;
    if (off >= h)
        return;
    r->totals[n] += x * x;
    add_scaled(r->means + n * pitch, point, pitch, x * x);
}

/* Moves a point to the mean. The total is not 0: at first the point is within its own bandwidth, and later the points
 * that a position is the mean of stay near it. */
static void step(const climb *c, uint32_t point, float *mean, float total) {
    size_t pitch = c->points->pitch;
    float *place = place_of(c, point), least = (float)(ARRIVED * c->bandwidth);
    for (size_t e = 0; e < pitch; e++)
        mean[e] = total > 0 ? mean[e] / total : place[e];
    c->arrived[point] = distance(place, mean, pitch, least) <= least;
    memcpy(place, mean, pitch * sizeof *mean);
}

static pelt_result climb_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const climb *c = user;
    size_t pitch = c->points->pitch;
    float sketches[PX_SHIFT_PLACES * PX_SHIFT_SKETCH];
    rope r = {c, c->moving + first, PX_ALLOC(c->context, float, count *pitch), {0}};
    if (!r.means)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < count; n++)
        px_shift_sketch(place_of(c, r.climbers[n]), c->points->dimension, sketches + n * PX_SHIFT_SKETCH);
    px_shift_tree_find(&c->tree, sketches, count, c->bandwidth, add_near, &r);
    for (size_t n = 0; n < count; n++)
        step(c, r.climbers[n], r.means + n * pitch, r.totals[n]);
    px_free(c->context, r.means);
    return PELT_OK;
}

static void find_moving(climb *c) {
    c->moving_count = 0;
    for (size_t n = 0; n < c->tree.count; n++) {
        uint32_t point = c->tree.order[n];
        if (c->leaders[point] == point && !c->arrived[point])
            c->moving[c->moving_count++] = point;
    }
}

typedef struct leading {
    climb *c;
    uint32_t leader;
} leading;

/* Merges `other` into the leader if it is close and has a higher index. */
static void follow(void *user, size_t n, uint32_t other) {
    (void)n;
    const leading *l = user;
    climb *c = l->c;
    float limit = (float)(TOGETHER * c->bandwidth);
    if (other > l->leader && c->leaders[other] == other &&
        distance(place_of(c, l->leader), place_of(c, other), c->points->pitch, limit) <= limit)
        c->leaders[other] = l->leader;
}

static pelt_result meet(climb *c) {
    px_shift_points places = *c->points;
    px_shift_tree tree;
    places.values = c->places;
    PX_TRY(px_shift_tree_create(c->context, &places, c->climbers, c->climber_count, &tree));
    uint32_t kept = 0;
    for (uint32_t n = 0; n < c->climber_count; n++) {
        uint32_t point = c->climbers[n];
        if (c->leaders[point] != point)
            continue;
        float sketch[PX_SHIFT_SKETCH];
        px_shift_sketch(place_of(c, point), c->points->dimension, sketch);
        px_shift_tree_find(&tree, sketch, 1, TOGETHER * c->bandwidth, follow, &(leading){c, point});
        c->climbers[kept++] = point;
    }
    c->climber_count = kept;
    px_shift_tree_free(&tree);
    find_moving(c);
    return PELT_OK;
}

/* ---- Modes ------------------------------------------------------------------------------------------------ */

typedef struct summit {
    uint32_t point, size;
} summit;

static int compare_summits(const void *a, const void *b) {
    const summit *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

/* The nearest of these modes to a point's position; PELT_NONE if none is within NEAR bandwidths. */
static uint32_t nearest(const climb *c, const summit *summits, uint32_t count, uint32_t point) {
    float least = (float)(NEAR * c->bandwidth);
    uint32_t best = PELT_NONE;
    for (uint32_t s = 0; s < count; s++) {
        float off = distance(place_of(c, summits[s].point), place_of(c, point), c->points->pitch, least);
        if (off < least) {
            least = off;
            best = s;
        }
    }
    return best;
}

/* Merges modes near a larger one, then drops those with fewer than `least` points. Returns the number of modes. */
static uint32_t choose_summits(const climb *c, summit *summits, uint32_t least) {
    uint32_t apart = 0, count = 0;
    for (uint32_t n = 0; n < c->climber_count; n++) {
        uint32_t near = nearest(c, summits, apart, summits[n].point);
        if (near == PELT_NONE)
            summits[apart++] = summits[n];
        else
            summits[near].size += summits[n].size;
    }
    qsort(summits, apart, sizeof *summits, compare_summits);
    while (count < apart && summits[count].size >= least)
        count++;
    return count > 0 || apart == 0 ? count : 1;
}

static pelt_result find_modes(climb *c, uint32_t least, uint32_t *modes, float *offsets, uint32_t *mode_count) {
    summit *summits = PX_ALLOC(c->context, summit, c->climber_count);
    if (!summits)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < c->points->count; p++) { /* leaders have lower indices than their followers: one pass
                                                       * resolves chains */
        c->leaders[p] = c->leaders[c->leaders[p]];
        c->sizes[c->leaders[p]]++;
    }
    for (uint32_t n = 0; n < c->climber_count; n++)
        summits[n] = (summit){c->climbers[n], c->sizes[c->climbers[n]]};
    qsort(summits, c->climber_count, sizeof *summits, compare_summits);
    *mode_count = choose_summits(c, summits, least);
    for (uint32_t n = 0; n < c->climber_count; n++)
        c->ranks[c->climbers[n]] = nearest(c, summits, *mode_count, c->climbers[n]);
    for (uint32_t p = 0; p < c->points->count; p++) {
        size_t pitch = c->points->pitch;
        modes[p] = c->ranks[c->leaders[p]];
        offsets[p] = modes[p] == PELT_NONE ? 0
                                           : distance(place_of(c, summits[modes[p]].point),
                                                      c->points->values + p * pitch, pitch, INFINITY) /
                                                 (float)c->bandwidth;
    }
    px_free(c->context, summits);
    return PELT_OK;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

static pelt_result climb_all(climb *c) {
    size_t size = c->points->count;
    memcpy(c->places, c->points->values, size * c->points->pitch * sizeof *c->places);
    for (uint32_t p = 0; p < size; p++)
        c->leaders[p] = c->climbers[p] = p;
    c->climber_count = (uint32_t)size;
    PX_TRY(meet(c));
    for (uint32_t round = 0; round < ROUNDS && c->moving_count > 0; round++) {
        PX_TRY(px_progress(c->context, "mean shift", size - c->climber_count, size));
        PX_TRY(px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, climb_some, c));
        PX_TRY(meet(c));
    }
    return PELT_OK;
}

pelt_result px_mean_shift(pelt_context *context, const px_shift_points *points, double bandwidth, uint32_t least,
                          uint32_t *modes, float *offsets, uint32_t *mode_count) {
    climb c = {.context = context, .points = points, .bandwidth = bandwidth};
    PX_TRY(px_shift_tree_create(context, points, NULL, points->count, &c.tree));
    c.places = PX_ALLOC(context, float, px_mul_size(points->count, points->pitch));
    c.arrived = PX_ALLOC(context, uint8_t, points->count);
    c.leaders = PX_ALLOC(context, uint32_t, 5 * points->count);
    pelt_result result = c.places && c.arrived && c.leaders ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        c.climbers = c.leaders + points->count;
        c.sizes = c.climbers + points->count;
        c.ranks = c.sizes + points->count;
        c.moving = c.ranks + points->count;
        result = climb_all(&c);
    }
    if (result == PELT_OK)
        result = find_modes(&c, least, modes, offsets, mode_count);
    px_free(context, c.leaders);
    px_free(context, c.arrived);
    px_free(context, c.places);
    px_shift_tree_free(&c.tree);
    return result;
}
