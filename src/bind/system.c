/* The linear system (L + H) w = H p of one bone, on the nodes near it; see heat.c. */
#include "bind/heat.h"

#include <math.h>

#define MAX_DECAY_LENGTHS 6.0f  /* weights beyond this many decay lengths are negligible: e⁻⁶ */
#define MIN_WEIGHT        1e-3f /* so are nodes whose weight on the next coarser graph is below this */

pelt_result px_heat_scratch_make(const px_heat *h, px_arena *arena, px_heat_scratch *s) {
    size_t count = h->levels[0].graph.count;
    *s = (px_heat_scratch){.arena = arena};
    s->b = PX_NEW(arena, float, count);
    s->r = PX_NEW(arena, float, count);
    s->p = PX_NEW(arena, float, count);
    s->ap = PX_NEW(arena, float, count);
    s->faded = PX_NEW(arena, float, count);
    s->diagonal = PX_NEW(arena, float, count);
    s->inverse = PX_NEW(arena, float, count);
    s->marks = PX_NEW(arena, uint8_t, count);
    s->nodes = PX_NEW(arena, uint32_t, count);
    s->queue = PX_NEW(arena, uint32_t, count);
    s->runs = PX_NEW(arena, px_heat_run, count / 2 + 1);
    for (uint32_t n = 0; n < h->level_count; n++)
        if (!(s->x[n] = PX_NEW(arena, float, h->levels[n].graph.count)))
            return PELT_ERROR_MEMORY;
    bool vectors = s->b && s->r && s->p && s->ap && s->faded && s->diagonal && s->inverse;
    return vectors && s->marks && s->nodes && s->queue && s->runs ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Whether nodes i and i + 1 have edges with the same weights, the second's to the nodes after the first's. */
static bool continues(const px_graph *g, uint32_t i) {
    const uint32_t *a = g->to + g->firsts[i], *b = g->to + g->firsts[i + 1];
    uint32_t count = g->firsts[i + 1] - g->firsts[i];
    bool same = count > 0 && g->firsts[i + 2] - g->firsts[i + 1] == count;
    for (uint32_t e = 0; e < count && same; e++)
        same = b[e] == a[e] + 1 && g->weights[g->firsts[i] + e] == g->weights[g->firsts[i + 1] + e];
    return same;
}

/* Runs of nodes that are alike end with their block. */
static pelt_result edges_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const px_heat_level *level = user;
    const px_graph *g = &level->graph;
    for (uint32_t end = (uint32_t)(first + count), i = end; i-- > first;) {
        for (uint32_t e = g->firsts[i]; e < g->firsts[i + 1]; e++)
            level->degrees[i] += g->weights[e];
        if (i + 1 < end && continues(g, i))
            level->alike[i] = level->alike[i + 1] ? (uint8_t)(level->alike[i + 1] + (level->alike[i + 1] < 255)) : 2;
    }
    return PELT_OK;
}

pelt_result px_heat_level_edges(px_arena *arena, px_heat_level *level) {
    level->degrees = PX_NEW(arena, float, level->graph.count);
    level->alike = PX_NEW(arena, uint8_t, level->graph.count);
    if (!level->degrees || !level->alike)
        return PELT_ERROR_MEMORY;
    return px_parallel(px_arena_context(arena), NULL, level->graph.count, 4096, edges_block, level);
}

static void mark_node(px_heat_scratch *s, uint32_t node) {
    if (s->marks[node])
        return;
    s->marks[node] = 1;
    s->faded[node] = 0;
    s->queue[s->node_count++] = node;
}

/* Marks the nodes around the marked ones, up to MAX_DECAY_LENGTHS away. */
static void mark_near(const px_heat_level *l, float hold, px_heat_scratch *s) {
    for (uint32_t k = 0; k < s->node_count; k++) {
        uint32_t node = s->queue[k];
        if (s->faded[node] > MAX_DECAY_LENGTHS)
            continue;
        for (uint32_t e = l->graph.firsts[node]; e < l->graph.firsts[node + 1]; e++) {
            uint32_t next = l->graph.to[e];
            if (s->marks[next])
                continue;
            s->marks[next] = 1;
            s->faded[next] = s->faded[node] + sqrtf(hold * l->holds[next] / l->graph.weights[e]);
            s->queue[s->node_count++] = next;
        }
    }
}

