/* Seeds of FESAM §4.1: p-center selection, then region growing by prediction error with a priority queue.
 *
 * The first seed is the first triangle; each further seed is the triangle whose centroid is farthest from those of all
 * seeds in the rest pose. The motion of a seed is its deformation gradient. Where a mesh has no triangles, or bones are
 * constrained, seeds are vertices and their motions are fits to the vertices around them.
 */
#include "core/math3.h"
#include "decompose/kinds.h"
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

/* A place where seeds may be: a vertex, three times, or the corners of a triangle. */
typedef struct site {
    uint32_t corners[3];
    double middle[3];
    double distance; /* squared, from the nearest seed */
} site;

static void make_site(const px_fit *fit, site *s) {
    for (size_t axis = 0; axis < 3; axis++)
        for (size_t c = 0; c < 3; c++)
            s->middle[axis] += fit->now.rest[3 * (size_t)s->corners[c] + axis] / 3;
    s->distance = INFINITY;
}

/* Õ = [e21 e31 n̂] of a triangle at rest, inverted. Returns false if it has no area. */
static bool invert_rest(const px_fit *fit, const uint32_t corners[3], double inverse[9]) {
    double o[9], u[3], v[3], normal[3];
    for (size_t axis = 0; axis < 3; axis++) {
        u[axis] = fit->now.rest[3 * (size_t)corners[1] + axis] - fit->now.rest[3 * (size_t)corners[0] + axis];
        v[axis] = fit->now.rest[3 * (size_t)corners[2] + axis] - fit->now.rest[3 * (size_t)corners[0] + axis];
    }
    px_cross3d(u, v, normal);
    double area2 = px_length3(normal);
    for (size_t axis = 0; axis < 3; axis++) {
        o[3 * axis] = u[axis];
        o[3 * axis + 1] = v[axis];
        o[3 * axis + 2] = normal[axis] / area2;
    }
    if (!(area2 > 1e-12))
        return false;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) { /* row r: column r + 1 × column r + 2 */
            int a = (r + 1) % 3, b = (r + 2) % 3, d = (c + 1) % 3, e = (c + 2) % 3;
            inverse[3 * r + c] = (o[3 * d + a] * o[3 * e + b] - o[3 * e + a] * o[3 * d + b]) / area2;
        }
    return true;
}

/* Fills sites: triangles with an area, or all vertices if there are none. Returns their number. */
static uint32_t make_sites(const px_fit *fit, const px_seed_surface *surface, site *sites) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < surface->triangle_count && fit->kind->unconstrained; t++) {
        double inverse[9];
        sites[count] = (site){{0}, {0}, 0};
        for (size_t c = 0; c < 3; c++)
            sites[count].corners[c] = pelt_vertex_class(surface->classes, surface->triangles[3 * (size_t)t + c]);
        if (invert_rest(fit, sites[count].corners, inverse))
            make_site(fit, &sites[count++]);
    }
    for (uint32_t i = 0, none = count == 0; none && i < fit->vertex_count; i++) {
        sites[count] = (site){{i, i, i}, {0}, 0};
        make_site(fit, &sites[count++]);
    }
    return count;
}

/* Fills seeds [count] and returns their number: fewer if no site is left at a distance > 0. */
static uint32_t choose_seeds(site *sites, uint32_t site_count, uint32_t count, uint32_t (*seeds)[3]) {
    uint32_t next = 0, chosen = 0;
    while (chosen < count) {
        memcpy(seeds[chosen++], sites[next].corners, sizeof sites[next].corners);
        uint32_t farthest = 0;
        const double *from = sites[next].middle;
        for (uint32_t n = 0; n < site_count; n++) {
            double off[3] = {sites[n].middle[0] - from[0], sites[n].middle[1] - from[1], sites[n].middle[2] - from[2]};
            sites[n].distance = px_fmin(sites[n].distance, off[0] * off[0] + off[1] * off[1] + off[2] * off[2]);
            if (sites[n].distance > sites[farthest].distance)
                farthest = n;
        }
        if (!(sites[farthest].distance > 0))
            break;
        next = farthest;
    }
    return chosen;
}

/* Sets bone j to the deformation gradient F = O Õ⁻¹ of a triangle, with the position of its first corner. The normals
 * are computed in the frames and projected to the subspace. `scratch` [4 · row]. */
