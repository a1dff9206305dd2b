/* Closed surfaces of blended solids: surface nets on a sparse grid.
 *
 * A vertex stands in every cell whose corners disagree about inside and outside, at the mean of its edge crossings
 * and then pulled onto the surface; every grid edge that crosses the surface becomes a quad of the four cells around
 * it. Only blocks of cells near the surface are visited, each with the few segments that reach it, so that time and
 * memory grow with the surface and not with the volume.
 */
#include "build.h"

#include <string.h>

/* ---- The solid -------------------------------------------------------------------------------------------- */

void scene_solid_group(scene_solid *solid, double blend) {
    if (solid->group_count < SCENE_MAX_GROUPS)
        solid->blend[solid->group_count++] = blend;
}

void scene_solid_segment(scene_solid *solid, vec a, vec b, double radius_a, double radius_b) {
    if (solid->segment_count < SCENE_MAX_SEGMENTS)
        solid->segments[solid->segment_count++] =
            (scene_segment){a, b, radius_a, radius_b, solid->group_count ? solid->group_count - 1 : 0};
}

/* Catmull-Rom; the ends are continued straight. */
static vec curve_at(const vec *p, uint32_t count, uint32_t span, double u) {
    vec b = p[span], c = p[span + 1];
    vec a = span ? p[span - 1] : vec_sub(vec_scale(b, 2), c);
    vec d = span + 2 < count ? p[span + 2] : vec_sub(vec_scale(c, 2), b);
    vec tb = vec_scale(vec_sub(c, a), 0.5), tc = vec_scale(vec_sub(d, b), 0.5);
    double u2 = u * u, u3 = u2 * u;
    vec sum = vec_scale(b, 2 * u3 - 3 * u2 + 1);
    sum = vec_mad(sum, u3 - 2 * u2 + u, tb);
    sum = vec_mad(sum, 3 * u2 - 2 * u3, c);
    return vec_mad(sum, u3 - u2, tc);
}

void scene_solid_curve(scene_solid *solid, const vec *points, const double *radii, uint32_t count, uint32_t steps) {
    vec thickness[32];
    for (uint32_t p = 0; p < count && p < 32; p++)
        thickness[p] = (vec){radii[p], 0, 0};
    vec last = points[0];
    double last_radius = radii[0];
    for (uint32_t s = 0; s + 1 < count && s + 1 < 32; s++)
        for (uint32_t t = 1; t <= steps; t++) {
            vec next = curve_at(points, count, s, (double)t / steps);
            double radius = curve_at(thickness, count, s, (double)t / steps).x;
            scene_solid_segment(solid, last, next, last_radius, radius);
            last = next;
            last_radius = radius;
        }
}

/* The least of |p − c(h)| − r(h) over the spheres of a segment: convex in h, so its free minimum may be clamped. */
static double segment_distance(const scene_segment *s, vec p) {
    vec ab = vec_sub(s->b, s->a), ap = vec_sub(p, s->a);
    double length2 = vec_dot(ab, ab), grow = s->radius_b - s->radius_a, h = 0;
    if (length2 > 1e-24) {
        double along = vec_dot(ap, ab), across2 = vec_dot(ap, ap) - along * along / length2;
        double room2 = length2 - grow * grow;
        h = along / length2;
        if (room2 > 1e-24)
            h += sqrt(across2 > 0 ? across2 / length2 : 0) * grow / sqrt(room2);
        else
            h = grow > 0;
        h = scene_clamp(h, 0, 1);
    }
    vec off = vec_sub(ap, vec_scale(ab, h));
    return vec_length(off) - (s->radius_a + h * grow);
}

/* The smaller of two, rounded where they differ by less than k. */
static double blend_min(double a, double b, double k) {
    double h = k - fabs(a - b);
    return (a < b ? a : b) - (h > 0 ? h * h / (4 * k) : 0);
}

