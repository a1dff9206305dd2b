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
 * are computed from floats.
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
#define LIST        128u /* neighbours collected before they are added to a mean */
#define TREES_MOST  32u

/* Positions on the paths so far, with trees for range queries: few and each at least twice as large as the next. */
typedef struct trail {
    uint8_t *bytes;   /* [position][byte_pitch] */
    float *sketches;  /* [position][PX_SHIFT_SKETCH] */
    uint32_t *owners; /* [position] the point that climbs from there */
    size_t count, capacity;
    px_shift_tree trees[TREES_MOST];
    size_t firsts[TREES_MOST]; /* first position of each tree */
    size_t tree_count;
} trail;

typedef struct climb {
    pelt_context *context;
    const px_shift_points *points;
    const px_shift_kernels *kernels;
    double bandwidth;
    float low, scale;  /* byte = floor((value − low) · scale + dither) */
    size_t byte_pitch; /* a multiple of PX_SHIFT_BYTES */
    uint8_t *bytes;    /* [point][byte_pitch] */
    px_shift_tree tree;
    trail trail;
    float *places;         /* [point][pitch] current position */
    uint8_t *place_bytes;  /* [moving][byte_pitch] */
    float *place_sketches; /* [moving][PX_SHIFT_SKETCH] */
    uint32_t *leaders;     /* [point] the point that it follows; itself if none */
    uint32_t *kept;        /* [point] its last position in the trail; PELT_NONE: none */
    uint32_t *links;       /* [moving] the point to follow from now on; PELT_NONE: none */
    uint8_t *arrived;      /* [point] converged */
    uint32_t *moving;      /* [moving_count] points of the batch that climb, in tree order: neighbours are processed
                            * together */
    size_t moving_count;
    uint32_t *sizes, *ranks; /* [point] points that follow it; index of its mode */
} climb;

/* ---- Distances -------------------------------------------------------------------------------------------- */

/* `share` of the bandwidth as a distance of bytes. */
static uint32_t byte_limit(const climb *c, double share) {
    return (uint32_t)fmin(share * c->bandwidth * (double)c->scale, UINT32_MAX / 2);
}

/* Fractional parts of multiples of the golden ratio: evenly spread over any run of coordinates. */
static float dither(size_t e) {
    return (float)((uint32_t)e * 2654435769u >> 8) * 0x1p-24f;
}

static void round_to_bytes(const climb *c, const float *values, uint8_t *bytes) {
    for (size_t e = 0; e < c->points->dimension; e++)
        bytes[e] = (uint8_t)fminf((values[e] - c->low) * c->scale + dither(e), 255);
}

static float *place_of(const climb *c, uint32_t point) {
    return c->places + point * c->points->pitch;
}

/* ---- Steps ------------------------------------------------------------------------------------------------ */

/* Positions that climb, each with the points near it that are not yet in its mean. */
typedef struct group {
    const climb *c;
    size_t first; /* in c->moving */
    uint32_t limit;
    float *means; /* [position][pitch], in `memory` */
    float totals[PX_SHIFT_PLACES];
    uint32_t counts[PX_SHIFT_PLACES];
    uint32_t near[PX_SHIFT_PLACES][LIST];
    float weights[PX_SHIFT_PLACES][LIST];
    float memory[]; /* of `means` */
} group;

static void add_to_mean(group *g, size_t n) {
    const climb *c = g->c;
    size_t pitch = c->points->pitch;
    c->kernels->add_weighted(c->points->values, pitch, g->near[n], g->weights[n], g->counts[n], g->means + n * pitch);
    g->counts[n] = 0;
}

static void add_near(void *user, size_t n, uint32_t near) {
    group *g = user;
    const climb *c = g->c;
    uint32_t off = c->kernels->byte_distance(c->place_bytes + (g->first + n) * c->byte_pitch,
                                             c->bytes + near * c->byte_pitch, c->byte_pitch, g->limit);
    if (off >= g->limit)
        return;
    float x = 1 - (float)off / (float)g->limit;
    uint32_t place = g->counts[n]++;
    g->totals[n] += x * x;
    g->near[n][place] = near;
    g->weights[n][place] = x * x;
    if (g->counts[n] == LIST)
        add_to_mean(g, n);
}

/* Moves a point to the mean; stays where no point is near. */
static void step(const climb *c, uint32_t point, float *mean, float total) {
    size_t pitch = c->points->pitch;
    float *place = place_of(c, point);
    for (size_t e = 0; e < pitch; e++)
        mean[e] = total > 0 ? mean[e] / total : place[e];
    c->arrived[point] = (double)c->kernels->distance(place, mean, pitch) <= ARRIVED * c->bandwidth;
    memcpy(place, mean, pitch * sizeof *mean);
}

