/* Vertex attributes that the model does not hold; decoded from the document on request. Other formats have further layers (layers.h),
 * by their own names or by those of glTF. */
#include "io/gltf_document.h"

#include <stdio.h>

typedef struct request {
    px_gltf *doc;
    const pelt_mesh *mesh;
    char name[64];      /* attribute name without the component suffix */
    uint32_t component; /* index of the component to read, 0 to 3 */
} request;

/* Splits a name into attribute and component: "COLOR_0.g" is component 1 of COLOR_0. */
static void parse_name(request *r, const char *name) {
    const char *dot = strrchr(name, '.'), *letters = "rgbaxyzw", *letter = NULL;
    if (dot && dot[1] && !dot[2])
        letter = strchr(letters, dot[1]);
    size_t length = letter ? (size_t)(dot - name) : strlen(name);
    r->component = letter ? (uint32_t)(letter - letters) % 4 : 0;
    length = px_min_size(length, sizeof r->name - 1);
    memcpy(r->name, name, length);
    r->name[length] = 0;
}

static const px_json *attributes_of(const request *r, uint32_t part) {
    return px_json_get(r->doc->sources[part].json, "attributes");
}

static bool has_attribute(const request *r, uint32_t part, const char *name) {
    return px_json_get(attributes_of(r, part), name) != NULL;
}

static pelt_result fail_unknown(const request *r) {
    px_buffer list = {.context = r->doc->context};
    for (uint32_t p = 0; p < r->mesh->part_count; p++) {
        const px_json *attributes = attributes_of(r, p);
        for (const px_json *a = attributes ? attributes->first : NULL; a; a = a->next) {
            uint32_t before = 0;
            while (before < p && !has_attribute(r, before, a->key))
                before++;
            if (before == p)
                px_buffer_format(&list, "%s%s", list.size ? ", " : "", a->key);
        }
    }
    if (list.size == 0)
        px_buffer_text(&list, "none");
    pelt_result result =
        list.failed ? PELT_ERROR_MEMORY
                    : px_fail(r->doc->context, PELT_ERROR_INPUT, "there is no vertex attribute \"%s\"; there are: %.*s",
                              r->name, (int)px_min_size(list.size, 300), list.data);
    px_buffer_free(&list);
    return result;
}

static pelt_result read_part(const request *r, uint32_t part, float *out) {
    px_gltf_accessor a;
    const px_gltf_source *source = &r->doc->sources[part];
    const pelt_part *p = &r->mesh->parts[part];
    uint32_t count = source->vertex_count;
    px_gltf_place(r->doc, "mesh %u, primitive %u", source->mesh, source->primitive);
    PX_TRY(px_gltf_attribute(r->doc, attributes_of(r, part), r->name, count, 0, PX_GLTF_FLOAT | PX_GLTF_ANY, &a));
    if (r->component >= a.width)
        return px_gltf_fail(r->doc, "%s: its elements have only %u components", r->name, a.width);
    float *values = px_alloc(r->doc->context, px_mul_size(count, a.width), sizeof *values);
    pelt_result result = values ? px_gltf_floats(r->doc, &a, values) : PELT_ERROR_MEMORY;
    for (uint32_t i = 0; result == PELT_OK && i < p->vertex_count; i++) {
        uint32_t origin = r->mesh->origins ? r->mesh->origins[p->first_vertex + i] - source->first_vertex : i;
        out[i] = origin < count ? values[(size_t)origin * a.width + r->component] : NAN;
    }
    px_free(r->doc->context, values);
    return result;
}

static pelt_result read_parts(const request *r, float *out) {
    bool found = false;
    for (uint32_t p = 0; p < r->mesh->part_count; p++) {
        float *part_out = out + r->mesh->parts[p].first_vertex;
        if (has_attribute(r, p, r->name)) {
            PX_TRY(read_part(r, p, part_out));
            found = true;
        } else {
            for (uint32_t i = 0; i < r->mesh->parts[p].vertex_count; i++)
                part_out[i] = NAN;
        }
    }
    return found ? PELT_OK : fail_unknown(r);
}

/* The name of a layer in glTF files. */
static void gltf_name(const px_layers *layers, uint32_t n, bool uvs, char *name, size_t size) {
    bool color = layers->layers[n].width == PX_COLOR_WIDTH;
    snprintf(name, size, color ? "COLOR_%u" : "TEXCOORD_%u", px_layer_number(layers, n) + (!color && uvs));
}

static pelt_result fail_layer(pelt_context *context, const pelt_mesh *mesh, const px_layers *layers, const char *name) {
    px_buffer list = {.context = context};
    char own[32];
    for (uint32_t n = 0; n < layers->layer_count; n++) {
        gltf_name(layers, n, mesh->uvs != NULL, own, sizeof own);
        px_buffer_format(&list, "%s%s", n ? ", " : "", own);
    }
    pelt_result result =
        list.failed ? PELT_ERROR_MEMORY
                    : px_fail(context, PELT_ERROR_INPUT, "there is no vertex attribute \"%s\"; there are: %.*s", name,
                              (int)px_min_size(list.size, 300), list.data);
    px_buffer_free(&list);
    return result;
}

static pelt_result read_layer(pelt_context *context, px_arena *arena, const pelt_model *model, const char *name,
                              float *out) {
    request r = {.mesh = &model->mesh};
    px_layers layers;
    char own[32];
    uint32_t n = 0;
    parse_name(&r, name);
    PX_TRY(px_layers_get(arena, model, &layers));
    if (layers.layer_count == 0)
        return px_fail(context, PELT_ERROR_INPUT,
                       "has no vertex attributes by name; they are read from glTF, FBX and USD files");
    for (; n < layers.layer_count; n++) {
        gltf_name(&layers, n, model->mesh.uvs != NULL, own, sizeof own);
        if (strcmp(own, r.name) == 0 || strcmp(layers.layers[n].name, r.name) == 0)
            break;
    }
    if (n == layers.layer_count)
        return fail_layer(context, r.mesh, &layers, r.name);
    const px_layer *layer = &layers.layers[n];
    if (r.component >= layer->width)
        return px_fail(context, PELT_ERROR_INPUT, "%s: its elements have only %u components", r.name, layer->width);
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        out[i] = layer->values[layer->width * i + r.component];
    return PELT_OK;
}

pelt_result pelt_vertex_attribute(pelt_context *context, const pelt_model *model, const char *name, float *out) {
    const px_document *document = model->document;
    const char *subject = px_subject(context, model->path[0] ? model->path : NULL);
    px_gltf *doc = document && strcmp(document->format, px_format_gltf.info.name) == 0 ? document->data : NULL;
    pelt_result result;
    if (doc && (doc->source_count != model->mesh.part_count ||
                (!model->mesh.origins && doc->vertex_count != model->mesh.vertex_count))) {
        result =
            px_fail(context, PELT_ERROR_INPUT, "has another mesh now than in the file, whose attributes do not fit");
    } else if (doc) {
        request r = {.doc = doc, .mesh = &model->mesh};
        parse_name(&r, name);
        result = read_parts(&r, out);
    } else {
        px_arena *arena = px_arena_create(context);
        result = arena ? read_layer(context, arena, model, name, out) : PELT_ERROR_MEMORY;
        px_arena_destroy(arena);
    }
    px_subject(context, subject);
    return result;
}
