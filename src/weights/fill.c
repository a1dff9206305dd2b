/* Weight inpainting: harmonic weights for rows without a match, from the matched rows around them.
 *
 * Each bone's weight minimises the Dirichlet energy on the graph of mesh edges with conductance c = 1/length (so it is
 * linear along a chain of edges of any lengths), plus a screening term that attracts row i to the weights w⁰ that it has:
 *
 *   ½ Σ_edges c_ij·(w_i − w_j)² + ½ Σ_i s_i·(w_i − w⁰_i)²,   s_i = Σ_j c_ij·|x_i − x_j|² / (4·ℓ_i²)
 *
 * which averages w⁰ over about the length ℓ_i, at any density of vertices (an implicit step of the heat equation of time
 * ℓ²). By the maximum principle there are no new extremes: weights stay ≥ 0 and sum to 1. The system is symmetric and
 * positive definite on rows connected to a known or an attracted one; it is solved bone by bone with conjugate gradients.
 * Inpainting after rejecting unreliable matches: Abdrashitov, Raichstat, Monsen, Hill, Robust Skin Weights
 * Transfer via Weight Inpainting, 2023.
 */
#include "weights/solve.h"
#include "weights/transfer.h"

#include <math.h>

#define BATCH          8u    /* bones solved for at once */
#define MAX_ITERATIONS 5000u /* of conjugate gradients; a few hundred usually suffice */
#define TOLERANCE      1e-7  /* of the residual, relative: weights are floats */
#define MIN_EDGE_RATIO 1e-6  /* of the mean edge length: shorter edges count as this long */
#define MIN_SCREEN     1e-8  /* of the diagonal: keeps the system definite for any length */

typedef struct system {
    px_weight_table *table;
    const px_neighbours *neighbours;
    double *conductances; /* [edge], in the order of neighbours->items */
    uint32_t count;       /* unknowns */
    uint32_t *rows;       /* [unknown] its row */
    uint32_t *places;     /* [row] its unknown, or PELT_NONE */
    double *diagonal;     /* [unknown] of the Laplacian L, with the screening */
    double *screens;      /* [unknown] s_i */
    px_weight_table next; /* [unknown] solution */
    uint32_t bones[BATCH];
    double *solutions[BATCH]; /* [unknown] */
} fill_system;

/* ---- The system ------------------------------------------------------------------------------------------- */

double px_row_distance(const float *positions, size_t a, size_t b) {
    double square = 0;
    for (size_t c = 0; c < 3; c++) {
        double off = (double)positions[3 * a + c] - (double)positions[3 * b + c];
        square += off * off;
    }
    return isfinite(square) ? sqrt(square) : 0;
}

static pelt_result make_system(px_arena *arena, const float *positions, const double *lengths, const uint8_t *known,
                               fill_system *s) {
    const px_neighbours *n = s->neighbours;
    uint32_t row_count = s->table->row_count;
    size_t edge_count = n->offsets[row_count];
    uint8_t *reached = PX_NEW(arena, uint8_t, row_count);
    uint32_t *queue = PX_NEW(arena, uint32_t, row_count), end = 0;
    s->conductances = PX_NEW(arena, double, edge_count);
    s->rows = PX_NEW(arena, uint32_t, row_count);
    s->places = PX_NEW(arena, uint32_t, row_count);
    s->diagonal = PX_NEW(arena, double, row_count);
    s->screens = PX_NEW(arena, double, row_count);
    if (!reached || !queue || !s->conductances || !s->rows || !s->places || !s->diagonal || !s->screens)
        return PELT_ERROR_MEMORY;

    /* Breadth-first search from the known and the attracted rows. */
    for (uint32_t r = 0; r < row_count; r++)
        if ((reached[r] = known[r] || (lengths && lengths[r] > 0)))
            queue[end++] = r;
    for (uint32_t at = 0; at < end; at++)
        for (size_t e = n->offsets[queue[at]]; e < n->offsets[queue[at] + 1]; e++)
            if (!reached[n->items[e]]) {
                reached[n->items[e]] = 1;
                queue[end++] = n->items[e];
            }

    double mean = 0;
    for (size_t r = 0; r < row_count; r++)
        for (size_t e = n->offsets[r]; e < n->offsets[r + 1]; e++)
            mean += px_row_distance(positions, r, n->items[e]) / (double)edge_count;
    for (size_t r = 0; r < row_count; r++)
        for (size_t e = n->offsets[r]; e < n->offsets[r + 1]; e++) {
            double length = px_row_distance(positions, r, n->items[e]);
            s->conductances[e] = mean > 0 ? mean / px_fmax(length, MIN_EDGE_RATIO * mean) : 1;
        }

    for (uint32_t r = 0; r < row_count; r++) {
        s->places[r] = PELT_NONE;
        if (known[r] || !reached[r])
            continue;
        double spread = 0;
        for (size_t e = n->offsets[r]; e < n->offsets[r + 1]; e++) {
            double length = px_row_distance(positions, r, n->items[e]);
            s->diagonal[s->count] += s->conductances[e];
            spread += s->conductances[e] * length * length;
        }
        if (lengths && lengths[r] > 0) {
            s->screens[s->count] = px_fmax(spread / (4 * lengths[r] * lengths[r]), MIN_SCREEN * s->diagonal[s->count]);
            if (n->offsets[r] == n->offsets[r + 1]) /* no neighbours: its own weights */
                s->screens[s->count] = 1;
        }
        s->diagonal[s->count] += s->screens[s->count];
        s->places[r] = s->count;
        s->rows[s->count++] = r;
    }
    for (uint32_t b = 0; b < BATCH; b++)
        if (!(s->solutions[b] = PX_NEW(arena, double, s->count)))
            return PELT_ERROR_MEMORY;
    return PELT_OK;
}