static pelt_result climb_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const climb *c = user;
    size_t pitch = c->points->pitch;
    group *g = px_alloc(c->context, 1, sizeof *g + count * pitch * sizeof(float));
    if (!g)
        return PELT_ERROR_MEMORY;
    g->c = c;
    g->first = first;
    g->limit = byte_limit(c, 1);
    g->means = g->memory;
    px_shift_tree_find(&c->tree, c->place_sketches + first * PX_SHIFT_SKETCH, count, c->bandwidth, add_near, g);
    for (size_t n = 0; n < count; n++) {
        add_to_mean(g, n);
        step(c, c->moving[first + n], g->means + n * pitch, g->totals[n]);
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

static pelt_result grow_trail(climb *c) {
    trail *t = &c->trail;
    if (t->count < t->capacity)
        return PELT_OK;
    size_t capacity = 2 * t->capacity + 256;
    trail grown = *t;
    grown.bytes = PX_ALLOC(c->context, uint8_t, px_mul_size(capacity, c->byte_pitch));
    grown.sketches = PX_ALLOC(c->context, float, capacity *PX_SHIFT_SKETCH);
    grown.owners = PX_ALLOC(c->context, uint32_t, capacity);
    bool ready = grown.bytes && grown.sketches && grown.owners;
    trail *gone = ready ? t : &grown;
    if (ready && t->count > 0) {
        memcpy(grown.bytes, t->bytes, t->count * c->byte_pitch);
        memcpy(grown.sketches, t->sketches, t->count * PX_SHIFT_SKETCH * sizeof *t->sketches);
        memcpy(grown.owners, t->owners, t->count * sizeof *t->owners);
    }
    px_free(c->context, gone->bytes);
    px_free(c->context, gone->sketches);
    px_free(c->context, gone->owners);
    if (!ready)
        return PELT_ERROR_MEMORY;
    grown.capacity = capacity;
    *t = grown;
    return PELT_OK;
}

/* Adds the positions that are not yet near the last kept one of their point, then makes a tree of them, joined with
 * smaller trees. */
static pelt_result keep_places(climb *c) {
    trail *t = &c->trail;
    size_t first = t->count;
    for (size_t n = 0; n < c->moving_count; n++) {
        uint32_t point = c->moving[n], last = c->kept[point], limit = byte_limit(c, SPACING);
        const uint8_t *bytes = c->place_bytes + n * c->byte_pitch;
        if (last != PELT_NONE &&
            c->kernels->byte_distance(bytes, t->bytes + last * c->byte_pitch, c->byte_pitch, limit) <= limit)
            continue;
        PX_TRY(grow_trail(c));
        memcpy(t->bytes + t->count * c->byte_pitch, bytes, c->byte_pitch);
        memcpy(t->sketches + t->count * PX_SHIFT_SKETCH, c->place_sketches + n * PX_SHIFT_SKETCH,
               PX_SHIFT_SKETCH * sizeof *t->sketches);
        t->owners[t->count] = point;
        c->kept[point] = (uint32_t)t->count++;
    }
    if (t->count == first)
        return PELT_OK;
    while (t->tree_count > 0 && first - t->firsts[t->tree_count - 1] < 2 * (t->count - first)) {
        first = t->firsts[--t->tree_count];
        px_shift_tree_free(&t->trees[t->tree_count]);
    }
    assert(t->tree_count < TREES_MOST);
    PX_TRY(px_shift_tree_create(c->context, t->sketches + first * PX_SHIFT_SKETCH, t->count - first,
                                &t->trees[t->tree_count]));
    t->firsts[t->tree_count++] = first;
    return PELT_OK;
}

/* The nearest path of another point, or the nearest of the other positions, for some of the moving points. */
typedef struct meeting {
    const climb *c;
    const uint8_t *bytes;   /* of the positions in the tree */
    const uint32_t *owners; /* of the positions in the tree */
    bool lower;             /* only owners that come before the point in c->moving */
    size_t first;           /* in c->moving */
    uint32_t least[PX_SHIFT_PLACES];
} meeting;

static void meet(void *user, size_t n, uint32_t position) {
    meeting *m = user;
    const climb *c = m->c;
    uint32_t point = c->moving[m->first + n], owner = m->owners[position];
    if (m->lower ? position >= m->first + n : owner == point)
        return;
    uint32_t off = c->kernels->byte_distance(c->place_bytes + (m->first + n) * c->byte_pitch,
                                             m->bytes + position * c->byte_pitch, c->byte_pitch, m->least[n]);
    if (off < m->least[n]) {
        m->least[n] = off;
        c->links[m->first + n] = owner;
    }
}

static void start_meeting(meeting *m, size_t count) {
    for (size_t n = 0; n < count; n++) {
        m->c->links[m->first + n] = PELT_NONE;
        m->least[n] = byte_limit(m->c, TOGETHER) + 1;
    }
}

static pelt_result meet_paths(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const climb *c = user;
    const trail *t = &c->trail;
    meeting m = {.c = c, .first = first};
    start_meeting(&m, count);
    for (size_t tree = 0; tree < t->tree_count; tree++) {
        m.bytes = t->bytes + t->firsts[tree] * c->byte_pitch;
        m.owners = t->owners + t->firsts[tree];
        px_shift_tree_find(&t->trees[tree], c->place_sketches + first * PX_SHIFT_SKETCH, count, TOGETHER * c->bandwidth,
                           meet, &m);
    }
    return PELT_OK;
}

typedef struct crossing {
    const climb *c;
    const px_shift_tree *tree; /* over the moving points */
} crossing;

static pelt_result meet_places(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const crossing *x = user;
    const climb *c = x->c;
    meeting m = {.c = c, .bytes = c->place_bytes, .owners = c->moving, .lower = true, .first = first};
    start_meeting(&m, count);
    px_shift_tree_find(x->tree, c->place_sketches + first * PX_SHIFT_SKETCH, count, TOGETHER * c->bandwidth, meet, &m);
    return PELT_OK;
}

/* Applies the links and removes points that follow others, or have arrived if `arrived`, from the moving ones. */
static void follow(climb *c, bool arrived) {
    size_t count = 0;
    for (size_t n = 0; n < c->moving_count; n++) {
        uint32_t point = c->moving[n], to = c->links[n] == PELT_NONE ? point : root_of(c, c->links[n]);
        c->leaders[point] = to;
        if (to != point || (arrived && c->arrived[point]))
            continue;
        memmove(c->place_bytes + count * c->byte_pitch, c->place_bytes + n * c->byte_pitch, c->byte_pitch);
        memmove(c->place_sketches + count * PX_SHIFT_SKETCH, c->place_sketches + n * PX_SHIFT_SKETCH,
                PX_SHIFT_SKETCH * sizeof *c->place_sketches);
        c->moving[count++] = point;
    }
    c->moving_count = count;
}

static pelt_result describe_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const climb *c = user;
    for (size_t n = first; n < first + count; n++) {
        const float *place = place_of(c, c->moving[n]);
        round_to_bytes(c, place, c->place_bytes + n * c->byte_pitch);
        px_shift_sketch(place, c->points->dimension, c->place_sketches + n * PX_SHIFT_SKETCH);
    }
    return PELT_OK;
}

