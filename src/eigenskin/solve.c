/* (Σ_j m_j K_j + λI) a = u for every unit. Units with the same shares have the same matrix, and are solved together. */
#include "eigenskin/eigenskin.h"

#include <stdlib.h>

/* λ as a part of the mean of the diagonal, for rounding alone, and how it grows where that is not enough: where poses
 * are not told apart by the joints that have a say. */
#define LEAST_NOISE 1e-12
#define MORE_NOISE  1e3
/* Leaving out takes about this many multiplications; beyond, some units stand for all. */
#define LEAVE_OUT_WORK 4e9

/* A unit and its shares; runs of equal ones are groups. */
typedef struct unit_key {
    const px_share *shares;
    uint32_t share_count, unit;
} unit_key;

typedef struct solve_work {
    px_eigenskin *e;
    unit_key *keys;    /* [unit] in groups */
    size_t *groups;    /* [group + 1] where it begins */
    size_t step;       /* every step-th group only … */
    double (*sums)[2]; /* [group] … leaving out: Σ |miss|², Σ |u|²; NULL: solving */
} solve_work;

/* ---- Groups ----------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
    const unit_key *x = a, *y = b;
    if (x->share_count != y->share_count)
        return x->share_count < y->share_count ? -1 : 1;
    for (uint32_t n = 0; n < x->share_count; n++) {
        const px_share *s = &x->shares[n], *t = &y->shares[n];
        if (s->bend != t->bend)
            return s->bend < t->bend ? -1 : 1;
        if (s->prior != t->prior)
            return s->prior < t->prior ? -1 : 1;
    }
    return 0;
}

static int compare_units(const void *a, const void *b) {
    const unit_key *x = a, *y = b;
    int order = compare_keys(a, b);
    return order ? order : (x->unit > y->unit) - (x->unit < y->unit);
}

/* Returns how many there are. */
static pelt_result find_groups(solve_work *w, px_arena *arena, size_t *group_count) {
    const px_eigenskin *e = w->e;
    uint32_t units = e->units.count;
    w->keys = PX_NEW(arena, unit_key, units);
    w->groups = PX_NEW(arena, size_t, (size_t)units + 1);
    if (!w->keys || !w->groups)
        return PELT_ERROR_MEMORY;
    for (uint32_t u = 0; u < units; u++)
        w->keys[u] = (unit_key){e->shares + e->offsets[u], (uint32_t)(e->offsets[u + 1] - e->offsets[u]), u};
    qsort(w->keys, units, sizeof *w->keys, compare_units);
    size_t count = 0;
    for (uint32_t u = 0; u < units; u++)
        if (u == 0 || compare_keys(&w->keys[u - 1], &w->keys[u]) != 0)
            w->groups[count++] = u;
    w->groups[count] = units;
    *group_count = count;
    return PELT_OK;
}

/* ---- One group -------------------------------------------------------------------------------------------- */

/* The lower triangle of Σ m_j K_j + λI. */
static void sum_kernels(const px_eigenskin *e, const unit_key *key, double noise, double *out) {
    size_t poses = e->pose_count;
    double trace = 0;
    memset(out, 0, poses * poses * sizeof *out);
    for (uint32_t n = 0; n < key->share_count; n++) {
        const double *kernel = e->bends[key->shares[n].bend].kernel;
        double prior = (double)key->shares[n].prior;
        for (size_t p = 0; p < poses; p++)
            for (size_t q = 0; q <= p; q++)
                out[p * poses + q] += prior * kernel[p * poses + q];
    }
    for (size_t p = 0; p < poses; p++)
        trace += out[p * (poses + 1)];
    for (size_t p = 0; p < poses; p++)
        out[p * (poses + 1)] += noise * trace / (double)poses;
}

/* `matrix` [pose][pose] becomes the Cholesky factor of the group's; false when its kernels are all 0. */
static bool factor_group(const px_eigenskin *e, const unit_key *key, px_matrix matrix) {
    for (double noise = fmax(e->desc.regularise, LEAST_NOISE); noise < 1e3; noise *= MORE_NOISE) {
        sum_kernels(e, key, noise, matrix.data);
        if (px_cholesky(matrix))
            return true;
    }
    return false;
}

