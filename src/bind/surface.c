/* Weights by heat on the surface, for comparison: Baran and Popović, "Automatic rigging and animation of 3D characters"
 * (2007), section 4: (−Δ + H) w = H p.
 *
 *   Δ  cotangent Laplacian of the welded mesh; negative cotangents are 0, so that weights stay in 0 to 1
 *   H  area · c / d², d the distance of the nearest bone, where the straight line to it stays inside; else 0
 *   p  1 where the bone is the nearest
 *
 * Shells from which no bone is visible have no unique solution; a small H with the nearest bone decides there. */
#include "bind/heat.h"
#include "core/mesh.h"

#include <math.h>

#define ANCHOR_WEIGHT 1.0f  /* c */
#define BLIND_WEIGHT  1e-4f /* of H where the bone is not visible */
#define MIN_DISTANCE  0.5f  /* in cells: lower bound of d */
#define TOLERANCE     1e-9
#define MAX_STEPS     2000u

/* The nearest bone of a class: label and H, without the area. */
static void find_nearest(const px_heat *h, const px_bind_volume *volume, const px_bind_bones *bones, uint32_t i) {
    float p[3], nearest[3], foot[3] = {0, 0, 0}, least = INFINITY;
    px_bind_to_grid(&volume->voxels.grid, h->subject->positions + 3 * (size_t)i, p);
    for (uint32_t k = 0; k < bones->segment_count; k++) {
        float distance = px_bind_segment_distance(&bones->segments[k], volume->step, p, nearest);
        if (distance >= least)
            continue;
        least = distance;
        h->labels[i] = bones->segments[k].target;
        memcpy(foot, nearest, sizeof foot);
    }
    bool visible = px_bind_share_inside(volume, foot, p) == 1;
    least = px_fmaxf(least, MIN_DISTANCE);
    h->holds[i] = (visible ? 1 : BLIND_WEIGHT) * ANCHOR_WEIGHT / (least * least);
}

/* Half the cotangent of a triangle's angle at corner c goes to the opposite edge; a third of its area to each corner. */
static void add_triangle(const px_heat *h, const px_bind_volume *volume, const uint32_t corners[3], px_graph *graph,
                         float *areas) {
    for (int c = 0; c < 3; c++) {
        uint32_t a = corners[(c + 1) % 3], b = corners[(c + 2) % 3];
        double u[3], v[3], dot = 0, cross[3], area = 0;
        for (int k = 0; k < 3; k++) {
            double o = h->subject->positions[3 * (size_t)corners[c] + (size_t)k];
            u[k] = (h->subject->positions[3 * (size_t)a + (size_t)k] - o) / volume->voxels.grid.cell[0];
            v[k] = (h->subject->positions[3 * (size_t)b + (size_t)k] - o) / volume->voxels.grid.cell[0];
            dot += u[k] * v[k];
        }
        for (int k = 0; k < 3; k++) {
            cross[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
            area += cross[k] * cross[k];
        }
        area = sqrt(area);
        areas[corners[c]] += (float)(area / 6);
        float weight = area > 0 ? (float)px_fmax(0.5 * dot / area, 0) : 0;
        for (uint32_t side = 0; side < 2; side++) {
            uint32_t from = side ? b : a, to = side ? a : b;
            for (uint32_t e = graph->firsts[from]; e < graph->firsts[from + 1]; e++)
                graph->weights[e] += graph->to[e] == to ? weight : 0;
        }
    }
}

/* The graph of the mesh's edges, with cotangent weights, and H. */
static pelt_result make_level(px_heat *h, const px_bind_volume *volume, const px_bind_bones *bones) {
    const px_bind_subject *s = h->subject;
    px_heat_level *l = &h->levels[0];
    uint32_t count = s->classes.count;
    pelt_mesh rows = {.triangle_count = s->triangle_count, .triangles = s->triangles};
    px_neighbours edges;
    PX_TRY(px_neighbours_make(h->arena, &rows, &(pelt_vertex_classes){.count = count}, &edges));
    float *areas = PX_NEW(h->arena, float, count);
    l->graph = (px_graph){.count = count,
                          .firsts = PX_NEW(h->arena, uint32_t, (size_t)count + 1),
                          .to = edges.items,
                          .weights = PX_NEW(h->arena, float, edges.offsets[count])};
    h->holds = l->holds = PX_NEW(h->arena, float, count);
    h->labels = PX_NEW(h->arena, uint32_t, count);
    h->label_voxels = PX_NEW(h->arena, uint32_t, count);
    h->label_firsts = PX_NEW(h->arena, uint32_t, (size_t)s->target_count + 1);
    if (!areas || !l->graph.firsts || !l->graph.weights || !l->holds || !h->labels || !h->label_voxels ||
        !h->label_firsts)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i <= count; i++)
        l->graph.firsts[i] = (uint32_t)edges.offsets[i];
    for (size_t t = 0; t < s->triangle_count; t++)
        add_triangle(h, volume, s->triangles + 3 * t, &l->graph, areas);
    for (uint32_t i = 0; i < count; i++) {
        find_nearest(h, volume, bones, i);
        l->holds[i] *= px_fmaxf(areas[i], 1e-3f);
        for (uint32_t e = l->graph.firsts[i]; e < l->graph.firsts[i + 1]; e++)
            l->graph.weights[e] += 1e-6f; /* edges stay connections */
    }
    return px_heat_level_edges(h->arena, l);
}

static pelt_result run(px_heat *h, const px_bind_volume *volume, const px_bind_bones *bones) {
    px_heat_scratch s;
    uint32_t count = h->subject->classes.count, targets = h->subject->target_count;
    h->level_count = 1;
    PX_TRY(make_level(h, volume, bones));
    px_heat_sort_labels(h);
    PX_TRY(px_heat_scratch_make(h, h->arena, &s));
    for (uint32_t t = 0; t < targets; t++) {
        if (h->label_firsts[t + 1] == h->label_firsts[t])
            continue;
        memset(s.x[0], 0, count * sizeof(float));
        px_heat_gather(h, 0, t, 1, false, &s);
        px_heat_solve(&h->levels[0], 1, &s, s.x[0], TOLERANCE, MAX_STEPS);
        for (uint32_t i = 0; i < count; i++)
            h->fields->values[(size_t)i * targets + t] = px_fminf(px_fmaxf(s.x[0][i], 0), 1);
        PX_TRY(px_progress(h->context, "heat", t, targets));
    }
    return PELT_OK;
}

pelt_result px_bind_surface(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                            const px_bind_bones *bones, px_bind_fields *fields) {
    px_heat h = {.context = context, .subject = subject, .fields = fields, .arena = px_arena_create(context)};
    if (!h.arena)
        return PELT_ERROR_MEMORY;
    pelt_result result = run(&h, volume, bones);
    px_arena_destroy(h.arena);
    return result;
}
