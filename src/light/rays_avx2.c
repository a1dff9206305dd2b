/* Rays for AVX2, eight rays at a time. Compiled with -mavx2; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES     8
#define RAYS_BODY px_rays_avx2
#include "light/rays_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
