/* Mean shift with a fixed bandwidth (Comaniciu, Meer 2002; the kernel is that of Georgescu, Shimshoni, Meer 2003, whose
 * program the paper uses).
 *
 * Points climb in batches, the points of a batch in parallel, one step per round. Positions on the way are kept: a point
 * that comes within TOGETHER bandwidths of the path of another one follows it and need not climb further. The first,
 * small batch finds most paths; points of later batches take two or three steps.
 *
 * Distances are sums of differences of bytes. With one offset per coordinate (dither) in the rounding of points and
 * positions alike, the expected difference of two rounded coordinates is their true difference, so that rounding errors
 * average out over hundreds of coordinates: distances of rotations have a standard error below 0.005 bandwidths. Means
 * are computed from 16 bits per coordinate. Both are stored in tree order, so that neighbours are close in memory.
 */
#include "decompose/sma.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS      100u
#define TOGETHER    0.2  /* of the bandwidth: a point follows a path closer than this */
#define SPACING     0.05 /* of the bandwidth: distance between kept positions of a path */
#define ARRIVED     1e-3 /* of the bandwidth: a shorter step means convergence */
#define NEAR        0.25 /* of the bandwidth: radius of a mode */
#define FIRST_SHARE 16u  /* the first batch has one of this many points; each batch doubles the points so far */
#define FIRST_LEAST 256u /* points of the first batch at least, or all */
#define TREES_MOST  32u
#define WORD_STEPS  257 /* steps of 16 bits per step of a byte */

/* A growing list of positions, each with the point that climbed there. */
typedef struct positions {
    void *rows;       /* [count][row_size] */
    uint32_t *points; /* [count] */
    size_t row_size, count, capacity;
} positions;

/* Positions on the paths so far, with trees for range queries: few and each at least twice as large as the next. */
typedef struct trail {
    positions kept; /* rows of bytes, [byte_pitch] */
    px_shift_tree trees[TREES_MOST];
    size_t firsts[TREES_MOST]; /* first position of each tree */
    size_t tree_count;
} trail;

/* A position where a path ends. */
typedef struct summit {
    uint32_t point; /* the point that climbed there */
    uint32_t size;  /* points that end there */
    uint32_t place; /* in c->ends */
} summit;

typedef struct climb {
    pelt_context *context;
    const px_shift_points *points;
    const px_shift_kernels *kernels;
    double bandwidth;
    float low, scale;  /* byte = floor((value − low) · scale + dither) */
    float *dithers;    /* [pitch] */
    size_t byte_pitch; /* a multiple of PX_SHIFT_BYTES */
    /* the points, from here on numbered in the order of the tree */
    px_shift_tree tree;
    uint32_t *origins; /* [point] its index in `points` */
    uint8_t *bytes;    /* [point][byte_pitch] */
    uint16_t *words;   /* [point][pitch] (value − low) · scale · WORD_STEPS */
    trail trail;
    uint32_t *leaders; /* [point] the point that it follows; itself if none */
    uint32_t *kept;    /* [point] its last position in trail.kept; PELT_NONE: none */
    /* the points of the batch that climb, in tree order: neighbours are processed together */
    size_t moving_count;
    uint32_t *moving;     /* [moving] the point */
    uint32_t *links;      /* [moving] the point to follow from now on; PELT_NONE: none */
    uint8_t *arrived;     /* [moving] converged */
    float *places;        /* [moving][pitch] current position; NULL: all are at their points */
    uint8_t *place_bytes; /* [moving][byte_pitch] */
    positions ends;       /* of paths; rows of floats, [pitch] */
    summit *summits;      /* [ends.count], the modes first */
} climb;

/* ---- Positions -------------------------------------------------------------------------------------------- */

/* `share` of the bandwidth as a distance of bytes. */
static uint32_t byte_limit(const climb *c, double share) {
    return (uint32_t)px_fmin(share * c->bandwidth * (double)c->scale, UINT32_MAX / 2);
}

/* Fractional parts of multiples of the golden ratio: evenly spread over any run of coordinates. */
static float dither(size_t e) {
    return (float)((uint32_t)e * 2654435769u >> 8) * 0x1p-24f;
}

static void round_to_bytes(const climb *c, const float *values, uint8_t *bytes) {
    c->kernels->round(values, c->points->dimension, c->low, c->scale, c->dithers, bytes);
}

