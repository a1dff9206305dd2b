/* Light at every vertex in every frame: rays against the posed triangles.
 *
 * All vertices and frames use the same directions: Fibonacci points on a sphere. Colours then change only where
 * something moves, not because a hemisphere of directions turns with the normal, so A has a low rank. The cost: shadows
 * look like those of many small lamps instead of noise. */
#include "core/math3.h"
#include "core/mesh.h"
#include "core/surface.h"
#include "light/light.h"

#define BLOCK      64u
#define RAY_OFFSET 1e-4  /* fraction of the diagonal: rays start this far above the surface */
#define MIN_COSINE 0.02f /* rays at a flatter angle would graze the triangles around the vertex */
#define DARK_MEAN  0.02  /* parts with a lower mean light may have inverted triangles */
#define FLIP_RATIO 10.0  /* light the back side instead if it has this many times as much light */

typedef struct frame_work {
    px_light *light;
    const px_surface *surface;
    const float *positions, *normals; /* [vertex][3] */
    const float *directions;          /* [direction][3] */
    const float *sides;               /* [class] 1: front; −1: the back side of triangles is lit */
    float diagonal;
    double *out; /* [class][channel] */
} frame_work;

static void make_directions(uint32_t count, float *out) {
    const double golden = 3.14159265358979323846 * (3 - sqrt(5));
    for (uint32_t n = 0; n < count; n++) {
        double y = 1 - (2.0 * n + 1) / count, radius = sqrt(1 - y * y);
        out[3 * (size_t)n] = (float)(radius * cos(golden * n));
        out[3 * (size_t)n + 1] = (float)y;
        out[3 * (size_t)n + 2] = (float)(radius * sin(golden * n));
    }
}

/* Radiance from a direction. */
static double lamp(const pelt_light_desc *desc, const float way[3], uint32_t channel) {
    double up = 0.5 + 0.5 * (double)way[1];
    return desc->kind == PELT_LIGHT_AMBIENT ? 1
                                            : desc->ground[channel] + up * (desc->sky[channel] - desc->ground[channel]);
}

static void light_class(const frame_work *w, size_t u) {
    const px_light *l = w->light;
    size_t vertex = l->model->mesh.weld.first[u];
    const float *p = w->positions + 3 * vertex, *outward = w->normals + 3 * vertex;
    const float normal[3] = {w->sides[u] * outward[0], w->sides[u] * outward[1], w->sides[u] * outward[2]};
    float from[3], far = l->desc.reach > 0 ? (float)l->desc.reach * w->diagonal : INFINITY;
    double all = 0, sums[3] = {0};
    for (int c = 0; c < 3; c++)
        from[c] = p[c] + (float)RAY_OFFSET * w->diagonal * normal[c];
    for (uint32_t n = 0; n < l->desc.directions; n++) {
        const float *way = w->directions + 3 * (size_t)n;
        float cosine = px_dot3(normal, way);
        if (!(cosine > MIN_COSINE))
            continue;
        all += (double)cosine;
        if (!px_surface_blocks(w->surface, from, way, far))
            for (uint32_t c = 0; c < l->channel_count; c++)
                sums[c] += (double)cosine * lamp(&l->desc, way, c);
    }
    for (uint32_t c = 0; c < l->channel_count; c++)
        w->out[u * l->channel_count + c] = all > 0 ? sums[c] / all : 0;
}

static pelt_result light_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    for (size_t u = first; u < first + count; u++)
        light_class(user, u);
    return PELT_OK;
}

/* Reads the vertices of one frame: out [vertex][3]. `points`: scratch. */
static pelt_result read_frame(px_light *l, const pelt_clip *clip, uint32_t frame, float *points, float *out) {
    const pelt_mesh *mesh = &l->model->mesh;
    PX_TRY(pelt_clip_read(l->context, clip, frame, 0, clip->point_count, points));
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        const float *p = points + 3 * (size_t)pelt_vertex_class(&mesh->points, i);
        for (size_t c = 0; c < 3; c++) {
            if (!isfinite(p[c]))
                return px_fail(l->context, PELT_ERROR_INPUT,
                               "motion '%s', frame %u: vertex %zu is not at a finite place", clip->name, frame, i);
            out[3 * i + c] = p[c];
        }
    }
    return PELT_OK;
}

