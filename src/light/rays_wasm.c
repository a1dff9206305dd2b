/* Rays for WebAssembly, four rays at a time. */
#if defined(__wasm_simd128__)
#define LANES     4
#define RAYS_BODY px_rays_wasm
#include "light/rays_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