static pelt_result add_position(pelt_context *context, positions *p, const void *row, uint32_t point) {
    if (p->count == p->capacity) {
        size_t capacity = 2 * p->capacity + 64;
        void *rows = px_resize(context, p->rows, capacity, p->row_size);
        p->rows = rows ? rows : p->rows;
        uint32_t *points = rows ? px_resize(context, p->points, capacity, sizeof *points) : NULL;
        if (!points)
            return PELT_ERROR_MEMORY;
        p->points = points;
        p->capacity = capacity;
    }
    memcpy((uint8_t *)p->rows + p->count * p->row_size, row, p->row_size);
    p->points[p->count++] = point;
    return PELT_OK;
}

static const float *end_of(const climb *c, uint32_t place) {
    return (const float *)c->ends.rows + place * c->points->pitch;
}

static const float *place_of(const climb *c, size_t n) {
    size_t pitch = c->points->pitch;
    return c->places ? c->places + n * pitch : c->points->values + c->origins[c->moving[n]] * pitch;
}

static pelt_result describe_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const climb *c = user;
    for (size_t n = first; n < first + count; n++)
        round_to_bytes(c, place_of(c, n), c->place_bytes + n * c->byte_pitch);
    return PELT_OK;
}

/* ---- Steps ------------------------------------------------------------------------------------------------ */

/* Positions that climb, and the weighted sums of the points near them. */
typedef struct group {
    const climb *c;
    uint32_t limit;
    float totals[PX_SHIFT_PLACES];
    float means[]; /* [PX_SHIFT_PLACES][pitch] */
} group;

static void add_near(void *user, uint32_t near, const uint32_t distances[PX_SHIFT_PLACES]) {
    group *g = user;
    const px_shift_points *points = g->c->points;
    float weights[PX_SHIFT_PLACES];
    for (size_t n = 0; n < PX_SHIFT_PLACES; n++) {
        float x = distances[n] < g->limit ? 1 - (float)distances[n] / (float)g->limit : 0;
        weights[n] = x * x;
        g->totals[n] += x * x;
    }
    g->c->kernels->add_weighted(g->c->words + near * points->pitch, points->pitch, weights, g->means);
}

/* Moves positions to their means; they stay where no point is near. */
static pelt_result climb_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const climb *c = user;
    size_t pitch = c->points->pitch;
    group *g = px_alloc(c->context, 1, sizeof *g + PX_SHIFT_PLACES * pitch * sizeof(float));
    if (!g)
        return PELT_ERROR_MEMORY;
    g->c = c;
    g->limit = byte_limit(c, 1);
    c->kernels->find(&c->tree, c->place_bytes + first * c->byte_pitch, count, g->limit, add_near, g);
    for (size_t n = 0; n < count; n++) {
        float *place = c->places + (first + n) * pitch, *mean = g->means + n * pitch, total = g->totals[n];
        float step = 1 / (total * c->scale * WORD_STEPS);
        for (size_t e = 0; e < c->points->dimension; e++)
            mean[e] = total > 0 ? c->low + mean[e] * step : place[e];
        c->arrived[first + n] = (double)c->kernels->distance(place, mean, pitch) <= ARRIVED * c->bandwidth;
        memcpy(place, mean, pitch * sizeof *mean);
    }
    px_free(c->context, g);
    return PELT_OK;
}

/* ---- Following paths ---------------------------------------------------------------------------------------- */

static uint32_t root_of(const climb *c, uint32_t point) {
    while (c->leaders[point] != point)
        point = c->leaders[point];
    return point;
}

/* Adds the positions that are not yet near the last kept one of their point, then makes a tree of them, joined with
 * smaller trees. */
static pelt_result keep_places(climb *c) {
    trail *t = &c->trail;
    positions *kept = &t->kept;
    size_t first = kept->count;
    uint32_t limit = byte_limit(c, SPACING);
    for (size_t n = 0; n < c->moving_count; n++) {
        uint32_t point = c->moving[n], last = c->kept[point];
        const uint8_t *bytes = c->place_bytes + n * c->byte_pitch, *rows = kept->rows;
        if (last != PELT_NONE && c->kernels->byte_distance(bytes, rows + last * c->byte_pitch, c->byte_pitch) <= limit)
            continue;
        c->kept[point] = (uint32_t)kept->count;
        PX_TRY(add_position(c->context, kept, bytes, point));
    }
    if (kept->count == first)
        return PELT_OK;
    while (t->tree_count > 0 && first - t->firsts[t->tree_count - 1] < 2 * (kept->count - first)) {
        first = t->firsts[--t->tree_count];
        px_shift_tree_free(&t->trees[t->tree_count]);
    }
    assert(t->tree_count < TREES_MOST);
    const uint8_t *rows = kept->rows; /* may have moved */
    for (size_t tree = 0; tree < t->tree_count; tree++)
        t->trees[tree].bytes = rows + t->firsts[tree] * c->byte_pitch;
    PX_TRY(px_shift_tree_create(c->context, rows + first * c->byte_pitch, c->byte_pitch, kept->count - first,
                                &t->trees[t->tree_count]));
    t->firsts[t->tree_count++] = first;
    return PELT_OK;
}

