/* Bones where triangles turn alike, then weights; nothing is iterated (James, Twigg 2005); see sma.h. */
#include "decompose/decomposer.h"

static pelt_result count_bones(pelt_decomposer *d, uint32_t *count) {
    PX_TRY(px_sma_find(&d->sma, &d->fit, d->model, &d->plan, &d->desc));
    d->report.near_rigid = (double)d->sma.core_count / d->sma.triangle_count;
    d->report.flat_count = d->sma.flat_count;
    *count = d->sma.bone_count;
    return PELT_OK;
}

/* Beyond the paper: cores say which bones there are and give the weights; with those, all vertices together say how the
 * bones move. They must be the weights of the skin: bones fitted to negative ones are useless without them. */
static pelt_result start(pelt_decomposer *d) {
    double start = px_seconds();
    PX_TRY(px_sma_bones(&d->sma, &d->fit));
    PX_TRY(px_sma_weights(&d->fit, &d->desc));
    d->report.error_weights = pelt_decomposer_error(d);
    PX_TRY(px_sma_convex(&d->fit, &d->report.negative_count));
    PX_TRY(px_fit_moments(&d->fit));
    PX_TRY(px_fit_transforms(&d->fit));
    px_fit_gram(&d->fit);
    PX_TRY(px_fit_measure(&d->fit));
    d->report.seconds_solve = px_seconds() - start;
    return PELT_OK;
}

const px_decompose_method px_method_sma = {
    .name = "sma",
    .keeps_rest = true,
    .count_bones = count_bones,
    .count_setting = "rotation_tolerance",
    .start = start,
};
