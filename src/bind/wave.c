/* Distances of voxels from bones, measured through the volume.
 *
 * While a voxel has a line of sight to the segment that its distance comes from, the distance is exact: that to the
 * segment. It has a line of sight if the next voxel on the straight line to the segment has one. Beyond corners, fast
 * marching solves the eikonal equation (first order, from neighbours of the same bone).
 *
 * Voxels wait in buckets of their keys. All voxels of a bucket become final at once, then their neighbours are offered
 * distances: nearly a search in the order of keys (test_isotropic_tube bounds the error, and fails with buckets twice as
 * wide). What a voxel gets depends only on the final voxels around it, not on the order in which a bucket is processed:
 * threads share it, and the numbering of voxels decides nothing. */
#include "bind/bind.h"

#include <math.h>

enum { WAVE_FINAL = 1, WAVE_FRESH = 2 }; /* FRESH: since this round */

#define REACH_FACTOR  1.2f  /* distances up to this multiple of a bone's reach are not penalized … */
#define LEAN_PENALTY  0.03f /* maximum relative increase of keys: along the bone rather than beside it */
#define BEYOND_FACTOR 4.0f  /* … beyond it they grow by this factor */
#define NEXT_CENTRE   1.01f /* in cells: the centre of the next voxel, whatever the rounding */
#define SAME_POINT    0.01f /* in cells: bones whose distance is less than this meet */
#define MIN_INSIDE    0.25f /* share of a bone inside the volume: below it the bone counts as outside */
#define BUCKET_WIDTH  0.25f /* of the shortest edge of a cell; keys within it are not ordered */
#define FRONT_BLOCK   256u  /* voxels of a bucket per parallel block */
#define SHARED_TAG    255u  /* tag of all segments from this one on */
#define AHEAD         16u   /* entries of a list from a voxel to the one that is fetched meanwhile */

/* ---- Buckets ----------------------------------------------------------------------------------------------- */

static pelt_result list_reserve(pelt_context *context, px_bind_wave_list *list, size_t count) {
    if (count <= list->capacity)
        return PELT_OK;
    size_t capacity = px_max_size(px_max_size(256, 2 * list->capacity), count);
    uint32_t *voxels = px_resize(context, list->voxels, capacity, sizeof *voxels);
    if (!voxels)
        return PELT_ERROR_MEMORY;
    list->voxels = voxels;
    list->capacity = capacity;
    return PELT_OK;
}

static pelt_result list_add(pelt_context *context, px_bind_wave_list *list, uint32_t voxel) {
    PX_TRY(list_reserve(context, list, list->count + 1));
    list->voxels[list->count++] = voxel;
    return PELT_OK;
}

static uint64_t bucket_of(const px_bind_wave *w, float key) {
    return (uint64_t)(key / w->width);
}

/* Voxels of buckets beyond the last one wait in it. */
static pelt_result push(px_bind_wave *w, uint32_t voxel) {
    uint64_t bucket = bucket_of(w, w->keys[voxel]), last = w->bucket + PX_BIND_WAVE_BUCKETS - 1;
    bucket = bucket < w->bucket ? w->bucket : bucket > last ? last : bucket;
    w->waiting++;
    return list_add(w->context, &w->buckets[bucket % PX_BIND_WAVE_BUCKETS], voxel);
}

/* Takes the voxels of the first bucket that has any: they are final now. Lists them in ascending order, because neighbours
 * in the list are then neighbours in memory. */
