/* Removal of the bone that explains least, and insertion of bones where the error is largest. */
#include "decompose/divide.h"
#include "numeric/simplex.h"

#include <math.h>

/* ---- Value of a bone ---------------------------------------------------------------------------------------- */

/* Adds to `worth` the increase of the vertex's squared residual without each of its bones, after the other weights are
 * optimised again. A bone that is alone counts with everything it explains, relative to a vertex at the origin, so it
 * is practically never removed. */
static void add_worth(const px_fit *fit, size_t i, double *worth) {
    size_t K = fit->influence_count, count = fit->now.counts[i];
    const uint16_t *bones = fit->now.bones + i * K;
    const double *weights = fit->now.weights + i * K;
    double m[10], g[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], b[PX_SIMPLEX_MAX], value = 0;
    px_fit_monomials(fit->now.rest + 3 * i, m);
    for (size_t r = 0; r < count; r++) {
        double y[4];
        px_fit_product(fit, i, bones[r], y);
        b[r] = px_fit_linear(fit->now.rest + 3 * i, y, 0);
        for (size_t c = 0; c < count; c++)
            g[r][c] = px_fit_pair(fit, bones[r], bones[c], m);
    }
    for (size_t r = 0; r < count; r++) {
        value -= 2 * weights[r] * b[r];
        for (size_t c = 0; c < count; c++)
            value += weights[r] * weights[c] * g[r][c];
    }
    for (size_t out = 0; out < count; out++) {
        double without = 0, gg[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX], bb[PX_SIMPLEX_MAX], ww[PX_SIMPLEX_MAX];
        size_t n = 0;
        for (size_t r = 0; r < count; r++)
            if (r != out) {
                size_t k = 0;
                for (size_t c = 0; c < count; c++)
                    if (c != out)
                        gg[n][k++] = g[r][c];
                bb[n] = b[r];
                ww[n++] = weights[r] / (1 - weights[out]);
            }
        if (n > 0)
            without = px_simplex_least(n, gg, bb, ww);
        worth[bones[out]] += without - value;
    }
}

static pelt_result worth_block(void *user, size_t first, size_t count, size_t block) {
    const px_fit *fit = user;
    double *worth = fit->slots + block * fit->bone_count;
    memset(worth, 0, fit->bone_count * sizeof *worth);
    for (size_t i = first; i < first + count; i++)
        add_worth(fit, i, worth);
    return PELT_OK;
}

/* Number of locked vertices of each bone. */
static pelt_result add_locks(void *user, size_t first, size_t count, double *values) {
    const px_fit *fit = user;
    for (size_t i = first; i < first + count; i++)
        for (size_t a = 0; fit->lock_vertices[i] && a < fit->now.counts[i]; a++)
            values[fit->now.bones[i * fit->influence_count + a]]++;
    return PELT_OK;
}

pelt_result px_fit_least_bone(px_fit *fit, uint32_t *least) {
    size_t P = fit->bone_count;
    *least = PELT_NONE;
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, px_fit_block(fit), worth_block, fit));
    PX_TRY(px_fit_sum_blocks(fit, fit->slots, P, fit->bone_sums));
    double *locks = fit->bone_sums + fit->bone_capacity;
    memset(locks, 0, P * sizeof *locks);
    if (fit->lock_vertices)
        PX_TRY(px_fit_sum(fit, P, add_locks, fit, locks));
    for (uint32_t j = 0; j < P; j++)
        if (locks[j] == 0 && fit->bone_sums[j] < (*least == PELT_NONE ? INFINITY : fit->bone_sums[*least]))
            *least = j;
    return PELT_OK;
}

/* ---- Removing --------------------------------------------------------------------------------------------- */

/* Removes bone `gone` from a vertex and renumbers bone `last` to `gone`. If the vertex has no other bone, it follows
 * `heir`. */
static void drop_influence(px_fit *fit, size_t i, uint16_t gone, uint16_t last, uint16_t heir) {
    size_t K = fit->influence_count, kept = 0;
    uint16_t *bones = fit->now.bones + i * K;
    double *weights = fit->now.weights + i * K, sum = 0;
    for (size_t a = 0; a < fit->now.counts[i]; a++)
        if (bones[a] != gone) {
            bones[kept] = bones[a] == last ? gone : bones[a];
            sum += weights[kept++] = weights[a];
        }
    if (kept == 0) {
        bones[kept] = heir == last ? gone : heir;
        sum = weights[kept++] = 1;
    }
    for (size_t a = 0; a < kept; a++)
        weights[a] /= sum;
    fit->now.counts[i] = (uint8_t)kept;
}

typedef struct removal {
    const px_fit *fit;
    uint16_t gone;
} removal;

/* Weight that each bone shares with the bone `gone`. */
static pelt_result add_shared(void *user, size_t first, size_t count, double *shared) {
    const px_fit *fit = ((const removal *)user)->fit;
    uint16_t gone = ((const removal *)user)->gone;
    size_t K = fit->influence_count;
    for (size_t i = first; i < first + count; i++) {
        const uint16_t *bones = fit->now.bones + i * K;
        const double *weights = fit->now.weights + i * K;
        double own = 0;
        for (size_t a = 0; a < fit->now.counts[i]; a++)
            own += bones[a] == gone ? weights[a] : 0;
        for (size_t a = 0; own > 0 && a < fit->now.counts[i]; a++)
            shared[bones[a]] += own * weights[a];
    }
    return PELT_OK;
}

/* The bone that shares most weight with `gone`: it takes over the vertices that followed `gone` alone. */
static pelt_result find_heir(const px_fit *fit, uint16_t gone, uint16_t *heir) {
    const double *shared = fit->bone_sums;
    PX_TRY(px_fit_sum(fit, fit->bone_count, add_shared, &(removal){fit, gone}, fit->bone_sums));
    *heir = gone == 0;
    for (uint16_t j = 0; j < fit->bone_count; j++)
        if (j != gone && shared[j] > shared[*heir])
            *heir = j;
    return PELT_OK;
}

