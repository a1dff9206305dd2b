/* Solves (Σ_j m_j K_j + λI) a = u for every class, and predicts left-out poses. Classes with equal shares have the same
 * matrix and are solved together.
 *
 * With C = (Σ m K + λI)⁻¹, the solution without pose p is a − C_p a_p / C_pp (C_p a column): the prediction of pose p
 * from the others is off by a_p / C_pp, and joint j contributes Σ_q m_j K_j,pq (a_q − C_qp a_p / C_pp) to it. Gains s_j
 * in [0, 1] minimise Σ |u − Σ_j s_j prediction_j|² over all left-out poses: s_j is 1 if a joint's corrections
 * generalise to poses that they were not made from, and 0 if leaving them out predicts these poses better.
 */
#include "eigenskin/eigenskin.h"

#include <stdlib.h>

/* λ as a fraction of the mean of the diagonal, against rounding only; and its growth while the matrix is still
 * singular, because the joints of the class do not distinguish some poses. */
#define MIN_NOISE    1e-12
#define NOISE_GROWTH 1e3
/* Bounds on the number of multiplications; above them, only every n-th group is used. */
#define MAX_LEAVE_OUT_WORK 3e8
#define MAX_SHRINK_WORK    2e9
#define GROUP_SAMPLES      64u
/* Gains above FULL_GAIN become 1. */
#define FULL_GAIN 0.9
/* Corrections of a joint that explain less than this fraction of the displacements in its support are dropped. */
#define MIN_BENEFIT 0.01
/* Above this leave-one-out error the corrections are indistinguishable from noise. */
#define MAX_LEFT_OUT_ERROR 0.85
#define GAIN_ITERATIONS    200
#define TARGET_BLOCK       64u

/* A class and its shares; runs of classes with equal shares form groups. */
typedef struct class_key {
    const px_share *shares;
    uint32_t share_count, class;
} class_key;

typedef enum solve_job { SOLVE, LEAVE_OUT, SHRINK } solve_job;

typedef struct solve_work {
    px_eigenskin *e;
    solve_job job;
    class_key *keys; /* [class] sorted by group */
    size_t *groups;  /* [group + 1] first key of each group */
    size_t group_count;
    size_t step;   /* process every step-th group only */
    double **sums; /* [group] LEAVE_OUT: [2][2] Σ |error|², Σ |u|² over the counted poses, then over all;
                      * SHRINK: [2][share_count + 1][share_count + 1] Gram matrix of the predictions, u last */
} solve_work;

/* ---- Groups ----------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
    const class_key *x = a, *y = b;
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

static int compare_classes(const void *a, const void *b) {
    const class_key *x = a, *y = b;
    int order = compare_keys(a, b);
    return order ? order : (x->class > y->class) - (x->class < y->class);
}

static pelt_result find_groups(solve_work *w, px_arena *arena) {
    const px_eigenskin *e = w->e;
    uint32_t classes = e->classes.count;
    w->keys = PX_NEW(arena, class_key, classes);
    w->groups = PX_NEW(arena, size_t, (size_t)classes + 1);
    if (!w->keys || !w->groups)
        return PELT_ERROR_MEMORY;
    for (uint32_t u = 0; u < classes; u++)
        w->keys[u] = (class_key){e->shares + e->offsets[u], (uint32_t)(e->offsets[u + 1] - e->offsets[u]), u};
    px_sort(w->keys, classes, sizeof *w->keys, compare_classes);
    size_t count = 0;
    for (uint32_t u = 0; u < classes; u++)
        if (u == 0 || compare_keys(&w->keys[u - 1], &w->keys[u]) != 0)
            w->groups[count++] = u;
    w->groups[count] = classes;
    w->group_count = count;
    return PELT_OK;
}

/* ---- One group -------------------------------------------------------------------------------------------- */

/* Sets `matrix` [pose][pose] to the Cholesky factor of the group's matrix Σ m_j K_j + λI. Returns false if all its kernels
 * are 0. */