static pelt_result pop(px_bind_wave *w) {
    for (size_t k = 0; k < w->front.count; k++)
        w->finals[w->front.voxels[k]] = WAVE_FINAL;
    while (!w->buckets[w->bucket % PX_BIND_WAVE_BUCKETS].count)
        w->bucket++;
    px_bind_wave_list *from = &w->buckets[w->bucket % PX_BIND_WAVE_BUCKETS];
    size_t count = from->count, first = SIZE_MAX, end = 0;
    w->waiting -= count;
    from->count = w->front.count = 0;
    PX_TRY(list_reserve(w->context, &w->front, count));
    for (size_t k = 0; k < count; k++) {
        uint32_t voxel = from->voxels[k];
        if (k + AHEAD < count) {
            __builtin_prefetch(&w->finals[from->voxels[k + AHEAD]]);
            __builtin_prefetch(&w->keys[from->voxels[k + AHEAD]]);
        }
        if (w->finals[voxel])
            continue;
        if (bucket_of(w, w->keys[voxel]) >
            w->bucket) { /* it waited in the last bucket for a later one: in another list than this */
            PX_TRY(push(w, voxel));
            continue;
        }
        w->finals[voxel] = WAVE_FINAL | WAVE_FRESH;
        w->marks[voxel / 64] |= UINT64_C(1) << voxel % 64;
        first = px_min_size(first, voxel / 64);
        end = px_max_size(end, voxel / 64 + 1);
    }
    for (size_t word = first; word < end; word++)
        for (; w->marks[word]; w->marks[word] &= w->marks[word] - 1)
            w->front.voxels[w->front.count++] = (uint32_t)(64 * word + (size_t)__builtin_ctzll(w->marks[word]));
    return PELT_OK;
}

/* ---- Propagation ------------------------------------------------------------------------------------------- */

static float key_of(const px_bind_wave *w, uint32_t segment, float distance) {
    if (!w->reach)
        return distance;
    uint32_t target = w->segments[segment].target;
    float free = REACH_FACTOR * w->reach[target];
    distance *= w->handicap ? w->handicap[target] : 1;
    return distance <= free ? distance : free + BEYOND_FACTOR * (distance - free);
}

static uint8_t tag_of(uint32_t segment) {
    return (uint8_t)(segment + 1 < SHARED_TAG ? segment + 1 : SHARED_TAG);
}

static uint8_t sees(const px_bind_wave *w, uint32_t voxel) {
    return atomic_load_explicit(&w->sees[voxel].value, memory_order_relaxed);
}

/* True if the voxel takes the offer. */
static bool offer_key(px_bind_wave *w, uint32_t voxel, float key, float distance, uint32_t segment, bool seen) {
    if (!(key < w->keys[voxel] || (key == w->keys[voxel] && key < INFINITY && segment < w->owners[voxel])))
        return false;
    w->keys[voxel] = key;
    w->distances[voxel] = distance;
    w->owners[voxel] = segment;
    atomic_store_explicit(&w->sees[voxel].value, seen ? tag_of(segment) : 0, memory_order_relaxed);
    return true;
}

static bool offer(px_bind_wave *w, uint32_t voxel, float distance, uint32_t segment) {
    return offer_key(w, voxel, key_of(w, segment, distance), distance, segment, false);
}

/* Factor on the key. Beyond the joint of two bones (heel, elbow), both are at the same distance. The key of the bone
 * that points farther away is increased slightly, so that the border continues straight and does not depend on
 * rounding. Bones that leave a limb sideways are held back behind their joint. */
static float lean(const px_bind_wave *w, uint32_t segment, const float centre[3], const float nearest[3],
                  float distance) {
    const px_bind_segment *s = &w->segments[segment];
    float along = 0, length = 0;
    for (int c = 0; c < 3 && w->reach; c++) {
        float axis = (s->b[c] - s->a[c]) * w->volume->step[c];
        along += (centre[c] - nearest[c]) * w->volume->step[c] * axis;
        length += axis * axis;
    }
    float penalty = LEAN_PENALTY + (along < 0 && w->behind ? w->behind[s->target] : 0);
    return length > 0 && distance > 0 ? 1 + penalty * fabsf(along) / (sqrtf(length) * distance) : 1;
}

static void centre_of(const px_bind_volume *volume, uint32_t voxel, float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (float)volume->voxels.cells[voxel][c];
}

