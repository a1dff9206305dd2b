/* Decoder for EXT_meshopt_compression, by meshoptimizer. */
#include "io/meshopt.h"

#include <meshoptimizer.h>
#include <stdbool.h>
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
