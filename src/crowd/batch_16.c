/* Batch kernel with sixteen instances at a time, for AVX-512. Compiled with -mavx512f -mavx512dq; called only if the CPU
 * supports both. */
#if defined(__x86_64__)
#define LANES       16
#define FUSED       1
#define CROWD_BODY  px_crowd_sixteen
#define NARROW_BODY &px_crowd_eight
#include "crowd/batch_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
