/* Seeds by Lloyd clustering: splits the clusters with the largest error, with Lloyd rounds in between. The initial
 * clusters are the groups of rigid components, which keep their vertices, and one cluster of all other vertices.
 *
 * A cluster is a fit with a single influence of weight 1 per vertex, so the fit's own steps apply. Only the assignment
 * differs: each vertex takes the bone with the smallest residual, regardless of connectivity.
 */
#include "decompose/divide.h"
#include "decompose/kinds.h"
#include "decompose/shells.h"

#include <math.h>

#define ROUNDS       3 /* Lloyd rounds after each split; with two the error of small meshes is 6 % higher */
#define FINAL_ROUNDS 9 /* Lloyd rounds after the last split … */
#define FINAL_AFFINE 4 /* … for affine bones, which are seeded several times: more change the error by less than 2 % */
#define SMALLEST     5.0 /* fewest vertices of a cluster to split: one affine bone fits any four points exactly */
/* Error of a residual from px_fit_estimates, relative to squared lengths of trajectories: products of hundreds of terms in single
 * precision, with a margin of about three. */
#define ESTIMATE_ERROR 1e-5

/* ---- Lloyd rounds ----------------------------------------------------------------------------------------- */

/* Squared residual of vertex i with bone j at weight 1, minus ‖a_i‖². `m`: its monomials. */
static double value_alone(const px_fit *fit, size_t i, size_t j, const double m[10]) {
    double y[4];
    px_fit_product(fit, i, j, y);
    double *v = fit->now.rest + 3 * i;
    return px_fit_pair(fit, j, j, m) - 2 * px_fit_linear(v, y, 0);
}

/* Products in single precision exclude most bones; of those that they do not tell apart from the best one, the residuals are
 * computed in double precision. */
static pelt_result assign_block(void *user, size_t first, size_t count, size_t block) {
    px_fit *fit = user;
    size_t P = fit->bone_count, K = fit->influence_count, pitch = px_float_pitch(4 * P);
    float *y = PX_ALLOC(fit->context, float, count *pitch);
    double *values = PX_ALLOC(fit->context, double, P);
    pelt_result result = y && values ? px_fit_estimates(fit, first, count, y) : PELT_ERROR_MEMORY;
    fit->block_objective[block] = 0;
    for (size_t i = first; result == PELT_OK && i < first + count; i++) {
        double m[10], best = INFINITY, least = INFINITY;
        const double *v = fit->now.rest + 3 * i;
        px_fit_monomials(v, m);
        bool locked = fit->lock_vertices && fit->lock_vertices[i];
        size_t from = locked ? fit->now.bones[i * K] : 0, end = locked ? from + 1 : P;
        for (size_t j = from; j < end; j++) {
            double square = px_fit_pair(fit, j, j, m);
            values[j] = square - 2 * px_fit_estimate(v, y + (i - first) * pitch, j);
            least = px_fmin(least, values[j] + ESTIMATE_ERROR * (square + fit->norms[i]));
        }
        for (size_t j = from; j < end; j++) {
            double value = values[j] <= least ? value_alone(fit, i, j, m) : INFINITY;
            if (value < best) {
                best = value;
                fit->now.bones[i * K] = (uint16_t)j;
            }
        }
        fit->now.weights[i * K] = 1;
        fit->now.counts[i] = 1;
        fit->residuals[i] = px_fmax(fit->norms[i] + best, 0);
        fit->block_objective[block] += fit->residuals[i];
    }
    px_free(fit->context, values);
    px_free(fit->context, y);
    return result;
}

pelt_result px_fit_assign(px_fit *fit) {
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, px_fit_block(fit), assign_block, fit));
    return px_fit_sum_objective(fit);
}

static pelt_result lloyd(px_fit *fit, int rounds) {
    for (int r = 0; r < rounds; r++) {
        PX_TRY(px_fit_moments(fit));
        PX_TRY(px_fit_transforms(fit));
        px_fit_gram(fit);
        double before = fit->now.objective;
        PX_TRY(px_fit_assign(fit));
        if (r > 0 && fit->now.objective > 0.999 * before)
            break;
    }
    return PELT_OK;
}

/* ---- Splitting -------------------------------------------------------------------------------------------- */

