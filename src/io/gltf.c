/* glTF 2.0 (.gltf, .glb): entry point of the format. Opens the container, parses the JSON, finds the buffers, and calls
 * the readers of the other gltf_*.c files. Specification: https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html */
#include "io/gltf_document.h"

#include <stdio.h>

#define GLB_MAGIC 0x46546C67u /* "glTF" */
#define GLB_JSON  0x4E4F534Au
#define GLB_BIN   0x004E4942u

/* Limit on memory decoded from a file: enough for instances and compression, too little for a denial of service. */
#define BUDGET_BASE   ((size_t)128 << 20)
#define BUDGET_FACTOR 256u

/* ---- Errors, lookup, allocation --------------------------------------------------------------------------- */

void px_gltf_place(px_gltf *doc, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(doc->place, sizeof doc->place, format, list);
    va_end(list);
}

pelt_result px_gltf_fail(px_gltf *doc, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return px_fail(doc->context, PELT_ERROR_INPUT, "%s: %s", doc->place, text);
}

pelt_result px_gltf_index(px_gltf *doc, const px_json *object, const char *key, uint32_t count, uint32_t *index) {
    const px_json *value = px_json_get(object, key);
    *index = PELT_NONE;
    if (!value)
        return PELT_OK;
    if (!px_json_is(value, PX_JSON_NUMBER))
        return px_gltf_fail(doc, "\"%s\" must be an index", key);
    *index = (uint32_t)px_json_uint(value, PELT_NONE - 1, PELT_NONE);
    if (*index >= count)
        return px_gltf_fail(doc, "%s %.40s does not exist, there are %u", key, value->text, count);
    return PELT_OK;
}

pelt_result px_gltf_charge(px_gltf *doc, size_t count, size_t size) {
    size_t bytes = px_mul_size(count, size);
    if (bytes > doc->budget)
        return px_fail(doc->context, PELT_ERROR_INPUT,
                       "%s: unpacks to far more data than %zu bytes of file can mean; it looks damaged", doc->place,
                       doc->file_size);
    doc->budget -= bytes;
    return PELT_OK;
}

void *px_gltf_new(px_gltf *doc, size_t count, size_t size) {
    doc->failure = px_gltf_charge(doc, count, size);
    void *memory = doc->failure == PELT_OK ? px_arena_alloc(doc->memory, count, size) : NULL;
    if (doc->failure == PELT_OK)
        doc->failure = PELT_ERROR_MEMORY;
    return memory;
}

/* ---- Extensions ------------------------------------------------------------------------------------------- */

bool px_gltf_knows_extension(const char *name) {
    static const char *const families[] = {"KHR_materials_", "KHR_texture_",     "EXT_texture_", "KHR_lights_",
                                           "KHR_xmp",        "ADOBE_materials_", "VRMC_"};
    static const char *const names[] = {"KHR_mesh_quantization",
                                        "EXT_meshopt_compression",
                                        "KHR_draco_mesh_compression",
                                        "MSFT_texture_dds",
                                        "MSFT_lod",
                                        "KHR_node_visibility",
                                        "KHR_node_selectability",
                                        "KHR_node_hoverability",
                                        "KHR_animation_pointer",
                                        "EXT_lights_image_based",
                                        "EXT_lights_ies",
                                        "AGI_articulations",
                                        "KHR_interactivity",
                                        "VRM"};
    for (size_t f = 0; f < PX_COUNT(families); f++)
        if (strncmp(name, families[f], strlen(families[f])) == 0)
            return true;
    for (size_t n = 0; n < PX_COUNT(names); n++)
        if (strcmp(name, names[n]) == 0)
            return true;
    return false;
}

static pelt_result check_extensions(px_gltf *doc) {
    const px_json *required = px_json_get(doc->root, "extensionsRequired");
    for (const px_json *item = required ? required->first : NULL; item; item = item->next) {
        const char *name = px_json_string(item, NULL);
        if (!name)
            return px_fail(doc->context, PELT_ERROR_INPUT, "extensionsRequired: must be a list of names");
        if (!px_gltf_knows_extension(name))
            return px_fail(doc->context, PELT_ERROR_UNSUPPORTED,
                           "needs the extension %.100s, which is not supported; save it without that extension", name);
    }
    return PELT_OK;
}

static pelt_result check_version(px_gltf *doc) {
    const px_json *asset = px_json_get(doc->root, "asset");
    const char *version = px_json_string(px_json_get(asset, "version"), NULL);
    if (!version)
        return px_fail(doc->context, PELT_ERROR_INPUT, "asset: its version is missing, so this is no glTF 2.0");
    const char *needed = px_json_string(px_json_get(asset, "minVersion"), "2.0");
    if (version[0] != '2' || version[1] != '.' || strcmp(needed, "2.0") != 0)
        return px_fail(doc->context, PELT_ERROR_UNSUPPORTED,
                       "is glTF version %.20s (needs %.20s); only version 2.0 is read", version, needed);
    return PELT_OK;
}

