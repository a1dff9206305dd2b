/* Joint weights of particles by iterated heat diffusion, as published: Chen et al. 2011, section III.C, eq. 3 to 5.
 *
 * Every bone j in turn is a heat source: its particles P̂_j have energy e_j, its strength. The energy of any other particle
 * is the mean over its 26 neighbours, weighted by 1 / (distance + 1), distances in cells; this is repeated until no energy
 * changes. Two points that the paper leaves open:
 *
 *   - With P̂_j as the only fixed energies the limit would be e_j everywhere, for every bone. So particles of other bones
 *     are fixed at 0.
 *   - The bone strength b_i of eq. 4 is a factor of all weights of a particle and cancels; it scales e_j here.
 */
#include "jiggle/jiggle.h"

#include <math.h>

/* Influences of a particle: the paper stores four, in a vector of the shader. */
#define INFLUENCES 4u

/* Change of energy, relative to the source's, at which the iteration ends. */
#define TOLERANCE  1e-6f
#define MAX_SWEEPS 2000u

/* Energies below this fraction of the source's are no influence. */
#define MIN_ENERGY 1e-4f

/* ---- Graph ------------------------------------------------------------------------------------------------ */

static float edge_weight(const int32_t a[3], const int32_t b[3]) {
    float squared = 0;
    for (int c = 0; c < 3; c++)
        squared += (float)((a[c] - b[c]) * (a[c] - b[c]));
    return 1 / (sqrtf(squared) + 1);
}

/* Edges between all particles of a cell (eq. 3), with normalised weights (eq. 4). */
static pelt_result make_graph(px_arena *arena, const px_lattice *lattice, px_graph *graph) {
    uint32_t count = lattice->particle_count, corners = 8 * lattice->cell_count;
    uint32_t *firsts = PX_NEW(arena, uint32_t, (size_t)count + 1), *around = PX_NEW(arena, uint32_t, corners);
    uint32_t *seen = PX_NEW(arena, uint32_t, count); /* 1 + the particle whose neighbours were last collected */
    size_t most = px_mul_size(7, corners);           /* at most: 7 other corners of every cell */
    *graph = (px_graph){.count = count,
                        .firsts = PX_NEW(arena, uint32_t, (size_t)count + 1),
                        .to = PX_NEW(arena, uint32_t, most),
                        .weights = PX_NEW(arena, float, most)};
    if (!firsts || !around || !seen || !graph->firsts || !graph->to || !graph->weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t e = 0; e < corners; e++)
        firsts[lattice->cells[e / 8][e % 8] + 1]++;
    for (uint32_t p = 0; p < count; p++)
        firsts[p + 1] += firsts[p];
    for (uint32_t e = corners; e-- > 0;) /* from the end: firsts[p + 1] moves to the first cell of p */
        around[--firsts[lattice->cells[e / 8][e % 8] + 1]] = e / 8;
    for (uint32_t p = 0, filled = 0; p < count; p++) {
        uint32_t end = p + 1 < count ? firsts[p + 2] : corners;
        float sum = 0;
        graph->firsts[p] = filled;
        seen[p] = p + 1;
        for (uint32_t n = 8 * firsts[p + 1]; n < 8 * end; n++) {
            uint32_t to = lattice->cells[around[n / 8]][n % 8];
            if (seen[to] == p + 1)
                continue;
            seen[to] = p + 1;
            graph->to[filled] = to;
            sum += graph->weights[filled++] = edge_weight(lattice->places[p], lattice->places[to]);
        }
        for (uint32_t e = graph->firsts[p]; e < filled; e++)
            graph->weights[e] /= sum;
        graph->firsts[p + 1] = filled;
    }
    return PELT_OK;
}

/* ---- Diffusion -------------------------------------------------------------------------------------------- */

/* Replaces the energy of a particle by the mean of its neighbours (eq. 5); returns the change. */
static float update(const px_graph *graph, uint32_t p, float *energies) {
    float sum = 0, before = energies[p];
    for (uint32_t e = graph->firsts[p]; e < graph->firsts[p + 1]; e++)
        sum += graph->weights[e] * energies[graph->to[e]];
    energies[p] = sum;
    return fabsf(sum - before);
}

/* Sweeps forwards and backwards in turn: heat crosses the lattice in a few sweeps in either direction. */
static void diffuse(const px_graph *graph, const uint32_t *free, uint32_t free_count, float *energies) {
    float change = INFINITY;
    for (uint32_t sweep = 0; sweep < MAX_SWEEPS && change > TOLERANCE; sweep++) {
        change = 0;
        for (uint32_t n = 0; n < free_count; n++)
            change = px_fmaxf(change, update(graph, free[sweep % 2 ? free_count - 1 - n : n], energies));
    }
}

pelt_result px_jiggle_weights_by_iteration(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                           const px_lattice *lattice, const px_jiggle_heat *heat,
                                           px_weight_table *weights) {
    uint32_t count = lattice->particle_count, joint_count = subject->model->skeleton.joint_count, free_count = 0;
    px_weight_table sources, table;
    px_graph graph;
    uint8_t *known;
    *weights = (px_weight_table){0};
    PX_TRY(px_jiggle_heat_sources(context, arena, subject, lattice, heat, &sources, &known));
    PX_TRY(px_weight_table_make(arena, count, PX_WEIGHT_CAPACITY, &table));
    PX_TRY(make_graph(arena, lattice, &graph));
    float *energies = PX_NEW(arena, float, count);
    uint32_t *free = PX_NEW(arena, uint32_t, count);
    bool *sends = PX_NEW(arena, bool, joint_count);
    if (!energies || !free || !sends)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < count; p++)
        if (known[p])
            sends[sources.bones[(size_t)p * sources.capacity]] = true;
        else
            free[free_count++] = p;
    for (uint32_t j = 0; j < joint_count; j++) {
        if (!sends[j])
            continue;
        for (size_t p = 0; p < count; p++) /* relative to e_j */
            energies[p] = known[p] && sources.bones[p * sources.capacity] == j ? 1 : 0;
        diffuse(&graph, free, free_count, energies);
        PX_TRY(px_progress(context, "heat", j + 1, joint_count));
        for (uint32_t p = 0; p < count; p++) {
            px_weight_sum sum = {0};
            if (!(energies[p] > MIN_ENERGY))
                continue;
            px_weight_sum_add_row(&sum, &table, p, 1);
            px_weight_sum_add(&sum, j, (double)energies[p]);
            px_weight_sum_store(&sum, &table, p);
        }
    }
    for (uint32_t p = 0; p < count; p++)
        known[p] = table.weights[(size_t)p * table.capacity] > 0;
    return px_jiggle_weights_cut(arena, lattice, heat, INFLUENCES, known, &table, weights);
}
