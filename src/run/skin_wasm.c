/* Skinning kernel, four vertices at a time, for WebAssembly. */
#if defined(__wasm_simd128__)
#define LANES         4
#define SKIN_BODY     px_skin_wasm
#define MORPH_BODY    px_morph_wasm
#define PREPARED_BODY px_prepared_wasm
#include "run/morph_kernel.h"
#include "run/prepared_kernel.h"
#include "run/skin_kernel.h"
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
