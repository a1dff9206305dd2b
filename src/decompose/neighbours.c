/* Neighbours on the surface; smooth weights. */
#include "decompose/neighbours.h"

#include <stdlib.h>

/* ---- Neighbours ------------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Sorts each list and leaves out what is there twice; lists move together. */
static void tidy(px_neighbours *n, uint32_t vertex_count) {
    size_t kept = 0;
    for (uint32_t i = 0; i < vertex_count; i++) {
        size_t first = n->offsets[i], end = n->offsets[i + 1];
        n->offsets[i] = kept;
        qsort(n->items + first, end - first, sizeof *n->items, compare_numbers);
        for (size_t e = first; e < end; e++)
            if (e == first || n->items[e] != n->items[e - 1])
                n->items[kept++] = n->items[e];
    }
    n->offsets[vertex_count] = kept;
}

pelt_result px_neighbours_make(px_fit *fit, const pelt_mesh *mesh, const uint32_t *vertices, px_neighbours *out) {
    size_t edge_count = 3 * (size_t)mesh->triangle_count;
    out->offsets = PX_NEW(fit->arena, size_t, (size_t)fit->vertex_count + 2);
    out->items = PX_NEW(fit->arena, uint32_t, 2 * edge_count);
    if (!out->offsets || !out->items)
        return PELT_ERROR_MEMORY;
    size_t *places = out->offsets + 1; /* counts first, then where the next neighbour goes */
    for (int filling = 0; filling < 2; filling++) {
        for (size_t e = 0; e < edge_count; e++) {
            uint32_t a = vertices[mesh->triangles[e]], b = vertices[mesh->triangles[e % 3 == 2 ? e - 2 : e + 1]];
            if (a == b)
                continue;
            if (filling) {
                out->items[places[a]++] = b;
                out->items[places[b]++] = a;
            } else {
                places[a + 1]++;
                places[b + 1]++;
            }
        }
        for (uint32_t i = 0; !filling && i < fit->vertex_count; i++)
            places[i + 1] += places[i];
    }
    tidy(out, fit->vertex_count);
    return PELT_OK;
}

/* ---- Smooth weights --------------------------------------------------------------------------------------- */

#define ROUNDS 8 /* each carries the pull one edge further */

/* The objective of the weights as they are: a pass in which every vertex is locked. */
static pelt_result measure(px_fit *fit) {
    uint8_t *all = PX_ALLOC(fit->context, uint8_t, fit->vertex_count);
    if (!all)
        return PELT_ERROR_MEMORY;
    memset(all, 1, fit->vertex_count);
    const uint8_t *locks = fit->lock_vertices;
    fit->lock_vertices = all;
    pelt_result result = px_fit_vertices(fit, false);
    fit->lock_vertices = locks;
    px_free(fit->context, all);
    return result;
}

pelt_result px_fit_smooth(px_fit *fit, const px_neighbours *neighbours, px_fit_state *spare, double smooth) {
    px_smoothing pull = {neighbours, spare, smooth * smooth * 1e-6 * (double)fit->row_count};
    pelt_result result = PELT_OK;
    for (int round = 0; round <= ROUNDS && result == PELT_OK; round++) {
        if (round > 0) {
            px_fit_state_copy(fit, &fit->now, spare);
            fit->smoothing = &pull;
            result = px_fit_vertices(fit, false);
            fit->smoothing = NULL;
        }
        if (result == PELT_OK)
            result = px_fit_moments(fit);
        if (result == PELT_OK)
            result = px_fit_transforms(fit);
        px_fit_gram(fit);
    }
    return result == PELT_OK ? measure(fit) : result;
}
