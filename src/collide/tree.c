/* Construction of the tree. Triangles with the same dominant bone are kept together, as in SMA (James and Twigg
 * 2005, section 7): a skin separates parts that are close at rest, such as two legs. The bones are split at the
 * median of their triangles' centroids along the longest axis, then the triangles of each bone in the same way.
 */
#include "collide/collide.h"
#include "core/surface.h"

#include <math.h>

/* Triangles of one bone. */
typedef struct region {
    uint32_t first, count; /* range in `order` */
} region;

typedef struct builder {
    pelt_bdtree *tree;
    float *middles;         /* [triangle][3] */
    float *region_middles;  /* [region][3] */
    region *regions;        /* [region] */
    uint32_t *region_order; /* permutation of regions, sorted by node */
    uint32_t region_count;
} builder;

/* ---- Regions ---------------------------------------------------------------------------------------------- */

/* Returns the bone with the largest sum of weights over a triangle's vertices; ties: the lowest index. */
static uint32_t main_bone(const pelt_skin *skin, const uint32_t corners[3]) {
    uint32_t best = 0;
    float most = -INFINITY;
    size_t influences = skin->influence_count;
    for (size_t e = 0; skin->bone_count && e < 3 * influences; e++) {
        uint16_t bone = skin->bones[corners[e / influences] * influences + e % influences];
        float sum = 0;
        for (size_t f = 0; f < 3 * influences; f++) {
            size_t at = corners[f / influences] * influences + f % influences;
            sum += skin->bones[at] == bone ? skin->weights[at] : 0;
        }
        if (sum > most || (sum == most && bone < best)) {
            most = sum;
            best = bone;
        }
    }
    return best;
}

/* Sorts triangles by bone, and creates a region for every bone that has triangles. */
static void make_regions(builder *b, uint32_t *bone_of, uint32_t *counts) {
    pelt_bdtree *tree = b->tree;
    const pelt_mesh *mesh = &tree->model->mesh;
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        counts[bone_of[t] = main_bone(&tree->model->skin, mesh->triangles + 3 * (size_t)t)]++;
    uint32_t place = 0;
    for (uint32_t j = 0; j < tree->bone_count; j++) {
        uint32_t count = counts[j];
        if (count == 0)
            continue;
        b->region_order[b->region_count] = b->region_count;
        b->regions[b->region_count++] = (region){place, 0};
        counts[j] = b->region_count; /* 1 + the bone's region */
        place += count;
    }
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t r = counts[bone_of[t]] - 1;
        tree->order[b->regions[r].first + b->regions[r].count++] = t;
    }
    for (uint32_t r = 0; r < b->region_count; r++) {
        double sums[3] = {0};
        for (uint32_t n = 0; n < b->regions[r].count; n++)
            for (int c = 0; c < 3; c++)
                sums[c] += (double)b->middles[3 * (size_t)tree->order[b->regions[r].first + n] + (size_t)c];
        for (int c = 0; c < 3; c++)
            b->region_middles[3 * (size_t)r + (size_t)c] = (float)(sums[c] / b->regions[r].count);
    }
}

/* ---- Halving ---------------------------------------------------------------------------------------------- */

/* Splits a range of an order at the median along the longest side of the bounding box of its centroids; returns the
 * size of the first half. */
static uint32_t halve(uint32_t *order, uint32_t count, const float *middles) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (uint32_t n = 0; n < count; n++)
        for (int c = 0; c < 3; c++) {
            low[c] = px_fminf(low[c], middles[3 * (size_t)order[n] + (size_t)c]);
            high[c] = px_fmaxf(high[c], middles[3 * (size_t)order[n] + (size_t)c]);
        }
    int axis = 0;
    for (int c = 1; c < 3; c++)
        if (high[c] - low[c] > high[axis] - low[axis])
            axis = c;
    px_select(order, count, count / 2, middles + axis);
    return count / 2;
}

/* Makes a leaf of the triangles if it has capacity for their vertices. */
static bool make_leaf(pelt_bdtree *tree, px_node *node, uint32_t first, uint32_t count) {
    const pelt_mesh *mesh = &tree->model->mesh;
    px_leaf *leaf = &tree->leaves[tree->leaf_count];
    uint32_t used = 0;
    for (uint32_t n = first; n < first + count; n++)
        for (int c = 0; c < 3; c++) {
            uint32_t vertex = mesh->triangles[3 * (size_t)tree->order[n] + (size_t)c], at = 0;
            while (at < used && leaf->vertices[at] != vertex)
                at++;
            if (at == PX_LEAF_VERTICES)
                return false;
            leaf->vertices[at] = vertex;
            used += at == used;
            tree->corners[n][c] = (uint8_t)at;
        }
    for (uint32_t v = 0; v < PX_LEAF_VERTICES; v++) {
        uint32_t vertex = leaf->vertices[v < used ? v : used - 1];
        leaf->vertices[v] = vertex;
        leaf->welds[v] = pelt_vertex_class(&mesh->weld, vertex);
    }
    leaf->first = first;
    leaf->count = count;
    node->leaf = tree->leaf_count++;
    return true;
}

static px_node *next_node(pelt_bdtree *tree) {
    return &tree->nodes[tree->node_count++];
}

/* Recursion depth: the number of bits of count. */
static void build_triangles(const builder *b, uint32_t first, uint32_t count) {
    px_node *node = next_node(b->tree);
    if (make_leaf(b->tree, node, first, count))
        return;
    uint32_t half = halve(b->tree->order + first, count, b->middles);
    build_triangles(b, first, half);
    node->second = b->tree->node_count;
    build_triangles(b, first + half, count - half);
}

