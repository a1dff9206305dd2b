/* Batch kernel with eight instances at a time, for AVX2. Compiled with -mavx2 -mfma; called only if the CPU supports
 * both. */
#if defined(__x86_64__)
#define LANES      8
#define FUSED      1
#define CROWD_BODY px_crowd_eight
#include "crowd/batch_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
