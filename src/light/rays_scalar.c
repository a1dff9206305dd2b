/* Rays, one ray at a time: the reference for the SIMD versions. */
#define LANES     1
#define RAYS_BODY px_rays_scalar
#include "light/rays_kernel.h"