static bool factor_group(const px_eigenskin *e, const class_key *key, px_matrix matrix) {
    size_t poses = e->pose_count;
    for (double noise = px_fmax(e->noise, MIN_NOISE); noise < 1e3; noise *= NOISE_GROWTH) {
        double *sum = matrix.data, trace = 0;
        memset(sum, 0, poses * poses * sizeof *sum);
        for (uint32_t n = 0; n < key->share_count; n++) {
            const double *kernel = e->bends[key->shares[n].bend].kernel;
            double prior = (double)key->shares[n].prior;
            for (size_t p = 0; p < poses; p++)
                for (size_t q = 0; q <= p; q++)
                    sum[p * poses + q] += prior * kernel[p * poses + q];
        }
        for (size_t p = 0; p < poses; p++)
            trace += sum[p * (poses + 1)];
        for (size_t p = 0; p < poses; p++)
            sum[p * (poses + 1)] += noise * trace / (double)poses;
        if (px_cholesky(matrix))
            return true;
    }
    return false;
}

static void solve_group(const solve_work *w, size_t group, px_matrix factor) {
    px_eigenskin *e = w->e;
    for (size_t n = w->groups[group]; n < w->groups[group + 1]; n++) {
        px_matrix rows = px_class_rows(e, e->solutions, w->keys[n].class);
        size_t bytes = rows.rows * rows.columns * sizeof *rows.data;
        memset(rows.data, 0, bytes);
        if (!factor.data)
            continue;
        memcpy(rows.data, px_class_rows(e, e->displacements, w->keys[n].class).data, bytes);
        px_cholesky_apply(factor, px_transposed(rows));
    }
}

/* Scratch of one group. */
typedef struct group_scratch {
    px_matrix matrix, inverse, product; /* [pose][pose] */
    double *predictions;                /* [sample][share + 1][3][pose] SHRINK; [3][pose] LEAVE_OUT */
    uint8_t *counts;                    /* [pose] 1: its leave-one-out error counts */
} group_scratch;

static bool make_scratch(const solve_work *w, size_t group, px_arena *arena, group_scratch *s) {
    size_t poses = w->e->pose_count, square = px_mul_size(poses, poses), class_count = 1, share_count = 1;
    if (w->job == SHRINK) {
        size_t all = w->groups[group + 1] - w->groups[group];
        class_count = all < GROUP_SAMPLES ? all : GROUP_SAMPLES;
        share_count += w->keys[w->groups[group]].share_count;
    }
    s->matrix = px_matrix_of(PX_NEW(arena, double, square), poses, poses);
    if (w->job == SOLVE)
        return s->matrix.data;
    s->inverse = px_matrix_of(PX_NEW(arena, double, square), poses, poses);
    s->product = px_matrix_of(w->job == SHRINK ? PX_NEW(arena, double, square) : NULL, poses, poses);
    s->predictions = PX_NEW(arena, double, px_mul_size(3 * class_count * share_count, poses));
    s->counts = PX_NEW(arena, uint8_t, poses);
    return s->matrix.data && s->inverse.data && (w->job != SHRINK || s->product.data) && s->predictions && s->counts;
}

/* A pose counts if a joint of the class rotates in it, and all joints that do so rotate in at least PX_MIN_POSES
 * poses. */
static void find_counting(const px_eigenskin *e, const class_key *key, uint8_t *counts) {
    size_t poses = e->pose_count;
    for (size_t p = 0; p < poses; p++) {
        bool often = false, seldom = false;
        for (uint32_t n = 0; n < key->share_count; n++) {
            const px_bend *bend = &e->bends[key->shares[n].bend];
            bool turns = bend->kernel[p * (poses + 1)] > 0;
            often |= turns && bend->turned >= PX_MIN_POSES;
            seldom |= turns && bend->turned < PX_MIN_POSES;
        }
        counts[p] = often && !seldom;
    }
}

