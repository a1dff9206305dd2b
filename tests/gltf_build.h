/* Builds small glTF files for tests: a JSON text and bytes that accessors refer to. */
#ifndef PELT_TESTS_GLTF_BUILD_H
#define PELT_TESTS_GLTF_BUILD_H

#include "support.h"

#include "io/gltf_document.h"

#include <math.h>

typedef struct gltf_build {
    uint8_t bytes[4096];
    size_t size;
    uint32_t count; /* number of accessors, each with its own view of the same index */
    char accessors[8192];
    char views[8192];
    uint8_t glb[32768];
    size_t glb_size;
} gltf_build;

/* Appends bytes as a new view; returns its index. `more` is added to its JSON. */
static inline uint32_t build_view(gltf_build *b, const void *data, size_t size, const char *more) {
    b->size = (b->size + 3) & ~(size_t)3;
    assert_true(b->size + size <= sizeof b->bytes);
    memcpy(b->bytes + b->size, data, size);
    size_t used = strlen(b->views);
    snprintf(b->views + used, sizeof b->views - used, "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu%s}",
             used ? "," : "", b->size, size, more);
    b->size += size;
    return b->count++;
}

/* Appends the JSON of an accessor; every call must follow the one that appends its view. */
static inline void build_accessor_text(gltf_build *b, const char *format, ...) PELT_PRINTF(2, 3);
static inline void build_accessor_text(gltf_build *b, const char *format, ...) {
    size_t used = strlen(b->accessors);
    if (used)
        b->accessors[used++] = ',';
    va_list list;
    va_start(list, format);
    vsnprintf(b->accessors + used, sizeof b->accessors - used, format, list);
    va_end(list);
}

static inline uint32_t build_accessor(gltf_build *b, const void *data, size_t size, int component, const char *type,
                                      uint32_t count, const char *more) {
    uint32_t index = build_view(b, data, size, "");
    build_accessor_text(b, "{\"bufferView\":%u,\"componentType\":%d,\"type\":\"%s\",\"count\":%u%s}", index, component,
                        type, count, more);
    return index;
}

/* The same with numbers of `element` bytes each, as this machine has them. */
static inline uint32_t build_numbers(gltf_build *b, const void *data, size_t size, size_t element, int component,
                                     const char *type, uint32_t count, const char *more) {
    uint32_t index = build_accessor(b, data, size, component, type, count, more);
    px_little_endian(b->bytes + b->size - size, size / element, element);
    return index;
}

#define BUILD_FLOATS(b, type, count, ...)                                                                              \
    build_numbers(b, (const float[]){__VA_ARGS__}, sizeof(const float[]){__VA_ARGS__}, 4, 5126, type, count, "")
#define BUILD_BYTES(b, component, type, count, more, ...)                                                              \
    build_accessor(b, (const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__}, component, type, count,    \
                   more)
#define BUILD_SHORTS(b, component, type, count, more, ...)                                                             \
    build_numbers(b, (const uint16_t[]){__VA_ARGS__}, sizeof(const uint16_t[]){__VA_ARGS__}, 2, component, type,       \
                  count, more)

/* The corners of a square in the plane z = 0. */
static inline uint32_t build_square(gltf_build *b) {
    return BUILD_FLOATS(b, "VEC3", 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0);
}

static inline void build_put(gltf_build *b, const void *data, size_t size) {
    assert_true(b->glb_size + size <= sizeof b->glb);
    memcpy(b->glb + b->glb_size, data, size);
    b->glb_size += size;
}

static inline void build_put_uint(gltf_build *b, uint32_t value) {
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    build_put(b, bytes, 4);
}

/* A GLB of the JSON members `text` ("\"nodes\":[…]"), the accessors and the bytes. */
static inline void build_glb(gltf_build *b, const char *text) {
    static char json[24576];
    int length = snprintf(json, sizeof json, "{\"asset\":{\"version\":\"2.0\"}");
    if (b->size)
        length += snprintf(json + length, sizeof json - (size_t)length,
                           ",\"buffers\":[{\"byteLength\":%zu}],\"bufferViews\":[%s]", b->size, b->views);
    if (b->accessors[0])
        length += snprintf(json + length, sizeof json - (size_t)length, ",\"accessors\":[%s]", b->accessors);
    length += snprintf(json + length, sizeof json - (size_t)length, "%s%s}", text[0] ? "," : "", text);
    assert_true(length < (int)sizeof json - 4);
    while (length % 4)
        json[length++] = ' ';
    while (b->size % 4)
        b->bytes[b->size++] = 0;
    b->glb_size = 0;
    build_put(b, "glTF", 4);
    build_put_uint(b, 2);
    build_put_uint(b, (uint32_t)(20 + (size_t)length + (b->size ? 8 + b->size : 0)));
    build_put_uint(b, (uint32_t)length);
    build_put(b, "JSON", 4);
    build_put(b, json, (size_t)length);
    if (b->size) {
        build_put_uint(b, (uint32_t)b->size);
        build_put(b, "BIN\0", 4);
        build_put(b, b->bytes, b->size);
    }
}