/* ---- Container -------------------------------------------------------------------------------------------- */

typedef struct container {
    const char *json;
    size_t json_size;
    const uint8_t *binary; /* NULL: none */
    size_t binary_size;
} container;

static bool is_glb(const uint8_t *data, size_t size) {
    return size >= 4 && px_load_u32(data) == GLB_MAGIC;
}

static pelt_result open_glb(pelt_context *context, const px_file *file, container *c) {
    const uint8_t *data = file->data;
    if (file->size < 12)
        return px_fail(context, PELT_ERROR_INPUT, "GLB header: needs 12 bytes, the file has %zu", file->size);
    uint32_t version = px_load_u32(data + 4), length = px_load_u32(data + 8);
    if (version != 2)
        return px_fail(context, PELT_ERROR_UNSUPPORTED, "GLB header: version %u; only version 2 is read", version);
    if (length > file->size)
        return px_fail(context, PELT_ERROR_INPUT, "GLB header: says %u bytes, the file has %zu; it is cut off", length,
                       file->size);
    size_t offset = 12;
    for (uint32_t chunk = 0; offset < length; chunk++) {
        if (length - offset < 8)
            return px_fail(context, PELT_ERROR_INPUT, "GLB chunk %u: its header is cut off", chunk);
        uint32_t size = px_load_u32(data + offset), type = px_load_u32(data + offset + 4);
        offset += 8;
        if (size > length - offset)
            return px_fail(context, PELT_ERROR_INPUT, "GLB chunk %u: says %u bytes, the file has %zu", chunk, size,
                           length - offset);
        if (chunk == 0 && type != GLB_JSON)
            return px_fail(context, PELT_ERROR_INPUT, "GLB chunk 0: must be JSON");
        if (chunk == 0) {
            c->json = (const char *)data + offset;
            c->json_size = size;
        } else if (chunk == 1 && type == GLB_BIN) {
            c->binary = data + offset;
            c->binary_size = size;
        }
        offset += size;
    }
    return c->json ? PELT_OK : px_fail(context, PELT_ERROR_INPUT, "GLB: there is no JSON chunk");
}

