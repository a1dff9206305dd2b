/* Points, bones and motions of a decomposed model as px_tight has them. */
#include "budget/tight.h"

#include "core/math3.h"
#include "io/meshopt.h"

#include <math.h>
#include <pelt/run.h>

#define K PX_TIGHT_INFLUENCES

static pelt_result sort_points(px_arena *arena, const pelt_model *model, uint32_t **order) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_context *context = px_arena_context(arena);
    size_t count = 3 * (size_t)mesh->triangle_count, N = mesh->weld.count;
    uint32_t *triangles = PX_ALLOC(context, uint32_t, count), *sorted = PX_ALLOC(context, uint32_t, count);
    bool *placed = PX_ALLOC(context, bool, N);
    pelt_result result =
        triangles && sorted && placed && (*order = PX_NEW(arena, uint32_t, N)) ? PELT_OK : PELT_ERROR_MEMORY;
    size_t bytes = px_meshopt_sort_memory(count, N);
    if (result == PELT_OK && count > 0) {
        for (size_t c = 0; c < count; c++)
            triangles[c] = pelt_vertex_class(&mesh->weld, mesh->triangles[c]);
        result = px_reserve(context, bytes);
        if (result == PELT_OK) {
            px_meshopt_sort_triangles(triangles, count, N, sorted);
            px_unreserve(context, bytes);
        }
    }
    uint32_t next = 0;
    for (size_t c = 0; result == PELT_OK && c < count + N; c++) { /* points without triangles last */
        uint32_t point = c < count ? sorted[c] : (uint32_t)(c - count);
        if (!placed[point])
            (*order)[next++] = point;
        placed[point] = true;
    }
    px_free(context, triangles);
    px_free(context, sorted);
    px_free(context, placed);
    return result;
}

pelt_result px_tight_begin(pelt_context *context, px_arena *arena, const pelt_model *model, px_tight *base) {
    uint32_t *order;
    const pelt_mesh *mesh = &model->mesh;
    *base = (px_tight){.context = context, .arena = arena, .point_count = mesh->weld.count};
    for (uint32_t n = 0; n < model->clip_count; n++)
        base->frame_count += model->clips[n].frame_count;
    size_t N = base->point_count, F = base->frame_count, k = 0;
    PX_TRY(sort_points(arena, model, &order));
    base->order = order;
    base->targets = PX_NEW(arena, float, 3 * N * F);
    bool *inside = PX_NEW(arena, bool, F);
    float *frame = PX_NEW(arena, float, 3 * (size_t)mesh->points.count);
    if (!base->targets || !frame || !inside)
        return PELT_ERROR_MEMORY;
    base->inside = inside;
    for (uint32_t n = 0; n < model->clip_count; n++)
        for (uint32_t f = 0; f < model->clips[n].frame_count; f++, k++) {
            inside[k] = f > 0 && f + 1 < model->clips[n].frame_count;
            PX_TRY(pelt_clip_read(context, &model->clips[n], f, 0, mesh->points.count, frame));
            for (size_t i = 0; i < N; i++) {
                size_t point = pelt_vertex_class(&mesh->points, pelt_class_vertex(&mesh->weld, i));
                memcpy(base->targets + 3 * (i * F + k), frame + 3 * point, 3 * sizeof *frame);
            }
        }
    return PELT_OK;
}

static void read_vertices(px_tight *r, const pelt_model *model) {
    const pelt_skin *skin = &model->skin;
    for (size_t i = 0; i < r->point_count; i++) {
        size_t v = pelt_class_vertex(&model->mesh.weld, i);
        double sum = 0;
        memcpy(r->rest + 3 * i, model->mesh.positions + 3 * v, 3 * sizeof *r->rest);
        for (size_t a = 0; a < K && a < skin->influence_count; a++) {
            r->bones[K * i + a] = skin->bones[v * skin->influence_count + a];
            r->weights[K * i + a] = skin->weights[v * skin->influence_count + a];
            sum += (double)r->weights[K * i + a];
        }
        for (size_t a = 0; a < K && sum > 0; a++)
            r->weights[K * i + a] = (float)((double)r->weights[K * i + a] / sum);
    }
}

/* The mean place of the points of each bone, by squares of weights, on a grid of few decimals: JSON stores it. */
static void place_pivots(px_tight *r) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < 3 * (size_t)r->point_count; i++) {
        low = px_fmin(low, (double)r->rest[i]);
        high = px_fmax(high, (double)r->rest[i]);
    }
    double step = r->pivot_step = px_pow(10, floor(px_log10(px_fmax(high - low, 1e-30) / 30)));
    for (size_t j = 0; j < r->bone_count; j++) {
        double mass = 0, sum[3] = {0};
        for (size_t e = 0; e < K * (size_t)r->point_count; e++)
            if (r->bones[e] == j && r->weights[e] > 0) {
                double w = (double)r->weights[e] * (double)r->weights[e];
                mass += w;
                for (size_t x = 0; x < 3; x++)
                    sum[x] += w * (double)r->rest[3 * (e / K) + x];
            }
        for (size_t x = 0; x < 3; x++)
            r->pivots[3 * j + x] = mass > 0 ? (double)(float)(nearbyint(sum[x] / mass / step) * step) : 0;
    }
}

pelt_result px_tight_read(const px_tight *base, px_arena *arena, const pelt_model *model, const uint32_t *motions,
                          px_tight *out) {
    *out = *base;
    out->arena = arena;
    out->motions = motions;
    out->bone_count = model->skin.bone_count;
    size_t N = out->point_count, P = out->bone_count, joints = model->skeleton.joint_count;
    out->rest = PX_NEW(arena, float, 3 * N);
    out->bones = PX_NEW(arena, uint16_t, K * N);
    out->weights = PX_NEW(arena, float, K *N);
    out->pivots = PX_NEW(arena, double, 3 * P);
    out->poses = PX_NEW(arena, double, 12 * P * out->frame_count);
    pelt_transform *locals = PX_NEW(arena, pelt_transform, joints);
    pelt_affine *globals = PX_NEW(arena, pelt_affine, joints), *palette = PX_NEW(arena, pelt_affine, P);
    if (!out->rest || !out->bones || !out->weights || !out->pivots || !out->poses || !locals || !globals || !palette)
        return PELT_ERROR_MEMORY;
    out->influence_count = model->skin.influence_count < K ? model->skin.influence_count : K;
    read_vertices(out, model);
    place_pivots(out);
    out->affine = joints > P + 1; /* two joints a bone, and the root */
    size_t k = 0;
    for (uint32_t n = 0; n < model->clip_count; n++)
        for (uint32_t f = 0; f < model->clips[n].frame_count; f++, k++) {
            pelt_motion_sample(model, &model->motions[motions[n]], model->clips[n].times[f], locals, NULL);
            pelt_skeleton_globals(&model->skeleton, locals, globals);
            pelt_skin_palette(&model->skin, globals, palette);
            for (size_t j = 0; j < P; j++) {
                double *pose = out->poses + 12 * (k * P + j);
                const float *m = palette[j].m;
                const double *g = out->pivots + 3 * j;
                for (size_t x = 0; x < 3; x++) {
                    for (size_t c = 0; c < 3; c++)
                        pose[3 * x + c] = (double)m[4 * x + c];
                    pose[9 + x] =
                        pose[3 * x] * g[0] + pose[3 * x + 1] * g[1] + pose[3 * x + 2] * g[2] + (double)m[4 * x + 3];
                }
            }
        }
    return PELT_OK;
}
