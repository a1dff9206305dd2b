/* The kernels, one particle or cell at a time: the reference for the others. */
#define LANES 1
#include "jiggle/skin_kernel.h"
#include "jiggle/volume_kernel.h"

const px_jiggle_kernels px_jiggle_scalar = {skin_particles, add_volumes};
