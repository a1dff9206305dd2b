/* Bones and weights of the vertices (SMA §5).
 *
 * The weights of a vertex are the least squares solution of
 *   [c A; 1 … 1] w = [c a; 1],  c = 1 / ‖a‖,
 * divided by their sum. Column j of A is the trajectory of the vertex under bone j. The moments give the normal
 * equations: G = c² ṽᵀ H ṽ + 1 and b = c² ṽᵀ Y + 1, ṽ = (v, 1).
 *
 * The paper gives a vertex the K bones that predict it best individually (smallest γ). These are often nearly equal,
 * and the bone that would complement them is missing. Here 2K bones are candidates: non-negative least squares selects
 * among them, and each solver works on that selection. With fit->published the K best are taken.
 */
#include "decompose/sma.h"
#include "numeric/simplex.h"

#include <math.h>

#define LEAST_SUM 0.1 /* sum of weights below which normalised weights are meaningless */

/* One vertex. */
typedef struct problem {
    size_t count;
    uint16_t bones[PX_SIMPLEX_MAX];              /* ascending γ */
    double gram[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX]; /* ṽᵀ H ṽ */
    double linear[PX_SIMPLEX_MAX];               /* ṽᵀ Y */
    double weights[PX_SIMPLEX_MAX];
} problem;

typedef struct pass {
    px_fit *fit;
    pelt_result (*solve)(const struct pass *task, problem *p);
    double min_weight;
    bool negative_only; /* keeps the bones, and skips vertices without negative weights */
} pass;

/* ---- Normal equations --------------------------------------------------------------------------------------- */

/* Finds the candidates: bones with the smallest γ, ascending; ties by index. */
static void find_candidates(const px_fit *fit, const double *v, const double m[10], const double *y, problem *p) {
    size_t most = px_min_size((fit->published ? 1 : 2) * (size_t)fit->influence_count, PX_SIMPLEX_MAX);
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

/* Takes the current bones of the vertex. */
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

/* Scales by c² and adds the row of ones. */
static void augment(problem *p, double norm) {
    double scale = norm > 0 ? 1 / norm : 1;
    for (size_t r = 0; r < p->count; r++) {
        p->linear[r] = p->linear[r] * scale + 1;
        for (size_t c = 0; c < p->count; c++)
            p->gram[r][c] = p->gram[r][c] * scale + 1;
    }
}

/* ---- Selection of bones ------------------------------------------------------------------------------------- */

/* Removes the bones that are not kept; the order does not change. */
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

/* Solves for non-negative weights and removes bones with weight 0 and, if more than `most` remain, the one with the
 * smallest weight. Returns true if there were more than `most`. */
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

/* Selects up to `most` candidates: those with positive weight after dropping the smallest one at a time; if they are
 * fewer, the best others by γ too. */
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

/* Weights ≥ min_weight, which is 0 for nnls: non-negative least squares in w − min_weight. */
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

#define TRUNCATED 1e-5 /* relative to the largest singular value; eigenvalues of G are squared singular values */

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

/* Minimum on the simplex, starting at the first bone. */
static pelt_result solve_convex(const pass *task, problem *p) {
    (void)task;
    memset(p->weights, 0, sizeof p->weights);
    p->weights[0] = 1;
    px_simplex_least(p->count, p->gram, p->linear, p->weights);
    return PELT_OK;
}

/* ---- Parallel pass ------------------------------------------------------------------------------------------ */

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
            if (!fit->published)
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

uint32_t px_sma_negative(const px_fit *fit) {
    uint32_t count = 0;
    for (size_t i = 0; i < fit->vertex_count; i++)
        count += has_negative(fit, i);
    return count;
}

pelt_result px_sma_convex(px_fit *fit) {
    pass p = {.fit = fit, .solve = solve_convex, .negative_only = true};
    return run(&p);
}
