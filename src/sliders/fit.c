/* Block coordinate descent: transforms and their sparsity for fixed weights, then weights for fixed transforms.
 *
 * Transforms. With X the matrix of rows w_ij p_i, the objective of slider s depends on the moments G = XᵀX, the same for all
 * sliders, and B_s = Xᵀd_s only. Which bones a slider moves is chosen by backward elimination: with C = G⁻¹ of the bones
 * that are left and N = C B, removing bone j raises the objective by exactly N_jᵀ (C_jj)⁻¹ N_j. Each slider has a sequence
 * of removals; those that cost least over all sliders are made.
 *
 * Weights. Per vertex, least squares on the simplex over candidate bones: those that it has, and those towards which a
 * step from the current weights gains most.
 *
 * With a metric, sliders couple. Transforms of a slider are then fitted to its moments plus what the other sliders leave
 * over (Gauss–Seidel).
 */
#include "sliders/fit.h"
#include "numeric/numeric.h"
#include "numeric/simplex.h"

#include <math.h>
#include <stdlib.h>

/* Penalty on the linear part of N, relative to the moments of its bone; decides what the vertices leave undetermined. */
#define RIDGE 1e-6
/* Moments are summed in at most this many blocks. */
#define MOMENT_BLOCKS 8u
/* Iterations in which the number of transforms falls to its limit; they are chosen anew for half as many after that. */
#define SHRINKING 12u
/* Stop when an iteration lowers the objective by less than this fraction. */
#define CONVERGENCE 1e-4
#define PAIR_SIZE   10u /* coefficients of a quadric in (x, y, z, w) */

pelt_result px_slider_fit_make(px_slider_fit *fit) {
    size_t influences = (size_t)fit->vertex_count * fit->influence_count,
           pairs = (size_t)fit->slider_count * fit->bone_count;
    fit->bones = PX_NEW(fit->arena, uint16_t, influences);
    fit->weights = PX_NEW(fit->arena, double, influences);
    fit->changes = PX_NEW(fit->arena, double, 12 * pairs);
    fit->active = PX_NEW(fit->arena, bool, pairs);
    if (!fit->bones || !fit->weights || !fit->changes || !fit->active)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < fit->vertex_count; i++)
        fit->weights[i * fit->influence_count] = 1;
    return PELT_OK;
}

typedef struct work {
    px_slider_fit *fit;
    size_t n; /* 4 · bones without the host */
    bool
        coupled; /* transforms of a slider depend on those of others: there is a metric, and all have been solved once */
    size_t block_size; /* vertices of a block of moments */
    double *moments; /* [block][n · (n + 3 sliders)] partial sums; the first is the total: G, then B [slider][n][3] */
    double *inverse; /* [n][n] G⁻¹ */
    double *gram;    /* [n][n] Σ_st Q_st N_sᵀ N_t */
    double *table;   /* [n][3 sliders] N, for the product */
    double *mixed;   /* N or, with a metric, Q N: [slider][bone][12] */
    double *pairs;   /* [bone][bone][PAIR_SIZE] quadrics; 0 for the host */
    double *wanted;  /* [slider][n][3] right-hand sides */
    uint16_t *order; /* [slider][bone] in the order of removal */
    double *costs;   /* [slider][bone] of each removal, never falling along the order */
    uint32_t *left;  /* [slider] number of bones that stay */
    double *objectives; /* [vertex] */
} work;

/* ---- Moments ---------------------------------------------------------------------------------------------- */