/* Of the `count` segments in `list` (ascending). */
static double distance_of(const scene_solid *solid, const uint16_t *list, uint32_t count, vec p) {
    double all = 1e30;
    for (uint32_t s = 0; s < count;) {
        uint32_t group = solid->segments[list[s]].group;
        double nearest = 1e30;
        for (; s < count && solid->segments[list[s]].group == group; s++) {
            double d = segment_distance(&solid->segments[list[s]], p);
            nearest = d < nearest ? d : nearest;
        }
        all = all > 1e29 ? nearest : blend_min(all, nearest, solid->blend[group]);
    }
    return all;
}

double scene_solid_distance(const scene_solid *solid, vec p) {
    uint16_t list[SCENE_MAX_SEGMENTS];
    for (uint32_t s = 0; s < solid->segment_count; s++)
        list[s] = (uint16_t)s;
    return distance_of(solid, list, solid->segment_count, p);
}

/* ---- The grid --------------------------------------------------------------------------------------------- */

#define BLOCK  4  /* cells along a block's edge */
#define REGION 32 /* cells along the edge of a region: blocks start from the segments that reach their region */
#define SIDE   (BLOCK + 1)

/* A pass over the grid. The first counts, the second fills arrays of that size. */
typedef struct walk {
    const scene_solid *solid;
    vec origin;
    double cell, blend; /* of a cell's edge; the widest */
    int32_t regions[3];
    uint32_t point_count, quad_count;
    bool fill;
    uint64_t *keys;     /* [slot] 1 + cell key, or 0 */
    uint32_t *slots;    /* [slot] point */
    size_t slot_mask;   /* number of slots − 1 */
    uint64_t *crossing; /* [quad] (corner key · 3 + axis) · 2 + whether outside comes first */
    float *positions, *normals;
} walk;

static uint64_t cell_key(int64_t x, int64_t y, int64_t z) {
    return (uint64_t)x | (uint64_t)y << 20 | (uint64_t)z << 40;
}

static size_t find_slot(const walk *w, uint64_t key) {
    size_t slot = (size_t)((key + 1) * 0x9E3779B97F4A7C15u >> 20) & w->slot_mask;
    while (w->keys[slot] && w->keys[slot] != key + 1)
        slot = (slot + 1) & w->slot_mask;
    return slot;
}

/* Segments that reach a part of the grid. */
typedef struct reach_list {
    uint32_t count;
    uint16_t segments[SCENE_MAX_SEGMENTS];
} reach_list;

typedef struct block {
    reach_list all, near_region, near;
    int32_t base[3]; /* its first cell */
    double values[SIDE][SIDE][SIDE];
} block;

static vec corner_at(const walk *w, const block *b, int x, int y, int z) {
    return (vec){w->origin.x + w->cell * (b->base[0] + x), w->origin.y + w->cell * (b->base[1] + y),
                 w->origin.z + w->cell * (b->base[2] + z)};
}

/* Chooses from `from` the segments that reach the `size`³ cells at b->base; false when the surface cannot be there. */
static bool choose_segments(const walk *w, const block *b, int size, const reach_list *from, reach_list *to) {
    const scene_solid *solid = w->solid;
    double distances[SCENE_MAX_SEGMENTS], reach = w->cell * (size * 0.8661 + 1), nearest = 1e30;
    vec center = vec_add(corner_at(w, b, 0, 0, 0), vec_scale((vec){1, 1, 1}, w->cell * size / 2));
    for (uint32_t s = 0; s < from->count; s++) {
        distances[s] = segment_distance(&solid->segments[from->segments[s]], center);
        nearest = distances[s] < nearest ? distances[s] : nearest;
    }
    if (nearest > reach + 2 * w->blend || nearest < -reach - 2 * w->blend)
        return false;
    to->count = 0;
    for (uint32_t s = 0; s < from->count; s++) /* 2 blends: bound of their sum over several groups */
        if (distances[s] <= nearest + 2 * reach + 2 * w->blend)
            to->segments[to->count++] = from->segments[s];
    return fabs(distance_of(solid, to->segments, to->count, center)) <= reach;
}

