/* Skinning kernel, eight vertices at a time, for AVX2. Compiled with -mavx2; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES         8
#define SKIN_BODY     px_skin_avx2
#define MORPH_BODY    px_morph_avx2
#define PREPARED_BODY px_prepared_avx2
#include "run/morph_kernel.h"
#include "run/prepared_kernel.h"
#include "run/skin_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
