/* Distances from every bone through the volume (Dionne, de Lasa 2013, sections 5 and 6).
 *
 * `paper` is their Algorithm 1: shortest paths from voxel to voxel across faces, from the voxels that a bone passes
 * through. Floating-point addition is monotonic, so the length of a shortest path does not depend on the order of the
 * search. That permits an order that suits the hardware: row by row, several bones in SIMD lanes. A row in which a
 * distance decreased propagates it, first along itself, then to the four rows beside it; rows are swept up and down
 * until no distance decreases.
 *
 * `isotropic` is one fast-marching pass per bone (wave.c).
 *
 * Both cross bridges, so components that no bone touches have distances from all bones that reach the other end of
 * their bridges. */
#include "bind/bind.h"

#include <math.h>

#define LANES 4u /* bones per SIMD vector */

typedef struct geodesic {
    pelt_context *context;
    const px_bind_subject *subject;
    const px_bind_volume *volume;
    const px_bind_bones *bones;
    px_bind_crossings crossings;
    uint32_t *firsts; /* [target + 1] its first segment */
    px_bind_sampler sampler;
    px_bind_fields *fields;
} geodesic;

/* ---- Shortest paths ------------------------------------------------------------------------------------------ */

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t masks __attribute__((vector_size(4 * LANES)));
typedef int64_t mask_pair __attribute__((vector_size(4 * LANES)));

typedef struct search {
    const geodesic *g;
    lanes *distances;  /* [voxel] in cells; one lane per bone */
    uint8_t *nearer;   /* [row of voxels] 1: a distance decreased, to be propagated */
    uint32_t *waiting; /* [slice] number of such rows */
} search;

static void mark(search *s, uint32_t voxel) {
    const px_voxels *voxels = &s->g->volume->voxels;
    uint32_t y = voxels->cells[voxel][1], z = voxels->cells[voxel][2];
    if (s->g->volume->pieces.factor && voxel >= s->g->volume->pieces.block_count)
        y = 0, z = voxels->grid.size[2];
    uint8_t *nearer = &s->nearer[y + (size_t)voxels->grid.size[1] * z];
    s->waiting[z] += !*nearer;
    *nearer = 1;
}

/* Relaxes *to by a path through a neighbour; true if any lane decreased. */
static inline bool shorten(lanes *to, const lanes *from, float step) {
    lanes over = *from + step;
    masks nearer = over < *to;
    mask_pair any = (mask_pair)nearer;
    if (!(any[0] | any[1]))
        return false;
    *to = (lanes)(((masks)over & nearer) | ((masks)*to & ~nearer));
    return true;
}

static void pass_on(search *s, size_t row) {
    const px_bind_volume *volume = s->g->volume;
    const px_voxels *voxels = &volume->voxels;
    uint32_t first = voxels->runs[voxels->row_runs[row]].first, end = voxels->runs[voxels->row_runs[row + 1]].first;
    const float *step = volume->step;
    for (uint32_t v = first + 1; v < end; v++)
        if (volume->neighbours[v][0] == v - 1)
            shorten(&s->distances[v], &s->distances[v - 1], step[0]);
    for (uint32_t v = end - 1; v-- > first;)
        if (volume->neighbours[v][1] == v + 1)
            shorten(&s->distances[v], &s->distances[v + 1], step[0]);
    /* Neighbours along x are in this row, except where pieces of blocks are concerned. */
    for (int k = volume->pieces.factor ? 0 : 2; k < 6; k++) {
        uint32_t last = PELT_NONE;
        for (uint32_t v = first; v < end; v++) {
            uint32_t next = volume->neighbours[v][k];
            if (next == PELT_NONE || !shorten(&s->distances[next], &s->distances[v], step[k / 2]))
                continue;
            if (volume->pieces.factor) /* neighbours are in several rows */
                mark(s, next);
            last = next;
        }
        if (last != PELT_NONE)
            mark(s, last);
    }
}

/* Relaxes distances over bridges; true if any decreased. */
static bool cross(search *s) {
    bool any = false;
    for (uint32_t c = 0; c < s->g->crossings.count; c++) {
        const px_bind_crossing *crossing = &s->g->crossings.items[c];
        if (shorten(&s->distances[crossing->to], &s->distances[crossing->from], crossing->length)) {
            mark(s, crossing->to);
            any = true;
        }
    }
    return any;
}

/* Sweeps the slices up and down in turn, and within each slice the rows up and down. */
static pelt_result run_search(search *s) {
    const px_grid *grid = &s->g->volume->voxels.grid;
    uint32_t slices = grid->size[2] + 1; /* + 1: further pieces of blocks, one row */
    do {
        bool any = true;
        for (uint32_t turn = 0; any; turn++) {
            any = false;
            for (uint32_t n = 0; n < slices; n++) {
                uint32_t z = turn % 2 ? slices - 1 - n : n, rows = z < grid->size[2] ? grid->size[1] : 1;
                any |= s->waiting[z] > 0;
                for (uint32_t way = 0; way < 4; way++)
                    for (uint32_t y = 0; y < rows && s->waiting[z]; y++) {
                        size_t row = (way % 2 ? rows - 1 - y : y) + (size_t)grid->size[1] * z;
                        if (!s->nearer[row])
                            continue;
                        s->nearer[row] = 0;
                        s->waiting[z]--;
                        pass_on(s, row);
                    }
            }
            PX_TRY(px_cancelled(s->g->context));
        }
    } while (cross(s));
    return PELT_OK;
}

