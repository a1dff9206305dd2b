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

static pelt_result measure_block(void *user, size_t first, size_t count, size_t block) {
    const fit_work *f = user;
    const px_correction *c = f->c;
    size_t frames = c->frame_count;
    double *moved = PX_ALLOC(c->context, double, 3 * count * frames); /* [class][3][frame] Σ_r c_rk d_ur */
    if (!moved)
        return PELT_ERROR_MEMORY;
    if (f->rank > 0)
        px_gemm(1, px_modes_of(c, f->modes, first, count, f->rank), px_modes_weights(c, f->modes, f->rank), 0,
                px_matrix_of(moved, 3 * count, frames));
    for (size_t u = 0; u < count; u++) {
        double sum = 0;
        for (size_t k = 0; k < frames; k++) {
            const float *e = c->residuals + ((first + u) * frames + k) * 3;
            const double *x = moved + 3 * u * frames + k;
            double b[9];
            px_correct_blend(c, (uint32_t)(first + u), (uint32_t)k, b);
            for (int a = 0; a < 3; a++) {
                double r = (double)e[a] - (b[3 * a] * x[0] + b[3 * a + 1] * x[frames] + b[3 * a + 2] * x[2 * frames]);
                sum += r * r;
            }
        }
        f->sums[block] += c->shares[first + u] * sum;
    }
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

/* Solves the problems of some classes. With N d = h the normal equations of a class and m = h − N d their residual, the
 * class's error is |e|² − d·h − d·m, and the increment x with N x = m reduces it by x·m. Sums have the errors without
 * |e|². */
static pelt_result places_block(void *user, size_t first, size_t count, size_t block) {
    const fit_work *f = user;
    const px_correction *c = f->c;
    size_t rank = f->rank, n = 3 * rank, size = PX_SYMMETRIC * px_mode_pairs(f->rank);
    px_arena *arena = px_arena_create(c->context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    double *wide = PX_NEW(arena, double, 3 * count * c->frame_count); /* [class][3][frame] Bᵀe */
    double *rights = PX_NEW(arena, double, n *count);                 /* [class][3][rank] Σ_k c_rk Bᵀe */
    double *normal = PX_NEW(arena, double, size);                     /* [PX_SYMMETRIC][r ≥ s] Σ_k c_rk c_sk BᵀB */
    double *matrix = PX_NEW(arena, double, n *n);                     /* N; row 3·r + axis */
    double *change = PX_NEW(arena, double, n), *left = PX_NEW(arena, double, n); /* x, m */
    bool ready = wide && rights && normal && matrix && change && left;
    if (ready)
        px_gemm(1, widen(c, first, count, wide), px_transposed(px_modes_weights(c, f->modes, f->rank)), 0,
                px_matrix_of(rights, 3 * count, rank));
    for (size_t u = first; ready && u < first + count; u++) {
        memset(normal, 0, size * sizeof *normal);
        for (uint32_t use = c->class_uses[u]; use < c->class_uses[u + 1]; use++) {
            const double *from = f->table + c->uses[use].couple * size, factor = c->uses[use].factor;
            for (size_t e = 0; e < size; e++)
                normal[e] += factor * from[e];
        }
        px_correct_assemble(f->rank, normal, matrix);
        px_matrix places = px_modes_of(c, f->modes, u, 1, f->rank);
        const double *right = rights + (u - first) * n;
        double error = 0;
        for (size_t e = 0; e < n; e++) {
            double sum = right[e % 3 * rank + e / 3];
            error -= *px_matrix_at(places, e % 3, e / 3) * sum;
            for (size_t q = 0; q < n; q++)
                sum -= matrix[e * n + q] * *px_matrix_at(places, q % 3, q / 3);
            change[e] = left[e] = sum;
            error -= *px_matrix_at(places, e % 3, e / 3) * sum;
        }
        solve_ridged(matrix, n, change);
        for (size_t e = 0; e < n; e++) {
            *px_matrix_at(places, e % 3, e / 3) += change[e];
            error -= change[e] * left[e];
        }
        f->sums[block] += c->shares[u] * error;
    }
    px_arena_destroy(arena);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
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
    *error = c->scale * sqrt(px_fmax(whole * whole + sum, 0));
    free_work(&f);
    return result;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

#define ROWS 64u /* classes of a couple per matrix product */

/* Σ_u factor share d_ur d_usᵀ of every couple, symmetric in the axes: [PX_SYMMETRIC][r ≥ s]. */
static pelt_result couple_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit_work *f = user;
    const px_correction *c = f->c;
    size_t rank = f->rank, n = 3 * rank;
    double *rows = PX_ALLOC(c->context, double, (ROWS + n) * n);
    if (!rows)
        return PELT_ERROR_MEMORY;
    double *matrix = rows + ROWS * n; /* [3·rank][3·rank], row axis · rank + r */
    for (size_t p = first; p < first + count; p++) {
        memset(matrix, 0, n * n * sizeof *matrix);
        for (size_t at = c->couple_uses[p], end = c->couple_uses[p + 1], some; at < end; at += some) {
            some = px_min_size(ROWS, end - at);
            for (size_t row = 0; row < some; row++) {
                const px_couple_use *use = &c->uses[c->sorted[at + row]];
                const double *d = f->modes->places + 3 * (size_t)use->class * c->rank_most;
                double factor = sqrt(use->factor * c->shares[use->class]);
                for (size_t e = 0; e < n; e++)
                    rows[row * n + e] = factor * d[e / rank * c->rank_most + e % rank];
            }
            px_syrk(1, px_transposed(px_matrix_of(rows, some, n)), 1, px_matrix_of(matrix, n, n));
        }
        double *out = f->table + p * PX_SYMMETRIC * px_mode_pairs(f->rank);
        for (size_t x = 0; x < 3; x++)
            for (size_t y = x; y < 3; y++)
                for (size_t r = 0; r < rank; r++)
                    for (size_t q = 0; q <= r; q++)
                        *out++ = matrix[(x * rank + r) * n + y * rank + q] +
                                 (x == y ? 0 : matrix[(y * rank + r) * n + x * rank + q]);
    }
    px_free(c->context, rows);
    return PELT_OK;
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

/* Solves the problems of some frames. */
static pelt_result frame_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit_work *f = user;
    const px_correction *c = f->c;
    size_t rank = f->rank, frames = c->frame_count, pairs = px_mode_pairs(f->rank);
    size_t rows = PX_SYMMETRIC * (size_t)c->couple_count;
    double *matrix = PX_ALLOC(c->context, double, rank *rank + rank);
    if (!matrix)
        return PELT_ERROR_MEMORY;
    double *change = matrix + rank * rank;
    px_matrix squares = px_matrix_part(px_matrix_in(c->squares, rows, frames), 0, rows, first, count);
    px_gemm(1, px_transposed(squares), px_matrix_of(f->table, rows, pairs), 0,
            px_matrix_of(f->products + first * pairs, count, pairs));
    for (size_t k = first; k < first + count; k++) {
        const double *at = f->products + k * pairs;
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