/* Sampling step: every n-th class of a group represents it. */
static size_t stride_of(const solve_work *w, size_t group) {
    return 1 + (w->groups[group + 1] - w->groups[group] - 1) / GROUP_SAMPLES;
}

static void leave_out_group(const solve_work *w, size_t group, bool solved, const group_scratch *s) {
    px_eigenskin *e = w->e;
    size_t poses = e->pose_count, stride = stride_of(w, group);
    double *sums = w->sums[group], *solution = s->predictions;
    for (size_t n = w->groups[group]; n < w->groups[group + 1]; n += stride) {
        uint32_t class = w->keys[n].class;
        px_matrix rows = px_matrix_of(px_class_rows(e, e->displacements, class).data, 3, poses);
        double weight = (double)stride * e->counts[class];
        if (solved)
            px_gemm(1, rows, s->inverse, 0, px_matrix_of(solution, 3, poses));
        for (size_t row = 0; row < 3; row++)
            for (size_t p = 0; p < poses; p++) {
                double u = rows.data[row * poses + p];
                double miss = solved ? solution[row * poses + p] / s->inverse.data[p * (poses + 1)] : u;
                for (int all = s->counts[p] ? 0 : 1; all < 2; all++) {
                    sums[2 * all] += weight * miss * miss;
                    sums[2 * all + 1] += weight * u * u;
                }
            }
    }
}

static void shrink_group(const solve_work *w, size_t group, bool solved, const group_scratch *s) {
    px_eigenskin *e = w->e;
    const class_key *key = &w->keys[w->groups[group]];
    size_t poses = e->pose_count, stride = stride_of(w, group), width = key->share_count + 1u;
    size_t first = w->groups[group], end = w->groups[group + 1];
    for (uint32_t k = 0; solved && k < key->share_count; k++) { /* predictions of a share for all sampled classes */
        const px_share *share = &key->shares[k];
        px_gemm((double)share->prior, px_matrix_of(e->bends[share->bend].kernel, poses, poses), s->inverse, 0,
                s->product);
        for (size_t p = 0; p < poses; p++) {
            const double *c = s->inverse.data + p * poses;
            double *row = s->product.data + p * poses, ratio = row[p] / c[p];
            for (size_t q = 0; q < poses; q++)
                row[q] -= ratio * c[q];
        }
        for (size_t n = first, sample = 0; n < end; n += stride, sample++)
            px_gemm(1, px_matrix_of(px_class_rows(e, e->displacements, w->keys[n].class).data, 3, poses),
                    px_transposed(s->product), 0,
                    px_matrix_of(s->predictions + (sample * width + k) * 3 * poses, 3, poses));
    }
    for (size_t n = first, sample = 0; n < end; n += stride, sample++) {
        uint32_t class = w->keys[n].class;
        double *rows = s->predictions + sample * width * 3 * poses, weight = (double)stride * e->counts[class];
        if (!solved)
            memset(rows, 0, width * 3 * poses * sizeof *rows);
        memcpy(rows + (width - 1) * 3 * poses, px_class_rows(e, e->displacements, class).data,
               3 * poses * sizeof *rows);
        for (size_t k = 0; k < width; k++)
            for (size_t l = 0; l < width; l++) {
                const double *x = rows + k * 3 * poses, *y = rows + l * 3 * poses;
                double counted = 0, all = 0;
                for (size_t c = 0; c < 3 * poses; c++) {
                    all += x[c] * y[c];
                    counted += s->counts[c % poses] ? x[c] * y[c] : 0;
                }
                w->sums[group][k * width + l] += weight * counted;
                w->sums[group][width * width + k * width + l] += weight * all;
            }
    }
}

