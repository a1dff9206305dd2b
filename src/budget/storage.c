/* Sizes of other representations at equal largest error: truncated SVD, clustered PCA, and the cache itself.
 *
 * All have the advantages that files of pelt_decompose_budget have: points in the order in which sorted triangles use
 * them, numbers rounded as coarsely as the error allows, encoded by meshoptimizer. They need not pay for a container.
 *
 * Point i of frame k is Σ_e c_ie · τ_ke. With m_e the longest τ_ke, c_ie is rounded to multiples of s / m_e, so that all
 * components have equal errors; with n_e the largest |c_ie|, τ_ke to multiples of t / n_e. As numbers are encoded with
 * s²: t² like their counts, no byte saves more than another.
 */
#include <pelt/budget.h>

#include "core/core.h"
#include "io/meshopt.h"

#include <math.h>
#include <pelt/study.h>

#define MAX_STRIDE  256u /* of meshoptimizer */
#define STEP_TRIALS 7    /* halvings of the interval of a step */

typedef struct storage {
    pelt_context *context;
    px_arena *scratch;
    const pelt_model *model;
    pelt_study *study;
    double max_error;
    uint32_t point_count, frame_count;
    uint32_t *order; /* [new] point */
    size_t triangle_bytes;
} storage;

/* ---- Encoding --------------------------------------------------------------------------------------------- */

/* Bytes of elements [count] of `stride` bytes; 0 and an error: out of memory. */
static pelt_result encoded_size(storage *s, const void *elements, size_t count, size_t stride, size_t *size) {
    size_t bound = px_meshopt_vertices_bound(count, stride);
    uint8_t *bytes = px_alloc(s->context, bound, 1);
    if (!bytes)
        return PELT_ERROR_MEMORY;
    *size += px_meshopt_encode_vertices(elements, count, stride, bytes, bound);
    px_free(s->context, bytes);
    return PELT_OK;
}

/* Bytes of whole numbers [count][width], each as 2 bytes where all fit, else 4. Rows are cut where they are too long. */
static pelt_result numbers_size(storage *s, const int32_t *numbers, size_t count, size_t width, size_t *size) {
    bool small = true;
    for (size_t i = 0; i < count * width; i++)
        small &= numbers[i] >= INT16_MIN && numbers[i] <= INT16_MAX;
    size_t each = small ? 2 : 4, most = MAX_STRIDE / each;
    uint8_t *rows = px_alloc(s->context, count, MAX_STRIDE);
    pelt_result result = rows ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t first = 0; first < width && result == PELT_OK; first += most) {
        size_t columns = width - first < most ? width - first : most, stride = (columns * each + 3) & ~(size_t)3;
        memset(rows, 0, count * stride);
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < columns; c++) {
                int32_t value = numbers[i * width + first + c];
                int16_t narrow = (int16_t)value;
                memcpy(rows + i * stride + c * each, small ? (const void *)&narrow : (const void *)&value, each);
            }
        result = encoded_size(s, rows, count, stride, size);
    }
    px_free(s->context, rows);
    return result;
}

/* Sorts the triangles of points, and the points by their first use. */
static pelt_result sort_points(storage *s) {
    const pelt_mesh *mesh = &s->model->mesh;
    size_t count = 3 * (size_t)mesh->triangle_count, bytes = px_meshopt_sort_memory(count, s->point_count);
    uint32_t *triangles = PX_NEW(s->scratch, uint32_t, count), *sorted = PX_NEW(s->scratch, uint32_t, count);
    uint32_t *places = PX_NEW(s->scratch, uint32_t, s->point_count), next = 0;
    s->order = PX_NEW(s->scratch, uint32_t, s->point_count);
    size_t bound = px_meshopt_triangles_bound(count, s->point_count);
    uint8_t *out = px_arena_alloc(s->scratch, bound, 1);
    if (!triangles || !sorted || !places || !s->order || !out)
        return PELT_ERROR_MEMORY;
    for (size_t c = 0; c < count; c++)
        triangles[c] = pelt_vertex_class(&mesh->points, mesh->triangles[c]);
    if (count > 0) {
        PX_TRY(px_reserve(s->context, bytes));
        px_meshopt_sort_triangles(triangles, count, s->point_count, sorted);
        px_unreserve(s->context, bytes);
    }
    memset(places, 0xFF, s->point_count * sizeof *places);
    for (size_t c = 0; c < count + s->point_count; c++) { /* points without triangles last */
        uint32_t point = c < count ? sorted[c] : (uint32_t)(c - count);
        if (places[point] == PELT_NONE) {
            s->order[next] = point;
            places[point] = next++;
        }
    }
    for (size_t c = 0; c < count; c++)
        sorted[c] = places[sorted[c]];
    s->triangle_bytes = count ? px_meshopt_encode_triangles(sorted, count, out, bound) : 0;
    return PELT_OK;
}