/* The nearest position of another point for each of some moving points. */
typedef struct meeting {
    const climb *c;
    const uint32_t *owners; /* of the positions in the tree */
    bool lower;             /* the positions are those of c->moving; only those before the point count */
    size_t first, count;    /* in c->moving */
    uint32_t least[PX_SHIFT_PLACES];
} meeting;

static void meet(void *user, uint32_t position, const uint32_t distances[PX_SHIFT_PLACES]) {
    meeting *m = user;
    const climb *c = m->c;
    for (size_t n = 0; n < m->count; n++)
        if (distances[n] < m->least[n] &&
            (m->lower ? position < m->first + n : root_of(c, m->owners[position]) != c->moving[m->first + n])) {
            m->least[n] = distances[n];
            c->links[m->first + n] = m->owners[position];
        }
}

static meeting start_meeting(const climb *c, size_t first, size_t count) {
    meeting m = {.c = c, .first = first, .count = count};
    memset(m.least, 0xFF, sizeof m.least);
    memset(c->links + first, 0xFF, count * sizeof *c->links);
    return m;
}

static pelt_result meet_paths(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const climb *c = user;
    const trail *t = &c->trail;
    meeting m = start_meeting(c, first, count);
    for (size_t tree = 0; tree < t->tree_count; tree++) {
        m.owners = t->kept.points + t->firsts[tree];
        c->kernels->find(&t->trees[tree], c->place_bytes + first * c->byte_pitch, count, byte_limit(c, TOGETHER), meet,
                         &m);
    }
    return PELT_OK;
}

typedef struct crossing {
    const climb *c;
    px_shift_tree tree; /* over the moving points */
} crossing;

static pelt_result meet_places(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const crossing *x = user;
    const climb *c = x->c;
    meeting m = start_meeting(c, first, count);
    m.owners = c->moving;
    m.lower = true;
    c->kernels->find(&x->tree, c->place_bytes + first * c->byte_pitch, count, byte_limit(c, TOGETHER), meet, &m);
    return PELT_OK;
}

/* Moves moving point n down to index `count` ≤ n. */
static void move_down(climb *c, size_t n, size_t count) {
    size_t pitch = c->points->pitch;
    c->moving[count] = c->moving[n];
    c->arrived[count] = c->arrived[n];
    memmove(c->place_bytes + count * c->byte_pitch, c->place_bytes + n * c->byte_pitch, c->byte_pitch);
    if (c->places)
        memmove(c->places + count * pitch, c->places + n * pitch, pitch * sizeof *c->places);
}

/* Applies the links: points that follow others stop moving. */
static void follow(climb *c) {
    size_t count = 0;
    for (size_t n = 0; n < c->moving_count; n++) {
        uint32_t point = c->moving[n];
        if (c->links[n] != PELT_NONE)
            c->leaders[point] = root_of(c, c->links[n]);
        if (c->leaders[point] == point)
            move_down(c, n, count++);
    }
    c->moving_count = count;
}

/* Points that have arrived, or all if the rounds are over, stop moving. */
static pelt_result finish(climb *c, bool all) {
    size_t count = 0;
    for (size_t n = 0; n < c->moving_count; n++)
        if (all || c->arrived[n])
            PX_TRY(add_position(c->context, &c->ends, place_of(c, n), c->moving[n]));
        else
            move_down(c, n, count++);
    c->moving_count = count;
    return PELT_OK;
}

/* After a step: points that come near a path, or near another moving point, follow it. The positions of the others
 * become part of the paths. */
