/* Drivers: morph weights from the rotations of joints (radial basis functions over angles).
 *
 * "EigenSkin: Real Time Large Deformation Character Skinning in Hardware" (Kry, James, Pai 2002). web/src/drivers.ts
 * does the same, step by step.
 */
#include "core/driver.h"

#include "core/morphs.h"

/* Morphs whose sums are accumulated on the stack at once; a joint has a handful. */
#define MORPH_BLOCK 16u

/* Walks up from both joints to their lowest common ancestor; parents have smaller indices than their children. */
px_rotation px_driver_local(const pelt_skeleton *skeleton, const pelt_transform *locals, uint32_t joint,
                            uint32_t against) {
    if (against == PELT_NONE)
        return px_rotation_of(locals[joint].rotation);
    px_rotation a = px_rotation_identity(), b = a;
    while (joint != against)
        if (against == PELT_NONE || (joint != PELT_NONE && joint > against)) {
            a = px_rotation_mul(px_rotation_of(locals[joint].rotation), a);
            joint = skeleton->parents[joint];
        } else {
            b = px_rotation_mul(px_rotation_of(locals[against].rotation), b);
            against = skeleton->parents[against];
        }
    return px_rotation_mul(px_rotation_inverse(b), a);
}

px_rotation px_driver_rotation(px_rotation rest, px_rotation local, pelt_rotation_part part, const float axis[3]) {
    px_rotation whole = px_rotation_mul(px_rotation_inverse(rest), local);
    if (part == PELT_ROTATION_WHOLE)
        return whole;
    const double *q = whole.q;
    double along = q[0] * (double)axis[0] + q[1] * (double)axis[1] + q[2] * (double)axis[2];
    double length = sqrt(along * along + q[3] * q[3]);
    px_rotation twist = px_rotation_identity(); /* undefined for a swing of 180°: use none */
    if (length > 1e-12)
        twist = (px_rotation){{along * (double)axis[0] / length, along * (double)axis[1] / length,
                               along * (double)axis[2] / length, q[3] / length}};
    return part == PELT_ROTATION_TWIST ? twist : px_rotation_mul(whole, px_rotation_inverse(twist));
}

double px_driver_angle(px_rotation a, px_rotation b) {
    px_rotation between = px_rotation_mul(px_rotation_inverse(a), b);
    return 2 * px_atan2(px_length3(between.q), fabs(between.q[3]));
}

double px_driver_kernel(pelt_kernel kernel, double radius, double angle) {
    double r = angle / radius;
    switch (kernel) {
    case PELT_KERNEL_EXPONENTIAL:
        return px_exp(-r);
    case PELT_KERNEL_GAUSSIAN:
        return px_exp(-r * r);
    case PELT_KERNEL_THIN_PLATE:
        return r > 0 ? r * r * px_ln(r) : 0;
    }
    return 0;
}

/* Adds the driver's output to the weights of its morphs [first, first + count). */
static void add_weights(const pelt_driver *driver, px_rotation rotation, uint32_t first, uint32_t count,
                        float *weights) {
    double sums[MORPH_BLOCK];
    size_t width = (size_t)driver->centre_count + 1;
    const float *coefficients = driver->coefficients + first * width;
    for (uint32_t m = 0; m < count; m++)
        sums[m] = (double)coefficients[(m + 1) * width - 1];
    for (uint32_t c = 0; c < driver->centre_count; c++) {
        double angle = px_driver_angle(rotation, px_rotation_of(driver->centres + 4 * (size_t)c));
        double phi = px_driver_kernel(driver->kernel, (double)driver->radius, angle);
        for (uint32_t m = 0; m < count; m++)
            sums[m] += phi * (double)coefficients[m * width + c];
    }
    for (uint32_t m = 0; m < count; m++)
        weights[driver->morphs[first + m]] += (float)sums[m];
}

void px_drivers_weights(const pelt_skeleton *skeleton, const pelt_driver *drivers, uint32_t driver_count,
                        const pelt_transform *locals, float *weights) {
    for (uint32_t d = 0; d < driver_count; d++)
        for (uint32_t m = 0; m < drivers[d].morph_count; m++)
            weights[drivers[d].morphs[m]] = 0;
    for (uint32_t d = 0; d < driver_count; d++) {
        const pelt_driver *driver = &drivers[d];
        uint32_t against = driver->relative ? driver->against : PELT_NONE;
        px_rotation rest = px_driver_local(skeleton, skeleton->rest, driver->joint, against);
        px_rotation local = px_driver_local(skeleton, locals, driver->joint, against);
        px_rotation rotation = px_driver_rotation(rest, local, driver->part, driver->axis);
        for (uint32_t first = 0; first < driver->morph_count; first += MORPH_BLOCK) {
            uint32_t left = driver->morph_count - first;
            add_weights(driver, rotation, first, left < MORPH_BLOCK ? left : MORPH_BLOCK, weights);
        }
    }
}

void pelt_pose_weights(const pelt_model *model, const pelt_transform *locals, float *weights) {
    px_drivers_weights(&model->skeleton, model->drivers, model->driver_count, locals, weights);
}

pelt_result px_drivers_follow(px_arena *arena, const pelt_model *model, const pelt_morph_set *morphs,
                              pelt_driver **drivers) {
    if (!(*drivers = PX_NEW(arena, pelt_driver, model->driver_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t d = 0; d < model->driver_count; d++) {
        pelt_driver *driver = &(*drivers)[d];
        *driver = model->drivers[d];
        uint32_t *places = PX_NEW(arena, uint32_t, driver->morph_count);
        if (!places)
            return PELT_ERROR_MEMORY;
        for (uint32_t m = 0; m < driver->morph_count; m++) {
            const pelt_morph *morph = &model->morphs.morphs[driver->morphs[m]];
            places[m] = px_morph_find(morphs, morph->joint, morph->index);
        }
        driver->morphs = places;
    }
    return PELT_OK;
}
