/* Voxel graph. Edge weights are those of a finite-volume discretization: area of the shared face / distance of the
 * centres. A bridge has the weight of a face along x. */
#include "bind/bind.h"

#define BLOCK 4096u

typedef struct job {
    const px_bind_volume *volume;
    px_graph *graph;
    float face[3]; /* weights of edges along x, y, z */
} job;

static pelt_result count_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const job *j = user;
    for (size_t v = first; v < first + count; v++)
        for (int k = 0; k < 6; k++)
            j->graph->firsts[v + 2] += j->volume->neighbours[v][k] != PELT_NONE;
    return PELT_OK;
}

/* ends [node]: where its next edge goes; in the end, the first edge of the next node. */
static pelt_result fill_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const job *j = user;
    uint32_t *ends = j->graph->firsts + 1;
    for (size_t v = first; v < first + count; v++)
        for (int k = 0; k < 6; k++)
            if (j->volume->neighbours[v][k] != PELT_NONE) {
                j->graph->weights[ends[v]] = j->face[k / 2];
                j->graph->to[ends[v]++] = j->volume->neighbours[v][k];
            }
    return PELT_OK;
}

pelt_result px_graph_of_voxels(px_arena *arena, const px_bind_volume *volume, const px_bind_bridges *bridges,
                               px_graph *graph) {
    pelt_context *context = px_arena_context(arena);
    uint32_t count = volume->voxels.count;
    const float *step = volume->step;
    job j = {volume, graph, {step[1] * step[2] / step[0], step[2] * step[0] / step[1], step[0] * step[1] / step[2]}};
    *graph = (px_graph){.count = count};
    graph->firsts = PX_NEW(arena, uint32_t, (size_t)count + 2);
    if (!graph->firsts)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(context, NULL, count, BLOCK, count_block, &j));
    for (uint32_t b = 0; b < bridges->count; b++) {
        graph->firsts[bridges->items[b].from + 2]++;
        graph->firsts[bridges->items[b].to + 2]++;
    }
    for (uint32_t v = 0; v < count; v++)
        graph->firsts[v + 2] += graph->firsts[v + 1];
    graph->to = PX_NEW(arena, uint32_t, graph->firsts[count + 1]);
    graph->weights = PX_NEW(arena, float, graph->firsts[count + 1]);
    if (!graph->to || !graph->weights)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(context, NULL, count, BLOCK, fill_block, &j));
    uint32_t *ends = graph->firsts + 1;
    for (uint32_t b = 0; b < bridges->count; b++)
        for (int side = 0; side < 2; side++) {
            uint32_t from = side ? bridges->items[b].to : bridges->items[b].from;
            graph->weights[ends[from]] = j.face[0];
            graph->to[ends[from]++] = side ? bridges->items[b].from : bridges->items[b].to;
        }
    return PELT_OK;
}
