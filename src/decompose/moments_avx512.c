/* Inner loops of the moments for AVX-512. Compiled with -mavx512f; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES        8
#define MOMENT_BLOCK px_moment_block_avx512
#include "decompose/moments_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
