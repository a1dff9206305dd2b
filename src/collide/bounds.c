/* Bounds of a node, from which its bounding sphere in any pose follows, given only matrices and morph weights. Extends
 * BD-trees (James and Pai 2004) to blended bones.
 *
 * A vertex i of a node is at p_i = Σ_j w_ij T_j x_i, with T_j x = A_j x + t_j, any weights w and x_i = rest_i + Σ_m a_m
 * u_im with morph weights a and displacements u. The node stores the centre c⁰ and radius r⁰ of its rest positions, for
 * each morph the centre u̅_m and radius s_m of its displacements, and for each bone a mean weight w̅_j and the largest
 * deviation δ_j from it.
 *
 *   c = c⁰ + Σ_m a_m u̅_m, r = r⁰ + Σ_m |a_m| s_m          so |x_i − c| ≤ r, as in BD-trees
 *   C = Σ_j w̅_j T_j c                                       centre of the sphere
 *
 * In p_i − C = Σ_j w_ij A_j (x_i − c) + Σ_j (w_ij − w̅_j) T_j c, the length of the first sum is at most ω σ r, with ω
 * the largest Σ_j |w_ij| and σ the largest stretch ‖A_j‖. In the second, T_j c = (T_j c − C) + C: with d_j = |T_j c −
 * C| its length is at most Σ_j δ_j d_j + ρ |C|, where ρ ≥ |Σ_j w_ij − Σ_j w̅_j|. As Σ_j w̅_j (T_j c − C) = (1 − Σ_j
 * w̅_j) C, it is also at most ω max_j d_j + ρ |C| with |1 − Σ_j w̅_j| added to ρ. The radius is the sum of both bounds,
 * with the smaller one for the second sum:
 *
 *   R = ω σ r + min(Σ_j δ_j d_j, ω max_j d_j) + ρ |C|
 *
 * A node that one rigid bone moves keeps its rest radius; where bones blend smoothly a small node has small δ.
 *
 * Rounding: no term of p_i or C is longer than S = ω max_j (σ_j X + |t_j|), with X ≥ |x_i| and ω ≥ 1. With unit
 * roundoff u = 2⁻²⁴, K influences, n bones, m morphs, the error of skinning in floats is at most √3 (K + m + 5) u S (√3
 * for Frobenius norms), that of c and C √3 (n + m + 6) u S, of d_j √3 (n + 17) u S, and of the sums of R (n + 8) u (S +
 * 2 S Σ δ_j + ρ S). `grain` · S exceeds the sum of all these.
 */
#include "collide/collide.h"

#include <math.h>

#define UNIT 0x1p-24
/* A node with more bones uses the enclosing sphere of its children's spheres: the terms of many bones sum to more
 * than that. */
#define MANY_SHARES 16u
/* Steps of px_ball_of_points for spheres that are computed once. */
#define STEPS 16

/* Range of the weights of one bone over the vertices of a node. */
typedef struct weighing {
    double low, high;
    uint32_t count; /* vertices with a nonzero weight of the bone */
} weighing;

typedef struct maker {
    pelt_bdtree *tree;
    weighing *of_bone;         /* [bone] counts are 0 between nodes */
    uint32_t *bones;           /* [bone] list of the node's bones */
    uint32_t *morphs;          /* [morph] permutation: morphs that move the node's parent first */
    px_buffer shares, modes;   /* px_bone_share, px_mode */
    float (*displacements)[3]; /* [leaf][8] displacements of one morph */
} maker;

/* A float that is not less than value. */
static float round_up(double value) {
    return (float)(value * (1 + 4 * UNIT));
}

static double length3(const float v[3]) {
    return sqrt((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2]);
}

/* ---- Shares of bones -------------------------------------------------------------------------------------- */

/* Total weight of the bone of influence k; 0 if an earlier influence has the same bone. */
static double weight_of(const uint16_t *bones, const float *weights, uint32_t influences, uint32_t k) {
    double sum = 0;
    for (uint32_t l = 0; l < influences; l++)
        if (bones[l] == bones[k]) {
            if (l < k)
                return 0;
            sum += (double)weights[l];
        }
    return sum;
}

