/* EXT_meshopt_compression. Only meshopt.c calls meshoptimizer; builds without it use meshopt_none.c. */
#ifndef PELT_IO_MESHOPT_H
#define PELT_IO_MESHOPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum px_meshopt_result {
    PX_MESHOPT_OK,
    PX_MESHOPT_NONE,    /* this build has no meshoptimizer */
    PX_MESHOPT_DAMAGED, /* the data is not a valid stream */
    PX_MESHOPT_FILTER   /* the filter is unknown or does not fit the stride */
} px_meshopt_result;

/* Decodes `count` elements of `stride` bytes to out. `mode` is ATTRIBUTES (stride a multiple of 4 up to 256), TRIANGLES
 * or INDICES (stride 2 or 4); the caller checks mode and stride. */
px_meshopt_result px_meshopt_decode(const char *mode, const char *filter, const uint8_t *packed, size_t packed_size,
                                    size_t count, size_t stride, uint8_t *out);

/* Whether this build can encode. If not, the functions below return 0 and write nothing. */
bool px_meshopt_encodes(void);
/* Mode ATTRIBUTES: encodes `count` elements of `stride` bytes (a multiple of 4, up to 256). Returns the encoded size; 0:
 * `out` is smaller than the bound. */
size_t px_meshopt_vertices_bound(size_t count, size_t stride);
size_t px_meshopt_encode_vertices(const void *elements, size_t count, size_t stride, uint8_t *out, size_t capacity);
/* Mode TRIANGLES: the same for indices [index_count], a multiple of 3. Corners of a triangle may rotate. */
size_t px_meshopt_triangles_bound(size_t index_count, size_t vertex_count);
size_t px_meshopt_encode_triangles(const uint32_t *indices, size_t index_count, uint8_t *out, size_t capacity);
/* Filter OCTAHEDRAL, 8 bits: unit vectors [count][4] to out [count][4]; the last component is kept, −1 to 1. */
void px_meshopt_filter_octahedral(const float *vectors, size_t count, int8_t *out);
/* Filter QUATERNION: unit quaternions [count][4] to out [count][4]; bits 4 to 16. */
void px_meshopt_filter_quaternion(const float *quaternions, size_t count, int bits, int16_t *out);
/* A unit quaternion as a reader decodes it after that filter. */
void px_meshopt_round_quaternion(float quaternion[4], int bits);
/* Sorts triangles so that they encode to few bytes. `memory` below: bytes that it allocates on its own. */
size_t px_meshopt_sort_memory(size_t index_count, size_t vertex_count);
void px_meshopt_sort_triangles(const uint32_t *indices, size_t index_count, size_t vertex_count, uint32_t *out);

#endif
