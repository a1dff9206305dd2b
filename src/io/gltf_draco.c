/* KHR_draco_mesh_compression: primitives whose arrays are one Draco stream. They are decoded when the document is read:
 * each array becomes an accessor with its own view and buffer, and the extension is removed, so that other readers and
 * the writers need no support for it. Files are written uncompressed. */
#include "io/draco.h"
#include "io/gltf_document.h"

#define EXTENSION "KHR_draco_mesh_compression"
enum { TRIANGLES = 4, STRIP = 5 };

/* An accessor that was decoded from a stream. Primitives may share streams and accessors. */
typedef struct unpacked {
    uint32_t id;       /* unique id of the attribute in the stream; PELT_NONE: the indices */
    uint32_t from, to; /* accessor of the file that describes the array (PELT_NONE: none), new accessor */
    uint32_t next;     /* next entry of the same view, or PELT_NONE */
} unpacked;

typedef struct unpacker {
    px_gltf *doc;
    px_arena *scratch;
    px_json *accessors, *views, *buffers; /* JSON arrays of the document */
    uint32_t accessor_count, view_count;  /* counts before unpacking */
    bool required;                        /* the extension is in extensionsRequired */
    unpacked *made;                       /* [made_count] */
    uint32_t made_count;
    uint32_t *first_made; /* [view] first entry of `made` for the view, or PELT_NONE */
    /* State of the current stream: */
    uint32_t view;
    px_draco *draco; /* NULL: not decoded yet */
    size_t taken;    /* bytes that libdraco was allowed to allocate */
    pelt_result refused;
} unpacker;

static px_json *extension_of(const px_json *primitive) {
    return px_json_get(px_json_get(primitive, "extensions"), EXTENSION);
}

static void remove_extension(px_json *primitive) {
    px_json *extensions = px_json_get(primitive, "extensions");
    px_json_remove(extensions, EXTENSION);
    if (px_json_count(extensions) == 0)
        px_json_remove(primitive, "extensions");
}

/* The unique id of an attribute in the stream, or PELT_NONE. */
static uint32_t id_of(const px_json *ids, const char *name) {
    return (uint32_t)px_json_uint(px_json_get(ids, name), PELT_NONE - 1, PELT_NONE);
}

/* ---- Streams ---------------------------------------------------------------------------------------------- */

static bool take(void *user, uint64_t bytes) {
    unpacker *u = user;
    size_t size = bytes > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)bytes;
    u->refused = px_gltf_charge(u->doc, size, 1);
    if (u->refused != PELT_OK)
        return false;
    u->refused = px_reserve(u->doc->context, size);
    if (u->refused == PELT_OK)
        u->taken += size;
    else
        u->doc->budget += size;
    return u->refused == PELT_OK;
}

static pelt_result fail(unpacker *u, px_draco_result result, const char *name) {
    switch (result) {
    case PX_DRACO_OK:
        return PELT_OK;
    case PX_DRACO_NONE:
        return px_fail(u->doc->context, PELT_ERROR_UNSUPPORTED,
                       "%s: was compressed with " EXTENSION "; this build has no Draco support: build with "
                       "PELT_DRACO=ON, or save the file without compression",
                       u->doc->place);
    case PX_DRACO_MEMORY:
        return px_fail_memory(u->doc->context);
    case PX_DRACO_REFUSED:
        return u->refused;
    case PX_DRACO_NO_STREAM:
        return px_gltf_fail(u->doc, "view %u: is no Draco stream", u->view);
    case PX_DRACO_NO_TRIANGLES:
        return px_gltf_fail(u->doc, "view %u: its Draco stream holds no triangles", u->view);
    case PX_DRACO_VERSION:
        return px_gltf_fail(u->doc, "view %u: its Draco stream is not of version 2.2", u->view);
    case PX_DRACO_NO_ATTRIBUTE:
        return px_gltf_fail(u->doc, "%s: the Draco stream in view %u has no attribute with its id", name, u->view);
    case PX_DRACO_WIDTH:
        return px_gltf_fail(u->doc, "%s: has another number of components in view %u's Draco stream than its accessor",
                            name, u->view);
    case PX_DRACO_TYPE:
        return px_gltf_fail(u->doc, "%s: its accessor's componentType cannot hold what view %u's Draco stream has",
                            name, u->view);
    default:
        return px_gltf_fail(u->doc, "view %u: its Draco stream is damaged", u->view);
    }
}

