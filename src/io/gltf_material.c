/* Materials of files of other formats in glTF documents. */
#include "io/gltf_document.h"
#include "io/materials.h"

/* The index of an image in the document; it is added on its first use. */
static uint32_t put_image(px_gltf_writer *w, const px_image *image, uint32_t number) {
    px_json *images = px_gltf_member(w, w->root, "images", PX_JSON_ARRAY);
    for (uint32_t n = 0; n < w->image_count; n++)
        if (w->images[n] == number)
            return n;
    px_json *json = px_gltf_push(w, images, px_json_object(w->arena));
    if (image->name[0])
        px_gltf_put(w, json, "name", px_json_new_string(w->arena, image->name));
    px_gltf_put(w, json, "mimeType", px_json_new_string(w->arena, px_image_type(image->extension)));
    px_gltf_put_uint(w, json, "bufferView", px_gltf_add_view(w, image->data, image->size, 0));
    w->images[w->image_count] = number;
    return w->image_count++;
}

static uint32_t put_sampler(px_gltf_writer *w, const px_texture *texture) {
    static const uint32_t modes[] = {10497, 33648, 33071};
    px_json *samplers = px_gltf_member(w, w->root, "samplers", PX_JSON_ARRAY);
    uint32_t index = 0;
    for (const px_json *s = samplers ? samplers->first : NULL; s; s = s->next, index++)
        if (px_json_uint(px_json_get(s, "wrapS"), UINT32_MAX, 0) == modes[texture->wrap[0]] &&
            px_json_uint(px_json_get(s, "wrapT"), UINT32_MAX, 0) == modes[texture->wrap[1]])
            return index;
    px_json *sampler = px_gltf_push(w, samplers, px_json_object(w->arena));
    px_gltf_put_uint(w, sampler, "wrapS", modes[texture->wrap[0]]);
    px_gltf_put_uint(w, sampler, "wrapT", modes[texture->wrap[1]]);
    return index;
}

static void put_texture(px_gltf_writer *w, px_json *object, const char *key, const px_materials *all,
                        const px_texture *texture) {
    if (texture->image == PELT_NONE)
        return;
    if (!all->images[texture->image].extension) {
        px_log(w->context, PELT_LOG_WARNING, "the image %.200s is not there, or neither PNG nor JPEG; it is left out",
               all->images[texture->image].name);
        return;
    }
    uint32_t image = put_image(w, &all->images[texture->image], texture->image), sampler = put_sampler(w, texture);
    px_json *textures = px_gltf_member(w, w->root, "textures", PX_JSON_ARRAY);
    px_json *json = px_gltf_push(w, textures, px_json_object(w->arena));
    px_gltf_put_uint(w, json, "source", image);
    px_gltf_put_uint(w, json, "sampler", sampler);
    px_gltf_put_uint(w, px_gltf_put(w, object, key, px_json_object(w->arena)), "index", px_json_count(textures) - 1);
}

void px_gltf_fill_material(px_gltf_writer *w, px_json *json, const char *name) {
    const px_document *document = w->model->document;
    px_materials all;
    if (!document || strcmp(document->format, px_format_gltf.info.name) == 0)
        return; /* the writer copies documents of its own format */
    if (px_materials_get(w->arena, w->model, &all) != PELT_OK)
        return;
    const px_material *m = px_material_named(&all, name);
    if (!m)
        return;
    if (!w->images && !(w->images = PX_NEW(w->arena, uint32_t, all.image_count))) {
        w->failed = true;
        return;
    }
    px_json *surface = px_gltf_put(w, json, "pbrMetallicRoughness", px_json_object(w->arena));
    px_gltf_put_floats(w, surface, "baseColorFactor", m->base_color, 4);
    px_gltf_put(w, surface, "metallicFactor", px_json_new_float(w->arena, m->metallic));
    px_gltf_put(w, surface, "roughnessFactor", px_json_new_float(w->arena, m->roughness));
    px_gltf_put_floats(w, json, "emissiveFactor", m->emissive, 3);
    if (m->alpha != PX_ALPHA_OPAQUE)
        px_gltf_put(w, json, "alphaMode", px_json_new_string(w->arena, m->alpha == PX_ALPHA_MASK ? "MASK" : "BLEND"));
    if (m->alpha == PX_ALPHA_MASK)
        px_gltf_put(w, json, "alphaCutoff", px_json_new_float(w->arena, m->cutoff));
    if (m->double_sided)
        px_gltf_put(w, json, "doubleSided", px_json_new_bool(w->arena, true));
    put_texture(w, surface, "baseColorTexture", &all, &m->textures[PX_TEXTURE_BASE]);
    put_texture(w, surface, "metallicRoughnessTexture", &all, &m->textures[PX_TEXTURE_SURFACE]);
    put_texture(w, json, "normalTexture", &all, &m->textures[PX_TEXTURE_NORMAL]);
    put_texture(w, json, "occlusionTexture", &all, &m->textures[PX_TEXTURE_SHADE]);
    put_texture(w, json, "emissiveTexture", &all, &m->textures[PX_TEXTURE_EMISSIVE]);
}
