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
/* Nodes with more vertices take fewer: they are many times as much work, and queries go on to their children anyway. */
#define MANY_POINTS 128
#define FEW_STEPS   4

/* Range of the weights of one bone over the vertices of a node. */
typedef struct weighing {
    double low, high;
    uint32_t count; /* vertices with a nonzero weight of the bone */
} weighing;

/* Of the weights of the vertices of a node. */
typedef struct node_sums {
    double total;     /* largest Σ |weight| of a vertex, at least 1 */
    double low, high; /* range of Σ weight */
} node_sums;

typedef struct maker {
    pelt_bdtree *tree;
    weighing *of_bone;       /* [bone] counts are 0 between nodes */
    uint32_t *bones;         /* [bone] list of the node's bones */
    uint32_t bone_count;     /* in that list */
    node_sums *sums;         /* [node] */
    px_buffer ranges;        /* [share] weighing */
    px_buffer shares, modes; /* px_bone_share, px_mode */
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

/* Widens the range of a bone's weights. */
static void widen(weighing *w, double low, double high) {
    w->low = low < w->low ? low : w->low;
    w->high = high > w->high ? high : w->high;
}

/* Adds a bone with a range of weights over `count` of the node's vertices to the node's list. */
static void add_range(maker *make, uint32_t bone, double low, double high, uint32_t count) {
    weighing *w = &make->of_bone[bone];
    if (w->count == 0) {
        make->bones[make->bone_count++] = bone;
        *w = (weighing){low, high, 0};
    }
    widen(w, low, high);
    w->count += count;
}

/* Collects the bones of the vertices of a leaf, and the sums of their weights. */
static void weigh_leaf(maker *make, size_t first, node_sums *sums) {
    const pelt_bdtree *tree = make->tree;
    uint32_t influences = tree->influence_count;
    *sums = (node_sums){1, INFINITY, -INFINITY};
    for (size_t v = first; v < first + PX_LEAF_VERTICES; v++) {
        const uint16_t *bones = tree->bones + influences * v;
        double sum = 0, size = 0;
        for (uint32_t k = 0; k < influences; k++) {
            double weight = weight_of(bones, tree->weights + influences * v, influences, k);
            if (weight != 0)
                add_range(make, bones[k], weight, weight, 1);
            weight = (double)tree->weights[influences * v + k];
            sum += weight;
            size += fabs(weight);
        }
        sums->total = px_fmax(sums->total, size);
        sums->low = px_fmin(sums->low, sum);
        sums->high = px_fmax(sums->high, sum);
    }
}

/* The same for a node, from its children; returns false if one has too many bones. */
static bool weigh_children(maker *make, const px_node *node, node_sums *sums) {
    const px_node *children[2] = {node + 1, &make->tree->nodes[node->second]};
    *sums = (node_sums){1, INFINITY, -INFINITY};
    for (int c = 0; c < 2; c++) {
        const node_sums *own = &make->sums[children[c] - make->tree->nodes];
        const weighing *ranges = (const weighing *)(const void *)make->ranges.data;
        const px_bone_share *shares = (const px_bone_share *)(const void *)make->shares.data;
        if (make->ranges.failed || make->shares.failed || !children[c]->share_count)
            return false;
        for (uint32_t n = children[c]->share; n < children[c]->share + children[c]->share_count; n++)
            add_range(make, shares[n].bone, ranges[n].low, ranges[n].high, ranges[n].count);
        sums->total = px_fmax(sums->total, own->total);
        sums->low = px_fmin(sums->low, own->low);
        sums->high = px_fmax(sums->high, own->high);
    }
    return true;
}

/* Means are the midpoints of the weight ranges, scaled to sum 1. Returns Σ spread. */
static double set_shares(maker *make, px_node *node, const node_sums *sums) {
    uint32_t bone_count = make->bone_count;
    double middle_sum = 0, mean_sum = 0, mean_total = 0, spread_sum = 0;
    for (uint32_t n = 0; n < bone_count; n++) {
        const weighing *w = &make->of_bone[make->bones[n]];
        middle_sum += (w->low + w->high) / 2;
    }
    double scale = fabs(middle_sum) > 0.1 ? 1 / middle_sum : 1;
    for (uint32_t n = 0; n < bone_count; n++) {
        const weighing *w = &make->of_bone[make->bones[n]];
        px_bone_share share = {.bone = make->bones[n], .mean = (float)(scale * (w->low + w->high) / 2)};
        double spread = px_fmax(w->high - (double)share.mean, (double)share.mean - w->low);
        share.spread = round_up(spread);
        mean_sum += (double)share.mean;
        mean_total += fabs((double)share.mean);
        spread_sum += (double)share.spread;
        px_buffer_add(&make->shares, &share, sizeof share);
        px_buffer_add(&make->ranges, w, sizeof *w);
    }
    node->share_count = bone_count;
    node->total = round_up(px_fmax(sums->total, mean_total));
    double uneven = px_fmax(fabs(sums->low - mean_sum), fabs(sums->high - mean_sum));
    node->uneven = round_up(uneven + fabs(1 - mean_sum) + 0x1p-50);
    return spread_sum;
}

/* ---- Modes ------------------------------------------------------------------------------------------------ */

static px_mode make_mode(uint32_t morph, const px_ball *ball) {
    px_mode mode = {.morph = morph, .spread = ball->radius};
    memcpy(mode.mean, ball->center, sizeof mode.mean);
    mode.size = round_up(length3(mode.mean) + (double)mode.spread);
    return mode;
}

/* Adds the displacements of a leaf by each morph that moves it. */
static void add_leaf_modes(maker *make, px_node *node) {
    const pelt_bdtree *tree = make->tree;
    const px_leaf *leaf = &tree->leaves[node->leaf];
    for (uint32_t m = 0; m < tree->model->morphs.morph_count; m++) {
        const pelt_morph *morph = &tree->model->morphs.morphs[m];
        float shift[PX_LEAF_VERTICES][3] = {{0}};
        bool any = false;
        for (size_t v = 0; v < PX_LEAF_VERTICES; v++) {
            size_t i = leaf->vertices[v] - (size_t)morph->first_vertex;
            if (i < morph->vertex_count)
                memcpy(shift[v], morph->positions + 3 * i, sizeof shift[v]);
            any = any || shift[v][0] != 0 || shift[v][1] != 0 || shift[v][2] != 0;
        }
        if (!any)
            continue;
        px_ball ball = px_ball_of_points((const float(*)[3])shift, PX_LEAF_VERTICES, 0);
        px_mode mode = make_mode(m, &ball);
        px_buffer_add(&make->modes, &mode, sizeof mode);
        node->mode_count++;
    }
}

/* Merges the sorted modes of both children. A morph that moves only one of them leaves the other where it is. */
static void add_merged_modes(maker *make, px_node *node, const px_node *first, const px_node *second) {
    uint32_t m = 0, n = 0;
    while ((m < first->mode_count || n < second->mode_count) && !make->modes.failed) {
        const px_mode *modes = (const px_mode *)(const void *)make->modes.data;
        const px_mode *a = m < first->mode_count ? &modes[first->mode + m] : NULL;
        const px_mode *b = n < second->mode_count ? &modes[second->mode + n] : NULL;
        uint32_t morph = !b || (a && a->morph < b->morph) ? a->morph : b->morph;
        px_ball balls[2] = {{{0}, 0}, {{0}, 0}};
        if (a && a->morph == morph) {
            balls[0] = (px_ball){{a->mean[0], a->mean[1], a->mean[2]}, a->spread};
            m++;
        }
        if (b && b->morph == morph) {
            balls[1] = (px_ball){{b->mean[0], b->mean[1], b->mean[2]}, b->spread};
            n++;
        }
        px_ball ball = px_ball_around(&balls[0], &balls[1]);
        px_mode mode = make_mode(morph, &ball);
        px_buffer_add(&make->modes, &mode, sizeof mode);
        node->mode_count++;
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

/* The children must be complete. */
static void set_node(maker *make, px_node *node, const node_sums *sums, size_t first, size_t end) {
    uint32_t bone_count = make->bone_count;
    const pelt_bdtree *tree = make->tree;
    px_ball ball = px_ball_of_points((const float(*)[3])(tree->positions + 3 * first), end - first,
                                     end - first > MANY_POINTS ? FEW_STEPS : STEPS);
    memcpy(node->center, ball.center, sizeof node->center);
    node->radius = ball.radius;
    node->size = round_up(length3(ball.center) + (double)ball.radius);
    node->share = (uint32_t)(make->shares.size / sizeof(px_bone_share));
    node->mode = (uint32_t)(make->modes.size / sizeof(px_mode));
    double spread_sum = set_shares(make, node, sums);
    if (node->second)
        add_merged_modes(make, node, node + 1, &tree->nodes[node->second]);
    else
        add_leaf_modes(make, node);
    double terms = tree->influence_count + 2.0 * bone_count + 2.0 * node->mode_count + 32;
    node->grain = round_up(4 * UNIT * (terms * (1 + (double)node->uneven) + 2 * spread_sum * (bone_count + 8.0)));
}

/* Fills a node and its descendants, children first. */
static void describe(maker *make, uint32_t n) {
    px_node *node = &make->tree->nodes[n];
    size_t first, end;
    if (node->second) {
        describe(make, n + 1);
        describe(make, node->second);
    }
    find_vertices(make->tree, n, &first, &end);
    node->leaf = (uint32_t)(first / PX_LEAF_VERTICES);
    node->leaf_count = (uint32_t)((end - first) / PX_LEAF_VERTICES);
    make->bone_count = 0;
    bool few = true;
    if (node->second)
        few = weigh_children(make, node, &make->sums[n]) && make->bone_count <= MANY_SHARES;
    else
        weigh_leaf(make, first, &make->sums[n]);
    for (uint32_t b = 0; b < make->bone_count; b++) {
        weighing *w = &make->of_bone[make->bones[b]];
        if (w->count < end - first)
            widen(w, 0, 0);
    }
    if (few)
        set_node(make, node, &make->sums[n], first, end);
    for (uint32_t b = 0; b < make->bone_count; b++)
        make->of_bone[make->bones[b]].count = 0;
}

static void *keep(px_arena *arena, const px_buffer *buffer) {
    void *out = px_arena_alloc(arena, buffer->size, 1);
    return out && buffer->size ? memcpy(out, buffer->data, buffer->size) : out;
}

static pelt_result make_bounds(px_arena *scratch, maker *make) {
    pelt_bdtree *tree = make->tree;
    make->of_bone = PX_NEW(scratch, weighing, tree->bone_count);
    make->bones = PX_NEW(scratch, uint32_t, tree->bone_count);
    make->sums = PX_NEW(scratch, node_sums, tree->node_count);
    if (!make->of_bone || !make->bones || !make->sums)
        return PELT_ERROR_MEMORY;
    describe(make, 0);
    if (make->shares.failed || make->modes.failed || make->ranges.failed)
        return PELT_ERROR_MEMORY;
    tree->shares = keep(tree->memory, &make->shares);
    tree->modes = keep(tree->memory, &make->modes);
    return tree->shares && tree->modes ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_tree_bounds(pelt_context *context, pelt_bdtree *tree) {
    px_arena *scratch = px_arena_create(context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    maker make = {
        .tree = tree, .shares = {.context = context}, .modes = {.context = context}, .ranges = {.context = context}};
    pelt_result result = make_bounds(scratch, &make);
    px_buffer_free(&make.shares);
    px_buffer_free(&make.modes);
    px_buffer_free(&make.ranges);
    px_arena_destroy(scratch);
    return result;
}
