/* The kernel for prepared groups, sixteen vertices at a time, for AVX-512. Compiled with -mavx512f -mavx512dq, and only
 * called where the machine has them. Its fused multiply-adds are not used: all bodies must round alike. */
#if defined(__x86_64__)
#define LANES         16
#define PREPARED_BODY px_prepared_avx512
#include "run/prepared_kernel.h"
#else
typedef int not_this_machine; /* a file may not be empty */
#endif