/* Decodes the current stream on first use. */
static pelt_result decode(unpacker *u) {
    const uint8_t *data;
    size_t size;
    if (u->draco)
        return PELT_OK;
    PX_TRY(px_gltf_view_bytes(u->doc, u->view, &data, &size));
    return fail(u, px_draco_decode(data, size, take, u, &u->draco), EXTENSION);
}

static void end_stream(unpacker *u) {
    px_draco_free(u->draco);
    px_unreserve(u->doc->context, u->taken);
    u->doc->budget += u->taken;
    u->draco = NULL;
    u->taken = 0;
}

/* ---- Accessors -------------------------------------------------------------------------------------------- */

static pelt_result add_item(px_gltf_list *list, px_json *array, px_json *item) {
    if (!px_json_append(array, item))
        return PELT_ERROR_MEMORY;
    list->items[list->count++] = item;
    return PELT_OK;
}

/* Adds a buffer with these bytes, and a view of the whole buffer. */
static pelt_result add_view(unpacker *u, const void *data, size_t size, size_t stride, uint32_t target) {
    px_gltf *doc = u->doc;
    px_arena *memory = doc->memory;
    px_json *view = px_json_object(memory), *buffer = px_json_object(memory);
    bool failed = !px_json_set(memory, buffer, "byteLength", px_json_new_uint(memory, size));
    failed |= !px_json_set(memory, view, "buffer", px_json_new_uint(memory, doc->buffers_json.count));
    failed |= !px_json_set(memory, view, "byteLength", px_json_new_uint(memory, size));
    failed |= stride && !px_json_set(memory, view, "byteStride", px_json_new_uint(memory, stride));
    failed |= !px_json_set(memory, view, "target", px_json_new_uint(memory, target));
    if (failed)
        return PELT_ERROR_MEMORY;
    doc->buffers[doc->buffers_json.count] = (px_gltf_buffer){data, size};
    PX_TRY(add_item(&doc->buffers_json, u->buffers, buffer));
    return add_item(&doc->views, u->views, view);
}

/* Adds `json` as an accessor of the last view. */
static pelt_result add_accessor(unpacker *u, px_json *json, uint32_t id, uint32_t from, uint32_t *to) {
    px_arena *memory = u->doc->memory;
    px_json_remove(json, "byteOffset");
    if (!px_json_set(memory, json, "bufferView", px_json_new_uint(memory, u->doc->views.count - 1)))
        return PELT_ERROR_MEMORY;
    *to = u->doc->accessors.count;
    u->made[u->made_count] = (unpacked){id, from, *to, u->first_made[u->view]};
    u->first_made[u->view] = u->made_count++;
    return add_item(&u->doc->accessors, u->accessors, json);
}

/* The accessor that was already made from the same array; PELT_NONE: none. */
static uint32_t find_made(const unpacker *u, uint32_t id, uint32_t from) {
    uint32_t m = u->first_made[u->view];
    while (m != PELT_NONE && (u->made[m].id != id || u->made[m].from != from))
        m = u->made[m].next;
    return m == PELT_NONE ? PELT_NONE : u->made[m].to;
}

static double component_at(const uint8_t *p, px_gltf_component component) {
    uint8_t bytes[4] = {0};
    memcpy(bytes, p, px_gltf_component_size(component));
    uint32_t bits = px_load_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return component == PX_GLTF_F32   ? (double)value
           : component == PX_GLTF_I8  ? (double)(int8_t)bits
           : component == PX_GLTF_I16 ? (double)(int16_t)bits
                                      : (double)bits;
}

