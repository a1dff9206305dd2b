/* Normals from inside: what pelt_mesh_normals and the measures share. */
#ifndef PELT_CORE_MESH_H
#define PELT_CORE_MESH_H

#include "core/core.h"

/* Adds every triangle's area-weighted normal to the sums of its corners, in order. Corner c has its position at
 * positions[position_of_corner[c]] and its sum at sums[sum_of_corner[c]]; NULL maps mean c itself. Triangles that are
 * not finite count nothing. */
void px_normals_sum(const uint32_t *triangles, uint32_t triangle_count, const uint32_t *position_of_corner,
                    const uint32_t *sum_of_corner, const float *positions, double *sums);
/* The sum made unit length; (0, 0, 1) when it has none. */
void px_normal_unit(const double sum[3], double out[3]);

#endif
