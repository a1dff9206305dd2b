/* Kernel for prepared groups with fused multiply-adds, for AVX-512; see prepared_avx512.c. */
#if defined(__x86_64__)
#define LANES         16
#define FUSED         1
#define PREPARED_BODY px_prepared_avx512_fused
#include "run/prepared_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