static pelt_result sum_block(void *user, size_t first, size_t count, size_t block) {
    const work *w = user;
    const px_slider_fit *fit = w->fit;
    size_t n = w->n, K = fit->influence_count;
    double *g = w->moments + block * n * (n + 3 * (size_t)fit->slider_count), *b = g + n * n;
    memset(g, 0, n * (n + 3 * (size_t)fit->slider_count) * sizeof *g);
    for (size_t i = first; i < first + count; i++) {
        const double *p = fit->points + 4 * PX_SLIDER_ROWS * i;
        double outer[16] = {0};
        for (size_t r = 0; r < PX_SLIDER_ROWS; r++)
            for (size_t e = 0; e < 16; e++)
                outer[e] += fit->importance[i] * p[4 * r + e / 4] * p[4 * r + e % 4];
        for (size_t e = fit->offsets[i]; e < fit->offsets[i + 1]; e++) {
            const px_slider_entry *entry = &fit->entries[e];
            double product[12] = {0}, *column = b + 3 * n * entry->slider;
            for (size_t r = 0; r < PX_SLIDER_ROWS; r++)
                for (size_t c = 0; c < 12; c++)
                    product[c] += fit->importance[i] * p[4 * r + c / 3] * (double)entry->rows[r][c % 3];
            for (size_t k = i * K; k < (i + 1) * K; k++)
                for (size_t c = 0; fit->bones[k] > 0 && c < 12; c++)
                    column[12 * ((size_t)fit->bones[k] - 1) + c] += fit->weights[k] * product[c];
        }
        for (size_t k = i * K; k < (i + 1) * K; k++)
            for (size_t l = i * K; fit->bones[k] > 0 && l < (i + 1) * K; l++) {
                if (fit->bones[l] == 0)
                    continue;
                double *to = g + 4 * ((size_t)fit->bones[k] - 1) * n + 4 * ((size_t)fit->bones[l] - 1);
                for (size_t e = 0; e < 16; e++)
                    to[e / 4 * n + e % 4] += fit->weights[k] * fit->weights[l] * outer[e];
            }
    }
    return PELT_OK;
}

/* G, with the penalty on its diagonal, and B. */
static pelt_result sum_moments(work *w) {
    px_slider_fit *fit = w->fit;
    size_t n = w->n, size = n * (n + 3 * (size_t)fit->slider_count);
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, w->block_size, sum_block, w));
    for (size_t block = 1; block < px_block_count(fit->vertex_count, w->block_size); block++)
        for (size_t e = 0; e < size; e++)
            w->moments[e] += w->moments[block * size + e];
    double trace = 0;
    for (size_t r = 0; r < n; r++)
        trace += w->moments[r * (n + 1)];
    for (size_t r = 0; r < n; r++) {
        double mass = w->moments[(4 * (r / 4) + 3) * (n + 1)];
        w->moments[r * (n + 1)] += (r % 4 < 3 ? RIDGE * mass : 0) + 1e-10 * trace / (double)n;
    }
    return PELT_OK;
}

/* What is left of the moments of slider s for its transforms to explain: B_s + Σ_t Q_st / Q_ss (B_t − G N_t). */
static void slider_wanted(const work *w, size_t s, double *out) {
    const px_slider_fit *fit = w->fit;
    size_t n = w->n;
    const double *g = w->moments, *b = g + n * n, *q = w->coupled ? fit->metric + s * fit->slider_count : NULL;
    memcpy(out, b + 3 * n * s, 3 * n * sizeof *out);
    for (size_t t = 0; q && t < fit->slider_count; t++) {
        if (t == s || q[t] == 0)
            continue;
        double share = q[t] / q[s];
        for (size_t e = 0; e < 3 * n; e++)
            out[e] += share * b[3 * n * t + e];
        px_gemm(-share, px_matrix_in(g, n, n), px_matrix_in(px_slider_change(fit, t, 1), n, 3), 1,
                px_matrix_of(out, n, 3));
    }
}

/* ---- Choice of the non-zero transforms ---------------------------------------------------------------------- */

/* Inverse of a symmetric positive definite 4×4 block at `c`, rows `pitch` apart; zero where it is not. */
static void invert4(const double *c, size_t pitch, double out[16]) {
    double l[16] = {0}, inverse[16] = {0};
    memset(out, 0, 16 * sizeof *out);
    for (size_t r = 0; r < 4; r++)
        for (size_t k = 0; k <= r; k++) {
            double sum = c[r * pitch + k];
            for (size_t m = 0; m < k; m++)
                sum -= l[4 * r + m] * l[4 * k + m];
            if (r == k && !(sum > 0))
                return;
            l[4 * r + k] = r == k ? sqrt(sum) : sum / l[5 * k];
        }
    for (size_t k = 0; k < 4; k++)
        for (size_t r = k; r < 4; r++) {
            double sum = r == k ? 1 : 0;
            for (size_t m = k; m < r; m++)
                sum -= l[4 * r + m] * inverse[4 * m + k];
            inverse[4 * r + k] = sum / l[5 * r];
        }
    for (size_t e = 0; e < 16; e++)
        for (size_t m = 0; m < 4; m++)
            out[e] += inverse[4 * m + e / 4] * inverse[4 * m + e % 4];
}

