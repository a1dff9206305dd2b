/* Evaluation of drivers (morph weights from joint rotations): swing or twist of a rotation, angle to a centre, radial
 * basis function. Shared by fitting and playback. */
#ifndef PELT_CORE_DRIVER_H
#define PELT_CORE_DRIVER_H

#include "core/core.h"
#include "core/rotation.h"

/* A joint's rotation in a pose `locals` [joint], relative to its parent (`against` PELT_NONE) or to the joint
 * `against`. */
px_rotation px_driver_local(const pelt_skeleton *skeleton, const pelt_transform *locals, uint32_t joint,
                            uint32_t against);
/* The rotation from `rest` to `local`, or its swing or twist about `axis`. `axis` is used by SWING and TWIST only. */
px_rotation px_driver_rotation(px_rotation rest, px_rotation local, pelt_rotation_part part, const float axis[3]);

/* The angle of the rotation from a to b in radians, 0 to π. Accurate near 0, and for quaternions that are not unit
 * length. */
double px_driver_angle(px_rotation a, px_rotation b);

/* Radial basis function φ(angle / radius). */
double px_driver_kernel(pelt_kernel kernel, double radius, double angle);

/* Copies the model's drivers with morph indices mapped to `morphs`, a set that contains all morphs of the model at
 * other indices. */
pelt_result px_drivers_follow(px_arena *arena, const pelt_model *model, const pelt_morph_set *morphs,
                              pelt_driver **drivers);

/* Bakes the drivers from index `first_driver` on into weight tracks of a copy of the motion; other weights are
 * unchanged. The new tracks are in the model's memory. `out` may be the motion itself. */
pelt_result px_motion_drive(pelt_context *context, px_arena *scratch, const pelt_model *model, uint32_t first_driver,
                            const pelt_motion *motion, pelt_motion *out);

/* The driver checks of pelt_model_validate; skeleton and morphs must have been validated before. */
pelt_result px_drivers_validate(pelt_context *context, const pelt_model *model);

/* pelt_pose_weights of the given drivers only. */
void px_drivers_weights(const pelt_skeleton *skeleton, const pelt_driver *drivers, uint32_t driver_count,
                        const pelt_transform *locals, float *weights);

#endif
