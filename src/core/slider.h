/* Sliders: controls whose values move joints and morphs linearly. */
#ifndef PELT_CORE_SLIDER_H
#define PELT_CORE_SLIDER_H

#include "core/core.h"

/* Computes rests [joint_count] of the sliders' joints relative to their bases from the skeleton's rest pose. */
void px_slider_rests(const pelt_skeleton *skeleton, const pelt_slider_set *sliders, pelt_affine *rests);

/* The slider checks of pelt_model_validate; skeleton and morphs must have been validated before. */
pelt_result px_sliders_validate(pelt_context *context, const pelt_model *model);

#endif