/* Removes all bones of one slider, the cheapest first. Bones that are left are kept together at the front of C and N. */
static pelt_result order_slider(void *user, size_t s, size_t count, size_t block) {
    (void)count, (void)block;
    const work *w = user;
    const px_slider_fit *fit = w->fit;
    size_t n = w->n, bones = n / 4;
    double *c = PX_ALLOC(fit->context, double, n *n), *x = PX_ALLOC(fit->context, double, 3 * n);
    uint16_t *names = PX_ALLOC(fit->context, uint16_t, bones);
    pelt_result result = c && x && names ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        memcpy(c, w->inverse, n * n * sizeof *c);
        px_gemm(1, px_matrix_of(c, n, n), px_matrix_in(w->wanted + 3 * n * s, n, 3), 0, px_matrix_of(x, n, 3));
        for (size_t j = 0; j < bones; j++)
            names[j] = (uint16_t)(j + 1);
    }
    double dearest = 0;
    for (size_t left = result == PELT_OK ? bones : 0; left > 0; left--) {
        size_t least = 0, m = 4 * left;
        double cost = INFINITY, least_inverse[16] = {0};
        for (size_t j = 0; j < left; j++) {
            double d[16], sum = 0;
            invert4(c + 4 * j * (n + 1), n, d);
            for (size_t e = 0; e < 16; e++)
                for (size_t a = 0; a < 3; a++)
                    sum += d[e] * x[3 * (4 * j + e / 4) + a] * x[3 * (4 * j + e % 4) + a];
            if (sum < cost) {
                cost = sum, least = j;
                memcpy(least_inverse, d, sizeof d);
            }
        }
        dearest = px_fmax(dearest, cost);
        w->order[s * bones + (bones - left)] = names[least];
        w->costs[s * bones + (bones - left)] =
            fit->metric ? dearest * fit->metric[s * (fit->slider_count + 1)] : dearest;
        /* C −= C_:j C_jj⁻¹ C_j:, N −= C_:j C_jj⁻¹ N_j; then the last bone takes the place of j */
        for (size_t r = 0; r < m; r++) {
            double factors[4] = {0}, *row = c + r * n;
            if (r / 4 == least)
                continue;
            for (size_t e = 0; e < 16; e++)
                factors[e % 4] += row[4 * least + e / 4] * least_inverse[e];
            for (size_t f = 0; f < 4; f++) {
                const double *other = c + (4 * least + f) * n;
                for (size_t k = 0; k < m; k++)
                    row[k] -= factors[f] * other[k];
                for (size_t a = 0; a < 3; a++)
                    x[3 * r + a] -= factors[f] * x[3 * (4 * least + f) + a];
            }
        }
        for (size_t r = 0; r < m; r++)
            memmove(c + r * n + 4 * least, c + r * n + m - 4, 4 * sizeof *c);
        memmove(c + 4 * least * n, c + (m - 4) * n, 4 * n * sizeof *c);
        memmove(x + 12 * least, x + 3 * (m - 4), 12 * sizeof *x);
        names[least] = names[left - 1];
    }
    px_free(fit->context, c);
    px_free(fit->context, x);
    px_free(fit->context, names);
    return result;
}

typedef struct removal {
    double cost;
    uint32_t slider;
} removal;

static int compare_removals(const void *a, const void *b) {
    const removal *x = a, *y = b;
    return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost)
                              : (x->slider > y->slider) - (x->slider < y->slider);
}

/* Leaves `most` pairs of slider and bone. Costs never fall along the order of a slider, so sorted removals of one slider
 * are its first ones. */
