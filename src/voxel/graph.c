/* Graph coarsening by aggregation. Edge weights are those of a finite-volume discretisation (face area / distance of
 * centres) on every level, so that solutions of all levels approximate the same field.
 *
 * Nodes ordered by z are cut into slabs two cells thick, which have whole blocks. Slabs are processed in parallel; coarse nodes are
 * numbered slab by slab, which is the order of their smallest nodes. */
#include "voxel/graph.h"

/* Consecutive fine nodes, and what they become. */
typedef struct slab {
    uint32_t first, end;               /* fine nodes */
    uint32_t group_first, group_count; /* coarse nodes */
    size_t edge_first, edge_count;     /* coarse edges; before they are moved together, room for all that cross */
} slab;

typedef struct coarsening {
    const px_graph *fine;
    const uint16_t (*cells)[3];
    uint32_t slab_count;
    slab *slabs;
    uint32_t *leaders; /* [fine node] the smallest node of its component */
    px_graph_groups groups;
    uint16_t (*coarse_cells)[3];
    px_graph *coarse;
} coarsening;

static bool same_block(const uint16_t a[3], const uint16_t b[3]) {
    return a[0] / 2 == b[0] / 2 && a[1] / 2 == b[1] / 2 && a[2] / 2 == b[2] / 2;
}

/* Nodes that are not ordered by z (pieces of blocks come last) are one slab. */
static pelt_result make_slabs(px_arena *arena, coarsening *c) {
    uint32_t count = c->fine->count, changes = 0;
    bool ordered = true;
    for (uint32_t i = 1; i < count; i++) {
        changes += c->cells[i][2] / 2 != c->cells[i - 1][2] / 2;
        ordered &= c->cells[i][2] / 2 >= c->cells[i - 1][2] / 2;
    }
    c->slabs = PX_NEW(arena, slab, ordered ? changes + 1 : 1);
    if (!c->slabs)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || (ordered && c->cells[i][2] / 2 != c->cells[i - 1][2] / 2))
            c->slabs[c->slab_count++].first = i;
        c->slabs[c->slab_count - 1].end = i + 1;
    }
    return PELT_OK;
}

/* Connected components within blocks of 2×2×2 cells, by union-find, numbered in the slab by their smallest nodes. */
static pelt_result number_pieces(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const coarsening *c = user;
    const px_graph *fine = c->fine;
    uint32_t *groups = c->groups.of;
    for (slab *s = c->slabs + first; s < c->slabs + first + count; s++) {
        for (uint32_t i = s->first; i < s->end; i++)
            c->leaders[i] = i;
        for (uint32_t i = s->first; i < s->end; i++)
            for (uint32_t e = fine->firsts[i]; e < fine->firsts[i + 1]; e++)
                if (fine->to[e] < i && same_block(c->cells[i], c->cells[fine->to[e]]))
                    px_group_join(c->leaders, i, fine->to[e]);
        for (uint32_t i = s->first; i < s->end; i++) {
            uint32_t leader = px_group_of(c->leaders, i);
            groups[i] = leader == i ? s->group_count++ : groups[leader];
        }
        for (uint32_t i = s->first; i < s->end; i++)
            for (uint32_t e = fine->firsts[i]; e < fine->firsts[i + 1]; e++)
                s->edge_count += fine->to[e] < s->first || fine->to[e] >= s->end || groups[fine->to[e]] != groups[i];
    }
    return PELT_OK;
}

/* Final numbers and cells of the groups, and a counting sort of the fine nodes by group: group g is members[firsts[g] ..
 * firsts[g + 1]). */
static pelt_result place_groups(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const coarsening *c = user;
    uint32_t *of = c->groups.of, *firsts = c->groups.firsts;
    for (const slab *s = c->slabs + first; s < c->slabs + first + count; s++) {
        for (uint32_t i = s->first; i < s->end; i++) {
            of[i] += s->group_first;
            firsts[of[i]]++;
            for (int k = 0; k < 3; k++)
                c->coarse_cells[of[i]][k] = c->cells[i][k] / 2;
        }
        uint32_t sum = s->first;
        for (uint32_t g = s->group_first; g < s->group_first + s->group_count; g++)
            firsts[g] = sum += firsts[g];
        for (uint32_t i = s->end; i-- > s->first;)
            c->groups.members[--firsts[of[i]]] = i;
    }
    return PELT_OK;
}

