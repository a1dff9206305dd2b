/* Reads the animation and reduces it: A ≈ B C with orthonormal B and the smallest sufficient dimension.
 *
 * The clips are read in blocks of vertices, at least once to find B and once for the coordinates C = BᵀA, and never
 * held whole. Pages of memory-mapped files are released while reading, so that they do not fill the memory either.
 */
#include "decompose/reduce.h"

#include <float.h>
#include <math.h>

#define FRAMES_PER_TASK 16u
#define BLOCK_VERTICES  1000u /* at most; a power of two would cause cache conflicts between rows */

/* ---- Blocks of A ------------------------------------------------------------------------------------------ */

typedef struct reading {
    px_reduction *r;
    const uint32_t *index; /* [count] points */
    uint32_t count, frame; /* frame: the frame of loop index 0 */
    double *out;
} reading;

static const pelt_clip *clip_of_frame(const pelt_clip *clips, uint32_t *frame) {
    for (; *frame >= clips->frame_count; clips++)
        *frame -= clips->frame_count;
    return clips;
}

static pelt_result fail_not_finite(const reading *job, const pelt_clip *clip, uint32_t frame, const float *points) {
    const uint32_t *index = job->index;
    uint32_t i = 0;
    for (const float *p = points; i + 1 < job->count; i++, p = points + 3 * (size_t)(index[i] - index[0]))
        if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
            break;
    return px_fail(job->r->fit->context, PELT_ERROR_INPUT, "clip '%s', frame %u, point %u: the position is not finite",
                   clip->name, frame, index[i]);
}

/* Writes three rows of A from the points of one frame. Returns false if a value is not finite. */
static bool spread_frame(const reading *job, const float *points, double *out) {
    const px_gathered *plan = job->r->plan;
    const uint32_t *index = job->index;
    double scale = 1 / plan->radius;
    bool finite = true;
    for (uint32_t i = 0; i < job->count; i++) {
        const float *p = points + 3 * (size_t)(index[i] - index[0]);
        for (size_t axis = 0; axis < 3; axis++) {
            finite &= fabsf(p[axis]) <= FLT_MAX;
            out[axis * job->count + i] = ((double)p[axis] - plan->center[axis]) * scale;
        }
    }
    return finite;
}

static pelt_result read_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const reading *job = user;
    pelt_context *context = job->r->fit->context;
    const uint32_t *index = job->index;
    uint32_t span = index[job->count - 1] - index[0] + 1;
    float *scratch = NULL;
    pelt_result result = PELT_OK;
    for (size_t f = first; f < first + count && result == PELT_OK; f++) {
        uint32_t k = job->frame + (uint32_t)f;
        const pelt_clip *clip = clip_of_frame(job->r->clips, &k);
        const float *points = clip->positions ? clip->positions + 3 * ((size_t)k * clip->point_count + index[0]) : NULL;
        if (!points && !scratch && !(scratch = PX_ALLOC(context, float, 3 * (size_t)span)))
            return PELT_ERROR_MEMORY;
        if (!points)
            result = pelt_clip_read(context, clip, k, index[0], span, scratch);
        if (result == PELT_OK && !spread_frame(job, points ? points : scratch, job->out + 3 * f * job->count))
            result = fail_not_finite(job, clip, k, points ? points : scratch);
        px_clip_release(clip, span);
    }
    px_free(context, scratch);
    return result;
}

pelt_result px_reduction_read(px_reduction *r, uint32_t first, uint32_t count, uint32_t frame, uint32_t frame_count,
                              double *out) {
    const uint32_t *points = r->plan->points + (r->whole ? 0 : r->fit->first_vertex);
    reading job = {r, (r->sample ? r->sample : points) + first, count, frame, out};
    return px_parallel(r->fit->context, NULL, frame_count, FRAMES_PER_TASK, read_frames, &job);
}

typedef struct reduction_sum {
    px_reduction *r;
    const char *phase;
    px_add_block_fn *add;
    void *user;
} reduction_sum;

