/* Joints moved, with the mesh in place. */
#ifndef PELT_JIGGLE_RIG_CENTRE_JOINTS_H
#define PELT_JIGGLE_RIG_CENTRE_JOINTS_H

#include "core/core.h"

/* Moves joints by shifts [joint][3], world space, in the rest pose and in all motions; axes stay. Inverse binds change so
 * that the rest shape stays. */
pelt_result px_joints_shift(pelt_model *model, const double (*shifts)[3]);

#endif
