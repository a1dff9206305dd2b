/* Light at every vertex in every frame: rays against the posed triangles.
 *
 * All vertices and frames use the same directions: Fibonacci points on a sphere. Colours then change only where
 * something moves, not because a hemisphere of directions turns with the normal, so A has a low rank. The cost: shadows
 * look like those of many small lamps instead of noise. */
#include "core/math3.h"
#include "core/mesh.h"
#include "light/light.h"
#include "light/rays.h"

#define RECEIVER_BLOCK  64u
#define DIRECTION_BLOCK 8u
#define SIDE_DIRECTIONS 64u                /* to decide which side of triangles is lit */
#define HIT_BYTES       ((size_t)16 << 20) /* results of rays held at a time, about */
#define RAY_OFFSET      1e-4               /* fraction of the diagonal: rays start this far above the surface */
#define MIN_COSINE      0.02f              /* rays at a flatter angle would graze the triangles around the vertex */
#define FLOOR_SIDE      33u                /* points along a side of the floor */
#define FLOOR_SIZE      2.0  /* side of the floor, in diagonals of the mesh; beyond it there are no shadows */
#define DARK_MEAN       0.02 /* parts with a lower mean light may have inverted triangles */
#define FLIP_RATIO      10.0 /* light the back side instead if it has this many times as much light */

/* Directions, and the light that comes from each. */
typedef struct lamps {
    uint32_t count, channel_count;
    float *ways;      /* [direction][3] */
    double *radiance; /* [direction][channel] */
} lamps;

/* Where light is measured: the classes of mesh.weld, then the points of the floor. */
typedef struct receivers {
    size_t count, class_count;
    uint32_t *classes; /* [class_count] in the order of the tree: neighbours are near each other */
    float *from;       /* [receiver][3] origins of rays … */
    float *normals;    /* … and the side that is lit */
    px_ray_own *own;   /* [receiver] */
    double *weights;   /* [receiver] Σ cosines */
    double *sums;      /* [receiver][channel] Σ cosines · light */
} receivers;

typedef struct frame_work {
    px_light *light;
    px_ray_fn *trace;
    px_ray_mesh mesh;
    const lamps *lamps;
    receivers to;
    float *positions, *normals; /* [vertex][3] */
    float *sides;               /* [class] 1: front; −1: the back side of triangles is lit */
    float far;
    float floor;                       /* its height; −∞: none */
    float floor_corner[2], floor_cell; /* x and z of its first point, and distance of its points */
    double *direct;                    /* [class, then floor][channel] light before reflections, or NULL */
    double *open_floor;                /* [channel] light of a floor without shadows */
    /* Rays of some directions. */
    uint32_t first, chunk; /* directions */
    uint8_t *open;         /* [direction of the chunk][receiver] */
    px_ray_hit *hits;      /* the same, or NULL: of reflections */
} frame_work;

/* Fibonacci points. */
static pelt_result make_lamps(const px_light *l, uint32_t kind, uint32_t count, lamps *out) {
    const double golden = 3.14159265358979323846 * (3 - sqrt(5));
    *out = (lamps){.count = count, .channel_count = kind == PELT_LIGHT_AMBIENT ? 1 : l->channel_count};
    out->ways = PX_NEW(l->arena, float, 3 * (size_t)count);
    out->radiance = PX_NEW(l->arena, double, (size_t)out->channel_count *count);
    if (!out->ways || !out->radiance)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++) {
        double y = 1 - (2.0 * n + 1) / count, radius = sqrt(1 - y * y);
        float *way = out->ways + 3 * (size_t)n;
        way[0] = (float)(radius * px_cos(golden * n));
        way[1] = (float)y;
        way[2] = (float)(radius * px_sin(golden * n));
        double up = 0.5 + 0.5 * (double)way[1], *radiance = out->radiance + (size_t)n * out->channel_count;
        if (kind == PELT_LIGHT_TRANSFER)
            px_harmonics((const double[3]){(double)way[0], (double)way[1], (double)way[2]}, l->desc.bands, radiance);
        else
            for (uint32_t c = 0; c < out->channel_count; c++)
                radiance[c] =
                    kind == PELT_LIGHT_AMBIENT ? 1 : l->desc.ground[c] + up * (l->desc.sky[c] - l->desc.ground[c]);
    }
    return PELT_OK;
}

