/* Relaxes weights: an implicit step of the heat equation over a length, bounded by how far vertices may move. */
#include "weights/edit.h"

#include <math.h>

#define POSES     16u
#define ROW_BLOCK 256u
#define MAX_TRIES 8

typedef struct relaxing {
    px_edit *edit;
    px_edit_poses poses;
    double bound; /* largest movement, in units of the mesh; INFINITY: unbounded */
} relaxing;

/* Largest distance over all poses between a row with the weights of two sums. */
static double distance(const relaxing *r, size_t row, const px_weight_sum *a, const px_weight_sum *b) {
    double moved[POSES][3] = {{0}}, most = 0;
    for (uint32_t e = 0; e < a->count; e++)
        px_edit_poses_add(&r->poses, row, a->bones[e], -a->weights[e], moved);
    for (uint32_t e = 0; e < b->count; e++)
        px_edit_poses_add(&r->poses, row, b->bones[e], b->weights[e], moved);
    for (size_t p = 0; p < r->poses.count; p++)
        most = px_fmax(most, moved[p][0] * moved[p][0] + moved[p][1] * moved[p][1] + moved[p][2] * moved[p][2]);
    return sqrt(most);
}

/* Goes from the old weights to the new ones only as far as no pose moves the row by more than the bound, with the bones
 * that the skin keeps. */
static void bound_row(const relaxing *r, size_t row) {
    px_edit *edit = r->edit;
    px_weight_sum old = {0}, new = {0}, out = {0};
    px_weight_sum_add_row(&old, &edit->before, row, 1);
    px_weight_sum_add_row(&new, &edit->table, row, 1);
    px_weight_sum_lock(&new, &edit->before, row, edit->limits.locked);
    px_weight_sum_cut(&new, &edit->limits);
    double most = distance(r, row, &old, &new), share = most > r->bound ? r->bound / most : 1;
    for (int n = 0; n <= MAX_TRIES; n++, share *= 0.7) { /* the cut may move the row again */
        out = old;
        for (uint32_t e = 0; e < out.count; e++)
            out.weights[e] *= n < MAX_TRIES ? 1 - share : 1;
        for (uint32_t e = 0; e < new.count &&n < MAX_TRIES; e++)
            px_weight_sum_add(&out, new.bones[e], share * new.weights[e]);
        px_weight_sum_cut(&out, &edit->limits);
        if (distance(r, row, &old, &out) <= r->bound)
            break;
    }
    px_weight_sum_store(&out, &edit->table, row);
}

static pelt_result bound_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const relaxing *r = user;
    for (size_t row = first; row < first + count; row++)
        if (!r->edit->fixed[row])
            bound_row(r, row);
    return PELT_OK;
}

static pelt_result relax(px_edit *edit, const pelt_relax_desc *desc) {
    uint32_t count = edit->table.row_count;
    px_neighbours neighbours;
    relaxing r = {.edit = edit};
    double *lengths = PX_NEW(edit->arena, double, count);
    uint8_t *known = PX_NEW(edit->arena, uint8_t, count);
    if (!lengths || !known)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_edit_poses_make(edit, POSES, &r.poses));
    PX_TRY(px_neighbours_make(edit->arena, &edit->mesh, &edit->mesh.weld, &neighbours));
    for (uint32_t row = 0; row < count; row++) {
        known[row] = edit->fixed[row];
        lengths[row] = known[row] ? 0 : desc->radius * r.poses.diagonal;
    }
    if (!(desc->radius * r.poses.diagonal > 0))
        return PELT_OK;
    PX_TRY(px_fill(edit->context, &edit->table, &neighbours, r.poses.positions, lengths, r.poses.bone_count, known));
    r.bound = desc->displacement > 0 ? desc->displacement * r.poses.diagonal : INFINITY;
    return px_parallel(edit->context, NULL, count, ROW_BLOCK, bound_block, &r);
}

pelt_result pelt_weights_relax(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                               const pelt_relax_desc *desc, pelt_weights_report *report) {
    px_edit edit;
    if (report)
        *report = (pelt_weights_report){0};
    PX_TAKE_DESC(context, relax, desc, settings);
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    return px_edit_finish(&edit, relax(&edit, &settings), report);
}
