/* Skinning kernels with fused multiply-adds, eight vertices at a time. Compiled with -mavx2 -mfma; called only if the
 * CPU supports both, for jobs that need not have the same bits on every machine. */
#if defined(__x86_64__)
#define LANES         8
#define FUSED         1
#define SKIN_BODY     px_skin_fma
#define PREPARED_BODY px_prepared_fma
#include "run/prepared_kernel.h"
#include "run/skin_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
