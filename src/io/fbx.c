/* FBX: reads binary files of version 7.0 to 7.7 and text files of version 7, writes binary ones of version 7.4. */
#include "io/fbx.h"

#include <pelt/measure.h>

/* Up axis and unit of the file, unless the caller set them: models are converted to y up and metres. */
static pelt_result convert_space(px_fbx *fbx) {
    px_space space;
    PX_TRY(px_space_find(fbx->context, fbx->read->desc, fbx->read->file.path, fbx->read->file.path, &space));
    if (space.given)
        return PELT_OK;
    px_fbx_object settings = {.properties = px_fbx_child(px_fbx_child(fbx->root, "GlobalSettings"), "Properties70")};
    double up = 1, centimetres = 1;
    px_fbx_property(&settings, "UpAxis", &up, 1);
    px_fbx_property(&settings, "UnitScaleFactor", &centimetres, 1);
    space.up = up == 0 ? PELT_UP_X : up == 2 ? PELT_UP_Z : PELT_UP_Y;
    space.scale = centimetres > 1e-6 && centimetres < 1e6 ? centimetres / 100 : 0.01;
    PX_TRY(pelt_model_validate(fbx->context, fbx->read->model));
    return px_space_apply(fbx->read->model, &space, 0);
}

static pelt_result read_all(px_fbx *fbx) {
    px_fbx_shape *shapes;
    PX_TRY(px_fbx_parse(fbx));
    PX_TRY(px_fbx_read_scene(fbx));
    PX_TRY(px_fbx_read_meshes(fbx, &shapes));
    PX_TRY(px_fbx_read_materials(fbx));
    PX_TRY(px_fbx_read_motions(fbx, shapes));
    if (fbx->read->model->skeleton.joint_count == 0)
        return px_fail(fbx->context, PELT_ERROR_INPUT, "holds no nodes");
    return convert_space(fbx);
}

static pelt_result read_fbx(const px_read *read) {
    px_fbx fbx = {.read = read, .context = read->context, .arena = px_arena_create(read->context)};
    pelt_result result = fbx.arena ? read_all(&fbx) : PELT_ERROR_MEMORY;
    px_arena_destroy(fbx.arena);
    return result;
}

static bool sniff(const uint8_t *data, size_t size) {
    static const char binary[] = "Kaydara FBX Binary", text[] = "; FBX 7";
    return (size > strlen(binary) && memcmp(data, binary, strlen(binary)) == 0) ||
           (size > strlen(text) && memcmp(data, text, strlen(text)) == 0);
}

const px_format px_format_fbx = {
    .info = {"FBX", "fbx", "Autodesk FBX 7, binary or text",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_RIG},
    .sniff = sniff,
    .read = read_fbx,
    .write = px_fbx_write,
};