/* Writes min and max of the decoded values. Compression is lossy: the file's bounds may not hold. */
static pelt_result put_bounds(px_arena *memory, px_json *json, const px_gltf_accessor *a) {
    for (int high = 0; high < 2; high++) {
        px_json *array = px_json_array(memory);
        for (uint32_t c = 0; c < a->width; c++) {
            const uint8_t *p = a->data + c * px_gltf_component_size(a->component);
            double bound = component_at(p, a->component);
            for (uint32_t v = 1; v < a->count; v++) {
                double value = component_at(p + v * a->stride, a->component);
                bound = high ? px_fmax(bound, value) : px_fmin(bound, value);
            }
            px_json *number = a->component == PX_GLTF_F32 ? px_json_new_float(memory, (float)bound)
                                                          : px_json_new_double(memory, bound);
            if (!px_json_append(array, number))
                return PELT_ERROR_MEMORY;
        }
        if (!px_json_set(memory, json, high ? "max" : "min", array))
            return PELT_ERROR_MEMORY;
    }
    return PELT_OK;
}

/* Normalizes quantised vectors and sets their handedness to 1 or −1, as the specification requires. */
static void mend_units(uint8_t *data, uint32_t count, uint32_t width) {
    for (size_t v = 0; v < count; v++) {
        float x[4];
        memcpy(x, data + v * width * sizeof *x, width * sizeof *x);
        double length = sqrt((double)x[0] * x[0] + (double)x[1] * x[1] + (double)x[2] * x[2]);
        for (uint32_t c = 0; c < 3 && length > 0 && isfinite(length); c++)
            x[c] = (float)(x[c] / length);
        x[3] = x[3] < 0 ? -1.0f : 1.0f;
        memcpy(data + v * width * sizeof *x, x, width * sizeof *x);
    }
}

/* Sets joints whose weights became zero by quantisation to 0, as the specification requires. */
static pelt_result mend_joints(unpacker *u, const px_json *ids, const char *name, const px_gltf_accessor *a,
                               uint8_t *data) {
    char weights_name[24] = "WEIGHTS_";
    if (strncmp(name, "JOINTS_", 7) != 0 || strlen(name) > 12 || a->width != 4)
        return PELT_OK;
    strcat(weights_name, name + 7);
    uint32_t id = id_of(ids, weights_name);
    if (id == PELT_NONE)
        return PELT_OK;
    float *weights = px_alloc(u->doc->context, a->count, 4 * sizeof *weights);
    if (!weights)
        return PELT_ERROR_MEMORY;
    size_t size = px_gltf_component_size(a->component);
    if (px_draco_values(u->draco, id, 4, PX_GLTF_F32, 4 * sizeof *weights, (uint8_t *)weights) == PX_DRACO_OK)
        for (size_t e = 0; e < 4 * (size_t)a->count; e++)
            if (weights[e] == 0)
                memset(data + e / 4 * a->stride + e % 4 * size, 0, size);
    px_free(u->doc->context, weights);
    return PELT_OK;
}

/* ---- Primitives ------------------------------------------------------------------------------------------- */

