/* Vertices of a fit divided among the processes of a group, and sums over all of them (core/group.h).
 *
 * A process has vertices [first_vertex, first_vertex + vertex_count) of total_count; arrays by vertex hold its own. Every process has the
 * same transforms and moments. One process alone has all vertices and adds in the same order.
 */
#ifndef PELT_DECOMPOSE_DIVIDE_H
#define PELT_DECOMPOSE_DIVIDE_H

#include "decompose/fit.h"

/* Sets leaves, total_count, first_vertex and vertex_count. `divided`: among the processes of the group. */
void px_fit_divide(px_fit *fit, uint32_t total, bool divided);

/* px_leaves_sum over the vertices; `add` gets the numbers of own vertices. */
pelt_result px_fit_sum(const px_fit *fit, size_t width, px_leaf_fn *add, void *user, double *values);
/* Sums [width] of slots [block][width], one for each block (px_fit_block) of own vertices. */
pelt_result px_fit_sum_blocks(const px_fit *fit, const double *slots, size_t width, double *values);
/* Sets now.objective from block_objective. */
pelt_result px_fit_sum_objective(px_fit *fit);

/* The vertex with the largest value, of all processes. */
typedef struct px_worst {
    double value;
    double rest[3];  /* its rest position */
    uint64_t vertex; /* number over all processes; PELT_NONE: there is none */
    uint64_t bone;   /* free for the caller */
} px_worst;
/* worst [count]: in: of own vertices, the first of those with the same value; out: of all processes. */
pelt_result px_fit_worst(const px_fit *fit, px_worst *worst, size_t count);

/* Gives every process rest positions, bones and weights of all vertices (now.rest, now.weights, now.bones, now.counts), after which
 * the fit is not divided any more; coords and residuals are those of own vertices still. */
pelt_result px_fit_unite(px_fit *fit);

#endif
