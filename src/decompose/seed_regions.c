/* Seeds of FESAM §4.4: p-center selection, then region growing by prediction error with a priority queue.
 *
 * The first seed is vertex 0; each further seed is the vertex farthest from all seeds in the rest pose. The motion of a
 * seed is the affine fit to the vertices around it.
 */
#include "decompose/neighbours.h"

#include <math.h>

#define AROUND 24u /* vertices to which a seed's motion is fitted: one or two rings */

/* ---- Priority queue --------------------------------------------------------------------------------------- */

typedef struct entry {
    double error;
    uint32_t vertex;
    uint32_t bone;
} entry;

typedef struct queue {
    entry *entries; /* binary min-heap */
    size_t count;
} queue;

/* Ties are broken by vertex and bone, so the order is deterministic. */
static bool before(const entry *a, const entry *b) {
    if (a->error != b->error)
        return a->error < b->error;
    return a->vertex != b->vertex ? a->vertex < b->vertex : a->bone < b->bone;
}

static void push(queue *q, entry e) {
    size_t place = q->count++;
    for (; place > 0 && before(&e, &q->entries[(place - 1) / 2]); place = (place - 1) / 2)
        q->entries[place] = q->entries[(place - 1) / 2];
    q->entries[place] = e;
}

static entry pop(queue *q) {
    entry top = q->entries[0], last = q->entries[--q->count];
    size_t place = 0;
    for (size_t child; (child = 2 * place + 1) < q->count; place = child) {
        if (child + 1 < q->count && before(&q->entries[child + 1], &q->entries[child]))
            child++;
        if (!before(&q->entries[child], &last))
            break;
        q->entries[place] = q->entries[child];
    }
    q->entries[place] = last;
    return top;
}

/* ---- Seeds ------------------------------------------------------------------------------------------------ */

/* Fills seeds [count] and returns their number: fewer if no vertex is left at a distance > 0. */
static uint32_t choose_seeds(const px_fit *fit, uint32_t count, uint32_t *seeds, double *distances) {
    for (uint32_t i = 0; i < fit->vertex_count; i++)
        distances[i] = INFINITY;
    uint32_t next = 0, chosen = 0;
    while (chosen < count) {
        seeds[chosen++] = next;
        uint32_t farthest = 0;
        for (uint32_t i = 0; i < fit->vertex_count; i++) {
            distances[i] = fmin(distances[i], px_fit_distance2(fit, i, next));
            if (distances[i] > distances[farthest])
                farthest = i;
        }
        if (!(distances[farthest] > 0))
            break;
        next = farthest;
    }
    return chosen;
}

/* Breadth-first search from a seed, up to AROUND vertices. `marks` [vertex]: 1 + number of the seed that visited it
 * last. */
static size_t gather_around(const px_neighbours *n, uint32_t seed, uint32_t number, uint32_t *marks, uint32_t *around) {
    size_t count = 1;
    around[0] = seed;
    marks[seed] = number + 1;
    for (size_t done = 0; done < count && count < AROUND; done++)
        for (size_t e = n->offsets[around[done]]; e < n->offsets[around[done] + 1] && count < AROUND; e++)
            if (marks[n->items[e]] != number + 1) {
                marks[n->items[e]] = number + 1;
                around[count++] = n->items[e];
            }
    return count;
}

/* Assigns the vertices around each seed to its bone and fits the transforms; all other vertices have no weight. */
static pelt_result seed_motions(px_fit *fit, const px_neighbours *n, const uint32_t *seeds, uint32_t count) {
    size_t K = fit->influence_count;
    uint32_t *marks = PX_ALLOC(fit->context, uint32_t, fit->vertex_count), around[AROUND];
    if (!marks)
        return PELT_ERROR_MEMORY;
    memset(fit->now.counts, 0, fit->vertex_count);
    for (uint32_t j = 0; j < count; j++) {
        size_t size = gather_around(n, seeds[j], j, marks, around);
        for (size_t a = 0; a < size; a++) {
            fit->now.bones[around[a] * K] = (uint16_t)j;
            fit->now.weights[around[a] * K] = 1;
            fit->now.counts[around[a]] = 1;
        }
    }
    px_free(fit->context, marks);
    PX_TRY(px_fit_moments(fit));
    PX_TRY(px_fit_transforms(fit));
    px_fit_gram(fit);
    return PELT_OK;
}

