/* USD: reads and writes text files (.usda) and packages (.usdz). */
#include "io/usd.h"

#include <pelt/measure.h>

#include <strings.h>

static bool is_crate(const void *data, size_t size) {
    return size >= 8 && memcmp(data, "PXR-USDC", 8) == 0;
}

static bool is_layer(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".usd") == 0 || strcasecmp(dot, ".usda") == 0 || strcasecmp(dot, ".usdc") == 0);
}

static pelt_result refuse_crate(px_usd *usd, const char *what) {
    return px_fail(usd->context, PELT_ERROR_UNSUPPORTED,
                   "%s in the binary form of USD (crate), which is not read; convert it to text: 'usdcat FILE -o "
                   "model.usda', or export .usda",
                   what);
}

/* Finds the text: the file itself, or the first layer of a package. */
static pelt_result open_text(px_usd *usd) {
    const px_file *file = &usd->read->file;
    const uint8_t *data = file->data;
    size_t size = file->size;
    if (size >= 4 && memcmp(data, "PK\3\4", 4) == 0) {
        PX_TRY(px_usd_read_zip(usd->arena, data, size, &usd->entries, &usd->entry_count));
        uint32_t n = 0;
        while (n < usd->entry_count && !is_layer(usd->entries[n].name))
            n++;
        if (n == usd->entry_count)
            return px_fail(usd->context, PELT_ERROR_INPUT, "is a package without a USD layer");
        data = usd->entries[n].data;
        size = usd->entries[n].size;
        if (is_crate(data, size))
            return refuse_crate(usd, "holds a scene");
    }
    if (is_crate(data, size))
        return refuse_crate(usd, "is");
    if (size < 6 || memcmp(data, "#usda ", 6) != 0)
        return px_fail(usd->context, PELT_ERROR_INPUT, "is no USD text: it does not begin with '#usda 1.0'");
    usd->start = (const char *)data;
    usd->end = usd->start + size;
    return PELT_OK;
}

/* Up axis and unit of the file, unless the caller set them: models are converted to y up and metres. */
static pelt_result convert_space(px_usd *usd) {
    px_space space;
    pelt_model *model = usd->read->model;
    PX_TRY(px_space_find(usd->context, usd->read->desc, usd->read->file.path, usd->read->file.path, &space));
    if (space.given)
        return PELT_OK;
    px_text up = px_usd_first_text(px_usd_metadata(usd->root->metadata, "upAxis"));
    double metres = px_usd_number(px_usd_metadata(usd->root->metadata, "metersPerUnit"), 0.01);
    space.up = px_text_is(up, "Z") ? PELT_UP_Z : PELT_UP_Y;
    space.scale = metres > 1e-6 && metres < 1e6 ? metres : 0.01;
    PX_TRY(pelt_model_validate(usd->context, model));
    return px_space_apply(model, &space, model->clip_count);
}

static pelt_result read_all(px_usd *usd) {
    PX_TRY(open_text(usd));
    PX_TRY(px_usd_parse(usd));
    px_text root = usd->root->metadata;
    double frames = px_usd_number(px_usd_metadata(root, "framesPerSecond"), 24);
    usd->rate = px_usd_number(px_usd_metadata(root, "timeCodesPerSecond"), frames);
    usd->rate = usd->rate > 1e-3 && usd->rate < 1e6 ? usd->rate : 24;
    PX_TRY(px_usd_read_scene(usd));
    PX_TRY(px_usd_read_motions(usd));
    PX_TRY(px_usd_read_materials(usd));
    if (usd->left_out)
        px_log(usd->context, PELT_LOG_WARNING,
               "%u references, payloads, variants or layers are not read; flatten the file with 'usdcat --flatten' to "
               "include them",
               usd->left_out);
    const pelt_model *model = usd->read->model;
    if (model->mesh.vertex_count == 0 && model->skeleton.joint_count == 0)
        return px_fail(usd->context, PELT_ERROR_INPUT, "holds neither a mesh nor a skeleton");
    return convert_space(usd);
}

static pelt_result read_usd(const px_read *read) {
    px_usd usd = {.read = read, .context = read->context, .arena = px_arena_create(read->context)};
    pelt_result result = usd.arena ? read_all(&usd) : PELT_ERROR_MEMORY;
    px_free(read->context, usd.numbers);
    px_arena_destroy(usd.arena);
    return result;
}

/* Text, crate files (which are refused), and archives whose first file is a layer. */
static bool sniff(const uint8_t *data, size_t size) {
    if (is_crate(data, size) || (size >= 6 && memcmp(data, "#usda ", 6) == 0))
        return true;
    if (size < 30 || memcmp(data, "PK\3\4", 4) != 0)
        return false;
    char name[256] = "";
    size_t length = px_min_size((size_t)data[26] + 256u * data[27], sizeof name - 1);
    memcpy(name, data + 30, px_min_size(length, size - 30));
    return is_layer(name);
}

const px_format px_format_usd = {
    .info = {"USD", "usda usdz", "Universal Scene Description: text, or a package with textures",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_RIG},
    .sniff = sniff,
    .read = read_usd,
    .write = px_usd_write,
};
