/* Rewrites primitives whose vertices differ from those in the file, or are in another order (PELT_CHANGED_VERTICES):
 * every attribute of the primitive and of its morph targets, whether the model holds it or not, becomes an accessor of
 * the current vertices. Values keep their component type and their bits. */
#include "io/gltf_document.h"

static float raw_number(px_gltf_component component, const uint8_t *p) {
    switch (component) {
    case PX_GLTF_I8:
        return (float)(int8_t)p[0];
    case PX_GLTF_U8:
        return (float)p[0];
    case PX_GLTF_I16:
        return (float)(int16_t)(p[0] | p[1] << 8);
    case PX_GLTF_U16:
        return (float)(p[0] | p[1] << 8);
    case PX_GLTF_U32:
        return (float)px_load_u32(p);
    default:
        return px_float_from_bits(px_load_u32(p));
    }
}

/* Writes min and max of the stored values, which are not normalised. */
static void put_bounds(px_gltf_writer *w, px_json *json, const px_gltf_accessor *a, const uint8_t *rows, size_t stride,
                       uint32_t count) {
    float low[4], high[4];
    for (size_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < a->width; c++) {
            float value = raw_number(a->component, rows + i * stride + c * px_gltf_component_size(a->component));
            low[c] = i == 0 || value < low[c] ? value : low[c];
            high[c] = i == 0 || value > high[c] ? value : high[c];
        }
    px_gltf_put_floats(w, json, "min", low, a->width);
    px_gltf_put_floats(w, json, "max", high, a->width);
}

/* Adds a copy of an accessor's JSON with a new view of `rows`. */
static uint32_t add_accessor(px_gltf_writer *w, const px_gltf_accessor *a, const uint8_t *rows, size_t size,
                             size_t stride, uint32_t count, bool bounds) {
    px_json *json = px_gltf_push(w, w->accessors, px_json_copy(w->arena, w->source->accessors.items[a->index]));
    uint32_t view = px_gltf_add_view(w, rows, count * stride, PX_GLTF_VERTICES);
    if (stride != size)
        px_gltf_put_uint(w, px_json_at(w->views, view), "byteStride", (uint32_t)stride);
    static const char *const gone[] = {"byteOffset", "sparse", "min", "max"};
    for (size_t n = 0; n < PX_COUNT(gone); n++)
        px_json_remove(json, gone[n]);
    px_gltf_put_uint(w, json, "bufferView", view);
    px_gltf_put_uint(w, json, "count", count);
    if (bounds)
        put_bounds(w, json, a, rows, stride, count);
    return px_json_count(w->accessors) - 1;
}

static pelt_result gather(px_gltf_writer *w, uint32_t part, px_json *object, const char *name) {
    const px_gltf_source *source = &w->source->sources[part];
    const pelt_part *p = &w->parts[part];
    uint32_t every = PX_GLTF_FLOAT | PX_GLTF_UNIT | PX_GLTF_SIGNED | PX_GLTF_INTEGER | PX_GLTF_INTEGER32 | PX_GLTF_ANY;
    px_gltf_accessor a;
    px_gltf_place(w->source, "mesh %u, primitive %u", source->mesh, source->primitive);
    PX_TRY(px_gltf_attribute(w->source, object, name, source->vertex_count, 0, every, &a));
    size_t size = a.size, stride = (size + 3) & ~(size_t)3;
    uint8_t *rows = px_alloc(w->context, p->vertex_count, stride);
    if (!rows)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < p->vertex_count; i++) {
        const uint8_t *element = px_gltf_element(&a, px_gltf_origin(w, part, i));
        if (element)
            memcpy(rows + i * stride, element, size);
    }
    bool bounds = a.width <= 4 && strcmp(name, "POSITION") == 0;
    px_gltf_put_uint(w, object, name, add_accessor(w, &a, rows, size, stride, p->vertex_count, bounds));
    px_free(w->context, rows);
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Rewrites all members of `attributes`, except weights that px_gltf_mend will correct. Replacing a member keeps its
 * position and leaves member->next valid. */
static pelt_result gather_all(px_gltf_writer *w, uint32_t part, px_json *attributes) {
    for (px_json *member = attributes ? attributes->first : NULL; member; member = member->next)
        if (!(w->source->sources[part].off && strncmp(member->key, "WEIGHTS_", 8) == 0))
            PX_TRY(gather(w, part, attributes, member->key));
    return PELT_OK;
}

static pelt_result check(const px_gltf_writer *w, uint32_t part) {
    const px_gltf_source *source = &w->source->sources[part];
    for (uint32_t i = 0; i < w->parts[part].vertex_count; i++)
        if (px_gltf_origin(w, part, i) >= source->vertex_count)
            return px_fail(w->context, PELT_ERROR_USAGE,
                           "vertex %u is said to be one of the file's that its part does not have",
                           w->parts[part].first_vertex + i);
    return PELT_OK;
}

pelt_result px_gltf_gather_vertices(px_gltf_writer *w, uint32_t part) {
    px_json *primitive = w->primitives[part], *targets = px_json_get(primitive, "targets");
    PX_TRY(check(w, part));
    PX_TRY(gather_all(w, part, px_json_get(primitive, "attributes")));
    for (px_json *target = targets ? targets->first : NULL; target; target = target->next)
        PX_TRY(gather_all(w, part, target));
    px_json_remove(primitive, "mode"); /* the reader converted strips and fans to triangles */
    return PELT_OK;
}