static pelt_result make_receivers(const px_light *l, receivers *r) {
    r->class_count = l->model->mesh.weld.count;
    r->count = r->class_count + (l->desc.floor ? FLOOR_SIDE * FLOOR_SIDE : 0);
    r->classes = PX_NEW(l->arena, uint32_t, r->class_count);
    r->from = PX_NEW(l->arena, float, 3 * r->count);
    r->normals = PX_NEW(l->arena, float, 3 * r->count);
    r->own = PX_NEW(l->arena, px_ray_own, r->count);
    r->weights = PX_NEW(l->arena, double, r->count);
    r->sums = PX_NEW(l->arena, double, px_mul_size(r->count, l->channel_count));
    return r->classes && r->from && r->normals && r->own && r->weights && r->sums ? PELT_OK : PELT_ERROR_MEMORY;
}

static void place_receivers(frame_work *w) {
    const pelt_mesh *mesh = &w->light->model->mesh;
    float low[3], high[3], diagonal = (float)px_box(w->positions, mesh->vertex_count, low, high);
    w->far = w->light->desc.reach > 0 ? (float)w->light->desc.reach * diagonal : INFINITY;
    for (size_t r = 0; r < w->to.class_count; r++) {
        uint32_t u = w->to.classes[r];
        size_t vertex = mesh->weld.first[u];
        for (size_t c = 0; c < 3; c++) {
            float normal = w->sides[u] * w->normals[3 * vertex + c];
            w->to.normals[3 * r + c] = normal;
            w->to.from[3 * r + c] = w->positions[3 * vertex + c] + (float)RAY_OFFSET * diagonal * normal;
        }
        px_ray_mesh_below(&w->mesh, w->to.from + 3 * r, w->to.normals + 3 * r, &w->to.own[r]);
    }
    w->floor_cell = (float)FLOOR_SIZE * diagonal / (FLOOR_SIDE - 1);
    for (int c = 0; c < 2; c++)
        w->floor_corner[c] = 0.5f * (low[2 * c] + high[2 * c]) - 0.5f * (float)FLOOR_SIZE * diagonal;
    for (size_t r = w->to.class_count; r < w->to.count; r++) {
        size_t at = r - w->to.class_count;
        float *from = w->to.from + 3 * r, *normal = w->to.normals + 3 * r;
        from[0] = w->floor_corner[0] + w->floor_cell * (float)(at % FLOOR_SIDE);
        from[1] = w->floor + (float)RAY_OFFSET * diagonal;
        from[2] = w->floor_corner[1] + w->floor_cell * (float)(at / FLOOR_SIDE);
        normal[0] = normal[2] = 0;
        normal[1] = 1;
        w->to.own[r] = (px_ray_own){PELT_NONE, 0};
    }
}

/* ---- Rays of a frame --------------------------------------------------------------------------------------- */

static pelt_result trace_directions(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const frame_work *w = user;
    px_view view;
    PX_TRY(px_view_make(w->light->context, &w->mesh, &view));
    px_ray_job job = {.mesh = &w->mesh,
                      .view = &view,
                      .count = w->to.count,
                      .from = w->to.from,
                      .normals = w->to.normals,
                      .own = w->to.own,
                      .cosine = MIN_COSINE,
                      .far = w->far};
    for (size_t n = first; n < first + count; n++) {
        memcpy(job.way, w->lamps->ways + 3 * (w->first + n), sizeof job.way);
        job.open = w->open + n * w->to.count;
        job.hits = w->hits ? w->hits + n * w->to.count : NULL;
        w->trace(&job);
    }
    px_view_free(w->light->context, &view);
    return PELT_OK;
}

