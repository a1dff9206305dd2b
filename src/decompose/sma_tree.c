/* Range queries in hundreds of dimensions.
 *
 * The paper uses locality-sensitive hashing (Georgescu, Shimshoni, Meer 2003), which misses some points. Rotations
 * change slowly between frames, so sums over runs of frames are nearly as informative as the frames themselves, and
 * give a lower bound: |Σ (a − b)| ≤ Σ |a − b|. A tree of bounding boxes around such sketches rejects most points at
 * once, the sketches reject most of the others, and no point within the limit is missed.
 */
#include "core/surface.h"
#include "decompose/sma.h"

#define LEAF 16u

typedef struct building {
    px_shift_tree *tree;
    int16_t *sketches; /* [point] */
    float *keys;       /* [point][3], the first of three as px_select expects */
} building;

/* Computes the bounding box of places [first, end) and splits them at the median of its longest side. */
static void build_node(const building *b, size_t node, size_t first, size_t end) {
    int16_t *low = b->tree->boxes + node * 2 * PX_SHIFT_SKETCH, *high = low + PX_SHIFT_SKETCH;
    uint32_t *order = b->tree->order;
    memcpy(low, b->sketches + order[first] * PX_SHIFT_SKETCH, PX_SHIFT_SKETCH * sizeof *low);
    memcpy(high, low, PX_SHIFT_SKETCH * sizeof *low);
    for (size_t p = first + 1; p < end; p++) {
        const int16_t *sketch = b->sketches + order[p] * PX_SHIFT_SKETCH;
        for (size_t s = 0; s < PX_SHIFT_SKETCH; s++) {
            low[s] = low[s] < sketch[s] ? low[s] : sketch[s];
            high[s] = high[s] > sketch[s] ? high[s] : sketch[s];
        }
    }
    if (2 * node + 2 >= ((size_t)1 << b->tree->levels) - 1)
        return;
    size_t longest = 0, half = (end - first) / 2;
    for (size_t s = 1; s < PX_SHIFT_SKETCH; s++)
        if (high[s] - low[s] > high[longest] - low[longest])
            longest = s;
    for (size_t p = first; p < end; p++)
        b->keys[3 * (size_t)order[p]] = b->sketches[order[p] * PX_SHIFT_SKETCH + longest];
    px_select(order + first, (uint32_t)(end - first), (uint32_t)half, b->keys);
    build_node(b, 2 * node + 1, first, first + half);
    build_node(b, 2 * node + 2, first + half, end);
}

static void build_tree(const building *b) {
    px_shift_tree *tree = b->tree;
    const px_shift_kernels *kernels = px_shift_kernels_best();
    for (size_t p = 0; p < tree->count; p++) {
        tree->order[p] = (uint32_t)p;
        kernels->sketch(tree->bytes + p * tree->pitch, tree->pitch, b->sketches + p * PX_SHIFT_SKETCH);
    }
    build_node(b, 0, 0, tree->count);
    for (size_t p = 0; p < tree->count; p++)
        memcpy(tree->sketches + p * PX_SHIFT_SKETCH, b->sketches + tree->order[p] * PX_SHIFT_SKETCH,
               PX_SHIFT_SKETCH * sizeof *tree->sketches);
}

pelt_result px_shift_tree_create(pelt_context *context, const uint8_t *bytes, size_t pitch, size_t count,
                                 px_shift_tree *tree) {
    assert(pitch % PX_SHIFT_BYTES == 0 && pitch <= PX_SHIFT_PITCH_MOST);
    *tree = (px_shift_tree){.context = context, .bytes = bytes, .pitch = pitch, .count = count, .levels = 1};
    while (count >> (tree->levels - 1) > LEAF)
        tree->levels++;
    size_t nodes = ((size_t)1 << tree->levels) - 1, size = px_mul_size(count, PX_SHIFT_SKETCH);
    building b = {tree, PX_ALLOC(context, int16_t, size), PX_ALLOC(context, float, px_mul_size(3, count))};
    tree->order = PX_ALLOC(context, uint32_t, count);
    tree->sketches = PX_ALLOC(context, int16_t, size);
    tree->boxes = PX_ALLOC(context, int16_t, nodes * 2 * PX_SHIFT_SKETCH);
    bool ready = b.sketches && b.keys && tree->order && tree->sketches && tree->boxes;
    if (ready && count > 0)
        build_tree(&b);
    else
        px_shift_tree_free(tree);
    px_free(context, b.sketches);
    px_free(context, b.keys);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

void px_shift_tree_free(px_shift_tree *tree) {
    px_free(tree->context, tree->order);
    px_free(tree->context, tree->sketches);
    px_free(tree->context, tree->boxes);
    *tree = (px_shift_tree){.context = tree->context};
}
