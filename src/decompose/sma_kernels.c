/* Inner loops of mean shift for every machine. */
#include "decompose/sma_kernels.h"

static const px_shift_kernels plain = SHIFT_KERNELS;

const px_shift_kernels *px_shift_kernels_plain(void) {
    return &plain;
}

const px_shift_kernels *px_shift_kernels_best(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &px_shift_avx2;
#endif
    return &plain;
}
