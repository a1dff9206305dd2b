/* Distances of voxels from bones, measured through the volume.
 *
 * While a voxel has a line of sight to the segment that its distance comes from, the distance is exact: that to the
 * segment. It has a line of sight if the next voxel on the straight line to the segment has one. Beyond corners, fast
 * marching solves the eikonal equation (first order, from neighbours of the same bone). */
#include "bind/bind.h"

#include <math.h>

enum { WAVE_FINAL = 1, WAVE_SEES = 2 };

#define REACH_FACTOR  1.2f  /* distances up to this multiple of a bone's reach are not penalized … */
#define LEAN_PENALTY  0.03f /* maximum relative increase of keys: along the bone rather than beside it */
#define BEYOND_FACTOR 4.0f  /* … beyond it they grow by this factor */
#define NEXT_CENTRE   1.01f /* in cells: the centre of the next voxel, whatever the rounding */
#define SAME_POINT    0.01f /* in cells: bones whose distance is less than this meet */
#define MIN_INSIDE    0.25f /* share of a bone inside the volume: below it the bone counts as outside */

/* ---- Heap -------------------------------------------------------------------------------------------------- */

/* An entry is a key in the high and a voxel in the low 32 bits: the bits of non-negative floats are ordered as the
 * floats, and ties go by voxel, so the order is deterministic. The heap is 4-ary: half as deep as a binary one. */
static uint64_t entry_of(float key, uint32_t voxel) {
    return (uint64_t)px_float_bits(key) << 32 | voxel;
}

/* Reserves capacity for one more entry. */
static pelt_result make_room(px_bind_wave *w) {
    if (w->heap_count < w->heap_capacity)
        return PELT_OK;
    size_t capacity = w->heap_capacity ? 2 * w->heap_capacity : 1 << 14;
    uint64_t *heap = px_resize(w->context, w->heap, capacity, sizeof *heap);
    if (!heap)
        return PELT_ERROR_MEMORY;
    w->heap = heap;
    w->heap_capacity = capacity;
    return PELT_OK;
}

static pelt_result push(px_bind_wave *w, uint64_t entry) {
    PX_TRY(make_room(w));
    size_t i = w->heap_count++;
    for (; i > 0 && entry < w->heap[(i - 1) / 4]; i = (i - 1) / 4)
        w->heap[i] = w->heap[(i - 1) / 4];
    w->heap[i] = entry;
    return PELT_OK;
}

