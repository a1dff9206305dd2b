/* Replaces meshopt.c in builds without meshoptimizer. */
#include "io/meshopt.h"

px_meshopt_result px_meshopt_decode(const char *mode, const char *filter, const uint8_t *packed, size_t packed_size,
                                    size_t count, size_t stride, uint8_t *out) {
    (void)mode, (void)filter, (void)packed, (void)packed_size, (void)count, (void)stride, (void)out;
    return PX_MESHOPT_NONE;
}

bool px_meshopt_encodes(void) {
    return false;
}

size_t px_meshopt_vertices_bound(size_t count, size_t stride) {
    (void)count, (void)stride;
    return 0;
}

size_t px_meshopt_encode_vertices(const void *elements, size_t count, size_t stride, uint8_t *out, size_t capacity) {
    (void)elements, (void)count, (void)stride, (void)out, (void)capacity;
    return 0;
}

size_t px_meshopt_triangles_bound(size_t index_count, size_t vertex_count) {
    (void)index_count, (void)vertex_count;
    return 0;
}

size_t px_meshopt_encode_triangles(const uint32_t *indices, size_t index_count, uint8_t *out, size_t capacity) {
    (void)indices, (void)index_count, (void)out, (void)capacity;
    return 0;
}

void px_meshopt_filter_octahedral(const float *vectors, size_t count, int8_t *out) {
    (void)vectors, (void)count, (void)out;
}

void px_meshopt_filter_quaternion(const float *quaternions, size_t count, int bits, int16_t *out) {
    (void)quaternions, (void)count, (void)bits, (void)out;
}

void px_meshopt_round_quaternion(float quaternion[4], int bits) {
    (void)quaternion, (void)bits;
}

size_t px_meshopt_sort_memory(size_t index_count, size_t vertex_count) {
    (void)index_count, (void)vertex_count;
    return 0;
}

void px_meshopt_sort_triangles(const uint32_t *indices, size_t index_count, size_t vertex_count, uint32_t *out) {
    (void)indices, (void)index_count, (void)vertex_count, (void)out;
}
