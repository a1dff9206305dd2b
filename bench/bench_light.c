/* Rays per CPU second, compared with a plain traversal of the tree ray by ray; and E_rms of the colours on a moving rig
 * by the rank of truncated SVD and of NMF. */
#include "core/math3.h"
#include "light/light.h"
#include "light/rays.h"
#include "scenes.h"

#include <pelt/pelt.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(pelt_context *context, pelt_result result) {
    if (result == PELT_OK)
        return;
    fprintf(stderr, "bench_light: %s\n", pelt_error_text(context));
    exit(1);
}

/* ---- Rays ------------------------------------------------------------------------------------------------- */

static bool enters(const px_surface_node *node, const float from[3], const float inverse[3]) {
    float in = 0, out = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        float a = (node->low[axis] - from[axis]) * inverse[axis], b = (node->high[axis] - from[axis]) * inverse[axis];
        float near = a < b ? a : b, beyond = a < b ? b : a;
        in = near > in ? near : in;
        out = beyond < out ? beyond : out;
    }
    return in <= out;
}

static bool meets(const px_surface *surface, uint32_t triangle, const float from[3], const float way[3]) {
    const float *corners[3];
    float u[3], v[3], w[3], p[3], q[3];
    for (int c = 0; c < 3; c++)
        corners[c] = surface->positions + 3 * (size_t)surface->triangles[3 * (size_t)triangle + (size_t)c];
    px_sub3(corners[1], corners[0], u);
    px_sub3(corners[2], corners[0], v);
    px_sub3(from, corners[0], w);
    px_cross3(way, v, p);
    px_cross3(w, u, q);
    float det = px_dot3(u, p);
    if (det == 0)
        return false;
    float x = px_dot3(w, p) / det, y = px_dot3(way, q) / det;
    return x >= 0 && y >= 0 && x + y <= 1 && px_dot3(v, q) / det > 0;
}

/* One ray after the other. */
static bool blocks(const px_surface *surface, const float from[3], const float way[3]) {
    uint32_t stack[64], depth = 0;
    float inverse[3]; /* finite: a ray along a side of a box is inside it, not 0 · ∞ */
    for (int c = 0; c < 3; c++)
        inverse[c] = way[c] == 0 ? 1e30f : 1 / way[c];
    stack[depth++] = 0;
    while (depth > 0) {
        uint32_t at = stack[--depth];
        const px_surface_node *node = &surface->nodes[at];
        if (!enters(node, from, inverse))
            continue;
        for (uint32_t n = node->first; n < node->first + node->count; n++)
            if (meets(surface, surface->order[n], from, way))
                return true;
        if (node->count == 0) {
            stack[depth++] = node->first;
            stack[depth++] = at + 1;
        }
    }
    return false;
}