/* True if vertex i may leave its cluster. */
static bool is_free(const px_fit *fit, size_t i) {
    return !(fit->lock_vertices && fit->lock_vertices[i]);
}

typedef struct clusters {
    px_worst *worst;   /* [bone] vertex with the largest residual */
    double (*sums)[2]; /* [bone] sum of the residuals, number of vertices; both without locked vertices */
} clusters;

static pelt_result add_clusters(void *user, size_t first, size_t count, double *values) {
    const px_fit *fit = user;
    for (size_t i = first; i < first + count; i++) {
        if (!is_free(fit, i))
            continue;
        double *sum = values + 2 * (size_t)fit->now.bones[i * fit->influence_count];
        sum[0] += fit->residuals[i];
        sum[1]++;
    }
    return PELT_OK;
}

static pelt_result sum_clusters(px_fit *fit, const clusters *c) {
    for (size_t j = 0; j < fit->bone_count; j++)
        c->worst[j] = (px_worst){.vertex = PELT_NONE};
    for (size_t i = 0; i < fit->vertex_count; i++) {
        px_worst *worst = &c->worst[fit->now.bones[i * fit->influence_count]];
        if (!is_free(fit, i) || !(worst->vertex == PELT_NONE || fit->residuals[i] > worst->value))
            continue;
        *worst = (px_worst){.value = fit->residuals[i], .vertex = fit->first_vertex + i};
        memcpy(worst->rest, fit->now.rest + 3 * i, sizeof worst->rest);
    }
    PX_TRY(px_fit_worst(fit, c->worst, fit->bone_count));
    return px_fit_sum(fit, 2 * (size_t)fit->bone_count, add_clusters, fit, c->sums[0]);
}

typedef struct split {
    px_fit *fit;
    uint16_t from;
    const double *place; /* rest position of the worst vertex */
    double size;         /* free vertices of the cluster */
} split;

static pelt_result add_distances(void *user, size_t first, size_t count, double *values) {
    const split *s = user;
    for (size_t i = first; i < first + count; i++)
        if (s->fit->now.bones[i * s->fit->influence_count] == s->from && is_free(s->fit, i))
            *values += px_fit_distance2(s->fit, i, s->place) / s->size;
    return PELT_OK;
}

/* Moves the free vertices of cluster `from` near its worst vertex to bone `to`. */
static pelt_result split_cluster(px_fit *fit, uint16_t from, const clusters *c, uint16_t to) {
    size_t K = fit->influence_count;
    double mean;
    split s = {fit, from, c->worst[from].rest, c->sums[from][1]};
    PX_TRY(px_fit_sum(fit, 1, add_distances, &s, &mean));
    for (size_t i = 0; i < fit->vertex_count; i++)
        if (fit->now.bones[i * K] == from && is_free(fit, i) && px_fit_distance2(fit, i, s.place) <= 0.5 * mean)
            fit->now.bones[i * K] = to;
    return PELT_OK;
}

/* Appends a bone with the transform of bone `from`. */
void px_fit_copy_bone(px_fit *fit, size_t from) {
    size_t P = fit->bone_count, d = fit->dimension;
    memcpy(fit->now.reduced + 4 * P * d, fit->now.reduced + 4 * from * d, 4 * d * sizeof(double));
    if (fit->now.full)
        for (size_t r = fit->row_count; r-- > 0;) { /* rows get longer: copy from the last to the first */
            double *row = fit->now.full + r * 4 * (P + 1);
            memmove(row, fit->now.full + r * 4 * P, 4 * P * sizeof *row);
            memcpy(row + 4 * P, row + 4 * from, 4 * sizeof *row);
        }
    if (fit->now.axes)
        memcpy(fit->now.axes + 9 * P, fit->now.axes + 9 * from, 9 * sizeof(double));
    fit->bone_count++;
}