/* ---- Growing ---------------------------------------------------------------------------------------------- */

/* Squared residual of vertex i with bone j at weight 1. */
static double prediction_error(const px_fit *fit, uint32_t i, uint32_t j) {
    size_t d = fit->dimension, n = 4 * (size_t)fit->bone_count;
    const float *c = fit->coords + i * d;
    const double *rest = fit->now.rest + 3 * (size_t)i;
    double v[4] = {rest[0], rest[1], rest[2], 1}, value = fit->norms[i];
    for (size_t r = 0; r < 4; r++) {
        const double *row = fit->now.reduced + (4 * j + r) * d;
        double dot = 0, square = 0;
        for (size_t e = 0; e < d; e++)
            dot += row[e] * (double)c[e];
        for (size_t k = 0; k < 4; k++)
            square += fit->gram[(4 * j + r) * n + 4 * j + k] * v[k];
        value += v[r] * (square - 2 * dot);
    }
    return value;
}

static void take(px_fit *fit, const px_neighbours *n, queue *q, uint32_t i, uint32_t j) {
    size_t K = fit->influence_count;
    fit->now.bones[i * K] = (uint16_t)j;
    fit->now.weights[i * K] = 1;
    fit->now.counts[i] = 1;
    for (size_t e = n->offsets[i]; e < n->offsets[i + 1]; e++)
        if (!fit->now.counts[n->items[e]])
            push(q, (entry){prediction_error(fit, n->items[e], j), n->items[e], j});
}

static void grow(px_fit *fit, const px_neighbours *n, const uint32_t *seeds, uint32_t count, queue *q) {
    memset(fit->now.counts, 0, fit->vertex_count);
    for (uint32_t j = 0; j < count; j++)
        if (!fit->now.counts[seeds[j]])
            take(fit, n, q, seeds[j], j);
    for (uint32_t left = 0;;) {
        while (q->count > 0) {
            entry e = pop(q);
            if (!fit->now.counts[e.vertex])
                take(fit, n, q, e.vertex, e.bone);
        }
        while (left < fit->vertex_count && fit->now.counts[left])
            left++;
        if (left == fit->vertex_count)
            return;
        uint32_t best = 0; /* a connected component without a seed */
        for (uint32_t j = 1; j < count; j++)
            if (prediction_error(fit, left, j) < prediction_error(fit, left, best))
                best = j;
        take(fit, n, q, left, best);
    }
}

pelt_result px_fit_seed_regions(px_fit *fit, const px_neighbours *neighbours, uint32_t count) {
    count = count < fit->bone_capacity ? count : fit->bone_capacity;
    uint32_t *seeds = PX_ALLOC(fit->context, uint32_t, count);
    double *distances = PX_ALLOC(fit->context, double, fit->vertex_count);
    /* Capacity: every edge is pushed at most once from each end. */
    queue q = {PX_ALLOC(fit->context, entry, neighbours->offsets[fit->vertex_count] + 1), 0};
    pelt_result result = seeds && distances && q.entries ? px_fit_seed(fit, NULL, 1) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        count = choose_seeds(fit, count, seeds, distances);
        while (fit->bone_count < count)
            px_fit_copy_bone(fit, 0);
        result = seed_motions(fit, neighbours, seeds, count);
    }
    if (result == PELT_OK) {
        grow(fit, neighbours, seeds, count, &q);
        result = px_fit_moments(fit);
    }
    if (result == PELT_OK)
        result = px_fit_transforms(fit);
    if (result == PELT_OK)
        px_fit_gram(fit);
    px_free(fit->context, q.entries);
    px_free(fit->context, distances);
    px_free(fit->context, seeds);
    return result;
}