/* Collects the bones of vertices [first, end); returns their number. */
static uint32_t weigh(const maker *make, size_t first, size_t end) {
    const pelt_bdtree *tree = make->tree;
    uint32_t influences = tree->influence_count, bone_count = 0;
    for (size_t v = first; v < end; v++)
        for (uint32_t k = 0; k < influences; k++) {
            const uint16_t *bones = tree->bones + influences * v;
            double weight = weight_of(bones, tree->weights + influences * v, influences, k);
            weighing *w = &make->of_bone[bones[k]];
            if (weight == 0)
                continue;
            if (w->count == 0) {
                make->bones[bone_count++] = bones[k];
                *w = (weighing){weight, weight, 0};
            }
            w->low = fmin(w->low, weight);
            w->high = fmax(w->high, weight);
            w->count++;
        }
    for (uint32_t n = 0; n < bone_count; n++) {
        weighing *w = &make->of_bone[make->bones[n]];
        if (w->count < end - first) {
            w->low = fmin(w->low, 0);
            w->high = fmax(w->high, 0);
        }
    }
    return bone_count;
}

/* Sets total and uneven from the sums of weights of vertices and of the means. */
static void set_sums(const pelt_bdtree *tree, px_node *node, size_t first, size_t end, double mean_sum,
                     double mean_total) {
    double total = fmax(1, mean_total), uneven = 0;
    for (size_t v = first; v < end; v++) {
        double sum = 0, size = 0;
        for (uint32_t k = 0; k < tree->influence_count; k++) {
            double weight = (double)tree->weights[tree->influence_count * v + k];
            sum += weight;
            size += fabs(weight);
        }
        total = fmax(total, size);
        uneven = fmax(uneven, fabs(sum - mean_sum));
    }
    node->total = round_up(total);
    node->uneven = round_up(uneven + fabs(1 - mean_sum) + 0x1p-50);
}

/* Means are the midpoints of the weight ranges, scaled to sum 1. Returns Σ spread. */
static double set_shares(maker *make, px_node *node, uint32_t bone_count, size_t first, size_t end) {
    double middle_sum = 0, mean_sum = 0, mean_total = 0, spread_sum = 0;
    for (uint32_t n = 0; n < bone_count; n++) {
        const weighing *w = &make->of_bone[make->bones[n]];
        middle_sum += (w->low + w->high) / 2;
    }
    double scale = fabs(middle_sum) > 0.1 ? 1 / middle_sum : 1;
    for (uint32_t n = 0; n < bone_count; n++) {
        const weighing *w = &make->of_bone[make->bones[n]];
        px_bone_share share = {.bone = make->bones[n], .mean = (float)(scale * (w->low + w->high) / 2)};
        double spread = fmax(w->high - (double)share.mean, (double)share.mean - w->low);
        share.spread = round_up(spread);
        mean_sum += (double)share.mean;
        mean_total += fabs((double)share.mean);
        spread_sum += (double)share.spread;
        px_buffer_add(&make->shares, &share, sizeof share);
    }
    node->share_count = bone_count;
    set_sums(make->tree, node, first, end, mean_sum, mean_total);
    return spread_sum;
}

/* ---- Modes ------------------------------------------------------------------------------------------------ */

/* Gets the displacements of vertices [first, end) of the tree; returns false if all are 0. */
static bool displace(const maker *make, const pelt_morph *morph, size_t first, size_t end) {
    bool any = false;
    for (size_t v = first; v < end; v++) {
        size_t i =
            make->tree->leaves[v / PX_LEAF_VERTICES].vertices[v % PX_LEAF_VERTICES] - (size_t)morph->first_vertex;
        for (size_t c = 0; c < 3; c++) {
            float value = i < morph->vertex_count ? morph->positions[3 * i + c] : 0;
            make->displacements[v - first][c] = value;
            any = any || value != 0;
        }
    }
    return any;
}

/* Adds a mode for each of the first `count` morphs that moves vertices [first, end), and moves those morphs to the
 * front. */
static void set_modes(maker *make, px_node *node, uint32_t count, size_t first, size_t end) {
    for (uint32_t n = 0; n < count; n++) {
        uint32_t morph = make->morphs[n];
        if (!displace(make, &make->tree->model.morphs.morphs[morph], first, end))
            continue;
        make->morphs[n] = make->morphs[node->mode_count];
        make->morphs[node->mode_count++] = morph;
        px_ball ball = px_ball_of_points((const float(*)[3])make->displacements, end - first, STEPS);
        px_mode mode = {.morph = morph, .spread = ball.radius};
        memcpy(mode.mean, ball.center, sizeof mode.mean);
        mode.size = round_up(length3(mode.mean) + (double)mode.spread);
        px_buffer_add(&make->modes, &mode, sizeof mode);
    }
}

