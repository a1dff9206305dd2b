/* Dense algebra for any machine, and the choice between kernels. */
#define LANES   2
#define ROWS    4
#define VECTORS 2
#define KERNELS px_dense_kernels_any
#include "numeric/dense_kernel.h"

const px_dense_kernels *px_dense_kernels_here(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return &px_dense_kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &px_dense_kernels_avx2;
#endif
    return &px_dense_kernels_any;
}
