/* Further layers of a model's source file: see layers.h. */
#include "io/layers.h"

#include "io/gltf_document.h"

#include <stdio.h>

float px_layer_default(const px_layer *layer) {
    return layer->width == PX_COLOR_WIDTH ? 1 : 0;
}

uint32_t px_layer_number(const px_layers *layers, uint32_t n) {
    uint32_t number = 0;
    for (uint32_t m = 0; m < n; m++)
        number += layers->layers[m].width == layers->layers[n].width;
    return number;
}

float *px_layer_alloc(px_arena *arena, const px_layer *layer, size_t count) {
    float *values = PX_NEW(arena, float, px_mul_size(layer->width, count)), filler = px_layer_default(layer);
    for (size_t i = 0; values && filler != 0 && i < layer->width * count; i++)
        values[i] = filler;
    return values;
}

/* ---- glTF ------------------------------------------------------------------------------------------------------- */

/* Values of one part; unchanged where it does not have the attribute. */
static pelt_result get_part(px_gltf *doc, const pelt_mesh *mesh, uint32_t part, const px_layer *layer) {
    const px_gltf_source *source = &doc->sources[part];
    const pelt_part *p = &mesh->parts[part];
    px_gltf_accessor a;
    px_gltf_place(doc, "mesh %u, primitive %u", source->mesh, source->primitive);
    PX_TRY(px_gltf_attribute(doc, px_json_get(source->json, "attributes"), layer->name, source->vertex_count, 0,
                             PX_GLTF_FLOAT | PX_GLTF_ANY, &a));
    if (a.index == PELT_NONE || a.width < 2)
        return PELT_OK;
    float *values = px_alloc(doc->context, px_mul_size(source->vertex_count, a.width), sizeof *values);
    pelt_result result = values ? px_gltf_floats(doc, &a, values) : PELT_ERROR_MEMORY;
    for (uint32_t i = 0; result == PELT_OK && i < p->vertex_count; i++) {
        uint32_t origin = mesh->origins ? mesh->origins[p->first_vertex + i] - source->first_vertex : i;
        float *out = layer->values + (size_t)layer->width * (p->first_vertex + i);
        for (uint32_t c = 0; c < layer->width && c < a.width && origin < source->vertex_count; c++) {
            float value = values[(size_t)origin * a.width + c];
            out[c] = isfinite(value) ? value : px_layer_default(layer);
        }
        if (layer->width == PX_UV_WIDTH)
            out[1] = 1 - out[1];
    }
    px_free(doc->context, values);
    return result;
}

static bool has_attribute(const px_gltf *doc, const char *name) {
    for (uint32_t p = 0; p < doc->source_count; p++)
        if (px_json_get(px_json_get(doc->sources[p].json, "attributes"), name))
            return true;
    return false;
}

/* TEXCOORD_1 … and COLOR_0 …, each up to the first number that no part has. */
static pelt_result from_gltf(px_arena *arena, px_gltf *doc, const pelt_mesh *mesh, px_layers *out) {
    static const char *const kinds[] = {"TEXCOORD_%u", "COLOR_%u"};
    if (doc->source_count != mesh->part_count || (!mesh->origins && doc->vertex_count != mesh->vertex_count))
        return PELT_OK;
    if (!(out->layers = PX_NEW(arena, px_layer, PX_MAX_LAYERS)))
        return PELT_ERROR_MEMORY;
    for (uint32_t kind = 0; kind < PX_COUNT(kinds); kind++)
        for (uint32_t n = kind == 0; n < PX_MAX_LAYERS && out->layer_count < PX_MAX_LAYERS; n++) {
            char name[32];
            px_layer *layer = &out->layers[out->layer_count];
            snprintf(name, sizeof name, kinds[kind], n);
            if (!has_attribute(doc, name))
                break;
            *layer = (px_layer){px_arena_text(arena, name, strlen(name)), kind ? PX_COLOR_WIDTH : PX_UV_WIDTH, NULL};
            if (!layer->name || !(layer->values = px_layer_alloc(arena, layer, mesh->vertex_count)))
                return PELT_ERROR_MEMORY;
            for (uint32_t p = 0; p < mesh->part_count; p++)
                PX_TRY(get_part(doc, mesh, p, layer));
            out->layer_count++;
        }
    out->vertex_count = mesh->vertex_count;
    return PELT_OK;
}

/* ---- Other formats ---------------------------------------------------------------------------------------------- */

static pelt_result from_kept(px_arena *arena, const px_layers *kept, const pelt_mesh *mesh, px_layers *out) {
    if (kept->layer_count == 0 || (!mesh->origins && kept->vertex_count != mesh->vertex_count))
        return PELT_OK;
    if (!mesh->origins) {
        *out = *kept;
        return PELT_OK;
    }
    if (!(out->layers = PX_NEW(arena, px_layer, kept->layer_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < kept->layer_count; n++) {
        px_layer *layer = &out->layers[n];
        *layer = kept->layers[n];
        if (!(layer->values = px_layer_alloc(arena, layer, mesh->vertex_count)))
            return PELT_ERROR_MEMORY;
        for (uint32_t i = 0; i < mesh->vertex_count; i++)
            if (mesh->origins[i] < kept->vertex_count)
                memcpy(layer->values + (size_t)layer->width * i,
                       kept->layers[n].values + (size_t)layer->width * mesh->origins[i], layer->width * sizeof(float));
    }
    out->layer_count = kept->layer_count;
    out->vertex_count = mesh->vertex_count;
    return PELT_OK;
}

/* Colours that an operation set replace the first ones of the file. */
static pelt_result add_colors(px_arena *arena, const pelt_mesh *mesh, px_layers *out) {
    px_layer *all = PX_NEW(arena, px_layer, (size_t)out->layer_count + 1);
    if (!all)
        return PELT_ERROR_MEMORY;
    uint32_t n = 0;
    for (uint32_t m = 0; m < out->layer_count; m++)
        all[m] = out->layers[m];
    while (n < out->layer_count && all[n].width != PX_COLOR_WIDTH)
        n++;
    if (n == out->layer_count) {
        all[n] = (px_layer){.name = "COLOR_0", .width = PX_COLOR_WIDTH};
        out->layer_count++;
    }
    if (!(all[n].values = px_layer_alloc(arena, &all[n], mesh->vertex_count)))
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < mesh->vertex_count; i++)
        memcpy(all[n].values + PX_COLOR_WIDTH * i, mesh->colors + 3 * i, 3 * sizeof(float));
    out->layers = all;
    out->vertex_count = mesh->vertex_count;
    return PELT_OK;
}

static pelt_result from_document(px_arena *arena, const pelt_model *model, px_layers *out) {
    const px_document *document = model->document;
    if (!document)
        return PELT_OK;
    if (strcmp(document->format, px_format_gltf.info.name) == 0)
        return from_gltf(arena, document->data, &model->mesh, out);
    if (strcmp(document->format, px_format_usd.info.name) == 0 ||
        strcmp(document->format, px_format_fbx.info.name) == 0)
        return from_kept(arena, &((const px_kept *)document->data)->layers, &model->mesh, out);
    return PELT_OK;
}

pelt_result px_layers_get(px_arena *arena, const pelt_model *model, px_layers *out) {
    *out = (px_layers){0};
    PX_TRY(from_document(arena, model, out));
    return model->mesh.colors ? add_colors(arena, &model->mesh, out) : PELT_OK;
}