/* All positions, [frame][point][3]. */
static pelt_result read_frame(storage *s, uint32_t frame, float *out) {
    for (uint32_t n = 0; n < s->model->clip_count; n++) {
        const pelt_clip *clip = &s->model->clips[n];
        if (frame < clip->frame_count) {
            PX_TRY(pelt_clip_read(s->context, clip, frame, 0, s->point_count, out));
            px_clip_release(clip, s->point_count);
            return PELT_OK;
        }
        frame -= clip->frame_count;
    }
    return PELT_OK;
}

/* ---- Cache ------------------------------------------------------------------------------------------------ */

static pelt_result store_cache(storage *s, pelt_storage_size *out) {
    size_t count = 3 * (size_t)s->point_count, bytes = s->triangle_bytes;
    double step = 2 * s->max_error / sqrt(3) * 0.9999, most = 0, origin[3]; /* half a step along each axis */
    float *frame = PX_NEW(s->scratch, float, count);
    int32_t *now = PX_NEW(s->scratch, int32_t, count), *last = PX_NEW(s->scratch, int32_t, count);
    int32_t *change = PX_NEW(s->scratch, int32_t, count);
    if (!frame || !now || !last || !change)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < s->frame_count; k++) {
        size_t plain = 0, differences = 0;
        PX_TRY(px_progress(s->context, "cache", k, s->frame_count));
        PX_TRY(read_frame(s, k, frame));
        for (size_t x = 0; k == 0 && x < 3; x++)
            origin[x] = (double)frame[x];
        for (size_t i = 0; i < s->point_count; i++) {
            double square = 0;
            for (size_t x = 0; x < 3; x++) {
                double exact = (double)frame[3 * (size_t)s->order[i] + x] - origin[x];
                now[3 * i + x] = (int32_t)nearbyint(exact / step);
                change[3 * i + x] = now[3 * i + x] - last[3 * i + x];
                square += (now[3 * i + x] * step - exact) * (now[3 * i + x] * step - exact);
            }
            most = px_fmax(most, square);
        }
        PX_TRY(numbers_size(s, now, s->point_count, 3, &plain));
        if (k > 0)
            PX_TRY(numbers_size(s, change, s->point_count, 3, &differences));
        bytes += k > 0 && differences < plain ? differences : plain;
        int32_t *spare = last;
        last = now;
        now = spare;
    }
    *out = (pelt_storage_size){0, 0, bytes, sqrt(most)};
    return PELT_OK;
}

/* ---- Components ------------------------------------------------------------------------------------------- */

typedef struct rounding {
    storage *s;
    const pelt_components *c;
    double *coordinate_steps; /* [cluster][component] */
    double *trajectory_steps; /* [cluster][component] */
    int32_t *coordinates;     /* [point, sorted][component] */
    int32_t *trajectories;    /* [cluster][component][frame][3] */
    double *frame_most;       /* [frame] largest squared distance */
} rounding;

/* Distances of one frame. */
static pelt_result compare_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const rounding *r = user;
    const pelt_components *c = r->c;
    size_t E = c->component_count, F = c->frame_count;
    float *frame = PX_ALLOC(r->s->context, float, 3 * (size_t)c->point_count);
    double *places = PX_ALLOC(r->s->context, double, 3 * (size_t)c->cluster_count * E);
    pelt_result result = frame && places ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t k = first; k < first + count && result == PELT_OK; k++) {
        result = read_frame(r->s, (uint32_t)k, frame);
        for (size_t e = 0; e < c->cluster_count * E; e++)
            for (size_t x = 0; x < 3; x++)
                places[3 * e + x] =
                    r->trajectories[3 * (e * F + k) + x] * r->trajectory_steps[e] * r->coordinate_steps[e];
        double most = 0;
        for (size_t i = 0; i < c->point_count && result == PELT_OK; i++) {
            size_t point = r->s->order[i];
            const double *place = places + 3 * (c->clusters[point] * E);
            double at[3] = {(double)c->center[0], (double)c->center[1], (double)c->center[2]}, square = 0;
            for (size_t e = 0; e < E; e++)
                for (size_t x = 0; x < 3; x++)
                    at[x] += r->coordinates[i * E + e] * place[3 * e + x];
            for (size_t x = 0; x < 3; x++)
                square += (at[x] - (double)frame[3 * point + x]) * (at[x] - (double)frame[3 * point + x]);
            most = px_fmax(most, square);
        }
        r->frame_most[k] = most;
    }
    px_free(r->s->context, frame);
    px_free(r->s->context, places);
    return result;
}