/* ---- One bone --------------------------------------------------------------------------------------------- */

/* out = L·x over the unknowns; returns xᵀ·L·x. */
static double multiply(const void *user, const double *x, double *out) {
    const fill_system *s = user;
    double energy = 0;
    for (uint32_t u = 0; u < s->count; u++) {
        const px_neighbours *n = s->neighbours;
        double sum = s->diagonal[u] * x[u];
        for (size_t e = n->offsets[s->rows[u]]; e < n->offsets[s->rows[u] + 1]; e++) {
            uint32_t v = s->places[n->items[e]];
            if (v != PELT_NONE)
                sum -= s->conductances[e] * x[v];
        }
        out[u] = sum;
        energy += x[u] * sum;
    }
    return energy;
}

/* Solves for one bone, starting at x = 0. scratch [3 · unknown]. */
static void solve(const fill_system *s, uint32_t bone, double *x, double *scratch) {
    const px_neighbours *n = s->neighbours;
    double *r = scratch;
    for (uint32_t u = 0; u < s->count; u++) {
        x[u] = 0; /* the right-hand side: the row's own weights and those of known neighbours */
        r[u] = s->screens[u] > 0 ? s->screens[u] * px_weight_table_of(s->table, s->rows[u], bone) : 0;
        for (size_t e = n->offsets[s->rows[u]]; e < n->offsets[s->rows[u] + 1]; e++)
            if (s->places[n->items[e]] == PELT_NONE)
                r[u] += s->conductances[e] * px_weight_table_of(s->table, n->items[e], bone);
    }
    px_cg system = {multiply, s, s->count, s->diagonal, MAX_ITERATIONS, TOLERANCE};
    px_cg_solve(&system, x, r, scratch + s->count);
}

typedef struct fill_job {
    pelt_context *context;
    const fill_system *system;
} fill_job;

static pelt_result solve_bones(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const fill_job *job = user;
    const fill_system *s = job->system;
    double *scratch = PX_ALLOC(job->context, double, 3 * (size_t)s->count);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    for (size_t b = first; b < first + count; b++)
        solve(s, s->bones[b], s->solutions[b], scratch);
    px_free(job->context, scratch);
    return PELT_OK;
}

/* ---- All bones -------------------------------------------------------------------------------------------- */

static void mark_bones(const px_weight_table *t, size_t row, uint8_t *marks) {
    for (size_t e = row * t->capacity; e < (row + 1) * t->capacity && t->weights[e] > 0; e++)
        marks[t->bones[e]] = 1;
}

static pelt_result fill(px_arena *arena, fill_system *s, const float *positions, const double *lengths,
                        uint32_t bone_count, uint8_t *known) {
    pelt_context *context = px_arena_context(arena);
    const px_neighbours *n = s->neighbours;
    px_weight_table *t = s->table;
    uint8_t *marks = PX_NEW(arena, uint8_t, px_max_size(bone_count, 1)); /* [bone] of the right-hand sides */
    if (!marks)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_system(arena, positions, lengths, known, s));
    PX_TRY(px_weight_table_make(arena, s->count, t->capacity, &s->next));
    for (uint32_t u = 0; u < s->count; u++) {
        if (s->screens[u] > 0)
            mark_bones(t, s->rows[u], marks);
        for (size_t e = n->offsets[s->rows[u]]; e < n->offsets[s->rows[u] + 1]; e++)
            if (s->places[n->items[e]] == PELT_NONE)
                mark_bones(t, n->items[e], marks);
    }
    for (uint32_t bone = 0; bone < bone_count && s->count > 0;) {
        uint32_t count = 0;
        for (; bone < bone_count && count < BATCH; bone++)
            if (marks[bone])
                s->bones[count++] = bone;
        fill_job job = {context, s};
        PX_TRY(px_parallel(context, NULL, count, 1, solve_bones, &job));
        for (uint32_t u = 0; u < s->count; u++) {
            px_weight_sum sum = {0};
            px_weight_sum_add_row(&sum, &s->next, u, 1);
            for (uint32_t b = 0; b < count; b++)
                if (s->solutions[b][u] > 1e-6) /* smaller ones are solver error */
                    px_weight_sum_add(&sum, s->bones[b], s->solutions[b][u]);
            px_weight_sum_store(&sum, &s->next, u);
        }
        PX_TRY(px_progress(context, "fill", bone, bone_count));
    }
    for (uint32_t u = 0; u < s->count; u++) {
        size_t to = (size_t)s->rows[u] * t->capacity, from = (size_t)u * t->capacity;
        memcpy(t->bones + to, s->next.bones + from, t->capacity * sizeof *t->bones);
        memcpy(t->weights + to, s->next.weights + from, t->capacity * sizeof *t->weights);
        known[s->rows[u]] = 1;
    }
    return PELT_OK;
}

pelt_result px_fill(pelt_context *context, px_weight_table *table, const px_neighbours *neighbours,
                    const float *positions, const double *lengths, uint32_t bone_count, uint8_t *known) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    fill_system s = {.table = table, .neighbours = neighbours};
    pelt_result result = fill(arena, &s, positions, lengths, bone_count, known);
    px_arena_destroy(arena);
    return result;
}
