/* Materials of FBX files with their textures: see fbx.h and materials.h. */
#include "io/fbx.h"
#include "io/materials.h"

/* Properties of materials that textures are connected to, as programs name them. */
static const struct {
    const char *property;
    px_texture_use use;
} slots[] = {
    {"DiffuseColor", PX_TEXTURE_BASE},       {"Maya|baseColor", PX_TEXTURE_BASE},
    {"Maya|TEX_color_map", PX_TEXTURE_BASE}, {"3dsMax|Parameters|base_color_map", PX_TEXTURE_BASE},
    {"NormalMap", PX_TEXTURE_NORMAL},        {"Bump", PX_TEXTURE_NORMAL},
    {"EmissiveColor", PX_TEXTURE_EMISSIVE},  {"Maya|emissionColor", PX_TEXTURE_EMISSIVE},
};

/* The text of a record; no data: none. */
static px_text record_text(const px_fbx_node *node, const char *name) {
    const px_fbx_value *value = px_fbx_at(px_fbx_child(node, name), 0);
    return value && value->kind == PX_FBX_TEXT ? value->text : (px_text){NULL, 0};
}

/* The name of a file without folders, of either kind of slash. */
static px_text base_name(px_text path) {
    size_t start = path.size;
    while (start > 0 && path.data[start - 1] != '/' && path.data[start - 1] != '\\')
        start--;
    return (px_text){path.data ? path.data + start : NULL, path.size - start};
}

/* The image of a texture: content of its video, or a file beside the FBX file or in textures/ there. */
static pelt_result read_image(px_fbx *fbx, const px_fbx_object *texture, px_image *out) {
    const px_fbx_object *video = px_fbx_next_child(fbx, texture, "Video", NULL, NULL);
    px_text file = base_name(record_text(texture->node, "RelativeFilename"));
    if (file.size == 0)
        file = base_name(record_text(texture->node, "FileName"));
    if (file.size == 0)
        file = texture->name;
    const char *name = px_fbx_name(fbx, file);
    px_text content = video && fbx->version ? record_text(video->node, "Content") : (px_text){NULL, 0};
    const char *extension = content.data ? px_image_extension((const uint8_t *)content.data, content.size) : NULL;
    if (!name)
        return PELT_ERROR_MEMORY;
    if (extension) {
        px_arena *memory = fbx->read->model->memory;
        uint8_t *copy = px_arena_alloc(memory, content.size, 1);
        const char *dot = strrchr(name, '.');
        *out = (px_image){.extension = extension, .data = copy, .size = content.size};
        if (!copy || !(out->name = px_arena_text(memory, name, dot ? (size_t)(dot - name) : strlen(name))))
            return PELT_ERROR_MEMORY;
        memcpy(copy, content.data, content.size);
        return PELT_OK;
    }
    PX_TRY(px_image_beside(fbx->read, name, out));
    if (out->data)
        return PELT_OK;
    char *deeper = px_alloc(fbx->context, strlen(name) + sizeof "textures/", 1);
    if (!deeper)
        return PELT_ERROR_MEMORY;
    memcpy(deeper, "textures/", sizeof "textures/" - 1);
    memcpy(deeper + sizeof "textures/" - 1, name, strlen(name) + 1);
    pelt_result result = px_image_beside(fbx->read, deeper, out);
    px_free(fbx->context, deeper);
    return result;
}

static void read_color(const px_fbx_object *object, const char *name, const char *factor_name, float out[3]) {
    double color[3] = {out[0], out[1], out[2]}, factor = 1;
    px_fbx_property(object, name, color, 3);
    px_fbx_property(object, factor_name, &factor, 1);
    for (int c = 0; c < 3; c++)
        out[c] = (float)px_fmin(px_fmax(color[c] * factor, 0), 1);
}

static void read_material(const px_fbx_object *object, px_material *out) {
    double shininess = 0, metallic = 0, opacity = 1;
    read_color(object, "DiffuseColor", "DiffuseFactor", out->base_color);
    read_color(object, "EmissiveColor", "EmissiveFactor", out->emissive);
    px_fbx_property(object, "Shininess", &shininess, 1);
    px_fbx_property(object, "ReflectionFactor", &metallic, 1);
    px_fbx_property(object, "Opacity", &opacity, 1);
    out->roughness = (float)(1 - sqrt(px_fmin(px_fmax(shininess, 0), 100)) / 10);
    out->metallic = (float)px_fmin(px_fmax(metallic, 0), 1);
    out->base_color[3] = (float)px_fmin(px_fmax(opacity, 0), 1);
    out->alpha = opacity < 1 ? PX_ALPHA_BLEND : PX_ALPHA_OPAQUE;
}

/* Each texture is an image; a texture of several materials is read for each: `images` has room for all links. */
static pelt_result read_textures(px_fbx *fbx, const px_fbx_object *object, px_materials *all, px_material *material) {
    for (uint32_t l = 0; l < fbx->link_count; l++) {
        const px_fbx_link *link = &fbx->links[l];
        if (link->parent != object || !link->property.data || !px_fbx_is(link->child, "Texture", NULL))
            continue;
        for (size_t s = 0; s < PX_COUNT(slots); s++)
            if (px_text_is(link->property, slots[s].property) && material->textures[slots[s].use].image == PELT_NONE) {
                PX_TRY(read_image(fbx, link->child, &all->images[all->image_count]));
                material->textures[slots[s].use].image = all->image_count++;
            }
    }
    return PELT_OK;
}

pelt_result px_fbx_read_materials(px_fbx *fbx) {
    pelt_model *model = fbx->read->model;
    size_t count = 0, texture_count = 0;
    for (uint32_t o = 0; o < fbx->object_count; o++)
        count += px_fbx_is(&fbx->objects[o], "Material", NULL);
    for (uint32_t l = 0; l < fbx->link_count; l++)
        texture_count += fbx->links[l].property.data && px_fbx_is(fbx->links[l].child, "Texture", NULL) &&
                         px_fbx_is(fbx->links[l].parent, "Material", NULL);
    px_document *document = PX_NEW(model->memory, px_document, 1);
    px_kept *kept = PX_NEW(model->memory, px_kept, 1);
    if (!document || !kept)
        return PELT_ERROR_MEMORY;
    px_materials *all = &kept->materials;
    kept->layers = fbx->layers;
    all->materials = PX_NEW(model->memory, px_material, count);
    all->images = PX_NEW(model->memory, px_image, texture_count);
    if (!all->materials || !all->images)
        return PELT_ERROR_MEMORY;
    for (px_fbx_object *object = fbx->first_object; object; object = object->next) {
        if (!px_fbx_is(object, "Material", NULL))
            continue;
        px_material *material = &all->materials[all->material_count];
        *material = px_material_default(px_fbx_name(fbx, object->name));
        if (!material->name)
            return PELT_ERROR_MEMORY;
        all->material_count++;
        read_material(object, material);
        PX_TRY(read_textures(fbx, object, all, material));
    }
    *document = (px_document){px_format_fbx.info.name, kept};
    model->document = document;
    return PELT_OK;
}
