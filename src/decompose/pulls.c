/* Strengths of the penalties of pulls.h, and the rotations that bones are pulled to. */
#include "decompose/pulls.h"
#include "decompose/blocks.h"
#include "decompose/divide.h"
#include "decompose/kinds.h"

#include <math.h>

#define REST_SHARE      0.02 /* penalty on rest positions, as a fraction of the objective: affine bones … */
#define REST_SHARE_KIND 0.01 /* … and other kinds, which hold the rest pose better */
#define REST_SHARE_FIRM 1.0  /* the same with rest_firm: moves them back as far as the error allows */
#define MOST_CHANGE     2.0  /* largest factor of change of a strength per step: the state follows it slowly */
/* Affine bones: the initial rest pose counts at least like this many frames, unless a displacement of REST_SIZE (of the radius) would
 * cost more than REST_MOST of the objective: exact fits stay exact. */
#define REST_FRAMES 0.08
#define REST_SIZE   0.004
#define REST_MOST   0.1

#define FRAMES_BLOCK 8u

/* Squared distances of the rest positions from `home`. */
static pelt_result add_away(void *user, size_t first, size_t count, double *away) {
    const px_fit *fit = user;
    for (size_t e = 3 * first; e < 3 * (first + count); e++) {
        double off = fit->now.rest[e] - fit->home[e];
        *away += off * off;
    }
    return PELT_OK;
}

pelt_result px_pull_rest(px_fit *fit) {
    double share = fit->rest_firm ? REST_SHARE_FIRM : fit->kind->unconstrained ? REST_SHARE : REST_SHARE_KIND;
    double away = 0, size = 3 * (double)fit->total_count * REST_SIZE * REST_SIZE;
    if (fit->home)
        PX_TRY(px_fit_sum(fit, 1, add_away, fit, &away));
    if (!(fit->rest_pull > 0))
        fit->rest_pull = REST_SHARE * fit->row_count / 3; /* initial guess: displacement as large as the error of a
                                                           * frame */
    else if (away > 0) {
        double change = sqrt(share * fit->now.objective / (fit->rest_pull * away));
        fit->rest_pull *= px_fmin(px_fmax(change, 1 / MOST_CHANGE), MOST_CHANGE);
    }
    if (fit->rest_most > 0)
        fit->rest_pull = px_fmin(fit->rest_pull, fit->rest_most);
    if (fit->kind->unconstrained) /* whose quasi-Newton steps follow flat directions far */
        fit->rest_pull = px_fmax(fit->rest_pull, px_fmin(REST_FRAMES, REST_MOST * fit->now.objective / size));
    return PELT_OK;
}

/* ---- Bones ------------------------------------------------------------------------------------------------ */

typedef struct turning {
    const px_fit *fit;
    double *full; /* [row][4P] */
    double *away; /* [block][bone] Σ ‖L − R‖² */
} turning;

/* Replaces the matrices of some frames by their nearest rotations, without translations. Each frame starts from the
 * rotation of the previous one, because rotations change little between frames. */
static pelt_result turn_frames(void *user, size_t first, size_t count, size_t block) {
    const turning *job = user;
    size_t P = job->fit->bone_count, n = 4 * P;
    for (size_t j = 0; j < P; j++) {
        double r[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, l[9], sum = 0;
        for (size_t k = first; k < first + count; k++) {
            double *m = job->full + 3 * k * n + 4 * j;
            for (size_t e = 0; e < 9; e++)
                l[e] = m[e / 3 * n + e % 3];
            px_rotation_towards(l, r);
            for (size_t e = 0; e < 9; e++) {
                sum += (l[e] - r[e]) * (l[e] - r[e]);
                m[e / 3 * n + e % 3] = r[e];
            }
            for (size_t row = 0; row < 3; row++)
                m[row * n + 3] = 0;
        }
        job->away[block * P + j] = sum;
    }
    return PELT_OK;
}

double px_pull_size(const px_fit *fit, size_t bone) {
    size_t n = 4 * (size_t)fit->bone_count;
    const double *s = fit->scatter + 4 * bone * n + 4 * bone;
    double mass = s[3 * n + 3], sum = 0;
    for (size_t c = 0; mass > 0 && c < 3; c++)
        sum += s[c * n + c] - s[c * n + 3] * s[c * n + 3] / mass;
    return px_fmax(sum, 0) / 3;
}

/* Nearest rotations of the bones, including their part outside the basis: full [row][4P]. */
static pelt_result full_rotations(const px_fit *fit, double *full, double *away) {
    size_t P = fit->bone_count, n = 4 * P, d = fit->dimension, rows = fit->row_count;
    size_t blocks = px_block_count(rows / 3, FRAMES_BLOCK);
    turning job = {fit, full, PX_ALLOC(fit->context, double, blocks *P)};
    if (!job.away)
        return PELT_ERROR_MEMORY;
    if (fit->outside)
        memcpy(full, fit->outside, rows * n * sizeof *full);
    px_gemm(1, px_matrix_in(fit->basis, rows, d), px_transposed(px_matrix_in(fit->now.reduced, n, d)),
            fit->outside ? 1 : 0, px_matrix_of(full, rows, n));
    pelt_result result = px_parallel(fit->context, NULL, rows / 3, FRAMES_BLOCK, turn_frames, &job);
    *away = 0;
    for (size_t e = 0; e < blocks * P; e++)
        *away += job.away[e] * px_pull_size(fit, e % P);
    px_free(fit->context, job.away);
    return result;
}

pelt_result px_pull_rotations(px_fit *fit, double *out, double *away) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, rows = fit->row_count;
    double *full = PX_ALLOC(fit->context, double, px_mul_size(rows, n));
    pelt_result result = full ? full_rotations(fit, full, away) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        px_gemm(1, px_transposed(px_matrix_in(full, rows, n)), px_matrix_in(fit->basis, rows, d), 0,
                px_matrix_of(out, n, d));
    px_free(fit->context, full);
    return result;
}