static pelt_result choose_pairs(work *w, size_t most) {
    px_slider_fit *fit = w->fit;
    size_t n = w->n, bones = n / 4, S = fit->slider_count, total = S * bones;
    memcpy(w->inverse, w->moments, n * n * sizeof *w->inverse);
    for (size_t s = 0; s < S; s++)
        slider_wanted(w, s, w->wanted + 3 * n * s);
    double *identity = w->gram; /* scratch */
    memset(identity, 0, n * n * sizeof *identity);
    for (size_t r = 0; r < n; r++)
        identity[r * (n + 1)] = 1;
    if (!px_cholesky_solve(px_matrix_of(w->inverse, n, n), px_matrix_of(identity, n, n)))
        return px_fail(fit->context, PELT_ERROR_INPUT, "the morph targets are not finite, or too large");
    memcpy(w->inverse, identity, n * n * sizeof *identity);
    PX_TRY(px_parallel(fit->context, NULL, S, 1, order_slider, w));
    removal *removals = PX_ALLOC(fit->context, removal, total);
    if (!removals)
        return PELT_ERROR_MEMORY;
    for (size_t e = 0; e < total; e++)
        removals[e] = (removal){w->costs[e], (uint32_t)(e / bones)};
    px_sort(removals, total, sizeof *removals, compare_removals);
    for (size_t s = 0; s < S; s++)
        w->left[s] = (uint32_t)bones;
    for (size_t e = 0; e < total && (total - e > most || removals[e].cost <= 1e-14 * fit->energy); e++)
        w->left[removals[e].slider]--;
    px_free(fit->context, removals);
    memset(fit->active, 0, S * fit->bone_count * sizeof *fit->active);
    for (size_t s = 0; s < S; s++)
        for (size_t e = bones - w->left[s]; e < bones; e++)
            fit->active[s * fit->bone_count + w->order[s * bones + e]] = true;
    return PELT_OK;
}

/* ---- Transforms ------------------------------------------------------------------------------------------- */

static pelt_result solve_slider(void *user, size_t s, size_t count, size_t block) {
    (void)count, (void)block;
    const work *w = user;
    px_slider_fit *fit = w->fit;
    const bool *active = fit->active + s * fit->bone_count;
    size_t n = w->n, m = 0;
    double *wanted = w->wanted + 3 * n * s;
    slider_wanted(w, s, wanted);
    uint32_t *rows = PX_ALLOC(fit->context, uint32_t, n);
    double *system = PX_ALLOC(fit->context, double, n *(n + 3));
    pelt_result result = rows && system ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t r = 0; rows && r < n; r++)
        if (active[1 + r / 4])
            rows[m++] = r;
    if (result == PELT_OK) {
        double *rhs = system + m * m, *out = px_slider_change(fit, s, 1);
        for (size_t r = 0; r < m; r++) {
            for (size_t c = 0; c < m; c++)
                system[r * m + c] = w->moments[rows[r] * n + rows[c]];
            memcpy(rhs + 3 * r, wanted + 3 * (size_t)rows[r], 3 * sizeof *rhs);
        }
        if (m == 0 || px_cholesky_solve(px_matrix_of(system, m, m), px_matrix_of(rhs, m, 3))) {
            memset(out, 0, 3 * n * sizeof *out);
            for (size_t r = 0; r < m; r++)
                memcpy(out + 3 * (size_t)rows[r], rhs + 3 * r, 3 * sizeof *rhs);
        } else
            result = px_fail(fit->context, PELT_ERROR_INPUT, "the morph targets are not finite, or too large");
    }
    px_free(fit->context, system);
    px_free(fit->context, rows);
    return result;
}