static pelt_result group_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const solve_work *w = user;
    const px_eigenskin *e = w->e;
    for (size_t g = first; g < first + count; g++) {
        if (g % w->step)
            continue;
        px_arena *arena = px_arena_create(e->context);
        group_scratch s = {0};
        if (!arena || !make_scratch(w, g, arena, &s)) {
            px_arena_destroy(arena);
            return PELT_ERROR_MEMORY;
        }
        const class_key *key = &w->keys[w->groups[g]];
        bool solved = factor_group(e, key, s.matrix);
        if (w->job == SOLVE) {
            solve_group(w, g, solved ? s.matrix : (px_matrix){0});
        } else {
            for (size_t p = 0; solved && p < s.inverse.rows; p++)
                *px_matrix_at(s.inverse, p, p) = 1;
            if (solved)
                px_cholesky_apply(s.matrix, s.inverse);
            find_counting(e, key, s.counts);
            (w->job == SHRINK ? shrink_group : leave_out_group)(w, g, solved, &s);
        }
        px_arena_destroy(arena);
    }
    return PELT_OK;
}

/* ---- All groups ------------------------------------------------------------------------------------------- */

static pelt_result run(solve_work *w, px_arena *arena, const char *name, double work) {
    double poses = w->e->pose_count, all = 0;
    PX_TRY(find_groups(w, arena));
    w->step = 1;
    if (w->job != SOLVE) {
        if (!(w->sums = PX_NEW(arena, double *, w->group_count)))
            return PELT_ERROR_MEMORY;
        for (size_t g = 0; g < w->group_count; g++) {
            size_t width = w->keys[w->groups[g]].share_count + 1u;
            all += 2 * poses * poses * poses * (w->job == SHRINK ? (double)width : 1);
            if (!(w->sums[g] = PX_NEW(arena, double, w->job == SHRINK ? 2 * width * width : 4)))
                return PELT_ERROR_MEMORY;
        }
        w->step += (size_t)(all / work);
    }
    return px_parallel(w->e->context, name, w->group_count, 1, group_block, w);
}

pelt_result px_eigenskin_solve(px_eigenskin *e) {
    solve_work w = {.e = e, .job = SOLVE};
    px_arena *arena = px_arena_create(e->context);
    pelt_result result = arena ? run(&w, arena, "solving", 0) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return result;
}

pelt_result px_eigenskin_leave_out(px_eigenskin *e, double errors[2]) {
    solve_work w = {.e = e, .job = LEAVE_OUT};
    px_arena *arena = px_arena_create(e->context);
    pelt_result result = arena ? run(&w, arena, "leaving out", MAX_LEAVE_OUT_WORK) : PELT_ERROR_MEMORY;
    for (int all = 0; result == PELT_OK && all < 2; all++) {
        double missed = 0, sum = 0;
        for (size_t g = 0; g < w.group_count; g++) {
            missed += w.sums[g][2 * all];
            sum += w.sums[g][2 * all + 1];
        }
        errors[all] = sum > 0 ? sqrt(missed / sum) : NAN;
    }
    px_arena_destroy(arena);
    return result;
}

/* ---- Gains ------------------------------------------------------------------------------------------------ */

/* Sums over all groups: out [bend + 1][bend + 1], displacements last, followed by [bend] Σ |u|² over the classes that
 * the joint influences. */
static void add_sums(const solve_work *w, int all, double *out) {
    size_t bends = w->e->bend_count, width = bends + 1;
    for (size_t g = 0; g < w->group_count; g++) {
        const class_key *key = &w->keys[w->groups[g]];
        size_t own = key->share_count + 1u;
        for (size_t k = 0; k < own; k++) {
            if (k + 1 < own)
                out[width * width + key->shares[k].bend] += w->sums[g][((size_t)all + 1) * own * own - 1];
            for (size_t l = 0; l < own; l++) {
                size_t row = k + 1 < own ? key->shares[k].bend : bends,
                       column = l + 1 < own ? key->shares[l].bend : bends;
                out[row * width + column] += w->sums[g][((size_t)all * own + k) * own + l];
            }
        }
    }
}

/* Least squares bounded to [0, 1] by coordinate descent, starting from 1; joints that rotate in no counted pose keep
 * 1. */