static pelt_result open_container(pelt_context *context, const px_file *file, container *c) {
    if (is_glb(file->data, file->size))
        return open_glb(context, file, c);
    size_t mark = file->size >= 3 && memcmp(file->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* UTF-8 byte order mark */
    c->json = (const char *)file->data + mark;
    c->json_size = file->size - mark;
    return PELT_OK;
}

/* ---- Buffers ---------------------------------------------------------------------------------------------- */

static pelt_result map_neighbour(px_gltf *doc, const char *uri, px_gltf_buffer *buffer) {
    const char *path;
    PX_TRY(px_gltf_path(doc, doc->memory, uri, &path));
    px_file file;
    const char *subject = px_subject(doc->context, path);
    pelt_result result = px_file_open(doc->memory, path, &file);
    px_subject(doc->context, subject);
    PX_TRY(result);
    buffer->data = file.data;
    buffer->size = file.size;
    return PELT_OK;
}

static pelt_result read_buffer(px_gltf *doc, uint32_t index, const container *c) {
    const px_json *json = doc->buffers_json.items[index], *uri = px_json_get(json, "uri");
    px_gltf_buffer *buffer = &doc->buffers[index];
    px_gltf_place(doc, "buffer %u", index);
    uint64_t size = px_json_uint(px_json_get(json, "byteLength"), SIZE_MAX / 2, 0);
    if (size == 0)
        return px_gltf_fail(doc, "its byteLength is missing or not a positive whole number");
    if (uri && !px_json_is(uri, PX_JSON_STRING))
        return px_gltf_fail(doc, "its uri must be a text");
    if (!uri && index == 0 && c->binary)
        *buffer = (px_gltf_buffer){c->binary, c->binary_size};
    else if (uri && px_gltf_is_data_uri(uri->text))
        PX_TRY(px_gltf_data_uri(doc, uri->text, uri->length, &buffer->data, &buffer->size));
    else if (uri)
        PX_TRY(map_neighbour(doc, uri->text, buffer));
    else
        return PELT_OK; /* fallback buffer of EXT_meshopt_compression, or undefined: fails when used */
    if (buffer->size < size)
        return px_gltf_fail(doc, "needs %llu bytes, there are %zu", (unsigned long long)size, buffer->size);
    buffer->size = (size_t)size;
    doc->file_size += uri ? buffer->size : 0;
    return PELT_OK;
}

static pelt_result read_list(px_gltf *doc, const char *key, px_gltf_list *list) {
    const px_json *array = px_json_get(doc->root, key);
    if (!array)
        return PELT_OK;
    if (!px_json_is(array, PX_JSON_ARRAY))
        return px_fail(doc->context, PELT_ERROR_INPUT, "%s: must be a list", key);
    list->items = PX_NEW(doc->memory, px_json *, array->count);
    if (!list->items)
        return PELT_ERROR_MEMORY;
    for (px_json *item = array->first; item; item = item->next) {
        if (!px_json_is(item, PX_JSON_OBJECT))
            return px_fail(doc->context, PELT_ERROR_INPUT, "%s %u: must be an object", key, list->count);
        list->items[list->count++] = item;
    }
    return PELT_OK;
}

static pelt_result read_lists(px_gltf *doc) {
    PX_TRY(read_list(doc, "buffers", &doc->buffers_json));
    PX_TRY(read_list(doc, "bufferViews", &doc->views));
    PX_TRY(read_list(doc, "accessors", &doc->accessors));
    PX_TRY(read_list(doc, "nodes", &doc->nodes));
    PX_TRY(read_list(doc, "meshes", &doc->meshes));
    PX_TRY(read_list(doc, "skins", &doc->skins));
    PX_TRY(read_list(doc, "materials", &doc->materials));
    return read_list(doc, "animations", &doc->animations);
}

/* ---- The format ------------------------------------------------------------------------------------------- */

/* The folder of a path with its slash: "folder/" for "folder/name". */
static const char *folder_of(px_arena *arena, const char *path) {
    return px_arena_text(arena, path, (size_t)(px_path_name(path) - path));
}

static pelt_result read_document(const px_read *read, px_gltf *doc) {
    container c = {0};
    PX_TRY(open_container(read->context, &read->file, &c));
    PX_TRY(px_json_read(doc->memory, c.json, c.json_size, &doc->root));
    if (!px_json_is(doc->root, PX_JSON_OBJECT))
        return px_fail(read->context, PELT_ERROR_INPUT, "its JSON is no object");
    PX_TRY(check_version(doc));
    PX_TRY(check_extensions(doc));
    PX_TRY(read_lists(doc));
    doc->buffers = PX_NEW(doc->memory, px_gltf_buffer, doc->buffers_json.count);
    doc->decoded = PX_NEW(doc->memory, const uint8_t *, doc->views.count);
    if (!doc->buffers || !doc->decoded ||
        (!read->in_memory && !(doc->folder = folder_of(doc->memory, read->file.path))))
        return PELT_ERROR_MEMORY;
    doc->file_size = read->file.size;
    for (uint32_t b = 0; b < doc->buffers_json.count; b++)
        PX_TRY(read_buffer(doc, b, &c));
    doc->budget = px_mul_size(doc->file_size, BUDGET_FACTOR);
    doc->budget = doc->budget > SIZE_MAX - BUDGET_BASE ? SIZE_MAX : doc->budget + BUDGET_BASE;
    return PELT_OK;
}

static pelt_result read_gltf(const px_read *read) {
    px_arena *memory = read->model->memory;
    px_gltf *doc = PX_NEW(memory, px_gltf, 1);
    px_document *document = PX_NEW(memory, px_document, 1);
    if (!doc || !document)
        return PELT_ERROR_MEMORY;
    doc->context = read->context;
    doc->memory = memory;
    PX_TRY(read_document(read, doc));
    PX_TRY(px_gltf_unpack_draco(doc));
    PX_TRY(px_gltf_read_skeleton(doc, read->model));
    PX_TRY(px_gltf_read_mesh(doc, read->model));
    PX_TRY(px_gltf_read_skin(doc, read->model));
    PX_TRY(px_gltf_read_morphs(doc, read->model));
    PX_TRY(px_gltf_read_drivers(doc, read->model));
    PX_TRY(px_gltf_read_sliders(doc, read->model));
    PX_TRY(px_gltf_read_motions(doc, read->model));
    document->format = px_format_gltf.info.name;
    document->data = doc;
    read->model->document = document;
    return PELT_OK;
}

/* Whether "asset" occurs, with its quotes. */
static bool names_asset(const uint8_t *data, size_t size) {
    static const char word[] = "\"asset\"";
    size_t length = strlen(word);
    for (const uint8_t *p = data, *end = data + size; (size_t)(end - p) >= length; p++)
        if (!(p = memchr(p, word[0], (size_t)(end - p) - length + 1)) || memcmp(p, word, length) == 0)
            return p != NULL;
    return false;
}

static bool sniff(const uint8_t *data, size_t size) {
    if (is_glb(data, size))
        return true;
    size_t start = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (start < size && (data[start] == ' ' || data[start] == '\n' || data[start] == '\r' || data[start] == '\t'))
        start++;
    return start < size && data[start] == '{' && names_asset(data, size);
}

const px_format px_format_gltf = {
    .info = {"glTF", "gltf glb vrm", "glTF 2.0, text and binary",
             PELT_FORMAT_READ | PELT_FORMAT_WRITE | PELT_FORMAT_MESH | PELT_FORMAT_RIG},
    .sniff = sniff,
    .read = read_gltf,
    .write = px_gltf_write,
};
