/* The kernels, four particles or cells at a time, for NEON. */
#if defined(__aarch64__)
#define LANES 4
#include "jiggle/skin_kernel.h"
#include "jiggle/volume_kernel.h"

const px_jiggle_kernels px_jiggle_neon = {skin_particles, add_volumes};
#else
typedef int not_this_machine; /* a file may not be empty */
#endif