static vec gradient_at(const walk *w, const block *b, vec p) {
    static const double sign[4][3] = {{1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}, {1, 1, 1}};
    double step = w->cell * 0.1;
    vec sum = {0, 0, 0};
    for (int s = 0; s < 4; s++) {
        vec direction = {sign[s][0], sign[s][1], sign[s][2]};
        sum = vec_mad(sum, distance_of(w->solid, b->near.segments, b->near.count, vec_mad(p, step, direction)),
                      direction);
    }
    return vec_scale(sum, 1 / (4 * step));
}

/* The mean of a cell's edge crossings, projected to the surface within the neighbourhood of the cell. */
static void place_point(walk *w, const block *b, int x, int y, int z) {
    vec sum = {0, 0, 0};
    int crossings = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int e = 0; e < 4; e++) {
            int low[3] = {x, y, z}, high[3];
            low[(axis + 1) % 3] += e & 1;
            low[(axis + 2) % 3] += e >> 1;
            memcpy(high, low, sizeof high);
            high[axis]++;
            double d0 = b->values[low[2]][low[1]][low[0]], d1 = b->values[high[2]][high[1]][high[0]];
            if ((d0 < 0) == (d1 < 0))
                continue;
            sum = vec_add(sum, vec_mix(corner_at(w, b, low[0], low[1], low[2]),
                                       corner_at(w, b, high[0], high[1], high[2]), d0 / (d0 - d1)));
            crossings++;
        }
    vec p = vec_scale(sum, 1.0 / crossings);
    for (int round = 0; round < 2; round++) {
        vec g = gradient_at(w, b, p);
        double g2 = vec_dot(g, g), d = distance_of(w->solid, b->near.segments, b->near.count, p);
        if (g2 > 0.04) /* gradient too small near saddle points for a Newton step */
            p = vec_mad(p, -scene_clamp(d / g2, -w->cell / 2, w->cell / 2), g);
    }
    vec_store(w->positions + 3 * (size_t)w->point_count, p);
    vec_store(w->normals + 3 * (size_t)w->point_count, vec_unit(gradient_at(w, b, p)));
    size_t slot = find_slot(w, cell_key(b->base[0] + x, b->base[1] + y, b->base[2] + z));
    w->keys[slot] = 1 + cell_key(b->base[0] + x, b->base[1] + y, b->base[2] + z);
    w->slots[slot] = w->point_count;
}

static bool cell_crosses(const block *b, int x, int y, int z) {
    int inside = 0;
    for (int c = 0; c < 8; c++)
        inside += b->values[z + (c >> 2)][y + (c >> 1 & 1)][x + (c & 1)] < 0;
    return inside > 0 && inside < 8;
}

static void visit_cell(walk *w, const block *b, int x, int y, int z) {
    if (!cell_crosses(b, x, y, z))
        return;
    if (w->fill)
        place_point(w, b, x, y, z);
    w->point_count++;
    double d0 = b->values[z][y][x];
    for (int axis = 0; axis < 3; axis++) {
        double d1 = b->values[z + (axis == 2)][y + (axis == 1)][x + (axis == 0)];
        if ((d0 < 0) == (d1 < 0))
            continue;
        uint64_t key = cell_key(b->base[0] + x, b->base[1] + y, b->base[2] + z);
        if (w->fill)
            w->crossing[w->quad_count] = (key * 3 + (uint64_t)axis) * 2 + (d1 < 0);
        w->quad_count++;
    }
}

static void walk_block(walk *w, block *b) {
    if (!choose_segments(w, b, BLOCK, &b->near_region, &b->near))
        return;
    for (int e = 0; e < SIDE * SIDE * SIDE; e++) {
        int x = e % SIDE, y = e / SIDE % SIDE, z = e / (SIDE * SIDE);
        b->values[z][y][x] = distance_of(w->solid, b->near.segments, b->near.count, corner_at(w, b, x, y, z));
    }
    for (int e = 0; e < BLOCK * BLOCK * BLOCK; e++)
        visit_cell(w, b, e % BLOCK, e / BLOCK % BLOCK, e / (BLOCK * BLOCK));
}

