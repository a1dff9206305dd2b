/* Least squares through the blended transforms: minimise Σ_u share_u Σ_k |B_uk Σ_r c_rk d_ur − e_uk|², with B the
 * linear part of the blended transform and e the residual of the skin.
 *
 * With fixed weights c, every class is an independent problem with 3·rank unknowns; with fixed displacements d, every
 * frame is one with rank unknowns. Normal equations:
 *   class u:   Σ_s (Σ_k c_rk c_sk BᵀB) d_us = Σ_k c_rk Bᵀe
 *   frame k:  Σ_s (Σ_u share d_urᵀ BᵀB d_us) c_sk = Σ_u share d_ur · Bᵀe
 * BᵀB is a sum over couples of bones, so the inner sums are two matrix products with their squares Q (couples.c). Both
 * are solved for an increment of the present values, so that the ridge, which singular problems need, only shortens the
 * step: no step increases the error. */
#include "correct/correct.h"

#include <math.h>

#define RIDGE        1e-12 /* relative to the mean diagonal: slightly above rounding */
#define FRAME_BLOCK  8u
#define COUPLE_BLOCK 8u
#define LANES        16u /* groups of classes with separate sums: deterministic for any number of threads */

typedef struct fit_work {
    const px_correction *c;
    px_modes *modes;
    uint32_t rank;
    double *products; /* [frame][r ≥ s] c_rk · c_sk; or Σ_u share d_urᵀ BᵀB d_us */
    double *table;    /* [couple][PX_SYMMETRIC][r ≥ s] inner sums per couple */
    double *sums;     /* [block of classes] partial sums of the error */
    double *rights;   /* [lane][frame][rank] right-hand sides of the frames */
} fit_work;

static size_t square(size_t rank) {
    return rank * rank;
}

/* Solves (a + ridge) x = b for a [n][n]; adds the ridge to a's diagonal. b becomes x, or 0 if the factorization
 * fails. */
static void solve_ridged(double *a, size_t n, double *b) {
    double trace = 0;
    for (size_t e = 0; e < n; e++)
        trace += a[e * n + e];
    for (size_t e = 0; e < n; e++)
        a[e * n + e] += RIDGE * trace / (double)n;
    if (!px_cholesky_solve(px_matrix_of(a, n, n), px_matrix_of(b, n, 1)))
        memset(b, 0, n * sizeof *b);
}

/* Converts Bᵀe of classes [first, first + count) to double: [3·count][frame]. */
static px_matrix widen(const px_correction *c, size_t first, size_t count, double *out) {
    const float *pulled = c->pulled + 3 * first * c->frame_count;
    for (size_t e = 0; e < 3 * count * c->frame_count; e++)
        out[e] = (double)pulled[e];
    return px_matrix_of(out, 3 * count, c->frame_count);
}

/* ---- Error ------------------------------------------------------------------------------------------------ */

static double class_error(const px_correction *c, size_t class, const double *moved) {
    size_t frames = c->frame_count;
    double sum = 0;
    for (size_t k = 0; k < frames; k++) {
        const float *e = c->residuals + (class * frames + k) * 3;
        const double *x = moved + k;
        double b[9];
        px_correct_blend(c, (uint32_t) class, (uint32_t)k, b);
        for (int a = 0; a < 3; a++) {
            double r = (double)e[a] - (b[3 * a] * x[0] + b[3 * a + 1] * x[frames] + b[3 * a + 2] * x[2 * frames]);
            sum += r * r;
        }
    }
    return c->shares[class] * sum;
}

static pelt_result measure_block(void *user, size_t first, size_t count, size_t block) {
    const fit_work *f = user;
    const px_correction *c = f->c;
    double *moved = PX_ALLOC(c->context, double, 3 * count * c->frame_count);
    if (!moved)
        return PELT_ERROR_MEMORY;
    if (f->rank > 0)
        px_gemm(1, px_modes_of(c, f->modes, first, count, f->rank), px_modes_weights(c, f->modes, f->rank), 0,
                px_matrix_of(moved, 3 * count, c->frame_count));
    for (size_t u = 0; u < count; u++)
        f->sums[block] += class_error(c, first + u, moved + 3 * u * c->frame_count);
    px_free(c->context, moved);
    return PELT_OK;
}

