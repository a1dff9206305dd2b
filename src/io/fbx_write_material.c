/* Materials of FBX files with their textures: see fbx_write.h. Images are stored in the file, as the content of videos: Blender, assimp and
 * Autodesk's SDK read them from there.
 *
 * Metalness and roughness become ReflectionFactor and Shininess, (10 · (1 − roughness))², as Blender reads them.
 */
#include "io/fbx_write.h"
#include "io/materials.h"

#include <stdio.h>

static void property_color(px_fbx_out *out, const char *name, const float color[3]) {
    px_fbx_begin_property(out, name, "Color", "", "A");
    for (int c = 0; c < 3; c++)
        px_fbx_f64(out, (double)color[c]);
    px_fbx_end(out);
}

/* The name of a file for an image, without folders. */
static const char *file_name(px_fbx_writer *w, const px_image *image, uint32_t index) {
    size_t room = strlen(image->name) + 32;
    char *out = px_arena_alloc(w->arena, room, 1);
    if (!out)
        return NULL;
    if (!image->name[0])
        snprintf(out, room, "image_%u.%s", index, image->extension ? image->extension : "png");
    else
        snprintf(out, room, "%s%s%s", image->name, image->extension ? "." : "",
                 image->extension ? image->extension : "");
    for (char *p = out; *p; p++)
        if (*p == '/' || *p == '\\' || *p == ':')
            *p = '_';
    return out;
}

/* An image of the file. */
typedef struct video {
    int64_t id;       /* 0: not written yet */
    const char *name; /* of a file */
} video;

/* The content of an image, once for all textures of it; where it cannot be read, its name. */
static pelt_result write_video(px_fbx_writer *w, const px_image *image, uint32_t index, video *v) {
    px_fbx_out *out = &w->out;
    if (v->id)
        return PELT_OK;
    if (image->size >= UINT32_MAX)
        return px_fail(w->write->context, PELT_ERROR_OUTPUT, "image %u is larger than 4 GB", index);
    if (!(v->name = file_name(w, image, index)))
        return PELT_ERROR_MEMORY;
    v->id = ++w->last_id;
    px_fbx_begin_object(w, PX_FBX_VIDEO, "Video", v->id, v->name, "Video", "Clip");
    px_fbx_record_text(out, "Type", "Clip");
    px_fbx_begin(out, "Properties70");
    px_fbx_property_text(out, "Path", "", v->name);
    px_fbx_end(out);
    px_fbx_record_i32(out, "UseMipMap", 0);
    px_fbx_record_text(out, "Filename", v->name);
    px_fbx_record_text(out, "RelativeFilename", v->name);
    if (image->data) {
        px_fbx_begin(out, "Content");
        px_fbx_bytes(out, image->data, image->size);
        px_fbx_end(out);
    } else {
        px_log(w->write->context, PELT_LOG_WARNING, "the image %s is not there; the file refers to it", v->name);
    }
    px_fbx_end(out);
    return PELT_OK;
}

static void write_texture(px_fbx_writer *w, const video *v, int64_t material_id, const char *property) {
    static const double origin[2] = {0, 0}, one[2] = {1, 1};
    px_fbx_out *out = &w->out;
    int64_t id = ++w->last_id;
    px_fbx_begin_object(w, PX_FBX_TEXTURE, "Texture", id, v->name, "Texture", "");
    px_fbx_record_text(out, "Type", "TextureVideoClip");
    px_fbx_record_i32(out, "Version", 202);
    px_fbx_begin(out, "TextureName");
    px_fbx_object_name(out, v->name, "Texture");
    px_fbx_end(out);
    px_fbx_begin(out, "Properties70");
    px_fbx_property_text(out, "UVSet", "", PX_FBX_UV_SET);
    px_fbx_property_i32(out, "UseMaterial", "bool", "", 1);
    px_fbx_end(out);
    px_fbx_begin(out, "Media");
    px_fbx_object_name(out, v->name, "Video");
    px_fbx_end(out);
    px_fbx_record_text(out, "FileName", v->name);
    px_fbx_record_text(out, "RelativeFilename", v->name);
    for (int pair = 0; pair < 2; pair++) {
        px_fbx_begin(out, pair ? "ModelUVScaling" : "ModelUVTranslation");
        px_fbx_f64(out, pair ? one[0] : origin[0]);
        px_fbx_f64(out, pair ? one[1] : origin[1]);
        px_fbx_end(out);
    }
    px_fbx_record_text(out, "Texture_Alpha_Source", "None");
    px_fbx_end(out);
    px_fbx_connect(w, id, material_id, property);
    px_fbx_connect(w, v->id, id, NULL);
}

static void write_material(px_fbx_writer *w, uint32_t m, const px_material *material) {
    static const float white[3] = {1, 1, 1};
    px_fbx_out *out = &w->out;
    double shine = 10 * (1 - (double)material->roughness);
    bool glows = material->emissive[0] > 0 || material->emissive[1] > 0 || material->emissive[2] > 0;
    px_fbx_begin_object(w, PX_FBX_MATERIAL, "Material", PX_FBX_MATERIAL_ID(m), w->materials[m], "Material", "");
    px_fbx_record_i32(out, "Version", 102);
    px_fbx_record_text(out, "ShadingModel", "phong");
    px_fbx_begin(out, "Properties70");
    property_color(out, "DiffuseColor", material->base_color);
    px_fbx_property_f64(out, "DiffuseFactor", "Number", "", "A", 1);
    property_color(out, "EmissiveColor", material->emissive);
    px_fbx_property_f64(out, "EmissiveFactor", "Number", "", "A", glows);
    property_color(out, "TransparentColor", white);
    px_fbx_property_f64(out, "TransparencyFactor", "Number", "", "A", 1 - (double)material->base_color[3]);
    px_fbx_property_f64(out, "Opacity", "Number", "", "A", (double)material->base_color[3]);
    px_fbx_property_f64(out, "Shininess", "Number", "", "A", shine * shine);
    px_fbx_property_f64(out, "ReflectionFactor", "Number", "", "A", (double)material->metallic);
    px_fbx_end(out);
    px_fbx_end(out);
}

pelt_result px_fbx_write_materials(px_fbx_writer *w) {
    static const char *const properties[PX_TEXTURE_USES] = {
        [PX_TEXTURE_BASE] = "DiffuseColor", [PX_TEXTURE_NORMAL] = "NormalMap", [PX_TEXTURE_EMISSIVE] = "EmissiveColor"};
    px_materials all = {0};
    if (!w->write->trial)
        PX_TRY(px_materials_get(w->arena, w->model, &all));
    video *videos = PX_NEW(w->arena, video, all.image_count);
    if (!videos)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < w->material_count; m++) {
        const px_material *known = px_material_named(&all, w->materials[m]);
        px_material material = known ? *known : px_material_default(w->materials[m]);
        if (!known) { /* grey, as programs show surfaces without a material */
            material.metallic = 0;
            for (int c = 0; c < 3; c++)
                material.base_color[c] = 0.8f;
        }
        write_material(w, m, &material);
        for (int use = 0; use < PX_TEXTURE_USES; use++) {
            uint32_t i = material.textures[use].image;
            if (i == PELT_NONE || !properties[use])
                continue;
            PX_TRY(write_video(w, &all.images[i], i, &videos[i]));
            write_texture(w, &videos[i], PX_FBX_MATERIAL_ID(m), properties[use]);
        }
    }
    return PELT_OK;
}