/* ---- Start --------------------------------------------------------------------------------------------------- */

/* Clips a segment to the grid; part: parameters of the two ends. False if it lies outside. */
static bool clip(const px_grid *grid, const px_bind_segment *segment, double part[2]) {
    part[0] = 0, part[1] = 1;
    for (int c = 0; c < 3; c++) {
        double from = segment->a[c], way = (double)segment->b[c] - from;
        double low = (-0.5 - from) / way, high = (grid->size[c] - 0.5 - from) / way;
        if (way == 0 && !(from >= -0.5 && from < grid->size[c] - 0.5))
            return false;
        if (way == 0)
            continue;
        part[0] = px_fmax(part[0], px_fmin(low, high));
        part[1] = px_fmin(part[1], px_fmax(low, high));
    }
    return part[0] <= part[1];
}

static void begin(search *s, uint32_t lane, uint32_t voxel, float distance) {
    s->distances[voxel][lane] = px_fminf(s->distances[voxel][lane], distance);
    mark(s, voxel);
}

/* Starts at every voxel that a segment passes through, by traversing cell by cell. */
static void pass_through(search *s, uint32_t lane, const px_bind_segment *segment, bool *any) {
    const px_voxels *voxels = &s->g->volume->voxels;
    double part[2], next[3] = {INFINITY, INFINITY, INFINITY};
    uint32_t cell[3];
    if (!clip(&voxels->grid, segment, part))
        return;
    for (int c = 0; c < 3; c++) {
        double at = segment->a[c] + part[0] * ((double)segment->b[c] - segment->a[c]) + 0.5;
        cell[c] = (uint32_t)px_fmin(px_fmax(at, 0), voxels->grid.size[c] - 1.0);
    }
    for (int axis = 3;;) {
        for (int c = 0; c < 3; c++) { /* parameter at which the segment leaves the cell */
            double way = (double)segment->b[c] - segment->a[c];
            if ((axis == c || axis == 3) && way != 0)
                next[c] = (cell[c] + (way > 0 ? 0.5 : -0.5) - segment->a[c]) / way;
        }
        uint32_t voxel = px_voxel_at(voxels, cell[0], cell[1], cell[2]);
        if (voxel != PELT_NONE)
            begin(s, lane, voxel, 0), *any = true;
        axis = next[0] <= next[1] && next[0] <= next[2] ? 0 : next[1] <= next[2] ? 1 : 2;
        if (!(next[axis] < part[1]))
            return;
        cell[axis] += segment->b[axis] > segment->a[axis] ? 1u : UINT32_MAX;
    }
}

typedef struct nearby {
    search *s;
    uint32_t lane;
    bool *any;
} nearby;

static pelt_result begin_near(void *user, uint32_t voxel, float distance) {
    const nearby *n = user;
    begin(n->s, n->lane, voxel, distance);
    *n->any = true;
    return PELT_OK;
}

/* Starts at the voxels on the bone; for a bone that lies wholly outside, at the voxels nearest to it. */
static pelt_result begin_target(search *s, uint32_t lane, uint32_t target) {
    const geodesic *g = s->g;
    bool any = false;
    nearby near = {s, lane, &any};
    float mosts[] = {PX_BIND_OUTSIDE * g->volume->diagonal, INFINITY};
    for (uint32_t k = g->firsts[target]; k < g->firsts[target + 1]; k++)
        pass_through(s, lane, &g->bones->segments[k], &any);
    for (size_t m = 0; m < PX_COUNT(mosts) && !any; m++)
        for (uint32_t k = g->firsts[target]; k < g->firsts[target + 1]; k++)
            PX_TRY(px_bind_near_segment(g->volume, &g->bones->segments[k], mosts[m], begin_near, &near));
    return PELT_OK;
}

/* ---- Targets ------------------------------------------------------------------------------------------------- */

static bool is_active(const geodesic *g, size_t target) {
    return g->firsts[target + 1] > g->firsts[target] &&
           g->subject->idle[g->subject->targets[target]] == PELT_BIND_ACTIVE;
}

/* distances [voxel], `stride` apart; NULL: the bone reaches nothing. */
static pelt_result set_values(const geodesic *g, size_t target, const float *distances, size_t stride) {
    px_bind_sample(&g->sampler, (uint32_t)target, distances, stride, g->fields->values);
    return distances ? px_bind_keep_field(g->context, g->fields, (uint32_t)target, distances, stride, NULL,
                                          g->volume->voxels.count)
                     : PELT_OK;
}

