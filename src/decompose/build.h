/* From a finished fit to the model. */
#ifndef PELT_DECOMPOSE_BUILD_H
#define PELT_DECOMPOSE_BUILD_H

#include "decompose/given.h"

/* Replaces rest pose, skeleton, skin and motions of the model. */
pelt_result px_fit_build(px_fit *fit, const px_gathered *plan, const px_given *given, const pelt_decompose_desc *desc,
                         pelt_model *model);

/* Fits rest normals and tangents (or NULL), which must be what px_turn_normals made, to what the model's clips show when
 * `source`, the mesh before decomposing, is carried along (normals.c). `motions` [clip] of `built`; NULL: in their order. */
pelt_result px_built_normals(pelt_context *context, const pelt_mesh *source, const pelt_model *model,
                             const px_built *built, const uint32_t *motions, float *normals, float *tangents);

#endif
