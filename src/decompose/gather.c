/* Reading the animation and reducing it: A ≈ B C with orthonormal B and the least dimension, through the smaller Gram
 * matrix.
 *
 * The clips are read in blocks of points, once for the Gram matrix and once for the coordinates, and never held whole.
 */
#include "decompose/gather.h"

#include <math.h>

#define BLOCK_POINTS 512u
/* Each lane adds its own blocks, in order: sums do not depend on the number of threads. */
#define LANES 4u

/* ---- Blocks of trajectories ------------------------------------------------------------------------------- */

typedef struct gather {
    px_fit *fit;
    const pelt_model *input;
    const px_gathered *plan;
    size_t point_block_count;
    double *lanes; /* [LANES][row][row] */
} gather;

/* The first vertex (of the fit) whose point is not before `point`. */
static uint32_t vertex_at(const px_gathered *plan, uint32_t vertex_count, uint32_t point) {
    uint32_t low = 0, high = vertex_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->points[middle] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Trajectories [count][row] of vertices [first, first + count), normalised. */
static pelt_result read_block(const gather *g, uint32_t first, uint32_t count, float *frame, double *out) {
    const px_gathered *plan = g->plan;
    pelt_context *context = g->fit->context;
    uint32_t low = plan->points[first], span = plan->points[first + count - 1] - low + 1;
    size_t rows = g->fit->row_count, row = 0;
    for (uint32_t c = 0; c < g->input->clip_count; c++) {
        const pelt_clip *clip = &g->input->clips[c];
        for (uint32_t k = 0; k < clip->frame_count; k++, row += 3) {
            PX_TRY(pelt_clip_read(context, clip, k, low, span, frame));
            for (uint32_t i = 0; i < count; i++) {
                const float *p = frame + 3 * (size_t)(plan->points[first + i] - low);
                for (int axis = 0; axis < 3; axis++) {
                    if (!isfinite(p[axis]))
                        return px_fail(context, PELT_ERROR_INPUT,
                                       "clip '%s', frame %u, vertex %u: the position is not finite", clip->name, k,
                                       plan->points[first + i]);
                    out[i * rows + row + (size_t)axis] = ((double)p[axis] - plan->center[axis]) / plan->radius;
                }
            }
        }
    }
    return PELT_OK;
}

/* Calls `use` with the trajectories of each block of points of a lane. */
typedef pelt_result use_fn(const gather *g, size_t lane, uint32_t first, uint32_t count, double *block);
static pelt_result each_block(const gather *g, size_t lane, use_fn *use) {
    px_fit *fit = g->fit;
    float *frame = PX_ALLOC(fit->context, float, 3 * BLOCK_POINTS);
    double *block = PX_ALLOC(fit->context, double, px_mul_size(BLOCK_POINTS, fit->row_count));
    pelt_result result = frame && block ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t b = lane; b < g->point_block_count && result == PELT_OK; b += LANES) {
        uint32_t first = vertex_at(g->plan, fit->vertex_count, (uint32_t)(b * BLOCK_POINTS));
        uint32_t end = vertex_at(g->plan, fit->vertex_count, (uint32_t)px_min_size((b + 1) * BLOCK_POINTS, UINT32_MAX));
        if (first == end)
            continue;
        result = read_block(g, first, end - first, frame, block);
        if (result == PELT_OK)
            result = use(g, lane, first, end - first, block);
        if (result == PELT_OK)
            result = px_cancelled(fit->context);
    }
    px_free(fit->context, block);
    px_free(fit->context, frame);
    return result;
}

/* ---- Gram matrix and coordinates -------------------------------------------------------------------------- */

static pelt_result add_gram(const gather *g, size_t lane, uint32_t first, uint32_t count, double *block) {
    size_t rows = g->fit->row_count;
    px_matrix a = px_matrix_in(block, count, rows);
    px_syrk(1, px_transposed(a), 1, px_matrix_of(g->lanes + lane * rows * rows, rows, rows));
    for (uint32_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += block[i * rows + r] * block[i * rows + r];
        g->fit->norms[first + i] = sum;
    }
    return PELT_OK;
}

