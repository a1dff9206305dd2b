/* Skinning kernel, four vertices at a time, for SSE2. */
#if defined(__x86_64__)
#define LANES         4
#define SKIN_BODY     px_skin_sse2
#define MORPH_BODY    px_morph_sse2
#define PREPARED_BODY px_prepared_sse2
#include "run/morph_kernel.h"
#include "run/prepared_kernel.h"
#include "run/skin_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
