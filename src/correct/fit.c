/* Least squares through the blended transforms: minimise Σ_u share_u Σ_k |B_uk Σ_r c_rk d_ur − e_uk|², with B the linear
 * part of the blended transform and e what the skin misses.
 *
 * With the weights c fixed every unit is a problem of its own, with 3·rank unknowns:
 *   Σ_k c_rk c_sk BᵀB · Δd_s = Σ_k c_rk Bᵀ(e − B x),   x = Σ_r c_rk d_ur
 * and with the places d fixed so is every frame, with rank unknowns. Both are solved for a change from what is there, so
 * that the ridge which singular problems need only shortens the step: no step makes it worse.
 */
#include "correct/correct.h"

#include <math.h>

#define RIDGE       1e-12 /* of the mean diagonal: little more than rounding */
#define FRAME_BLOCK 8u
#define SYMMETRIC   6u /* numbers of BᵀB: xx xy xz yy yz zz */

typedef struct fit_work {
    const px_correction *c;
    px_modes *modes;
    uint32_t rank;
    const double *products; /* [r ≥ s][frame] c_rk · c_sk */
    double *sums;           /* [block] Σ share · |e − B x|² */
    bool fit;               /* else measure only */
} fit_work;

static size_t square(size_t rank) {
    return rank * rank;
}
static size_t pair_count(size_t rank) {
    return rank * (rank + 1) / 2;
}

/* Adds the ridge to a matrix [n][n] and solves for b [n]; b becomes zero when that cannot be. */
static void solve_ridged(double *a, size_t n, double *b) {
    double trace = 0;
    for (size_t e = 0; e < n; e++)
        trace += a[e * n + e];
    for (size_t e = 0; e < n; e++)
        a[e * n + e] += RIDGE * trace / (double)n;
    if (!px_cholesky_solve(px_matrix_of(a, n, n), px_matrix_of(b, n, 1)))
        memset(b, 0, n * sizeof *b);
}

/* ---- Places, and the error -------------------------------------------------------------------------------- */

typedef struct unit_scratch {
    double *moved;    /* [unit][3][frame] x */
    double *squares;  /* [frame][unit][6] BᵀB */
    double *pulled;   /* [frame][unit][3] Bᵀ(e − B x) */
    double *normal;   /* [r ≥ s][unit][6] */
    double *right;    /* [rank][unit][3] */
    double *matrix;   /* [3·rank][3·rank] */
    double *solution; /* [3·rank] */
} unit_scratch;

/* BᵀB and Bᵀr of one unit and frame. */
static void pull_back(const double b[9], const double r[3], double out[SYMMETRIC], double pulled[3]) {
    for (int n = 0, i = 0; i < 3; i++) {
        for (int j = i; j < 3; j++)
            out[n++] = b[i] * b[j] + b[3 + i] * b[3 + j] + b[6 + i] * b[6 + j];
        pulled[i] = b[i] * r[0] + b[3 + i] * r[1] + b[6 + i] * r[2];
    }
}

/* Fills squares and pulled, where fitting, and returns Σ share · |residual|². */
static double visit_units(const fit_work *f, size_t first, size_t count, const unit_scratch *s) {
    const px_correction *c = f->c;
    size_t frames = c->frame_count;
    double sum = 0;
    for (size_t u = 0; u < count; u++) {
        double unit_sum = 0;
        for (size_t k = 0; k < frames; k++) {
            const float *e = c->residuals + ((first + u) * frames + k) * 3;
            const double *x = s->moved + 3 * u * frames + k;
            double b[9], r[3];
            px_correct_blend(c, (uint32_t)(first + u), (uint32_t)k, b);
            for (int a = 0; a < 3; a++) {
                r[a] = (double)e[a] - (b[3 * a] * x[0] + b[3 * a + 1] * x[frames] + b[3 * a + 2] * x[2 * frames]);
                unit_sum += r[a] * r[a];
            }
            if (f->fit)
                pull_back(b, r, s->squares + (k * count + u) * SYMMETRIC, s->pulled + (k * count + u) * 3);
        }
        sum += c->shares[first + u] * unit_sum;
    }
    return sum;
}

