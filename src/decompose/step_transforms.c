/* The transforms for given moments, by the kind of bone. */
#include "decompose/kinds.h"

typedef pelt_result kind_fn(px_fit *fit);

static kind_fn *const kinds[] = {
    [PELT_TRANSFORMS_AFFINE] = px_fit_affine,
    [PELT_TRANSFORMS_TRS] = px_fit_trs,
    [PELT_TRANSFORMS_RIGID] = px_fit_rigid,
};

pelt_result px_fit_transforms(px_fit *fit) {
    return kinds[fit->kind](fit);
}
