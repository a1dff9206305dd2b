/* Sums over the vertices of all processes, in a fixed order. */
#include "decompose/divide.h"

#define LEAF_VERTICES  4096u
#define BLOCK_VERTICES 512u
#define LANES_MOST     16u /* vertices that the passes work on at once: blocks are multiples */

void px_fit_divide(px_fit *fit, uint32_t total, bool divided) {
    fit->leaves = px_leaves_make(fit->context, total, LEAF_VERTICES, divided);
    fit->block_vertices = BLOCK_VERTICES;
    if (fit->leaves.count > 1) { /* a leaf is several blocks of the same size */
        size_t blocks = px_block_count(fit->leaves.size, BLOCK_VERTICES);
        fit->block_vertices = (uint32_t)(px_block_count(fit->leaves.size, LANES_MOST * blocks) * LANES_MOST);
        fit->leaves.size = blocks * fit->block_vertices;
    }
    fit->total_count = total;
    fit->first_vertex = (uint32_t)px_leaves_first(&fit->leaves);
    fit->vertex_count = (uint32_t)px_leaves_own(&fit->leaves);
}

typedef struct vertex_sum {
    const px_fit *fit;
    px_leaf_fn *add;
    void *user;
} vertex_sum;

static pelt_result add_vertices(void *user, size_t first, size_t count, double *values) {
    const vertex_sum *sum = user;
    return sum->add(sum->user, first - sum->fit->first_vertex, count, values);
}

pelt_result px_fit_sum(const px_fit *fit, size_t width, px_leaf_fn *add, void *user, double *values) {
    return px_leaves_sum(fit->context, &fit->leaves, width, add_vertices, &(vertex_sum){fit, add, user}, values);
}

typedef struct block_sum {
    const double *slots;
    size_t width, block;
} block_sum;

static pelt_result add_blocks(void *user, size_t first, size_t count, double *values) {
    const block_sum *sum = user;
    for (size_t i = first; i < first + count; i += sum->block)
        for (size_t e = 0; e < sum->width; e++)
            values[e] += sum->slots[i / sum->block * sum->width + e];
    return PELT_OK;
}

pelt_result px_fit_sum_blocks(const px_fit *fit, const double *slots, size_t width, double *values) {
    return px_fit_sum(fit, width, add_blocks, &(block_sum){slots, width, px_fit_block(fit)}, values);
}

pelt_result px_fit_sum_objective(px_fit *fit) {
    return px_fit_sum_blocks(fit, fit->block_objective, 1, &fit->now.objective);
}

pelt_result px_fit_worst(const px_fit *fit, px_worst *worst, size_t count) {
    pelt_context *context = fit->context;
    if (!fit->leaves.divided)
        return PELT_OK;
    size_t size = pelt_group_size(context), rank = pelt_group_rank(context);
    px_worst *all = PX_ALLOC(context, px_worst, size * count);
    if (!all)
        return PELT_ERROR_MEMORY;
    memcpy(all + rank * count, worst, count * sizeof *all);
    pelt_result result = pelt_group_gather(context, all, count * sizeof *all);
    memcpy(worst, all, count * sizeof *all);
    for (size_t e = count; result == PELT_OK && e < size * count; e++)
        if (all[e].vertex != PELT_NONE &&
            (worst[e % count].vertex == PELT_NONE || all[e].value > worst[e % count].value))
            worst[e % count] = all[e];
    px_free(context, all);
    return result;
}

/* Moves own elements to their place in a new array of all vertices, and gathers the others. */
static pelt_result unite(px_fit *fit, void **array, size_t size) {
    char *whole = px_arena_alloc(fit->arena, fit->total_count, size);
    if (!whole)
        return PELT_ERROR_MEMORY;
    memcpy(whole + fit->first_vertex * size, *array, fit->vertex_count * size);
    *array = whole;
    return px_leaves_gather(fit->context, &fit->leaves, whole, size);
}

pelt_result px_fit_unite(px_fit *fit) {
    size_t K = fit->influence_count;
    px_fit_state *now = &fit->now;
    void *rest = now->rest, *weights = now->weights, *bones = now->bones, *counts = now->counts;
    if (!fit->leaves.divided)
        return PELT_OK;
    PX_TRY(unite(fit, &rest, 3 * sizeof *now->rest));
    PX_TRY(unite(fit, &weights, K * sizeof *now->weights));
    PX_TRY(unite(fit, &bones, K * sizeof *now->bones));
    PX_TRY(unite(fit, &counts, sizeof *now->counts));
    now->rest = rest;
    now->weights = weights;
    now->bones = bones;
    now->counts = counts;
    px_fit_divide(fit, fit->total_count, false);
    return PELT_OK;
}
