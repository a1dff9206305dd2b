/* Weights by screened diffusion: (L + H) w = H p, where L is the graph Laplacian, p indicates the voxels of a bone, and
 * the diagonal matrix H = c / d² anchors a voxel at distance d to its bone. H is positive everywhere, so the solution
 * is unique, weights are in [0, 1], and those of all bones sum to 1. The equation is scale-invariant: limbs blend over
 * a length proportional to their thickness.
 *
 * Initially a voxel belongs to the nearest bone. Then, on a coarse graph, diffusion is solved once with weaker anchors
 * and each node goes to the bone with the largest weight: borders between bones move to where the volume is narrow (a
 * chin is nearer to the neck's bone, yet it belongs to the head). Alternating diffusion and thresholding moves borders
 * by their curvature (Merriman, Bence, Osher 1992).
 *
 * Every bone has its own system on the nodes near it, solved by conjugate gradients with the solution on the next
 * coarser graph as initial guess.
 *
 *   L  px_heat_level.graph, degrees     H  holds     p  labels     c  ANCHOR_WEIGHT     d  distances */
#include "bind/heat.h"

#include <math.h>

#define ANCHOR_WEIGHT       5.0f   /* c */
#define LOOSE_ANCHOR_WEIGHT 1.0f   /* c while borders move */
#define MAX_BORDER_NODES    60000u /* maximum size of the graph on which borders move */
#define MAX_COARSEST_NODES  2000u  /* maximum size of the coarsest graph */
#define MIN_BONE_DISTANCE   0.5f   /* in cells: lower bound of distances in H */
#define BONE_DISTANCE       1.5f   /* in cells: voxels closer to their bone keep it when borders move */
#define TOLERANCE           1e-7 /* relative squared residual norm on the graph on which borders move, and coarser ones */
#define NEAR_STEPS          2u /* faces from the voxels that vertices interpolate to the last that are solved finely */
#define FINE_STEPS          4u /* iterations on the finer graphs, which have a good initial guess */
#define MAX_STEPS           400u
#define TIE                 1.001f /* ratio of weights below which the first bone wins: rounding must not decide */
#define BLOCK               4u     /* targets per parallel block; they share scratch buffers */

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* Solves on every level from the coarsest to `last`. `hold` scales H. */
static void solve_levels(const px_heat *h, uint32_t target, uint32_t last, float hold, px_heat_scratch *s) {
    for (uint32_t at = h->level_count; at-- > last;) {
        const px_heat_level *l = &h->levels[at];
        memset(s->x[at], 0, l->graph.count * sizeof(float));
        px_heat_gather(h, at, target, hold, false, s);
        px_heat_solve(l, hold, s, s->x[at], TOLERANCE, at >= h->border_level ? MAX_STEPS : FINE_STEPS);
    }
}

/* Voxels far from vertices are solved only for other meshes, after those near: these must not depend on whether there are
 * other meshes. */
static pelt_result solve_target(const px_heat *h, uint32_t target, px_heat_scratch *s, size_t block) {
    (void)block;
    solve_levels(h, target, 0, 1, s);
    px_bind_sample(&h->sampler, target, s->x[0], 1, h->fields->values);
    if (h->fields->voxels && h->near) {
        px_heat_gather(h, 0, target, 1, true, s);
        px_heat_solve(&h->levels[0], 1, s, s->x[0], TOLERANCE, FINE_STEPS);
        s->node_count = 0;
        for (uint32_t v = 0; v < h->levels[0].graph.count; v++)
            if (s->x[0][v] != 0)
                s->nodes[s->node_count++] = v;
    }
    return px_bind_keep_field(h->context, h->fields, target, s->x[0], 1, s->nodes, s->node_count);
}

/* Runs a function for some targets with a scratch buffer from the free list, or with a new one. Buffers are returned
 * clean, so a few serve all blocks. */