static pelt_result merge(climb *c) {
    PX_TRY(px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, describe_some, c));
    PX_TRY(px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, meet_paths, c));
    follow(c);
    crossing x = {.c = c};
    PX_TRY(px_shift_tree_create(c->context, c->place_bytes, c->byte_pitch, c->moving_count, &x.tree));
    pelt_result result = px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, meet_places, &x);
    px_shift_tree_free(&x.tree);
    if (result != PELT_OK)
        return result;
    follow(c);
    return keep_places(c);
}

/* ---- Modes ------------------------------------------------------------------------------------------------ */

static int compare_summits(const void *a, const void *b) {
    const summit *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

/* The nearest of the first `count` summits to a place; PELT_NONE if none is within NEAR bandwidths. */
static uint32_t nearest(const climb *c, size_t count, uint32_t place) {
    float least = (float)(NEAR * c->bandwidth);
    uint32_t best = PELT_NONE;
    for (size_t s = 0; s < count; s++) {
        float off = c->kernels->distance(end_of(c, c->summits[s].place), end_of(c, place), c->points->pitch);
        if (off < least) {
            least = off;
            best = (uint32_t)s;
        }
    }
    return best;
}

/* Merges modes near a larger one, then drops those with fewer than `least` points: c->summits begins with the modes.
 * Returns their number. */
static uint32_t choose_summits(climb *c, uint32_t least) {
    uint32_t apart = 0, count = 0;
    px_sort(c->summits, c->ends.count, sizeof *c->summits, compare_summits);
    for (size_t n = 0; n < c->ends.count; n++) {
        uint32_t near = nearest(c, apart, c->summits[n].place);
        if (near == PELT_NONE)
            c->summits[apart++] = c->summits[n];
        else
            c->summits[near].size += c->summits[n].size;
    }
    px_sort(c->summits, apart, sizeof *c->summits, compare_summits);
    while (count < apart && c->summits[count].size >= least)
        count++;
    return count > 0 || apart == 0 ? count : 1;
}

static pelt_result find_modes(climb *c, uint32_t least, uint32_t *modes, float *offsets, uint32_t *mode_count) {
    size_t pitch = c->points->pitch;
    uint32_t *places = c->kept; /* [point] the end of its path: the trail is no longer needed */
    uint32_t *ranks = PX_ALLOC(c->context, uint32_t, c->ends.count);
    c->summits = ranks ? PX_ALLOC(c->context, summit, c->ends.count) : NULL;
    if (!c->summits) {
        px_free(c->context, ranks);
        return PELT_ERROR_MEMORY;
    }
    for (uint32_t s = 0; s < c->ends.count; s++) {
        c->summits[s] = (summit){.point = c->ends.points[s], .place = s};
        places[c->ends.points[s]] = s;
    }
    for (uint32_t p = 0; p < c->points->count; p++) {
        places[p] = places[root_of(c, p)];
        c->summits[places[p]].size++;
    }
    *mode_count = choose_summits(c, least);
    for (uint32_t place = 0; place < c->ends.count; place++)
        ranks[place] = nearest(c, *mode_count, place);
    for (uint32_t p = 0; p < c->points->count; p++) {
        uint32_t origin = c->origins[p], mode = ranks[places[p]];
        modes[origin] = mode;
        offsets[origin] = 0;
        if (mode != PELT_NONE)
            offsets[origin] =
                c->kernels->distance(end_of(c, c->summits[mode].place), c->points->values + origin * pitch, pitch) /
                (float)c->bandwidth;
    }
    px_free(c->context, ranks);
    return PELT_OK;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

/* Most points follow a path at once; the others start to climb. */
static pelt_result climb_batch(climb *c) {
    size_t pitch = c->points->pitch;
    PX_TRY(merge(c));
    float *places = PX_ALLOC(c->context, float, px_mul_size(c->moving_count, pitch));
    if (!places)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < c->moving_count; n++)
        memcpy(places + n * pitch, place_of(c, n), pitch * sizeof *places);
    c->places = places;
    pelt_result result = PELT_OK;
    for (uint32_t round = 1; round <= ROUNDS && c->moving_count > 0 && result == PELT_OK; round++) {
        result = px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, climb_some, c);
        if (result == PELT_OK)
            result = merge(c);
        if (result == PELT_OK)
            result = finish(c, round == ROUNDS);
    }
    px_free(c->context, places);
    c->places = NULL;
    return result;
}