/* Whether the voxel at `centre` has a line of sight to `nearest`, a point of the segment; its neighbour `from` has one. */
static bool can_see(const px_bind_wave *w, uint32_t from, const float centre[3], const float nearest[3]) {
    float way[3], longest = 0;
    for (int c = 0; c < 3; c++) {
        way[c] = nearest[c] - centre[c];
        longest = px_fmaxf(longest, fabsf(way[c]));
    }
    if (longest <= NEXT_CENTRE)
        return true;
    for (int c = 0; c < 3; c++)
        way[c] = centre[c] + way[c] / longest;
    uint32_t next = px_bind_voxel(w->volume, way);
    if (next == from)
        return true;
    if (next == PELT_NONE || !w->finals[next] || !sees(w, next))
        return false;
    float unused[3]; /* a voxel that sees a bone which meets this one at `nearest`, a joint, sees that point */
    return w->owners[next] == w->owners[from] ||
           px_bind_segment_distance(&w->segments[w->owners[next]], w->volume->step, nearest, unused) < SAME_POINT;
}

/* The smaller distance of the two neighbours along an axis that are final and belong to the same bone; else
 * INFINITY. */
static float upwind(const px_bind_wave *w, uint32_t voxel, int axis, uint32_t target) {
    float least = INFINITY;
    for (int side = 0; side < 2; side++) {
        uint32_t n = w->volume->neighbours[voxel][2 * axis + side];
        if (n != PELT_NONE && w->finals[n] && w->segments[w->owners[n]].target == target)
            least = px_fminf(least, w->distances[n]);
    }
    return least;
}

/* Solves Σ ((x − d)/h)² = 1 for x, with d the upwind distance and h the cell edge of an axis. Axes are added in
 * ascending order of d while x > d. */
static float eikonal(const px_bind_wave *w, uint32_t voxel, uint32_t target) {
    float d[3], h[3];
    int count = 0;
    for (int axis = 0; axis < 3; axis++) {
        float value = upwind(w, voxel, axis, target);
        if (value == INFINITY)
            continue;
        int at = count++;
        for (; at > 0 && d[at - 1] > value; at--) {
            d[at] = d[at - 1];
            h[at] = h[at - 1];
        }
        d[at] = value;
        h[at] = w->volume->step[axis];
    }
    double a = 0, b = 0, c = -1, x = INFINITY;
    for (int k = 0; k < count && x > d[k]; k++) {
        double weight = 1.0 / ((double)h[k] * h[k]);
        a += weight;
        b += weight * d[k];
        c += weight * d[k] * d[k];
        double under = b * b - a * c;
        if (under < 0)
            break;
        x = (b + sqrt(under)) / a;
    }
    return (float)x;
}

/* Offers the straight distance to a voxel with a line of sight. */
static bool offer_seen(px_bind_wave *w, uint32_t voxel, uint32_t segment, const float centre[3], const float nearest[3],
                       float distance) {
    float key = key_of(w, segment, distance) * lean(w, segment, centre, nearest, distance);
    return offer_key(w, voxel, key, distance, segment, true);
}

/* Offers a distance from the final neighbour `from`. *tried: the segment that was last offered without a line of sight. */
static bool relax(px_bind_wave *w, uint32_t from, uint32_t voxel, uint32_t *tried) {
    uint32_t segment = w->owners[from];
    if (sees(w, voxel) && w->owners[voxel] == segment)
        return false; /* it has this distance */
    if (sees(w, from)) {
        float centre[3], nearest[3];
        centre_of(w->volume, voxel, centre);
        float distance = px_bind_segment_distance(&w->segments[segment], w->volume->step, centre, nearest);
        if (can_see(w, from, centre, nearest))
            return offer_seen(w, voxel, segment, centre, nearest, distance);
    }
    if (*tried == segment)
        return false; /* the same neighbours give the same distance */
    *tried = segment;
    return offer(w, voxel, eikonal(w, voxel, w->segments[segment].target), segment);
}

/* Offers distances from the neighbours that became final in this round, also over bridges, without a line of sight. True if
 * one is taken and the voxel has to wait in another bucket for it. */