/* After a step: points that come near a path, or near another moving point, follow it. The positions of the others
 * become part of the paths. */
static pelt_result merge(climb *c) {
    trail *t = &c->trail;
    for (size_t n = 0; n < t->count; n++)
        t->owners[n] = root_of(c, t->owners[n]);
    PX_TRY(px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, describe_some, c));
    PX_TRY(px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, meet_paths, c));
    follow(c, false);
    px_shift_tree tree;
    PX_TRY(px_shift_tree_create(c->context, c->place_sketches, c->moving_count, &tree));
    pelt_result result = px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, meet_places,
                                     &(crossing){.c = c, .tree = &tree});
    px_shift_tree_free(&tree);
    if (result != PELT_OK)
        return result;
    follow(c, false);
    PX_TRY(keep_places(c));
    memset(c->links, 0xFF, c->moving_count * sizeof *c->links);
    follow(c, true);
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
        float off = c->kernels->distance(place_of(c, summits[s].point), place_of(c, point), c->points->pitch);
        if (off < least) {
            least = off;
            best = s;
        }
    }
    return best;
}

/* Merges modes near a larger one, then drops those with fewer than `least` points. Returns the number of modes. */
static uint32_t choose_summits(const climb *c, summit *summits, uint32_t summit_count, uint32_t least) {
    uint32_t apart = 0, count = 0;
    for (uint32_t n = 0; n < summit_count; n++) {
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
    summit *summits = PX_ALLOC(c->context, summit, c->points->count);
    if (!summits)
        return PELT_ERROR_MEMORY;
    uint32_t count = 0;
    for (uint32_t p = 0; p < c->points->count; p++)
        c->sizes[c->leaders[p] = root_of(c, p)]++;
    for (uint32_t p = 0; p < c->points->count; p++)
        if (c->sizes[p] > 0)
            summits[count++] = (summit){p, c->sizes[p]};
    qsort(summits, count, sizeof *summits, compare_summits);
    *mode_count = choose_summits(c, summits, count, least);
    for (uint32_t p = 0; p < c->points->count; p++)
        if (c->sizes[p] > 0)
            c->ranks[p] = nearest(c, summits, *mode_count, p);
    for (uint32_t p = 0; p < c->points->count; p++) {
        size_t pitch = c->points->pitch;
        modes[p] = c->ranks[c->leaders[p]];
        offsets[p] = modes[p] == PELT_NONE ? 0
                                           : c->kernels->distance(place_of(c, summits[modes[p]].point),
                                                                  c->points->values + p * pitch, pitch) /
                                                 (float)c->bandwidth;
    }
    px_free(c->context, summits);
    return PELT_OK;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

static pelt_result climb_batch(climb *c) {
    PX_TRY(merge(c));
    for (uint32_t round = 0; round < ROUNDS && c->moving_count > 0; round++) {
        PX_TRY(px_parallel(c->context, NULL, c->moving_count, PX_SHIFT_PLACES, climb_some, c));
        PX_TRY(merge(c));
    }
    return PELT_OK;
}

/* Rounds the points. The bytes cover the range of all values, with one step to spare for the dither. */
static pelt_result round_points(climb *c) {
    const px_shift_points *points = c->points;
    float low = INFINITY, high = -INFINITY;
    for (size_t p = 0; p < points->count; p++)
        for (size_t e = 0; e < points->dimension; e++) {
            low = fminf(low, points->values[p * points->pitch + e]);
            high = fmaxf(high, points->values[p * points->pitch + e]);
        }
    c->low = low;
    c->scale = 254 / fmaxf(high - low, 1e-20f);
    for (size_t p = 0; p < points->count; p++)
        round_to_bytes(c, points->values + p * points->pitch, c->bytes + p * c->byte_pitch);
    float *sketches = PX_ALLOC(c->context, float, px_mul_size(points->count, PX_SHIFT_SKETCH));
    if (!sketches)
        return PELT_ERROR_MEMORY;
    for (size_t p = 0; p < points->count; p++)
        px_shift_sketch(points->values + p * points->pitch, points->dimension, sketches + p * PX_SHIFT_SKETCH);
    pelt_result result = px_shift_tree_create(c->context, sketches, points->count, &c->tree);
    px_free(c->context, sketches);
    return result;
}

/* Batches take every n-th point in tree order: those that no batch has taken, twice as many each time. */
static pelt_result climb_all(climb *c) {
    size_t size = c->points->count, done = 0;
    PX_TRY(round_points(c));
    memcpy(c->places, c->points->values, size * c->points->pitch * sizeof *c->places);
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
                c->moving[c->moving_count++] = c->tree.order[n];
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
    void *const arrays[] = {c->trail.bytes, c->trail.sketches, c->trail.owners, c->bytes,  c->places,
                            c->place_bytes, c->place_sketches, c->leaders,      c->arrived};
    for (size_t a = 0; a < PX_COUNT(arrays); a++)
        px_free(c->context, arrays[a]);
}

pelt_result px_mean_shift(pelt_context *context, const px_shift_points *points, double bandwidth, uint32_t least,
                          uint32_t *modes, float *offsets, uint32_t *mode_count) {
    size_t count = points->count;
    climb c = {.context = context, .points = points, .kernels = px_shift_kernels_best(), .bandwidth = bandwidth};
    c.tree.context = context;
    c.byte_pitch = (points->dimension + PX_SHIFT_BYTES - 1) / PX_SHIFT_BYTES * PX_SHIFT_BYTES;
    c.bytes = PX_ALLOC(context, uint8_t, px_mul_size(count, c.byte_pitch));
    c.places = PX_ALLOC(context, float, px_mul_size(count, points->pitch));
    c.place_bytes = PX_ALLOC(context, uint8_t, px_mul_size(count, c.byte_pitch));
    c.place_sketches = PX_ALLOC(context, float, px_mul_size(count, PX_SHIFT_SKETCH));
    c.arrived = PX_ALLOC(context, uint8_t, count);
    c.leaders = PX_ALLOC(context, uint32_t, 6 * count);
    bool ready = c.bytes && c.places && c.place_bytes && c.place_sketches && c.arrived && c.leaders;
    pelt_result result = ready ? PELT_OK : PELT_ERROR_MEMORY;
    if (ready) {
        c.kept = c.leaders + count;
        c.links = c.kept + count;
        c.sizes = c.links + count;
        c.ranks = c.sizes + count;
        c.moving = c.ranks + count;
        result = climb_all(&c);
    }
    if (result == PELT_OK)
        result = find_modes(&c, least, modes, offsets, mode_count);
    free_climb(&c);
    return result;
}
