/* Plain arrays, which every program reads: views of the source with EXT_meshopt_compression are decoded, and attributes with KHR_mesh_quantization
 * become floats. (Draco data is decoded when it is read.) Images of KHR_texture_basisu stay, but are no longer required: programs without it
 * show the surface without these textures, instead of nothing. */
#include "io/gltf_document.h"

#include "core/math3.h"

/* ---- Compressed views ------------------------------------------------------------------------------------- */

static void remove_extension(px_json *owner, const char *name) {
    px_json *extensions = px_json_get(owner, "extensions");
    if (!extensions)
        return;
    px_json_remove(extensions, name);
    if (extensions->count == 0)
        px_json_remove(owner, "extensions");
}

/* The first views of the new document are those of the source. */
static pelt_result decode_views(px_gltf_writer *w) {
    static const char zeros[4];
    uint32_t index = 0;
    for (px_json *view = w->views->first; view && index < w->source->views.count; view = view->next, index++) {
        const uint8_t *data;
        size_t size;
        if (!px_gltf_compressed(view))
            continue;
        PX_TRY(px_gltf_view_bytes(w->source, index, &data, &size));
        remove_extension(view, PX_GLTF_MESHOPT);
        px_gltf_put_uint(w, view, "buffer", w->new_buffer);
        px_gltf_put(w, view, "byteOffset", px_json_new_uint(w->arena, w->data.size));
        px_gltf_put(w, view, "byteLength", px_json_new_uint(w->arena, size));
        px_buffer_add(&w->data, data, size);
        px_buffer_add(&w->data, zeros, (0 - size) & 3);
        w->failed |= w->data.failed;
        w->mended = true;
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* ---- Quantised attributes --------------------------------------------------------------------------------- */

/* Whether an attribute has a type that only KHR_mesh_quantization allows. */
static bool is_quantized(const char *name, const px_json *accessor) {
    uint64_t component = px_json_uint(px_json_get(accessor, "componentType"), 6000, PX_GLTF_F32);
    bool texture = strncmp(name, "TEXCOORD_", 9) == 0, unit = px_json_bool(px_json_get(accessor, "normalized"), false);
    if (component == PX_GLTF_F32 || (texture && unit && (component == PX_GLTF_U8 || component == PX_GLTF_U16)))
        return false;
    return texture || strcmp(name, "POSITION") == 0 || strcmp(name, "NORMAL") == 0 || strcmp(name, "TANGENT") == 0;
}

/* Adds an accessor of floats with the elements of accessor `from` of the source. */
static pelt_result add_floats(px_gltf_writer *w, uint32_t from, const char *name, bool offsets, uint32_t *to) {
    px_gltf_accessor a;
    bool bounds = px_json_get(w->source->accessors.items[from], "min") != NULL;
    bool directions = !offsets && (strcmp(name, "NORMAL") == 0 || strcmp(name, "TANGENT") == 0);
    PX_TRY(px_gltf_accessor_get(w->source, from, name, 0, PX_GLTF_ANY, &a));
    float *values = PX_ALLOC(w->context, float, (size_t)a.count *a.width);
    pelt_result result = values ? px_gltf_floats(w->source, &a, values) : PELT_ERROR_MEMORY;
    for (size_t i = 0; result == PELT_OK && directions && i < a.count; i++) { /* floats must be of unit length */
        double v[3] = {(double)values[a.width * i], (double)values[a.width * i + 1], (double)values[a.width * i + 2]};
        px_normalize3(v);
        for (size_t x = 0; x < 3; x++)
            values[a.width * i + x] = (float)v[x];
    }
    if (result == PELT_OK)
        *to = px_gltf_add_accessor(w, values, a.count, a.width, PX_GLTF_F32, PX_GLTF_VERTICES, bounds);
    px_free(w->context, values);
    return result;
}

/* Replaces quantised attributes of a primitive, or of a morph target (`offsets`). made [accessor of the source]: the accessor of floats + 1, or 0. */
static pelt_result replace(px_gltf_writer *w, px_json *attributes, bool offsets, uint32_t *made) {
    for (px_json *next, *item = attributes ? attributes->first : NULL; item; item = next) {
        uint32_t from = (uint32_t)px_json_uint(item, PELT_NONE - 1, PELT_NONE);
        const char *name = item->key;
        next = item->next; /* the item is replaced */
        if (from >= w->source->accessors.count || !is_quantized(name, w->source->accessors.items[from]))
            continue;
        if (!made[from]) {
            PX_TRY(add_floats(w, from, name, offsets, &made[from]));
            made[from]++;
        }
        px_gltf_put_uint(w, attributes, name, made[from] - 1);
        w->mended = true;
    }
    return w->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static pelt_result replace_quantized(px_gltf_writer *w) {
    uint32_t *made = PX_NEW(w->arena, uint32_t, w->source->accessors.count);
    if (!made)
        return PELT_ERROR_MEMORY;
    for (px_json *mesh = w->meshes->first; mesh; mesh = mesh->next) {
        px_json *primitives = px_json_get(mesh, "primitives");
        for (px_json *p = primitives ? primitives->first : NULL; p; p = p->next) {
            px_json *targets = px_json_get(p, "targets");
            PX_TRY(replace(w, px_json_get(p, "attributes"), false, made));
            for (px_json *target = targets ? targets->first : NULL; target; target = target->next)
                PX_TRY(replace(w, target, true, made));
        }
    }
    return PELT_OK;
}

pelt_result px_gltf_plain(px_gltf_writer *w) {
    static const char *const names[] = {PX_GLTF_MESHOPT, "KHR_mesh_quantization"};
    if (!w->source)
        return PELT_OK;
    PX_TRY(decode_views(w));
    PX_TRY(replace_quantized(w));
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        px_gltf_remove_name(w->root, "extensionsUsed", names[n]);
        px_gltf_remove_name(w->root, "extensionsRequired", names[n]);
    }
    px_gltf_remove_name(w->root, "extensionsRequired", "KHR_texture_basisu");
    return PELT_OK;
}
