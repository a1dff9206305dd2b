/* The vertex step for AVX2. Compiled with -mavx2; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES          4
#define VERTEX_BLOCK   px_vertex_block_avx2
#define VERTEX_PRODUCT px_vertex_product_avx2
#include "decompose/vertex_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
