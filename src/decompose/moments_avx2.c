/* Inner loops of the moments for AVX2. Compiled with -mavx2; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES        4
#define MOMENT_BLOCK px_moment_block_avx2
#include "decompose/moments_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
