/* Skinning kernel, four vertices at a time, for NEON. */
#if defined(__aarch64__)
#define LANES         4
#define SKIN_BODY     px_skin_neon
#define MORPH_BODY    px_morph_neon
#define PREPARED_BODY px_prepared_neon
#include "run/morph_kernel.h"
#include "run/prepared_kernel.h"
#include "run/skin_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