static void find_gains(px_eigenskin *e, const double *sums) {
    size_t bends = e->bend_count, width = bends + 1;
    for (int round = 0; round < GAIN_ITERATIONS; round++)
        for (size_t j = 0; j < bends; j++) {
            double right = sums[j * width + bends], square = sums[j * (width + 1)];
            for (size_t k = 0; k < bends; k++)
                right -= k == j ? 0 : sums[j * width + k] * e->bends[k].gain;
            if (square > 0)
                e->bends[j].gain = px_fmin(px_fmax(right / square, 0), 1);
        }
    for (size_t j = 0; j < bends; j++) {
        double *gain = &e->bends[j].gain, left = sums[j * width + bends];
        for (size_t k = 0; k < bends; k++)
            left -= k == j ? 0 : sums[j * width + k] * e->bends[k].gain;
        double benefit = *gain * (2 * left - *gain * sums[j * (width + 1)]);
        if (sums[j * (width + 1)] > 0 && benefit < MIN_BENEFIT * sums[width * width + j])
            *gain = 0;
        *gain = *gain >= FULL_GAIN ? 1 : *gain;
    }
}

static double error_with_gains(const px_eigenskin *e, const double *sums) {
    size_t bends = e->bend_count, width = bends + 1;
    double all = sums[bends * (width + 1)], missed = all;
    for (size_t j = 0; j < bends; j++) {
        missed -= 2 * e->bends[j].gain * sums[j * width + bends];
        for (size_t k = 0; k < bends; k++)
            missed += e->bends[j].gain * e->bends[k].gain * sums[j * width + k];
    }
    return all > 0 ? sqrt(px_fmax(missed, 0) / all) : 0;
}

/* Targets: the denoised displacements Σ_j s_j m_j K_j a. Modes fitted to the original displacements would include
 * their noise. */
static pelt_result target_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    px_eigenskin *e = user;
    for (size_t u = first; u < first + count; u++)
        for (size_t n = e->offsets[u]; n < e->offsets[u + 1]; n++) {
            const px_bend *bend = &e->bends[e->shares[n].bend];
            px_gemm(bend->gain * (double)e->shares[n].prior, px_class_rows(e, e->solutions, u),
                    px_matrix_of(bend->kernel, e->pose_count, e->pose_count), 1, px_class_rows(e, e->targets, u));
        }
    return PELT_OK;
}

pelt_result px_eigenskin_shrink(px_eigenskin *e) {
    solve_work w = {.e = e, .job = SHRINK};
    size_t square = px_mul_size(e->bend_count + (size_t)1, e->bend_count + (size_t)1) + e->bend_count;
    px_arena *arena = px_arena_create(e->context);
    double *sums = arena ? PX_NEW(arena, double, 2 * square) : NULL;
    pelt_result result = sums ? run(&w, arena, "leaving out", MAX_SHRINK_WORK) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        add_sums(&w, 0, sums);
        add_sums(&w, 1, sums + square);
        if (!e->desc.interpolate)
            find_gains(e, sums);
        bool noise = !e->desc.interpolate && error_with_gains(e, sums) > MAX_LEFT_OUT_ERROR;
        for (size_t j = 0; noise && j < e->bend_count; j++) /* of joints that rotate in a counted pose */
            if (sums[j * (e->bend_count + (size_t)2)] > 0)
                e->bends[j].gain = 0;
        e->left_out = error_with_gains(e, sums + square);
    }
    if (result == PELT_OK && !e->desc.interpolate) {
        size_t rows = px_mul_size(e->width, e->pose_count);
        e->targets = PX_NEW(e->scratch, double, px_mul_size(e->classes.count, rows));
        result = e->targets ? px_parallel(e->context, NULL, e->classes.count, TARGET_BLOCK, target_block, e)
                            : PELT_ERROR_MEMORY;
    }
    px_arena_destroy(arena);
    return result;
}