static pelt_result with_scratch(px_heat *h, size_t first, size_t count, size_t block,
                                pelt_result (*run)(const px_heat *h, uint32_t target, px_heat_scratch *s,
                                                   size_t block)) {
    pelt_result result = PELT_OK;
    px_mutex_lock(&h->lock);
    px_heat_scratch *s = h->idle;
    if (s)
        h->idle = s->next;
    px_mutex_unlock(&h->lock);
    if (!s) {
        px_arena *arena = px_arena_create(h->context);
        s = arena ? PX_NEW(arena, px_heat_scratch, 1) : NULL;
        result = s ? px_heat_scratch_make(h, arena, s) : PELT_ERROR_MEMORY;
        if (result != PELT_OK) {
            px_arena_destroy(arena);
            return result;
        }
    }
    for (size_t t = first; t < first + count && result == PELT_OK; t++) {
        if (h->label_firsts[t + 1] > h->label_firsts[t])
            result = run(h, (uint32_t)t, s, block);
        if (result == PELT_OK)
            result = px_cancelled(h->context);
    }
    px_mutex_lock(&h->lock);
    s->next = h->idle;
    h->idle = s;
    px_mutex_unlock(&h->lock);
    return result;
}

static pelt_result weights_block(void *user, size_t first, size_t count, size_t block) {
    return with_scratch(user, first, count, block, solve_target);
}

/* ---- Borders ------------------------------------------------------------------------------------------------- */

static pelt_result contend(const px_heat *h, uint32_t target, px_heat_scratch *s, size_t block) {
    uint32_t at = h->border_level;
    solve_levels(h, target, at, LOOSE_ANCHOR_WEIGHT / ANCHOR_WEIGHT, s);
    for (uint32_t k = 0; k < s->node_count; k++) {
        uint32_t i = s->nodes[k];
        if (s->x[at][i] > TIE * h->strongest[block][i]) {
            h->strongest[block][i] = s->x[at][i];
            h->winners[block][i] = target;
        }
    }
    return PELT_OK;
}

static pelt_result contend_block(void *user, size_t first, size_t count, size_t block) {
    return with_scratch(user, first, count, block, contend);
}

void px_heat_sort_labels(px_heat *h) {
    uint32_t targets = h->subject->target_count, count = h->levels[0].graph.count;
    memset(h->label_firsts, 0, ((size_t)targets + 1) * sizeof *h->label_firsts);
    for (uint32_t v = 0; v < count; v++)
        h->label_firsts[h->labels[v]]++;
    for (uint32_t t = 1; t <= targets; t++)
        h->label_firsts[t] += h->label_firsts[t - 1];
    for (uint32_t v = count; v-- > 0;)
        h->label_voxels[--h->label_firsts[h->labels[v]]] = v;
}

/* If the winner of a node is not its majority target, the majority's voxels in the node change to the winner, except
 * those next to their bone. */
static pelt_result move_borders(px_heat *h) {
    uint32_t at = h->border_level, nodes = h->levels[at].graph.count;
    size_t blocks = px_block_count(h->subject->target_count, BLOCK);
    h->strongest = PX_NEW(h->arena, float *, blocks);
    h->winners = PX_NEW(h->arena, uint32_t *, blocks);
    uint32_t *counts = PX_NEW(h->arena, uint32_t, nodes), *most = PX_NEW(h->arena, uint32_t, nodes);
    uint32_t *majorities = PX_NEW(h->arena, uint32_t, nodes); /* the target that owns most voxels of a node */
    if (!h->strongest || !h->winners || !counts || !most || !majorities)
        return PELT_ERROR_MEMORY;
    for (size_t b = 0; b < blocks; b++) {
        h->strongest[b] = PX_NEW(h->arena, float, nodes);
        h->winners[b] = PX_NEW(h->arena, uint32_t, nodes);
        if (!h->strongest[b] || !h->winners[b])
            return PELT_ERROR_MEMORY;
    }
    PX_TRY(px_parallel(h->context, "borders", h->subject->target_count, BLOCK, contend_block, h));
    for (uint32_t t = 0; t < h->subject->target_count; t++) {
        for (uint32_t k = h->label_firsts[t]; k < h->label_firsts[t + 1]; k++)
            counts[px_heat_node(h, at, h->label_voxels[k])]++;
        for (uint32_t k = h->label_firsts[t]; k < h->label_firsts[t + 1]; k++) {
            uint32_t node = px_heat_node(h, at, h->label_voxels[k]);
            if (counts[node] > most[node]) {
                most[node] = counts[node];
                majorities[node] = t;
            }
            counts[node] = 0;
        }
    }
    for (size_t b = 1; b < blocks; b++)
        for (uint32_t i = 0; i < nodes; i++)
            if (h->strongest[b][i] > TIE * h->strongest[0][i]) {
                h->strongest[0][i] = h->strongest[b][i];
                h->winners[0][i] = h->winners[b][i];
            }
    for (uint32_t v = 0; v < h->levels[0].graph.count; v++) {
        uint32_t node = px_heat_node(h, at, v);
        if (h->labels[v] == majorities[node] && h->distances[v] > BONE_DISTANCE && h->strongest[0][node] > 0)
            h->labels[v] = h->winners[0][node];
    }
    px_heat_sort_labels(h);
    return PELT_OK;
}

