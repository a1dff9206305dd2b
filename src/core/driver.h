/* What a driver measures: a part of a rotation, the angle to a centre, the kernel. Fitting and playing share it. */
#ifndef PELT_CORE_DRIVER_H
#define PELT_CORE_DRIVER_H

#include "core/core.h"
#include "core/rotation.h"

/* A joint's rotation in a pose, against its parent (`against` PELT_NONE) or another joint. */
px_rotation px_driver_local(const pelt_skeleton *skeleton, const pelt_transform *locals, uint32_t joint,
                            uint32_t against);
/* The part of a joint's rotation from rest that a driver looks at. `axis` is used by SWING and TWIST. */
px_rotation px_driver_rotation(px_rotation rest, px_rotation local, pelt_rotation_part part, const float axis[3]);

/* The angle of the rotation between a and b, 0 to π; exact near 0 too, and for quaternions of any length. */
double px_driver_angle(px_rotation a, px_rotation b);

/* φ(angle). */
double px_driver_kernel(pelt_kernel kernel, double radius, double angle);

/* The model's drivers for another set of morphs that has all of the model's at other places. */
pelt_result px_drivers_follow(px_arena *arena, const pelt_model *model, const pelt_morph_set *morphs,
                              pelt_driver **drivers);

/* A motion of the model with tracks of the weights that drivers [first_driver …] give its poses; other weights stay as they
 * are. In the model's memory. `out` may be the motion itself. */
pelt_result px_motion_drive(pelt_context *context, px_arena *scratch, const pelt_model *model, uint32_t first_driver,
                            const pelt_motion *motion, pelt_motion *out);

/* What pelt_model_validate checks of the model's drivers; its skeleton and morphs are right. */
pelt_result px_drivers_validate(pelt_context *context, const pelt_model *model);

#endif
