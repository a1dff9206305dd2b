/* The kernels, eight at a time, for AVX2. Compiled with -mavx2, and only called where the machine has it. */
#if defined(__x86_64__)
#define LANES 8
#include "jiggle/skin_kernel.h"
#include "jiggle/volume_kernel.h"

const px_jiggle_kernels px_jiggle_avx2 = {skin_particles, add_volumes};
#else
typedef int not_this_machine; /* a file may not be empty */
#endif