static pelt_result add_leaf(void *user, size_t first, size_t count, double *values) {
    const reduction_sum *sum = user;
    px_reduction *r = sum->r;
    const px_leaves *leaves = r->sample ? &r->sample_leaves : &r->fit->leaves;
    size_t begin = r->sample ? 0 : r->fit->first_vertex, own = px_leaves_first(leaves);
    for (size_t done = 0, some; done < count; done += some) {
        some = px_min_size(r->block_vertices, count - done);
        uint32_t vertex = (uint32_t)(first + done - begin);
        PX_TRY(px_progress(r->fit->context, sum->phase, first + done - own, px_leaves_own(leaves)));
        PX_TRY(px_reduction_read(r, vertex, (uint32_t)some, 0, r->fit->row_count / 3, r->block));
        PX_TRY(sum->add(r, sum->user, vertex, (uint32_t)some, values));
    }
    return PELT_OK;
}

pelt_result px_reduction_sum(px_reduction *r, const char *phase, size_t width, px_add_block_fn *add, void *user,
                             double *values) {
    return px_leaves_sum(r->fit->context, r->sample ? &r->sample_leaves : &r->fit->leaves, width, add_leaf,
                         &(reduction_sum){r, phase, add, user}, values);
}

/* ---- Coordinates ------------------------------------------------------------------------------------------ */

#define PROJECT_VERTICES 128u

typedef struct projection {
    uint32_t first, count; /* vertices of the block */
    px_reduction *r;
    double *outside; /* [task] sums of squares outside the subspace, of the leaf */
} projection;

/* Stores coordinates as floats. Norms: squared length outside the subspace plus squared length of the rounded
 * coordinates. Returns the sum of squares outside. */
static double store_coords(px_fit *fit, size_t vertex, size_t count, const double *wide) {
    size_t d = fit->dimension;
    double outside = 0;
    for (size_t i = 0; i < count; i++) {
        double held = 0, rounded = 0;
        for (size_t e = 0; e < d; e++) {
            float value = (float)wide[i * d + e];
            held += wide[i * d + e] * wide[i * d + e];
            rounded += (double)value * (double)value;
            fit->coords[(vertex + i) * d + e] = value;
        }
        double left = px_fmax(fit->norms[vertex + i] - held, 0);
        fit->norms[vertex + i] = left + rounded;
        outside += left;
    }
    return outside;
}

static pelt_result project_some(void *user, size_t first, size_t count, size_t block) {
    const projection *job = user;
    px_fit *fit = job->r->fit;
    size_t rows = fit->row_count, d = fit->dimension, vertex = job->first + first;
    px_matrix part = px_matrix_part(px_matrix_in(job->r->block, rows, job->count), 0, rows, first, count);
    double *wide = PX_ALLOC(fit->context, double, count *d);
    if (!wide)
        return PELT_ERROR_MEMORY;
    px_gemm(1, px_transposed(part), px_matrix_in(fit->basis, rows, d), 0, px_matrix_of(wide, count, d));
    memset(fit->norms + vertex, 0, count * sizeof *fit->norms);
    for (size_t row = 0; row < rows; row++) {
        const double *a = px_matrix_at(part, row, 0);
        for (size_t i = 0; i < count; i++)
            fit->norms[vertex + i] += a[i] * a[i];
    }
    job->outside[block] += store_coords(fit, vertex, count, wide);
    for (size_t i = 0; i < count; i++)
        for (size_t axis = 0; axis < 3; axis++)
            fit->now.rest[3 * (vertex + i) + axis] = *px_matrix_at(part, job->r->plan->rest_row + axis, i);
    px_free(fit->context, wide);
    return PELT_OK;
}

static pelt_result project_block(px_reduction *r, void *user, uint32_t first, uint32_t count, double *outside) {
    (void)user;
    projection job = {first, count, r, outside};
    return px_parallel(r->fit->context, NULL, count, PROJECT_VERTICES, project_some, &job);
}

