/* Kernels for WebAssembly, four particles or cells at a time. */
#if defined(__wasm_simd128__)
#define LANES 4
#include "jiggle/match_kernel.h"
#include "jiggle/mesh_kernel.h"
#include "jiggle/skin_kernel.h"
#include "jiggle/volume_kernel.h"

const px_jiggle_kernels px_jiggle_wasm = PX_JIGGLE_KERNELS;
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
