/* The influences of vertices, and vertices in the order in which skinning likes them: those with the same bones stand
 * together. */
#ifndef PELT_CORE_INFLUENCES_H
#define PELT_CORE_INFLUENCES_H

#include "core/core.h"

/* One vertex's influences: those with weight, which sum to 1, bones ascending. Others may join them without weight. */
typedef struct px_influences {
    uint32_t count;
    uint32_t axis; /* of the normal's largest component */
    uint16_t bones[PELT_MAX_INFLUENCES];
    float weights[PELT_MAX_INFLUENCES];
} px_influences;

/* rows [count] of the model's vertices from `first` on. */
void px_influences_make(const pelt_model *model, size_t first, size_t count, px_influences *rows);
bool px_influences_alike(const px_influences *a, const px_influences *b);

/* order [count]: rows sorted by the number of bones, by bones, by axis, and as they stand. Before, rows that fewer than
 * PX_INFLUENCES_TOGETHER share join ones that so many share, and that have all their bones and fewest others: blending a bone
 * too many costs less than bones of one's own. */
#define PX_INFLUENCES_TOGETHER 16u
pelt_result px_influences_order(pelt_context *context, px_influences *rows, uint32_t count, uint32_t bone_count,
                                uint32_t *order);

#endif