/* Lists the marked nodes, ascending, and clears the marks. */
static void list_marked(px_heat_scratch *s) {
    uint32_t lowest = UINT32_MAX, highest = 0, count = s->node_count;
    for (uint32_t k = 0; k < count; k++) {
        lowest = s->queue[k] < lowest ? s->queue[k] : lowest;
        highest = s->queue[k] > highest ? s->queue[k] : highest;
    }
    s->node_count = s->run_count = 0;
    for (uint32_t node = lowest; count && node <= highest; node++) {
        uint64_t eight;
        while (node + 8 <= highest &&
               (memcpy(&eight, s->marks + node, 8), eight == 0)) /* most are far from each other */
            node += 8;
        if (!s->marks[node])
            continue;
        s->marks[node] = 0;
        if (s->run_count == 0 || s->runs[s->run_count - 1].end != node)
            s->runs[s->run_count++].first = node;
        s->runs[s->run_count - 1].end = node + 1;
        s->nodes[s->node_count++] = node;
    }
}

/* Marks the nodes of one group, except those that are not solved now, and gives all of them its value. */
static void mark_group(const px_heat *h, uint32_t at, uint32_t group, bool rest, px_heat_scratch *s) {
    const px_graph_groups *groups = &h->levels[at].groups;
    for (uint32_t m = groups->firsts[group]; m < groups->firsts[group + 1]; m++) {
        uint32_t node = groups->members[m];
        bool solved = at > 0 || !h->near || h->near[node] != rest;
        if (solved)
            mark_node(s, node);
        if (solved || !rest) /* the rest lies around nodes that have their values */
            s->x[at][node] = s->x[at + 1][group];
    }
}

void px_heat_gather(const px_heat *h, uint32_t at, uint32_t target, float hold, bool rest, px_heat_scratch *s) {
    const px_heat_level *l = &h->levels[at];
    bool coarsest = at + 1 == h->level_count;
    uint32_t coarse_count = rest ? h->levels[at + 1].graph.count : s->node_count;
    s->node_count = 0;
    for (uint32_t k = h->label_firsts[target]; k < h->label_firsts[target + 1]; k++) {
        uint32_t voxel = h->label_voxels[k], node = px_heat_node(h, at, voxel);
        if (at == 0 && h->near && h->near[voxel] == rest)
            continue;
        s->b[node] += hold * h->holds[voxel];
        mark_node(s, node);
        if (!coarsest)
            s->x[at][node] = s->x[at + 1][l->groups.of[node]];
    }
    if (coarsest)
        mark_near(l, hold, s);
    for (uint32_t k = 0; k < coarse_count && !coarsest; k++) {
        uint32_t group = rest ? k : s->nodes[k];
        if (s->x[at + 1][group] >= MIN_WEIGHT)
            mark_group(h, at, group, rest, s);
    }
    list_marked(s);
    for (uint32_t k = 0; k < s->node_count && coarsest; k++)
        s->x[at][s->nodes[k]] = s->b[s->nodes[k]] / (hold * l->holds[s->nodes[k]]);
}

/* ---- Vectors --------------------------------------------------------------------------------------------------- */

#define LANES 4u
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* any address */
typedef double sums __attribute__((vector_size(8 * LANES)));
#define AT(place)     (*(lanes *)(place))
#define FROM(place)   (*(const lanes *)(place))
#define WIDE(four)    __builtin_convertvector(four, sums)
#define TOTAL(values) (((values)[0] + (values)[1]) + ((values)[2] + (values)[3]))

/* One row of out = (L + H) in; returns its share of in·out. Loops of few rounds are slow: most nodes have three to six
 * edges. */
static double multiply_node(const px_graph *g, const float *diagonal, uint32_t i, const float *in, float *out) {
    const uint32_t *to = g->to + g->firsts[i], count = g->firsts[i + 1] - g->firsts[i];
    const float *w = g->weights + g->firsts[i];
    float sum = diagonal[i] * in[i];
    uint32_t e = 0;
    if (count >= 3) {
        sum = ((sum - w[0] * in[to[0]]) - w[1] * in[to[1]]) - w[2] * in[to[2]];
        e = 3;
    }
    if (count >= 5) {
        sum = (sum - w[3] * in[to[3]]) - w[4] * in[to[4]];
        e = 5;
    }
    for (; e < count; e++)
        sum -= w[e] * in[to[e]];
    out[i] = sum;
    return (double)sum * in[i];
}

/* Rows [i, i + count) of nodes that are alike; count is a multiple of LANES. Adds their shares to *dots. */
static void multiply_alike(const px_graph *g, const float *diagonal, uint32_t i, uint32_t count, const float *in,
                           float *out, sums *dots) {
    const uint32_t *to = g->to + g->firsts[i], edges = g->firsts[i + 1] - g->firsts[i];
    const float *w = g->weights + g->firsts[i];
    for (uint32_t k = 0; k < count; k += LANES) {
        lanes own = FROM(in + i + k), sum = FROM(diagonal + i + k) * own;
        for (uint32_t e = 0; e < edges; e++)
            sum -= w[e] * FROM(in + to[e] + k);
        AT(out + i + k) = sum;
        *dots += WIDE(sum) * WIDE(own);
    }
}