static inline pelt_model *build_load(test_context *test, gltf_build *b, const char *text) {
    pelt_model *model;
    pelt_load_desc desc = pelt_load_desc_default();
    desc.join = "none"; /* every motion of the file */
    build_glb(b, text);
    test_ok(test, pelt_load_memory(test->context, b->glb, b->glb_size, "test.glb", &desc, &model));
    return model;
}

static inline void build_fails(gltf_build *b, const char *text, pelt_result wanted, const char *words) {
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    build_glb(b, text);
    test_fails(&test, pelt_load_memory(test.context, b->glb, b->glb_size, "test.glb", NULL, &model), wanted, words);
    assert_null(model);
    test_end(&test);
}

static inline void same_floats(const float *values, size_t count, const float *wanted) {
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(values[i] - wanted[i]) <= 1e-6f * fmaxf(1, fabsf(wanted[i]))))
            fail_msg("number %zu is %g, should be %g", i, (double)values[i], (double)wanted[i]);
}
#define SAME_FLOATS(values, ...)                                                                                       \
    same_floats(values, sizeof(const float[]){__VA_ARGS__} / sizeof(float), (const float[]){__VA_ARGS__})

static inline void same_uints(const uint32_t *values, size_t count, const uint32_t *wanted) {
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        if (values[i] != wanted[i])
            fail_msg("number %zu is %u, should be %u", i, values[i], wanted[i]);
}
#define SAME_UINTS(values, ...)                                                                                        \
    same_uints(values, sizeof(const uint32_t[]){__VA_ARGS__} / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

/* A rig with all features: two joints, a skin with u8 joints and 16-bit weights, a rigid part, a morph, two motions. */
static inline const char *build_rig(gltf_build *b) {
    build_square(b);
    BUILD_SHORTS(b, 5123, "SCALAR", 6, "", 0, 1, 2, 2, 1, 3);
    BUILD_BYTES(b, 5121, "VEC4", 4, "", 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0);
    BUILD_SHORTS(b, 5123, "VEC4", 4, ",\"normalized\":true", 32768, 32767, 0, 0, 16384, 49151, 0, 0, 65535, 0, 0, 0,
                 65535, 0, 0, 0);
    BUILD_FLOATS(b, "MAT4", 2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0,
                 -2, 0, 1);
    BUILD_FLOATS(b, "SCALAR", 2, 0, 1);
    BUILD_FLOATS(b, "VEC4", 2, 0, 0, 0, 1, 0, 0, 1, 0);
    BUILD_FLOATS(b, "SCALAR", 2, 0, 1);
    BUILD_FLOATS(b, "VEC3", 4, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4);
    return "\"scene\":0,\"scenes\":[{\"nodes\":[0,1,3],\"name\":\"all\"}],"
           "\"nodes\":[{\"mesh\":0,\"skin\":0,\"name\":\"skin\"},"
           "{\"name\":\"hip\",\"children\":[2],\"translation\":[0,1,0]},"
           "{\"name\":\"knee\",\"translation\":[0,1,0],\"extras\":{\"keep\":[1.50,true,null]}},"
           "{\"name\":\"prop\",\"mesh\":1,\"scale\":[2,2,2],\"rotation\":[0,0,0.70710678,0.70710678],\"camera\":0}],"
           "\"cameras\":[{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.10}}],"
           "\"materials\":[{\"name\":\"cloth\",\"extras\":{\"k\":1e+2}}],"
           "\"skins\":[{\"joints\":[1,2],\"inverseBindMatrices\":4}],"
           "\"meshes\":[{\"name\":\"body\",\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":2,"
           "\"WEIGHTS_0\":3},\"indices\":1,\"material\":0}]},"
           "{\"name\":\"lid\",\"weights\":[0.25],\"extras\":{\"targetNames\":[\"open\"],\"more\":7},"
           "\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1,\"targets\":[{\"POSITION\":8}]}]}],"
           "\"animations\":[{\"name\":\"turn\",\"samplers\":[{\"input\":5,\"output\":6}],\"channels\":[{\"sampler\":0,"
           "\"target\":{\"node\":2,\"path\":\"rotation\"}}]},"
           "{\"name\":\"open\",\"samplers\":[{\"input\":5,\"output\":7,\"interpolation\":\"STEP\"}],\"channels\":[{"
           "\"sampler\":0,\"target\":{\"node\":3,\"path\":\"weights\"}}]}]";
}

#endif