/* Runs a function over all classes and adds up its partial sums. */
static pelt_result sum_classes(fit_work *f, px_block_fn *run, double *sum) {
    const px_correction *c = f->c;
    size_t blocks = px_block_count(c->classes.count, PX_CLASS_BLOCK);
    f->sums = PX_ALLOC(c->context, double, blocks);
    if (!f->sums)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_parallel(c->context, NULL, c->classes.count, PX_CLASS_BLOCK, run, f);
    *sum = 0;
    for (size_t b = 0; b < blocks; b++)
        *sum += f->sums[b];
    px_free(c->context, f->sums);
    return result;
}

pelt_result px_correct_measure(const px_correction *c, const px_modes *modes, uint32_t rank, double *error) {
    px_modes same = *modes;
    double sum = 0;
    PX_TRY(sum_classes(&(fit_work){.c = c, .modes = &same, .rank = rank}, measure_block, &sum));
    *error = c->scale * sqrt(sum);
    return PELT_OK;
}

/* ---- Places ----------------------------------------------------------------------------------------------- */

typedef struct class_scratch {
    double *wide;   /* [class][3][frame] Bᵀe */
    double *right;  /* [class][3][rank] Σ_k c_rk Bᵀe */
    double *normal; /* [PX_SYMMETRIC][r ≥ s] Σ_k c_rk c_sk BᵀB */
    double *matrix; /* [3·rank][3·rank], row 3·r + axis */
    double *change; /* [2][3·rank] increment, then the residual of the normal equations */
} class_scratch;

/* Σ_k c_rk c_sk Q of every couple. */
static pelt_result table_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit_work *f = user;
    size_t frames = f->c->frame_count, pairs = px_mode_pairs(f->rank), rows = PX_SYMMETRIC * count;
    px_gemm(1, px_matrix_in(f->c->squares + PX_SYMMETRIC * first * frames, rows, frames),
            px_matrix_in(f->products, frames, pairs), 0,
            px_matrix_of(f->table + PX_SYMMETRIC * first * pairs, rows, pairs));
    return PELT_OK;
}

static void make_normal(const fit_work *f, size_t class, double *normal) {
    const px_correction *c = f->c;
    size_t size = PX_SYMMETRIC * px_mode_pairs(f->rank);
    memset(normal, 0, size * sizeof *normal);
    for (uint32_t n = c->class_uses[class]; n < c->class_uses[class + 1]; n++) {
        const double *from = f->table + c->uses[n].couple * size, factor = c->uses[n].factor;
        for (size_t e = 0; e < size; e++)
            normal[e] += factor * from[e];
    }
}

void px_correct_assemble(uint32_t rank, const double *normal, double *matrix) {
    static const uint8_t at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    size_t n = 3 * (size_t)rank, pairs = px_mode_pairs(rank), pair = 0;
    for (size_t r = 0; r < rank; r++)
        for (size_t q = 0; q <= r; q++, pair++)
            for (size_t e = 0; e < 9; e++) {
                double value = normal[at[e] * pairs + pair];
                matrix[(3 * r + e / 3) * n + 3 * q + e % 3] = value;
                matrix[(3 * q + e % 3) * n + 3 * r + e / 3] = value;
            }
}

/* With N d = h the normal equations of the class and m = h − N d their residual, the class's error is |e|² − d·h − d·m,
 * and the increment x with N x = m reduces it by x·m. Returns the error without |e|². */
static double move_class(const fit_work *f, size_t class, const double *right, const class_scratch *s) {
    size_t rank = f->rank, n = 3 * rank;
    px_matrix places = px_modes_of(f->c, f->modes, class, 1, f->rank);
    double error = 0, *left = s->change + n;
    px_correct_assemble(f->rank, s->normal, s->matrix);
    for (size_t e = 0; e < n; e++) {
        double sum = right[e % 3 * rank + e / 3];
        error -= *px_matrix_at(places, e % 3, e / 3) * sum;
        for (size_t q = 0; q < n; q++)
            sum -= s->matrix[e * n + q] * *px_matrix_at(places, q % 3, q / 3);
        s->change[e] = left[e] = sum;
        error -= *px_matrix_at(places, e % 3, e / 3) * sum;
    }
    solve_ridged(s->matrix, n, s->change);
    for (size_t e = 0; e < n; e++) {
        *px_matrix_at(places, e % 3, e / 3) += s->change[e];
        error -= s->change[e] * left[e];
    }
    return error;
}