static uint64_t pop(px_bind_wave *w) {
    uint64_t *heap = w->heap, top = heap[0], last = heap[--w->heap_count];
    size_t i = 0;
    for (size_t first; (first = 4 * i + 1) < w->heap_count;) {
        size_t least = first, end = px_min_size(first + 4, w->heap_count);
        for (size_t child = first + 1; child < end; child++)
            least = heap[child] < heap[least] ? child : least;
        if (heap[least] >= last)
            break;
        heap[i] = heap[least];
        i = least;
    }
    heap[i] = last;
    return top;
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

static pelt_result offer_key(px_bind_wave *w, uint32_t voxel, float key, float distance, uint32_t segment, bool sees) {
    if (!(key < w->keys[voxel]))
        return PELT_OK;
    w->keys[voxel] = key;
    w->distances[voxel] = distance;
    w->owners[voxel] = segment;
    w->states[voxel] = sees ? WAVE_SEES : 0;
    return push(w, entry_of(key, voxel));
}

static pelt_result offer(px_bind_wave *w, uint32_t voxel, float distance, uint32_t segment, bool sees) {
    return offer_key(w, voxel, key_of(w, segment, distance), distance, segment, sees);
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

/* Whether the voxel at `centre` has a line of sight to `nearest`, a point of the segment; the front comes from its
 * neighbour `from`. */
static bool sees(const px_bind_wave *w, uint32_t from, const float centre[3], const float nearest[3]) {
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
    if (next == PELT_NONE || w->states[next] != (WAVE_FINAL | WAVE_SEES))
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
        if (n != PELT_NONE && (w->states[n] & WAVE_FINAL) && w->segments[w->owners[n]].target == target)
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
static pelt_result offer_seen(px_bind_wave *w, uint32_t voxel, uint32_t segment) {
    float centre[3], nearest[3];
    centre_of(w->volume, voxel, centre);
    float distance = px_bind_segment_distance(&w->segments[segment], w->volume->step, centre, nearest);
    float key = key_of(w, segment, distance) * lean(w, segment, centre, nearest, distance);
    return offer_key(w, voxel, key, distance, segment, true);
}

/* Offers a distance to a neighbour of `from`, whose centre is at `centre`. */
static pelt_result relax(px_bind_wave *w, uint32_t from, uint32_t voxel, const float centre[3]) {
    uint32_t segment = w->owners[from];
    if ((w->states[from] & w->states[voxel] & WAVE_SEES) && w->owners[voxel] == segment)
        return PELT_OK; /* it has this distance */
    if (w->states[from] & WAVE_SEES) {
        float nearest[3];
        float distance = px_bind_segment_distance(&w->segments[segment], w->volume->step, centre, nearest);
        if (sees(w, from, centre, nearest)) {
            float key = key_of(w, segment, distance) * lean(w, segment, centre, nearest, distance);
            return offer_key(w, voxel, key, distance, segment, true);
        }
    }
    return offer(w, voxel, eikonal(w, voxel, w->segments[segment].target), segment, false);
}

/* Propagates over bridges, without a line of sight. */
static pelt_result cross(px_bind_wave *w, uint32_t from) {
    const px_bind_crossings *all = w->crossings;
    for (uint32_t c = px_bind_crossings_from(all, from); c < all->count && all->items[c].from == from; c++)
        if (!(w->states[all->items[c].to] & WAVE_FINAL))
            PX_TRY(offer(w, all->items[c].to, w->distances[from] + all->items[c].length, w->owners[from], false));
    return PELT_OK;
}

/* Adds a voxel to the queue unless it has an owner. */
static pelt_result wash(px_bind_wave *w, uint32_t from, uint32_t next, float step) {
    if (next == PELT_NONE || w->owners[next] != PELT_NONE)
        return PELT_OK;
    w->owners[next] = w->owners[from];
    w->distances[next] = w->distances[from] + step;
    PX_TRY(make_room(w));
    w->heap[w->heap_count++] = next;
    return PELT_OK;
}

/* Breadth-first search; the heap array serves as the queue. */
static pelt_result flood(px_bind_wave *w) {
    for (size_t n = 0; n < w->heap_count; n++) {
        uint32_t from = (uint32_t)w->heap[n];
        for (int k = 0; k < 6; k++)
            PX_TRY(wash(w, from, w->volume->neighbours[from][k], w->volume->step[k / 2]));
        const px_bind_crossings *all = w->crossings;
        for (uint32_t c = all ? px_bind_crossings_from(all, from) : 0;
             all && c < all->count && all->items[c].from == from; c++)
            PX_TRY(wash(w, from, all->items[c].to, all->items[c].length));
        if (n % 65536 == 0)
            PX_TRY(px_cancelled(w->context));
    }
    w->heap_count = 0;
    return PELT_OK;
}

pelt_result px_bind_wave_run(px_bind_wave *wave) {
    if (wave->floods)
        return flood(wave);
    for (size_t n = 0; wave->heap_count; n++) {
        uint64_t entry = pop(wave);
        uint32_t voxel = (uint32_t)entry;
        if ((wave->states[voxel] & WAVE_FINAL) || entry != entry_of(wave->keys[voxel], voxel))
            continue;
        wave->states[voxel] |= WAVE_FINAL;
        if (wave->heap_count) { /* probably next */
            __builtin_prefetch(wave->volume->neighbours[(uint32_t)wave->heap[0]]);
            __builtin_prefetch(wave->volume->voxels.cells[(uint32_t)wave->heap[0]]);
        }
        float centre[3];
        centre_of(wave->volume, voxel, centre);
        for (int k = 0; k < 6; k++) {
            uint32_t next = wave->volume->neighbours[voxel][k];
            if (next == PELT_NONE || (wave->states[next] & WAVE_FINAL))
                continue;
            float own = centre[k / 2];
            centre[k / 2] += k % 2 ? 1.0f : -1.0f;
            PX_TRY(relax(wave, voxel, next, centre));
            centre[k / 2] = own;
        }
        if (wave->crossings)
            PX_TRY(cross(wave, voxel));
        if (n % 65536 == 0)
            PX_TRY(px_cancelled(wave->context));
    }
    return PELT_OK;
}

/* ---- Start --------------------------------------------------------------------------------------------------- */

pelt_result px_bind_wave_seed(px_bind_wave *wave, uint32_t voxel, float distance, uint32_t segment) {
    return offer(wave, voxel, distance, segment, false);
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
    s->seeded = true;
    return s->sees ? offer_seen(s->wave, voxel, s->segment) : offer(s->wave, voxel, distance, s->segment, false);
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
    wave->distances = PX_ALLOC(context, float, count);
    wave->owners = PX_ALLOC(context, uint32_t, count);
    wave->keys = PX_ALLOC(context, float, count);
    wave->states = PX_ALLOC(context, uint8_t, count);
    if (!wave->distances || !wave->owners || !wave->keys || !wave->states)
        return PELT_ERROR_MEMORY;
    px_bind_wave_reset(wave);
    return PELT_OK;
}

void px_bind_wave_reset(px_bind_wave *wave) {
    size_t count = wave->volume->voxels.count;
    for (size_t v = 0; v < count; v++)
        wave->distances[v] = wave->keys[v] = INFINITY;
    memset(wave->owners, 0xff, count * sizeof *wave->owners);
    memset(wave->states, 0, count);
    wave->heap_count = 0;
}

void px_bind_wave_free(px_bind_wave *wave) {
    px_free(wave->context, wave->distances);
    px_free(wave->context, wave->owners);
    px_free(wave->context, wave->keys);
    px_free(wave->context, wave->states);
    px_free(wave->context, wave->heap);
    *wave = (px_bind_wave){0};
}
