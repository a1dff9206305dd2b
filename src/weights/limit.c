/* Limits the bones of each vertex to K with the least change of the deformation.
 *
 * One bone after the other goes: its weight moves to one other bone, or to all others in proportion to theirs, whichever
 * moves the vertex least, summed over poses of the rig. A finger's small weight goes to the hand this way, not to the
 * whole arm. A vertex whose K largest weights, scaled to 1, would move it less keeps these.
 */
#include "weights/edit.h"

#include <math.h>

#define ROW_BLOCK          256u
#define POSES_MOST         64u /* as in the option table */
#define DEFAULT_INFLUENCES 4u

typedef struct limiting {
    px_edit *edit;
    px_edit_poses poses;
} limiting;

/* Positions of a row's point by each bone of a sum, relative to where all of them put it together. */
typedef struct row_places {
    double at[PX_WEIGHT_CAPACITY][POSES_MOST][3]; /* [bone of the sum][pose] */
    double whole[POSES_MOST][3];                  /* [pose] */
} row_places;

static bool is_locked(const limiting *l, uint32_t bone) {
    return l->edit->limits.locked && l->edit->limits.locked[bone];
}

/* Squared distance, over all poses, between the weights' sum of places and the whole. */
static double change(const limiting *l, const row_places *places, uint32_t count, const double *weights) {
    double out = 0;
    for (uint32_t p = 0; p < l->poses.count; p++)
        for (int c = 0; c < 3; c++) {
            double off = -places->whole[p][c];
            for (uint32_t e = 0; e < count; e++)
                off += weights[e] * places->at[e][p][c];
            out += off * off;
        }
    return out;
}

/* Removes the bone whose weight can go to others at the least change. Returns false if all are locked. */
static bool remove_one(const limiting *l, const row_places *places, const px_weight_sum *sum, double *weights) {
    double best = INFINITY, chosen[PX_WEIGHT_CAPACITY], trial[PX_WEIGHT_CAPACITY];
    for (uint32_t a = 0; a < sum->count; a++) {
        if (!(weights[a] > 0) || is_locked(l, sum->bones[a]))
            continue;
        double rest = 0;
        for (uint32_t e = 0; e < sum->count; e++)
            rest += e != a && !is_locked(l, sum->bones[e]) ? weights[e] : 0;
        for (uint32_t b = 0; b <= sum->count && rest > 0; b++) { /* count: to all others */
            if (b < sum->count && (b == a || !(weights[b] > 0) || is_locked(l, sum->bones[b])))
                continue;
            for (uint32_t e = 0; e < sum->count; e++) {
                bool free = e != a && !is_locked(l, sum->bones[e]);
                trial[e] = e == a ? 0 : weights[e];
                if (b == sum->count && free)
                    trial[e] *= 1 + weights[a] / rest;
                else if (e == b)
                    trial[e] += weights[a];
            }
            double cost = change(l, places, sum->count, trial);
            if (cost < best) {
                best = cost;
                memcpy(chosen, trial, sizeof chosen);
            }
        }
    }
    if (best < INFINITY)
        memcpy(weights, chosen, sum->count * sizeof *weights);
    return best < INFINITY;
}

static void limit_row(const limiting *l, size_t row, row_places *places) {
    px_edit *edit = l->edit;
    px_weight_sum sum = {0}, plain = {0}, out = {0};
    uint32_t most = edit->limits.influences;
    px_weight_sum_add_row(&sum, &edit->table, row, 1);
    if (sum.count <= most)
        return;
    memset(places->whole, 0, sizeof places->whole);
    for (uint32_t e = 0; e < sum.count; e++) {
        memset(places->at[e], 0, sizeof places->at[e]);
        px_edit_poses_add(&l->poses, row, sum.bones[e], 1, places->at[e]);
        px_edit_poses_add(&l->poses, row, sum.bones[e], sum.weights[e], places->whole);
    }
    double weights[PX_WEIGHT_CAPACITY], cut[PX_WEIGHT_CAPACITY];
    memcpy(weights, sum.weights, sum.count * sizeof *weights);
    uint32_t left = sum.count;
    while (left > most && remove_one(l, places, &sum, weights))
        left--;
    plain = sum;
    px_weight_sum_cut(&plain, &edit->limits);
    for (uint32_t e = 0; e < sum.count; e++)
        cut[e] = px_weight_sum_of(&plain, sum.bones[e]);
    bool better = left <= most && change(l, places, sum.count, weights) <= change(l, places, sum.count, cut);
    for (uint32_t e = 0; e < sum.count; e++)
        px_weight_sum_add(&out, sum.bones[e], better ? weights[e] : cut[e]);
    px_weight_sum_store(&out, &edit->table, row);
}

static pelt_result limit_block(void *user, size_t first, size_t count, size_t block) {
    (void)block;
    const limiting *l = user;
    row_places *places = PX_ALLOC(l->edit->context, row_places, 1);
    if (!places)
        return PELT_ERROR_MEMORY;
    for (size_t row = first; row < first + count; row++)
        if (!l->edit->fixed[row])
            limit_row(l, row, places);
    px_free(l->edit->context, places);
    return PELT_OK;
}

pelt_result pelt_weights_limit(pelt_context *context, pelt_model *model, const pelt_weights_scope *scope,
                               const pelt_limit_desc *desc, pelt_weights_report *report) {
    px_edit edit;
    if (report)
        *report = (pelt_weights_report){0};
    PX_TAKE_DESC(context, limit, desc, settings);
    PX_TRY(px_edit_begin(context, model, scope, &edit));
    if (!scope || scope->influences == 0)
        edit.limits.influences = DEFAULT_INFLUENCES;
    limiting l = {.edit = &edit};
    pelt_result result = px_edit_poses_make(&edit, settings.poses, &l.poses);
    if (result == PELT_OK)
        result = px_parallel(context, "limit", edit.table.row_count, ROW_BLOCK, limit_block, &l);
    return px_edit_finish(&edit, result, report);
}
