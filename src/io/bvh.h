/* Shared by the BVH reader and writer. */
#ifndef PELT_IO_BVH_H
#define PELT_IO_BVH_H

#include "io/joints.h"

/* Limit on the joint count of a file: global transforms of all joints are computed for every frame. */
#define PX_BVH_MAX_JOINTS ((uint32_t)1 << 20)

pelt_result px_bvh_write(const px_write *write);

#endif
