/* Laplacian smoothing of weights (Jacobi iteration). Every result is a convex combination of rows, so sums stay 1. */
#include "weights/weights.h"

#define ROW_BLOCK 512u

typedef struct smoother {
    const px_weight_table *from;
    px_weight_table *to;
    const px_neighbours *neighbours;
    const px_weight_smoothing *how;
} smoother;

static void keep_row(const smoother *s, size_t row) {
    size_t first = row * s->from->capacity;
    memcpy(s->to->bones + first, s->from->bones + first, s->from->capacity * sizeof *s->to->bones);
    memcpy(s->to->weights + first, s->from->weights + first, s->from->capacity * sizeof *s->to->weights);
}

static void smooth_row(const smoother *s, size_t row) {
    const px_weight_table *t = s->from;
    size_t first = s->neighbours->offsets[row], end = s->neighbours->offsets[row + 1], used = 0;
    for (size_t n = first; n < end; n++)
        used += t->weights[(size_t)s->neighbours->items[n] * t->capacity] > 0;
    if (used == 0 || !(t->weights[row * t->capacity] > 0) || (s->how->fixed && s->how->fixed[row])) {
        keep_row(s, row);
        return;
    }
    px_weight_sum sum = {0};
    px_weight_sum_add_row(&sum, t, row, 1 - s->how->strength);
    for (size_t n = first; n < end; n++)
        px_weight_sum_add_row(&sum, t, s->neighbours->items[n], s->how->strength / (double)used);
    px_weight_sum_lock(&sum, t, row, s->how->locked);
    px_weight_sum_cut(&sum, &(px_weight_limits){.influences = t->capacity, .locked = s->how->locked});
    px_weight_sum_store(&sum, s->to, row);
}

static pelt_result smooth_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    for (size_t row = first; row < first + count; row++)
        smooth_row(user, row);
    return PELT_OK;
}

pelt_result px_weight_table_smooth(pelt_context *context, px_weight_table *table, const px_neighbours *neighbours,
                                   const px_weight_smoothing *how) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_weight_table spare, *from = table, *to = &spare;
    pelt_result result = px_weight_table_make(arena, table->row_count, table->capacity, &spare);
    for (uint32_t n = 0; result == PELT_OK && n < how->iterations; n++) {
        smoother s = {from, to, neighbours, how};
        result = px_parallel(context, NULL, table->row_count, ROW_BLOCK, smooth_block, &s);
        px_weight_table *swap = from;
        from = to;
        to = swap;
        if (result == PELT_OK)
            result = px_progress(context, "smooth", n + 1, how->iterations);
    }
    if (result == PELT_OK && from != table) {
        size_t count = (size_t)table->row_count * table->capacity;
        memcpy(table->bones, spare.bones, count * sizeof *table->bones);
        memcpy(table->weights, spare.weights, count * sizeof *table->weights);
    }
    px_arena_destroy(arena);
    return result;
}
