/* Bones and weights of the vertices (SMA §5).
 *
 * The weights of a vertex solve
 *   [c A; 1 … 1] w = [c a; 1],  c = 1 / ‖a‖,
 * in the least squares sense, column j of A being where bone j carries the vertex over all frames; then they are divided
 * by their sum. The moments give its normal equations: G = c² ṽᵀ H ṽ + 1 and b = c² ṽᵀ Y + 1.
 *
 * The paper gives a vertex the K bones that predict it best, each on its own (least γ). Those are often much the same, and
 * the one that would complete them is left out. Here twice as many are candidates: weights that are not negative choose
 * among them, and whatever the solver, it works on that choice.
 */
#include "decompose/sma.h"
#include "numeric/simplex.h"

#include <math.h>

#define LEAST_SUM 0.1 /* weights that sum to less explain nothing when divided by it */

/* One vertex. */
typedef struct problem {
    size_t count;
    uint16_t bones[PX_SIMPLEX_MAX];              /* the best first */
    double gram[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX]; /* ṽᵀ H ṽ */
    double linear[PX_SIMPLEX_MAX];               /* ṽᵀ Y */
    double weights[PX_SIMPLEX_MAX];
} problem;

typedef struct pass {
    px_fit *fit;
    pelt_result (*solve)(const struct pass *task, problem *p);
    double min_weight;
    bool negative_only; /* leaves bones as they are, and vertices without negative weights alone */
} pass;

/* ---- The problem ------------------------------------------------------------------------------------------ */

/* The candidates: bones with the least γ, in that order; among equals the first. */
static void find_candidates(const px_fit *fit, const double *v, const double m[10], const double *y, problem *p) {
    size_t most = px_min_size(2 * (size_t)fit->influence_count, PX_SIMPLEX_MAX);
    double values[PX_SIMPLEX_MAX];
    p->count = 0;
    for (size_t j = 0; j < fit->bone_count; j++) {
        double value = px_fit_alone(fit, j, v, m, y);
        size_t place = p->count;
        for (; place > 0 && values[place - 1] > value; place--)
            if (place < most) {
                values[place] = values[place - 1];
                p->bones[place] = p->bones[place - 1];
            }
        if (place < most) {
            values[place] = value;
            p->bones[place] = (uint16_t)j;
            p->count += p->count < most;
        }
    }
}

/* The bones that the vertex has. */
static void take_bones(const px_fit *fit, size_t i, problem *p) {
    p->count = fit->now.counts[i];
    memcpy(p->bones, fit->now.bones + i * fit->influence_count, p->count * sizeof *p->bones);
}

static void make_problem(const pass *task, size_t i, const double *y, problem *p) {
    const px_fit *fit = task->fit;
    double m[10];
    const double *v = fit->now.rest + 3 * i;
    px_fit_monomials(v, m);
    if (task->negative_only)
        take_bones(fit, i, p);
    else
        find_candidates(fit, v, m, y, p);
    for (size_t r = 0; r < p->count; r++) {
        p->linear[r] = px_fit_linear(v, y, p->bones[r]);
        for (size_t c = 0; c < p->count; c++)
            p->gram[r][c] = px_fit_pair(fit, p->bones[r], p->bones[c], m);
    }
}

/* Adds the row of ones. */
static void augment(problem *p, double norm) {
    double scale = norm > 0 ? 1 / norm : 1;
    for (size_t r = 0; r < p->count; r++) {
        p->linear[r] = p->linear[r] * scale + 1;
        for (size_t c = 0; c < p->count; c++)
            p->gram[r][c] = p->gram[r][c] * scale + 1;
    }
}

/* ---- The choice of bones ---------------------------------------------------------------------------------- */

/* Leaves only the bones that are kept, in their order. */
static void narrow(problem *p, const bool keep[PX_SIMPLEX_MAX]) {
    size_t count = 0, from[PX_SIMPLEX_MAX];
    for (size_t r = 0; r < p->count; r++)
        if (keep[r])
            from[count++] = r;
    for (size_t r = 0; r < count; r++) {
        p->bones[r] = p->bones[from[r]];
        p->linear[r] = p->linear[from[r]];
        for (size_t c = 0; c < count; c++)
            p->gram[r][c] = p->gram[from[r]][from[c]];
    }
    p->count = count;
}

/* Weights ≥ 0, less those that are 0 and, when they are more than `most`, the least. Returns whether it was so. */
static bool drop_least(problem *p, size_t most) {
    bool keep[PX_SIMPLEX_MAX];
    size_t used = 0, least = p->count;
    memset(p->weights, 0, sizeof p->weights);
    px_nonnegative_least(p->count, p->gram, p->linear, p->weights);
    for (size_t r = 0; r < p->count; r++) {
        keep[r] = p->weights[r] > 0;
        used += keep[r];
        if (keep[r] && (least == p->count || p->weights[r] < p->weights[least]))
            least = r;
    }
    if (used > most)
        keep[least] = false;
    narrow(p, keep);
    return used > most;
}