static bool relax_all(px_bind_wave *w, uint32_t voxel) {
    const px_bind_crossings *all = w->crossings;
    float before = w->keys[voxel];
    uint32_t tried = PELT_NONE;
    bool taken = false;
    for (int k = 0; k < 6; k++) {
        uint32_t from = w->volume->neighbours[voxel][k];
        if (from != PELT_NONE && (w->finals[from] & WAVE_FRESH))
            taken |= relax(w, from, voxel, &tried);
    }
    for (uint32_t c = all ? px_bind_crossings_from(all, voxel) : 0;
         all && c < all->count && all->items[c].from == voxel; c++) {
        uint32_t from = all->items[c].to;
        if (w->finals[from] & WAVE_FRESH)
            taken |= offer(w, voxel, w->distances[from] + all->items[c].length, w->owners[from]);
    }
    return taken && !(before < INFINITY && bucket_of(w, before) == bucket_of(w, w->keys[voxel]));
}

/* Whether this call is the first in a round for a voxel that is not final. */
static bool claim(px_bind_wave *w, uint32_t voxel) {
    return !w->finals[voxel] && atomic_load_explicit(&w->rounds[voxel].value, memory_order_relaxed) != w->round &&
           atomic_exchange_explicit(&w->rounds[voxel].value, w->round, memory_order_relaxed) != w->round;
}

static pelt_result front_block(void *user, size_t first, size_t count, size_t block) {
    px_bind_wave *w = user;
    const px_bind_volume *volume = w->volume;
    uint32_t *beside = w->reached.voxels + 6 * first, beside_count = 0, reached_count = 0;
    for (size_t k = first; k < first + count; k++) {
        if (k + AHEAD < w->front.count)
            __builtin_prefetch(volume->neighbours[w->front.voxels[k + AHEAD]]);
        uint8_t tag = tag_of(w->owners[w->front.voxels[k]]);
        for (int n = 0; n < 6; n++) {
            uint32_t next = volume->neighbours[w->front.voxels[k]][n];
            if (next == PELT_NONE || (sees(w, next) == tag && tag != SHARED_TAG) || !claim(w, next))
                continue; /* a voxel that sees this owner has its distance */
            __builtin_prefetch(volume->neighbours[next]);
            __builtin_prefetch(volume->voxels.cells[next]);
            __builtin_prefetch(&w->keys[next]);
            beside[beside_count++] = next;
        }
    }
    for (uint32_t k = 0; k < beside_count; k++)
        if (relax_all(w, beside[k]))
            beside[reached_count++] = beside[k];
    w->block_counts.voxels[block] = reached_count;
    return PELT_OK;
}

/* Relaxes the voxels beside the front and pushes those that come nearer. */
static pelt_result advance(px_bind_wave *w) {
    size_t blocks = px_block_count(w->front.count, FRONT_BLOCK);
    PX_TRY(list_reserve(w->context, &w->reached, 6 * w->front.count));
    PX_TRY(list_reserve(w->context, &w->block_counts, blocks));
    if (++w->round == 0) { /* numbers of rounds repeat */
        memset(w->rounds, 0, w->volume->voxels.count * sizeof *w->rounds);
        w->round = 1;
    }
    PX_TRY(px_parallel(w->context, NULL, w->front.count, FRONT_BLOCK, front_block, w));
    for (size_t b = 0; b < blocks; b++)
        for (uint32_t k = 0; k < w->block_counts.voxels[b]; k++)
            PX_TRY(push(w, w->reached.voxels[6 * FRONT_BLOCK * b + k]));
    const px_bind_crossings *all = w->crossings;
    for (size_t k = 0; all && all->count && k < w->front.count; k++) {
        uint32_t from = w->front.voxels[k];
        for (uint32_t c = px_bind_crossings_from(all, from); c < all->count && all->items[c].from == from; c++)
            if (claim(w, all->items[c].to) && relax_all(w, all->items[c].to))
                PX_TRY(push(w, all->items[c].to));
    }
    return PELT_OK;
}

