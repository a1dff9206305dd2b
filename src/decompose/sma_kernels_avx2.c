/* Inner loops of mean shift for AVX2. Compiled with -mavx2; called only if the CPU supports it. */
#if defined(__x86_64__)
#include "decompose/sma_kernels.h"

const px_shift_kernels px_shift_avx2 = SHIFT_KERNELS;
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