/* Of the candidates those that weights ≥ 0 are best without leaving out; where these are fewer, the best others too. */
static void choose_bones(problem *p, size_t most) {
    problem chosen = *p;
    while (drop_least(&chosen, most))
        ;
    bool keep[PX_SIMPLEX_MAX];
    size_t room = most - chosen.count;
    for (size_t r = 0, next = 0; r < p->count; r++) {
        keep[r] = next < chosen.count && chosen.bones[next] == p->bones[r];
        next += keep[r];
        if (!keep[r] && room > 0) {
            keep[r] = true;
            room--;
        }
    }
    narrow(p, keep);
}

/* ---- Solvers ---------------------------------------------------------------------------------------------- */

/* w ≥ min_weight; 0 for nnls. */
static pelt_result solve_bounded(const pass *task, problem *p) {
    for (size_t r = 0; r < p->count; r++) {
        p->weights[r] = 0;
        for (size_t c = 0; c < p->count; c++)
            p->linear[r] -= p->gram[r][c] * task->min_weight;
    }
    px_nonnegative_least(p->count, p->gram, p->linear, p->weights);
    for (size_t r = 0; r < p->count; r++)
        p->weights[r] += task->min_weight;
    return PELT_OK;
}

#define TRUNCATED 1e-5 /* of the largest singular value; eigenvalues of G are their squares */

static pelt_result solve_tsvd(const pass *task, problem *p) {
    double vectors[PX_SIMPLEX_MAX * PX_SIMPLEX_MAX], values[PX_SIMPLEX_MAX];
    size_t n = p->count;
    for (size_t r = 0; r < n; r++)
        memcpy(vectors + r * n, p->gram[r], n * sizeof *vectors);
    PX_TRY(px_symmetric_eigen(task->fit->context, px_matrix_of(vectors, n, n), values));
    memset(p->weights, 0, sizeof p->weights);
    for (size_t e = 0; e < n; e++) {
        double along = 0;
        for (size_t r = 0; r < n; r++)
            along += vectors[e * n + r] * p->linear[r];
        for (size_t r = 0; r < n && values[e] > TRUNCATED * TRUNCATED * values[n - 1]; r++)
            p->weights[r] += along / values[e] * vectors[e * n + r];
    }
    return PELT_OK;
}

/* Exactly on the simplex, from the best bone on. */
static pelt_result solve_convex(const pass *task, problem *p) {
    (void)task;
    memset(p->weights, 0, sizeof p->weights);
    p->weights[0] = 1;
    px_simplex_least(p->count, p->gram, p->linear, p->weights);
    return PELT_OK;
}

/* ---- The pass --------------------------------------------------------------------------------------------- */

static void store(px_fit *fit, size_t i, const problem *p) {
    size_t K = fit->influence_count, count = 0;
    double sum = 0;
    for (size_t a = 0; a < p->count; a++)
        sum += p->weights[a];
    bool usable = sum >= LEAST_SUM && isfinite(sum);
    for (size_t a = 0; a < p->count; a++) {
        double weight = usable ? p->weights[a] / sum : a == 0;
        if (weight != 0) {
            fit->now.bones[i * K + count] = p->bones[a];
            fit->now.weights[i * K + count++] = weight;
        }
    }
    fit->now.counts[i] = (uint8_t)count;
    for (; count < K; count++) {
        fit->now.bones[i * K + count] = 0;
        fit->now.weights[i * K + count] = 0;
    }
}

static bool has_negative(const px_fit *fit, size_t i) {
    size_t K = fit->influence_count;
    for (size_t a = 0; a < fit->now.counts[i]; a++)
        if (fit->now.weights[i * K + a] < 0)
            return true;
    return false;
}

static pelt_result solve_some(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const pass *task = user;
    px_fit *fit = task->fit;
    size_t n = 4 * (size_t)fit->bone_count;
    double *y = PX_ALLOC(fit->context, double, count *n);
    pelt_result result = y ? px_fit_products(fit, first, count, y) : PELT_ERROR_MEMORY;
    for (size_t i = first; result == PELT_OK && i < first + count; i++) {
        if (task->negative_only && !has_negative(fit, i))
            continue;
        problem p;
        make_problem(task, i, y + (i - first) * n, &p);
        if (!task->negative_only) {
            augment(&p, fit->norms[i]);
            choose_bones(&p, fit->influence_count);
        }
        result = task->solve(task, &p);
        if (result == PELT_OK)
            store(fit, i, &p);
    }
    px_free(fit->context, y);
    return result;
}

static pelt_result run(pass *p) {
    PX_TRY(px_parallel(p->fit->context, NULL, p->fit->vertex_count, px_fit_block(p->fit), solve_some, p));
    return px_fit_measure(p->fit);
}

pelt_result px_sma_weights(px_fit *fit, const pelt_decompose_desc *desc) {
    pass p = {.fit = fit, .solve = desc->weight_solver == PELT_WEIGHT_SOLVER_TSVD ? solve_tsvd : solve_bounded};
    p.min_weight = desc->weight_solver == PELT_WEIGHT_SOLVER_BOUNDED ? desc->min_weight : 0;
    return run(&p);
}

pelt_result px_sma_convex(px_fit *fit, uint32_t *negative_count) {
    *negative_count = 0;
    for (size_t i = 0; i < fit->vertex_count; i++)
        *negative_count += has_negative(fit, i);
    pass p = {.fit = fit, .solve = solve_convex, .negative_only = true};
    return *negative_count > 0 ? run(&p) : PELT_OK;
}
