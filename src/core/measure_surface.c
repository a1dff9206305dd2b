/* Distance between two deforming surfaces. Definitions in pelt/measure.h.
 *
 * Samples are distributed by area: sample s of S lies on the triangle where the cumulative area, in triangle order,
 * reaches (s + ½) / S of the total, at barycentric coordinates of a low-discrepancy sequence (R2, Roberts 2018). Each
 * frame has its own partial sums, added in order, so that the result does not depend on the number of threads. */
#include "core/ball.h"
#include "core/classes.h"
#include "core/surface.h"

#include <math.h>

#define DEFAULT_SAMPLES 20000u

/* A sample: a fixed barycentric position on a triangle. */
typedef struct place {
    uint32_t corners[3]; /* points */
    float shares[3];
} place;

typedef struct side {
    const pelt_clip *clip;
    uint32_t triangle_count;
    uint32_t *triangles; /* [triangle][3] points */
    place *places;       /* [sample] */
    uint32_t corner_count;
    uint32_t *corners; /* points of triangles, no more than samples */
} side;

typedef struct frame_sums {
    double squares; /* both ways, all samples */
    double largest; /* distance */
} frame_sums;

typedef struct comparison {
    pelt_context *context;
    uint32_t sample_count;
    side sides[2];
    frame_sums *frames; /* [frame] */
} comparison;

/* ---- Places on a surface ---------------------------------------------------------------------------------- */

static double area_of(const float *positions, const uint32_t corners[3]) {
    double u[3], v[3];
    for (int c = 0; c < 3; c++) {
        u[c] = (double)positions[3 * (size_t)corners[1] + c] - (double)positions[3 * (size_t)corners[0] + c];
        v[c] = (double)positions[3 * (size_t)corners[2] + c] - (double)positions[3 * (size_t)corners[0] + c];
    }
    double x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2], z = u[0] * v[1] - u[1] * v[0];
    return sqrt(x * x + y * y + z * z) / 2;
}

static void spread(side *s, uint32_t count, const float *positions) {
    double total = 0, before = 0, u = 0.5, v = 0.5;
    for (size_t t = 0; t < s->triangle_count; t++)
        total += area_of(positions, s->triangles + 3 * t);
    size_t t = 0;
    double here = area_of(positions, s->triangles);
    for (uint32_t n = 0; n < count; n++) {
        double wanted = total * (n + 0.5) / count;
        while (before + here < wanted && t + 1 < s->triangle_count) {
            before += here;
            here = area_of(positions, s->triangles + 3 * ++t);
        }
        u += 0.7548776662466927, v += 0.5698402909980532;
        u -= floor(u), v -= floor(v);
        bool outside = u + v > 1; /* reflect the other half of the parallelogram */
        float b = (float)(outside ? 1 - u : u), c = (float)(outside ? 1 - v : v);
        s->places[n] = (place){.shares = {1 - b - c, b, c}};
        memcpy(s->places[n].corners, s->triangles + 3 * t, sizeof s->places[n].corners);
    }
}

/* Lists the points that triangles use; if there are more than `most`, every second, third … */
static pelt_result list_corners(side *s, px_arena *arena, uint32_t most) {
    uint8_t *used = PX_NEW(arena, uint8_t, s->clip->point_count);
    s->corners = PX_NEW(arena, uint32_t, most);
    if (!used || !s->corners)
        return PELT_ERROR_MEMORY;
    uint32_t count = 0, number = 0;
    for (size_t e = 0; e < 3 * (size_t)s->triangle_count; e++)
        used[s->triangles[e]] = 1;
    for (uint32_t p = 0; p < s->clip->point_count; p++)
        count += used[p];
    uint32_t step = (count + most - 1) / most;
    for (uint32_t p = 0; p < s->clip->point_count; p++)
        if (used[p] && number++ % step == 0)
            s->corners[s->corner_count++] = p;
    return PELT_OK;
}

