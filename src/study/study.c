/* The trajectory matrix A [point][3 · frame] of a model's clips, and its singular value decomposition by the smaller of
 * the Gram matrices A·Aᵀ and Aᵀ·A. */
#include "study/study.h"

#include "core/ball.h"
#include "core/group.h"

#include <math.h>

#define FRAMES_PER_TASK 4u
#define POINTS_PER_TASK 256u
#define LEAF_POINTS     4096u

/* ---- Principal directions --------------------------------------------------------------------------------- */

/* Squared singular values below this fraction of the largest are rounding errors of the Gram matrix. */
#define ROUNDING_LEVEL 1e-14

/* Replaces a Gram matrix by its eigenvectors, one per row, ascending. squares [count]: the largest eigenvalues, descending. */
static pelt_result leading(pelt_context *context, px_matrix gram, size_t count, double *squares) {
    size_t n = gram.rows;
    double *values = PX_ALLOC(context, double, n);
    pelt_result result = values ? px_symmetric_eigen(context, gram, values) : PELT_ERROR_MEMORY;
    for (size_t e = 0; result == PELT_OK && e < count; e++)
        squares[e] = values[n - 1 - e] > ROUNDING_LEVEL * values[n - 1] ? values[n - 1 - e] : 0;
    px_free(context, values);
    return result;
}

pelt_result px_study_principal(pelt_context *context, px_matrix a, size_t count, double *squares, px_matrix out) {
    bool wide = a.rows < a.columns; /* use the smaller Gram matrix: a·aᵀ or aᵀ·a */
    size_t n = wide ? a.rows : a.columns;
    double *gram = PX_ALLOC(context, double, px_mul_size(n, n));
    pelt_result result = gram ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        px_syrk(1, wide ? a : px_transposed(a), 0, px_matrix_of(gram, n, n));
        result = leading(context, px_matrix_of(gram, n, n), count, squares);
    }
    for (size_t e = 0; result == PELT_OK && e < count; e++) {
        px_matrix vector = px_matrix_of(gram + (n - 1 - e) * n, 1, n), row = px_matrix_part(out, e, 1, 0, out.columns);
        if (squares[e] == 0)
            memset(row.data, 0, out.columns * sizeof *row.data);
        else if (wide)
            px_gemm(1 / sqrt(squares[e]), vector, a, 0, row);
        else
            memcpy(row.data, vector.data, n * sizeof *row.data);
    }
    px_free(context, gram);
    return result;
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

/* The points of this process: all, unless there are at least as many points as rows, which the processes of a group divide. */
typedef struct reading {
    pelt_study *study;
    const pelt_model *model;
    px_leaves leaves;
    uint32_t first, count; /* own points */
    double *rows;          /* [own point][3 frame] */
} reading;

static pelt_result take_frame(const reading *job, const pelt_clip *clip, uint32_t frame, size_t column,
                              const float *points) {
    const pelt_study *s = job->study;
    size_t width = 3 * (size_t)s->frame_count;
    for (uint32_t i = 0; i < job->count; i++)
        for (size_t axis = 0; axis < 3; axis++) {
            float value = points[3 * (size_t)i + axis];
            if (!isfinite(value))
                return px_fail(s->context, PELT_ERROR_INPUT,
                               "clip '%s', frame %u, point %u: the position is not finite", clip->name, frame,
                               job->first + i);
            job->rows[i * width + column + axis] = ((double)value - s->center[axis]) / s->radius;
        }
    return PELT_OK;
}

static pelt_result read_frames(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const reading *job = user;
    const pelt_study *s = job->study;
    float *points = PX_ALLOC(s->context, float, 3 * (size_t)job->count + 1);
    pelt_result result = points ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t k = first; k < first + count && result == PELT_OK; k++) {
        const pelt_clip *clip = job->model->clips;
        uint32_t frame = (uint32_t)k;
        for (; frame >= clip->frame_count; clip++)
            frame -= clip->frame_count;
        result = pelt_clip_read(s->context, clip, frame, job->first, job->count, points);
        if (result == PELT_OK)
            result = take_frame(job, clip, frame, 3 * k, points);
        px_clip_release(clip, job->count);
    }
    px_free(s->context, points);
    return result;
}

/* Centre and radius are those of the error measures: see px_clip_ball. */
static pelt_result normalise(pelt_study *s, const pelt_model *model) {
    const pelt_clip *clip = model->clips;
    while (clip->frame_count == 0)
        clip++;
    pelt_ball ball;
    uint32_t frame;
    PX_TRY(px_clip_ball_shared(s->context, clip, &ball, &frame));
    memcpy(s->center, ball.center, sizeof s->center);
    s->radius = ball.radius;
    return PELT_OK;
}

/* ---- Reducing --------------------------------------------------------------------------------------------- */

static pelt_result project_points(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const reading *job = user;
    const pelt_study *s = job->study;
    size_t width = 3 * (size_t)s->frame_count, D = s->dimension;
    px_gemm(1, px_matrix_in(job->rows + first * width, count, width),
            px_transposed(px_matrix_in(s->directions, D, width)), 0,
            px_matrix_of(s->coords + (job->first + first) * D, count, D));
    return PELT_OK;
}

