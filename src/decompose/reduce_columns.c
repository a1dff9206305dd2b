/* Algorithm 1 of FESAM: picks directions one at a time from the columns of the residual of A.
 *
 * `max` takes the longest column, `gram-schmidt` the columns in order, `power1` and `power2` the longest column after
 * one or two power iterations; `max-plain` is `max` without the stabilisation of line 5. They exist for comparison
 * (Table 1 and Figure 4 of the paper); the exact reduction is more accurate and faster. A is held in memory whole.
 *
 *   paper   here      shape
 *   A_i     left      [vertex][row] residual
 *   m_i     a row of `directions` [dimension][row]
 */
#include "decompose/reduce.h"

#include <math.h>

#define COLUMNS_PER_TASK 64u
#define FIRST_CAPACITY   64u
#define DEFAULT_EPSILON  0.5 /* E_rms; FESAM section 5 */

typedef struct columns {
    px_reduction *r;
    double *left;       /* [vertex][row] */
    double *lengths;    /* [vertex] squared length of the residual */
    double *directions; /* [capacity][row] */
    double *scratch;    /* [capacity] */
    size_t count, capacity;
    size_t next;    /* gram-schmidt: next column */
    double noise;   /* squared length below which a residual is rounding */
    double *sums;   /* power method: [task][row] */
    double *direct; /* [row] direction in use by the parallel tasks */
} columns;

/* ---- Passes over the columns ------------------------------------------------------------------------------ */

static double dot(const double *a, const double *b, size_t count) {
    double sums[4] = {0, 0, 0, 0};
    size_t e = 0;
    for (; e + 4 <= count; e += 4)
        for (size_t l = 0; l < 4; l++)
            sums[l] += a[e + l] * b[e + l];
    for (; e < count; e++)
        sums[0] += a[e] * b[e];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static pelt_result measure_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    columns *c = user;
    size_t rows = c->r->fit->row_count;
    for (size_t i = first; i < first + count; i++)
        c->lengths[i] = dot(c->left + i * rows, c->left + i * rows, rows);
    return PELT_OK;
}

/* Deflation: A − m mᵀA. */
static pelt_result deflate_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    columns *c = user;
    size_t rows = c->r->fit->row_count;
    for (size_t i = first; i < first + count; i++) {
        double *a = c->left + i * rows, amount = dot(a, c->direct, rows);
        for (size_t e = 0; e < rows; e++)
            a[e] -= amount * c->direct[e];
        c->lengths[i] = dot(a, a, rows);
    }
    return PELT_OK;
}

static pelt_result power_some(void *user, size_t first, size_t count, size_t block) {
    columns *c = user;
    size_t rows = c->r->fit->row_count;
    double *sum = c->sums + block * rows;
    memset(sum, 0, rows * sizeof *sum);
    for (size_t i = first; i < first + count; i++) {
        const double *a = c->left + i * rows;
        double amount = dot(a, c->direct, rows);
        for (size_t e = 0; e < rows; e++)
            sum[e] += amount * a[e];
    }
    return PELT_OK;
}

static pelt_result each_column(columns *c, px_block_fn *run) {
    return px_parallel(c->r->fit->context, NULL, c->r->fit->vertex_count, COLUMNS_PER_TASK, run, c);
}

/* ---- Directions ------------------------------------------------------------------------------------------- */

static size_t longest(const columns *c) {
    size_t best = 0;
    for (size_t i = 1; i < c->r->fit->vertex_count; i++)
        if (c->lengths[i] > c->lengths[best])
            best = i;
    return best;
}

/* One power iteration, m := A Aᵀ m, not normalised. */
static pelt_result power(columns *c) {
    size_t rows = c->r->fit->row_count;
    PX_TRY(each_column(c, power_some));
    memcpy(c->direct, c->sums, rows * sizeof *c->direct);
    for (size_t b = 1; b < px_block_count(c->r->fit->vertex_count, COLUMNS_PER_TASK); b++)
        for (size_t e = 0; e < rows; e++)
            c->direct[e] += c->sums[b * rows + e];
    return PELT_OK;
}

/* The next column whose residual exceeds rounding. */
static size_t next_column(columns *c) {
    while (c->next + 1 < c->r->fit->vertex_count && c->lengths[c->next] <= c->noise)
        c->next++;
    return c->next++;
}

static pelt_result pick(columns *c) {
    uint32_t method = c->r->desc->reduce;
    size_t rows = c->r->fit->row_count, column = method == PELT_REDUCE_GRAM_SCHMIDT ? next_column(c) : longest(c);
    c->direct = c->directions + c->count * rows;
    memcpy(c->direct, c->left + column * rows, rows * sizeof *c->direct);
    int powers = method == PELT_REDUCE_POWER1 ? 1 : method == PELT_REDUCE_POWER2 ? 2 : 0;
    for (int n = 0; n < powers; n++)
        PX_TRY(power(c));
    return PELT_OK;
}