static pelt_result prepare(comparison *c, px_arena *arena, const pelt_mesh *mesh, side *s, const float *first) {
    s->triangle_count = mesh->triangle_count;
    s->triangles = px_class_triangles(arena, mesh, &mesh->points);
    s->places = PX_NEW(arena, place, c->sample_count);
    if (!s->triangles || !s->places)
        return PELT_ERROR_MEMORY;
    spread(s, c->sample_count, first);
    return list_corners(s, arena, c->sample_count);
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

static pelt_result read_frame(const comparison *c, const side *s, uint32_t k, float *out) {
    PX_TRY(pelt_clip_read(c->context, s->clip, k, 0, s->clip->point_count, out));
    px_clip_release(s->clip, s->clip->point_count);
    for (size_t e = 0; e < 3 * (size_t)s->clip->point_count; e++)
        if (!isfinite(out[e]))
            return px_fail(c->context, PELT_ERROR_INPUT, "clip '%s' frame %u point %zu: its position is not finite",
                           s->clip->name, k, e / 3);
    return PELT_OK;
}

/* One-sided distances: from the samples and corners of one surface to the other surface. */
static void measure_way(const comparison *c, const side *from, const float *positions, const px_surface *to,
                        frame_sums *sums) {
    px_surface_point nearest;
    for (uint32_t n = 0; n < c->sample_count; n++) {
        const place *at = &from->places[n];
        double p[3] = {0, 0, 0};
        for (int e = 0; e < 9; e++)
            p[e % 3] += (double)at->shares[e / 3] * (double)positions[3 * (size_t)at->corners[e / 3] + e % 3];
        px_surface_nearest(to, p, INFINITY, NULL, NULL, &nearest);
        sums->squares += nearest.distance * nearest.distance;
        sums->largest = px_fmax(sums->largest, nearest.distance);
    }
    for (uint32_t n = 0; n < from->corner_count; n++) {
        const float *corner = positions + 3 * (size_t)from->corners[n];
        px_surface_nearest(to, (double[3]){(double)corner[0], (double)corner[1], (double)corner[2]}, INFINITY, NULL,
                           NULL, &nearest);
        sums->largest = px_fmax(sums->largest, nearest.distance);
    }
}

static pelt_result measure_frame(comparison *c, uint32_t k, px_arena *arena) {
    float *positions[2];
    px_surface surfaces[2];
    for (int s = 0; s < 2; s++) {
        const side *at = &c->sides[s];
        if (!(positions[s] = PX_NEW(arena, float, 3 * (size_t)at->clip->point_count)))
            return PELT_ERROR_MEMORY;
        PX_TRY(read_frame(c, at, k, positions[s]));
        PX_TRY(px_surface_make(arena, positions[s], at->triangles, at->triangle_count, &surfaces[s]));
    }
    for (int s = 0; s < 2; s++)
        measure_way(c, &c->sides[s], positions[s], &surfaces[!s], &c->frames[k]);
    return PELT_OK;
}

static pelt_result frame_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    comparison *c = user;
    for (size_t k = first; k < first + count; k++) {
        px_arena *arena = px_arena_create(c->context);
        if (!arena)
            return PELT_ERROR_MEMORY;
        pelt_result result = measure_frame(c, (uint32_t)k, arena);
        px_arena_destroy(arena);
        PX_TRY(result);
    }
    return PELT_OK;
}

/* ---- All of it -------------------------------------------------------------------------------------------- */

static pelt_result check(pelt_context *context, const pelt_mesh *mesh, const pelt_clip *clip) {
    if (mesh->triangle_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "a mesh without triangles has no surface to compare");
    if (mesh->points.count != clip->point_count)
        return px_fail(context, PELT_ERROR_INPUT, "the mesh has %u points, clip '%s' has %u", mesh->points.count,
                       clip->name, clip->point_count);
    return PELT_OK;
}

static pelt_result compare(comparison *c, px_arena *arena, const pelt_mesh *const meshes[2],
                           pelt_surface_difference *out) {
    uint32_t frame_count = c->sides[0].clip->frame_count;
    c->frames = PX_NEW(arena, frame_sums, frame_count);
    if (!c->frames)
        return PELT_ERROR_MEMORY;
    pelt_surface_difference d = {.frame_count = frame_count, .sample_count = c->sample_count};
    for (int s = 0; s < 2; s++) {
        float *first = PX_NEW(arena, float, 3 * (size_t)meshes[s]->points.count);
        if (!first)
            return PELT_ERROR_MEMORY;
        PX_TRY(read_frame(c, &c->sides[s], 0, first));
        PX_TRY(prepare(c, arena, meshes[s], &c->sides[s], first));
    }
    PX_TRY(px_clip_ball(c->context, c->sides[0].clip, &d.ball, NULL));
    PX_TRY(px_parallel(c->context, "measure", frame_count, 1, frame_block, c));
    double squares = 0, largest = 0;
    for (uint32_t k = 0; k < frame_count; k++) {
        squares += c->frames[k].squares;
        d.max_frame = c->frames[k].largest > largest ? k : d.max_frame;
        largest = px_fmax(largest, c->frames[k].largest);
    }
    d.error_rms = sqrt(squares / (2.0 * c->sample_count * frame_count)) / (2 * d.ball.radius);
    d.error_max = largest / (2 * d.ball.radius);
    *out = d;
    return PELT_OK;
}

pelt_result pelt_compare_surfaces(pelt_context *context, const pelt_mesh *mesh_a, const pelt_clip *a,
                                  const pelt_mesh *mesh_b, const pelt_clip *b, uint32_t sample_count,
                                  pelt_surface_difference *difference) {
    *difference = (pelt_surface_difference){0};
    PX_TRY(check(context, mesh_a, a));
    PX_TRY(check(context, mesh_b, b));
    if (a->frame_count != b->frame_count || a->frame_count == 0)
        return px_fail(context, PELT_ERROR_INPUT,
                       "clip '%s' has %u frames and clip '%s' has %u; surfaces are compared frame by frame", a->name,
                       a->frame_count, b->name, b->frame_count);
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    comparison c = {.context = context, .sample_count = sample_count ? sample_count : DEFAULT_SAMPLES};
    c.sides[0].clip = a;
    c.sides[1].clip = b;
    pelt_result result = compare(&c, arena, (const pelt_mesh *const[2]){mesh_a, mesh_b}, difference);
    px_arena_destroy(arena);
    return result;
}