/* Casts 128 directions from every vertex of a scene at rest, with both methods, each including its tree. */
static void print_rays(pelt_context *context, const char *name, uint32_t vertices) {
    enum { WAYS = 128 };
    scene_desc size = {.vertex_count = vertices, .frame_count = 2, .seed = 1};
    pelt_model *model;
    px_arena *arena = px_arena_create(context);
    must(context, scene_find(name)->make(context, &size, &model));
    must(context, pelt_model_weld(context, model));
    const pelt_mesh *mesh = &model->mesh;
    size_t count = mesh->weld.count, open[2] = {0}, cast = 0, differ = 0;
    float *normals = PX_NEW(arena, float, 3 * (size_t)mesh->vertex_count), *from = PX_NEW(arena, float, 3 * count);
    float *out = PX_NEW(arena, float, 3 * count);
    uint8_t *answers[2] = {PX_NEW(arena, uint8_t, count * WAYS), PX_NEW(arena, uint8_t, count * WAYS)};
    px_ray_own *own = PX_NEW(arena, px_ray_own, count);
    must(context, normals && from && out && answers[0] && answers[1] && own ? PELT_OK : PELT_ERROR_MEMORY);
    must(context, pelt_mesh_normals(context, mesh, NULL, normals));
    for (size_t e = 0; e < 3 * count; e++) {
        size_t at = 3 * (size_t)mesh->weld.first[e / 3] + e % 3;
        out[e] = normals[at];
        from[e] = mesh->positions[at] + 2e-4f * normals[at];
    }
    float ways[WAYS][3];
    for (uint32_t n = 0; n < WAYS; n++) {
        double y = 1 - (2.0 * n + 1) / WAYS, turn = 2.399963229728653 * n;
        ways[n][0] = (float)(sqrt(1 - y * y) * cos(turn));
        ways[n][1] = (float)y;
        ways[n][2] = (float)(sqrt(1 - y * y) * sin(turn));
    }
    clock_t start = clock();
    px_surface surface;
    must(context, px_surface_make(arena, mesh->positions, mesh->triangles, mesh->triangle_count, &surface));
    for (size_t u = 0; u < count; u++)
        for (size_t n = 0; n < WAYS; n++)
            if (px_dot3(out + 3 * u, ways[n]) > 0.02f) {
                answers[0][n * count + u] = !blocks(&surface, from + 3 * u, ways[n]);
                cast++;
            }
    clock_t middle = clock();
    px_ray_mesh rays;
    px_view view;
    must(context, px_ray_mesh_make(arena, mesh->positions, mesh->triangles, mesh->triangle_count, &rays));
    must(context, px_view_make(context, &rays, &view));
    for (uint32_t g = rays.group_count; g-- > 0;)
        for (uint32_t n = rays.groups[g].first; n < rays.groups[g].first + rays.groups[g].count; n++)
            for (uint32_t e = 0; e < 3 * rays.leaves[n].count; e++)
                own[mesh->weld.of[mesh->triangles[3 * (size_t)rays.leaves[n].triangles[e / 3] + e % 3]]].group = g;
    for (size_t u = 0; u < count; u++)
        px_ray_mesh_below(&rays, from + 3 * u, out + 3 * u, &own[u]);
    for (size_t n = 0; n < WAYS; n++) {
        px_ray_job job = {.mesh = &rays,
                          .view = &view,
                          .count = count,
                          .from = from,
                          .normals = out,
                          .own = own,
                          .way = {ways[n][0], ways[n][1], ways[n][2]},
                          .cosine = 0.02f,
                          .far = INFINITY,
                          .open = answers[1] + n * count};
        px_rays_of(pelt_simd_best())(&job);
    }
    clock_t end = clock();
    for (size_t e = 0; e < count * WAYS; e++) {
        open[0] += answers[0][e];
        open[1] += answers[1][e];
        differ += answers[0][e] != answers[1][e];
    }
    double plain = (double)cast * CLOCKS_PER_SEC / (double)(middle - start) / 1e6,
           fast = (double)cast * CLOCKS_PER_SEC / (double)(end - middle) / 1e6;
    printf("| %s | %zu | %u | %zu | %.3f | %.2f | %.2f | %.1f | %zu |\n", name, count, mesh->triangle_count, cast,
           1 - (double)open[1] / (double)cast, plain, fast, fast / plain, differ);
    fflush(stdout);
    px_view_free(context, &view);
    pelt_model_destroy(model);
    px_arena_destroy(arena);
}

/* ---- Patterns --------------------------------------------------------------------------------------------- */

#define RANKS 8
static const uint32_t ranks[RANKS] = {1, 2, 3, 4, 6, 8, 12, 16};

