/* Encoder and decoder for EXT_meshopt_compression, by meshoptimizer. */
#include "io/meshopt.h"

#include <math.h>
#include <meshoptimizer.h>
#include <string.h>

/* Undoes the filter in place. Returns false if it is unknown or does not fit the stride. */
static bool undo_filter(const char *filter, uint8_t *data, size_t count, size_t stride) {
    if (strcmp(filter, "NONE") == 0)
        return true;
    if (strcmp(filter, "OCTAHEDRAL") == 0 && (stride == 4 || stride == 8))
        meshopt_decodeFilterOct(data, count, stride);
    else if (strcmp(filter, "QUATERNION") == 0 && stride == 8)
        meshopt_decodeFilterQuat(data, count, stride);
    else if (strcmp(filter, "EXPONENTIAL") == 0)
        meshopt_decodeFilterExp(data, count, stride);
    else
        return false;
    return true;
}

px_meshopt_result px_meshopt_decode(const char *mode, const char *filter, const uint8_t *packed, size_t packed_size,
                                    size_t count, size_t stride, uint8_t *out) {
    bool attributes = strcmp(mode, "ATTRIBUTES") == 0, triangles = strcmp(mode, "TRIANGLES") == 0;
    int error = attributes  ? meshopt_decodeVertexBuffer(out, count, stride, packed, packed_size)
                : triangles ? meshopt_decodeIndexBuffer(out, count, stride, packed, packed_size)
                            : meshopt_decodeIndexSequence(out, count, stride, packed, packed_size);
    if (error)
        return PX_MESHOPT_DAMAGED;
    return attributes && !undo_filter(filter, out, count, stride) ? PX_MESHOPT_FILTER : PX_MESHOPT_OK;
}

bool px_meshopt_encodes(void) {
    return true;
}

size_t px_meshopt_vertices_bound(size_t count, size_t stride) {
    return meshopt_encodeVertexBufferBound(count, stride);
}

size_t px_meshopt_encode_vertices(const void *elements, size_t count, size_t stride, uint8_t *out, size_t capacity) {
    return meshopt_encodeVertexBuffer(out, capacity, elements, count, stride);
}

size_t px_meshopt_triangles_bound(size_t index_count, size_t vertex_count) {
    return meshopt_encodeIndexBufferBound(index_count, vertex_count);
}

size_t px_meshopt_encode_triangles(const uint32_t *indices, size_t index_count, uint8_t *out, size_t capacity) {
    return meshopt_encodeIndexBuffer(out, capacity, indices, index_count);
}

void px_meshopt_filter_octahedral(const float *vectors, size_t count, int8_t *out) {
    meshopt_encodeFilterOct(out, count, 4, 8, vectors);
}

void px_meshopt_filter_quaternion(const float *quaternions, size_t count, int bits, int16_t *out) {
    meshopt_encodeFilterQuat(out, count, 8, bits, quaternions);
}

void px_meshopt_round_quaternion(float quaternion[4], int bits) {
    int16_t numbers[4];
    double sum = 0, values[4];
    meshopt_encodeFilterQuat(numbers, 1, sizeof numbers, bits, quaternion);
    for (int c = 0; c < 3; c++) { /* the two lowest bits of the last number say which component is missing */
        values[c] = nearbyint(32767 * 0.70710678118654752 * numbers[c] / (numbers[3] | 3));
        sum += values[c] * values[c];
    }
    values[3] = nearbyint(sqrt(sum < 32767.0 * 32767 ? 32767.0 * 32767 - sum : 0));
    double length = sqrt(sum + values[3] * values[3]);
    for (int c = 0; c < 4; c++)
        quaternion[(numbers[3] + 1 + c) & 3] = (float)(values[c] / length);
}

/* Adjacency lists, scores and marks: 3 words per corner and 3 per vertex, rounded up. */
size_t px_meshopt_sort_memory(size_t index_count, size_t vertex_count) {
    return 4 * (4 * index_count + 4 * vertex_count) + 4096;
}

void px_meshopt_sort_triangles(const uint32_t *indices, size_t index_count, size_t vertex_count, uint32_t *out) {
    meshopt_optimizeVertexCacheStrip(out, indices, index_count, vertex_count);
}
