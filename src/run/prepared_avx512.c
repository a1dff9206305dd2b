/* Kernel for prepared groups, sixteen vertices at a time, for AVX-512. Compiled with -mavx512f -mavx512dq; called
 * only if the CPU supports both. Fused multiply-adds are not used: all versions must round alike. */
#if defined(__x86_64__)
#define LANES         16
#define PREPARED_BODY px_prepared_avx512
#include "run/prepared_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
