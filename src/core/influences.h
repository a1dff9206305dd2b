/* Influences of vertices, and a vertex order for fast skinning: vertices with the same bones are consecutive, so that
 * their blended transforms share loads. */
#ifndef PELT_CORE_INFLUENCES_H
#define PELT_CORE_INFLUENCES_H

#include "core/core.h"

/* The influences of one vertex: bones ascending, weights sum to 1. px_influences_order may add bones of weight 0. */
typedef struct px_influences {
    uint32_t count;
    uint32_t axis; /* 0 to 2: largest component of the normal; 0 without normals */
    uint16_t bones[PELT_MAX_INFLUENCES];
    float weights[PELT_MAX_INFLUENCES];
} px_influences;

/* Fills rows [count] from the model's vertices [first, first + count). */
void px_influences_make(const pelt_model *model, size_t first, size_t count, px_influences *rows);
/* True when both have the same bones; weights are not compared. */
bool px_influences_alike(const px_influences *a, const px_influences *b);

/* order [count]: rows sorted by number of bones, then bones, then axis, stable. Rows with the same bones are skinned in
 * blocks of PX_INFLUENCES_TOGETHER, and blending a superfluous bone costs less than a block that is not full or than a
 * row of its own. So, first, a set of bones that fewer rows share is extended with bones of weight 0 to the smallest
 * superset that at least so many rows share, if there is one. Rows that are left, also those that would begin a last
 * block of a set, are collected to blocks by unions of at most PX_INFLUENCES_UNION bones. */
#define PX_INFLUENCES_TOGETHER 16u
#define PX_INFLUENCES_UNION    6u
pelt_result px_influences_order(pelt_context *context, px_influences *rows, uint32_t count, uint32_t bone_count,
                                uint32_t *order);

#endif