static void walk_grid(walk *w, block *b) {
    const int side = REGION / BLOCK;
    w->point_count = w->quad_count = 0;
    b->all.count = w->solid->segment_count;
    for (uint32_t s = 0; s < b->all.count; s++)
        b->all.segments[s] = (uint16_t)s;
    for (int32_t r = 0; r < w->regions[0] * w->regions[1] * w->regions[2]; r++) {
        int32_t base[3] = {r % w->regions[0] * REGION, r / w->regions[0] % w->regions[1] * REGION,
                           r / (w->regions[0] * w->regions[1]) * REGION};
        memcpy(b->base, base, sizeof base);
        if (!choose_segments(w, b, REGION, &b->all, &b->near_region))
            continue;
        for (int e = 0; e < side * side * side; e++) {
            b->base[0] = base[0] + BLOCK * (e % side);
            b->base[1] = base[1] + BLOCK * (e / side % side);
            b->base[2] = base[2] + BLOCK * (e / (side * side));
            walk_block(w, b);
        }
    }
}

/* Lays a grid of this cell size around the solid, symmetric about x = 0 as most solids are. Parts thinner than the
 * grid can hold are fattened in `fat`. */
static void lay_grid(walk *w, const scene_solid *solid, scene_solid *fat, double cell) {
    *fat = *solid;
    vec low = {1e30, 1e30, 1e30}, high = {-1e30, -1e30, -1e30};
    for (uint32_t s = 0; s < fat->segment_count; s++) {
        scene_segment *g = &fat->segments[s];
        g->radius_a = fmax(g->radius_a, 0.9 * cell); /* a sphere this large always holds a grid corner */
        g->radius_b = fmax(g->radius_b, 0.9 * cell);
        double r = fmax(g->radius_a, g->radius_b);
        low = (vec){fmin(low.x, fmin(g->a.x, g->b.x) - r), fmin(low.y, fmin(g->a.y, g->b.y) - r),
                    fmin(low.z, fmin(g->a.z, g->b.z) - r)};
        high = (vec){fmax(high.x, fmax(g->a.x, g->b.x) + r), fmax(high.y, fmax(g->a.y, g->b.y) + r),
                     fmax(high.z, fmax(g->a.z, g->b.z) + r)};
    }
    w->blend = 0;
    for (uint32_t g = 0; g < fat->group_count; g++)
        w->blend = fmax(w->blend, fat->blend[g]);
    double margin = 2 * cell + w->blend;
    double size[3] = {high.x - low.x + 2 * margin, high.y - low.y + 2 * margin, high.z - low.z + 2 * margin};
    w->solid = fat;
    w->cell = cell;
    for (int c = 0; c < 3; c++)
        w->regions[c] = (int32_t)ceil(size[c] / (cell * REGION) + (c == 0));
    w->origin = (vec){0, low.y - margin, low.z - margin};
    w->origin.x = -cell * ceil((-(low.x - margin)) / cell) - cell / 2;
}

/* The cell size that gives about the wanted number of points. Points go with 1/cell² until the grid is so coarse that
 * parts are fattened: a guess by that law, halving the bracket where it fails. Large numbers are tried small. */
static double choose_cell(walk *w, const scene_solid *solid, scene_solid *fat, block *b, uint32_t wanted) {
    double cell = 0.2, fine = 0, coarse = 0, best = cell, best_miss = 1e30;
    double trial = wanted < 20000 ? wanted : 20000;
    for (int round = 0; round < 16 && best_miss > 0.05; round++) {
        lay_grid(w, solid, fat, cell);
        walk_grid(w, b);
        double ratio = w->point_count / trial, miss = fabs(ratio - 1);
        if (miss < best_miss) {
            best_miss = miss;
            best = cell;
        }
        if (ratio > 1)
            fine = cell;
        else
            coarse = cell;
        cell *= scene_clamp(sqrt(ratio), 0.25, 4);
        if (fine > 0 && coarse > 0 && !(cell > fine && cell < coarse))
            cell = sqrt(fine * coarse);
    }
    return best * sqrt(trial / wanted);
}