/* out = (L + H) in, on the current nodes; returns in·out. */
static double multiply(const px_heat_level *l, const px_heat_scratch *s, const float *in, float *out) {
    double dot = 0;
    sums dots = {0};
    for (uint32_t r = 0; r < s->run_count; r++)
        for (uint32_t i = s->runs[r].first, end = s->runs[r].end; i < end;) {
            uint32_t count = l->alike[i] < end - i ? l->alike[i] : end - i;
            if (count < LANES) {
                dot += multiply_node(&l->graph, s->diagonal, i++, in, out);
                continue;
            }
            count -= count % LANES;
            multiply_alike(&l->graph, s->diagonal, i, count, in, out, &dots);
            i += count;
        }
    return dot + TOTAL(dots);
}

/* x += length p, r −= length ap; returns the squared preconditioned norm of r. */
static double advance(const px_heat_scratch *s, float length, float *x) {
    double norm = 0;
    sums norms = {0};
    for (uint32_t n = 0; n < s->run_count; n++) {
        uint32_t i = s->runs[n].first, end = s->runs[n].end;
        for (; i + LANES <= end; i += LANES) {
            lanes r = FROM(s->r + i) - length * FROM(s->ap + i);
            AT(x + i) += length * FROM(s->p + i);
            AT(s->r + i) = r;
            norms += WIDE(r) * WIDE(r * FROM(s->inverse + i));
        }
        for (; i < end; i++) {
            x[i] += length * s->p[i];
            s->r[i] -= length * s->ap[i];
            norm += (double)s->r[i] * (s->r[i] * s->inverse[i]);
        }
    }
    return norm + TOTAL(norms);
}

/* p = r / diagonal + turn p: the next direction. */
static void turn_direction(const px_heat_scratch *s, float turn) {
    for (uint32_t n = 0; n < s->run_count; n++) {
        uint32_t i = s->runs[n].first, end = s->runs[n].end;
        for (; i + LANES <= end; i += LANES)
            AT(s->p + i) = FROM(s->r + i) * FROM(s->inverse + i) + turn * FROM(s->p + i);
        for (; i < end; i++)
            s->p[i] = s->r[i] * s->inverse[i] + turn * s->p[i];
    }
}

/* ---- Conjugate gradients --------------------------------------------------------------------------------------- */

/* The residual and the first direction of x: its squared preconditioned norm, and that of the right-hand side in *whole. */
static double begin_steps(const px_heat_level *l, float hold, px_heat_scratch *s, const float *x, double *whole) {
    double norm = 0, most = 0;
    sums norms = {0}, mosts = {0};
    for (uint32_t n = 0; n < s->run_count; n++)
        for (uint32_t i = s->runs[n].first; i < s->runs[n].end; i++) {
            s->diagonal[i] = l->degrees[i] + hold * l->holds[i];
            s->inverse[i] = 1 / s->diagonal[i];
        }
    multiply(l, s, x, s->ap);
    for (uint32_t n = 0; n < s->run_count; n++) {
        uint32_t i = s->runs[n].first, end = s->runs[n].end;
        for (; i + LANES <= end; i += LANES) {
            lanes b = FROM(s->b + i), inverse = FROM(s->inverse + i), r = b - FROM(s->ap + i), p = inverse * r;
            AT(s->r + i) = r;
            AT(s->p + i) = p;
            norms += WIDE(r) * WIDE(p);
            mosts += WIDE(b) * WIDE(b) * WIDE(inverse);
        }
        for (; i < end; i++) {
            s->r[i] = s->b[i] - s->ap[i];
            s->p[i] = s->inverse[i] * s->r[i];
            norm += (double)s->r[i] * s->p[i];
            most += (double)s->b[i] * s->b[i] * s->inverse[i];
        }
    }
    *whole = most + TOTAL(mosts);
    return norm + TOTAL(norms);
}

/* With Jacobi (diagonal) preconditioner. Leaves b and p zero on all nodes for the next call. */
void px_heat_solve(const px_heat_level *l, float hold, px_heat_scratch *s, float *x, double tolerance, uint32_t most) {
    double whole, energy = begin_steps(l, hold, s, x, &whole);
    for (uint32_t step = 0; step < most && energy > tolerance * whole; step++) {
        double curvature = multiply(l, s, s->p, s->ap), before = energy;
        energy = advance(s, (float)(energy / curvature), x);
        if (step + 1 < most)
            turn_direction(s, (float)(energy / before));
    }
    for (uint32_t n = 0; n < s->run_count; n++) {
        size_t size = (s->runs[n].end - s->runs[n].first) * sizeof(float);
        memset(s->b + s->runs[n].first, 0, size);
        memset(s->p + s->runs[n].first, 0, size);
    }
}
