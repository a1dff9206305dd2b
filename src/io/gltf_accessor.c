/* Decodes accessors from bytes to numbers. Supports every kind in the specification: integers (normalised or not),
 * interleaved, sparse, without a view (all zero), and views compressed with EXT_meshopt_compression. Every range is
 * checked against its buffer before it is read. */
#include "io/gltf_document.h"
#include "io/meshopt.h"

uint32_t px_gltf_component_size(px_gltf_component component) {
    return component == PX_GLTF_I8 || component == PX_GLTF_U8     ? 1
           : component == PX_GLTF_I16 || component == PX_GLTF_U16 ? 2
           : component == PX_GLTF_U32 || component == PX_GLTF_F32 ? 4
                                                                  : 0;
}

/* ---- Views ------------------------------------------------------------------------------------------------ */

typedef struct view {
    const uint8_t *data;
    size_t size;
    size_t stride; /* bytes from one element to the next; 0: tightly packed */
} view;

/* Reads an unsigned integer at a key; `fallback` if the key is missing. Fails on any other value. */
static pelt_result get_size(px_gltf *doc, const px_json *json, const char *key, size_t fallback, size_t *out) {
    const px_json *value = px_json_get(json, key);
    *out = fallback;
    if (!value)
        return PELT_OK;
    uint64_t number = px_json_uint(value, SIZE_MAX / 4, UINT64_MAX);
    if (number == UINT64_MAX)
        return px_gltf_fail(doc, "\"%s\" must be a whole number", key);
    *out = (size_t)number;
    return PELT_OK;
}

/* Finds the bytes that buffer, byteOffset and byteLength of an object refer to. */
static pelt_result get_span(px_gltf *doc, const px_json *json, const char *what, uint32_t index, view *out) {
    uint32_t buffer;
    size_t offset, size;
    PX_TRY(px_gltf_index(doc, json, "buffer", doc->buffers_json.count, &buffer));
    PX_TRY(get_size(doc, json, "byteOffset", 0, &offset));
    PX_TRY(get_size(doc, json, "byteLength", 0, &size));
    if (buffer == PELT_NONE)
        return px_gltf_fail(doc, "%s %u: has no buffer", what, index);
    const px_gltf_buffer *b = &doc->buffers[buffer];
    if (!b->data)
        return px_gltf_fail(doc, "%s %u: buffer %u has no data", what, index, buffer);
    if (offset > b->size || size > b->size - offset)
        return px_gltf_fail(doc, "%s %u: needs bytes %zu to %zu of buffer %u, which has %zu", what, index, offset,
                            offset + size, buffer, b->size);
    *out = (view){.data = b->data + offset, .size = size};
    return PELT_OK;
}

/* Decodes a view with EXT_meshopt_compression. The decoders validate the stream, but not mode, count and stride: these
 * are checked here. */
static pelt_result decode_view(px_gltf *doc, uint32_t index, const px_json *json, view *out) {
    view packed;
    size_t count, stride;
    PX_TRY(get_span(doc, json, "compressed view", index, &packed));
    PX_TRY(get_size(doc, json, "count", 0, &count));
    PX_TRY(get_size(doc, json, "byteStride", 0, &stride));
    const char *mode = px_json_string(px_json_get(json, "mode"), "");
    const char *filter = px_json_string(px_json_get(json, "filter"), "NONE");
    bool attributes = strcmp(mode, "ATTRIBUTES") == 0, triangles = strcmp(mode, "TRIANGLES") == 0;
    bool fits = attributes ? stride >= 4 && stride <= 256 && stride % 4 == 0
                           : (stride == 2 || stride == 4) && (!triangles || count % 3 == 0);
    if (!fits || (!attributes && !triangles && strcmp(mode, "INDICES") != 0))
        return px_gltf_fail(doc, "compressed view %u: mode \"%.20s\" with byteStride %zu and count %zu", index, mode,
                            stride, count);
    *out = (view){.data = doc->decoded[index], .size = count * stride, .stride = attributes ? stride : 0};
    if (out->data)
        return PELT_OK;
    uint8_t *data = px_gltf_new(doc, count, stride);
    if (!data)
        return doc->failure;
    px_meshopt_result result = px_meshopt_decode(mode, filter, packed.data, packed.size, count, stride, data);
    if (result == PX_MESHOPT_NONE)
        return px_fail(
            doc->context, PELT_ERROR_UNSUPPORTED,
            "compressed view %u: was compressed with EXT_meshopt_compression; this build has no meshoptimizer "
            "support",
            index);
    if (result != PX_MESHOPT_OK)
        return px_gltf_fail(doc, "compressed view %u: %s", index,
                            result == PX_MESHOPT_DAMAGED ? "its data is damaged"
                                                         : "its filter is unknown or does not fit its stride");
    out->data = doc->decoded[index] = data;
    return PELT_OK;
}

