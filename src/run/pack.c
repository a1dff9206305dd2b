/* Packs morphs: for every block of vertices, the morphs that move it and their displacements, in the order in which
 * a pass over the vertices reads them. */
#include "run/skin.h"

#include <float.h>
#include <math.h>

#define BLOCK ((size_t)PELT_MORPH_BLOCK)
_Static_assert(PELT_MORPH_BLOCK == PELT_PREPARED_BLOCK, "blocks of prepared skins are blocks of morphs");

/* The blocks to pack: those of the mesh, or of a prepared skin. */
typedef struct layout {
    const pelt_prepared_skin *prepared; /* NULL: the order of the mesh */
    size_t vertex_count, block_count;
} layout;

/* Finds the vertices in the lanes of a block. Returns their number: the last block of the mesh and of a loose group may have less
 * than BLOCK. */
static size_t find_vertices(const layout *l, size_t block, uint32_t vertices[BLOCK]) {
    size_t first = block * BLOCK, end = l->vertex_count, count;
    if (l->prepared) {
        const pelt_prepared_block *b = &l->prepared->blocks[block];
        const pelt_prepared_group *group = &l->prepared->groups[b->group];
        first = b->place;
        end = (size_t)group->first_place + group->vertex_count;
    }
    count = px_min_size(BLOCK, end - first);
    for (size_t v = 0; v < count; v++)
        vertices[v] = l->prepared ? l->prepared->order[first + v] : (uint32_t)(first + v);
    return count;
}

/* Displacements of the vertices of a block, 0 where the morph has none. Returns the largest component. */
static float gather(const pelt_morph *morph, const float *deltas, const uint32_t *vertices, size_t count,
                    float out[BLOCK][3]) {
    float largest = 0;
    memset(out, 0, BLOCK * sizeof *out);
    for (size_t v = 0; deltas && v < count; v++)
        if (vertices[v] >= morph->first_vertex && vertices[v] - morph->first_vertex < morph->vertex_count)
            for (size_t c = 0; c < 3; c++) {
                out[v][c] = deltas[3 * (size_t)(vertices[v] - morph->first_vertex) + c];
                largest = px_fmaxf(largest, fabsf(out[v][c]));
            }
    return largest;
}

static void put(uint32_t index, float largest, float deltas[BLOCK][3], pelt_packed_delta *out) {
    float scale = largest / INT16_MAX;
    *out =
        (pelt_packed_delta){.morph = index, .scale = scale >= FLT_MIN ? scale : 0}; /* denormal scales are too coarse */
    for (size_t e = 0; out->scale > 0 && e < 3 * BLOCK; e++)
        out->values[e % 3][e / 3] = (int16_t)lrintf(deltas[e / 3][e % 3] / out->scale);
}

/* Counts the entries of all blocks into offsets [block + 1] and, if `positions` is not NULL, writes them. */
static void walk(const layout *l, const pelt_morph_set *set, size_t *offsets, pelt_packed_delta *positions,
                 pelt_packed_delta *normals) {
    size_t entry = 0;
    for (size_t b = 0; b < l->block_count; b++) {
        uint32_t vertices[BLOCK];
        size_t count = find_vertices(l, b, vertices);
        for (uint32_t m = 0; m < set->morph_count; m++) {
            const pelt_morph *morph = &set->morphs[m];
            float p[BLOCK][3], n[BLOCK][3], largest = gather(morph, morph->positions, vertices, count, p);
            float largest_normal = gather(morph, morph->normals, vertices, count, n);
            if (!(largest > 0) && !(largest_normal > 0))
                continue;
            if (positions)
                put(m, largest, p, &positions[entry]);
            if (positions && normals)
                put(m, largest_normal, n, &normals[entry]);
            entry++;
        }
        offsets[b + 1] = entry;
    }
}

static pelt_result pack(pelt_context *context, pelt_model *model, const layout *l, pelt_packed_morphs *packed) {
    const pelt_morph_set *set = &model->morphs;
    bool has_normals = false;
    for (uint32_t m = 0; m < set->morph_count; m++)
        has_normals |= set->morphs[m].normals && model->mesh.normals;
    size_t *offsets = pelt_model_alloc(context, model, l->block_count + 1, sizeof *offsets);
    if (!offsets)
        return PELT_ERROR_MEMORY;
    walk(l, set, offsets, NULL, NULL);
    size_t entry_count = offsets[l->block_count];
    pelt_packed_delta *positions = pelt_model_alloc(context, model, entry_count, sizeof *positions), *normals = NULL;
    if (!positions || (has_normals && !(normals = pelt_model_alloc(context, model, entry_count, sizeof *normals))))
        return PELT_ERROR_MEMORY;
    walk(l, set, offsets, positions, normals);
    *packed = (pelt_packed_morphs){model->mesh.vertex_count, offsets, positions, normals};
    return PELT_OK;
}

pelt_result pelt_morph_pack(pelt_context *context, pelt_model *model, pelt_packed_morphs *packed) {
    size_t count = model->mesh.vertex_count;
    *packed = (pelt_packed_morphs){0};
    px_result_begin(model);
    return px_result_end(model, pack(context, model, &(layout){NULL, count, px_block_count(count, BLOCK)}, packed));
}

pelt_result pelt_morph_pack_prepared(pelt_context *context, pelt_model *model, const pelt_prepared_skin *prepared,
                                     pelt_packed_morphs *packed) {
    *packed = (pelt_packed_morphs){0};
    if (prepared->vertex_count != model->mesh.vertex_count || prepared->group_count == 0)
        return px_fail(context, PELT_ERROR_USAGE, "a prepared skin of %u vertices for a mesh of %u",
                       prepared->vertex_count, model->mesh.vertex_count);
    const pelt_prepared_group *last = &prepared->groups[prepared->group_count - 1];
    size_t block_count = last->first_block + px_block_count(last->vertex_count, BLOCK);
    px_result_begin(model);
    return px_result_end(model, pack(context, model, &(layout){prepared, prepared->vertex_count, block_count}, packed));
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
