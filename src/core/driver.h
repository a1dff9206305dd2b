/* What a driver measures: a part of a rotation, the angle to a centre, the kernel. Fitting and playing share it. */
#ifndef PELT_CORE_DRIVER_H
#define PELT_CORE_DRIVER_H

#include "core/rotation.h"

/* The part of a joint's rotation from rest that a driver looks at. `axis` is used by SWING and TWIST. */
px_rotation px_driver_rotation(const float rest[4], const float local[4], pelt_rotation_part part, const float axis[3]);

/* The angle of the rotation between a and b, 0 to π; exact near 0 too, and for quaternions of any length. */
double px_driver_angle(px_rotation a, px_rotation b);

/* φ(angle). */
double px_driver_kernel(pelt_kernel kernel, double radius, double angle);

#endif
