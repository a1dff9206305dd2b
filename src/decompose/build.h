/* Converts a finished fit to the model's skeleton, skin and motions. */
#ifndef PELT_DECOMPOSE_BUILD_H
#define PELT_DECOMPOSE_BUILD_H

#include "decompose/given.h"

/* Replaces the model's rest pose, skeleton, skin and motions. */
pelt_result px_fit_build(px_fit *fit, const px_gathered *plan, const px_given *given, const pelt_decompose_desc *desc,
                         pelt_model *model);

/* Fits rest normals and tangents (may be NULL) so that skinning reproduces those that `source`, the mesh before
 * decomposing, shows in the model's clips (normals.c). On entry they must be the output of px_turn_normals. `motions`
 * [clip]: index into built->motions; NULL: clip c uses motion c. */
pelt_result px_built_normals(pelt_context *context, const pelt_mesh *source, const pelt_model *model,
                             const px_built *built, const uint32_t *motions, float *normals, float *tangents);

#endif