/* Merges the edges between two groups into one. Areas add up; centres are twice as far apart as on the fine level, hence
 * the factor 0.5. A group has few edges: the one to another group is searched among them. */
static pelt_result join_edges(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const coarsening *c = user;
    const px_graph *fine = c->fine;
    px_graph *coarse = c->coarse;
    for (slab *s = c->slabs + first; s < c->slabs + first + count; s++) {
        size_t filled = s->edge_first;
        for (uint32_t g = s->group_first; g < s->group_first + s->group_count; g++) {
            size_t start = filled;
            coarse->firsts[g] = (uint32_t)(start - s->edge_first);
            for (uint32_t m = c->groups.firsts[g]; m < c->groups.firsts[g + 1]; m++)
                for (uint32_t e = fine->firsts[c->groups.members[m]]; e < fine->firsts[c->groups.members[m] + 1]; e++) {
                    uint32_t other = c->groups.of[fine->to[e]];
                    if (other == g)
                        continue;
                    size_t edge = start;
                    while (edge < filled && coarse->to[edge] != other)
                        edge++;
                    if (edge == filled) {
                        coarse->to[filled] = other;
                        coarse->weights[filled++] = 0;
                    }
                    coarse->weights[edge] += 0.5f * fine->weights[e];
                }
        }
        s->edge_count = filled - s->edge_first;
    }
    return PELT_OK;
}

/* Closes the gaps between the edges of the slabs. */
static void move_together(const coarsening *c) {
    px_graph *coarse = c->coarse;
    size_t filled = 0;
    for (const slab *s = c->slabs; s < c->slabs + c->slab_count; s++) {
        memmove(coarse->to + filled, coarse->to + s->edge_first, s->edge_count * sizeof *coarse->to);
        memmove(coarse->weights + filled, coarse->weights + s->edge_first, s->edge_count * sizeof *coarse->weights);
        for (uint32_t g = s->group_first; g < s->group_first + s->group_count; g++)
            coarse->firsts[g] += (uint32_t)filled;
        filled += s->edge_count;
    }
    coarse->firsts[coarse->count] = (uint32_t)filled;
}

pelt_result px_graph_coarsen(px_arena *arena, const px_graph *fine, uint16_t (**cells)[3], px_graph *coarse,
                             px_graph_groups *out) {
    pelt_context *context = px_arena_context(arena);
    coarsening c = {.fine = fine, .cells = (const uint16_t(*)[3]) * cells, .coarse = coarse};
    *coarse = (px_graph){0};
    c.leaders = PX_NEW(arena, uint32_t, fine->count);
    c.groups.of = PX_NEW(arena, uint32_t, fine->count);
    if (!c.leaders || !c.groups.of)
        return PELT_ERROR_MEMORY;
    PX_TRY(make_slabs(arena, &c));
    PX_TRY(px_parallel(context, NULL, c.slab_count, 1, number_pieces, &c));
    size_t crossing = 0;
    for (slab *s = c.slabs; s < c.slabs + c.slab_count; s++) {
        s->group_first = coarse->count;
        s->edge_first = crossing;
        coarse->count += s->group_count;
        crossing += s->edge_count;
    }
    c.groups.firsts = PX_NEW(arena, uint32_t, (size_t)coarse->count + 1);
    c.groups.members = c.leaders; /* read for the last time */
    c.coarse_cells = px_arena_alloc(arena, coarse->count, sizeof *c.coarse_cells);
    coarse->firsts = PX_NEW(arena, uint32_t, (size_t)coarse->count + 1);
    coarse->to = PX_NEW(arena, uint32_t, crossing);
    coarse->weights = PX_NEW(arena, float, crossing);
    if (!c.groups.firsts || !c.coarse_cells || !coarse->firsts || !coarse->to || !coarse->weights)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_parallel(context, NULL, c.slab_count, 1, place_groups, &c));
    c.groups.firsts[coarse->count] = fine->count;
    PX_TRY(px_parallel(context, NULL, c.slab_count, 1, join_edges, &c));
    move_together(&c);
    *cells = c.coarse_cells;
    *out = c.groups;
    return PELT_OK;
}
