/* Rays for SSE2, four rays at a time. */
#if defined(__x86_64__)
#define LANES     4
#define RAYS_BODY px_rays_sse2
#include "light/rays_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
