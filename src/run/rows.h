/* The influences of vertices, and vertices sorted by them. */
#ifndef PELT_RUN_ROWS_H
#define PELT_RUN_ROWS_H

#include "run/skin.h"

/* One vertex's influences: those with weight, which sum to 1, bones ascending. Others may join them without weight. */
typedef struct px_row {
    uint32_t count;
    uint32_t axis; /* of the normal's largest component */
    uint16_t bones[PELT_MAX_INFLUENCES];
    float weights[PELT_MAX_INFLUENCES];
} px_row;

/* rows [vertex] of a model. */
void px_skin_rows_make(const pelt_model *model, px_row *rows);
bool px_rows_alike(const px_row *a, const px_row *b);
/* order [count]: rows sorted by the number of bones, by bones, by axis, and as they stand. */
pelt_result px_rows_sort(pelt_context *context, const px_row *rows, uint32_t count, uint32_t bone_count,
                         uint32_t *order);
/* Rows that fewer than `least` share join ones that so many share and that have all their bones and fewest others.
 * `order` is that of the rows, which changes. */
pelt_result px_rows_join(pelt_context *context, px_row *rows, uint32_t count, uint32_t bone_count, uint32_t least,
                         const uint32_t *order);

#endif