pelt_result px_fit_remove_bone(px_fit *fit, uint32_t gone) {
    size_t P = fit->bone_count, d = fit->dimension, last = P - 1;
    uint16_t heir;
    PX_TRY(find_heir(fit, (uint16_t)gone, &heir));
    for (size_t i = 0; i < fit->vertex_count; i++)
        drop_influence(fit, i, (uint16_t)gone, (uint16_t)last, heir);
    memmove(fit->now.reduced + 4 * gone * d, fit->now.reduced + 4 * last * d, 4 * d * sizeof(double));
    for (size_t r = 0; fit->now.full && r < fit->row_count; r++) { /* rows get shorter: first to last */
        double *row = fit->now.full + r * 4 * P, bone[4];
        memcpy(bone, row + 4 * last, sizeof bone);
        memcpy(row + 4 * gone, bone, sizeof bone);
        memmove(fit->now.full + r * 4 * last, row, 4 * last * sizeof *row);
    }
    if (fit->now.axes)
        memmove(fit->now.axes + 9 * gone, fit->now.axes + 9 * last, 9 * sizeof(double));
    fit->bone_count--;
    px_fit_gram(fit);
    return PELT_OK;
}

/* ---- Adding ----------------------------------------------------------------------------------------------- */

static size_t main_bone(const px_fit *fit, size_t i) {
    size_t K = fit->influence_count, best = 0;
    for (size_t a = 1; a < fit->now.counts[i]; a++)
        if (fit->now.weights[i * K + a] > fit->now.weights[i * K + best])
            best = a;
    return fit->now.bones[i * K + best];
}

typedef struct territory {
    const px_fit *fit;
    size_t bone;
    const double *place; /* rest position of its worst vertex */
} territory;

/* Residuals of the territory of each bone: the vertices where it has the largest weight. */
static pelt_result add_territories(void *user, size_t first, size_t count, double *values) {
    const px_fit *fit = user;
    for (size_t i = first; i < first + count; i++)
        values[main_bone(fit, i)] += px_fit_may_take(fit, i) ? fit->residuals[i] : 0;
    return PELT_OK;
}

/* Squared distances of a territory from its worst vertex, and their number. */
static pelt_result add_distances(void *user, size_t first, size_t count, double *values) {
    const territory *t = user;
    for (size_t i = first; i < first + count; i++)
        if (main_bone(t->fit, i) == t->bone) {
            values[0] += px_fit_distance2(t->fit, i, t->place);
            values[1]++;
        }
    return PELT_OK;
}

/* Finds the bone whose territory has the largest total residual, and the vertex of that territory with the largest residual
 * (vertex PELT_NONE: there is none); *mean is the mean squared distance of the territory from it. */
static pelt_result find_worst(px_fit *fit, px_worst *worst, double *mean) {
    const double *territories = fit->bone_sums;
    size_t bone = 0;
    double sums[2];
    PX_TRY(px_fit_sum(fit, fit->bone_count, add_territories, fit, fit->bone_sums));
    for (size_t j = 1; j < fit->bone_count; j++)
        if (territories[j] > territories[bone])
            bone = j;
    *worst = (px_worst){.vertex = PELT_NONE, .bone = bone};
    for (size_t i = 0; i < fit->vertex_count; i++)
        if (px_fit_may_take(fit, i) && main_bone(fit, i) == bone &&
            (worst->vertex == PELT_NONE || fit->residuals[i] > worst->value)) {
            *worst = (px_worst){.value = fit->residuals[i], .vertex = fit->first_vertex + i, .bone = bone};
            memcpy(worst->rest, fit->now.rest + 3 * i, sizeof worst->rest);
        }
    PX_TRY(px_fit_worst(fit, worst, 1));
    PX_TRY(px_fit_sum(fit, 2, add_distances, &(territory){fit, bone, worst->rest}, sums));
    *mean = sums[0] / sums[1];
    return PELT_OK;
}

/* Adds a bone with the transform of the worst vertex's main bone and gives it the vertices around that vertex. Their
 * residuals become 0, so that the next bone starts elsewhere. *more is false if there is no vertex to take. */
static pelt_result split_territory(px_fit *fit, bool *more) {
    size_t P = fit->bone_count, K = fit->influence_count;
    assert(P < fit->bone_capacity);
    px_worst worst;
    double mean;
    PX_TRY(find_worst(fit, &worst, &mean));
    *more = worst.vertex != PELT_NONE;
    if (!*more)
        return PELT_OK;
    px_fit_copy_bone(fit, (size_t)worst.bone);
    for (size_t i = 0; i < fit->vertex_count; i++)
        if (px_fit_may_take(fit, i) && main_bone(fit, i) == worst.bone &&
            px_fit_distance2(fit, i, worst.rest) <= 0.5 * mean) {
            fit->now.bones[i * K] = (uint16_t)P;
            fit->now.weights[i * K] = 1;
            fit->now.counts[i] = 1;
            fit->residuals[i] = 0;
        }
    return PELT_OK;
}

pelt_result px_fit_add_bones(px_fit *fit, uint32_t count) {
    bool more = true;
    for (uint32_t n = 0; n < count && more; n++)
        PX_TRY(split_territory(fit, &more));
    PX_TRY(px_fit_moments(fit));
    PX_TRY(px_fit_transforms(fit));
    px_fit_gram(fit);
    return PELT_OK;
}

pelt_result px_fit_add_bone(px_fit *fit) {
    return px_fit_add_bones(fit, 1);
}
