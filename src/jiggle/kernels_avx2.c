/* Kernels for AVX2, eight particles or cells at a time. Compiled with -mavx2; called only if the CPU supports it. */
#if defined(__x86_64__)
#define LANES 8
#include "jiggle/match_kernel.h"
#include "jiggle/mesh_kernel.h"
#include "jiggle/skin_kernel.h"
#include "jiggle/volume_kernel.h"

const px_jiggle_kernels px_jiggle_avx2 = PX_JIGGLE_KERNELS;
#else
typedef int not_this_machine; /* ISO C forbids an empty translation unit */
#endif