/* Up to LANES targets at once. */
static pelt_result paper_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const geodesic *g = user;
    const px_voxels *voxels = &g->volume->voxels;
    const uint32_t *size = voxels->grid.size;
    search s = {.g = g, .distances = PX_ALLOC(g->context, lanes, voxels->count)};
    s.nearer = PX_ALLOC(g->context, uint8_t, px_mul_size(size[1], size[2]) + 1);
    s.waiting = PX_ALLOC(g->context, uint32_t, size[2] + 1); /* + 1: as in run_search */
    pelt_result result = s.distances && s.nearer && s.waiting ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t v = 0; result == PELT_OK && v < voxels->count; v++)
        for (uint32_t n = 0; n < LANES; n++)
            s.distances[v][n] = INFINITY;
    for (uint32_t n = 0; result == PELT_OK && n < count; n++)
        if (is_active(g, first + n))
            result = begin_target(&s, n, (uint32_t)first + n);
    if (result == PELT_OK)
        result = run_search(&s);
    for (uint32_t n = 0; result == PELT_OK && n < count; n++)
        result = set_values(g, first + n, is_active(g, first + n) ? (const float *)s.distances + n : NULL, LANES);
    px_free(g->context, s.distances);
    px_free(g->context, s.nearer);
    px_free(g->context, s.waiting);
    return result;
}

static pelt_result run_wave(const geodesic *g, uint32_t target, px_bind_wave *wave) {
    uint32_t first = g->firsts[target], count = g->firsts[target + 1] - first;
    bool seeded;
    px_bind_wave_reset(wave);
    PX_TRY(px_bind_wave_start(wave, first, count, PX_BIND_OUTSIDE * g->volume->diagonal, &seeded));
    if (!seeded)
        PX_TRY(px_bind_wave_start(wave, first, count, INFINITY, &seeded));
    return px_bind_wave_run(wave);
}

static pelt_result isotropic_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const geodesic *g = user;
    px_bind_wave wave;
    pelt_result result = px_bind_wave_make(g->context, g->volume, g->bones->segments, NULL, &wave);
    wave.crossings = &g->crossings;
    for (size_t t = first; t < first + count && result == PELT_OK; t++) {
        if (is_active(g, t))
            result = run_wave(g, (uint32_t)t, &wave);
        if (result == PELT_OK)
            result = set_values(g, t, is_active(g, t) ? wave.distances : NULL, 1);
    }
    px_bind_wave_free(&wave);
    return result;
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

/* Bridges, places of the vertices and first segments of the targets. */
static pelt_result prepare(px_arena *arena, geodesic *g, const px_bind_bridges *bridges) {
    uint32_t targets = g->subject->target_count;
    PX_TRY(px_bind_crossings_make(arena, g->volume, bridges, &g->crossings));
    PX_TRY(px_bind_sampler_make(g->context, arena, g->subject, g->volume, PELT_BIND_GEODESIC, &g->sampler));
    g->firsts = PX_NEW(arena, uint32_t, (size_t)targets + 1);
    if (!g->firsts)
        return PELT_ERROR_MEMORY;
    for (uint32_t s = 0; s < g->bones->segment_count; s++)
        g->firsts[g->bones->segments[s].target + 1]++;
    for (uint32_t t = 0; t < targets; t++)
        g->firsts[t + 1] += g->firsts[t];
    return PELT_OK;
}

static pelt_result run(px_arena *arena, geodesic *g, const px_bind_bridges *bridges, uint32_t distance) {
    uint32_t targets = g->subject->target_count;
    PX_TRY(prepare(arena, g, bridges));
    if (distance == PELT_BIND_DISTANCE_PAPER)
        return px_parallel(g->context, "distances", targets, LANES, paper_block, g);
    return px_parallel(g->context, "distances", targets, 1, isotropic_block, g);
}

pelt_result px_bind_geodesic(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                             const px_bind_bones *bones, const px_bind_bridges *bridges, uint32_t distance,
                             px_bind_fields *fields) {
    geodesic g = {.context = context, .subject = subject, .volume = volume, .bones = bones, .fields = fields};
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    pelt_result result = run(arena, &g, bridges, distance);
    px_arena_destroy(arena);
    return result;
}

pelt_result px_bind_geodesic_target(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                                    const px_bind_bones *bones, const px_bind_bridges *bridges, uint32_t target,
                                    float *distances) {
    geodesic g = {.context = context, .subject = subject, .volume = volume, .bones = bones};
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_bind_wave wave = {0};
    pelt_result result = prepare(arena, &g, bridges);
    bool reaches = result == PELT_OK && is_active(&g, target);
    if (reaches) {
        result = px_bind_wave_make(context, volume, bones->segments, NULL, &wave);
        wave.crossings = &g.crossings;
        if (result == PELT_OK)
            result = run_wave(&g, target, &wave);
        px_bind_sampler one = g.sampler;
        one.target_count = 1;
        if (result == PELT_OK)
            px_bind_sample(&one, 0, wave.distances, 1, distances);
        px_bind_wave_free(&wave);
    }
    for (size_t i = 0; result == PELT_OK && !reaches && i < subject->classes.count; i++)
        distances[i] = INFINITY;
    px_arena_destroy(arena);
    return result;
}
