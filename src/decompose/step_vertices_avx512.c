/* The vertex step for AVX-512. Compiled with -mavx512f; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES          8
#define VERTEX_BLOCK   px_vertex_block_avx512
#define VERTEX_PRODUCT px_vertex_product_avx512
#include "decompose/vertex_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
