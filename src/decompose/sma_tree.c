/* Range queries in hundreds of dimensions.
 *
 * The paper uses locality-sensitive hashing (Georgescu, Shimshoni, Meer 2003), which misses some points. Rotations
 * change slowly between frames, so sums over runs of frames are nearly as informative as the frames themselves, and
 * give a lower bound: |Σ (a − b)| ≤ Σ |a − b|. A tree of bounding boxes around such sketches rejects most points at
 * once, the sketches reject most of the others, and no point within the radius is missed.
 */
#include "decompose/sma.h"

#include <math.h>
#include <stdlib.h>

#define LEAF  16u
#define SLACK 1e-4 /* of the radius: exceeds the rounding of a sum of floats */

void px_shift_sketch(const float *point, size_t dimension, float sketch[static PX_SHIFT_SKETCH]) {
    for (size_t s = 0; s < PX_SHIFT_SKETCH; s++) {
        size_t end = (s + 1) * dimension / PX_SHIFT_SKETCH;
        float sum = 0;
        for (size_t e = s * dimension / PX_SHIFT_SKETCH; e < end; e++)
            sum += point[e];
        sketch[s] = sum;
    }
}

/* ---- Building --------------------------------------------------------------------------------------------- */

typedef struct sorted {
    float key;
    uint32_t place; /* index of the sketch */
} sorted;

typedef struct building {
    px_shift_tree *tree;
    const float *sketches; /* [index of the sketch] */
    sorted *order;         /* [place in the tree] */
} building;

static int compare_sorted(const void *a, const void *b) {
    const sorted *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Computes the bounding box of places [first, end) and splits them at the median of its longest side. */
static void build_node(const building *b, size_t node, size_t first, size_t end) {
    float *low = b->tree->boxes + node * 2 * PX_SHIFT_SKETCH, *high = low + PX_SHIFT_SKETCH;
    size_t longest = 0;
    for (size_t s = 0; s < PX_SHIFT_SKETCH; s++) {
        low[s] = INFINITY, high[s] = -INFINITY;
        for (size_t p = first; p < end; p++) {
            float value = b->sketches[b->order[p].place * PX_SHIFT_SKETCH + s];
            low[s] = fminf(low[s], value);
            high[s] = fmaxf(high[s], value);
        }
        if (high[s] - low[s] > high[longest] - low[longest])
            longest = s;
    }
    if (2 * node + 2 >= ((size_t)1 << b->tree->levels) - 1)
        return;
    for (size_t p = first; p < end; p++)
        b->order[p].key = b->sketches[b->order[p].place * PX_SHIFT_SKETCH + longest];
    qsort(b->order + first, end - first, sizeof *b->order, compare_sorted);
    size_t middle = first + (end - first) / 2;
    build_node(b, 2 * node + 1, first, middle);
    build_node(b, 2 * node + 2, middle, end);
}

static void build_tree(const building *b) {
    px_shift_tree *tree = b->tree;
    for (size_t p = 0; p < tree->count; p++)
        b->order[p].place = (uint32_t)p;
    build_node(b, 0, 0, tree->count);
    for (size_t p = 0; p < tree->count; p++) {
        uint32_t place = b->order[p].place;
        tree->order[p] = place;
        memcpy(tree->sketches + p * PX_SHIFT_SKETCH, b->sketches + place * PX_SHIFT_SKETCH,
               PX_SHIFT_SKETCH * sizeof *tree->sketches);
    }
}

pelt_result px_shift_tree_create(pelt_context *context, const float *sketches, size_t count, px_shift_tree *tree) {
    *tree = (px_shift_tree){.context = context, .kernels = px_shift_kernels_best(), .count = count, .levels = 1};
    while (count >> (tree->levels - 1) > LEAF)
        tree->levels++;
    size_t nodes = ((size_t)1 << tree->levels) - 1, size = px_mul_size(count, PX_SHIFT_SKETCH);
    sorted *order = PX_ALLOC(context, sorted, count);
    tree->boxes = PX_ALLOC(context, float, size + nodes * 2 * PX_SHIFT_SKETCH + count);
    bool ready = order && tree->boxes;
    if (ready) {
        tree->sketches = tree->boxes + nodes * 2 * PX_SHIFT_SKETCH;
        tree->order = (uint32_t *)(void *)(tree->sketches + size);
    }
    if (ready && count > 0)
        build_tree(&(building){tree, sketches, order});
    else
        px_shift_tree_free(tree);
    px_free(context, order);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_shift_tree_free(px_shift_tree *tree) {
    px_free(tree->context, tree->boxes);
    *tree = (px_shift_tree){.context = tree->context};
}

/* ---- Finding ---------------------------------------------------------------------------------------------- */

typedef struct search {
    const px_shift_tree *tree;
    const float *sketches; /* [place] */
    float radius;
    px_shift_near *near;
    void *user;
} search;

/* Visits a node with places [first, end) for the query positions whose bits are set in `places`. */
static void visit(const search *find, unsigned places, size_t node, size_t first, size_t end) {
    const px_shift_tree *tree = find->tree;
    unsigned inside = 0;
    for (unsigned n = 0; places >> n; n++)
        if (places >> n & 1 && tree->kernels->box_distance(tree->boxes + node * 2 * PX_SHIFT_SKETCH,
                                                           find->sketches + n * PX_SHIFT_SKETCH) <= find->radius)
            inside |= 1u << n;
    if (inside == 0)
        return;
    if (2 * node + 2 < ((size_t)1 << tree->levels) - 1) {
        size_t middle = first + (end - first) / 2;
        visit(find, inside, 2 * node + 1, first, middle);
        visit(find, inside, 2 * node + 2, middle, end);
        return;
    }
    for (size_t p = first; p < end; p++)
        for (unsigned n = 0; inside >> n; n++)
            if (inside >> n & 1 &&
                tree->kernels->distance(tree->sketches + p * PX_SHIFT_SKETCH, find->sketches + n * PX_SHIFT_SKETCH,
                                        PX_SHIFT_SKETCH) <= find->radius)
                find->near(find->user, n, tree->order[p]);
}

void px_shift_tree_find(const px_shift_tree *tree, const float *sketches, size_t count, double radius,
                        px_shift_near *near, void *user) {
    search find = {tree, sketches, (float)(radius * (1 + SLACK)), near, user};
    assert(count <= PX_SHIFT_PLACES);
    if (tree->count > 0)
        visit(&find, (1u << count) - 1, 0, 0, tree->count);
}
