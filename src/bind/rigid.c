/* Accessories: a small shell that nearly all belongs to one joint follows it wholly, as a button or an eye does.
 * Skinned clothes are larger, or spread over several joints. */
#include "bind/apply.h"

#include <math.h>

#define SMALL  0.3 /* of the mesh's diagonal */
#define MOSTLY 0.8 /* of a shell's mean weights */

typedef struct shell_box {
    float low[3], high[3];
} shell_box;

static shell_box *shell_boxes(px_arena *arena, const pelt_binding *b) {
    shell_box *boxes = PX_NEW(arena, shell_box, b->shell_count);
    for (uint32_t n = 0; boxes && n < b->shell_count; n++)
        for (int c = 0; c < 3; c++) {
            boxes[n].low[c] = INFINITY;
            boxes[n].high[c] = -INFINITY;
        }
    for (size_t k = 0; boxes && k < 3 * (size_t)b->subject.row_count; k++) {
        shell_box *box = &boxes[b->shells[k / 3]];
        box->low[k % 3] = fminf(box->low[k % 3], b->subject.positions[k]);
        box->high[k % 3] = fmaxf(box->high[k % 3], b->subject.positions[k]);
    }
    return boxes;
}

static double diagonal(const shell_box *box) {
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += ((double)box->high[c] - box->low[c]) * ((double)box->high[c] - box->low[c]);
    return sqrt(sum);
}

/* Rows of shell n are items[firsts[n]] … items[firsts[n + 1] − 1]. */
static pelt_result list_rows(px_arena *arena, const pelt_binding *b, uint32_t **firsts, uint32_t **items) {
    *firsts = PX_NEW(arena, uint32_t, (size_t)b->shell_count + 1);
    *items = PX_NEW(arena, uint32_t, b->subject.row_count);
    if (!*firsts || !*items)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < b->subject.row_count; i++)
        (*firsts)[b->shells[i]]++;
    for (uint32_t n = 0, sum = 0; n <= b->shell_count; n++)
        (*firsts)[n] = sum += n < b->shell_count ? (*firsts)[n] : 0;
    for (uint32_t i = b->subject.row_count; i-- > 0;) /* downwards: a shell ends up at its first, in ascending order */
        (*items)[--(*firsts)[b->shells[i]]] = i;
    return PELT_OK;
}

/* The joint with the largest part of the rows' weights, and that part. `sums` [joint] are 0 before and after. */
static uint32_t strongest(const px_weight_table *table, const uint32_t *rows, uint32_t count, double *sums,
                          double *share) {
    uint32_t best = PELT_NONE;
    for (uint32_t n = 0; n < count; n++)
        for (size_t e = (size_t)rows[n] * table->capacity; e < ((size_t)rows[n] + 1) * table->capacity; e++)
            sums[table->bones[e]] += (double)table->weights[e];
    for (uint32_t n = 0; n < count; n++)
        for (size_t e = (size_t)rows[n] * table->capacity; e < ((size_t)rows[n] + 1) * table->capacity; e++) {
            uint32_t joint = table->bones[e];
            if (table->weights[e] > 0 &&
                (best == PELT_NONE || sums[joint] > sums[best] || (sums[joint] == sums[best] && joint < best)))
                best = joint;
        }
    *share = best == PELT_NONE ? 0 : sums[best] / count;
    for (uint32_t n = 0; n < count; n++)
        for (size_t e = (size_t)rows[n] * table->capacity; e < ((size_t)rows[n] + 1) * table->capacity; e++)
            sums[table->bones[e]] = 0;
    return best;
}

pelt_result px_bind_rigid_shells(px_arena *arena, const pelt_binding *b, const px_weight_table *table,
                                 uint32_t *follows) {
    uint32_t *firsts, *items;
    float low[3], high[3];
    double whole = px_box(b->subject.positions, b->subject.row_count, low, high);
    shell_box *boxes = shell_boxes(arena, b);
    double *sums = PX_NEW(arena, double, b->subject.rig->skeleton.joint_count);
    if (!boxes || !sums)
        return PELT_ERROR_MEMORY;
    PX_TRY(list_rows(arena, b, &firsts, &items));
    for (uint32_t n = 0; n < b->shell_count; n++) {
        double share;
        if (!(diagonal(&boxes[n]) < SMALL * whole))
            continue;
        uint32_t joint = strongest(table, items + firsts[n], firsts[n + 1] - firsts[n], sums, &share);
        for (uint32_t k = firsts[n]; share >= MOSTLY && k < firsts[n + 1]; k++)
            if (follows[items[k]] == PELT_NONE)
                follows[items[k]] = joint;
    }
    return PELT_OK;
}