/* Adds what the floor reflects to a ray from `from`: bilinear between its points, open light beyond them. */
static void add_floor(const frame_work *w, const float *from, const float *way, double share, double *sums) {
    size_t channels = w->lamps->channel_count;
    double t = ((double)w->floor - (double)from[1]) / (double)way[1], at[2];
    for (int c = 0; c < 2; c++)
        at[c] = ((double)from[2 * c] + t * (double)way[2 * c] - (double)w->floor_corner[c]) / (double)w->floor_cell;
    bool open = !(at[0] >= 0 && at[1] >= 0 && at[0] < FLOOR_SIDE - 1 && at[1] < FLOOR_SIDE - 1);
    size_t x = open ? 0 : (size_t)at[0], z = open ? 0 : (size_t)at[1];
    for (size_t n = 0; n < (open ? 0 : 4u); n++) {
        double dx = at[0] - (double)x, dz = at[1] - (double)z, part = (n & 1 ? dx : 1 - dx) * (n & 2 ? dz : 1 - dz);
        const double *light = w->direct + (w->to.class_count + (z + n / 2) * FLOOR_SIDE + x + n % 2) * channels;
        for (size_t c = 0; c < channels; c++)
            sums[c] += share * part * light[c];
    }
    for (size_t c = 0; open && c < channels; c++)
        sums[c] += share * w->open_floor[c];
}

/* Adds the directions of the chunk, in their order: direct light, or what the mesh and the floor reflect. */
static pelt_result add_light(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const frame_work *w = user;
    const receivers *to = &w->to;
    const pelt_mesh *mesh = &w->light->model->mesh;
    size_t channels = w->lamps->channel_count;
    for (size_t n = 0; n < w->chunk; n++) {
        const float *way = w->lamps->ways + 3 * (w->first + n);
        const double *radiance = w->lamps->radiance + (w->first + n) * channels;
        for (size_t r = first; r < first + count; r++) {
            float cosine = px_dot3(to->normals + 3 * r, way);
            double *sums = to->sums + r * channels;
            if (!(cosine > MIN_COSINE))
                continue;
            to->weights[r] += (double)cosine;
            bool open = w->open[n * to->count + r], floor = open && w->floor > -INFINITY && way[1] < 0;
            double share = (double)cosine * w->light->desc.bounce;
            if (!w->hits && open && !floor) {
                for (size_t c = 0; c < channels; c++)
                    sums[c] += (double)cosine * radiance[c];
            } else if (w->hits && floor) {
                add_floor(w, to->from + 3 * r, way, share, sums);
            } else if (w->hits && !open) {
                const px_ray_hit *hit = &w->hits[n * to->count + r];
                const uint32_t *corners = mesh->triangles + 3 * (size_t)hit->triangle;
                for (size_t e = 0; e < 3; e++) {
                    size_t u = mesh->weld.of[corners[e]];
                    if (hit->front == (w->sides[u] > 0))
                        for (size_t c = 0; c < channels; c++)
                            sums[c] += share * (double)hit->shares[e] * w->direct[u * channels + c];
                }
            }
        }
    }
    return PELT_OK;
}

/* Casts rays in all directions and adds their light to to.sums. */
static pelt_result cast(frame_work *w, bool reflected) {
    pelt_context *context = w->light->context;
    receivers *to = &w->to;
    size_t ray = sizeof *w->open + (reflected ? sizeof *w->hits : 0);
    uint32_t most = (uint32_t)px_min_size(w->lamps->count, px_max_size(HIT_BYTES / ray / to->count, DIRECTION_BLOCK));
    w->open = PX_ALLOC(context, uint8_t, px_mul_size(most, to->count));
    w->hits = reflected ? PX_ALLOC(context, px_ray_hit, px_mul_size(most, to->count)) : NULL;
    pelt_result result = w->open && (!reflected || w->hits) ? PELT_OK : PELT_ERROR_MEMORY;
    memset(to->weights, 0, to->count * sizeof *to->weights);
    memset(to->sums, 0, to->count * w->lamps->channel_count * sizeof *to->sums);
    for (w->first = 0; result == PELT_OK && w->first < w->lamps->count; w->first += w->chunk) {
        w->chunk = (uint32_t)px_min_size(most, w->lamps->count - w->first);
        result = px_parallel(context, NULL, w->chunk, DIRECTION_BLOCK, trace_directions, w);
        if (result == PELT_OK)
            result = px_parallel(context, NULL, to->count, RECEIVER_BLOCK, add_light, w);
    }
    px_free(context, w->open);
    px_free(context, w->hits);
    return result;
}

/* Adds the means over the rays of each receiver to out [class, then floor][channel]. */
static void add_means(const frame_work *w, size_t count, double *out) {
    size_t channels = w->lamps->channel_count;
    for (size_t r = 0; r < count; r++)
        for (size_t c = 0; c < channels && w->to.weights[r] > 0; c++) {
            size_t at = r < w->to.class_count ? w->to.classes[r] : r;
            out[at * channels + c] += w->to.sums[r * channels + c] / w->to.weights[r];
        }
}

