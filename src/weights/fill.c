/* Weight inpainting: harmonic weights for rows without a match, from the matched rows around them.
 *
 * Each bone's weight is harmonic on the graph of mesh edges with conductance 1/length (so it is linear along a chain of
 * edges of any lengths). By the maximum principle there are no new extremes: weights stay ≥ 0 and sum to 1. The system
 * is symmetric and positive definite on rows connected to a known one; it is solved bone by bone with conjugate
 * gradients. Inpainting after rejecting unreliable matches: Abdrashitov, Raichstat, Monsen, Hill, Robust Skin Weights
 * Transfer via Weight Inpainting, 2023.
 */
#include "weights/transfer.h"

#include <math.h>

#define BATCH          8u    /* bones solved for at once */
#define MAX_ITERATIONS 5000u /* of conjugate gradients; a few hundred usually suffice */
#define TOLERANCE      1e-7  /* of the residual, relative: weights are floats */
#define MIN_EDGE_RATIO 1e-6  /* of the mean edge length: shorter edges count as this long */

typedef struct system {
    px_weight_table *table;
    const px_neighbours *neighbours;
    double *conductances; /* [edge], in the order of neighbours->items */
    uint32_t count;       /* unknowns */
    uint32_t *rows;       /* [unknown] its row */
    uint32_t *places;     /* [row] its unknown, or PELT_NONE */
    double *diagonal;     /* [unknown] of the Laplacian L */
    uint32_t bones[BATCH];
    double *solutions[BATCH]; /* [unknown] */
} fill_system;

/* ---- The system ------------------------------------------------------------------------------------------- */

static double edge_length(const float *positions, size_t a, size_t b) {
    double square = 0;
    for (size_t c = 0; c < 3; c++) {
        double off = (double)positions[3 * a + c] - (double)positions[3 * b + c];
        square += off * off;
    }
    return isfinite(square) ? sqrt(square) : 0;
}

static pelt_result make_system(px_arena *arena, const float *positions, const uint8_t *known, fill_system *s) {
    const px_neighbours *n = s->neighbours;
    uint32_t row_count = s->table->row_count;
    size_t edge_count = n->offsets[row_count];
    uint8_t *reached = PX_NEW(arena, uint8_t, row_count);
    uint32_t *queue = PX_NEW(arena, uint32_t, row_count), end = 0;
    s->conductances = PX_NEW(arena, double, edge_count);
    s->rows = PX_NEW(arena, uint32_t, row_count);
    s->places = PX_NEW(arena, uint32_t, row_count);
    s->diagonal = PX_NEW(arena, double, row_count);
    if (!reached || !queue || !s->conductances || !s->rows || !s->places || !s->diagonal)
        return PELT_ERROR_MEMORY;

    /* Breadth-first search from the known rows. */
    for (uint32_t r = 0; r < row_count; r++)
        if ((reached[r] = known[r]))
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
            mean += edge_length(positions, r, n->items[e]) / (double)edge_count;
    for (size_t r = 0; r < row_count; r++)
        for (size_t e = n->offsets[r]; e < n->offsets[r + 1]; e++) {
            double length = edge_length(positions, r, n->items[e]);
            s->conductances[e] = mean > 0 ? mean / fmax(length, MIN_EDGE_RATIO * mean) : 1;
        }

    for (uint32_t r = 0; r < row_count; r++) {
        s->places[r] = PELT_NONE;
        if (known[r] || !reached[r])
            continue;
        for (size_t e = n->offsets[r]; e < n->offsets[r + 1]; e++)
            s->diagonal[s->count] += s->conductances[e];
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
static double multiply(const fill_system *s, const double *x, double *out) {
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

static double row_weight(const px_weight_table *table, size_t row, uint32_t bone) {
    for (size_t e = row * table->capacity; e < (row + 1) * table->capacity && table->weights[e] > 0; e++)
        if (table->bones[e] == bone)
            return (double)table->weights[e];
    return 0;
}

/* Conjugate gradients with Jacobi preconditioner, starting at x = 0. r, p, q [unknown]: scratch. */
static void solve(const fill_system *s, uint32_t bone, double *x, double *r, double *p, double *q) {
    const px_neighbours *n = s->neighbours;
    double rho = 0, first;
    for (uint32_t u = 0; u < s->count; u++) {
        x[u] = r[u] = 0; /* the right-hand side: contributions of known neighbours */
        for (size_t e = n->offsets[s->rows[u]]; e < n->offsets[s->rows[u] + 1]; e++)
            if (s->places[n->items[e]] == PELT_NONE)
                r[u] += s->conductances[e] * row_weight(s->table, n->items[e], bone);
        p[u] = r[u] / s->diagonal[u];
        rho += r[u] * p[u];
    }
    first = rho;
    for (uint32_t round = 0; round < MAX_ITERATIONS && rho > TOLERANCE * TOLERANCE * first; round++) {
        double energy = multiply(s, p, q), step = rho / energy, next = 0;
        if (!(energy > 0))
            break;
        for (uint32_t u = 0; u < s->count; u++) {
            x[u] += step * p[u];
            r[u] -= step * q[u];
            next += r[u] * r[u] / s->diagonal[u];
        }
        for (uint32_t u = 0; u < s->count; u++)
            p[u] = r[u] / s->diagonal[u] + next / rho * p[u];
        rho = next;
    }
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
        solve(s, s->bones[b], s->solutions[b], scratch, scratch + s->count, scratch + 2 * (size_t)s->count);
    px_free(job->context, scratch);
    return PELT_OK;
}

/* ---- All bones -------------------------------------------------------------------------------------------- */

static pelt_result fill(px_arena *arena, fill_system *s, const float *positions, uint32_t bone_count, uint8_t *known) {
    pelt_context *context = px_arena_context(arena);
    const px_neighbours *n = s->neighbours;
    px_weight_table *t = s->table;
    uint8_t *marks = PX_NEW(arena, uint8_t, px_max_size(bone_count, 1)); /* [bone] of known rows beside unknowns */
    if (!marks)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_system(arena, positions, known, s));
    for (uint32_t u = 0; u < s->count; u++)
        for (size_t e = n->offsets[s->rows[u]]; e < n->offsets[s->rows[u] + 1]; e++)
            for (size_t a = 0; s->places[n->items[e]] == PELT_NONE && a < t->capacity; a++) {
                size_t at = (size_t)n->items[e] * t->capacity + a;
                marks[t->bones[at]] |= t->weights[at] > 0;
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
            px_weight_sum_add_row(&sum, t, s->rows[u], 1);
            for (uint32_t b = 0; b < count; b++)
                if (s->solutions[b][u] > 1e-6) /* smaller ones are solver error */
                    px_weight_sum_add(&sum, s->bones[b], s->solutions[b][u]);
            px_weight_sum_store(&sum, t, s->rows[u]);
        }
        PX_TRY(px_progress(context, "fill", bone, bone_count));
    }
    for (uint32_t u = 0; u < s->count; u++)
        known[s->rows[u]] = 1;
    return PELT_OK;
}

pelt_result px_fill(pelt_context *context, px_weight_table *table, const px_neighbours *neighbours,
                    const float *positions, uint32_t bone_count, uint8_t *known) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    fill_system s = {.table = table, .neighbours = neighbours};
    pelt_result result = fill(arena, &s, positions, bone_count, known);
    px_arena_destroy(arena);
    return result;
}
