/* The arm of the scene wring as a jiggle, in poses. */
#ifndef PELT_TESTS_JIGGLE_ARM_H
#define PELT_TESTS_JIGGLE_ARM_H

#include "core/rotation.h"
#include "jiggle/object.h"
#include "scenes.h"
#include "support.h"

enum { ARM_BASE, ARM_SHOULDER, ARM_ELBOW, ARM_WRIST, ARM_JOINTS }; /* along y, not rotated at rest */

typedef struct arm_test {
    test_context test;
    pelt_model *model;
    pelt_jiggle *jiggle;
    pelt_transform locals[ARM_JOINTS];
} arm_test;

static inline void arm_begin_desc(arm_test *t, const pelt_jiggle_desc *desc) {
    pelt_context *context = test_begin(&t->test, 1);
    scene_desc size = {.vertex_count = 4000, .frame_count = 1};
    test_ok(&t->test, scene_find("wring")->make(context, &size, &t->model));
    test_ok(&t->test, pelt_jiggle_create(context, t->model, desc, &t->jiggle));
    assert_int_equal(t->model->skeleton.joint_count, ARM_JOINTS);
    memcpy(t->locals, t->model->skeleton.rest, sizeof t->locals);
}

static inline void arm_begin(arm_test *t, uint32_t particles, pelt_jiggle_weights weights) {
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.particles = particles;
    desc.weights = weights;
    arm_begin_desc(t, &desc);
}

static inline void arm_end(arm_test *t) {
    pelt_jiggle_destroy(t->jiggle);
    pelt_model_destroy(t->model);
    test_end(&t->test);
}

/* Rotates a joint about an axis (0 to 2), in addition to its rotation. */
static inline void arm_turn(pelt_transform *locals, uint32_t joint, int axis, double degrees) {
    px_rotation now = px_rotation_of(locals[joint].rotation);
    px_rotation_store(px_rotation_mul(now, px_rotation_about(axis, degrees * PX_DEGREE)), locals[joint].rotation);
}

static inline const float *arm_move(arm_test *t, float amount) {
    pelt_affine globals[ARM_JOINTS];
    pelt_skeleton_globals(&t->model->skeleton, t->locals, globals);
    return px_primary_move(&t->jiggle->primary, globals, amount);
}

#endif