static void build_regions(const builder *b, uint32_t first, uint32_t count) {
    if (count == 1) {
        const region *only = &b->regions[b->region_order[first]];
        build_triangles(b, only->first, only->count);
        return;
    }
    px_node *node = next_node(b->tree);
    uint32_t half = halve(b->region_order + first, count, b->region_middles);
    build_regions(b, first, half);
    node->second = b->tree->node_count;
    build_regions(b, first + half, count - half);
}

static void set_middles(const pelt_mesh *mesh, float *middles) {
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (size_t c = 0; c < 3; c++) {
            double sum = 0;
            for (size_t e = 0; e < 3; e++)
                sum += (double)mesh->positions[3 * (size_t)mesh->triangles[3 * t + e] + c];
            middles[3 * t + c] = (float)(sum / 3);
        }
}

static void *copy(px_arena *arena, const void *data, size_t count, size_t size) {
    void *out = px_arena_alloc(arena, count, size);
    return out ? memcpy(out, data, count * size) : NULL;
}

/* Nodes and leaves are built in scratch memory for the largest possible number of them. */
static pelt_result build(px_arena *scratch, pelt_bdtree *tree) {
    uint32_t triangle_count = tree->model->mesh.triangle_count;
    size_t region_most = px_min_size(tree->bone_count, triangle_count);
    tree->nodes = PX_NEW(scratch, px_node, 2 * (size_t)triangle_count);
    tree->leaves = PX_NEW(scratch, px_leaf, triangle_count);
    builder b = {
        .tree = tree,
        .middles = PX_NEW(scratch, float, 3 * (size_t)triangle_count),
        .region_middles = PX_NEW(scratch, float, 3 * region_most),
        .regions = PX_NEW(scratch, region, region_most),
        .region_order = PX_NEW(scratch, uint32_t, region_most),
    };
    uint32_t *bone_of = PX_NEW(scratch, uint32_t, triangle_count);
    uint32_t *counts = PX_NEW(scratch, uint32_t, tree->bone_count);
    if (!tree->nodes || !tree->leaves || !b.middles || !b.region_middles || !b.regions || !b.region_order || !bone_of ||
        !counts)
        return PELT_ERROR_MEMORY;
    set_middles(&tree->model->mesh, b.middles);
    make_regions(&b, bone_of, counts);
    build_regions(&b, 0, b.region_count);
    tree->nodes = copy(tree->memory, tree->nodes, tree->node_count, sizeof *tree->nodes);
    tree->leaves = copy(tree->memory, tree->leaves, tree->leaf_count, sizeof *tree->leaves);
    return tree->nodes && tree->leaves ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- The tree --------------------------------------------------------------------------------------------- */

/* Copies positions, bones and weights of every leaf's vertices into contiguous arrays. */
static pelt_result copy_leaves(pelt_bdtree *tree) {
    const pelt_mesh *mesh = &tree->model->mesh;
    const pelt_skin *skin = &tree->model->skin;
    size_t vertex_count = (size_t)PX_LEAF_VERTICES * tree->leaf_count, influences = tree->influence_count;
    tree->positions = PX_NEW(tree->memory, float, 3 * vertex_count);
    tree->bones = PX_NEW(tree->memory, uint16_t, influences * vertex_count);
    tree->weights = PX_NEW(tree->memory, float, influences *vertex_count);
    if (!tree->positions || !tree->bones || !tree->weights)
        return PELT_ERROR_MEMORY;
    for (size_t v = 0; v < vertex_count; v++) {
        size_t i = tree->leaves[v / PX_LEAF_VERTICES].vertices[v % PX_LEAF_VERTICES];
        memcpy(tree->positions + 3 * v, mesh->positions + 3 * i, 3 * sizeof *tree->positions);
        for (size_t k = 0; k < influences; k++) {
            tree->bones[influences * v + k] = skin->bone_count ? skin->bones[influences * i + k] : 0;
            tree->weights[influences * v + k] = skin->bone_count ? skin->weights[influences * i + k] : 1;
        }
    }
    return PELT_OK;
}

static pelt_result make_tree(pelt_context *context, pelt_bdtree *tree) {
    uint32_t triangle_count = tree->model->mesh.triangle_count;
    if (triangle_count == 0)
        return PELT_OK;
    tree->order = PX_NEW(tree->memory, uint32_t, triangle_count);
    tree->corners = px_arena_alloc(tree->memory, triangle_count, sizeof *tree->corners);
    if (!tree->order || !tree->corners)
        return PELT_ERROR_MEMORY;
    px_arena *scratch = px_arena_create(context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    pelt_result result = build(scratch, tree);
    px_arena_destroy(scratch);
    PX_TRY(result);
    PX_TRY(copy_leaves(tree));
    PX_TRY(px_tree_blocks(context, tree));
    return px_tree_bounds(context, tree);
}

pelt_result pelt_bdtree_create(pelt_context *context, const pelt_model *model, pelt_bdtree **out) {
    *out = NULL;
    px_arena *memory = px_arena_create(context);
    pelt_bdtree *tree = memory ? PX_NEW(memory, pelt_bdtree, 1) : NULL;
    if (!tree) {
        px_arena_destroy(memory);
        return PELT_ERROR_MEMORY;
    }
    bool skinned = model->skin.bone_count > 0;
    *tree = (pelt_bdtree){
        .memory = memory,
        .influence_count = skinned ? model->skin.influence_count : 1,
        .bone_count = skinned ? model->skin.bone_count : 1,
    };
    pelt_result result = px_model_borrow(memory, model, &tree->model);
    if (result == PELT_OK)
        result = make_tree(context, tree);
    if (result != PELT_OK) {
        px_arena_destroy(memory);
        return result;
    }
    *out = tree;
    return PELT_OK;
}

void pelt_bdtree_destroy(pelt_bdtree *tree) {
    if (tree)
        px_arena_destroy(tree->memory);
}
