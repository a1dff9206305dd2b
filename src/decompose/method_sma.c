/* Method sma: bones from clusters of triangles with similar rotations, then weights, without iteration (James, Twigg
 * 2005); see sma.h. */
#include "decompose/decomposer.h"

static pelt_result count_bones(pelt_decomposer *d, uint32_t *count) {
    PX_TRY(px_sma_find(&d->sma, &d->fit, d->model, &d->plan, &d->desc));
    d->report.near_rigid = (double)d->sma.core_count / d->sma.triangle_count;
    d->report.flat_count = d->sma.flat_count;
    *count = d->sma.bone_count;
    return PELT_OK;
}

/* Extension of the paper: the cores of the clusters give bones and weights; then the transforms are fitted to all
 * vertices with these weights. The weights must be the final, non-negative ones: bones fitted to negative weights are
 * useless without them. */
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