/* E_rms of truncated SVD and of NMF by rank, for one scene. */
static void measure_patterns(pelt_context *context, const char *name, uint32_t kind, double errors[RANKS][2]) {
    scene_desc size = {.vertex_count = 1500, .frame_count = 32, .seed = 1};
    px_light l = {.context = context, .desc = pelt_light_desc_default(), .arena = px_arena_create(context)};
    l.desc.kind = kind;
    l.desc.directions = 128;
    must(context, scene_find(name)->make(context, &size, &l.model));
    must(context, px_light_take(&l));
    for (size_t r = 0; r < RANKS; r++) {
        double *weights = PX_NEW(l.arena, double, (size_t)l.frame_count *ranks[r]);
        double *patterns = PX_NEW(l.arena, double, ranks[r] * l.column_count), bounds[PELT_LIGHT_RANK_MAX + 1];
        must(context, weights && patterns ? PELT_OK : PELT_ERROR_MEMORY);
        must(context,
             px_light_svd(context, l.colors, l.frame_count, l.column_count, ranks[r], weights, patterns, bounds));
        must(context, px_light_nmf(context, l.colors, l.frame_count, l.column_count, ranks[r], weights, patterns));
        must(context, px_light_error(context, l.colors, l.frame_count, l.column_count, ranks[r], weights, patterns,
                                     &errors[r][1], NULL));
        errors[r][0] = bounds[ranks[r]];
    }
    pelt_model_destroy(l.model);
    px_arena_destroy(l.arena);
}

static void print_patterns(pelt_context *context) {
    double errors[3][RANKS][2];
    measure_patterns(context, "troll", PELT_LIGHT_AMBIENT, errors[0]);
    measure_patterns(context, "creature", PELT_LIGHT_AMBIENT, errors[1]);
    measure_patterns(context, "production", PELT_LIGHT_SKY, errors[2]);
    printf("\n| patterns | troll, ambient: SVD | NMF | creature, ambient: SVD | NMF | production, sky: SVD | NMF |\n"
           "|---|---|---|---|---|---|---|\n");
    for (size_t r = 0; r < RANKS; r++) {
        printf("| %u |", ranks[r]);
        for (int n = 0; n < 3; n++)
            printf(" %.4f | %.4f |", errors[n][r][0], errors[n][r][1]);
        printf("\n");
    }
}

/* RMS errors of transfer vectors by rank, as a table of docs/light.md. */
static void print_transfer(pelt_context *context) {
    static const struct {
        const char *scene;
        uint32_t bands;
    } columns[] = {{"troll", 3}, {"troll", 4}, {"creature", 3}, {"production", 3}};
    double bounds[PX_COUNT(columns)][PELT_LIGHT_RANK_MAX + 1];
    printf("| patterns | troll, 9 | troll, 16 | creature, 9 | production, 9 |\n|---|---|---|---|---|\n| 0 |");
    for (size_t n = 0; n < PX_COUNT(columns); n++) {
        scene_desc size = {.vertex_count = 1500, .frame_count = 32, .seed = 1};
        px_light l = {.context = context, .desc = pelt_light_desc_default(), .arena = px_arena_create(context)};
        pelt_light_report report = {0};
        l.desc.kind = PELT_LIGHT_TRANSFER;
        l.desc.bands = columns[n].bands;
        l.desc.directions = 128;
        l.desc.bounce = 0.5;
        l.desc.floor = true;
        l.desc.transfer_rank = 16;
        must(context, scene_find(columns[n].scene)->make(context, &size, &l.model));
        must(context, px_light_take(&l));
        must(context, px_light_transfer(&l, &report));
        memcpy(bounds[n], report.transfer_bounds, sizeof bounds[n]);
        pelt_model_destroy(l.model);
        px_arena_destroy(l.arena);
    }
    for (size_t r = 0; r <= PX_COUNT(ranks); r++) {
        for (size_t n = 0; n < PX_COUNT(columns); n++)
            printf(" %.4f |", bounds[n][r ? ranks[r - 1] : 0]);
        printf("\n");
        if (r < PX_COUNT(ranks))
            printf("| %u |", ranks[r]);
    }
}

int main(int argument_count, char **arguments) {
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    if (argument_count > 1 && strcmp(arguments[1], "transfer") == 0) {
        print_transfer(context);
        pelt_context_destroy(context);
        return 0;
    }
    printf("Million rays per CPU second\n\n"
           "| scene | vertices | triangles | rays | blocked | ray by ray | now | ratio | differ |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
    print_rays(context, "troll", 6000);
    print_rays(context, "production", 6000);
    print_rays(context, "production", 60000);
    print_patterns(context);
    pelt_context_destroy(context);
    return 0;
}
