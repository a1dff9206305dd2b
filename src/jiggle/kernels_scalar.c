/* Scalar kernels, one particle or cell at a time: the reference for the SIMD versions. */
#define LANES 1
#include "jiggle/match_kernel.h"
#include "jiggle/mesh_kernel.h"
#include "jiggle/skin_kernel.h"
#include "jiggle/volume_kernel.h"

const px_jiggle_kernels px_jiggle_scalar = PX_JIGGLE_KERNELS;