/* Splits up to `wanted` clusters, those with the largest error first. */
static pelt_result split_worst(px_fit *fit, const clusters *c, uint32_t wanted) {
    PX_TRY(sum_clusters(fit, c));
    uint32_t old_count = fit->bone_count;
    for (uint32_t added = 0; added < wanted; added++) {
        uint32_t worst = PELT_NONE;
        for (uint32_t j = 0; j < old_count; j++)
            if (c->sums[j][1] >= SMALLEST && c->sums[j][0] > 0 &&
                (worst == PELT_NONE || c->sums[j][0] > c->sums[worst][0]))
                worst = j;
        if (worst == PELT_NONE)
            break;
        PX_TRY(split_cluster(fit, (uint16_t)worst, c, (uint16_t)fit->bone_count));
        px_fit_copy_bone(fit, worst);
        c->sums[worst][0] = 0;
    }
    return PELT_OK;
}

static void start_with_one(px_fit *fit) {
    size_t K = fit->influence_count;
    fit->bone_count = 1;
    memset(fit->now.reduced, 0, 4 * (size_t)fit->dimension * sizeof *fit->now.reduced);
    for (size_t i = 0; i < fit->vertex_count; i++) {
        fit->now.bones[i * K] = 0;
        fit->now.weights[i * K] = 1;
        fit->now.counts[i] = 1;
    }
    for (size_t r = 0; fit->now.full && r < fit->row_count; r++)
        fit->now.full[4 * r + r % 3] = 1;
    for (size_t c = 0; fit->now.axes && c < 3; c++)
        fit->now.axes[4 * c] = 1;
}

/* The first `own` groups become clusters with locked vertices; all other vertices form one more cluster. */
static pelt_result start_with_shells(px_fit *fit, const px_shells *shells, uint32_t own) {
    uint8_t *locks = PX_NEW(fit->arena, uint8_t, fit->vertex_count);
    uint32_t most = shells->vertex_count < fit->total_count ? own : own - 1; /* the last cluster may be empty */
    if (!locks)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < fit->vertex_count; i++) {
        locks[i] = shells->groups[i] < own;
        fit->now.bones[i * fit->influence_count] = (uint16_t)(locks[i] ? shells->groups[i] : own);
    }
    while (fit->bone_count <= most)
        px_fit_copy_bone(fit, 0);
    fit->lock_vertices = locks;
    return PELT_OK;
}

pelt_result px_fit_seed(px_fit *fit, const px_shells *shells, uint32_t count, double stiffness) {
    int last = fit->kind->unconstrained ? FINAL_AFFINE : FINAL_ROUNDS;
    count = count < fit->bone_capacity ? count : fit->bone_capacity;
    uint32_t own = shells ? px_shells_bones(fit, shells, count) : 0;
    start_with_one(fit);
    if (own > 0)
        PX_TRY(start_with_shells(fit, shells, own));
    clusters c = {PX_ALLOC(fit->context, px_worst, count), px_alloc(fit->context, count, sizeof *c.sums)};
    pelt_result result = c.worst && c.sums ? lloyd(fit, 1) : PELT_ERROR_MEMORY;
    fit->bone_pull = stiffness;
    if (result == PELT_OK && own > 0)
        result = lloyd(fit, ROUNDS);
    while (result == PELT_OK && fit->bone_count < count && px_fit_error(fit, fit->now.objective) >= PX_FIT_EXACT) {
        uint32_t wanted = fit->bone_count < 6 ? 1 : fit->bone_count / 3;
        uint32_t room = count - fit->bone_count, before = fit->bone_count;
        result = split_worst(fit, &c, wanted < room ? wanted : room);
        if (result == PELT_OK && fit->bone_count == before)
            break; /* no cluster can be split */
        if (result == PELT_OK)
            result = px_progress(fit->context, "seed", fit->bone_count, count);
        if (result == PELT_OK)
            result = lloyd(fit, fit->bone_count == count ? last : ROUNDS);
    }
    fit->bone_pull = 0;
    px_free(fit->context, c.sums);
    px_free(fit->context, c.worst);
    return result;
}

pelt_result px_fit_seed_again(px_fit *fit, double stiffness) {
    size_t K = fit->influence_count;
    for (size_t i = 0; i < fit->vertex_count; i++) {
        fit->now.weights[i * K] = 1;
        fit->now.counts[i] = 1;
    }
    px_fit_gram(fit);
    PX_TRY(px_fit_assign(fit));
    fit->bone_pull = stiffness;
    pelt_result result = lloyd(fit, ROUNDS);
    fit->bone_pull = 0;
    return result;
}
