/* Displacements of morph targets, most of which are often zero. The default is a plain array, which every program
 * reads. On request, sparse accessors without a buffer view store only the non-zero elements; Godot 3 misreads them (it
 * uses view 0 for the missing view). All-zero displacements always get a view: assimp 5.2 rejects accessors with
 * neither view nor sparse data.
 * A view of zeros that sparse accessors share does not work: Babylon.js 9 patches the view itself, so that each
 * accessor gets the displacements of all. */
#include "io/gltf_document.h"

/* Approximate bytes of the views and the JSON of a sparse accessor, without its elements. */
#define OVERHEAD 300u

static bool is_zero(const float v[3]) {
    return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

static uint32_t count_others(const float *offsets, uint32_t count) {
    uint32_t others = 0;
    for (size_t i = 0; i < count; i++)
        others += !is_zero(offsets + 3 * i);
    return others;
}

static px_json *put_part(px_gltf_writer *w, px_json *sparse, const char *key, const void *data, size_t count,
                         size_t size) {
    px_json *part = px_gltf_put(w, sparse, key, px_json_object(w->arena));
    px_gltf_put_uint(w, part, "bufferView", px_gltf_add_numbers(w, data, count, size, 0));
    return part;
}

static void put_sparse(px_gltf_writer *w, px_json *accessor, const float *offsets, uint32_t count, uint32_t others) {
    uint32_t size = count <= 256 ? 1 : count <= 65536 ? 2 : 4, n = 0;
    uint8_t *indices = px_alloc(w->context, others, size);
    float *values = px_alloc(w->context, others, 3 * sizeof *values);
    w->failed |= !indices || !values;
    for (uint32_t i = 0; indices && values && i < count; i++) {
        if (is_zero(offsets + 3 * (size_t)i))
            continue;
        for (uint32_t b = 0; b < size; b++)
            indices[(size_t)n * size + b] = (uint8_t)(i >> 8 * b);
        memcpy(values + 3 * (size_t)n++, offsets + 3 * (size_t)i, 3 * sizeof *values);
    }
    if (!w->failed) {
        px_json *sparse = px_gltf_put(w, accessor, "sparse", px_json_object(w->arena));
        px_gltf_put_uint(w, sparse, "count", others);
        px_json *part = put_part(w, sparse, "indices", indices, (size_t)others * size, 1);
        px_gltf_put_uint(w, part, "componentType", size == 1 ? PX_GLTF_U8 : size == 2 ? PX_GLTF_U16 : PX_GLTF_U32);
        put_part(w, sparse, "values", values, (size_t)others * 3, sizeof *values);
    }
    px_free(w->context, indices);
    px_free(w->context, values);
}

/* An all-zero accessor that was already written. Targets without displacements share it. */
typedef struct written_zeros {
    uint32_t count, accessor;
} written_zeros;

static uint32_t add_zeros(px_gltf_writer *w, const float *offsets, uint32_t count) {
    const written_zeros *old = (const void *)w->zeros.data;
    for (size_t z = 0; z < w->zeros.size / sizeof *old; z++)
        if (old[z].count == count)
            return old[z].accessor;
    written_zeros made = {count, px_gltf_add_accessor(w, offsets, count, 3, PX_GLTF_F32, PX_GLTF_VERTICES, true)};
    px_buffer_add(&w->zeros, &made, sizeof made);
    w->failed |= w->zeros.failed;
    return made.accessor;
}

uint32_t px_gltf_add_offsets(px_gltf_writer *w, const float *offsets, uint32_t count, bool bounds) {
    uint32_t others = count_others(offsets, count);
    size_t element = 12 + (count <= 256 ? 1u : count <= 65536 ? 2u : 4u);
    if (others == 0)
        return add_zeros(w, offsets, count);
    if (!w->sparse || others * element + OVERHEAD >= 12 * (size_t)count)
        return px_gltf_add_accessor(w, offsets, count, 3, PX_GLTF_F32, PX_GLTF_VERTICES, bounds);
    px_json *accessor = px_gltf_push(w, w->accessors, px_json_object(w->arena));
    px_gltf_put_uint(w, accessor, "componentType", PX_GLTF_F32);
    px_gltf_put_uint(w, accessor, "count", count);
    px_gltf_put(w, accessor, "type", px_json_new_string(w->arena, "VEC3"));
    if (bounds)
        px_gltf_put_bounds(w, accessor, offsets, count, 3);
    put_sparse(w, accessor, offsets, count, others);
    return px_json_count(w->accessors) - 1;
}