static pelt_result solve_transforms(work *w) {
    const px_slider_fit *fit = w->fit;
    if (!w->coupled)
        return px_parallel(fit->context, NULL, fit->slider_count, 1, solve_slider, w);
    for (size_t s = 0; s < fit->slider_count; s++) /* in order: each slider sees the new transforms before it */
        PX_TRY(solve_slider(w, s, 1, s));
    return PELT_OK;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* Quadrics that give p_iᵀ (Σ_st Q_st N_jsᵀ N_lt) p_i for all pairs of bones, and Q N. */
static void make_pairs(work *w) {
    px_slider_fit *fit = w->fit;
    size_t n = w->n, S = fit->slider_count, P = fit->bone_count;
    if (fit->metric)
        px_gemm(1, px_matrix_in(fit->metric, S, S), px_matrix_in(fit->changes, S, 12 * P), 0,
                px_matrix_of(w->mixed, S, 12 * P));
    for (size_t s = 0; s < S; s++)
        for (size_t r = 0; r < n; r++)
            memcpy(w->table + r * 3 * S + 3 * s, px_slider_change(fit, s, 1) + 3 * r, 3 * sizeof *w->table);
    if (!fit->metric)
        px_syrk(1, px_matrix_of(w->table, n, 3 * S), 0, px_matrix_of(w->gram, n, n));
    else {
        memset(w->gram, 0, n * n * sizeof *w->gram);
        for (size_t s = 0; s < S; s++)
            px_gemm(1, px_matrix_of(w->mixed + 12 * (s * P + 1), n, 3),
                    px_transposed(px_matrix_of(px_slider_change(fit, s, 1), n, 3)), 1, px_matrix_of(w->gram, n, n));
    }
    for (size_t j = 1; j < P; j++)
        for (size_t l = 1; l < P; l++) {
            const double *g = w->gram + 4 * (j - 1) * n + 4 * (l - 1);
            double *q = w->pairs + PAIR_SIZE * (j * P + l);
            for (size_t r = 0, e = 0; r < 4; r++)
                for (size_t c = r; c < 4; c++, e++)
                    q[e] = r == c ? g[r * n + c] : g[r * n + c] + g[c * n + r];
        }
}

typedef struct vertex_solve {
    double quadric[PAIR_SIZE]; /* products of the coordinates of the vertex, summed over its rows */
    double *b;                 /* [bone] Σ d·N_j p */
    double *scores;            /* [bone] */
    double square;             /* Σ ‖d‖² */
} vertex_solve;

static double pair_value(const work *w, const vertex_solve *v, size_t j, size_t l) {
    const double *q = w->pairs + PAIR_SIZE * (j * w->fit->bone_count + l);
    double sum = 0;
    for (size_t e = 0; e < PAIR_SIZE; e++)
        sum += q[e] * v->quadric[e];
    return sum;
}

static void prepare_vertex(const work *w, size_t i, vertex_solve *v) {
    const px_slider_fit *fit = w->fit;
    const double *p = fit->points + 4 * PX_SLIDER_ROWS * i;
    size_t P = fit->bone_count, S = fit->slider_count;
    memset(v->quadric, 0, sizeof v->quadric);
    memset(v->b, 0, P * sizeof *v->b);
    v->square = 0;
    for (size_t r = 0, e = 0; r < 4; r++)
        for (size_t c = r; c < 4; c++, e++)
            for (size_t row = 0; row < PX_SLIDER_ROWS; row++)
                v->quadric[e] += p[4 * row + r] * p[4 * row + c];
    for (size_t e = fit->offsets[i]; e < fit->offsets[i + 1]; e++) {
        const px_slider_entry *entry = &fit->entries[e];
        const double *mixed = w->mixed + 12 * entry->slider * P;
        double product[12] = {0};
        for (size_t r = 0; r < PX_SLIDER_ROWS; r++)
            for (size_t c = 0; c < 12; c++)
                product[c] += p[4 * r + c / 3] * (double)entry->rows[r][c % 3];
        for (size_t j = 1; j < P; j++)
            for (size_t c = 0; c < 12; c++)
                v->b[j] += product[c] * mixed[12 * j + c];
        for (size_t f = fit->offsets[i]; f < fit->offsets[i + 1]; f++) {
            const px_slider_entry *other = &fit->entries[f];
            double q = fit->metric ? fit->metric[entry->slider * S + other->slider] : entry == other;
            for (size_t c = 0; q != 0 && c < 3 * PX_SLIDER_ROWS; c++)
                v->square += q * (double)entry->rows[c / 3][c % 3] * (double)other->rows[c / 3][c % 3];
        }
    }
}

/* Solves on the simplex for the weights of `bones` [count], from the feasible x; returns the objective. */
static double solve_weights(const work *w, const vertex_solve *v, const uint16_t *bones, size_t count, double *x) {
    double g[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], b[PX_SIMPLEX_MAX];
    for (size_t r = 0; r < count; r++) {
        b[r] = v->b[bones[r]];
        for (size_t c = 0; c <= r; c++)
            g[r][c] = g[c][r] = pair_value(w, v, bones[r], bones[c]);
    }
    return v->square + px_simplex_least(count, g, b, x);
}

/* Score of a bone: what the best step from the current weights towards it gains. */
static void score_bones(const work *w, const vertex_solve *v, const uint16_t *bones, const double *x, size_t count) {
    size_t P = w->fit->bone_count;
    double level = 0, curve = 0, slopes[PELT_MAX_INFLUENCES];
    for (size_t k = 0; k < count; k++) {
        double at = 0;
        for (size_t l = 0; l < count; l++)
            at += x[l] * pair_value(w, v, bones[k], bones[l]);
        slopes[k] = v->b[bones[k]] - at;
        level += x[k] * slopes[k];
        curve += x[k] * at;
    }
    for (size_t j = 0; j < P; j++) {
        double at = 0;
        for (size_t k = 0; k < count; k++)
            at += x[k] * pair_value(w, v, j, bones[k]);
        double slope = v->b[j] - at - level, bend = pair_value(w, v, j, j) - 2 * at + curve;
        v->scores[j] = slope > 0 && bend > 0 ? slope * slope / bend : 0;
    }
}

/* Removes the bone with the smallest weight and gives its weight to the others. */
static size_t drop_least(uint16_t *bones, double *x, size_t count) {
    size_t least = 0;
    for (size_t k = 1; k < count; k++)
        least = x[k] < x[least] ? k : least;
    double rest = 1 - x[least];
    bones[least] = bones[count - 1], x[least] = x[count - 1];
    for (size_t k = 0; k + 1 < count; k++)
        x[k] = rest > 0 ? x[k] / rest : 1.0 / (double)(count - 1);
    return count - 1;
}

static void solve_vertex(const work *w, size_t i, vertex_solve *v) {
    px_slider_fit *fit = w->fit;
    size_t K = fit->influence_count, capacity = fit->capacities[i], now = 0;
    uint16_t bones[PX_SIMPLEX_MAX], *out = fit->bones + i * K;
    double x[PX_SIMPLEX_MAX], *weights = fit->weights + i * K;
    prepare_vertex(w, i, v);
    for (size_t k = 0; k < K; k++)
        if (weights[k] > 0)
            bones[now] = out[k], x[now++] = weights[k];
    uint16_t kept[PELT_MAX_INFLUENCES];
    double kept_x[PELT_MAX_INFLUENCES], kept_value = solve_weights(w, v, bones, now, x);
    memcpy(kept, bones, now * sizeof *kept);
    memcpy(kept_x, x, now * sizeof *kept_x);
    size_t count = now;
    score_bones(w, v, bones, x, now);
    for (size_t k = 0; k < now; k++)
        v->scores[bones[k]] = 0;
    while (count < PX_SIMPLEX_MAX && count < now + 8) {
        size_t best = 0;
        for (size_t j = 1; j < fit->bone_count; j++)
            best = v->scores[j] > v->scores[best] ? j : best;
        if (!(v->scores[best] > 0))
            break;
        v->scores[best] = 0;
        bones[count] = (uint16_t)best, x[count++] = 0;
    }
    double value = kept_value;
    if (count > now) {
        value = solve_weights(w, v, bones, count, x);
        for (size_t k = 0; k < count;)
            if (x[k] <= 0 && count > 1)
                bones[k] = bones[count - 1], x[k] = x[count - 1], count--;
            else
                k++;
        while (count > capacity) {
            count = drop_least(bones, x, count);
            value = solve_weights(w, v, bones, count, x);
        }
    }
    if (!(value < kept_value)) {
        value = kept_value, count = now;
        memcpy(bones, kept, now * sizeof *kept);
        memcpy(x, kept_x, now * sizeof *kept_x);
    }
    for (size_t k = 0; k < K; k++) {
        bool used = k < count && x[k] > 0;
        out[k] = used ? bones[k] : 0;
        weights[k] = used ? x[k] : 0;
    }
    w->objectives[i] = fit->importance[i] * px_fmax(value, 0);
}

static pelt_result solve_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const work *w = user;
    double *scratch = PX_ALLOC(w->fit->context, double, 2 * (size_t)w->fit->bone_count);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    vertex_solve v = {.b = scratch, .scores = scratch + w->fit->bone_count};
    for (size_t i = first; i < first + count; i++)
        solve_vertex(w, i, &v);
    px_free(w->fit->context, scratch);
    return PELT_OK;
}

