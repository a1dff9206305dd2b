/* Dense algebra for AVX2. Compiled with -mavx2; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES   4
#define ROWS    4
#define VECTORS 3
#define KERNELS px_dense_kernels_avx2
#include "numeric/dense_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