static pelt_result get_view(px_gltf *doc, uint32_t index, view *out) {
    const px_json *json = doc->views.items[index];
    const px_json *packed = px_gltf_compressed(json);
    if (packed)
        return decode_view(doc, index, packed, out);
    PX_TRY(get_span(doc, json, "view", index, out));
    return get_size(doc, json, "byteStride", 0, &out->stride);
}

pelt_result px_gltf_view_bytes(px_gltf *doc, uint32_t index, const uint8_t **data, size_t *size) {
    view v;
    PX_TRY(get_view(doc, index, &v));
    *data = v.data;
    *size = v.size;
    return PELT_OK;
}

/* ---- Lookup ----------------------------------------------------------------------------------------------- */

void px_gltf_get_shape(const px_json *json, px_gltf_accessor *a) {
    static const struct {
        const char *name;
        uint32_t rows, columns;
    } types[] = {{"SCALAR", 1, 1}, {"VEC2", 2, 1}, {"VEC3", 3, 1}, {"VEC4", 4, 1},
                 {"MAT2", 2, 2},   {"MAT3", 3, 3}, {"MAT4", 4, 4}};
    const char *type = px_json_string(px_json_get(json, "type"), "");
    a->component = (px_gltf_component)px_json_uint(px_json_get(json, "componentType"), 6000, 0);
    a->width = a->size = 0;
    for (size_t t = 0; t < PX_COUNT(types); t++)
        if (strcmp(type, types[t].name) == 0) {
            uint32_t column = types[t].rows * px_gltf_component_size(a->component);
            a->width = types[t].rows * types[t].columns;
            a->size = types[t].columns == 1 ? column : types[t].columns * ((column + 3) & ~3u);
        }
}

static bool component_allowed(px_gltf_component component, bool normalized, uint32_t allowed) {
    bool wide = component == PX_GLTF_U32, sign = component == PX_GLTF_I8 || component == PX_GLTF_I16;
    if (component == PX_GLTF_F32)
        return allowed & PX_GLTF_FLOAT;
    if (wide)
        return allowed & PX_GLTF_INTEGER32;
    if (allowed & PX_GLTF_ANY)
        return true;
    if (normalized)
        return allowed & (sign ? PX_GLTF_SIGNED : PX_GLTF_UNIT);
    return !sign && allowed & PX_GLTF_INTEGER;
}

static pelt_result get_sparse(px_gltf *doc, const px_json *json, px_gltf_accessor *a) {
    const px_json *indices = px_json_get(json, "indices"), *values = px_json_get(json, "values");
    uint64_t count = px_json_uint(px_json_get(json, "count"), a->count, 0);
    if (count == 0)
        return px_gltf_fail(doc, "accessor %u: its sparse count must be from 1 to %u", a->index, a->count);
    a->sparse_count = (uint32_t)count;
    a->sparse_component = (px_gltf_component)px_json_uint(px_json_get(indices, "componentType"), 6000, 0);
    uint32_t index_size = px_gltf_component_size(a->sparse_component);
    if (a->sparse_component != PX_GLTF_U8 && a->sparse_component != PX_GLTF_U16 && a->sparse_component != PX_GLTF_U32)
        return px_gltf_fail(doc, "accessor %u: its sparse indices must be unsigned integers", a->index);
    for (int part = 0; part < 2; part++) {
        const px_json *object = part ? values : indices;
        uint32_t index;
        size_t offset;
        uint64_t need = (uint64_t)count * (part ? a->size : index_size);
        view v;
        PX_TRY(px_gltf_index(doc, object, "bufferView", doc->views.count, &index));
        if (index == PELT_NONE)
            return px_gltf_fail(doc, "accessor %u: its sparse %s have no bufferView", a->index,
                                part ? "values" : "indices");
        PX_TRY(get_size(doc, object, "byteOffset", 0, &offset));
        PX_TRY(get_view(doc, index, &v));
        if (offset > v.size || need > v.size - offset)
            return px_gltf_fail(doc, "accessor %u: its sparse %s need %llu bytes, view %u has %zu", a->index,
                                part ? "values" : "indices", (unsigned long long)(offset + need), index, v.size);
        *(part ? &a->sparse_values : &a->sparse_indices) = v.data + offset;
    }
    return PELT_OK;
}