static pelt_result project(const gather *g, size_t lane, uint32_t first, uint32_t count, double *block) {
    (void)lane;
    px_fit *fit = g->fit;
    size_t rows = fit->row_count, d = fit->dimension;
    px_gemm(1, px_matrix_in(block, count, rows), px_matrix_in(fit->basis, rows, d), 0,
            px_matrix_of(fit->coords + first * d, count, d));
    for (uint32_t i = 0; i < count; i++)
        for (size_t axis = 0; axis < 3; axis++)
            fit->now.rest[3 * (first + i) + axis] = block[i * rows + g->plan->rest_row + axis];
    return PELT_OK;
}

static pelt_result gram_lane(void *user, size_t first, size_t count, size_t block) {
    (void)first, (void)count;
    return each_block(user, block, add_gram);
}

static pelt_result project_lane(void *user, size_t first, size_t count, size_t block) {
    (void)first, (void)count;
    return each_block(user, block, project);
}

/* How many of the leading directions must be kept so that no more than `error` (E_rms) is lost. */
static size_t dimensions_for(const px_fit *fit, const double *values, double error) {
    size_t rows = fit->row_count, cut = 0;
    double limit = error * error * 1e-6 * (double)fit->vertex_count * (double)rows, lost = 0;
    while (cut + 1 < rows && lost + fmax(values[cut], 0) <= limit)
        lost += fmax(values[cut++], 0);
    return rows - cut;
}

/* With no epsilon given: exact where that is cheap; else what loses a fifth of a thousandth, well below what fits
 * reach. */
static size_t choose_dimension(const px_fit *fit, const double *values, double epsilon) {
    if (epsilon > 0)
        return dimensions_for(fit, values, epsilon);
    size_t exact = dimensions_for(fit, values, 1e-3), enough = dimensions_for(fit, values, 0.2);
    return px_min_size(exact, px_max_size(enough, 128));
}

pelt_result px_fit_gather(px_fit *fit, const pelt_model *input, const px_gathered *plan, double epsilon) {
    size_t rows = fit->row_count;
    gather g = {.fit = fit, .input = input, .plan = plan};
    g.point_block_count = px_block_count(plan->point_count, BLOCK_POINTS);
    g.lanes = PX_ALLOC(fit->context, double, px_mul_size(LANES, px_mul_size(rows, rows)));
    double *values = PX_ALLOC(fit->context, double, rows);
    fit->norms = PX_NEW(fit->arena, double, fit->vertex_count);
    pelt_result result = g.lanes && values && fit->norms ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_parallel(fit->context, "reduce", LANES, 1, gram_lane, &g);
    for (size_t e = 0; result == PELT_OK && e < (LANES - 1) * rows * rows; e++)
        g.lanes[e % (rows * rows)] += g.lanes[rows * rows + e];
    if (result == PELT_OK)
        result = px_symmetric_eigen(fit->context, px_matrix_of(g.lanes, rows, rows), values);
    if (result == PELT_OK) {
        fit->dimension = (uint32_t)choose_dimension(fit, values, epsilon);
        fit->basis = PX_NEW(fit->arena, double, rows * fit->dimension);
        fit->coords = PX_NEW(fit->arena, double, px_mul_size(fit->vertex_count, fit->dimension));
        result = fit->basis && fit->coords ? PELT_OK : PELT_ERROR_MEMORY;
    }
    for (size_t e = 0; result == PELT_OK && e < rows * fit->dimension; e++) /* leading directions first */
        fit->basis[e] = g.lanes[(rows - 1 - e % fit->dimension) * rows + e / fit->dimension];
    if (result == PELT_OK)
        result = px_parallel(fit->context, "project", LANES, 1, project_lane, &g);
    px_free(fit->context, values);
    px_free(fit->context, g.lanes);
    return result;
}
