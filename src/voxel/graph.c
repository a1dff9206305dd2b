/* Graph coarsening by aggregation. Edge weights are those of a finite-volume discretisation (face area / distance of
 * centres) on every level, so that solutions of all levels approximate the same field. */
#include "voxel/graph.h"

static bool same_block(const uint16_t a[3], const uint16_t b[3]) {
    return a[0] / 2 == b[0] / 2 && a[1] / 2 == b[1] / 2 && a[2] / 2 == b[2] / 2;
}

/* Connected components within blocks of 2×2×2 cells, by union-find, numbered by their smallest nodes. `leaders` [node]
 * is a scratch buffer. Returns the number of components. */
static uint32_t number_pieces(const px_graph *fine, const uint16_t (*cells)[3], uint32_t *leaders, uint32_t *groups) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < fine->count; i++)
        leaders[i] = i;
    for (uint32_t i = 0; i < fine->count; i++)
        for (uint32_t e = fine->firsts[i]; e < fine->firsts[i + 1]; e++)
            if (fine->to[e] < i && same_block(cells[i], cells[fine->to[e]]))
                px_group_join(leaders, i, fine->to[e]);
    for (uint32_t i = 0; i < fine->count; i++) {
        uint32_t leader = px_group_of(leaders, i);
        groups[i] = leader == i ? count++ : groups[leader];
    }
    return count;
}

/* Counting sort of the fine nodes by group: group g is members[firsts[g] .. firsts[g + 1]). */
static void sort_members(const uint32_t *groups, uint32_t fine_count, uint32_t group_count, uint32_t *firsts,
                         uint32_t *members) {
    for (uint32_t i = 0; i < fine_count; i++)
        firsts[groups[i]]++;
    for (uint32_t g = 1; g <= group_count; g++)
        firsts[g] += firsts[g - 1];
    for (uint32_t i = fine_count; i-- > 0;)
        members[--firsts[groups[i]]] = i;
}

/* Merges the edges between two groups into one. Areas add up; centres are twice as far apart as on the fine level,
 * hence the factor 0.5. `edge_of` [coarse node]: scratch, the last edge to that node. */
static void join_edges(const px_graph *fine, const uint32_t *groups, const uint32_t *firsts, const uint32_t *members,
                       uint32_t *edge_of, px_graph *coarse) {
    uint32_t filled = 0;
    memset(edge_of, 0xff, coarse->count * sizeof *edge_of);
    for (uint32_t g = 0; g < coarse->count; g++) {
        coarse->firsts[g] = filled;
        for (uint32_t m = firsts[g]; m < firsts[g + 1]; m++)
            for (uint32_t e = fine->firsts[members[m]]; e < fine->firsts[members[m] + 1]; e++) {
                uint32_t other = groups[fine->to[e]];
                if (other == g)
                    continue;
                if (edge_of[other] == PELT_NONE || edge_of[other] < coarse->firsts[g]) {
                    edge_of[other] = filled;
                    coarse->to[filled] = other;
                    coarse->weights[filled++] = 0;
                }
                coarse->weights[edge_of[other]] += 0.5f * fine->weights[e];
            }
    }
    coarse->firsts[coarse->count] = filled;
}

pelt_result px_graph_coarsen(px_arena *arena, const px_graph *fine, uint16_t (**cells)[3], px_graph *coarse,
                             px_graph_groups *out) {
    uint32_t *groups = PX_NEW(arena, uint32_t, fine->count), *leaders = PX_NEW(arena, uint32_t, fine->count);
    uint32_t *firsts = PX_NEW(arena, uint32_t, (size_t)fine->count + 1);
    *coarse = (px_graph){0};
    if (!groups || !leaders || !firsts)
        return PELT_ERROR_MEMORY;
    coarse->count = number_pieces(fine, (const uint16_t(*)[3]) * cells, leaders, groups);
    size_t crossing = 0;
    for (uint32_t i = 0; i < fine->count; i++)
        for (uint32_t e = fine->firsts[i]; e < fine->firsts[i + 1]; e++)
            crossing += groups[fine->to[e]] != groups[i];
    uint16_t(*coarse_cells)[3] = px_arena_alloc(arena, coarse->count, sizeof *coarse_cells);
    coarse->firsts = PX_NEW(arena, uint32_t, (size_t)coarse->count + 1);
    coarse->to = PX_NEW(arena, uint32_t, crossing);
    coarse->weights = PX_NEW(arena, float, crossing);
    if (!coarse_cells || !coarse->firsts || !coarse->to || !coarse->weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < fine->count; i++)
        for (int c = 0; c < 3; c++)
            coarse_cells[groups[i]][c] = (*cells)[i][c] / 2;
    sort_members(groups, fine->count, coarse->count, firsts, leaders);
    uint32_t *edge_of = PX_NEW(arena, uint32_t, coarse->count);
    if (!edge_of)
        return PELT_ERROR_MEMORY;
    join_edges(fine, groups, firsts, leaders, edge_of, coarse);
    *cells = coarse_cells;
    *out = (px_graph_groups){groups, firsts, leaders};
    return PELT_OK;
}