/* ---- Levels -------------------------------------------------------------------------------------------------- */

typedef struct level_job {
    px_heat *heat;
    uint32_t at;
} level_job;

static pelt_result hold_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const level_job *job = user;
    const px_heat_level *fine = &job->heat->levels[job->at - 1];
    for (size_t g = first; g < first + count; g++)
        for (uint32_t m = fine->groups.firsts[g]; m < fine->groups.firsts[g + 1]; m++)
            job->heat->levels[job->at].holds[g] += fine->holds[fine->groups.members[m]];
    return PELT_OK;
}

static pelt_result measure_level(px_heat *h, uint32_t at) {
    px_heat_level *l = &h->levels[at];
    PX_TRY(px_heat_level_edges(h->arena, l));
    if (at == 0) {
        l->holds = h->holds;
        return PELT_OK;
    }
    l->holds = PX_NEW(h->arena, float, l->graph.count);
    if (!l->holds)
        return PELT_ERROR_MEMORY;
    return px_parallel(h->context, NULL, l->graph.count, 4096, hold_block, &(level_job){h, at});
}

static pelt_result place_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const level_job *job = user;
    const px_heat_level *fine = &job->heat->levels[job->at - 1];
    uint32_t *nodes = fine[1].voxel_node;
    for (size_t v = first; v < first + count; v++)
        nodes[v] = fine->groups.of[fine->voxel_node[v]];
    return PELT_OK;
}

/* Sets voxel_node of a level. */
static pelt_result place_voxels(px_heat *h, uint32_t at) {
    uint32_t count = h->levels[0].graph.count, *nodes = h->levels[0].groups.of;
    if (at > 1 && !(nodes = PX_NEW(h->arena, uint32_t, count)))
        return PELT_ERROR_MEMORY;
    h->levels[at].voxel_node = nodes;
    return at > 1 ? px_parallel(h->context, NULL, count, 16384, place_block, &(level_job){h, at}) : PELT_OK;
}

static pelt_result make_levels(px_heat *h, const px_bind_volume *volume, const px_bind_bridges *bridges) {
    uint16_t(*cells)[3] = volume->voxels.cells;
    PX_TRY(px_graph_of_voxels(h->arena, volume, bridges, &h->levels[0].graph));
    PX_TRY(measure_level(h, 0));
    h->level_count = 1;
    while (h->level_count < PX_HEAT_LEVELS &&
           (h->level_count == 1 || h->levels[h->level_count - 1].graph.count > MAX_COARSEST_NODES)) {
        px_heat_level *fine = &h->levels[h->level_count - 1], *coarse = fine + 1;
        if (fine->graph.count > MAX_BORDER_NODES)
            h->border_level = h->level_count;
        PX_TRY(px_graph_coarsen(h->arena, &fine->graph, &cells, &coarse->graph, &fine->groups));
        PX_TRY(place_voxels(h, h->level_count));
        PX_TRY(measure_level(h, h->level_count++));
    }
    return PELT_OK;
}

/* ---- Entry points ------------------------------------------------------------------------------------------ */