/* Rounds everything for a step s and measures the largest distance. */
static pelt_result round_components(rounding *r, double step, double *distance) {
    const pelt_components *c = r->c;
    size_t E = c->component_count, P = c->cluster_count, F = c->frame_count, N = c->point_count;
    double finer = step * sqrt(3.0 * (double)F * (double)P / (double)N); /* of trajectories */
    finer = px_fmin(finer, step);
    for (size_t e = 0; e < P * E; e++) {
        double longest = 0, largest = 0;
        for (size_t k = 0; k < F; k++) {
            const float *t = c->trajectories + 3 * (k * P * E + e);
            longest = px_fmax(longest, sqrt((double)t[0] * t[0] + (double)t[1] * t[1] + (double)t[2] * t[2]));
        }
        for (size_t i = 0; i < N; i++)
            if (c->clusters[i] == e / E)
                largest = px_fmax(largest, fabs((double)c->coordinates[i * E + e % E]));
        r->coordinate_steps[e] = longest > 0 ? step / longest : 1;
        r->trajectory_steps[e] = largest > 0 ? finer / largest : 1;
        for (size_t k = 0; k < F; k++)
            for (size_t x = 0; x < 3; x++)
                r->trajectories[3 * (e * F + k) + x] =
                    (int32_t)nearbyint((double)c->trajectories[3 * (k * P * E + e) + x] / r->trajectory_steps[e]);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t e = 0; e < E; e++) {
            size_t point = r->s->order[i];
            r->coordinates[i * E + e] = (int32_t)nearbyint((double)c->coordinates[point * E + e] /
                                                           r->coordinate_steps[c->clusters[point] * E + e]);
        }
    PX_TRY(px_parallel(r->s->context, NULL, F, 1, compare_frames, r));
    double most = 0;
    for (size_t k = 0; k < F; k++)
        most = px_fmax(most, r->frame_most[k]);
    *distance = sqrt(most);
    return PELT_OK;
}

/* Bytes at the step that round_components used last. */
static pelt_result components_size(rounding *r, size_t *bytes) {
    const pelt_components *c = r->c;
    size_t N = c->point_count;
    *bytes = r->s->triangle_bytes + 8 * (size_t)c->cluster_count * c->component_count; /* a float for each step */
    PX_TRY(numbers_size(r->s, r->coordinates, N, c->component_count, bytes));
    PX_TRY(
        numbers_size(r->s, r->trajectories, (size_t)c->cluster_count * c->component_count * c->frame_count, 3, bytes));
    if (c->cluster_count == 1)
        return PELT_OK;
    int32_t *clusters = PX_ALLOC(r->s->context, int32_t, N);
    if (!clusters)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < N; i++)
        clusters[i] = (int32_t)c->clusters[r->s->order[i]];
    pelt_result result = numbers_size(r->s, clusters, N, 1, bytes);
    px_free(r->s->context, clusters);
    return result;
}

