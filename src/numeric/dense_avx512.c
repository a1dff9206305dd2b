/* Dense algebra for AVX-512. Compiled with -mavx512f; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES   8
#define ROWS    8
#define VECTORS 3
#define KERNELS px_dense_kernels_avx512
#include "numeric/dense_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
