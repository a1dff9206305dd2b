/* The skinning kernel, one vertex at a time: the reference for the others, and their last few vertices. */
#define LANES     1
#define SKIN_BODY px_skin_scalar
#include "run/skin_kernel.h"
