/* Inspects written glTF files. */
#ifndef PELT_TESTS_GLTF_WRITTEN_H
#define PELT_TESTS_GLTF_WRITTEN_H

#include "support.h"

#include "core/core.h"
#include "core/json.h"

typedef struct written {
    uint8_t *file;
    size_t size;
    const uint8_t *binary; /* of a GLB, or NULL */
    px_arena *arena;
    px_json *root;
} written;

static inline void read_whole(const char *path, written *out) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    out->file = malloc(8 << 20);
    out->size = fread(out->file, 1, 8 << 20, file);
    fclose(file);
}

static inline void look(test_context *test, const char *path, written *out) {
    *out = (written){.arena = px_arena_create(test->context)};
    read_whole(path, out);
    const char *json = (const char *)out->file;
    size_t size = out->size;
    if (memcmp(json, "glTF", 4) == 0) {
        assert_int_equal(px_load_u32(out->file + 8), out->size);
        size = px_load_u32(out->file + 12);
        assert_int_equal(size % 4, 0);
        json += 20;
        out->binary = 20 + size < out->size ? out->file + 28 + size : NULL;
    }
    test_ok(test, px_json_read(out->arena, json, size, &out->root));
}

static inline void forget(written *w) {
    free(w->file);
    px_arena_destroy(w->arena);
}

static inline px_json *item(const px_json *root, const char *array, uint32_t index) {
    return px_json_at(px_json_get(root, array), index);
}

#endif
