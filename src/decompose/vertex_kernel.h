/* Vertex step: rest positions and weights, from H and products Y = T_rᵀ C. Sums have a fixed order. The including file
 * defines LANES (passes.h), VERTEX_BLOCK and VERTEX_PRODUCT, the names of its functions.
 *
 * Rest position and weights of a vertex on its current bones are improved together (joint_kernel.h), for affine bones; for
 * other kinds, which take longer steps with it and end in worse minima, in turns. Then, where the pass searches
 * for bones, the weights minimise wᵀGw − 2bᵀw on the simplex, with G_jl = (v, 1)ᵀ H_jl (v, 1) and b_j = (v, 1)ᵀ Y_j:
 * exactly for the current bones; then bones are added while that lowers the error and fewer than K are in use,
 * and at most one is exchanged (WIDE_EXCHANGES of a wide search). A change is kept only if it lowers the vertex's error,
 * so the error never rises (FESAM picks the K nearest columns afresh, which can raise it).
 *
 * A pass without a search needs few columns of Y: a fraction of the time.
 *
 * With fit->published the K bones that predict the vertex best alone are taken, as in FESAM §4.4, without a search.
 *
 * The locked bones of a vertex act as one bone with index P, the mixture (their weighted sum). With fit->base the
 * mixture is a member of the active set and its weight may shrink; without, its contribution is subtracted and the
 * other bones share the weight that remains.
 */
#include "decompose/joint_kernel.h"
#include "decompose/kinds.h"
#include "decompose/neighbours.h"
#include "decompose/passes.h"
#include "numeric/simplex.h"

#include <math.h>

/* Predicted decrease that a candidate bone needs before it is tried, as a fraction of the vertex's error. Adding a bone
 * achieves part of the prediction; exchanging bones seldom does. */
#define WORTH_ADDING     1e-4
#define WORTH_EXCHANGING 1e-2
#define WORTH_SEEKING    1e-6 /* of a wide search */