static pelt_result grow(columns *c) {
    if (c->count < c->capacity)
        return PELT_OK;
    size_t capacity = c->capacity ? 2 * c->capacity : FIRST_CAPACITY;
    pelt_context *context = c->r->fit->context;
    double *directions = px_resize(context, c->directions, px_mul_size(capacity, c->r->fit->row_count), sizeof(double));
    c->directions = directions ? directions : c->directions;
    double *scratch = directions ? px_resize(context, c->scratch, capacity, sizeof(double)) : NULL;
    c->scratch = scratch ? scratch : c->scratch;
    c->capacity = scratch ? capacity : c->capacity;
    return scratch ? PELT_OK : PELT_ERROR_MEMORY;
}

static double squares_left(const columns *c) {
    double sum = 0;
    for (size_t i = 0; i < c->r->fit->vertex_count; i++)
        sum += c->lengths[i];
    return sum;
}

static void normalise(double *v, size_t count) {
    double length = sqrt(dot(v, v, count));
    for (size_t e = 0; e < count && length > 0; e++)
        v[e] /= length;
}

/* Largest entry of |BᵀB − I|. */
static double basis_error(const columns *c) {
    size_t rows = c->r->fit->row_count;
    double most = 0;
    for (size_t a = 0; a < c->count; a++)
        for (size_t b = 0; b <= a; b++)
            most = px_fmax(most, fabs(dot(c->directions + a * rows, c->directions + b * rows, rows) - (a == b)));
    return most;
}

static pelt_result find_directions(columns *c) {
    const px_fit *fit = c->r->fit;
    double epsilon = c->r->desc->epsilon > 0 ? c->r->desc->epsilon : DEFAULT_EPSILON;
    double limit = px_reduction_limit(fit, epsilon);
    size_t most = px_min_size(fit->row_count, fit->vertex_count);
    PX_TRY(each_column(c, measure_some));
    c->noise = 1e-24 * c->lengths[longest(c)];
    while (c->count < most && c->next < fit->vertex_count && squares_left(c) > limit) {
        PX_TRY(px_progress(fit->context, "reduce", c->count, most));
        PX_TRY(grow(c));
        PX_TRY(pick(c));
        if (c->r->desc->reduce == PELT_REDUCE_MAX_PLAIN)
            normalise(c->direct, fit->row_count);
        else if (px_orthonormalise(c->directions, c->count, fit->row_count, c->scratch) == 0) {
            if (c->r->desc->reduce == PELT_REDUCE_GRAM_SCHMIDT)
                continue; /* column in the span of the previous ones: try the next */
            break;
        }
        PX_TRY(each_column(c, deflate_some));
        c->count++;
    }
    return PELT_OK;
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

static pelt_result copy_block(px_reduction *r, void *user, uint32_t first, uint32_t count, double *values) {
    columns *c = user;
    size_t rows = r->fit->row_count;
    (void)values;
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < count; i++)
            c->left[(first + i) * rows + row] = r->block[row * count + i];
    return PELT_OK;
}

static pelt_result check_memory(const px_reduction *r) {
    static const char *const names[] = {"svd", "max", "gram-schmidt", "power1", "power2", "max-plain"};
    size_t size = px_mul_size(px_mul_size(r->fit->vertex_count, r->fit->row_count), sizeof(double));
    if (r->desc->memory == 0 || size <= r->desc->memory)
        return PELT_OK;
    return px_fail(
        r->fit->context, PELT_ERROR_MEMORY,
        "the reduction '%s' holds the whole animation, %zu MB, more than the %zu MB allowed; use 'svd', which "
        "streams it",
        names[r->desc->reduce], size >> 20, r->desc->memory >> 20);
}

static pelt_result reduce_columns(columns *c) {
    px_fit *fit = c->r->fit;
    size_t rows = fit->row_count, tasks = px_block_count(fit->vertex_count, COLUMNS_PER_TASK);
    bool powers = c->r->desc->reduce == PELT_REDUCE_POWER1 || c->r->desc->reduce == PELT_REDUCE_POWER2;
    c->left = PX_ALLOC(fit->context, double, px_mul_size(fit->vertex_count, rows));
    c->lengths = c->left ? PX_ALLOC(fit->context, double, fit->vertex_count) : NULL;
    c->sums = powers && c->lengths ? PX_ALLOC(fit->context, double, px_mul_size(tasks, rows)) : NULL;
    if (!c->lengths || (powers && !c->sums))
        return PELT_ERROR_MEMORY;
    double none;
    PX_TRY(px_reduction_sum(c->r, "reduce", 1, copy_block, c, &none));
    PX_TRY(find_directions(c));
    fit->basis_error = basis_error(c);
    fit->dimension = (uint32_t)px_max_size(c->count, 1); /* all positions are zero: one zero direction */
    fit->basis = PX_NEW(fit->arena, double, px_mul_size(rows, fit->dimension));
    if (!fit->basis)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; c->count && e < rows * c->count; e++)
        fit->basis[e] = c->directions[e % c->count * rows + e / c->count];
    return PELT_OK;
}

pelt_result px_reduce_columns(px_reduction *r) {
    PX_TRY(check_memory(r));
    columns c = {.r = r};
    pelt_result result = reduce_columns(&c);
    pelt_context *context = r->fit->context;
    px_free(context, c.scratch);
    px_free(context, c.directions);
    px_free(context, c.sums);
    px_free(context, c.lengths);
    px_free(context, c.left);
    return result;
}