static pelt_result light_frame(frame_work *w, float *normals) {
    px_light *l = w->light;
    const pelt_mesh *mesh = &l->model->mesh;
    px_arena *arena = px_arena_create(l->context);
    px_surface surface;
    float low[3], high[3];
    pelt_result result = arena ? PELT_OK : PELT_ERROR_MEMORY;
    w->diagonal = (float)px_box(w->positions, mesh->vertex_count, low, high);
    if (result == PELT_OK)
        result = pelt_mesh_normals(l->context, mesh, w->positions, normals);
    if (result == PELT_OK)
        result = px_surface_make(arena, w->positions, mesh->triangles, mesh->triangle_count, &surface);
    w->normals = normals;
    w->surface = &surface;
    if (result == PELT_OK)
        result = px_parallel(l->context, NULL, mesh->weld.count, BLOCK, light_block, w);
    px_arena_destroy(arena);
    return result;
}

/* Mean light of each part, over the classes whose first vertex is in it. */
static void mean_by_part(const px_light *l, const frame_work *w, double *means) {
    const pelt_mesh *mesh = &l->model->mesh;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        double sum = 0;
        size_t count = 0;
        for (size_t u = 0; u < mesh->weld.count; u++)
            if (mesh->weld.first[u] >= part->first_vertex &&
                mesh->weld.first[u] - part->first_vertex < part->vertex_count) {
                for (uint32_t c = 0; c < l->channel_count; c++)
                    sum += w->out[u * l->channel_count + c];
                count += l->channel_count;
            }
        means[p] = count ? sum / (double)count : 1;
    }
}

/* Triangles of mirrored rigs and of inverted files face away from the light: such a part is all dark, while its back
 * side is lit. Then the back side is used. `w` holds the first frame; its output is scratch. */
static pelt_result choose_sides(frame_work *w, float *normals, float *sides) {
    px_light *l = w->light;
    const pelt_mesh *mesh = &l->model->mesh;
    double *means = PX_NEW(l->arena, double, mesh->part_count), *others = PX_NEW(l->arena, double, mesh->part_count);
    bool any = false;
    if (!means || !others)
        return PELT_ERROR_MEMORY;
    for (size_t u = 0; u < mesh->weld.count; u++)
        sides[u] = 1;
    PX_TRY(light_frame(w, normals));
    mean_by_part(l, w, means);
    for (uint32_t p = 0; p < mesh->part_count; p++)
        any |= means[p] < DARK_MEAN;
    if (!any)
        return PELT_OK;
    for (size_t u = 0; u < mesh->weld.count; u++)
        sides[u] = -1;
    PX_TRY(light_frame(w, normals));
    mean_by_part(l, w, others);
    for (size_t u = 0; u < mesh->weld.count; u++)
        sides[u] = 1;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (!(means[p] < DARK_MEAN && others[p] > FLIP_RATIO * means[p] && others[p] > DARK_MEAN))
            continue;
        px_log(l->context, PELT_LOG_WARNING, "part '%s' is inside out: the other side of its triangles is lit",
               part->name);
        for (size_t u = 0; u < mesh->weld.count; u++)
            if (mesh->weld.first[u] >= part->first_vertex &&
                mesh->weld.first[u] - part->first_vertex < part->vertex_count)
                sides[u] = -1;
    }
    return PELT_OK;
}

pelt_result px_light_bake(px_light *l) {
    const pelt_mesh *mesh = &l->model->mesh;
    float *points = PX_NEW(l->arena, float, 3 * (size_t)mesh->points.count);
    float *positions = PX_NEW(l->arena, float, 3 * (size_t)mesh->vertex_count);
    float *normals = PX_NEW(l->arena, float, 3 * (size_t)mesh->vertex_count);
    float *directions = PX_NEW(l->arena, float, 3 * (size_t)l->desc.directions);
    float *sides = PX_NEW(l->arena, float, mesh->weld.count);
    l->colors = PX_NEW(l->arena, double, px_mul_size(l->frame_count, l->column_count));
    if (!points || !positions || !normals || !directions || !sides || !l->colors)
        return PELT_ERROR_MEMORY;
    make_directions(l->desc.directions, directions);
    for (uint32_t m = 0, k = 0; m < l->motion_count; m++)
        for (uint32_t f = 0; f < l->clips[m].frame_count; f++, k++) {
            frame_work w = {.light = l, .positions = positions, .directions = directions, .sides = sides};
            w.out = l->colors + k * l->column_count;
            PX_TRY(px_progress(l->context, "light", k, l->frame_count));
            PX_TRY(read_frame(l, &l->clips[m], f, points, positions));
            if (k == 0)
                PX_TRY(choose_sides(&w, normals, sides));
            PX_TRY(light_frame(&w, normals));
        }
    l->ray_count = (uint64_t)l->frame_count * mesh->weld.count * (l->desc.directions / 2);
    return PELT_OK;
}
