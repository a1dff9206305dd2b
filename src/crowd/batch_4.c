/* Batch kernel with four instances at a time, for SSE2, NEON and WebAssembly. */
#if defined(__x86_64__) || defined(__aarch64__) || defined(__wasm_simd128__)
#define LANES      4
#define CROWD_BODY px_crowd_four
#include "crowd/batch_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