/* The matrix [3·rank][3·rank] of a unit from its sums; row 3·r + axis. */
static void assemble(uint32_t rank, size_t unit, size_t count, const unit_scratch *s) {
    static const uint8_t at[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    size_t n = 3 * (size_t)rank, pair = 0;
    for (size_t r = 0; r < rank; r++) {
        for (size_t q = 0; q <= r; q++, pair++)
            for (size_t e = 0; e < 9; e++) {
                double value = s->normal[(pair * count + unit) * SYMMETRIC + at[e]];
                s->matrix[(3 * r + e / 3) * n + 3 * q + e % 3] = value;
                s->matrix[(3 * q + e % 3) * n + 3 * r + e / 3] = value;
            }
        for (size_t a = 0; a < 3; a++)
            s->solution[3 * r + a] = s->right[(r * count + unit) * 3 + a];
    }
}

static void move_units(const fit_work *f, size_t first, size_t count, const unit_scratch *s) {
    const px_correction *c = f->c;
    size_t frames = c->frame_count, pairs = pair_count(f->rank);
    px_gemm(1, px_matrix_in(f->products, pairs, frames), px_matrix_of(s->squares, frames, SYMMETRIC * count), 0,
            px_matrix_of(s->normal, pairs, SYMMETRIC * count));
    px_gemm(1, px_modes_weights(c, f->modes, f->rank), px_matrix_of(s->pulled, frames, 3 * count), 0,
            px_matrix_of(s->right, f->rank, 3 * count));
    for (size_t u = 0; u < count; u++) {
        assemble(f->rank, u, count, s);
        solve_ridged(s->matrix, 3 * (size_t)f->rank, s->solution);
        px_matrix places = px_modes_of(c, f->modes, first + u, 1, f->rank);
        for (size_t r = 0; r < f->rank; r++)
            for (size_t a = 0; a < 3; a++)
                *px_matrix_at(places, a, r) += s->solution[3 * r + a];
    }
}

static bool make_scratch(const fit_work *f, px_arena *arena, size_t count, unit_scratch *s) {
    size_t frames = f->c->frame_count, n = 3 * (size_t)f->rank, pairs = pair_count(f->rank);
    *s = (unit_scratch){.moved = PX_NEW(arena, double, 3 * count * frames)};
    if (!f->fit)
        return s->moved;
    s->squares = PX_NEW(arena, double, SYMMETRIC *count *frames);
    s->pulled = PX_NEW(arena, double, 3 * count * frames);
    s->normal = PX_NEW(arena, double, pairs *count *SYMMETRIC);
    s->right = PX_NEW(arena, double, 3 * count * f->rank);
    s->matrix = PX_NEW(arena, double, n *n);
    s->solution = PX_NEW(arena, double, n);
    return s->moved && s->squares && s->pulled && s->normal && s->right && s->matrix && s->solution;
}

static pelt_result unit_block(void *user, size_t first, size_t count, size_t block) {
    const fit_work *f = user;
    const px_correction *c = f->c;
    px_arena *arena = px_arena_create(c->context);
    unit_scratch s;
    if (!arena || !make_scratch(f, arena, count, &s)) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    if (f->rank > 0)
        px_gemm(1, px_modes_of(c, f->modes, first, count, f->rank), px_modes_weights(c, f->modes, f->rank), 0,
                px_matrix_of(s.moved, 3 * count, c->frame_count));
    f->sums[block] = visit_units(f, first, count, &s);
    if (f->fit)
        move_units(f, first, count, &s);
    px_arena_destroy(arena);
    return PELT_OK;
}

static pelt_result visit_all(fit_work *f, double *error) {
    const px_correction *c = f->c;
    size_t blocks = px_block_count(c->units.count, PX_UNIT_BLOCK);
    f->sums = PX_ALLOC(c->context, double, blocks);
    if (!f->sums)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_parallel(c->context, NULL, c->units.count, PX_UNIT_BLOCK, unit_block, f);
    double sum = 0;
    for (size_t b = 0; b < blocks; b++)
        sum += f->sums[b];
    *error = c->scale * sqrt(sum);
    px_free(c->context, f->sums);
    return result;
}

pelt_result px_correct_measure(const px_correction *c, const px_modes *modes, uint32_t rank, double *error) {
    px_modes same = *modes;
    return visit_all(&(fit_work){.c = c, .modes = &same, .rank = rank}, error);
}

pelt_result px_correct_fit_places(const px_correction *c, px_modes *modes, uint32_t rank, double *error) {
    size_t frames = c->frame_count, pair = 0;
    double *products = PX_ALLOC(c->context, double, pair_count(rank) * frames);
    if (!products)
        return PELT_ERROR_MEMORY;
    for (size_t r = 0; r < rank; r++)
        for (size_t q = 0; q <= r; q++, pair++)
            for (size_t k = 0; k < frames; k++)
                products[pair * frames + k] = modes->weights[r * frames + k] * modes->weights[q * frames + k];
    fit_work f = {.c = c, .modes = modes, .rank = rank, .products = products, .fit = true};
    pelt_result result = visit_all(&f, error);
    px_free(c->context, products);
    return result;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* One unit's share of a frame's problem: a [rank][rank] (lower triangle) and b [rank]. */
static void add_unit(const fit_work *f, size_t unit, size_t k, double *w, double *a, double *b) {
    const px_correction *c = f->c;
    const float *e = c->residuals + (unit * c->frame_count + k) * 3;
    const double *d = f->modes->places + 3 * unit * c->rank_most;
    size_t rank = f->rank, pitch = c->rank_most;
    double m[9], r[3] = {(double)e[0], (double)e[1], (double)e[2]}, share = c->shares[unit];
    px_correct_blend(c, (uint32_t)unit, (uint32_t)k, m);
    for (size_t q = 0; q < rank; q++) {
        double weight = f->modes->weights[q * c->frame_count + k];
        for (size_t x = 0; x < 3; x++) {
            w[3 * q + x] = m[3 * x] * d[q] + m[3 * x + 1] * d[pitch + q] + m[3 * x + 2] * d[2 * pitch + q];
            r[x] -= w[3 * q + x] * weight;
        }
    }
    for (size_t q = 0; q < rank; q++) {
        const double x = share * w[3 * q], y = share * w[3 * q + 1], z = share * w[3 * q + 2];
        b[q] += x * r[0] + y * r[1] + z * r[2];
        for (size_t p = 0; p <= q; p++)
            a[q * rank + p] += x * w[3 * p] + y * w[3 * p + 1] + z * w[3 * p + 2];
    }
}

static pelt_result frame_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fit_work *f = user;
    const px_correction *c = f->c;
    size_t rank = f->rank, width = square(rank) + rank;
    double *sums = PX_ALLOC(c->context, double, count *width + 3 * rank);
    if (!sums)
        return PELT_ERROR_MEMORY;
    double *w = sums + count * width;
    for (size_t u = 0; u < c->units.count; u++)
        for (size_t k = 0; k < count; k++)
            add_unit(f, u, first + k, w, sums + k * width, sums + k * width + square(rank));
    for (size_t k = 0; k < count; k++) {
        double *change = sums + k * width + square(rank);
        solve_ridged(sums + k * width, rank, change);
        for (size_t r = 0; r < rank; r++)
            f->modes->weights[r * c->frame_count + first + k] += change[r];
    }
    px_free(c->context, sums);
    return PELT_OK;
}

pelt_result px_correct_fit_weights(const px_correction *c, px_modes *modes, uint32_t rank) {
    return px_parallel(c->context, NULL, c->frame_count, FRAME_BLOCK, frame_block,
                       &(fit_work){.c = c, .modes = modes, .rank = rank});
}