static bool make_scratch(const fit_work *f, px_arena *arena, size_t count, class_scratch *s) {
    size_t n = 3 * (size_t)f->rank;
    *s = (class_scratch){.wide = PX_NEW(arena, double, 3 * count * f->c->frame_count),
                         .right = PX_NEW(arena, double, n *count),
                         .normal = PX_NEW(arena, double, PX_SYMMETRIC *px_mode_pairs(f->rank)),
                         .matrix = PX_NEW(arena, double, n *n),
                         .change = PX_NEW(arena, double, 2 * n)};
    return s->wide && s->right && s->normal && s->matrix && s->change;
}

static pelt_result places_block(void *user, size_t first, size_t count, size_t block) {
    const fit_work *f = user;
    const px_correction *c = f->c;
    px_arena *arena = px_arena_create(c->context);
    class_scratch s;
    if (!arena || !make_scratch(f, arena, count, &s)) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    px_gemm(1, widen(c, first, count, s.wide), px_transposed(px_modes_weights(c, f->modes, f->rank)), 0,
            px_matrix_of(s.right, 3 * count, f->rank));
    for (size_t u = 0; u < count; u++) {
        make_normal(f, first + u, s.normal);
        f->sums[block] += c->shares[first + u] * move_class(f, first + u, s.right + 3 * u * f->rank, &s);
    }
    px_arena_destroy(arena);
    return PELT_OK;
}

static bool make_work(fit_work *f) {
    size_t pairs = px_mode_pairs(f->rank);
    f->products = PX_ALLOC(f->c->context, double, pairs * f->c->frame_count);
    f->table =
        px_alloc(f->c->context, px_mul_size(px_mul_size(f->c->couple_count, PX_SYMMETRIC), pairs), sizeof(double));
    return f->products && f->table;
}

static void free_work(fit_work *f) {
    px_free(f->c->context, f->products);
    px_free(f->c->context, f->table);
}

