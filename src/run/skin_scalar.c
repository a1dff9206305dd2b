/* Skinning kernel, one vertex at a time: the reference for the SIMD versions, which use it for the remainder. */
#define LANES         1
#define SKIN_BODY     px_skin_scalar
#define MORPH_BODY    px_morph_scalar
#define PREPARED_BODY px_prepared_scalar
#include "run/morph_kernel.h"
#include "run/prepared_kernel.h"
#include "run/skin_kernel.h"