static void take_gradient(px_fit *fit, const uint32_t corners[3], size_t j, double *scratch) {
    size_t d = fit->dimension, rows = fit->row_count;
    double inverse[9], *out = fit->now.reduced + 4 * j * d, *normals = scratch + 3 * rows;
    invert_rest(fit, corners, inverse);
    for (size_t c = 0; c < 3; c++)
        for (size_t row = 0; row < rows; row++) {
            double sum = 0;
            for (size_t e = 0; e < d; e++)
                sum += fit->basis[row * d + e] * (double)fit->coords[corners[c] * d + e];
            scratch[c * rows + row] = sum;
        }
    for (size_t row = 0; row < rows; row += 3) {
        double u[3], v[3];
        for (size_t axis = 0; axis < 3; axis++) {
            u[axis] = scratch[rows + row + axis] - scratch[row + axis];
            v[axis] = scratch[2 * rows + row + axis] - scratch[row + axis];
        }
        px_cross3d(u, v, normals + row);
        double length = px_length3(normals + row);
        for (size_t axis = 0; axis < 3 && length > 0; axis++)
            normals[row + axis] /= length;
    }
    const double *rest = fit->now.rest + 3 * (size_t)corners[0];
    for (size_t e = 0; e < d; e++) {
        double first = (double)fit->coords[corners[0] * d + e], normal = 0;
        for (size_t row = 0; row < rows; row++)
            normal += fit->basis[row * d + e] * normals[row];
        double edges[3] = {(double)fit->coords[corners[1] * d + e] - first,
                           (double)fit->coords[corners[2] * d + e] - first, normal};
        out[3 * d + e] = first;
        for (size_t c = 0; c < 3; c++) {
            out[c * d + e] = edges[0] * inverse[c] + edges[1] * inverse[3 + c] + edges[2] * inverse[6 + c];
            out[3 * d + e] -= out[c * d + e] * rest[c];
        }
    }
}

/* Sets the bones to the gradients of the seed triangles. */
static pelt_result seed_gradients(px_fit *fit, const uint32_t (*seeds)[3], uint32_t count) {
    double *scratch = PX_ALLOC(fit->context, double, 4 * (size_t)fit->row_count);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < count; j++)
        take_gradient(fit, seeds[j], j, scratch);
    px_free(fit->context, scratch);
    px_fit_gram(fit);
    return PELT_OK;
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
static pelt_result seed_motions(px_fit *fit, const px_neighbours *n, const uint32_t (*seeds)[3], uint32_t count) {
    size_t K = fit->influence_count;
    uint32_t *marks = PX_ALLOC(fit->context, uint32_t, fit->vertex_count), around[AROUND];
    if (!marks)
        return PELT_ERROR_MEMORY;
    memset(fit->now.counts, 0, fit->vertex_count);
    for (uint32_t j = 0; j < count; j++) {
        size_t size = gather_around(n, seeds[j][0], j, marks, around);
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

static void grow(px_fit *fit, const px_neighbours *n, const uint32_t (*seeds)[3], uint32_t count, queue *q) {
    memset(fit->now.counts, 0, fit->vertex_count);
    for (uint32_t j = 0; j < count; j++)
        for (size_t c = 0; c < 3; c++)
            if (!fit->now.counts[seeds[j][c]])
                take(fit, n, q, seeds[j][c], j);
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

pelt_result px_fit_seed_regions(px_fit *fit, const px_seed_surface *surface, uint32_t count) {
    count = count < fit->bone_capacity ? count : fit->bone_capacity;
    const px_neighbours *neighbours = surface->neighbours;
    uint32_t(*seeds)[3] = px_alloc(fit->context, count, sizeof *seeds);
    site *sites = PX_ALLOC(fit->context, site, px_max_size(fit->vertex_count, surface->triangle_count));
    /* Capacity: every edge is pushed at most once from each end. */
    queue q = {PX_ALLOC(fit->context, entry, neighbours->offsets[fit->vertex_count] + 1), 0};
    pelt_result result = seeds && sites && q.entries ? px_fit_seed(fit, NULL, 1, PX_FREE_BONES) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        count = choose_seeds(sites, make_sites(fit, surface, sites), count, seeds);
        while (fit->bone_count < count)
            px_fit_copy_bone(fit, 0);
        bool triangles = seeds[0][0] != seeds[0][1];
        result = triangles ? seed_gradients(fit, (const uint32_t(*)[3])seeds, count)
                           : seed_motions(fit, neighbours, (const uint32_t(*)[3])seeds, count);
    }
    if (result == PELT_OK) {
        grow(fit, neighbours, (const uint32_t(*)[3])seeds, count, &q);
        result = px_fit_moments(fit);
    }
    if (result == PELT_OK)
        result = px_fit_transforms(fit);
    if (result == PELT_OK)
        px_fit_gram(fit);
    px_free(fit->context, q.entries);
    px_free(fit->context, sites);
    px_free(fit->context, seeds);
    return result;
}
