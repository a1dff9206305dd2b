/* Vertex step: rest positions, then weights, from H and a block of Y = T_rᵀ C.
 *
 * The weights of a vertex minimise wᵀGw − 2bᵀw on the simplex, with G_jl = (v, 1)ᵀ H_jl (v, 1) and b_j = (v, 1)ᵀ Y_j:
 * first exactly for the current bones; then bones are added while that lowers the error and fewer than K are in use,
 * and at most one is exchanged (WIDE_EXCHANGES with fit->wide). A change is kept only if it lowers the vertex's error,
 * so the error never rises (FESAM picks the K nearest columns afresh, which can raise it).
 *
 * With fit->published the K bones that predict the vertex best alone are taken, as in FESAM §4.4, without a search.
 *
 * The locked bones of a vertex act as one bone with index P, the mixture (their weighted sum). With fit->base the
 * mixture is a member of the active set and its weight may shrink; without, its contribution is subtracted and the
 * other bones share the weight that remains.
 */
#include "decompose/neighbours.h"
#include "numeric/simplex.h"

#include <math.h>

/* Predicted decrease that a candidate bone needs before it is tried, as a fraction of the vertex's error. Adding a bone
 * achieves part of the prediction; exchanging bones seldom does. */
#define WORTH_ADDING     1e-4
#define WORTH_EXCHANGING 1e-2
#define WORTH_SEEKING    1e-6 /* with fit->wide */

#define TURNS 2 /* alternations of rest position and weights: cheap while Y is in memory; more gain too little */

/* Scratch for one vertex, reused for all vertices of a block. */
typedef struct worker {
    const px_fit *fit;
    double *y;       /* [vertex of block][4P] */
    double *linear;  /* [bone + 1] b_j = (v, 1)ᵀ Y_j */
    double *slope;   /* [bone + 1] gradient */
    double *columns; /* [PX_SIMPLEX_MAX][bone + 1] columns of G of the active bones */
    double *mixture; /* [bone + 1] column of G of the mixture */
    double m[10];
    uint16_t bones[PX_SIMPLEX_MAX];
    double weights[PX_SIMPLEX_MAX];
    size_t count;
    size_t limit;     /* largest count */
    bool keeps_bones; /* only the weights change, not the set of bones */
    double norm;      /* ‖a_i‖² */
    uint16_t held_bones[PX_SIMPLEX_MAX];
    double held_weights[PX_SIMPLEX_MAX];
    size_t held_count; /* number of locked bones; 0: no mixture */
} worker;

/* ---- Rest position ---------------------------------------------------------------------------------------- */

/* Normal equations m v = rhs: m is the 3×3 block of Σ w_j w_l H_jl; its last column goes to the right-hand side. */
static void rest_system(const px_fit *fit, const double *y, uint32_t i, double m[9], double rhs[3]) {
    size_t n = 4 * (size_t)fit->bone_count, K = fit->influence_count;
    const px_fit_state *s = &fit->now;
    memset(m, 0, 9 * sizeof *m);
    memset(rhs, 0, 3 * sizeof *rhs);
    for (size_t a = 0; a < s->counts[i]; a++) {
        size_t j = 4 * (size_t)s->bones[i * K + a];
        double wa = s->weights[i * K + a];
        for (size_t r = 0; r < 3; r++)
            rhs[r] += wa * y[j + r];
        for (size_t b = 0; b < s->counts[i]; b++) {
            const double *block = fit->gram + j * n + 4 * (size_t)s->bones[i * K + b];
            double w = wa * s->weights[i * K + b];
            for (size_t r = 0; r < 3; r++) {
                for (size_t c = 0; c < 3; c++)
                    m[3 * r + c] += w * block[r * n + c];
                rhs[r] -= w * block[r * n + 3];
            }
        }
    }
}

/* Solves m x = r for symmetric m with damping towards the current x: directions that the animation hardly determines do
 * not move. */