typedef struct label_job {
    px_heat *heat;
    const px_bind_bones *bones;
    const px_bind_wave *wave;
    float size; /* volume of a voxel */
} label_job;

static pelt_result label_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const label_job *job = user;
    const px_bind_bones *bones = job->bones;
    for (size_t v = first; v < first + count; v++) {
        float d = px_fmaxf(job->wave->distances[v], MIN_BONE_DISTANCE);
        uint32_t label = bones->segments[job->wave->owners[v]].target;
        if (d > bones->limit[label] && bones->heirs[label] != PELT_NONE)
            label = bones->heirs[label];
        job->heat->labels[v] = label;
        job->heat->holds[v] = bones->anchor * ANCHOR_WEIGHT * job->size / (d * d);
    }
    return PELT_OK;
}

static pelt_result label_voxels(px_heat *h, const px_bind_volume *volume, const px_bind_bones *bones,
                                const px_bind_wave *wave) {
    uint32_t count = volume->voxels.count;
    label_job job = {h, bones, wave, volume->step[0] * volume->step[1] * volume->step[2]};
    h->holds = PX_NEW(h->arena, float, count);
    h->labels = PX_NEW(h->arena, uint32_t, count);
    h->label_voxels = PX_NEW(h->arena, uint32_t, count);
    h->label_firsts = PX_NEW(h->arena, uint32_t, (size_t)h->subject->target_count + 1);
    if (!h->holds || !h->labels || !h->label_voxels || !h->label_firsts)
        return PELT_ERROR_MEMORY;
    h->distances = wave->distances;
    return px_parallel(h->context, NULL, count, 16384, label_block, &job);
}

/* Sets `near`. */
static pelt_result mark_near(px_heat *h, const px_bind_volume *volume) {
    uint32_t count = volume->voxels.count, first = 0, end = 0, *queue = PX_NEW(h->arena, uint32_t, count);
    h->near = PX_NEW(h->arena, bool, count);
    if (!h->near || !queue)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < h->sampler.class_count; i++)
        for (uint32_t k = 0; k < h->sampler.places[i].count; k++) {
            uint32_t voxel = h->sampler.places[i].voxels[k];
            if (!h->near[voxel])
                queue[end++] = voxel;
            h->near[voxel] = true;
        }
    for (uint32_t step = 0, last = end; step < NEAR_STEPS; step++, last = end)
        for (; first < last; first++)
            for (int k = 0; k < 6; k++) {
                uint32_t next = volume->neighbours[queue[first]][k];
                if (next == PELT_NONE || h->near[next])
                    continue;
                h->near[next] = true;
                queue[end++] = next;
            }
    return PELT_OK;
}

static pelt_result run(px_heat *h, const px_bind_volume *volume, const px_bind_bones *bones, const px_bind_wave *wave,
                       const px_bind_bridges *bridges) {
    PX_TRY(label_voxels(h, volume, bones, wave));
    PX_TRY(make_levels(h, volume, bridges));
    px_heat_sort_labels(h);
    PX_TRY(px_bind_sampler_make(h->context, h->arena, h->subject, volume, PELT_BIND_HEAT, &h->sampler));
    if (h->border_level > 0) /* else the finest graph is small */
        PX_TRY(mark_near(h, volume));
    PX_TRY(move_borders(h));
    return px_parallel(h->context, "heat", h->subject->target_count, BLOCK, weights_block, h);
}

pelt_result px_bind_heat(pelt_context *context, const px_bind_subject *subject, const px_bind_volume *volume,
                         const px_bind_bones *bones, const px_bind_wave *wave, const px_bind_bridges *bridges,
                         px_bind_fields *fields) {
    px_heat h = {.context = context, .subject = subject, .fields = fields, .arena = px_arena_create(context)};
    if (!h.arena)
        return PELT_ERROR_MEMORY;
    px_mutex_init(&h.lock);
    pelt_result result = run(&h, volume, bones, wave, bridges);
    for (px_heat_scratch *s = h.idle, *next; s; s = next) {
        next = s->next;
        px_arena_destroy(s->arena);
    }
    px_mutex_destroy(&h.lock);
    px_arena_destroy(h.arena);
    return result;
}