/* Adds a voxel to the queue unless it has an owner. */
static pelt_result wash(px_bind_wave *w, uint32_t from, uint32_t next, float step) {
    if (next == PELT_NONE || w->owners[next] != PELT_NONE)
        return PELT_OK;
    w->owners[next] = w->owners[from];
    w->distances[next] = w->distances[from] + step;
    return list_add(w->context, &w->reached, next);
}

/* Breadth-first search. */
static pelt_result flood(px_bind_wave *w) {
    const px_bind_crossings *all = w->crossings;
    for (size_t n = 0; n < w->reached.count; n++) {
        uint32_t from = w->reached.voxels[n];
        for (int k = 0; k < 6; k++)
            PX_TRY(wash(w, from, w->volume->neighbours[from][k], w->volume->step[k / 2]));
        for (uint32_t c = all ? px_bind_crossings_from(all, from) : 0;
             all && c < all->count && all->items[c].from == from; c++)
            PX_TRY(wash(w, from, all->items[c].to, all->items[c].length));
        if (n % 65536 == 0)
            PX_TRY(px_cancelled(w->context));
    }
    w->reached.count = 0;
    return PELT_OK;
}

pelt_result px_bind_wave_run(px_bind_wave *wave) {
    if (wave->floods)
        return flood(wave);
    wave->bucket = UINT64_MAX - PX_BIND_WAVE_BUCKETS;
    for (size_t k = 0; k < wave->reached.count; k++) {
        uint64_t bucket = bucket_of(wave, wave->keys[wave->reached.voxels[k]]);
        wave->bucket = bucket < wave->bucket ? bucket : wave->bucket;
    }
    for (size_t k = 0; k < wave->reached.count; k++)
        PX_TRY(push(wave, wave->reached.voxels[k]));
    wave->reached.count = 0;
    while (wave->waiting) {
        PX_TRY(pop(wave));
        PX_TRY(advance(wave));
    }
    return PELT_OK;
}

/* ---- Start --------------------------------------------------------------------------------------------------- */

pelt_result px_bind_wave_seed(px_bind_wave *wave, uint32_t voxel, float distance, uint32_t segment) {
    return offer(wave, voxel, distance, segment) ? list_add(wave->context, &wave->reached, voxel) : PELT_OK;
}

/* Calls `near` for the voxels at (most = 0) or nearest to samples along a segment, `stride` half cells apart. */
static pelt_result along_segment(const px_bind_volume *volume, const px_bind_segment *s, uint32_t stride, float most,
                                 px_bind_near_fn *near, void *user) {
    float length = 0;
    for (int c = 0; c < 3; c++)
        length = px_fmaxf(length, fabsf(s->b[c] - s->a[c]));
    uint32_t steps = (uint32_t)px_fminf(2 * length, 8 * PX_GRID_MAX) + 1;
    for (uint32_t i = 0; i <= steps; i += stride) {
        float p[3], centre[3], nearest[3], distance, u = (float)i / (float)steps;
        for (int c = 0; c < 3; c++)
            p[c] = s->a[c] + u * (s->b[c] - s->a[c]);
        uint32_t voxel = most > 0 ? px_bind_nearest_voxel(volume, p, most, &distance) : px_bind_voxel(volume, p);
        if (voxel == PELT_NONE)
            continue;
        centre_of(volume, voxel, centre);
        PX_TRY(near(user, voxel, px_bind_segment_distance(s, volume->step, centre, nearest)));
    }
    return PELT_OK;
}

pelt_result px_bind_near_segment(const px_bind_volume *volume, const px_bind_segment *segment, float most,
                                 px_bind_near_fn *near, void *user) {
    return along_segment(volume, segment, 2, most, near, user);
}

typedef struct start {
    px_bind_wave *wave;
    uint32_t segment;
    bool sees, seeded;
} start;

