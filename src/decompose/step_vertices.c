/* Vertex step: passes over all vertices. The work on a vertex is in vertex_kernel.h. */
#define LANES          4
#define VERTEX_BLOCK   px_vertex_block
#define VERTEX_PRODUCT px_vertex_product
#include "decompose/vertex_kernel.h"

#include "decompose/divide.h"
#include "decompose/kinds.h"

#include <math.h>

/* Of vertices with this many times the mean squared residual more sets of bones are searched. With half, 3 % more time and
 * 0.1 % less error. */
#define WIDE_SHARE 2.0

static pelt_result run(px_vertex_pass pass) {
    px_fit *fit = pass.fit;
    px_block_fn *body = PX_PASS_HERE(px_vertex_block);
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, px_fit_block(fit), body, &pass));
    return px_fit_sum_objective(fit);
}

static pelt_result all_vertices(px_fit *fit, bool rest, double wide_from) {
    bool moves = rest && !fit->fixed_rest, joint = moves && fit->kind->unconstrained && !fit->published;
    return run((px_vertex_pass){fit, .rest = moves, .joint = joint, .all = true, .wide_from = wide_from});
}

pelt_result px_fit_vertices(px_fit *fit, bool rest) {
    return all_vertices(fit, rest, INFINITY);
}

pelt_result px_fit_vertices_wide(px_fit *fit) {
    return all_vertices(fit, true, WIDE_SHARE * fit->now.objective / fit->total_count);
}

pelt_result px_fit_vertices_due(px_fit *fit, uint32_t turn) {
    bool moves = !fit->fixed_rest;
    bool joint = moves && fit->kind->unconstrained;
    return run((px_vertex_pass){fit, .rest = moves, .joint = joint, .turn = turn, .wide_from = INFINITY});
}

pelt_result px_fit_measure(px_fit *fit) {
    return run((px_vertex_pass){fit, .measure = true});
}
