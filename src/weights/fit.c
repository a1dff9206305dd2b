/* Fits the weights of a coarse mesh to those of a finer one that it approximates: least absolute deviations.
 *
 * A coarse vertex that takes the weights of the one point below it loses what lies between. Here every vertex s of the
 * source with a point on a triangle of the target, barycentric coordinates b, asks for Σ_c b_c·W_c = w_s. Minimise
 *
 *   Σ_s a_s·|Σ_c b_sc·W_c − w_s|² + μ Σ_t |W_t − W⁰_t|²
 *
 * for every bone, by conjugate gradients from the matched weights W⁰. The shares a_s = 1 / |residual| of repeated rounds
 * turn squares into absolute values (iteratively reweighted least squares), so that a step of the weights, or a wrong
 * point, does not bend everything around it. Absolute values would also give up single vertices for the sake of their
 * neighbours: residuals above GIVEN_UP count as their fourth power (a_s = |residual|²), which costs 3 % of the mean and leaves
 * two thirds of the vertices without any weight in common with the source (30 characters, there and back). Weights below 0 are
 * cut after every round.
 */
#include "weights/solve.h"
#include "weights/transfer.h"

#include <math.h>

#define ROUNDS         6u
#define BATCH          8u
#define MAX_ITERATIONS 60u
#define TOLERANCE      1e-4
#define KEEP           0.02 /* μ, relative to a sample with residual 1 */
#define MIN_RESIDUAL   0.02 /* L1: smaller ones count as this */
#define GIVEN_UP       1.0  /* L1 above which half of the weight is on other bones */

typedef struct fit {
    px_weight_table *table;
    const px_weight_table *from;
    const px_fit_sample *samples;
    size_t sample_count;
    double *shares;   /* [sample] a_s */
    double *diagonal; /* [row] */
    uint32_t bones[BATCH];
    double *solutions[BATCH]; /* [row] */
    pelt_context *context;
} fit;

static double multiply(const void *user, const double *x, double *out) {
    const fit *f = user;
    double energy = 0;
    for (uint32_t r = 0; r < f->table->row_count; r++)
        out[r] = KEEP * x[r];
    for (size_t s = 0; s < f->sample_count; s++) {
        const px_fit_sample *sample = &f->samples[s];
        double value = 0;
        for (int c = 0; c < 3; c++)
            value += sample->corners[c] * x[sample->rows[c]];
        for (int c = 0; c < 3; c++)
            out[sample->rows[c]] += f->shares[s] * sample->corners[c] * value;
    }
    for (uint32_t r = 0; r < f->table->row_count; r++)
        energy += x[r] * out[r];
    return energy;
}

static pelt_result solve_bones(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    fit *f = user;
    uint32_t rows = f->table->row_count;
    double *r = PX_ALLOC(f->context, double, 3 * (size_t)rows);
    if (!r)
        return PELT_ERROR_MEMORY;
    for (size_t b = first; b < first + count; b++) {
        double *x = f->solutions[b];
        for (uint32_t t = 0; t < rows; t++) {
            x[t] = px_weight_table_of(f->table, t, f->bones[b]);
            r[t] = 0;
        }
        for (size_t s = 0; s < f->sample_count; s++) {
            const px_fit_sample *sample = &f->samples[s];
            double off = px_weight_table_of(f->from, sample->source, f->bones[b]);
            for (int c = 0; c < 3; c++)
                off -= sample->corners[c] * x[sample->rows[c]];
            for (int c = 0; c < 3; c++)
                r[sample->rows[c]] += f->shares[s] * sample->corners[c] * off;
        }
        px_cg system = {multiply, f, rows, f->diagonal, MAX_ITERATIONS, TOLERANCE};
        px_cg_solve(&system, x, r, r + rows);
    }
    px_free(f->context, r);
    return PELT_OK;
}

/* Sets shares and diagonal of a round. Returns the largest residual. */
static double weigh(fit *f) {
    double most = 0;
    for (uint32_t r = 0; r < f->table->row_count; r++)
        f->diagonal[r] = KEEP;
    for (size_t s = 0; s < f->sample_count; s++) {
        const px_fit_sample *sample = &f->samples[s];
        px_weight_sum sum = {0};
        double off = 0, found = 0;
        for (int c = 0; c < 3; c++)
            px_weight_sum_add_row(&sum, f->table, sample->rows[c], sample->corners[c]);
        for (uint32_t e = 0; e < sum.count; e++) {
            double own = px_weight_table_of(f->from, sample->source, sum.bones[e]);
            off += fabs(sum.weights[e] - own);
            found += own;
        }
        off += px_fmax(1 - found, 0);
        most = px_fmax(most, off);
        f->shares[s] = off > GIVEN_UP ? off * off : 1 / px_fmax(off, MIN_RESIDUAL);
        for (int c = 0; c < 3; c++)
            f->diagonal[sample->rows[c]] += f->shares[s] * sample->corners[c] * sample->corners[c];
    }
    return most;
}

static pelt_result fit_round(px_arena *arena, fit *f, uint32_t bone_count, uint32_t influences) {
    px_weight_table next;
    if (weigh(f) <= MIN_RESIDUAL) /* the same mesh, or a finer one */
        return PELT_OK;
    PX_TRY(px_weight_table_make(arena, f->table->row_count, f->table->capacity, &next));
    for (uint32_t bone = 0; bone < bone_count;) {
        uint32_t count = 0;
        for (; bone < bone_count && count < BATCH; bone++)
            f->bones[count++] = bone;
        PX_TRY(px_parallel(f->context, NULL, count, 1, solve_bones, f));
        for (uint32_t r = 0; r < next.row_count; r++) {
            px_weight_sum sum = {0};
            px_weight_sum_add_row(&sum, &next, r, 1);
            for (uint32_t b = 0; b < count; b++)
                if (f->solutions[b][r] > 1e-3)
                    px_weight_sum_add(&sum, f->bones[b], f->solutions[b][r]);
            px_weight_sum_store(&sum, &next, r);
        }
    }
    px_weight_table_cut(&next, &(px_weight_limits){.influences = influences});
    size_t count = (size_t)next.row_count * next.capacity;
    memcpy(f->table->bones, next.bones, count * sizeof *next.bones);
    memcpy(f->table->weights, next.weights, count * sizeof *next.weights);
    return PELT_OK;
}

pelt_result px_weight_fit(pelt_context *context, px_weight_table *table, const px_weight_table *from,
                          const px_fit_sample *samples, size_t sample_count, uint32_t bone_count, uint32_t influences) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    fit f = {.table = table, .from = from, .samples = samples, .sample_count = sample_count, .context = context};
    f.shares = PX_NEW(arena, double, sample_count);
    f.diagonal = PX_NEW(arena, double, table->row_count);
    pelt_result result = f.shares && f.diagonal ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < BATCH && result == PELT_OK; b++)
        if (!(f.solutions[b] = PX_NEW(arena, double, table->row_count)))
            result = PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < ROUNDS && result == PELT_OK; n++)
        result = fit_round(arena, &f, bone_count, n + 1 == ROUNDS ? influences : table->capacity);
    px_arena_destroy(arena);
    return result;
}