/* The smallest size of these numbers of clusters and components; *kept: whether they keep the error. */
static pelt_result try_components(storage *s, uint32_t clusters, uint32_t components, pelt_storage_size *best,
                                  bool *kept) {
    pelt_components_desc desc = pelt_components_desc_default();
    rounding r = {.s = s};
    desc.clusters = clusters;
    desc.components = components;
    PX_TRY(px_progress(s->context, "components", 0, 1));
    PX_TRY(pelt_study_components(s->study, &desc, &r.c));
    size_t terms = (size_t)r.c->cluster_count * r.c->component_count;
    px_arena *scratch = px_arena_create(s->context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    r.coordinate_steps = PX_NEW(scratch, double, terms);
    r.trajectory_steps = PX_NEW(scratch, double, terms);
    r.coordinates = PX_NEW(scratch, int32_t, (size_t)s->point_count * r.c->component_count);
    r.trajectories = PX_NEW(scratch, int32_t, 3 * terms * s->frame_count);
    r.frame_most = PX_NEW(scratch, double, s->frame_count);
    bool enough = r.coordinate_steps && r.trajectory_steps && r.coordinates && r.trajectories && r.frame_most;
    double low = s->max_error / 64, high = 2 * s->max_error, distance = 0;
    pelt_result result = enough ? round_components(&r, low, &distance) : PELT_ERROR_MEMORY;
    *kept = result == PELT_OK && distance <= s->max_error;
    for (int n = 0; n < STEP_TRIALS && *kept && result == PELT_OK; n++) {
        double middle = sqrt(low * high);
        result = round_components(&r, middle, &distance);
        if (distance <= s->max_error)
            low = middle;
        else
            high = middle;
    }
    size_t bytes = 0;
    if (*kept && result == PELT_OK)
        result = round_components(&r, low, &distance);
    if (*kept && result == PELT_OK)
        result = components_size(&r, &bytes);
    if (*kept && result == PELT_OK && (best->bytes == 0 || bytes < best->bytes))
        *best = (pelt_storage_size){r.c->cluster_count, r.c->component_count, bytes, distance};
    px_arena_destroy(scratch);
    return result;
}

/* SVD: the fewest components that keep the error, then up to half as many more while sizes fall. */
static pelt_result store_svd(storage *s, pelt_storage_size *best) {
    uint32_t most;
    pelt_study_errors(s->study, &most);
    uint32_t low = 1, high = most > 1 ? most - 1 : 1;
    bool kept;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        PX_TRY(try_components(s, 1, middle, best, &kept));
        if (kept)
            high = middle;
        else
            low = middle + 1;
    }
    for (int n = 0; n <= 5; n++)
        if (low + low * (uint32_t)n / 10 < most)
            PX_TRY(try_components(s, 1, low + low * (uint32_t)n / 10, best, &kept));
    return PELT_OK;
}

/* Clustered PCA: for several numbers of components the fewest clusters on a ladder that keep the error, and those up to the
 * fewest of the number of components before: more components need fewer clusters. */
static pelt_result store_cpca(storage *s, pelt_storage_size *best) {
    static const uint32_t components[] = {4, 6, 8, 12, 16};
    uint32_t most, ladder[16], count = 0;
    bool kept;
    pelt_study_errors(s->study, &most);
    for (double clusters = 2; clusters <= 512 && clusters * 4 <= s->point_count; clusters *= 1.5)
        ladder[count++] = (uint32_t)(clusters + 0.5);
    uint32_t fewest = count; /* index in the ladder; count: none keep the error */
    for (size_t n = 0; n < PX_COUNT(components) && components[n] < most; n++) {
        if (fewest == count) {
            for (uint32_t low = 0; low < fewest;) {
                uint32_t middle = (low + fewest) / 2;
                PX_TRY(try_components(s, ladder[middle], components[n], best, &kept));
                if (kept)
                    fewest = middle;
                else
                    low = middle + 1;
            }
            if (fewest + 1 < count)
                PX_TRY(try_components(s, ladder[fewest + 1], components[n], best, &kept));
            continue;
        }
        PX_TRY(try_components(s, ladder[fewest], components[n], best, &kept));
        for (; kept && fewest > 0; fewest -= kept)
            PX_TRY(try_components(s, ladder[fewest - 1], components[n], best, &kept));
    }
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result store_all(storage *s, pelt_storage_size *sizes) {
    for (uint32_t n = 0; n < s->model->clip_count; n++)
        s->frame_count += s->model->clips[n].frame_count;
    PX_TRY(sort_points(s));
    PX_TRY(pelt_study_create(s->context, s->model, &s->study));
    PX_TRY(store_cache(s, &sizes[PELT_STORAGE_CACHE]));
    PX_TRY(store_svd(s, &sizes[PELT_STORAGE_SVD]));
    return store_cpca(s, &sizes[PELT_STORAGE_CPCA]);
}

pelt_result pelt_storage_sizes(pelt_context *context, const pelt_model *model, double max_error,
                               pelt_storage_size *sizes) {
    pelt_storage_size made[PELT_STORAGES] = {{0}};
    memset(sizes, 0, sizeof made);
    if (!(max_error > 0) || !isfinite(max_error))
        return px_fail(context, PELT_ERROR_USAGE, "max_error must be more than 0, not %g", max_error);
    if (!px_meshopt_encodes())
        return px_fail(context, PELT_ERROR_UNSUPPORTED,
                       "this build has no meshoptimizer support: it cannot tell encoded sizes");
    storage s = {.context = context, .model = model, .max_error = max_error, .point_count = model->mesh.points.count};
    s.scratch = px_arena_create(context);
    pelt_result result = s.scratch ? store_all(&s, made) : PELT_ERROR_MEMORY;
    pelt_study_destroy(s.study);
    px_arena_destroy(s.scratch);
    if (result == PELT_OK)
        memcpy(sizes, made, sizeof made);
    return result;
}
