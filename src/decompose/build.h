/* From a finished fit to the model. */
#ifndef PELT_DECOMPOSE_BUILD_H
#define PELT_DECOMPOSE_BUILD_H

#include "decompose/given.h"

/* Replaces rest pose, skeleton, skin and motions of the model. */
pelt_result px_fit_build(px_fit *fit, const px_gathered *plan, const px_given *given, const pelt_decompose_desc *desc,
                         pelt_model *model);

#endif