/* Lights all classes: out [class][channel], zeros before. */
static pelt_result light_frame(frame_work *w, double *out) {
    size_t channels = w->lamps->channel_count;
    PX_TRY(cast(w, false));
    add_means(w, w->to.class_count, out);
    if (!(w->light->desc.bounce > 0) || !w->direct)
        return PELT_OK;
    memset(w->direct, 0, w->to.count * channels * sizeof *w->direct);
    add_means(w, w->to.count, w->direct);
    PX_TRY(cast(w, true));
    add_means(w, w->to.class_count, out);
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

/* Mean light of each part, over the classes whose first vertex is in it. */
static void mean_by_part(const px_light *l, const double *light, double *means) {
    const pelt_mesh *mesh = &l->model->mesh;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        double sum = 0;
        size_t count = 0;
        for (size_t u = 0; u < mesh->weld.count; u++)
            if (mesh->weld.first[u] >= part->first_vertex &&
                mesh->weld.first[u] - part->first_vertex < part->vertex_count) {
                sum += light[u];
                count++;
            }
        means[p] = count ? sum / (double)count : 1;
    }
}

/* Triangles of mirrored rigs and of inverted files face away from the light: such a part is all dark, while its back
 * side is lit. Then the back side is used. `w` holds the first frame. */
static pelt_result choose_sides(frame_work *w) {
    px_light *l = w->light;
    const pelt_mesh *mesh = &l->model->mesh;
    const lamps *given = w->lamps;
    double *means[2] = {PX_NEW(l->arena, double, mesh->part_count), PX_NEW(l->arena, double, mesh->part_count)};
    double *light = PX_NEW(l->arena, double, mesh->weld.count);
    lamps few;
    PX_TRY(make_lamps(l, PELT_LIGHT_AMBIENT, SIDE_DIRECTIONS, &few));
    if (!means[0] || !means[1] || !light)
        return PELT_ERROR_MEMORY;
    w->lamps = &few;
    for (int back = 0; back < 2; back++) {
        bool dark = false;
        for (size_t u = 0; u < mesh->weld.count; u++)
            w->sides[u] = back ? -1 : 1;
        place_receivers(w);
        memset(light, 0, mesh->weld.count * sizeof *light);
        PX_TRY(light_frame(w, light));
        mean_by_part(l, light, means[back]);
        for (uint32_t p = 0; p < mesh->part_count; p++)
            dark |= means[0][p] < DARK_MEAN;
        if (!dark)
            break;
    }
    w->lamps = given;
    for (size_t u = 0; u < mesh->weld.count; u++)
        w->sides[u] = 1;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (!(means[0][p] < DARK_MEAN && means[1][p] > FLIP_RATIO * means[0][p] && means[1][p] > DARK_MEAN))
            continue;
        px_log(l->context, PELT_LOG_WARNING, "part '%s' is inside out: the other side of its triangles is lit",
               part->name);
        for (size_t u = 0; u < mesh->weld.count; u++)
            if (mesh->weld.first[u] >= part->first_vertex &&
                mesh->weld.first[u] - part->first_vertex < part->vertex_count)
                w->sides[u] = -1;
    }
    return PELT_OK;
}

/* Classes in the order in which the tree's leaves name them; those without triangles come last. */
static pelt_result order_classes(frame_work *w) {
    const px_ray_mesh *rays = &w->mesh;
    const pelt_mesh *mesh = &w->light->model->mesh;
    uint8_t *seen = PX_ALLOC(w->light->context, uint8_t, mesh->weld.count);
    if (!seen)
        return PELT_ERROR_MEMORY;
    size_t count = 0;
    for (uint32_t g = 0; g < rays->group_count; g++)
        for (uint32_t n = rays->groups[g].first; n < rays->groups[g].first + rays->groups[g].count; n++)
            for (uint32_t e = 0; e < 3 * rays->leaves[n].count; e++) {
                uint32_t u = mesh->weld.of[mesh->triangles[3 * (size_t)rays->leaves[n].triangles[e / 3] + e % 3]];
                if (!seen[u]) {
                    w->to.own[count].group = g;
                    w->to.classes[count++] = u;
                    seen[u] = 1;
                }
            }
    for (uint32_t u = 0; u < mesh->weld.count; u++)
        if (!seen[u]) {
            w->to.own[count].group = 0;
            w->to.classes[count++] = u;
        }
    px_free(w->light->context, seen);
    return PELT_OK;
}