static void solve_damped(double m[9], double r[3], double x[3]) {
    double damping = 1e-6 * (m[0] + m[4] + m[8]); /* 1e-6: squared precision of trajectories in single precision */
    for (int c = 0; c < 3; c++) {
        m[4 * c] += damping;
        r[c] += damping * x[c];
    }
    double c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6];
    double det = m[0] * c0 + m[1] * c1 + m[2] * c2;
    if (!(det > 0))
        return;
    double out[3] = {
        (c0 * r[0] + (m[2] * m[7] - m[1] * m[8]) * r[1] + (m[1] * m[5] - m[2] * m[4]) * r[2]) / det,
        (c1 * r[0] + (m[0] * m[8] - m[2] * m[6]) * r[1] + (m[2] * m[3] - m[0] * m[5]) * r[2]) / det,
        (c2 * r[0] + (m[1] * m[6] - m[0] * m[7]) * r[1] + (m[0] * m[4] - m[1] * m[3]) * r[2]) / det,
    };
    if (isfinite(out[0]) && isfinite(out[1]) && isfinite(out[2]))
        memcpy(x, out, sizeof out);
}

static void vertex_rest(const px_fit *fit, uint32_t i, const double *y) {
    double m[9], rhs[3];
    rest_system(fit, y, i, m, rhs);
    for (size_t c = 0; fit->home && c < 3; c++) {
        m[4 * c] += fit->rest_pull;
        rhs[c] += fit->rest_pull * fit->home[3 * (size_t)i + c];
    }
    solve_damped(m, rhs, fit->now.rest + 3 * (size_t)i);
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* Column l of G: (v, 1)ᵀ H_jl (v, 1) for all j. */
static void make_column(const worker *w, size_t l, double *out) {
    size_t P = w->fit->bone_count;
    const double *quadric = w->fit->pairs + l * 10 * P;
    for (size_t j = 0; j < P; j++)
        out[j] = w->m[0] * quadric[j];
    for (size_t k = 1; k < 10; k++)
        for (size_t j = 0; j < P; j++)
            out[j] += w->m[k] * quadric[k * P + j];
    if (w->fit->smoothing)
        out[l] += w->fit->smoothing->strength;
    out[P] = 0;
    for (size_t h = 0; h < w->held_count; h++)
        out[P] += w->held_weights[h] * out[w->held_bones[h]];
}

static double diagonal(const worker *w, size_t j) {
    double sum = px_fit_pair(w->fit, j, j, w->m);
    return w->fit->smoothing ? sum + w->fit->smoothing->strength : sum;
}

/* Adds the penalty towards the neighbours' weights (px_smoothing) to the linear terms. */
static void pull_to_neighbours(worker *w, uint32_t i) {
    const px_smoothing *pull = w->fit->smoothing;
    size_t K = w->fit->influence_count, first = pull->neighbours->offsets[i], end = pull->neighbours->offsets[i + 1];
    for (size_t e = first; e < end; e++)
        for (size_t a = 0; a < pull->from->counts[pull->neighbours->items[e]]; a++) {
            size_t place = pull->neighbours->items[e] * K + a;
            w->linear[pull->from->bones[place]] += pull->strength * pull->from->weights[place] / (double)(end - first);
        }
}

/* Exact weights for the bones at `places` of the active set; `weights` holds a feasible start. Returns wᵀGw − 2bᵀw. */
static double solve_places(const worker *w, const size_t *places, size_t count, double *weights) {
    size_t pitch = w->fit->bone_count + (size_t)1;
    double g[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], b[PX_SIMPLEX_MAX];
    for (size_t r = 0; r < count; r++) {
        b[r] = w->linear[w->bones[places[r]]];
        for (size_t c = 0; c < count; c++)
            g[r][c] = w->columns[places[r] * pitch + w->bones[places[c]]];
    }
    return px_simplex_least(count, g, b, weights);
}

static double solve_set(worker *w) {
    size_t all[PX_SIMPLEX_MAX];
    for (size_t a = 0; a < w->count; a++)
        all[a] = a;
    return solve_places(w, all, w->count, w->weights);
}

static void move_place(worker *w, size_t from, size_t to) {
    size_t pitch = w->fit->bone_count + (size_t)1;
    w->bones[to] = w->bones[from];
    w->weights[to] = w->weights[from];
    memmove(w->columns + to * pitch, w->columns + from * pitch, pitch * sizeof(double));
}

static void drop_zeros(worker *w) {
    size_t kept = 0;
    for (size_t a = 0; a < w->count; a++)
        if (w->weights[a] > 0 || w->bones[a] == w->fit->bone_count) {
            if (kept != a)
                move_place(w, a, kept);
            kept++;
        }
    w->count = kept;
}

static bool in_set(const worker *w, size_t j) {
    for (size_t a = 0; a < w->count; a++)
        if (w->bones[a] == j)
            return true;
    return false;
}

static bool is_locked(const px_fit *fit, size_t j) {
    return fit->lock_weights && fit->lock_weights[j];
}

/* The bone outside the active set with the largest predicted decrease for a line search towards it, which scales all
 * other weights alike. PELT_NONE if no prediction exceeds `least`. */
static uint32_t best_bone(worker *w, double least) {
    size_t P = w->fit->bone_count;
    for (size_t j = 0; j <= P; j++)
        w->slope[j] = -w->linear[j];
    for (size_t a = 0; a < w->count; a++)
        for (size_t j = 0; j <= P; j++)
            w->slope[j] += w->weights[a] * w->columns[a * (P + 1) + j];
    double level = 0, square = 0;
    for (size_t a = 0; a < w->count; a++) {
        level += w->weights[a] * w->slope[w->bones[a]];
        square += w->weights[a] * (w->slope[w->bones[a]] + w->linear[w->bones[a]]);
    }
    uint32_t best = PELT_NONE;
    for (size_t j = 0; j < P; j++) {
        double fall = level - w->slope[j];
        if (fall <= 0 || in_set(w, j) || is_locked(w->fit, j))
            continue;
        double curvature = diagonal(w, j) - 2 * (w->slope[j] + w->linear[j]) + square;
        double decrease = curvature > fall ? fall * fall / curvature : 2 * fall - curvature;
        if (decrease > least) {
            least = decrease;
            best = (uint32_t)j;
        }
    }
    return best;
}

/* Appends bone j to the active set with weight 0.1, so that the solver starts in the interior. */
static void append_bone(worker *w, uint32_t j) {
    size_t place = w->count++;
    w->bones[place] = (uint16_t)j;
    make_column(w, j, w->columns + place * (w->fit->bone_count + (size_t)1));
    for (size_t a = 0; a < place; a++)
        w->weights[a] *= 0.9;
    w->weights[place] = 0.1;
}

/* Removes from an active set that is one too large the bone whose removal costs least. Returns wᵀGw − 2bᵀw. */
static double cut_back(worker *w) {
    double best = INFINITY, best_weights[PX_SIMPLEX_MAX];
    size_t out = 0;
    for (size_t a = 0; a < w->count; a++) {
        if (w->bones[a] == w->fit->bone_count)
            continue; /* the mixture is never removed */
        size_t places[PX_SIMPLEX_MAX], count = 0;
        double weights[PX_SIMPLEX_MAX], sum = 0;
        for (size_t c = 0; c < w->count; c++)
            if (c != a) {
                places[count] = c;
                sum += weights[count++] = w->weights[c];
            }
        for (size_t c = 0; c < count; c++)
            weights[c] /= sum;
        double value = solve_places(w, places, count, weights);
        if (value < best) {
            best = value;
            out = a;
            memcpy(best_weights, weights, sizeof weights);
        }
    }
    for (size_t a = out; a + 1 < w->count; a++)
        move_place(w, a + 1, a);
    w->count--;
    memcpy(w->weights, best_weights, w->count * sizeof(double));
    return best;
}

#define WIDE_EXCHANGES 16 /* more are hardly ever used */

/* Optimises weights and, unless keeps_bones, the active set. Returns wᵀGw − 2bᵀw. */
static double solve_weights(worker *w) {
    double value = solve_set(w);
    for (int exchanges = w->fit->wide ? WIDE_EXCHANGES : 1;;) {
        drop_zeros(w);
        if (w->keeps_bones)
            return value;
        double promise = w->count == w->limit ? WORTH_EXCHANGING : WORTH_ADDING;
        promise = w->fit->wide ? WORTH_SEEKING : promise;
        uint32_t j = best_bone(w, promise * (w->norm + value) + 1e-14 * w->norm);
        if (j == PELT_NONE || (w->count == w->limit && exchanges == 0))
            return value;
        uint16_t bones[PX_SIMPLEX_MAX];
        double weights[PX_SIMPLEX_MAX];
        size_t count = w->count;
        memcpy(bones, w->bones, sizeof bones);
        memcpy(weights, w->weights, sizeof weights);
        bool full = count == w->limit;
        exchanges -= full;
        append_bone(w, j);
        double changed = full ? cut_back(w) : solve_set(w);
        if (!(changed < value)) {
            memcpy(w->bones, bones, sizeof bones);
            memcpy(w->weights, weights, sizeof weights);
            w->count = count;
            return value;
        }
        value = changed;
    }
}

/* Runs solve_weights, then once more via a larger set: with the larger limit the minimum over all bones is found, and
 * when the set is cut back, bones that only substituted for others are removed first. Keeps the better result. */
static double solve_wide(worker *w) {
    size_t limit = w->limit, count;
    double value = solve_weights(w), weights[PX_SIMPLEX_MAX];
    uint16_t bones[PX_SIMPLEX_MAX];
    count = w->count;
    memcpy(bones, w->bones, sizeof bones);
    memcpy(weights, w->weights, sizeof weights);
    w->limit = PX_SIMPLEX_MAX - 1;
    solve_weights(w);
    while (w->count > limit) {
        cut_back(w);
        drop_zeros(w);
    }
    w->limit = limit;
    double wide = solve_weights(w);
    if (wide < value)
        return wide;
    w->count = count;
    memcpy(w->bones, bones, sizeof bones);
    memcpy(w->weights, weights, sizeof weights);
    return value;
}

/* ---- One vertex ------------------------------------------------------------------------------------------- */

static void add_member(worker *w, size_t j, double weight) {
    w->bones[w->count] = (uint16_t)j;
    w->weights[w->count] = weight;
    make_column(w, j, w->columns + w->count++ * (w->fit->bone_count + (size_t)1));
}

/* Collects the locked bones of the vertex and computes the mixture. Returns the sum of their weights. */
static double hold_locked(worker *w, uint32_t i) {
    const px_fit *fit = w->fit;
    const px_fit_state *s = fit->base ? fit->base : &fit->now;
    size_t K = fit->influence_count, P = fit->bone_count;
    double sum = 0;
    memset(w->mixture, 0, (P + 1) * sizeof *w->mixture);
    w->linear[P] = 0;
    for (size_t a = 0; a < s->counts[i]; a++) {
        size_t j = s->bones[i * K + a];
        double weight = s->weights[i * K + a];
        if (!is_locked(fit, j))
            continue;
        make_column(w, j, w->slope);
        for (size_t l = 0; l < P; l++)
            w->mixture[l] += weight * w->slope[l];
        w->linear[P] += weight * w->linear[j];
        w->held_bones[w->held_count] = (uint16_t)j;
        w->held_weights[w->held_count++] = weight;
        sum += weight;
    }
    for (size_t h = 0; h < w->held_count; h++)
        w->mixture[P] += w->held_weights[h] * w->mixture[w->held_bones[h]];
    return sum;
}

/* wᵀGw − 2bᵀw for the current weights of the vertex. */
static double value_now(worker *w, uint32_t i) {
    const px_fit_state *s = &w->fit->now;
    size_t K = w->fit->influence_count;
    double value = 0;
    for (size_t a = 0; a < s->counts[i]; a++) {
        size_t j = s->bones[i * K + a];
        make_column(w, j, w->slope);
        double sum = -2 * w->linear[j];
        for (size_t c = 0; c < s->counts[i]; c++)
            sum += s->weights[i * K + c] * w->slope[s->bones[i * K + c]];
        value += s->weights[i * K + a] * sum;
    }
    return value;
}

/* Stores the locked bones, then the active set. The free weights sum to `share`. */
static void store_vertex(const worker *w, uint32_t i, double share) {
    const px_fit *fit = w->fit;
    size_t K = fit->influence_count, count = 0;
    uint16_t *bones = fit->now.bones + i * K;
    double *weights = fit->now.weights + i * K, sum = 0, held = 1;
    for (size_t a = 0; a < w->count; a++)
        sum += w->weights[a];
    for (size_t a = 0; a < w->count; a++)
        if (w->bones[a] == fit->bone_count)
            held = w->weights[a] / sum;
    for (size_t h = 0; held > 0 && h < w->held_count; h++) {
        bones[count] = w->held_bones[h];
        weights[count++] = held * w->held_weights[h];
    }
    for (size_t a = 0; a < w->count; a++)
        if (w->bones[a] != fit->bone_count) {
            bones[count] = w->bones[a];
            weights[count++] = share * (w->weights[a] / sum);
        }
    fit->now.counts[i] = (uint8_t)count;
    for (; count < K; count++) {
        bones[count] = 0;
        weights[count] = 0;
    }
}

/* Makes the mixture the first member of the active set, with the weight that the free bones leave. */
static void join_mixture(worker *w, uint32_t i) {
    const px_fit_state *s = &w->fit->now;
    size_t K = w->fit->influence_count, P = w->fit->bone_count;
    w->limit = K - w->held_count + 1;
    w->count = 1;
    w->bones[0] = (uint16_t)P;
    w->weights[0] = 1;
    for (size_t a = 0, free_count = 1; a < s->counts[i] && free_count < w->limit; a++)
        if (!is_locked(w->fit, s->bones[i * K + a])) {
            w->weights[0] = fmax(w->weights[0] - s->weights[i * K + a], 0);
            free_count++;
        }
    memcpy(w->columns, w->mixture, (P + 1) * sizeof *w->columns);
}

/* Subtracts the mixture from the target and scales the problem so that the free weights sum to one. Returns the
 * mixture's own contribution to wᵀGw − 2bᵀw. */
static double subtract_mixture(worker *w, double share) {
    size_t P = w->fit->bone_count;
    double offset = w->mixture[P] - 2 * w->linear[P];
    w->limit = w->fit->influence_count - w->held_count;
    w->norm = (w->norm + offset) / (share * share);
    for (size_t j = 0; j < P; j++)
        w->linear[j] = (w->linear[j] - w->mixture[j]) / share;
    return offset;
}

/* Makes the bones with the least error at weight 1 the active set, the best one with weight 1. */
static void take_nearest(worker *w) {
    w->keeps_bones = true;
    for (size_t j = 0; j < w->fit->bone_count; j++)
        w->slope[j] = is_locked(w->fit, j) ? INFINITY : diagonal(w, j) - 2 * w->linear[j];
    while (w->count < w->limit) {
        size_t best = 0;
        for (size_t j = 1; j < w->fit->bone_count; j++)
            if (w->slope[j] < w->slope[best])
                best = j;
        if (!(w->slope[best] < INFINITY))
            return;
        add_member(w, best, w->count == 0);
        w->slope[best] = INFINITY;
    }
}

#define LEAST_SHARE 1e-6 /* free share below which all bones of a vertex count as locked: rounding of weights */

static double vertex_weights(worker *w, uint32_t i, const double *y) {
    const px_fit *fit = w->fit;
    const px_fit_state *s = &fit->now;
    size_t K = fit->influence_count, P = fit->bone_count;
    const double *v = s->rest + 3 * (size_t)i;
    px_fit_monomials(v, w->m);
    w->norm = fit->norms[i];
    for (size_t j = 0; j < P; j++)
        w->linear[j] = px_fit_linear(v, y, j);
    if (fit->smoothing)
        pull_to_neighbours(w, i);
    w->count = w->held_count = 0;
    w->limit = K;
    double held = fit->lock_weights ? hold_locked(w, i) : 0, share = fit->base ? 1 : 1 - held, offset = 0;
    bool all_held = w->held_count > 0 && !fit->base && (share < LEAST_SHARE || w->held_count == s->counts[i]);
    if (all_held || (fit->lock_vertices && fit->lock_vertices[i]))
        return value_now(w, i);
    if (w->held_count > 0 && fit->base)
        join_mixture(w, i);
    else if (w->held_count > 0)
        offset = subtract_mixture(w, share);
    for (size_t a = 0; !fit->published && a < s->counts[i] && w->count < w->limit; a++)
        if (!is_locked(fit, s->bones[i * K + a]))
            add_member(w, s->bones[i * K + a], s->weights[i * K + a] / share);
    if (fit->published)
        take_nearest(w);
    double value = fit->wide && w->limit > 1 ? solve_wide(w) : solve_weights(w);
    store_vertex(w, i, share);
    return offset + share * share * value;
}

/* ---- Parallel pass ------------------------------------------------------------------------------------------ */

typedef struct pass {
    px_fit *fit;
    bool rest;
} pass;

static pelt_result vertex_block(void *user, size_t first, size_t count, size_t block) {
    const pass *p = user;
    px_fit *fit = p->fit;
    size_t P = fit->bone_count;
    worker w = {.fit = fit};
    double *scratch = PX_ALLOC(fit->context, double, count * 4 * P + (PX_SIMPLEX_MAX + 3) * (P + 1));
    if (!scratch)
        return PELT_ERROR_MEMORY;
    w.y = scratch;
    w.linear = w.y + count * 4 * P;
    w.slope = w.linear + P + 1;
    w.mixture = w.slope + P + 1;
    w.columns = w.mixture + P + 1;
    pelt_result result = px_fit_products(fit, first, count, w.y);
    double sum = 0;
    for (size_t i = first; result == PELT_OK && i < first + count; i++) {
        const double *y = w.y + (i - first) * 4 * P;
        for (int turn = 0; turn < (p->rest && !fit->published ? TURNS : 1); turn++) {
            if (p->rest)
                vertex_rest(fit, (uint32_t)i, y);
            w.keeps_bones = p->rest && turn + 1 < TURNS;
            fit->residuals[i] = fmax(fit->norms[i] + vertex_weights(&w, (uint32_t)i, y), 0);
        }
        sum += fit->residuals[i];
    }
    fit->block_objective[block] = sum;
    px_free(fit->context, scratch);
    return result;
}

pelt_result px_fit_vertices(px_fit *fit, bool rest) {
    pass p = {fit, rest && !fit->fixed_rest};
    size_t block = px_fit_block(fit);
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, block, vertex_block, &p));
    fit->now.objective = 0;
    for (size_t b = 0; b < px_block_count(fit->vertex_count, block); b++)
        fit->now.objective += fit->block_objective[b];
    return PELT_OK;
}

/* Runs the vertex step with every vertex locked. */
pelt_result px_fit_measure(px_fit *fit) {
    uint8_t *all = PX_ALLOC(fit->context, uint8_t, fit->vertex_count);
    if (!all)
        return PELT_ERROR_MEMORY;
    memset(all, 1, fit->vertex_count);
    const uint8_t *locks = fit->lock_vertices;
    fit->lock_vertices = all;
    pelt_result result = px_fit_vertices(fit, false);
    fit->lock_vertices = locks;
    px_free(fit->context, all);
    return result;
}