/* Scratch for one vertex, reused for all vertices of a block. */
typedef struct worker {
    const px_fit *fit;
    double *y;        /* [vertex of block][4P] */
    double *linear;   /* [pitch] b_j = (v, 1)ᵀ Y_j */
    double *slope;    /* [pitch] gradient, scratch */
    double *decrease; /* [pitch] predicted decrease of the error by each bone */
    double *columns;  /* [PX_SIMPLEX_MAX][pitch] columns of G of the active bones */
    double *mixture;  /* [pitch] column of G of the mixture */
    size_t pitch;     /* px_fit_pitch: bones, the mixture, and room up to a whole vector */
    double m[10];
    uint16_t bones[PX_SIMPLEX_MAX];
    double weights[PX_SIMPLEX_MAX];
    size_t count;
    size_t limit;     /* largest count */
    bool keeps_bones; /* only the weights change, not the set of bones: fit->published */
    bool wide;        /* searches more sets of bones */
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

/* out[j] := value of the quadric [10][pitch] of bone j at the vertex. */
static inline void make_values(const worker *w, const double *quadric, double *out) {
    for (size_t j = 0; j < w->pitch; j += LANES) {
        px_lanes sum = w->m[0] * *(const px_lanes *)(quadric + j);
        for (size_t k = 1; k < 10; k++)
            sum += w->m[k] * *(const px_lanes *)(quadric + k * w->pitch + j);
        PX_LANES(out + j) = sum;
    }
}

/* Column l of G: (v, 1)ᵀ H_jl (v, 1) for all j. */
static void make_column(const worker *w, size_t l, double *out) {
    size_t P = w->fit->bone_count;
    make_values(w, w->fit->pairs + l * 10 * w->pitch, out);
    if (w->fit->smoothing)
        out[l] += w->fit->smoothing->strength;
    out[P] = 0;
    for (size_t h = 0; h < w->held_count; h++)
        out[P] += w->held_weights[h] * out[w->held_bones[h]];
}

/* The diagonal of G. */
static void make_diagonal(const worker *w, double *out) {
    make_values(w, w->fit->squares, out);
    for (size_t j = 0; w->fit->smoothing && j < w->fit->bone_count; j++)
        out[j] += w->fit->smoothing->strength;
}

/* b_j = (v, 1)ᵀ Y_j for all j. */
static void make_linear(const worker *w, const double v[3], const double *y) {
    size_t P = w->fit->bone_count, j = 0;
    for (; j + 4 <= P; j += 4, y += 16) {
        px_quad rows[4];
        transpose4(y, 4, rows);
        PX_QUAD(w->linear + j) = v[0] * rows[0] + v[1] * rows[1] + v[2] * rows[2] + rows[3];
    }
    for (; j < P; j++, y += 4)
        w->linear[j] = px_fit_linear(v, y, 0);
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
    size_t pitch = w->pitch;
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
    size_t pitch = w->pitch;
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

static bool is_locked(const px_fit *fit, size_t j) {
    return fit->lock_weights && fit->lock_weights[j];
}

/* The bone outside the active set with the largest predicted decrease for a line search towards it, which scales all
 * other weights alike. PELT_NONE if no prediction exceeds `least`. */
static uint32_t best_bone(worker *w, double least) {
    size_t P = w->fit->bone_count, pitch = w->pitch;
    double level = 0, square = 0, gradients[PX_SIMPLEX_MAX];
    make_diagonal(w, w->decrease);
    for (size_t j = 0; j < pitch; j += LANES) {
        px_lanes sum = {0};
        for (size_t a = 0; a < w->count; a++)
            sum += w->weights[a] * PX_LANES(w->columns + a * pitch + j);
        PX_LANES(w->slope + j) = sum; /* G w */
    }
    for (size_t a = 0; a < w->count; a++) {
        gradients[a] = w->slope[w->bones[a]] - w->linear[w->bones[a]];
        level += w->weights[a] * gradients[a];
        square += w->weights[a] * w->slope[w->bones[a]];
    }
    for (size_t j = 0; j < pitch; j += LANES) {
        batch slope = PX_LANES(w->slope + j), fall = level + PX_LANES(w->linear + j) - slope;
        batch curvature = PX_LANES(w->decrease + j) - 2 * slope + square;
        batch decrease = SELECT((batch_mask)(curvature > fall), fall * fall / curvature, 2 * fall - curvature);
        PX_LANES(w->decrease + j) = SELECT((batch_mask)(fall > 0), decrease, (batch){0});
    }
    for (size_t a = 0; a < w->count; a++)
        w->decrease[w->bones[a]] = 0;
    uint32_t best = PELT_NONE;
    for (size_t j = 0; j < P; j++)
        if (w->decrease[j] > least && !is_locked(w->fit, j)) {
            least = w->decrease[j];
            best = (uint32_t)j;
        }
    return best;
}

/* Appends bone j to the active set with weight 0.1, so that the solver starts in the interior. */
static void append_bone(worker *w, uint32_t j) {
    size_t place = w->count++;
    w->bones[place] = (uint16_t)j;
    make_column(w, j, w->columns + place * w->pitch);
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

/* Makes `bones` [count] the active set again. */
static void restore_set(worker *w, const uint16_t *bones, const double *weights, size_t count) {
    for (size_t a = 0; a < count; a++) {
        if (a >= w->count || w->bones[a] != bones[a]) {
            assert(bones[a] < w->fit->bone_count); /* the mixture keeps its place */
            make_column(w, bones[a], w->columns + a * w->pitch);
        }
        w->bones[a] = bones[a];
        w->weights[a] = weights[a];
    }
    w->count = count;
}

#define WIDE_EXCHANGES 16 /* more are hardly ever used */

/* Optimises weights and, unless keeps_bones, the active set. Returns wᵀGw − 2bᵀw. */
static double solve_weights(worker *w) {
    double value = solve_set(w);
    for (int exchanges = w->wide ? WIDE_EXCHANGES : 1;;) {
        drop_zeros(w);
        if (w->keeps_bones)
            return value;
        double promise = w->count == w->limit ? WORTH_EXCHANGING : WORTH_ADDING;
        promise = w->wide ? WORTH_SEEKING : promise;
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
            restore_set(w, bones, weights, count);
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
    restore_set(w, bones, weights, count);
    return value;
}

/* ---- One vertex ------------------------------------------------------------------------------------------- */

static void add_member(worker *w, size_t j, double weight) {
    w->bones[w->count] = (uint16_t)j;
    w->weights[w->count] = weight;
    make_column(w, j, w->columns + w->count++ * w->pitch);
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
            w->weights[0] = px_fmax(w->weights[0] - s->weights[i * K + a], 0);
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
    make_diagonal(w, w->slope);
    for (size_t j = 0; j < w->fit->bone_count; j++)
        w->slope[j] = is_locked(w->fit, j) ? INFINITY : w->slope[j] - 2 * w->linear[j];
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
    size_t K = fit->influence_count;
    const double *v = s->rest + 3 * (size_t)i;
    px_fit_monomials(v, w->m);
    w->norm = fit->norms[i];
    make_linear(w, v, y);
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
    double value = w->wide && w->limit > 1 ? solve_wide(w) : solve_weights(w);
    store_vertex(w, i, share);
    return offset + share * share * value;
}

/* ---- Block of vertices ------------------------------------------------------------------------------------- */

#define PARTS (8 / LANES) /* eight partial sums, whatever the vectors */
#define GROUP (LANES / 4) /* vertices at a time: their sums fit in registers */

/* *y[v] := product of the rows [4][d] of a bone and coords[v] [d], for `count` vertices. */
INLINE void bone_products(const double *rows, size_t d, const float *const *coords, size_t count,
                          double (*const *y)[4]) {
    px_lanes sums[GROUP][4][PARTS];
    size_t e = 0;
    for (size_t v = 0; v < count; v++)
        for (size_t r = 0; r < 4; r++)
            for (size_t part = 0; part < PARTS; part++)
                sums[v][r][part] = (px_lanes){0};
    for (; e + 8 <= d; e += 8)
        for (size_t part = 0; part < PARTS; part++) {
            px_lanes wide[GROUP];
            for (size_t v = 0; v < count; v++)
                wide[v] = PX_LANES_WIDE(coords[v] + e + part * LANES);
            for (size_t r = 0; r < 4; r++) {
                px_lanes row = *(const px_lanes *)(rows + r * d + e + part * LANES);
                for (size_t v = 0; v < count; v++)
                    sums[v][r][part] += row * wide[v];
            }
        }
    for (size_t v = 0; v < count; v++)
        for (size_t r = 0; r < 4; r++) {
            double s[8];
            memcpy(s, sums[v][r], sizeof s);
            double sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
            for (size_t t = e; t < d; t++)
                sum += rows[r * d + t] * (double)coords[v][t];
            (*y[v])[r] = sum;
        }
}

void VERTEX_PRODUCT(const px_fit *fit, size_t i, size_t j, double y[4]) {
    size_t d = fit->dimension;
    const float *coords = fit->coords + i * d;
    double(*out)[4] = (double(*)[4])y;
    bone_products(fit->now.reduced + 4 * j * d, d, &coords, 1, &out);
}

/* Rows of Y of the bones of the vertices of a block: y [vertex][K][4]. By bone, so that its rows of T_r stay in the
 * cache. `influences` and `firsts` are scratch for px_fit_by_bone. */
static void sparse_products(const px_fit *fit, size_t first, size_t count, double (*y)[4], uint32_t *influences,
                            uint32_t *firsts) {
    size_t d = fit->dimension, K = fit->influence_count;
    px_fit_by_bone(fit, first, count, influences, firsts);
    for (size_t j = 0; j < fit->bone_count; j++)
        for (size_t p = firsts[j]; p < firsts[j + 1]; p += GROUP) {
            const float *coords[GROUP];
            double(*out[GROUP])[4];
            for (size_t v = 0; v < GROUP; v++) { /* the last group may repeat a vertex */
                size_t at = influences[px_min_size(p + v, firsts[j + 1] - 1)];
                coords[v] = fit->coords + (first + at / K) * d;
                out[v] = &y[at];
            }
            bone_products(fit->now.reduced + 4 * j * d, d, coords, GROUP, out);
        }
}

#define TURNS 2 /* alternations of rest position and weights: cheap while Y is in memory; more gain too little */

#define QUIET_SEARCHES 2u  /* searches without success after which a vertex … */
#define SEARCH_EVERY   4u  /* … is searched in every fourth iteration only */
#define SMALL_RESIDUAL 1.0 /* squared residual, relative to the mean, below which it is searched half as often … */
#define TINY_RESIDUAL  0.3 /* … and a quarter as often: these vertices are many and add little to the objective */

/* Whether a vertex is searched for better bones. Always with locked bones: joint_block does not know them. Only affine bones
 * spare vertices with small residuals: other kinds end in worse minima then. */
static bool is_due(const px_vertex_pass *p, size_t i) {
    const px_fit *fit = p->fit;
    if (p->measure || p->all || fit->lock_weights)
        return !p->measure;
    double mean = fit->now.objective / fit->total_count, residual = fit->residuals[i];
    uint32_t rarely = !fit->kind->unconstrained          ? 1
                      : residual < TINY_RESIDUAL * mean  ? 4
                      : residual < SMALL_RESIDUAL * mean ? 2
                                                         : 1;
    return (fit->first_vertex + i + p->turn) % (fit->quiet[i] < QUIET_SEARCHES ? rarely : rarely * SEARCH_EVERY) == 0;
}

pelt_result VERTEX_BLOCK(void *user, size_t first, size_t count, size_t block) {
    const px_vertex_pass *p = user;
    px_fit *fit = p->fit;
    size_t P = fit->bone_count, n = 4 * P, K = fit->influence_count, due = 0, searched = 0;
    size_t pitch = px_fit_pitch(P);
    uint32_t *lists = PX_ALLOC(fit->context, uint32_t, count * (K + 1) + P + 2);
    uint32_t *vertices = lists ? lists + count * K + P + 2 : NULL;
    double(*own)[4] = px_alloc(fit->context, count * (K + 1), sizeof *own), sum = 0;
    double *values = own ? own[count * K] : NULL; /* [vertex of the block] */
    for (size_t i = first; lists && i < first + count; i++)
        if (is_due(p, i))
            vertices[due++] = (uint32_t)i;
    worker w = {.fit = fit, .pitch = pitch, .y = PX_ALLOC(fit->context, double, due *n + (PX_SIMPLEX_MAX + 4) * pitch)};
    pelt_result result = lists && own && w.y ? px_fit_products_of(fit, vertices, due, w.y) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        w.linear = w.y + due * n;
        w.slope = w.linear + pitch;
        w.decrease = w.slope + pitch;
        w.mixture = w.decrease + pitch;
        w.columns = w.mixture + pitch;
        sparse_products(fit, first, count, own, lists, lists + count * K);
    }
    size_t alone = 0;
    for (size_t i = first; result == PELT_OK && i < first + count; i++) {
        bool search = searched < due && vertices[searched] == i;
        searched += search;
        if (!search || (p->joint && !px_fit_locked(fit, i)))
            lists[alone++] = (uint32_t)(i - first);
    }
    if (result == PELT_OK)
        joint_block(p, first, lists, alone, own, values);
    searched = 0;
    for (size_t i = first; result == PELT_OK && i < first + count; i++) {
        bool search = searched < due && vertices[searched] == i, together = p->joint && !px_fit_locked(fit, i);
        double value = values[i - first];
        if (search) {
            const double *y = w.y + searched++ * n;
            uint16_t bones[PX_SIMPLEX_MAX];
            size_t old = fit->now.counts[i];
            memcpy(bones, fit->now.bones + i * K, K * sizeof *bones);
            w.wide = fit->wide || fit->residuals[i] >= p->wide_from;
            for (int turn = 0; p->rest && !together && turn < (fit->published ? 1 : TURNS); turn++) {
                if (turn > 0) {
                    w.keeps_bones = true;
                    vertex_weights(&w, (uint32_t)i, y);
                }
                vertex_rest(fit, (uint32_t)i, y);
            }
            w.keeps_bones = false;
            value = vertex_weights(&w, (uint32_t)i, y);
            bool same = old == fit->now.counts[i] && memcmp(bones, fit->now.bones + i * K, K * sizeof *bones) == 0;
            fit->quiet[i] = (uint8_t)(same ? px_min_size(fit->quiet[i] + (size_t)1, UINT8_MAX) : 0);
        }
        fit->residuals[i] = px_fmax(fit->norms[i] + value, 0);
        sum += fit->residuals[i];
    }
    fit->block_objective[block] = sum;
    px_free(fit->context, w.y);
    px_free(fit->context, own);
    px_free(fit->context, lists);
    return result;
}