/* Computes coordinates and norms of all vertices. *outside: sum of squares outside the subspace. */
static pelt_result project(px_reduction *r, double *outside) {
    size_t tasks = px_block_count(r->block_vertices, PROJECT_VERTICES);
    double *sums = PX_ALLOC(r->fit->context, double, tasks);
    pelt_result result = sums ? px_reduction_sum(r, "project", tasks, project_block, NULL, sums) : PELT_ERROR_MEMORY;
    *outside = 0;
    for (size_t t = 0; result == PELT_OK && t < tasks; t++)
        *outside += sums[t];
    px_free(r->fit->context, sums);
    return result;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

/* The exact reduction costs min(rows, vertices)² · max(rows, vertices) + min(rows, vertices)³. Above this minimum,
 * subspace iteration is used. */
#define EXACT_MOST 2048u

static px_reduce_fn *algorithm_for(const px_reduction *r) {
    size_t rows = r->fit->row_count, count = r->fit->total_count;
    if (r->desc->reduce != PELT_REDUCE_SVD)
        return px_reduce_columns;
    if (px_min_size(rows, count) > EXACT_MOST)
        return px_reduce_iterate;
    return rows > count ? px_reduce_vertices : px_reduce_rows;
}

/* *expected: sum of squares that a basis of a sample of the vertices should leave outside; infinite: all vertices were
 * used. */
static pelt_result find_basis(px_reduction *r, px_reduce_fn *find, double *expected) {
    size_t stride = r->desc->reduce == PELT_REDUCE_SVD ? px_sample_stride(r->fit) : 1;
    *expected = INFINITY;
    if (stride > 1)
        PX_TRY(px_reduce_sample(r, stride, find, expected));
    return *expected < INFINITY ? PELT_OK : find(r);
}

static pelt_result reduce(px_reduction *r) {
    px_fit *fit = r->fit;
    px_reduce_fn *find = algorithm_for(r);
    double expected, outside;
    PX_TRY(find_basis(r, find, &expected));
    fit->norms = PX_NEW(fit->arena, double, fit->vertex_count);
    fit->coords = PX_NEW(fit->arena, float, px_mul_size(fit->vertex_count, fit->dimension));
    if (!fit->norms || !fit->coords)
        return PELT_ERROR_MEMORY;
    px_reduction_cache *cache = r->plan->cache;
    size_t N = fit->vertex_count, d = fit->dimension, basis = fit->row_count * d;
    if (cache && cache->rest && cache->dimension == d &&
        memcmp(cache->basis, fit->basis, basis * sizeof *fit->basis) == 0) {
        memcpy(fit->coords, cache->coords, N * d * sizeof *fit->coords);
        memcpy(fit->norms, cache->norms, N * sizeof *fit->norms);
        memcpy(fit->now.rest, cache->rest, 3 * N * sizeof *fit->now.rest);
        return PELT_OK;
    }
    PX_TRY(project(r, &outside));
    if (outside > expected) { /* the sample missed something, such as a small part that moves on its own */
        PX_TRY(find(r));
        if (fit->dimension > d)
            fit->coords = PX_NEW(fit->arena, float, px_mul_size(N, fit->dimension));
        PX_TRY(fit->coords ? project(r, &outside) : PELT_ERROR_MEMORY);
        d = fit->dimension;
        basis = fit->row_count * d;
    }
    if (!cache)
        return PELT_OK;
    pelt_context *context = fit->context;
    cache->dimension = fit->dimension;
    cache->basis = px_cache_copy(context, cache->basis, fit->basis, basis, sizeof *fit->basis);
    cache->coords = px_cache_copy(context, cache->coords, fit->coords, N * d, sizeof *fit->coords);
    cache->norms = px_cache_copy(context, cache->norms, fit->norms, N, sizeof *fit->norms);
    cache->rest = px_cache_copy(context, cache->rest, fit->now.rest, 3 * N, sizeof *fit->now.rest);
    return cache->basis && cache->coords && cache->norms && cache->rest ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- Cache ------------------------------------------------------------------------------------------------- */

void *px_cache_copy(pelt_context *context, void *old, const void *data, size_t count, size_t size) {
    px_free(context, old);
    void *copy = px_alloc(context, count, size);
    return copy ? memcpy(copy, data, count * size) : NULL;
}

void px_reduction_cache_free(pelt_context *context, px_reduction_cache *cache) {
    void *const arrays[] = {cache->gram,   cache->vectors, cache->values, cache->basis,
                            cache->coords, cache->norms,   cache->rest};
    for (size_t a = 0; a < PX_COUNT(arrays); a++)
        px_free(context, arrays[a]);
}

pelt_result px_fit_gather(px_fit *fit, const pelt_clip *clips, const px_gathered *plan,
                          const pelt_decompose_desc *desc) {
    px_reduction r = {.fit = fit, .clips = clips, .plan = plan, .desc = desc};
    size_t vertices = px_min_size(px_max_size(PX_REDUCE_BLOCK / fit->row_count, 16), BLOCK_VERTICES);
    r.block_vertices = (uint32_t)px_min_size(vertices, fit->total_count);
    r.block = PX_ALLOC(fit->context, double, px_mul_size(r.block_vertices, fit->row_count));
    pelt_result result = r.block ? reduce(&r) : PELT_ERROR_MEMORY;
    px_free(fit->context, r.block);
    return result;
}