/* Rounds the points and sorts them. The bytes cover the range of all values, with one step to spare for the dither. */
static pelt_result round_points(climb *c) {
    const px_shift_points *points = c->points;
    size_t count = points->count, pitch = points->pitch, size = points->dimension;
    float low = count > 0 ? points->values[0] : 0, high = low;
    for (size_t p = 0; p < count; p++)
        for (size_t e = 0; e < size; e++) {
            float value = points->values[p * pitch + e];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    c->low = low;
    c->scale = 254 / px_fmaxf(high - low, 1e-20f);
    for (size_t e = 0; e < size; e++)
        c->dithers[e] = dither(e);
    for (size_t p = 0; p < count; p++)
        round_to_bytes(c, points->values + p * pitch, c->place_bytes + p * c->byte_pitch);
    PX_TRY(px_shift_tree_create(c->context, c->place_bytes, c->byte_pitch, count, &c->tree));
    for (uint32_t p = 0; p < count; p++) {
        uint32_t origin = c->origins[p] = c->tree.order[p];
        c->tree.order[p] = p;
        memcpy(c->bytes + p * c->byte_pitch, c->place_bytes + origin * c->byte_pitch, c->byte_pitch);
        c->kernels->round_words(points->values + origin * pitch, size, c->low, c->scale * WORD_STEPS,
                                c->words + p * pitch);
    }
    c->tree.bytes = c->bytes;
    return PELT_OK;
}

/* Batches take every n-th point in tree order: those that no batch has taken, twice as many each time. */
static pelt_result climb_all(climb *c) {
    size_t size = c->points->count, done = 0;
    PX_TRY(round_points(c));
    memset(c->kept, 0xFF, size * sizeof *c->kept);
    for (uint32_t p = 0; p < size; p++)
        c->leaders[p] = p;
    size_t first = FIRST_SHARE;
    while (first > 1 && size / first < FIRST_LEAST)
        first /= 2;
    for (size_t stride = first; stride > 0; stride /= 2) {
        c->moving_count = 0;
        for (size_t n = 0; n < size; n += stride)
            if (stride == first || n % (2 * stride) != 0)
                c->moving[c->moving_count++] = (uint32_t)n;
        PX_TRY(px_progress(c->context, "mean shift", done, size));
        done += c->moving_count;
        PX_TRY(climb_batch(c));
    }
    return PELT_OK;
}

static void free_climb(climb *c) {
    for (size_t tree = 0; tree < c->trail.tree_count; tree++)
        px_shift_tree_free(&c->trail.trees[tree]);
    px_shift_tree_free(&c->tree);
    void *const arrays[] = {c->trail.kept.rows, c->trail.kept.points, c->ends.rows, c->ends.points,
                            c->summits,         c->dithers,           c->bytes,     c->words,
                            c->place_bytes,     c->arrived,           c->leaders};
    for (size_t a = 0; a < PX_COUNT(arrays); a++)
        px_free(c->context, arrays[a]);
}

pelt_result px_mean_shift(pelt_context *context, const px_shift_points *points, double bandwidth, uint32_t least,
                          uint32_t *modes, float *offsets, uint32_t *mode_count) {
    size_t count = points->count;
    climb c = {.context = context, .points = points, .kernels = px_shift_kernels_best(), .bandwidth = bandwidth};
    c.tree.context = context;
    c.byte_pitch = (points->dimension + PX_SHIFT_BYTES - 1) / PX_SHIFT_BYTES * PX_SHIFT_BYTES;
    c.trail.kept.row_size = c.byte_pitch;
    c.ends.row_size = points->pitch * sizeof(float);
    c.dithers = PX_ALLOC(context, float, points->dimension);
    c.bytes = PX_ALLOC(context, uint8_t, px_mul_size(count, c.byte_pitch));
    c.words = PX_ALLOC(context, uint16_t, px_mul_size(count, points->pitch));
    c.place_bytes = PX_ALLOC(context, uint8_t, px_mul_size(count, c.byte_pitch));
    c.arrived = PX_ALLOC(context, uint8_t, count);
    c.leaders = PX_ALLOC(context, uint32_t, px_mul_size(5, count));
    bool ready = c.dithers && c.bytes && c.words && c.place_bytes && c.arrived && c.leaders;
    pelt_result result = ready ? PELT_OK : PELT_ERROR_MEMORY;
    if (ready) {
        c.kept = c.leaders + count;
        c.links = c.kept + count;
        c.moving = c.links + count;
        c.origins = c.moving + count;
        result = climb_all(&c);
    }
    if (result == PELT_OK)
        result = find_modes(&c, least, modes, offsets, mode_count);
    free_climb(&c);
    return result;
}
