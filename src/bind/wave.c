/* How far voxels are from bones, through the volume.
 *
 * As long as a voxel sees the bone that its distance comes from, the distance is that to the segment itself, exact in
 * every direction: it sees it when the next voxel on the straight line there does. Behind corners the eikonal equation
 * carries the distance on (first order, from neighbours that belong to the same bone). */
#include "bind/bind.h"

#include <math.h>

enum { WAVE_FINAL = 1, WAVE_SEES = 2 };

#define REACH   1.2f  /* distances up to this many times a bone's reach count as they are, … */
#define BEYOND  4.0f  /* … farther ones this much more */
#define OUTSIDE 0.25f /* a bone with less of it inside lies outside */

/* ---- A heap ------------------------------------------------------------------------------------------------ */

struct px_bind_heap_entry {
    float key;
    uint32_t voxel;
};
typedef struct px_bind_heap_entry entry;

/* Equal keys go by voxel, so that the order is one. */
static bool before(const entry *a, const entry *b) {
    return a->key < b->key || (a->key == b->key && a->voxel < b->voxel);
}

static pelt_result push(px_bind_wave *w, entry e) {
    if (w->heap_count == w->heap_capacity) {
        size_t capacity = w->heap_capacity ? 2 * w->heap_capacity : 1 << 14;
        entry *heap = px_resize(w->context, w->heap, capacity, sizeof *heap);
        if (!heap)
            return PELT_ERROR_MEMORY;
        w->heap = heap;
        w->heap_capacity = capacity;
    }
    size_t i = w->heap_count++;
    for (; i > 0 && before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
    return PELT_OK;
}

static entry pop(px_bind_wave *w) {
    entry top = w->heap[0], last = w->heap[--w->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < w->heap_count; i = child) {
        if (child + 1 < w->heap_count && before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return top;
}

/* ---- Steps ------------------------------------------------------------------------------------------------- */

static float key_of(const px_bind_wave *w, uint32_t segment, float distance) {
    if (!w->reach)
        return distance;
    float free = REACH * w->reach[w->segments[segment].target];
    return distance <= free ? distance : free + BEYOND * (distance - free);
}

static pelt_result offer(px_bind_wave *w, uint32_t voxel, float distance, uint32_t segment, bool sees) {
    float key = key_of(w, segment, distance);
    if (!(key < w->keys[voxel]))
        return PELT_OK;
    w->keys[voxel] = key;
    w->distances[voxel] = distance;
    w->owners[voxel] = segment;
    w->states[voxel] = sees ? WAVE_SEES : 0;
    return push(w, (entry){key, voxel});
}

static void centre_of(const px_bind_wave *w, uint32_t voxel, float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (float)w->volume->voxels.cells[voxel][c];
}

/* Whether `voxel` sees `nearest`, a point of the segment, when the wave comes from its neighbour `from`. */
static bool sees(const px_bind_wave *w, uint32_t from, const float centre[3], const float nearest[3]) {
    float way[3], longest = 0;
    for (int c = 0; c < 3; c++) {
        way[c] = nearest[c] - centre[c];
        longest = fmaxf(longest, fabsf(way[c]));
    }
    if (longest <= 1)
        return true;
    for (int c = 0; c < 3; c++)
        way[c] = centre[c] + way[c] / longest;
    uint32_t next = px_bind_voxel(w->volume, way);
    return next == from ||
           (next != PELT_NONE && w->states[next] == (WAVE_FINAL | WAVE_SEES) && w->owners[next] == w->owners[from]);
}

/* The smaller distance of the two neighbours along an axis, of those that are final and of the same bone. */
static float upwind(const px_bind_wave *w, uint32_t voxel, int axis, uint32_t target) {
    float least = INFINITY;
    for (int side = 0; side < 2; side++) {
        uint32_t n = w->volume->neighbours[voxel][2 * axis + side];
        if (n != PELT_NONE && (w->states[n] & WAVE_FINAL) && w->segments[w->owners[n]].target == target)
            least = fminf(least, w->distances[n]);
    }
    return least;
}

/* The root of Σ ((x − d)/h)² = 1 over as many axes, nearest first, as it is behind. */
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

static pelt_result relax(px_bind_wave *w, uint32_t from, uint32_t voxel) {
    uint32_t segment = w->owners[from];
    if (w->states[from] & WAVE_SEES) {
        float centre[3], nearest[3];
        centre_of(w, voxel, centre);
        float distance = px_bind_segment_distance(&w->segments[segment], w->volume->step, centre, nearest);
        if (sees(w, from, centre, nearest))
            return offer(w, voxel, distance, segment, true);
    }
    return offer(w, voxel, eikonal(w, voxel, w->segments[segment].target), segment, false);
}

pelt_result px_bind_wave_run(px_bind_wave *wave) {
    for (size_t n = 0; wave->heap_count; n++) {
        entry e = pop(wave);
        if ((wave->states[e.voxel] & WAVE_FINAL) || e.key > wave->keys[e.voxel])
            continue;
        wave->states[e.voxel] |= WAVE_FINAL;
        for (int k = 0; k < 6; k++) {
            uint32_t next = wave->volume->neighbours[e.voxel][k];
            if (next != PELT_NONE && !(wave->states[next] & WAVE_FINAL))
                PX_TRY(relax(wave, e.voxel, next));
        }
        if (n % 65536 == 0)
            PX_TRY(px_cancelled(wave->context));
    }
    return PELT_OK;
}

/* ---- Where it starts ----------------------------------------------------------------------------------------- */

pelt_result px_bind_wave_seed(px_bind_wave *wave, uint32_t voxel, float distance, uint32_t segment) {
    return offer(wave, voxel, distance, segment, false);
}

/* The occupied voxel nearest to p within `most`, or PELT_NONE. */
static uint32_t nearest_voxel(const px_bind_volume *v, const float p[3], float most, float *distance) {
    uint32_t nearest = PELT_NONE;
    float best = most;
    for (int ring = 0; (float)ring <= best + 1; ring++)
        for (int z = -ring; z <= ring; z++)
            for (int y = -ring; y <= ring; y++) {
                bool inner = z > -ring && z < ring && y > -ring && y < ring;
                for (int x = -ring; x <= ring; x += inner ? 2 * ring : 1) {
                    float q[3] = {p[0] + (float)x, p[1] + (float)y, p[2] + (float)z}, sum = 0;
                    uint32_t voxel = px_bind_voxel(v, q);
                    for (int c = 0; c < 3 && voxel != PELT_NONE; c++) {
                        float off = ((float)v->voxels.cells[voxel][c] - p[c]) * v->step[c];
                        sum += off * off;
                    }
                    if (voxel != PELT_NONE && sqrtf(sum) < best) {
                        best = sqrtf(sum);
                        nearest = voxel;
                    }
                }
            }
    *distance = best;
    return nearest;
}

/* Calls for places along a segment half a cell apart. */
static pelt_result start_segment(px_bind_wave *w, uint32_t segment, float most, bool *seeded) {
    const px_bind_segment *s = &w->segments[segment];
    float length = 0;
    for (int c = 0; c < 3; c++)
        length = fmaxf(length, fabsf(s->b[c] - s->a[c]));
    uint32_t steps = (uint32_t)fminf(2 * length, 8 * PX_GRID_MAX) + 1;
    for (uint32_t i = 0; i <= steps; i += most > 0 ? 2 : 1) {
        float p[3], centre[3], nearest[3], distance = 0, u = (float)i / (float)steps;
        for (int c = 0; c < 3; c++)
            p[c] = s->a[c] + u * (s->b[c] - s->a[c]);
        uint32_t voxel = most > 0 ? nearest_voxel(w->volume, p, most, &distance) : px_bind_voxel(w->volume, p);
        if (voxel == PELT_NONE)
            continue;
        *seeded = true;
        centre_of(w, voxel, centre);
        distance = px_bind_segment_distance(s, w->volume->step, centre, nearest);
        PX_TRY(offer(w, voxel, distance, segment, most <= 0));
    }
    return PELT_OK;
}

pelt_result px_bind_wave_start(px_bind_wave *wave, uint32_t first, uint32_t count, float most, bool *seeded) {
    float inside = 0;
    *seeded = false;
    for (uint32_t s = first; s < first + count; s++) {
        PX_TRY(start_segment(wave, s, 0, seeded));
        inside = fmaxf(inside, px_bind_share_inside(wave->volume, wave->segments[s].a, wave->segments[s].b));
    }
    for (uint32_t s = first; s < first + count && inside < OUTSIDE; s++)
        PX_TRY(start_segment(wave, s, most, seeded));
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
