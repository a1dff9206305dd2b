/* Repairs vertices whose weights do not fit their surroundings: they get the harmonic interpolation of the others.
 *
 * A row is wrong if it is far (L1) from nearly all of its neighbours, while these agree with each other. One or two
 * adjacent wrong rows are found this way. A corner of a rigid part, whose neighbours lie on both sides, is not.
 */
#include "weights/edit.h"

#include <math.h>

#define FAR_SHARE   0.8 /* of the neighbours are farther than the threshold from a wrong row */
#define AGREE_RATIO 0.5 /* of the threshold: those neighbours differ from their mean by less, on average */
#define LEAST_RING  3u  /* neighbours: rows with fewer are not judged */

/* Σ_j |a_j − b_j|; `sums` [bone]: scratch, 0 before and after. */
static double row_l1(const px_weight_table *t, size_t a, size_t b, double *sums) {
    double out = 0;
    for (size_t e = 0; e < t->capacity; e++) {
        sums[t->bones[a * t->capacity + e]] += (double)t->weights[a * t->capacity + e];
        sums[t->bones[b * t->capacity + e]] -= (double)t->weights[b * t->capacity + e];
    }
    for (size_t e = 0; e < t->capacity; e++) {
        out += fabs(sums[t->bones[a * t->capacity + e]]);
        sums[t->bones[a * t->capacity + e]] = 0;
        out += fabs(sums[t->bones[b * t->capacity + e]]);
        sums[t->bones[b * t->capacity + e]] = 0;
    }
    return out;
}

static bool is_wrong(const px_weight_table *t, const px_neighbours *n, size_t row, double threshold, double *sums) {
    size_t first = n->offsets[row], end = n->offsets[row + 1], ring = end - first, far = 0, pairs = 0;
    double apart = 0;
    if (ring < LEAST_RING)
        return false;
    for (size_t e = first; e < end; e++)
        far += row_l1(t, row, n->items[e], sums) > threshold;
    if ((double)far < FAR_SHARE * (double)ring)
        return false;
    for (size_t e = first; e < end; e++)
        for (size_t f = e + 1; f < end; f++)
            if (row_l1(t, row, n->items[e], sums) > threshold && row_l1(t, row, n->items[f], sums) > threshold) {
                apart += row_l1(t, n->items[e], n->items[f], sums);
                pairs++;
            }
    return pairs > 0 && apart < AGREE_RATIO * threshold * (double)pairs;
}

static pelt_result hammer(px_edit *edit, double threshold) {
    uint32_t count = edit->table.row_count, bone_count = edit->model->skin.bone_count;
    px_neighbours neighbours;
    uint8_t *known = PX_NEW(edit->arena, uint8_t, count);
    double *sums = PX_NEW(edit->arena, double, bone_count);
    float *positions = px_class_positions(edit->arena, &edit->mesh.weld, edit->mesh.positions);
    if (!known || !sums || !positions)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_neighbours_make(edit->arena, &edit->mesh, &edit->mesh.weld, &neighbours));
    for (uint32_t row = 0; row < count; row++)
        known[row] = edit->fixed[row] || (threshold > 0 && !is_wrong(&edit->before, &neighbours, row, threshold, sums));
    PX_TRY(px_fill(edit->context, &edit->table, &neighbours, positions, NULL, bone_count, known));
    for (uint32_t row = 0; row < count; row++) {
        px_weight_sum sum = {0};
        px_weight_sum_add_row(&sum, &edit->table, row, 1);
        px_weight_sum_lock(&sum, &edit->before, row, edit->limits.locked);
        px_weight_sum_store(&sum, &edit->table, row);
    }
    return PELT_OK;
}

pelt_result pelt_weights_hammer(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                                const pelt_hammer_desc *desc, pelt_weights_report *report) {
    px_edit edit;
    if (report)
        *report = (pelt_weights_report){0};
    PX_TAKE_DESC(context, hammer, desc, settings);
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    return px_edit_finish(&edit, hammer(&edit, settings.difference), report);
}