/* ---- Outside the basis ------------------------------------------------------------------------------------ */

#define OUTSIDE_ROUNDS   4  /* the rotations depend on the part added: repeat */
#define OUTSIDE_HALVINGS 24 /* halvings of the strength: it is then far below the precision of the basis */

/* Projects `full` to the complement of the basis: full −= B Bᵀ full. `inside` [dimension][4P] is scratch. */
static void leave_basis(const px_fit *fit, double *full, double *inside) {
    size_t n = 4 * (size_t)fit->bone_count, d = fit->dimension, rows = fit->row_count;
    px_matrix basis = px_matrix_in(fit->basis, rows, d), all = px_matrix_of(full, rows, n);
    px_gemm(1, px_transposed(basis), all, 0, px_matrix_of(inside, d, n));
    px_gemm(-1, basis, px_matrix_of(inside, d, n), 1, all);
}

/* Part x [4P][row] to add outside the basis for a penalty of this strength: (S + pull) x = pull · rotationsᵀ. Returns
 * false if the system cannot be solved. */
static bool solve_outside(const px_fit *fit, double strength, const double *rotations, double *system, double *x) {
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count;
    double trace = 0;
    memcpy(system, fit->scatter, n * n * sizeof *system);
    for (size_t r = 0; r < n; r++)
        trace += system[r * n + r];
    for (size_t r = 0; r < n; r++) {
        double pull = r % 4 < 3 ? strength * px_pull_size(fit, r / 4) : 0;
        system[r * n + r] += pull + 1e-11 * trace / (double)n;
        for (size_t row = 0; row < rows; row++)
            x[r * rows + row] = pull * rotations[row * n + r];
    }
    return px_cholesky_solve(px_matrix_of(system, n, n), px_matrix_of(x, n, rows));
}

/* tr(Xᵀ S X): the increase of the objective. `product` is scratch of the size of x. */
static double outside_cost(const px_fit *fit, const double *x, double *product) {
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count;
    double sum = 0;
    px_gemm(1, px_matrix_in(fit->scatter, n, n), px_matrix_in(x, n, rows), 0, px_matrix_of(product, n, rows));
    for (size_t e = 0; e < n * rows; e++)
        sum += x[e] * product[e];
    return sum;
}

pelt_result px_pull_outside(px_fit *fit, double most) {
    size_t n = 4 * (size_t)fit->bone_count, rows = fit->row_count, d = fit->dimension, size = px_mul_size(rows, n);
    double *outside = PX_NEW(fit->arena, double, size),
           *scratch = PX_ALLOC(fit->context, double, 3 * size + n * (n + d));
    pelt_result result = outside && scratch ? px_fit_moments(fit) : PELT_ERROR_MEMORY;
    if (result != PELT_OK) {
        px_free(fit->context, scratch);
        return result;
    }
    double *rotations = scratch, *x = rotations + size, *system = x + 2 * size, strength = 1, away, cost = 0;
    fit->outside = outside;
    for (int round = 0, halvings = 0; result == PELT_OK && round < OUTSIDE_ROUNDS; round++) {
        result = full_rotations(fit, rotations, &away);
        leave_basis(fit, rotations, system + n * n);
        bool found = false;
        for (; result == PELT_OK && !found && halvings < OUTSIDE_HALVINGS;
             halvings += !found, strength *= found ? 1 : 0.5) {
            found = solve_outside(fit, strength, rotations, system, x);
            cost = found ? outside_cost(fit, x, x + size) : 0;
            found = found && fit->now.objective + cost <= most;
        }
        for (size_t e = 0; e < size; e++)
            outside[e] = found ? x[e % n * rows + e / n] : 0;
        cost = found ? cost : 0;
    }
    fit->now.objective += cost;
    px_free(fit->context, scratch);
    return result;
}