static pelt_result solve_vertices(work *w) {
    make_pairs(w);
    PX_TRY(px_parallel(w->fit->context, NULL, w->fit->vertex_count, 64, solve_block, w));
    w->fit->objective = 0;
    for (size_t i = 0; i < w->fit->vertex_count; i++)
        w->fit->objective += w->objectives[i];
    return PELT_OK;
}

/* ---- Iteration -------------------------------------------------------------------------------------------- */

static pelt_result make_work(work *w) {
    px_slider_fit *fit = w->fit;
    size_t n = w->n, S = fit->slider_count, P = fit->bone_count;
    w->block_size = px_max_size(512, ((size_t)fit->vertex_count + MOMENT_BLOCKS - 1) / MOMENT_BLOCKS);
    w->moments =
        PX_NEW(fit->arena, double, px_mul_size(px_block_count(fit->vertex_count, w->block_size), n * (n + 3 * S)));
    w->inverse = PX_NEW(fit->arena, double, n *n);
    w->gram = PX_NEW(fit->arena, double, n *n);
    w->table = PX_NEW(fit->arena, double, 3 * n * S);
    w->mixed = fit->metric ? PX_NEW(fit->arena, double, 12 * S * P) : fit->changes;
    w->pairs = PX_NEW(fit->arena, double, PAIR_SIZE *P *P);
    w->wanted = PX_NEW(fit->arena, double, 3 * n * S);
    w->order = PX_NEW(fit->arena, uint16_t, S * P);
    w->costs = PX_NEW(fit->arena, double, S *P);
    w->left = PX_NEW(fit->arena, uint32_t, S);
    w->objectives = PX_NEW(fit->arena, double, fit->vertex_count);
    bool ready = w->moments && w->inverse && w->gram && w->table && w->mixed && w->pairs && w->wanted && w->order &&
                 w->costs && w->left && w->objectives;
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_slider_fit_run(px_slider_fit *fit, uint32_t iterations) {
    work w = {.fit = fit, .n = 4 * ((size_t)fit->bone_count - 1)};
    if (w.n == 0 || fit->vertex_count == 0 || fit->slider_count == 0)
        return PELT_OK;
    PX_TRY(make_work(&w));
    double all = (double)fit->slider_count * (double)(fit->bone_count - 1);
    double ratio = fit->nonzero_count < all ? (double)fit->nonzero_count / all : 1;
    uint32_t shrinking = iterations / 2 < SHRINKING ? iterations / 2 : SHRINKING;
    for (uint32_t t = 0; t < iterations; t++) {
        PX_TRY(px_progress(fit->context, "fitting sliders", t, iterations));
        PX_TRY(sum_moments(&w));
        double share = t < shrinking ? px_pow(ratio, (double)(t + 1) / (double)shrinking) : ratio;
        w.coupled = fit->metric && t > 0;
        if (t < shrinking + shrinking / 2 || t == 0)
            PX_TRY(choose_pairs(&w, (size_t)(share * all + 0.5)));
        double before = fit->objective;
        PX_TRY(solve_transforms(&w));
        PX_TRY(solve_vertices(&w));
        if (t > shrinking + shrinking / 2 && fit->objective >= (1 - CONVERGENCE) * before)
            break;
    }
    PX_TRY(sum_moments(&w));
    return solve_transforms(&w);
}

void px_slider_fit_squares(const px_slider_fit *fit, double *squares) {
    size_t K = fit->influence_count;
    for (size_t i = 0; i < fit->vertex_count; i++) {
        const double *p = fit->points + 4 * PX_SLIDER_ROWS * i;
        size_t next = fit->offsets[i];
        for (size_t s = 0; s < fit->slider_count; s++) {
            double error[PX_SLIDER_ROWS][3] = {0};
            if (next < fit->offsets[i + 1] && fit->entries[next].slider == s) {
                for (size_t c = 0; c < 3 * PX_SLIDER_ROWS; c++)
                    error[c / 3][c % 3] = (double)fit->entries[next].rows[c / 3][c % 3];
                next++;
            }
            for (size_t k = i * K; k < (i + 1) * K; k++) {
                const double *n = px_slider_change(fit, s, fit->bones[k]);
                for (size_t c = 0; fit->weights[k] > 0 && c < 12; c++)
                    for (size_t r = 0; r < PX_SLIDER_ROWS; r++)
                        error[r][c % 3] -= fit->weights[k] * p[4 * r + c / 3] * n[c];
            }
            for (size_t c = 0; c < 3 * PX_SLIDER_ROWS; c++)
                squares[s] += fit->importance[i] * error[c / 3][c % 3] * error[c / 3][c % 3];
        }
    }
}
