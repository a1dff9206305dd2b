/* Materials of a model's source file: see materials.h. */
#include "io/materials.h"

#include "io/gltf_document.h"
#include "io/layers.h"
#include "io/usd.h"

#include <stdio.h>

px_material px_material_default(const char *name) {
    px_material m = {.name = name, .base_color = {1, 1, 1, 1}, .metallic = 1, .roughness = 1, .cutoff = 0.5f};
    for (int use = 0; use < PX_TEXTURE_USES; use++)
        m.textures[use].image = PELT_NONE;
    return m;
}

const px_material *px_material_named(const px_materials *materials, const char *name) {
    for (uint32_t m = 0; m < materials->material_count; m++)
        if (strcmp(materials->materials[m].name, name) == 0)
            return &materials->materials[m];
    return NULL;
}

const char *px_image_extension(const uint8_t *data, size_t size) {
    if (size >= 8 && memcmp(data, "\x89PNG\r\n\x1A\n", 8) == 0)
        return "png";
    if (size >= 3 && memcmp(data, "\xFF\xD8\xFF", 3) == 0)
        return "jpg";
    if (size >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0)
        return "webp";
    return size >= 8 && memcmp(data, "\xABKTX 20\xBB", 8) == 0 ? "ktx2" : NULL;
}

const char *px_image_type(const char *extension) {
    return strcmp(extension, "png") == 0    ? "image/png"
           : strcmp(extension, "jpg") == 0  ? "image/jpeg"
           : strcmp(extension, "webp") == 0 ? "image/webp"
                                            : "image/ktx2";
}

static pelt_result read_beside(const px_read *read, const char *name, px_image *out) {
    size_t folder = (size_t)(px_path_name(read->file.path) - read->file.path), length = strlen(name);
    char *path = px_alloc(read->context, folder + length + 1, 1);
    px_file file;
    if (!path)
        return PELT_ERROR_MEMORY;
    memcpy(path, read->file.path, folder);
    memcpy(path + folder, name, length + 1);
    pelt_result result = px_file_open(read->model->memory, path, &file);
    px_free(read->context, path);
    if (result == PELT_OK) {
        out->data = file.data;
        out->size = file.size;
        out->extension = px_image_extension(file.data, file.size);
    }
    return result == PELT_ERROR_MEMORY ? result : PELT_OK;
}