/* Aᵀ·A of a leaf. */
static pelt_result add_products(void *user, size_t first, size_t count, double *gram) {
    const reading *job = user;
    size_t width = 3 * (size_t)job->study->frame_count;
    px_syrk(1, px_transposed(px_matrix_in(job->rows + (first - job->first) * width, count, width)), 0,
            px_matrix_of(gram, width, width));
    return PELT_OK;
}

/* px_study_principal of A, of which each process has its own points. */
static pelt_result find_directions(reading *job, size_t count, double *squares, px_matrix out) {
    pelt_study *s = job->study;
    size_t width = 3 * (size_t)s->frame_count;
    if (s->point_count < width)
        return px_study_principal(s->context, px_matrix_in(job->rows, s->point_count, width), count, squares, out);
    double *gram = PX_ALLOC(s->context, double, px_mul_size(width, width));
    pelt_result result =
        gram ? px_leaves_sum(s->context, &job->leaves, width * width, add_products, job, gram) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = leading(s->context, px_matrix_of(gram, width, width), count, squares);
    for (size_t e = 0; result == PELT_OK && e < count; e++)
        memcpy(out.data + e * width, gram + (width - 1 - e) * width, squares[e] > 0 ? width * sizeof *gram : 0);
    px_free(s->context, gram);
    return result;
}

static pelt_result reduce(reading *job) {
    pelt_study *s = job->study;
    size_t N = s->point_count, width = 3 * (size_t)s->frame_count, most = px_min_size(N, width);
    s->directions = PX_NEW(s->arena, double, px_mul_size(most, width));
    s->errors = PX_NEW(s->arena, double, most + 1);
    if (!s->directions || !s->errors)
        return PELT_ERROR_MEMORY;
    PX_TRY(find_directions(job, most, s->errors, px_matrix_of(s->directions, most, width)));
    while (s->dimension < most && s->errors[s->dimension] > 0)
        s->dimension++;
    double left = 0; /* smallest first, to keep small terms from rounding away */
    for (size_t e = s->dimension + 1; e-- > 0;) {
        left += e < s->dimension ? s->errors[e] : 0;
        s->errors[e] = 1000 * sqrt(left / ((double)N * (double)width));
    }
    s->coords = PX_NEW(s->arena, double, px_mul_size(N, s->dimension));
    if (!s->coords)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(s->context, "project", job->count, POINTS_PER_TASK, project_points, job));
    return px_leaves_gather(s->context, &job->leaves, s->coords, s->dimension * sizeof *s->coords);
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

static pelt_result count_frames(pelt_study *s, const pelt_model *model) {
    uint64_t frames = 0;
    for (uint32_t c = 0; c < model->clip_count; c++)
        frames += model->clips[c].frame_count;
    s->point_count = model->mesh.points.count;
    if (frames == 0 || s->point_count == 0)
        return px_fail(s->context, PELT_ERROR_INPUT, "there is no animation in it to study");
    if (frames > INT32_MAX / 3 || px_min_size(s->point_count, 3 * (size_t)frames) > PELT_STUDY_MOST)
        return px_fail(s->context, PELT_ERROR_UNSUPPORTED,
                       "%u points in %llu frames are too many for principal components: there may be up to %u points, "
                       "or up to %u frames",
                       s->point_count, (unsigned long long)frames, PELT_STUDY_MOST, PELT_STUDY_MOST / 3);
    s->frame_count = (uint32_t)frames;
    return PELT_OK;
}

static pelt_result read_and_reduce(pelt_study *s, const pelt_model *model) {
    PX_TRY(count_frames(s, model));
    PX_TRY(normalise(s, model));
    reading job = {.study = s, .model = model};
    job.leaves =
        px_leaves_make(s->context, s->point_count, LEAF_POINTS, s->point_count >= 3 * (uint64_t)s->frame_count);
    job.first = (uint32_t)px_leaves_first(&job.leaves);
    job.count = (uint32_t)px_leaves_own(&job.leaves);
    job.rows = PX_ALLOC(s->context, double, px_mul_size(job.count, 3 * (size_t)s->frame_count) + 1);
    if (!job.rows)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_parallel(s->context, "read", s->frame_count, FRAMES_PER_TASK, read_frames, &job);
    if (result == PELT_OK)
        result = reduce(&job);
    px_free(s->context, job.rows);
    return result;
}

pelt_result pelt_study_create(pelt_context *context, const pelt_model *model, pelt_study **study) {
    *study = NULL;
    px_arena *arena = px_arena_create(context);
    pelt_study *s = arena ? PX_NEW(arena, pelt_study, 1) : NULL;
    if (!s) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    s->context = context;
    s->arena = arena;
    pelt_result result = read_and_reduce(s, model);
    if (result == PELT_OK)
        *study = s;
    else
        px_arena_destroy(arena);
    return px_group_end(context, result);
}

void pelt_study_destroy(pelt_study *study) {
    if (study)
        px_arena_destroy(study->arena);
}

const double *pelt_study_errors(const pelt_study *study, uint32_t *count) {
    *count = (uint32_t)study->dimension + 1;
    return study->errors;
}
