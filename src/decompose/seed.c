/* Seeds by Lloyd clustering: splits the clusters with the largest error, with Lloyd rounds in between. The initial
 * clusters are the groups of rigid components, which keep their vertices, and one cluster of all other vertices.
 *
 * A cluster is a fit with a single influence of weight 1 per vertex, so the fit's own steps apply. Only the assignment
 * differs: each vertex takes the bone with the smallest residual, regardless of connectivity.
 */
#include "decompose/shells.h"

#include <math.h>

#define ROUNDS       3    /* Lloyd rounds after each split; more hardly change the final result */
#define FINAL_ROUNDS 9    /* Lloyd rounds after the last split */
#define SMALLEST     5u   /* fewest vertices of a cluster to split: one affine bone fits any four points exactly */
#define FLAT_PULL    1e-6 /* penalty towards rotations: fixes flat clusters along their normal and nothing else */

/* ---- Lloyd rounds ----------------------------------------------------------------------------------------- */

static pelt_result assign_block(void *user, size_t first, size_t count, size_t block) {
    px_fit *fit = user;
    size_t P = fit->bone_count, K = fit->influence_count;
    double *y = PX_ALLOC(fit->context, double, count * 4 * P);
    if (!y)
        return PELT_ERROR_MEMORY;
    pelt_result result = px_fit_products(fit, first, count, y);
    fit->block_objective[block] = 0;
    for (size_t i = first; result == PELT_OK && i < first + count; i++) {
        double m[10], best = INFINITY;
        const double *v = fit->now.rest + 3 * i;
        px_fit_monomials(v, m);
        bool locked = fit->lock_vertices && fit->lock_vertices[i];
        size_t from = locked ? fit->now.bones[i * K] : 0, end = locked ? from + 1 : P;
        for (size_t j = from; j < end; j++) {
            double value = px_fit_alone(fit, j, v, m, y + (i - first) * 4 * P);
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
    px_free(fit->context, y);
    return result;
}

pelt_result px_fit_assign(px_fit *fit) {
    size_t block = px_fit_block(fit);
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, block, assign_block, fit));
    fit->now.objective = 0;
    for (size_t b = 0; b < px_block_count(fit->vertex_count, block); b++)
        fit->now.objective += fit->block_objective[b];
    return PELT_OK;
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

typedef struct cluster {
    double error;
    uint32_t size, worst; /* worst: vertex with the largest residual */
} cluster;

static void sum_clusters(const px_fit *fit, cluster *clusters) {
    size_t K = fit->influence_count;
    memset(clusters, 0, fit->bone_count * sizeof *clusters);
    for (uint32_t i = 0; i < fit->vertex_count; i++) {
        cluster *c = &clusters[fit->now.bones[i * K]];
        if (fit->lock_vertices && fit->lock_vertices[i])
            continue;
        if (c->size++ == 0 || fit->residuals[i] > fit->residuals[c->worst])
            c->worst = i;
        c->error += fit->residuals[i];
    }
}

/* Moves the vertices of cluster `from` near its worst vertex to bone `to`. */
static void split_cluster(px_fit *fit, uint16_t from, const cluster *c, uint16_t to) {
    size_t K = fit->influence_count;
    double mean = 0;
    for (uint32_t i = 0; i < fit->vertex_count; i++)
        if (fit->now.bones[i * K] == from)
            mean += px_fit_distance2(fit, i, c->worst) / c->size;
    for (uint32_t i = 0; i < fit->vertex_count; i++)
        if (fit->now.bones[i * K] == from && px_fit_distance2(fit, i, c->worst) <= 0.5 * mean)
            fit->now.bones[i * K] = to;
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

/* Splits up to `wanted` clusters, those with the largest error first. Returns the number of splits. */
static uint32_t split_worst(px_fit *fit, cluster *clusters, uint32_t wanted) {
    sum_clusters(fit, clusters);
    uint32_t old_count = fit->bone_count, added = 0;
    for (; added < wanted; added++) {
        uint32_t worst = PELT_NONE;
        for (uint32_t j = 0; j < old_count; j++)
            if (clusters[j].size >= SMALLEST && clusters[j].error > 0 &&
                (worst == PELT_NONE || clusters[j].error > clusters[worst].error))
                worst = j;
        if (worst == PELT_NONE)
            break;
        split_cluster(fit, (uint16_t)worst, &clusters[worst], (uint16_t)fit->bone_count);
        px_fit_copy_bone(fit, worst);
        clusters[worst].error = 0;
    }
    return added;
}

static void start_with_one(px_fit *fit) {
    size_t K = fit->influence_count;
    fit->bone_count = 1;
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
    uint32_t most = 0;
    if (!locks)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < fit->vertex_count; i++) {
        locks[i] = shells->groups[i] < own;
        uint32_t bone = locks[i] ? shells->groups[i] : own;
        most = bone > most ? bone : most;
        fit->now.bones[i * fit->influence_count] = (uint16_t)bone;
    }
    while (fit->bone_count <= most)
        px_fit_copy_bone(fit, 0);
    fit->lock_vertices = locks;
    return PELT_OK;
}

pelt_result px_fit_seed(px_fit *fit, const px_shells *shells, uint32_t count) {
    count = count < fit->bone_capacity ? count : fit->bone_capacity;
    uint32_t own = shells ? px_shells_bones(fit, shells, count) : 0;
    start_with_one(fit);
    if (own > 0)
        PX_TRY(start_with_shells(fit, shells, own));
    cluster *clusters = PX_ALLOC(fit->context, cluster, count);
    if (!clusters)
        return PELT_ERROR_MEMORY;
    pelt_result result = lloyd(fit, 1);
    fit->bone_pull = FLAT_PULL;
    if (result == PELT_OK && own > 0)
        result = lloyd(fit, ROUNDS);
    while (result == PELT_OK && fit->bone_count < count && px_fit_error(fit, fit->now.objective) >= PX_FIT_EXACT) {
        uint32_t wanted = fit->bone_count < 6 ? 1 : fit->bone_count / 3;
        uint32_t room = count - fit->bone_count;
        if (split_worst(fit, clusters, wanted < room ? wanted : room) == 0)
            break; /* no cluster can be split */
        result = px_progress(fit->context, "seed", fit->bone_count, count);
        if (result == PELT_OK)
            result = lloyd(fit, fit->bone_count == count ? FINAL_ROUNDS : ROUNDS);
    }
    fit->bone_pull = 0;
    px_free(fit->context, clusters);
    return result;
}