static pelt_result start_at(void *user, uint32_t voxel, float distance) {
    start *s = user;
    px_bind_wave *w = s->wave;
    float centre[3], nearest[3];
    s->seeded = true;
    if (!s->sees)
        return px_bind_wave_seed(w, voxel, distance, s->segment);
    centre_of(w->volume, voxel, centre);
    distance = px_bind_segment_distance(&w->segments[s->segment], w->volume->step, centre, nearest);
    return offer_seen(w, voxel, s->segment, centre, nearest, distance) ? list_add(w->context, &w->reached, voxel)
                                                                       : PELT_OK;
}

pelt_result px_bind_wave_start(px_bind_wave *wave, uint32_t first, uint32_t count, float most, bool *seeded) {
    float inside = 0;
    start s = {.wave = wave, .sees = true};
    for (s.segment = first; s.segment < first + count; s.segment++) {
        const px_bind_segment *segment = &wave->segments[s.segment];
        PX_TRY(along_segment(wave->volume, segment, 1, 0, start_at, &s));
        inside = px_fmaxf(inside, px_bind_share_inside(wave->volume, segment->a, segment->b));
    }
    s.sees = false;
    for (s.segment = first; s.segment < first + count && inside < MIN_INSIDE; s.segment++)
        PX_TRY(px_bind_near_segment(wave->volume, &wave->segments[s.segment], most, start_at, &s));
    *seeded = s.seeded;
    return PELT_OK;
}

/* ---- Memory -------------------------------------------------------------------------------------------------- */

pelt_result px_bind_wave_make(pelt_context *context, const px_bind_volume *volume, const px_bind_segment *segments,
                              const float *reach, px_bind_wave *wave) {
    size_t count = volume->voxels.count;
    *wave = (px_bind_wave){.context = context, .volume = volume, .segments = segments, .reach = reach};
    wave->width = BUCKET_WIDTH * px_fminf(volume->step[0], px_fminf(volume->step[1], volume->step[2]));
    wave->distances = PX_ALLOC(context, float, count);
    wave->owners = PX_ALLOC(context, uint32_t, count);
    wave->keys = PX_ALLOC(context, float, count);
    wave->finals = PX_ALLOC(context, uint8_t, count);
    wave->sees = PX_ALLOC(context, px_bind_wave_byte, count);
    wave->marks = PX_ALLOC(context, uint64_t, count / 64 + 1);
    wave->rounds = PX_ALLOC(context, px_bind_wave_byte, count);
    if (!wave->distances || !wave->owners || !wave->keys || !wave->finals || !wave->sees || !wave->marks ||
        !wave->rounds)
        return PELT_ERROR_MEMORY;
    px_bind_wave_reset(wave);
    return PELT_OK;
}

void px_bind_wave_reset(px_bind_wave *wave) {
    size_t count = wave->volume->voxels.count;
    for (size_t v = 0; v < count; v++)
        wave->distances[v] = wave->keys[v] = INFINITY;
    memset(wave->owners, 0xff, count * sizeof *wave->owners);
    memset(wave->finals, 0, count);
    memset(wave->sees, 0, count);
    wave->front.count = wave->reached.count = wave->waiting = 0;
    for (size_t b = 0; b < PX_BIND_WAVE_BUCKETS; b++)
        wave->buckets[b].count = 0;
}

void px_bind_wave_free(px_bind_wave *wave) {
    px_free(wave->context, wave->distances);
    px_free(wave->context, wave->owners);
    px_free(wave->context, wave->keys);
    px_free(wave->context, wave->finals);
    px_free(wave->context, wave->sees);
    px_free(wave->context, wave->marks);
    px_free(wave->context, wave->rounds);
    px_free(wave->context, wave->front.voxels);
    px_free(wave->context, wave->reached.voxels);
    px_free(wave->context, wave->block_counts.voxels);
    for (size_t b = 0; b < PX_BIND_WAVE_BUCKETS; b++)
        px_free(wave->context, wave->buckets[b].voxels);
    *wave = (px_bind_wave){0};
}
