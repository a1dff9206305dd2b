/* The linear system (L + H) w = H p of one bone, on the nodes near it; see heat.c. */
#include "bind/heat.h"

#include <math.h>

#define MAX_DECAY_LENGTHS 6.0f /* weights beyond this many decay lengths are negligible: e⁻⁶ */

pelt_result px_heat_scratch_make(const px_heat *h, px_arena *arena, px_heat_scratch *s) {
    size_t count = h->levels[0].graph.count;
    *s = (px_heat_scratch){.arena = arena};
    s->b = PX_NEW(arena, float, count);
    s->r = PX_NEW(arena, float, count);
    s->p = PX_NEW(arena, float, count);
    s->ap = PX_NEW(arena, float, count);
    s->faded = PX_NEW(arena, float, count);
    s->marks = PX_NEW(arena, uint8_t, count);
    s->nodes = PX_NEW(arena, uint32_t, count);
    s->queue = PX_NEW(arena, uint32_t, count);
    for (uint32_t n = 0; n < h->level_count; n++)
        if (!(s->x[n] = PX_NEW(arena, float, h->levels[n].graph.count)))
            return PELT_ERROR_MEMORY;
    return s->b && s->r && s->p && s->ap && s->faded && s->marks && s->nodes && s->queue ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_heat_gather(const px_heat *h, uint32_t at, uint32_t target, float hold, px_heat_scratch *s) {
    const px_heat_level *l = &h->levels[at];
    uint32_t end = 0, lowest = UINT32_MAX, highest = 0;
    for (uint32_t k = h->label_firsts[target]; k < h->label_firsts[target + 1]; k++) {
        uint32_t voxel = h->label_voxels[k], node = px_heat_node(h, at, voxel);
        s->b[node] += hold * h->holds[voxel];
        if (s->marks[node])
            continue;
        s->marks[node] = 1;
        s->faded[node] = 0;
        s->queue[end++] = node;
    }
    for (uint32_t k = 0; k < end; k++) {
        uint32_t node = s->queue[k];
        lowest = node < lowest ? node : lowest;
        highest = node > highest ? node : highest;
        if (s->faded[node] > MAX_DECAY_LENGTHS)
            continue;
        for (uint32_t e = l->graph.firsts[node]; e < l->graph.firsts[node + 1]; e++) {
            uint32_t next = l->graph.to[e];
            if (s->marks[next])
                continue;
            s->marks[next] = 1;
            s->faded[next] = s->faded[node] + sqrtf(hold * l->holds[next] / l->graph.weights[e]);
            s->queue[end++] = next;
        }
    }
    s->node_count = 0;
    for (uint32_t node = lowest; end && node <= highest; node++)
        if (s->marks[node]) {
            s->marks[node] = 0;
            s->nodes[s->node_count++] = node;
        }
}

/* out = (L + H) in, on the current nodes; returns in·out. */
static double multiply(const px_heat_level *l, float hold, const px_heat_scratch *s, const float *in, float *out) {
    double dot = 0;
    for (uint32_t k = 0; k < s->node_count; k++) {
        uint32_t i = s->nodes[k];
        float sum = (l->degrees[i] + hold * l->holds[i]) * in[i];
        for (uint32_t e = l->graph.firsts[i]; e < l->graph.firsts[i + 1]; e++)
            sum -= l->graph.weights[e] * in[l->graph.to[e]];
        out[i] = sum;
        dot += (double)sum * in[i];
    }
    return dot;
}

/* Conjugate gradients with Jacobi (diagonal) preconditioner. Leaves b and p zero on all nodes for the next call. */
void px_heat_solve(const px_heat_level *l, float hold, px_heat_scratch *s, float *x, double tolerance, uint32_t most) {
    double energy = 0, least = 0;
    multiply(l, hold, s, x, s->ap);
    for (uint32_t k = 0; k < s->node_count; k++) {
        uint32_t i = s->nodes[k];
        float inverse = 1 / (l->degrees[i] + hold * l->holds[i]);
        s->r[i] = s->b[i] - s->ap[i];
        s->p[i] = inverse * s->r[i];
        energy += (double)s->r[i] * s->p[i];
        least += (double)s->b[i] * s->b[i] * inverse;
    }
    least *= tolerance;
    for (uint32_t step = 0; step < most && energy > least; step++) {
        double curvature = multiply(l, hold, s, s->p, s->ap), before = energy;
        float length = (float)(energy / curvature);
        energy = 0;
        for (uint32_t k = 0; k < s->node_count; k++) {
            uint32_t i = s->nodes[k];
            x[i] += length * s->p[i];
            s->r[i] -= length * s->ap[i];
            energy += (double)s->r[i] * s->r[i] / (l->degrees[i] + hold * l->holds[i]);
        }
        float turn = (float)(energy / before);
        for (uint32_t k = 0; k < s->node_count; k++) {
            uint32_t i = s->nodes[k];
            s->p[i] = s->r[i] / (l->degrees[i] + hold * l->holds[i]) + turn * s->p[i];
        }
    }
    for (uint32_t k = 0; k < s->node_count; k++)
        s->b[s->nodes[k]] = s->p[s->nodes[k]] = 0;
}
