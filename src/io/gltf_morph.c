/* Reads morph targets: one morph per pair of node and target, over all primitives of the node's mesh. */
#include "io/gltf_document.h"

/* The parts of one node. The parts are consecutive, and so are their vertices. */
typedef struct group {
    uint32_t first_part, part_count;
    uint32_t first_vertex, vertex_count;
    uint32_t target_count;
} group;

static void find_group(const px_gltf *doc, const pelt_mesh *mesh, uint32_t first, group *g) {
    *g = (group){.first_part = first, .first_vertex = mesh->parts[first].first_vertex};
    for (uint32_t p = first; p < mesh->part_count && mesh->parts[p].joint == mesh->parts[first].joint; p++) {
        uint32_t targets = px_json_count(px_json_get(doc->sources[p].json, "targets"));
        g->target_count = targets > g->target_count ? targets : g->target_count;
        g->vertex_count += mesh->parts[p].vertex_count;
        g->part_count++;
    }
}

/* Reads the displacements of one primitive into an array of the group. *array NULL: no earlier primitive had any; it is
 * allocated here. */
static pelt_result read_offsets(px_gltf *doc, const px_json *target, const char *name, const group *g,
                                const pelt_part *part, const float **array,
                                void (*move)(const pelt_affine *, float *, size_t)) {
    px_gltf_accessor a;
    PX_TRY(px_gltf_attribute(doc, target, name, part->vertex_count, 3, PX_GLTF_FLOAT | PX_GLTF_ANY, &a));
    if (a.index == PELT_NONE)
        return PELT_OK;
    if (!*array && !(*array = PX_GLTF_NEW(doc, float, 3 * (size_t)g->vertex_count)))
        return doc->failure;
    size_t offset = 3 * (size_t)(part->first_vertex - g->first_vertex), count = 3 * (size_t)part->vertex_count;
    float *out = (float *)(uintptr_t)*array + offset; /* const in the model, filled here */
    PX_TRY(px_gltf_floats(doc, &a, out));
    pelt_affine inverse;
    if (!part->skinned && px_gltf_moves_part(doc, part->joint, &inverse))
        move(&doc->globals[part->joint], out, part->vertex_count);
    for (size_t v = 0; v < count; v++)
        if (!isfinite(out[v]))
            return px_gltf_fail(doc, "%s: accessor %u: element %zu is not finite", name, a.index, v / 3);
    return PELT_OK;
}

/* Reads the colour displacements of one primitive into an array of the group. Alpha is dropped. */
static pelt_result read_colors(px_gltf *doc, const px_json *target, const group *g, const pelt_part *part,
                               pelt_morph *morph) {
    px_gltf_accessor a;
    PX_TRY(px_gltf_attribute(doc, target, "COLOR_0", part->vertex_count, 0, PX_GLTF_FLOAT | PX_GLTF_ANY, &a));
    if (a.index == PELT_NONE || a.width < 3)
        return PELT_OK;
    if (!morph->colors && !(morph->colors = PX_GLTF_NEW(doc, float, 3 * (size_t)g->vertex_count)))
        return doc->failure;
    float *values = PX_ALLOC(doc->context, float, (size_t)part->vertex_count *a.width);
    float *out = (float *)(uintptr_t)morph->colors + 3 * (size_t)(part->first_vertex - g->first_vertex);
    pelt_result result = values ? px_gltf_floats(doc, &a, values) : PELT_ERROR_MEMORY;
    for (size_t v = 0; result == PELT_OK && v < 3 * (size_t)part->vertex_count; v++) {
        out[v] = values[v / 3 * a.width + v % 3];
        if (!isfinite(out[v]))
            result = px_gltf_fail(doc, "COLOR_0: accessor %u: element %zu is not finite", a.index, v / 3);
    }
    px_free(doc->context, values);
    return result;
}

static pelt_result read_morph(px_gltf *doc, const pelt_mesh *mesh, const group *g, pelt_morph *morph,
                              const px_json **targets) {
    for (uint32_t p = 0; p < g->part_count; p++) {
        const px_gltf_source *source = &doc->sources[g->first_part + p];
        const pelt_part *part = &mesh->parts[g->first_part + p];
        px_gltf_place(doc, "mesh %u, primitive %u, target %u", source->mesh, source->primitive, morph->index);
        PX_TRY(read_offsets(doc, targets[p], "POSITION", g, part, &morph->positions, px_gltf_move_offsets));
        PX_TRY(read_offsets(doc, targets[p], "NORMAL", g, part, &morph->normals, px_gltf_move_normal_offsets));
        PX_TRY(read_offsets(doc, targets[p], "TANGENT", g, part, &morph->tangents, px_gltf_move_tangent_offsets));
        PX_TRY(read_colors(doc, targets[p], g, part, morph));
        targets[p] = targets[p] ? targets[p]->next : NULL;
    }
    if (!morph->positions && !(morph->positions = PX_GLTF_NEW(doc, float, 3 * (size_t)g->vertex_count)))
        return doc->failure;
    return PELT_OK;
}

static pelt_result read_group(px_gltf *doc, const pelt_mesh *mesh, const group *g, pelt_morph *out) {
    const px_gltf_source *source = &doc->sources[g->first_part];
    const px_json *node = doc->nodes.items[source->node], *json = doc->meshes.items[source->mesh];
    const px_json *weights = px_json_get(node, "weights"), **targets;
    const px_json *names = px_json_get(px_json_get(json, "extras"), "targetNames");
    if (!px_json_is(weights, PX_JSON_ARRAY))
        weights = px_json_get(json, "weights");
    if (!(targets = PX_ALLOC(doc->context, const px_json *, g->part_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < g->part_count; p++) {
        const px_json *list = px_json_get(doc->sources[g->first_part + p].json, "targets");
        targets[p] = list ? list->first : NULL;
    }
    const px_json *weight = weights ? weights->first : NULL, *name = names ? names->first : NULL;
    pelt_result result = PELT_OK;
    for (uint32_t t = 0; result == PELT_OK && t < g->target_count; t++) {
        float value = (float)px_json_double(weight, 0);
        out[t] = (pelt_morph){.name = px_json_string(name, ""),
                              .joint = mesh->parts[g->first_part].joint,
                              .index = t,
                              .first_vertex = g->first_vertex,
                              .vertex_count = g->vertex_count,
                              .weight = isfinite(value) ? value : 0};
        result = read_morph(doc, mesh, g, &out[t], targets);
        weight = weight ? weight->next : NULL;
        name = name ? name->next : NULL;
    }
    px_free(doc->context, targets);
    return result;
}

pelt_result px_gltf_read_morphs(px_gltf *doc, pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    uint64_t count = 0;
    group g;
    for (uint32_t p = 0; p < mesh->part_count; p += g.part_count) {
        find_group(doc, mesh, p, &g);
        count += g.target_count;
    }
    px_gltf_place(doc, "morph targets");
    if (count == 0)
        return PELT_OK;
    if (count > UINT32_MAX || !(model->morphs.morphs = PX_GLTF_NEW(doc, pelt_morph, (size_t)count)))
        return count > UINT32_MAX ? px_gltf_fail(doc, "there are too many") : doc->failure;
    for (uint32_t p = 0; p < mesh->part_count; p += g.part_count) {
        find_group(doc, mesh, p, &g);
        PX_TRY(read_group(doc, mesh, &g, model->morphs.morphs + model->morphs.morph_count));
        model->morphs.morph_count += g.target_count;
        PX_TRY(px_cancelled(doc->context));
    }
    return PELT_OK;
}
