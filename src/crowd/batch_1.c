/* Scalar batch kernel: the reference, and palettes of single instances. */
#define LANES      1
#define CROWD_BODY px_crowd_one
#include "crowd/batch_kernel.h"
