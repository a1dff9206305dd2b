/* Replaces meshopt.c in builds without meshoptimizer. */
#include "io/meshopt.h"

px_meshopt_result px_meshopt_decode(const char *mode, const char *filter, const uint8_t *packed, size_t packed_size,
                                    size_t count, size_t stride, uint8_t *out) {
    (void)mode, (void)filter, (void)packed, (void)packed_size, (void)count, (void)stride, (void)out;
    return PX_MESHOPT_NONE;
}