/* ---- Nodes ------------------------------------------------------------------------------------------------ */

/* Leaves are in depth-first order, so the vertices of a node are contiguous. */
static void find_vertices(const pelt_bdtree *tree, uint32_t n, size_t *first, size_t *end) {
    uint32_t low = n, high = n;
    while (tree->nodes[low].second)
        low++;
    while (tree->nodes[high].second)
        high = tree->nodes[high].second;
    *first = (size_t)PX_LEAF_VERTICES * tree->nodes[low].leaf;
    *end = (size_t)PX_LEAF_VERTICES * (tree->nodes[high].leaf + 1);
}

/* Returns how many of the first `morph_count` morphs move the node. */
static uint32_t set_node(maker *make, px_node *node, uint32_t bone_count, uint32_t morph_count, size_t first,
                         size_t end) {
    const pelt_bdtree *tree = make->tree;
    px_ball ball = px_ball_of_points((const float(*)[3])(tree->positions + 3 * first), end - first, STEPS);
    memcpy(node->center, ball.center, sizeof node->center);
    node->radius = ball.radius;
    node->size = round_up(length3(ball.center) + (double)ball.radius);
    node->share = (uint32_t)(make->shares.size / sizeof(px_bone_share));
    node->mode = (uint32_t)(make->modes.size / sizeof(px_mode));
    double spread_sum = set_shares(make, node, bone_count, first, end);
    set_modes(make, node, morph_count, first, end);
    double terms = tree->influence_count + 2.0 * bone_count + 2.0 * node->mode_count + 32;
    node->grain = round_up(4 * UNIT * (terms * (1 + (double)node->uneven) + 2 * spread_sum * (bone_count + 8.0)));
    return node->mode_count;
}

/* Fills a node and its descendants. */
static void describe(maker *make, uint32_t n, uint32_t morph_count) {
    px_node *node = &make->tree->nodes[n];
    size_t first, end;
    find_vertices(make->tree, n, &first, &end);
    uint32_t bone_count = weigh(make, first, end);
    if (bone_count <= MANY_SHARES || !node->second)
        morph_count = set_node(make, node, bone_count, morph_count, first, end);
    for (uint32_t b = 0; b < bone_count; b++)
        make->of_bone[make->bones[b]].count = 0;
    if (node->second) {
        describe(make, n + 1, morph_count);
        describe(make, node->second, morph_count);
    }
}

static void *keep(px_arena *arena, const px_buffer *buffer) {
    void *out = px_arena_alloc(arena, buffer->size, 1);
    return out && buffer->size ? memcpy(out, buffer->data, buffer->size) : out;
}

static pelt_result make_bounds(px_arena *scratch, maker *make) {
    pelt_bdtree *tree = make->tree;
    uint32_t morph_count = tree->model.morphs.morph_count;
    make->of_bone = PX_NEW(scratch, weighing, tree->bone_count);
    make->bones = PX_NEW(scratch, uint32_t, tree->bone_count);
    make->morphs = PX_NEW(scratch, uint32_t, morph_count);
    make->displacements =
        px_arena_alloc(scratch, morph_count ? (size_t)PX_LEAF_VERTICES * tree->leaf_count : 0, sizeof(float[3]));
    if (!make->of_bone || !make->bones || !make->morphs || !make->displacements)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < morph_count; m++)
        make->morphs[m] = m;
    describe(make, 0, morph_count);
    if (make->shares.failed || make->modes.failed)
        return PELT_ERROR_MEMORY;
    tree->shares = keep(tree->memory, &make->shares);
    tree->modes = keep(tree->memory, &make->modes);
    return tree->shares && tree->modes ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_tree_bounds(pelt_context *context, pelt_bdtree *tree) {
    px_arena *scratch = px_arena_create(context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    maker make = {.tree = tree, .shares = {.context = context}, .modes = {.context = context}};
    pelt_result result = make_bounds(scratch, &make);
    px_buffer_free(&make.shares);
    px_buffer_free(&make.modes);
    px_arena_destroy(scratch);
    return result;
}