static void solve_group(const solve_work *w, size_t group, px_matrix factor) {
    px_eigenskin *e = w->e;
    for (size_t n = w->groups[group]; n < w->groups[group + 1]; n++) {
        px_matrix rows = px_unit_rows(e, e->solutions, w->keys[n].unit);
        size_t bytes = rows.rows * rows.columns * sizeof *rows.data;
        memset(rows.data, 0, bytes);
        if (!factor.data)
            continue;
        memcpy(rows.data, px_unit_rows(e, e->displacements, w->keys[n].unit).data, bytes);
        px_cholesky_apply(factor, px_transposed(rows));
    }
}

/* Leave-one-out in closed form: an example misses what the others predict by a_p / (K⁻¹)_pp. */
static void leave_out_group(const solve_work *w, size_t group, px_matrix factor, px_matrix inverse) {
    px_eigenskin *e = w->e;
    size_t poses = e->pose_count;
    double *sums = w->sums[group];
    if (factor.data) {
        memset(inverse.data, 0, poses * poses * sizeof *inverse.data);
        for (size_t p = 0; p < poses; p++)
            inverse.data[p * (poses + 1)] = 1;
        px_cholesky_apply(factor, inverse);
    }
    for (size_t n = w->groups[group]; n < w->groups[group + 1]; n++) {
        uint32_t unit = w->keys[n].unit;
        const double *u = px_unit_rows(e, e->displacements, unit).data;
        for (size_t row = 0; row < 3; row++)
            for (size_t p = 0; p < poses; p++) {
                double miss = u[row * poses + p], a = 0;
                sums[1] += e->counts[unit] * miss * miss;
                if (factor.data) {
                    for (size_t q = 0; q < poses; q++)
                        a += inverse.data[p * poses + q] * u[row * poses + q];
                    miss = a / inverse.data[p * (poses + 1)];
                }
                sums[0] += e->counts[unit] * miss * miss;
            }
    }
}

static pelt_result group_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const solve_work *w = user;
    const px_eigenskin *e = w->e;
    size_t poses = e->pose_count, square = poses * poses;
    double *matrices = PX_ALLOC(e->context, double, w->sums ? 2 * square : square);
    if (!matrices)
        return PELT_ERROR_MEMORY;
    px_matrix matrix = px_matrix_of(matrices, poses, poses);
    for (size_t g = first; g < first + count; g++) {
        if (g % w->step)
            continue;
        px_matrix factor = matrix;
        if (!factor_group(e, &w->keys[w->groups[g]], matrix))
            factor.data = NULL;
        if (w->sums)
            leave_out_group(w, g, factor, px_matrix_of(matrices + square, poses, poses));
        else
            solve_group(w, g, factor);
    }
    px_free(e->context, matrices);
    return PELT_OK;
}

/* ---- All groups ------------------------------------------------------------------------------------------- */

pelt_result px_eigenskin_solve(px_eigenskin *e) {
    solve_work w = {.e = e, .step = 1};
    px_arena *arena = px_arena_create(e->context);
    size_t group_count = 0;
    pelt_result result = arena ? find_groups(&w, arena, &group_count) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = px_parallel(e->context, "solving", group_count, 1, group_block, &w);
    px_arena_destroy(arena);
    return result;
}

static pelt_result leave_out(solve_work *w, px_arena *arena, double *error) {
    size_t group_count;
    double poses = w->e->pose_count, missed = 0, all = 0;
    PX_TRY(find_groups(w, arena, &group_count));
    w->sums = px_arena_alloc(arena, group_count, sizeof *w->sums);
    w->step = 1 + (size_t)((double)group_count * poses * poses * poses * 2 / LEAVE_OUT_WORK);
    if (!w->sums)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(w->e->context, "leaving out", group_count, 1, group_block, w));
    for (size_t g = 0; g < group_count; g++) {
        missed += w->sums[g][0];
        all += w->sums[g][1];
    }
    *error = all > 0 ? sqrt(missed / all) : 0;
    return PELT_OK;
}

pelt_result px_eigenskin_leave_out(px_eigenskin *e, double *error) {
    solve_work w = {.e = e};
    px_arena *arena = px_arena_create(e->context);
    pelt_result result = arena ? leave_out(&w, arena, error) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}
