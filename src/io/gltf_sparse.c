/* Displacements and weights of morph targets, most of which are often zero. The default is a plain array, which every program
 * reads. On request, sparse accessors without a buffer view store only the non-zero elements; Godot 3 misreads them (it
 * uses view 0 for the missing view). All-zero displacements always get a view: assimp 5.2 rejects accessors with
 * neither view nor sparse data.
 * A view of zeros that sparse accessors share does not work: Babylon.js 9 patches the view itself, so that each
 * accessor gets the displacements of all. */
#include "io/gltf_document.h"

/* Approximate bytes of the views and the JSON of a sparse accessor, without its elements. */
#define OVERHEAD 300u

static bool is_zero(const float *v, uint32_t width) {
    for (uint32_t c = 0; c < width; c++)
        if (v[c] != 0)
            return false;
    return true;
}

static uint32_t count_others(const float *values, uint32_t count, uint32_t width) {
    uint32_t others = 0;
    for (size_t i = 0; i < count; i++)
        others += !is_zero(values + width * i, width);
    return others;
}

static uint32_t index_size(uint32_t count) {
    return count <= 256 ? 1 : count <= 65536 ? 2 : 4;
}

static px_json *put_part(px_gltf_writer *w, px_json *sparse, const char *key, const void *data, size_t count,
                         size_t size) {
    px_json *part = px_gltf_put(w, sparse, key, px_json_object(w->arena));
    px_gltf_put_uint(w, part, "bufferView", px_gltf_add_numbers(w, data, count, size, 0));
    return part;
}

static void put_sparse(px_gltf_writer *w, px_json *accessor, const float *all, uint32_t count, uint32_t width,
                       uint32_t others) {
    uint32_t size = index_size(count), n = 0;
    uint8_t *indices = px_alloc(w->context, others, size);
    float *values = px_alloc(w->context, others, width * sizeof *values);
    w->failed |= !indices || !values;
    for (uint32_t i = 0; indices && values && i < count; i++) {
        if (is_zero(all + (size_t)width * i, width))
            continue;
        for (uint32_t b = 0; b < size; b++)
            indices[(size_t)n * size + b] = (uint8_t)(i >> 8 * b);
        memcpy(values + (size_t)width * n++, all + (size_t)width * i, width * sizeof *values);
    }
    if (!w->failed) {
        px_json *sparse = px_gltf_put(w, accessor, "sparse", px_json_object(w->arena));
        px_gltf_put_uint(w, sparse, "count", others);
        px_json *part = put_part(w, sparse, "indices", indices, (size_t)others * size, 1);
        px_gltf_put_uint(w, part, "componentType", size == 1 ? PX_GLTF_U8 : size == 2 ? PX_GLTF_U16 : PX_GLTF_U32);
        put_part(w, sparse, "values", values, (size_t)others * width, sizeof *values);
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

/* A sparse accessor if it is asked for and takes fewer bytes, else a plain one. */
static uint32_t add_smaller(px_gltf_writer *w, const float *values, uint32_t count, uint32_t width, uint32_t target,
                            bool bounds) {
    uint32_t others = count_others(values, count, width);
    size_t plain = width * sizeof *values, element = plain + index_size(count);
    if (!w->sparse || others == 0 || others * element + OVERHEAD >= plain * count)
        return px_gltf_add_accessor(w, values, count, width, PX_GLTF_F32, target, bounds);
    px_json *accessor = px_gltf_push(w, w->accessors, px_json_object(w->arena));
    px_gltf_put_uint(w, accessor, "componentType", PX_GLTF_F32);
    px_gltf_put_uint(w, accessor, "count", count);
    px_gltf_put(w, accessor, "type", px_json_new_string(w->arena, width == 1 ? "SCALAR" : "VEC3"));
    if (bounds)
        px_gltf_put_bounds(w, accessor, values, count, width);
    put_sparse(w, accessor, values, count, width, others);
    return px_json_count(w->accessors) - 1;
}

uint32_t px_gltf_add_offsets(px_gltf_writer *w, const float *offsets, uint32_t count, bool bounds) {
    if (count_others(offsets, count, 3) == 0)
        return add_zeros(w, offsets, count);
    return add_smaller(w, offsets, count, 3, PX_GLTF_VERTICES, bounds);
}

uint32_t px_gltf_add_weights(px_gltf_writer *w, const float *weights, uint32_t count) {
    return add_smaller(w, weights, count, 1, 0, false);
}