/* Finds the bytes of the elements and checks that they lie within the view. */
static pelt_result get_elements(px_gltf *doc, const px_json *json, px_gltf_accessor *a) {
    uint32_t index;
    PX_TRY(px_gltf_index(doc, json, "bufferView", doc->views.count, &index));
    if (index == PELT_NONE)
        return PELT_OK;
    size_t offset;
    view v;
    PX_TRY(get_size(doc, json, "byteOffset", 0, &offset));
    PX_TRY(get_view(doc, index, &v));
    a->stride = v.stride ? v.stride : a->size;
    if (a->stride < a->size || a->stride > 65535)
        return px_gltf_fail(doc, "accessor %u: elements of %u bytes do not fit view %u's byteStride %zu", a->index,
                            a->size, index, a->stride);
    uint64_t need = (uint64_t)(a->count - 1) * a->stride + a->size;
    if (offset > v.size || need > v.size - offset)
        return px_gltf_fail(doc, "accessor %u: needs %llu bytes, view %u has %zu", a->index,
                            (unsigned long long)(offset + need), index, v.size);
    a->data = v.data + offset;
    return PELT_OK;
}

#define ELEMENT_SIZE_MOST 64u /* bytes of a 4×4 matrix of floats */

pelt_result px_gltf_accessor_describe(px_gltf *doc, uint32_t index, const char *what, uint32_t width, uint32_t allowed,
                                      px_gltf_accessor *a) {
    if (index >= doc->accessors.count)
        return px_gltf_fail(doc, "%s: accessor %u does not exist, there are %u", what, index, doc->accessors.count);
    const px_json *json = doc->accessors.items[index];
    *a = (px_gltf_accessor){.index = index};
    a->count = (uint32_t)px_json_uint(px_json_get(json, "count"), INT32_MAX, 0);
    a->total = a->count;
    px_gltf_get_shape(json, a);
    a->normalized = px_json_bool(px_json_get(json, "normalized"), false);
    if (a->count == 0)
        return px_gltf_fail(doc, "%s: accessor %u: its count must be a positive whole number", what, index);
    if (px_mul_size(a->count, ELEMENT_SIZE_MOST) == SIZE_MAX) /* 32-bit platforms */
        return px_gltf_fail(doc, "%s: accessor %u: %u elements do not fit into memory", what, index, a->count);
    if (a->width == 0 || (width && a->width != width) || a->size == 0 ||
        !component_allowed(a->component, a->normalized, allowed))
        return px_gltf_fail(doc, "%s: accessor %u: type \"%.20s\" of componentType %u%s cannot be used here", what,
                            index, px_json_string(px_json_get(json, "type"), ""), (unsigned)a->component,
                            a->normalized ? ", normalized," : "");
    return PELT_OK;
}

pelt_result px_gltf_accessor_get(px_gltf *doc, uint32_t index, const char *what, uint32_t width, uint32_t allowed,
                                 px_gltf_accessor *a) {
    PX_TRY(px_gltf_accessor_describe(doc, index, what, width, allowed, a));
    const px_json *json = doc->accessors.items[index], *sparse = px_json_get(json, "sparse");
    PX_TRY(get_elements(doc, json, a));
    return sparse ? get_sparse(doc, sparse, a) : PELT_OK;
}

/* ---- Unpacking -------------------------------------------------------------------------------------------- */

/* Loops over the elements at `p`, `stride` bytes apart, and appends `convert`, an expression of `value`, to `out`. */
#define UNPACK(type, convert)                                                                                          \
    for (size_t e = 0; e < count; e++, p += stride)                                                                    \
        for (uint32_t c = 0; c < width; c++) {                                                                         \
            type value;                                                                                                \
            memcpy(&value, p + c * sizeof value, sizeof value);                                                        \
            px_little_endian(&value, 1, sizeof value);                                                                 \
            *out++ = (convert);                                                                                        \
        }

#define UNPACK_TIGHT(type)                                                                                             \
    for (size_t e = 0; e < count; e++) {                                                                               \
        type value;                                                                                                    \
        memcpy(&value, p + e * sizeof value, sizeof value);                                                            \
        px_little_endian(&value, 1, sizeof value);                                                                     \
        out[e] = value;                                                                                                \
    }

static void unpack_f32(const uint8_t *p, size_t stride, size_t count, uint32_t width, float *out) {
    size_t size = width * sizeof *out;
    float *first = out;
    if (stride == size)
        memcpy(out, p, count * size);
    for (size_t e = 0; e < count && stride != size; e++, p += stride, out += width)
        switch (width) { /* compilers turn copies of constant size into register moves */
        case 2:
            memcpy(out, p, 2 * sizeof *out);
            break;
        case 3:
            memcpy(out, p, 3 * sizeof *out);
            break;
        case 4:
            memcpy(out, p, 4 * sizeof *out);
            break;
        default:
            memcpy(out, p, size);
        }
    px_little_endian(first, count * width, sizeof *first);
}

