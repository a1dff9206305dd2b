/* BVH inside: what reading and writing share. */
#ifndef PELT_IO_BVH_H
#define PELT_IO_BVH_H

#include "io/joints.h"

/* Globals of a pose are computed for all joints in every frame: more than this is no skeleton. */
#define PX_BVH_MAX_JOINTS ((uint32_t)1 << 20)

pelt_result px_bvh_write(const px_write *write);

#endif