/* ---- The surface ------------------------------------------------------------------------------------------ */

static vec point_at(const scene_surface *surface, uint32_t i) {
    return vec_load(surface->positions + 3 * (size_t)i);
}

/* The quads around the grid edges that the surface crosses. */
static void make_quads(const walk *w, scene_surface *surface) {
    for (uint32_t q = 0; q < w->quad_count; q++) {
        uint64_t code = w->crossing[q], key = code / 6;
        int axis = (int)(code / 2 % 3);
        bool flip = code & 1;
        uint64_t u = (uint64_t)1 << 20 * ((axis + 1) % 3), v = (uint64_t)1 << 20 * ((axis + 2) % 3);
        uint64_t cells[4] = {key - u - v, key - v, key, key - u};
        uint32_t corner[4];
        for (int c = 0; c < 4; c++)
            corner[c] = w->slots[find_slot(w, cells[flip ? 3 - c : c])];
        vec d0 = vec_sub(point_at(surface, corner[0]), point_at(surface, corner[2]));
        vec d1 = vec_sub(point_at(surface, corner[1]), point_at(surface, corner[3]));
        int first = vec_dot(d1, d1) < vec_dot(d0, d0);
        for (int c = 0; c < 4; c++)
            surface->quads[4 * (size_t)q + c] = corner[(c + first) % 4];
    }
}

static pelt_result fill_surface(pelt_context *context, pelt_model *memory, pelt_model *scratch, walk *w, block *b,
                                scene_surface *surface) {
    walk_grid(w, b);
    size_t slot_count = 16;
    while (slot_count < 2 * (size_t)w->point_count)
        slot_count *= 2;
    w->slot_mask = slot_count - 1;
    w->keys = SCENE_NEW(context, scratch, uint64_t, slot_count);
    w->slots = SCENE_NEW(context, scratch, uint32_t, slot_count);
    w->crossing = SCENE_NEW(context, scratch, uint64_t, w->quad_count);
    surface->positions = w->positions = SCENE_NEW(context, memory, float, 3 * (size_t)w->point_count);
    surface->normals = w->normals = SCENE_NEW(context, memory, float, 3 * (size_t)w->point_count);
    surface->quads = SCENE_NEW(context, memory, uint32_t, 4 * (size_t)w->quad_count);
    if (!w->keys || !w->slots || !w->crossing || !w->positions || !w->normals || !surface->quads)
        return PELT_ERROR_MEMORY;
    w->fill = true;
    walk_grid(w, b);
    surface->point_count = w->point_count;
    surface->quad_count = w->quad_count;
    make_quads(w, surface);
    return PELT_OK;
}

pelt_result scene_surface_make(pelt_context *context, pelt_model *memory, const scene_solid *solid,
                               uint32_t point_count, scene_surface *surface) {
    pelt_model *scratch;
    *surface = (scene_surface){0};
    SCENE_TRY(pelt_model_create(context, &scratch));
    walk w = {0};
    block *b = SCENE_NEW(context, scratch, block, 1);
    scene_solid *fat = SCENE_NEW(context, scratch, scene_solid, 1);
    pelt_result result = PELT_ERROR_MEMORY;
    if (b && fat) {
        lay_grid(&w, solid, fat, choose_cell(&w, solid, fat, b, point_count));
        result = fill_surface(context, memory, scratch, &w, b, surface);
    }
    pelt_model_destroy(scratch);
    if (result != PELT_OK)
        *surface = (scene_surface){0};
    return result;
}
