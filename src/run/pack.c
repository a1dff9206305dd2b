/* Packs morphs: for every block of vertices, the morphs that move it and their displacements, in the order in which
 * a pass over the vertices reads them. */
#include "run/skin.h"

#include <float.h>
#include <math.h>

#define BLOCK ((size_t)PELT_MORPH_BLOCK)

/* The part of a block that a morph covers: lanes [begin, end) of the block, from its displacement `from` on. */
typedef struct overlap {
    size_t begin, end, from;
} overlap;

static overlap overlap_of(const pelt_morph *morph, size_t block) {
    size_t first = block * BLOCK, begin = px_max_size(first, morph->first_vertex);
    size_t end = px_min_size(first + BLOCK, (size_t)morph->first_vertex + morph->vertex_count);
    return (overlap){begin - first, end - first, begin - morph->first_vertex};
}

static bool any(const float *deltas, const overlap *o) {
    for (size_t e = 3 * o->from; deltas && e < 3 * (o->from + o->end - o->begin); e++)
        if (deltas[e] != 0)
            return true;
    return false;
}

/* Half-open range of blocks that a morph covers; it need not move all of them. */
static size_t first_block(const pelt_morph *morph) {
    return morph->first_vertex / BLOCK;
}

static size_t end_block(const pelt_morph *morph) {
    return ((size_t)morph->first_vertex + morph->vertex_count + BLOCK - 1) / BLOCK;
}

static void put(uint32_t index, const float *deltas, const overlap *o, pelt_packed_delta *out) {
    float largest = 0;
    for (size_t e = 3 * o->from; deltas && e < 3 * (o->from + o->end - o->begin); e++)
        largest = px_fmaxf(largest, fabsf(deltas[e]));
    float scale = largest / INT16_MAX;
    *out =
        (pelt_packed_delta){.morph = index, .scale = scale >= FLT_MIN ? scale : 0}; /* denormal scales are too coarse */
    for (size_t v = o->begin; out->scale > 0 && v < o->end; v++)
        for (size_t c = 0; c < 3; c++)
            out->values[c][v] = (int16_t)lrintf(deltas[3 * (o->from + v - o->begin) + c] / out->scale);
}

/* Counts entries into offsets[block + 2]. After the prefix sum, offsets[block + 1] is where the block's next entry
 * goes; after all entries are written, it is the block's end. */
static bool count_entries(const pelt_morph_set *set, size_t block_count, size_t *offsets) {
    bool normals = false;
    for (uint32_t m = 0; m < set->morph_count; m++) {
        const pelt_morph *morph = &set->morphs[m];
        for (size_t b = first_block(morph); b < end_block(morph); b++) {
            overlap o = overlap_of(morph, b);
            offsets[b + 2] += any(morph->positions, &o) || any(morph->normals, &o);
        }
        normals |= morph->normals != NULL;
    }
    for (size_t b = 2; b < block_count + 2; b++)
        offsets[b] += offsets[b - 1];
    return normals;
}

pelt_result pelt_morph_pack(pelt_context *context, pelt_model *model, pelt_packed_morphs *packed) {
    const pelt_morph_set *set = &model->morphs;
    size_t block_count = ((size_t)model->mesh.vertex_count + BLOCK - 1) / BLOCK;
    *packed = (pelt_packed_morphs){0};
    px_result_begin(model);
    size_t *offsets = pelt_model_alloc(context, model, block_count + 2, sizeof *offsets);
    if (!offsets)
        return px_result_end(model, PELT_ERROR_MEMORY);
    bool has_normals = count_entries(set, block_count, offsets) && model->mesh.normals;
    size_t entry_count = offsets[block_count + 1];
    pelt_packed_delta *positions = pelt_model_alloc(context, model, entry_count, sizeof *positions), *normals = NULL;
    if (!positions || (has_normals && !(normals = pelt_model_alloc(context, model, entry_count, sizeof *normals))))
        return px_result_end(model, PELT_ERROR_MEMORY);
    for (uint32_t m = 0; m < set->morph_count; m++) {
        const pelt_morph *morph = &set->morphs[m];
        for (size_t b = first_block(morph); b < end_block(morph); b++) {
            overlap o = overlap_of(morph, b);
            if (!any(morph->positions, &o) && !any(morph->normals, &o))
                continue;
            size_t entry = offsets[b + 1]++;
            put(m, morph->positions, &o, &positions[entry]);
            if (normals)
                put(m, morph->normals, &o, &normals[entry]);
        }
    }
    *packed = (pelt_packed_morphs){model->mesh.vertex_count, offsets, positions, normals};
    return px_result_end(model, PELT_OK);
}

void pelt_packed_morphs_free(pelt_model *model, pelt_packed_morphs *packed) {
    px_arena_free_result(model->memory, packed->offsets);
    *packed = (pelt_packed_morphs){0};
}

void pelt_morph_run_packed(const pelt_mesh *mesh, const pelt_packed_morphs *packed, const float *weights,
                           uint32_t first, uint32_t count, float *out_positions, float *out_normals) {
    assert(first % PELT_MORPH_BLOCK == 0 && (size_t)first + count <= packed->vertex_count);
    px_morph_body *run = px_morph_body_of(pelt_simd_best());
    run(packed->offsets, packed->positions, weights, mesh->positions, first, count, out_positions);
    if (!out_normals || !mesh->normals)
        return;
    if (packed->normals)
        run(packed->offsets, packed->normals, weights, mesh->normals, first, count, out_normals);
    else
        memcpy(out_normals, mesh->normals + 3 * (size_t)first, 3 * (size_t)count * sizeof *out_normals);
}