static pelt_result unpack_values(unpacker *u, const px_json *ids, const char *name, uint32_t from, uint32_t *to) {
    px_gltf *doc = u->doc;
    px_gltf_accessor a;
    uint32_t id = id_of(ids, name);
    PX_TRY(px_gltf_accessor_describe(doc, from, name, 0, PX_GLTF_FLOAT | PX_GLTF_ANY | PX_GLTF_INTEGER32, &a));
    PX_TRY(decode(u));
    if (a.count != px_draco_vertex_count(u->draco))
        return px_gltf_fail(doc, "%s: accessor %u has %u elements, view %u's Draco stream has %u vertices", name, from,
                            a.count, u->view, px_draco_vertex_count(u->draco));
    size_t size = a.size;
    a.stride = (size + 3) & ~(size_t)3;
    uint8_t *data = px_gltf_new(doc, a.count, a.stride);
    if (!data)
        return doc->failure;
    PX_TRY(fail(u, px_draco_values(u->draco, id, a.width, a.component, a.stride, data), name));
    PX_TRY(mend_joints(u, ids, name, &a, data));
    a.data = data;
    bool normal = strcmp(name, "NORMAL") == 0 && a.width == 3, tangent = strcmp(name, "TANGENT") == 0 && a.width == 4;
    if ((normal || tangent) && a.component == PX_GLTF_F32)
        mend_units(data, a.count, a.width);
    px_json *json = px_json_copy(doc->memory, doc->accessors.items[from]);
    if (!json)
        return PELT_ERROR_MEMORY;
    if (px_json_get(json, "min") || px_json_get(json, "max") || strcmp(name, "POSITION") == 0)
        PX_TRY(put_bounds(doc->memory, json, &a));
    PX_TRY(add_view(u, data, a.count * a.stride, a.stride == size ? 0 : a.stride, PX_GLTF_VERTICES));
    return add_accessor(u, json, id, from, to);
}