/* Reads a frame and moves the tree to it; builds the tree for frame 0 and decides which sides are lit. */
static pelt_result take_frame(frame_work *w, uint32_t motion, uint32_t frame, bool first, float *points) {
    px_light *l = w->light;
    const pelt_mesh *mesh = &l->model->mesh;
    PX_TRY(read_frame(l, &l->clips[motion], frame, points, w->positions));
    PX_TRY(pelt_mesh_normals(l->context, mesh, w->positions, w->normals));
    if (first) {
        PX_TRY(px_ray_mesh_make(l->arena, w->positions, mesh->triangles, mesh->triangle_count, &w->mesh));
        PX_TRY(order_classes(w));
        PX_TRY(choose_sides(w));
    } else {
        PX_TRY(px_ray_mesh_move(l->context, &w->mesh, w->positions));
        PX_TRY(order_classes(w)); /* the tree may be another */
    }
    place_receivers(w);
    return PELT_OK;
}

/* The lowest point of all frames. */
static pelt_result find_floor(frame_work *w, float *points) {
    px_light *l = w->light;
    w->floor = INFINITY;
    for (uint32_t m = 0; m < l->motion_count; m++)
        for (uint32_t f = 0; f < l->clips[m].frame_count; f++) {
            PX_TRY(read_frame(l, &l->clips[m], f, points, w->positions));
            for (size_t i = 0; i < l->model->mesh.vertex_count; i++)
                w->floor = px_fminf(w->floor, w->positions[3 * i + 1]);
        }
    return PELT_OK;
}

static pelt_result prepare_bounce(frame_work *w) {
    size_t channels = w->lamps->channel_count;
    double all = 0;
    w->direct = PX_NEW(w->light->arena, double, px_mul_size(w->to.count, channels));
    w->open_floor = PX_NEW(w->light->arena, double, channels);
    if (!w->direct || !w->open_floor)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < w->lamps->count; n++)
        all += px_fmax((double)w->lamps->ways[3 * n + 1], 0);
    for (size_t n = 0; n < w->lamps->count; n++)
        for (size_t c = 0; c < channels; c++)
            w->open_floor[c] +=
                px_fmax((double)w->lamps->ways[3 * n + 1], 0) / all * w->lamps->radiance[n * channels + c];
    return PELT_OK;
}

pelt_result px_light_bake(px_light *l) {
    const pelt_mesh *mesh = &l->model->mesh;
    float *points = PX_NEW(l->arena, float, 3 * (size_t)mesh->points.count);
    lamps given;
    frame_work w = {.light = l, .trace = px_rays_of(pelt_simd_best()), .lamps = &given};
    w.positions = PX_NEW(l->arena, float, 3 * (size_t)mesh->vertex_count);
    w.normals = PX_NEW(l->arena, float, 3 * (size_t)mesh->vertex_count);
    w.sides = PX_NEW(l->arena, float, mesh->weld.count);
    l->colors = PX_NEW(l->arena, double, px_mul_size(l->frame_count, l->column_count));
    if (!points || !w.positions || !w.normals || !w.sides || !l->colors)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_lamps(l, l->desc.kind, l->desc.directions, &given));
    PX_TRY(make_receivers(l, &w.to));
    w.floor = -INFINITY;
    if (l->desc.floor)
        PX_TRY(find_floor(&w, points));
    for (uint32_t m = 0, k = 0; m < l->motion_count; m++)
        for (uint32_t f = 0; f < l->clips[m].frame_count; f++, k++) {
            PX_TRY(px_progress(l->context, "light", k, l->frame_count));
            PX_TRY(take_frame(&w, m, f, k == 0, points));
            if (k == 0 && l->desc.bounce > 0)
                PX_TRY(prepare_bounce(&w));
            PX_TRY(light_frame(&w, l->colors + k * l->column_count));
        }
    l->ray_count = (uint64_t)l->frame_count * w.to.count * (l->desc.directions / 2) * (w.direct ? 2 : 1);
    return PELT_OK;
}
