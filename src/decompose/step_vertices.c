/* Vertex step: passes over all vertices. The work on a vertex is in vertex_kernel.h. */
#define LANES          4
#define VERTEX_BLOCK   px_vertex_block
#define VERTEX_PRODUCT px_vertex_product
#include "decompose/vertex_kernel.h"

#include "decompose/divide.h"
#include "decompose/kinds.h"

static pelt_result run(px_vertex_pass pass) {
    px_fit *fit = pass.fit;
    px_block_fn *body = PX_PASS_HERE(px_vertex_block);
    PX_TRY(px_parallel(fit->context, NULL, fit->vertex_count, px_fit_block(fit), body, &pass));
    return px_fit_sum_objective(fit);
}

pelt_result px_fit_vertices(px_fit *fit, bool rest) {
    bool moves = rest && !fit->fixed_rest, joint = moves && fit->kind->unconstrained && !fit->published;
    return run((px_vertex_pass){fit, .rest = moves, .joint = joint, .all = true});
}

pelt_result px_fit_vertices_due(px_fit *fit, uint32_t turn) {
    bool moves = !fit->fixed_rest;
    return run((px_vertex_pass){fit, .rest = moves, .joint = moves && fit->kind->unconstrained, .turn = turn});
}

pelt_result px_fit_measure(px_fit *fit) {
    return run((px_vertex_pass){fit, .measure = true});
}