static pelt_result unpack_attribute(unpacker *u, px_json *attributes, const px_json *ids, const char *name) {
    uint32_t from, to, id = id_of(ids, name);
    PX_TRY(px_gltf_index(u->doc, attributes, name, u->accessor_count, &from));
    if (from == PELT_NONE)
        return px_gltf_fail(u->doc, EXTENSION " has %.40s, the primitive has not", name);
    if (id == PELT_NONE)
        return px_gltf_fail(u->doc, EXTENSION ": the id of %.40s must be a whole number", name);
    to = find_made(u, id, from);
    if (to == PELT_NONE)
        PX_TRY(unpack_values(u, ids, name, from, &to));
    px_arena *memory = u->doc->memory;
    return px_json_set(memory, attributes, name, px_json_new_uint(memory, to)) ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Compares the index count of the primitive's accessor with the stream. Encoders drop degenerate triangles and do not
 * always update the accessor: if it has more indices than the stream, only warns. */
static pelt_result check_indices(unpacker *u, uint32_t from, uint64_t mode, uint32_t count) {
    px_gltf_accessor a;
    if (from == PELT_NONE)
        return PELT_OK;
    PX_TRY(px_gltf_accessor_describe(u->doc, from, "indices", 1, PX_GLTF_INTEGER | PX_GLTF_INTEGER32, &a));
    if (mode == TRIANGLES && a.count < count)
        return px_gltf_fail(u->doc, "indices: accessor %u has %u elements, view %u's Draco stream has %u", from,
                            a.count, u->view, count);
    if (mode == TRIANGLES && a.count > count)
        px_log(u->doc->context, PELT_LOG_WARNING,
               "%s: accessor %u has %u indices, view %u's Draco stream only %u; the others are left out", u->doc->place,
               from, a.count, u->view, count);
    return PELT_OK;
}

static pelt_result unpack_indices(unpacker *u, uint32_t from, uint64_t mode, uint32_t *to) {
    px_gltf *doc = u->doc;
    px_arena *memory = doc->memory;
    PX_TRY(decode(u));
    uint32_t triangle_count = px_draco_triangle_count(u->draco);
    if (triangle_count == 0 || triangle_count > INT32_MAX / 3)
        return px_gltf_fail(doc, "view %u: its Draco stream has %u triangles", u->view, triangle_count);
    uint32_t count = 3 * triangle_count;
    PX_TRY(check_indices(u, from, mode, count));
    uint32_t *indices = PX_GLTF_NEW(doc, uint32_t, count);
    if (!indices)
        return doc->failure;
    PX_TRY(fail(u, px_draco_triangles(u->draco, indices), "indices"));
    px_gltf_component component = px_draco_vertex_count(u->draco) <= UINT16_MAX ? PX_GLTF_U16 : PX_GLTF_U32;
    uint16_t *narrow = (uint16_t *)indices;
    for (uint32_t i = 0; component == PX_GLTF_U16 && i < count; i++) {
        uint16_t index = (uint16_t)indices[i];
        memcpy(narrow + i, &index, sizeof index); /* in place: writes at byte 2i, reads at byte 4i */
    }
    px_json *json = from == PELT_NONE ? px_json_object(memory) : px_json_copy(memory, doc->accessors.items[from]);
    px_json_remove(json, "min");
    px_json_remove(json, "max");
    px_json_remove(json, "sparse");
    if (!px_json_set(memory, json, "componentType", px_json_new_uint(memory, component)) ||
        !px_json_set(memory, json, "count", px_json_new_uint(memory, count)) ||
        !px_json_set(memory, json, "type", px_json_new_string(memory, "SCALAR")))
        return PELT_ERROR_MEMORY;
    PX_TRY(add_view(u, indices, (size_t)count * px_gltf_component_size(component), 0, PX_GLTF_INDICES));
    return add_accessor(u, json, PELT_NONE, from, to);
}

/* Whether accessors hold all arrays of the stream uncompressed, as a fallback for programs without Draco. */
static bool has_plain_arrays(const unpacker *u, const px_json *primitive, const px_json *ids) {
    const px_json *attributes = px_json_get(primitive, "attributes");
    const px_json *number = px_json_get(primitive, "indices");
    for (const px_json *id = ids ? ids->first : NULL;; id = id->next) {
        uint32_t index = (uint32_t)px_json_uint(number, PELT_NONE - 1, PELT_NONE);
        if (index >= u->accessor_count || !px_json_get(u->doc->accessors.items[index], "bufferView"))
            return false;
        if (!id)
            return true;
        number = px_json_get(attributes, id->key);
    }
}

static pelt_result unpack_stream(unpacker *u, px_json *primitive, const px_json *ids) {
    px_gltf *doc = u->doc;
    px_json *attributes = px_json_get(primitive, "attributes");
    uint64_t mode = px_json_uint(px_json_get(primitive, "mode"), STRIP, px_json_get(primitive, "mode") ? 0 : TRIANGLES);
    if (mode != TRIANGLES && mode != STRIP)
        return px_gltf_fail(doc, EXTENSION " is for triangles, \"mode\" must be 4 or 5");
    uint32_t from, to;
    PX_TRY(px_gltf_index(doc, primitive, "indices", u->accessor_count, &from));
    to = find_made(u, PELT_NONE, from);
    if (to == PELT_NONE)
        PX_TRY(unpack_indices(u, from, mode, &to));
    if (!px_json_set(doc->memory, primitive, "indices", px_json_new_uint(doc->memory, to)))
        return PELT_ERROR_MEMORY;
    for (const px_json *id = ids->first; id; id = id->next)
        PX_TRY(unpack_attribute(u, attributes, ids, id->key));
    px_json_remove(primitive, "mode"); /* streams hold triangles, even if the mode is a strip */
    return PELT_OK;
}

static pelt_result unpack_primitive(unpacker *u, px_json *primitive) {
    const px_json *json = extension_of(primitive), *ids = px_json_get(json, "attributes");
    if (u->required || !has_plain_arrays(u, primitive, ids)) {
        PX_TRY(px_gltf_index(u->doc, json, "bufferView", u->view_count, &u->view));
        if (u->view == PELT_NONE || !px_json_is(ids, PX_JSON_OBJECT))
            return px_gltf_fail(u->doc, EXTENSION " needs a bufferView and attributes");
        pelt_result result = unpack_stream(u, primitive, ids);
        end_stream(u);
        PX_TRY(result);
    }
    remove_extension(primitive);
    return PELT_OK;
}

/* ---- Documents -------------------------------------------------------------------------------------------- */

/* Calls `visit` (NULL: none) for every primitive with the extension. *array_count: number of arrays, with indices. */
static pelt_result each_primitive(unpacker *u, pelt_result (*visit)(unpacker *, px_json *), uint64_t *array_count) {
    px_gltf *doc = u->doc;
    *array_count = 0;
    for (uint32_t m = 0; m < doc->meshes.count; m++) {
        const px_json *primitives = px_json_get(doc->meshes.items[m], "primitives");
        uint32_t number = 0;
        for (px_json *p = primitives ? primitives->first : NULL; p; p = p->next, number++) {
            const px_json *json = extension_of(p);
            if (!json)
                continue;
            *array_count += 1 + px_json_count(px_json_get(json, "attributes"));
            px_gltf_place(doc, "mesh %u, primitive %u", m, number);
            if (visit)
                PX_TRY(visit(u, p));
        }
    }
    return PELT_OK;
}

/* Grows the capacity of a list by `more` items. */
static bool grow(px_arena *memory, px_gltf_list *list, size_t more) {
    px_json **items = PX_NEW(memory, px_json *, list->count + more);
    if (items && list->count)
        memcpy(items, list->items, list->count * sizeof *items);
    list->items = items;
    return items != NULL;
}

static px_json *array_at(px_gltf *doc, const char *key) {
    px_json *array = px_json_get(doc->root, key);
    return array ? array : px_json_set(doc->memory, doc->root, key, px_json_array(doc->memory));
}

static pelt_result prepare(unpacker *u, size_t array_count) {
    px_gltf *doc = u->doc;
    px_arena *memory = doc->memory;
    px_gltf_buffer *buffers = PX_NEW(memory, px_gltf_buffer, doc->buffers_json.count + array_count);
    const uint8_t **decoded = PX_NEW(memory, const uint8_t *, doc->views.count + array_count);
    u->accessor_count = doc->accessors.count;
    u->view_count = doc->views.count;
    u->made = PX_NEW(u->scratch, unpacked, array_count);
    u->first_made = PX_NEW(u->scratch, uint32_t, u->view_count);
    u->accessors = array_at(doc, "accessors");
    u->views = array_at(doc, "bufferViews");
    u->buffers = array_at(doc, "buffers");
    if (!buffers || !decoded || !u->made || !u->first_made || !u->accessors || !u->views || !u->buffers ||
        !grow(memory, &doc->accessors, array_count) || !grow(memory, &doc->views, array_count) ||
        !grow(memory, &doc->buffers_json, array_count))
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < doc->buffers_json.count; b++)
        buffers[b] = doc->buffers[b];
    for (uint32_t v = 0; v < doc->views.count; v++) {
        decoded[v] = doc->decoded[v];
        u->first_made[v] = PELT_NONE;
    }
    doc->buffers = buffers;
    doc->decoded = decoded;
    const px_json *required = px_json_get(doc->root, "extensionsRequired");
    for (const px_json *name = required ? required->first : NULL; name; name = name->next)
        u->required |= strcmp(px_json_string(name, ""), EXTENSION) == 0;
    return PELT_OK;
}

static pelt_result unpack_all(unpacker *u, size_t array_count) {
    uint64_t count;
    PX_TRY(prepare(u, array_count));
    PX_TRY(each_primitive(u, unpack_primitive, &count));
    px_gltf_remove_name(u->doc->root, "extensionsUsed", EXTENSION);
    px_gltf_remove_name(u->doc->root, "extensionsRequired", EXTENSION);
    u->doc->unpacked = true;
    return PELT_OK;
}

pelt_result px_gltf_unpack_draco(px_gltf *doc) {
    unpacker u = {.doc = doc};
    uint64_t array_count;
    PX_TRY(each_primitive(&u, NULL, &array_count));
    if (array_count == 0)
        return PELT_OK;
    if (!(u.scratch = px_arena_create(doc->context)))
        return PELT_ERROR_MEMORY;
    pelt_result result = unpack_all(&u, px_size(array_count));
    px_arena_destroy(u.scratch);
    return result;
}