pelt_result px_correct_fit_places(const px_correction *c, px_modes *modes, uint32_t rank, double *error) {
    size_t frames = c->frame_count, at = 0;
    fit_work f = {.c = c, .modes = modes, .rank = rank};
    pelt_result result = make_work(&f) ? PELT_OK : PELT_ERROR_MEMORY;
    for (size_t k = 0; result == PELT_OK && k < frames; k++)
        for (size_t r = 0; r < rank; r++)
            for (size_t q = 0; q <= r; q++)
                f.products[at++] = modes->weights[r * frames + k] * modes->weights[q * frames + k];
    double sum = 0, whole = c->errors[0] / c->scale;
    if (result == PELT_OK)
        result = px_parallel(c->context, NULL, c->couple_count, COUPLE_BLOCK, table_block, &f);
    if (result == PELT_OK)
        result = sum_classes(&f, places_block, &sum);
    *error = c->scale * sqrt(fmax(whole * whole + sum, 0));
    free_work(&f);
    return result;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* Σ_u factor share d_ur d_usᵀ of one couple, symmetric in the axes: [PX_SYMMETRIC][r ≥ s]. */
static void fold(uint32_t rank, const double *matrix, double *out) {
    size_t n = 3 * (size_t)rank;
    for (size_t x = 0; x < 3; x++)
        for (size_t y = x; y < 3; y++)
            for (size_t r = 0; r < rank; r++)
                for (size_t q = 0; q <= r; q++)
                    *out++ = matrix[(x * rank + r) * n + y * rank + q] +
                             (x == y ? 0 : matrix[(y * rank + r) * n + x * rank + q]);
}

#define ROWS 64u /* classes of a couple per matrix product */

static void square_couple(const fit_work *f, size_t couple, double *rows, double *matrix) {
    const px_correction *c = f->c;
    size_t rank = f->rank, n = 3 * rank, end = c->couple_uses[couple + 1], count;
    memset(matrix, 0, n * n * sizeof *matrix);
    for (size_t at = c->couple_uses[couple]; at < end; at += count) {
        count = px_min_size(ROWS, end - at);
        for (size_t row = 0; row < count; row++) {
            const px_couple_use *use = &c->uses[c->sorted[at + row]];
            const double *d = f->modes->places + 3 * (size_t)use->class * c->rank_most;
            double factor = sqrt(use->factor * c->shares[use->class]);
            for (size_t e = 0; e < n; e++)
                rows[row * n + e] = factor * d[e / rank * c->rank_most + e % rank];
        }
        px_syrk(1, px_transposed(px_matrix_of(rows, count, n)), 1, px_matrix_of(matrix, n, n));
    }
}

static pelt_result couple_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit_work *f = user;
    size_t n = 3 * (size_t)f->rank;
    double *rows = PX_ALLOC(f->c->context, double, (ROWS + n) * n);
    for (size_t p = first; rows && p < first + count; p++) {
        square_couple(f, p, rows, rows + ROWS * n);
        fold(f->rank, rows + ROWS * n, f->table + p * PX_SYMMETRIC * px_mode_pairs(f->rank));
    }
    px_free(f->c->context, rows);
    return rows ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Σ_u share d_ur · Bᵀe of every frame. */
static pelt_result right_lane(void *user, size_t first, size_t count, size_t lane) {
    const fit_work *f = user;
    const px_correction *c = f->c;
    size_t frames = c->frame_count, rank = f->rank, n;
    double *wide = PX_ALLOC(c->context, double, 3 * PX_CLASS_BLOCK * (frames + rank));
    for (size_t u = first; wide && u < first + count; u += n) {
        n = px_min_size(PX_CLASS_BLOCK, first + count - u);
        double *rows = wide + 3 * PX_CLASS_BLOCK * frames;
        for (size_t e = 0; e < 3 * n * rank; e++)
            rows[e] = c->shares[u + e / (3 * rank)] * f->modes->places[(3 * u + e / rank) * c->rank_most + e % rank];
        px_gemm(1, px_transposed(widen(c, u, n, wide)), px_matrix_of(rows, 3 * n, rank), 1,
                px_matrix_of(f->rights + lane * frames * rank, frames, rank));
    }
    px_free(c->context, wide);
    return wide ? PELT_OK : PELT_ERROR_MEMORY;
}

static void move_frame(const fit_work *f, size_t k, double *matrix, double *change) {
    const px_correction *c = f->c;
    size_t rank = f->rank, frames = c->frame_count;
    const double *at = f->products + k * px_mode_pairs(rank);
    for (size_t r = 0; r < rank; r++)
        for (size_t q = 0; q <= r; q++)
            matrix[r * rank + q] = matrix[q * rank + r] = *at++;
    for (size_t r = 0; r < rank; r++) {
        change[r] = 0;
        for (size_t lane = 0; lane < LANES; lane++)
            change[r] += f->rights[(lane * frames + k) * rank + r];
        for (size_t q = 0; q < rank; q++)
            change[r] -= matrix[r * rank + q] * f->modes->weights[q * frames + k];
    }
    solve_ridged(matrix, rank, change);
    for (size_t r = 0; r < rank; r++)
        f->modes->weights[r * frames + k] += change[r];
}

static pelt_result frame_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit_work *f = user;
    const px_correction *c = f->c;
    size_t pairs = px_mode_pairs(f->rank), rows = PX_SYMMETRIC * (size_t)c->couple_count;
    double *matrix = PX_ALLOC(c->context, double, square(f->rank) + f->rank);
    if (!matrix)
        return PELT_ERROR_MEMORY;
    px_matrix squares = px_matrix_part(px_matrix_in(c->squares, rows, c->frame_count), 0, rows, first, count);
    px_gemm(1, px_transposed(squares), px_matrix_of(f->table, rows, pairs), 0,
            px_matrix_of(f->products + first * pairs, count, pairs));
    for (size_t k = first; k < first + count; k++)
        move_frame(f, k, matrix, matrix + square(f->rank));
    px_free(c->context, matrix);
    return PELT_OK;
}

pelt_result px_correct_fit_weights(const px_correction *c, px_modes *modes, uint32_t rank) {
    fit_work f = {.c = c, .modes = modes, .rank = rank};
    f.rights = PX_ALLOC(c->context, double, (size_t)LANES * c->frame_count * rank);
    pelt_result result = make_work(&f) && f.rights ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_parallel(c->context, NULL, c->couple_count, COUPLE_BLOCK, couple_block, &f);
    if (result == PELT_OK)
        result =
            px_parallel(c->context, NULL, c->classes.count, px_block_count(c->classes.count, LANES), right_lane, &f);
    if (result == PELT_OK)
        result = px_parallel(c->context, NULL, c->frame_count, FRAME_BLOCK, frame_block, &f);
    px_free(c->context, f.rights);
    free_work(&f);
    return result;
}
