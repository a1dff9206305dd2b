/* Blocks of vertices that are evaluated together: see px_block. */
#include "collide/collide.h"

/* Numbers the vertices in the order in which leaves use them; returns how many there are. `places` [vertex] are
 * PELT_NONE; `vertices` [place]. */
static uint32_t number_vertices(pelt_bdtree *tree, uint32_t *places, uint32_t *vertices) {
    uint32_t count = 0;
    for (uint32_t l = 0; l < tree->leaf_count; l++)
        for (uint32_t v = 0; v < PX_LEAF_VERTICES; v++) {
            uint32_t i = tree->leaves[l].vertices[v];
            if (places[i] == PELT_NONE) {
                vertices[count] = i;
                places[i] = count++;
            }
            tree->leaves[l].slots[v] = places[i];
        }
    return count;
}

/* Displacements of the block's vertices by a morph; false if all are 0. The last block may have fewer vertices. */
static bool displace(const pelt_morph *morph, const uint32_t *vertices, uint32_t count,
                     float out[PX_LEAF_VERTICES][3]) {
    bool any = false;
    memset(out, 0, PX_LEAF_VERTICES * sizeof *out);
    for (uint32_t v = 0; v < count; v++) {
        size_t i = vertices[v] - (size_t)morph->first_vertex;
        if (i < morph->vertex_count)
            memcpy(out[v], morph->positions + 3 * i, sizeof out[v]);
        any = any || out[v][0] != 0 || out[v][1] != 0 || out[v][2] != 0;
    }
    return any;
}

static pelt_result make_blocks(px_arena *scratch, pelt_bdtree *tree, px_buffer *morphs, px_buffer *shifts) {
    const pelt_mesh *mesh = &tree->model->mesh;
    const pelt_skin *skin = &tree->model->skin;
    size_t influences = tree->influence_count;
    uint32_t *places = PX_NEW(scratch, uint32_t, mesh->vertex_count);
    uint32_t *vertices = PX_NEW(scratch, uint32_t, mesh->vertex_count);
    if (!places || !vertices)
        return PELT_ERROR_MEMORY;
    memset(places, 0xFF, mesh->vertex_count * sizeof *places);
    uint32_t count = number_vertices(tree, places, vertices);
    tree->block_count = (count + PX_LEAF_VERTICES - 1) / PX_LEAF_VERTICES;
    tree->blocks = PX_NEW(tree->memory, px_block, tree->block_count);
    tree->block_bones = PX_NEW(tree->memory, uint16_t, tree->block_count * PX_LEAF_VERTICES * influences);
    tree->block_weights = PX_NEW(tree->memory, float, tree->block_count *PX_LEAF_VERTICES *influences);
    if (!tree->blocks || !tree->block_bones || !tree->block_weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < tree->block_count; b++) {
        px_block *block = &tree->blocks[b];
        const uint32_t *own = vertices + (size_t)PX_LEAF_VERTICES * b;
        uint32_t own_count = (uint32_t)px_min_size(PX_LEAF_VERTICES, count - (size_t)PX_LEAF_VERTICES * b);
        for (uint32_t v = 0; v < own_count; v++) {
            size_t from = influences * own[v], to = influences * ((size_t)PX_LEAF_VERTICES * b + v);
            memcpy(block->rest[v], mesh->positions + 3 * (size_t)own[v], sizeof block->rest[v]);
            for (size_t k = 0; k < influences && skin->bone_count; k++) {
                tree->block_bones[to + k] = skin->bones[from + k];
                tree->block_weights[to + k] = skin->weights[from + k];
            }
        }
        block->morph = (uint32_t)(morphs->size / sizeof(uint32_t));
        for (uint32_t m = 0; m < tree->model->morphs.morph_count; m++) {
            float shift[PX_LEAF_VERTICES][3];
            if (!displace(&tree->model->morphs.morphs[m], own, own_count, shift))
                continue;
            px_buffer_add(morphs, &m, sizeof m);
            px_buffer_add(shifts, shift, sizeof shift);
            block->morph_count++;
        }
    }
    if (morphs->failed || shifts->failed)
        return PELT_ERROR_MEMORY;
    tree->block_morphs = px_arena_alloc(tree->memory, morphs->size, 1);
    tree->shifts = px_arena_alloc(tree->memory, shifts->size, 1);
    if (!tree->block_morphs || !tree->shifts)
        return PELT_ERROR_MEMORY;
    if (morphs->size) {
        memcpy(tree->block_morphs, morphs->data, morphs->size);
        memcpy(tree->shifts, shifts->data, shifts->size);
    }
    return PELT_OK;
}

pelt_result px_tree_blocks(pelt_context *context, pelt_bdtree *tree) {
    if (tree->model->morphs.morph_count == 0)
        return PELT_OK;
    px_arena *scratch = px_arena_create(context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    px_buffer morphs = {.context = context}, shifts = {.context = context};
    pelt_result result = make_blocks(scratch, tree, &morphs, &shifts);
    px_buffer_free(&morphs);
    px_buffer_free(&shifts);
    px_arena_destroy(scratch);
    return result;
}