static void unpack_floats(const px_gltf_accessor *a, const uint8_t *p, size_t stride, size_t count, float *out) {
    uint32_t width = a->width;
    bool normalized = a->normalized;
    switch (a->component) {
    case PX_GLTF_F32:
        unpack_f32(p, stride, count, width, out);
        break;
    case PX_GLTF_I8:
        UNPACK(int8_t, normalized ? px_fmaxf((float)value / 127.0f, -1.0f) : (float)value)
        break;
    case PX_GLTF_U8:
        UNPACK(uint8_t, normalized ? (float)value / 255.0f : (float)value)
        break;
    case PX_GLTF_I16:
        UNPACK(int16_t, normalized ? px_fmaxf((float)value / 32767.0f, -1.0f) : (float)value)
        break;
    case PX_GLTF_U16:
        UNPACK(uint16_t, normalized ? (float)value / 65535.0f : (float)value)
        break;
    case PX_GLTF_U32:
        UNPACK(uint32_t, (float)value)
        break;
    }
}

static void unpack_uints(const px_gltf_accessor *a, const uint8_t *p, size_t stride, size_t count, uint32_t *out) {
    uint32_t width = a->width, size = px_gltf_component_size(a->component);
    if (size == 4 && stride == size * width) {
        memcpy(out, p, count * stride);
        px_little_endian(out, count * width, size);
        return;
    }
    bool tight = stride == size * width;
    if (tight) { /* one array of scalars, which compilers vectorise */
        count *= width;
        width = 1;
    }
    if (size == 4)
        UNPACK(uint32_t, value)
    else if (size == 2 && tight)
        UNPACK_TIGHT(uint16_t)
    else if (size == 2)
        UNPACK(uint16_t, value)
    else if (tight)
        UNPACK_TIGHT(uint8_t)
    else
        UNPACK(uint8_t, value)
}

/* Index of the element that sparse value s replaces. */
static uint32_t sparse_index(const px_gltf_accessor *a, uint32_t s) {
    const uint8_t *p = a->sparse_indices;
    return a->sparse_component == PX_GLTF_U8    ? p[s]
           : a->sparse_component == PX_GLTF_U16 ? (uint32_t)(p[2 * (size_t)s] | p[2 * (size_t)s + 1] << 8)
                                                : px_load_u32(p + 4 * (size_t)s);
}

/* Binary search for the first sparse value whose element index is at least `element`. Sparse indices ascend. */
static uint32_t sparse_start(const px_gltf_accessor *a, uint32_t element) {
    uint32_t low = 0, high = a->sparse_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sparse_index(a, middle) < element)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const uint8_t *px_gltf_element(const px_gltf_accessor *a, uint32_t element) {
    uint32_t s = sparse_start(a, a->first + element);
    if (s < a->sparse_count && sparse_index(a, s) == a->first + element)
        return a->sparse_values + (size_t)s * a->size;
    return a->data ? a->data + element * a->stride : NULL;
}

/* Overwrites the elements that have sparse values, in `floats`, or in `uints` if `floats` is NULL. */
static pelt_result unpack_sparse(px_gltf *doc, const px_gltf_accessor *a, float *floats, uint32_t *uints) {
    uint32_t start = a->first ? sparse_start(a, a->first) : 0;
    for (uint32_t s = start, previous = 0; s < a->sparse_count; s++) {
        uint32_t element = sparse_index(a, s);
        if (element >= a->total || (s > start && element <= previous))
            return px_gltf_fail(doc, "accessor %u: sparse index %u is %u; they must ascend and stay below %u", a->index,
                                s, element, a->total);
        previous = element;
        if (element < a->first || element - a->first >= a->count) /* outside the slice */
            break;
        size_t place = (size_t)(element - a->first) * a->width;
        const uint8_t *p = a->sparse_values + (size_t)s * a->size;
        if (floats)
            unpack_floats(a, p, a->size, 1, floats + place);
        else
            unpack_uints(a, p, a->size, 1, uints + place);
    }
    return PELT_OK;
}

px_gltf_accessor px_gltf_slice(const px_gltf_accessor *accessor, uint32_t first, uint32_t count) {
    px_gltf_accessor slice = *accessor;
    slice.first += first;
    slice.count = count;
    if (slice.data)
        slice.data += first * slice.stride;
    return slice;
}

pelt_result px_gltf_floats(px_gltf *doc, const px_gltf_accessor *a, float *out) {
    if (a->data)
        unpack_floats(a, a->data, a->stride, a->count, out);
    else
        memset(out, 0, (size_t)a->count * a->width * sizeof *out);
    return unpack_sparse(doc, a, out, NULL);
}

pelt_result px_gltf_uints(px_gltf *doc, const px_gltf_accessor *a, uint32_t *out) {
    if (a->data)
        unpack_uints(a, a->data, a->stride, a->count, out);
    else
        memset(out, 0, (size_t)a->count * a->width * sizeof *out);
    return unpack_sparse(doc, a, NULL, out);
}
