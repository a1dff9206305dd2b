/* Decoder for EXT_meshopt_compression. Only meshopt.c calls meshoptimizer; builds without it use meshopt_none.c. */
#ifndef PELT_IO_MESHOPT_H
#define PELT_IO_MESHOPT_H

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

#endif