pelt_result px_image_beside(const px_read *read, const char *name, px_image *out) {
    const char *own = px_path_name(name), *dot = strrchr(own, '.');
    bool inside = name[0] && name[0] != '/' && !strstr(name, "..") && !strpbrk(name, ":\\");
    *out = (px_image){0};
    if (inside && !read->in_memory)
        PX_TRY(read_beside(read, name, out));
    out->name = px_arena_text(read->model->memory, own, out->extension && dot ? (size_t)(dot - own) : strlen(own));
    return out->name ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- glTF ------------------------------------------------------------------------------------------------------- */

static void get_floats(const px_json *object, const char *key, float *values, int count) {
    const px_json *item = px_json_get(object, key);
    item = item && item->kind == PX_JSON_ARRAY ? item->first : NULL;
    for (int c = 0; item && c < count; item = item->next, c++)
        values[c] = (float)px_json_double(item, values[c]);
}

static px_wrap get_wrap(const px_json *sampler, const char *key) {
    uint64_t mode = px_json_uint(px_json_get(sampler, key), UINT32_MAX, 10497);
    return mode == 33071 ? PX_WRAP_CLAMP : mode == 33648 ? PX_WRAP_MIRROR : PX_WRAP_REPEAT;
}

static px_texture get_texture(const px_gltf *doc, const px_json *info, uint32_t image_count, uint32_t *other_uvs) {
    px_texture texture = {.image = PELT_NONE};
    uint32_t index = (uint32_t)px_json_uint(px_json_get(info, "index"), PELT_NONE - 1, PELT_NONE);
    const px_json *json = index == PELT_NONE ? NULL : px_json_at(px_json_get(doc->root, "textures"), index);
    if (!json)
        return texture;
    if (px_json_uint(px_json_get(info, "texCoord"), UINT32_MAX, 0) != 0 ||
        px_json_get(px_json_get(info, "extensions"), "KHR_texture_transform")) {
        ++*other_uvs;
        return texture;
    }
    uint32_t image = (uint32_t)px_json_uint(px_json_get(json, "source"), PELT_NONE - 1, PELT_NONE);
    texture.image = image < image_count ? image : PELT_NONE;
    uint32_t sampler = (uint32_t)px_json_uint(px_json_get(json, "sampler"), PELT_NONE - 1, PELT_NONE);
    const px_json *modes = sampler == PELT_NONE ? NULL : px_json_at(px_json_get(doc->root, "samplers"), sampler);
    texture.wrap[0] = get_wrap(modes, "wrapS");
    texture.wrap[1] = get_wrap(modes, "wrapT");
    return texture;
}

static pelt_result get_image(px_gltf *doc, px_arena *arena, const px_json *json, uint32_t index, px_image *out) {
    const char *uri = px_json_string(px_json_get(json, "uri"), NULL), *path;
    uint32_t view = (uint32_t)px_json_uint(px_json_get(json, "bufferView"), PELT_NONE - 1, PELT_NONE);
    px_file file;
    pelt_result result = PELT_OK;
    px_gltf_place(doc, "image %u", index);
    out->name = px_json_string(px_json_get(json, "name"), "");
    if (uri && px_gltf_is_data_uri(uri)) {
        result = px_gltf_data_uri(doc, uri, strlen(uri), &out->data, &out->size);
    } else if (uri) {
        result = px_gltf_path(doc, arena, uri, &path);
        if (result == PELT_OK && (result = px_file_open(arena, path, &file)) == PELT_OK)
            *out = (px_image){.name = out->name, .data = file.data, .size = file.size};
    } else if (view < doc->views.count) {
        result = px_gltf_view_bytes(doc, view, &out->data, &out->size);
    }
    if (result == PELT_ERROR_MEMORY)
        return result;
    out->extension = result == PELT_OK && out->data ? px_image_extension(out->data, out->size) : NULL;
    if (!out->extension)
        px_log(doc->context, PELT_LOG_WARNING, "image %u cannot be read; it is left out", index);
    return PELT_OK;
}

static void get_material(const px_gltf *doc, const px_json *json, uint32_t image_count, px_material *m,
                         uint32_t *other_uvs) {
    const px_json *surface = px_json_get(json, "pbrMetallicRoughness");
    const char *mode = px_json_string(px_json_get(json, "alphaMode"), "OPAQUE");
    get_floats(surface, "baseColorFactor", m->base_color, 4);
    get_floats(json, "emissiveFactor", m->emissive, 3);
    m->metallic = (float)px_json_double(px_json_get(surface, "metallicFactor"), 1);
    m->roughness = (float)px_json_double(px_json_get(surface, "roughnessFactor"), 1);
    m->cutoff = (float)px_json_double(px_json_get(json, "alphaCutoff"), 0.5);
    m->alpha = strcmp(mode, "MASK") == 0    ? PX_ALPHA_MASK
               : strcmp(mode, "BLEND") == 0 ? PX_ALPHA_BLEND
                                            : PX_ALPHA_OPAQUE;
    m->double_sided = px_json_bool(px_json_get(json, "doubleSided"), false);
    const px_json *infos[PX_TEXTURE_USES] = {px_json_get(surface, "baseColorTexture"),
                                             px_json_get(surface, "metallicRoughnessTexture"),
                                             px_json_get(json, "normalTexture"), px_json_get(json, "occlusionTexture"),
                                             px_json_get(json, "emissiveTexture")};
    for (int use = 0; use < PX_TEXTURE_USES; use++)
        m->textures[use] = get_texture(doc, infos[use], image_count, other_uvs);
}

static pelt_result from_gltf(px_arena *arena, px_gltf *doc, px_materials *out) {
    const px_json *images = px_json_get(doc->root, "images");
    uint32_t other_uvs = 0, index = 0, image_count = px_json_count(images);
    out->images = PX_NEW(arena, px_image, image_count);
    out->materials = PX_NEW(arena, px_material, doc->materials.count);
    if (!out->images || !out->materials)
        return PELT_ERROR_MEMORY;
    for (const px_json *json = images ? images->first : NULL; json; json = json->next, index++)
        PX_TRY(get_image(doc, arena, json, index, &out->images[index]));
    out->image_count = image_count;
    for (uint32_t m = 0; m < doc->materials.count; m++) {
        char number[32];
        snprintf(number, sizeof number, "material_%u", m); /* as gltf_mesh.c names those without a name */
        const char *name = px_json_string(px_json_get(doc->materials.items[m], "name"), NULL);
        if (!name && !(name = px_arena_text(arena, number, strlen(number))))
            return PELT_ERROR_MEMORY;
        out->materials[m] = px_material_default(name);
        get_material(doc, doc->materials.items[m], image_count, &out->materials[m], &other_uvs);
    }
    out->material_count = doc->materials.count;
    if (other_uvs)
        px_log(doc->context, PELT_LOG_WARNING,
               "%u textures use other texture coordinates than the first set, or transform them; they are left out",
               other_uvs);
    return PELT_OK;
}

pelt_result px_materials_get(px_arena *arena, const pelt_model *model, px_materials *out) {
    const px_document *document = model->document;
    *out = (px_materials){0};
    if (document && strcmp(document->format, px_format_gltf.info.name) == 0)
        return from_gltf(arena, document->data, out);
    if (document && (strcmp(document->format, px_format_usd.info.name) == 0 ||
                     strcmp(document->format, px_format_fbx.info.name) == 0))
        *out = ((const px_kept *)document->data)->materials;
    return PELT_OK;
}
