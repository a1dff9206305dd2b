/* Drivers: swing and twist, angles, kernels, and weights of a pose against values computed by hand. */
#include "support.h"

#include "core/driver.h"

#define PI 3.14159265358979323846

static px_rotation random_rotation(test_random *random) {
    float q[4];
    for (int c = 0; c < 4; c++)
        q[c] = (float)test_random_real(random, -1, 1);
    px_quat_normalize(q);
    return px_rotation_of(q);
}

static void store(px_rotation a, float q[4]) {
    for (int c = 0; c < 4; c++)
        q[c] = (float)a.q[c];
}

/* ---- Parts, angles, kernels ------------------------------------------------------------------------------- */

/* swing · twist is the rotation; the twist is about the axis, the swing has no rotation about it. */
static void rotations_are_twist_then_swing(void **state) {
    (void)state;
    test_random random = {1};
    for (int n = 0; n < 1000; n++) {
        float rest[4], local[4], axis[4], no_axis[3] = {0};
        store(random_rotation(&random), rest);
        store(random_rotation(&random), local);
        store(random_rotation(&random), axis);
        double length = sqrt((double)axis[0] * axis[0] + (double)axis[1] * axis[1] + (double)axis[2] * axis[2]);
        for (int c = 0; c < 3; c++)
            axis[c] = (float)(axis[c] / length);
        px_rotation whole =
            px_driver_rotation(px_rotation_of(rest), px_rotation_of(local), PELT_ROTATION_WHOLE, no_axis);
        px_rotation swing = px_driver_rotation(px_rotation_of(rest), px_rotation_of(local), PELT_ROTATION_SWING, axis);
        px_rotation twist = px_driver_rotation(px_rotation_of(rest), px_rotation_of(local), PELT_ROTATION_TWIST, axis);
        px_rotation back = px_rotation_mul(px_rotation_of(rest), px_rotation_mul(swing, twist));
        assert_true(px_driver_angle(back, px_rotation_of(local)) < 1e-6);
        assert_true(px_driver_angle(px_rotation_mul(swing, twist), whole) < 1e-6);
        double turned[3], v[3] = {(double)axis[0], (double)axis[1], (double)axis[2]};
        px_rotation_apply(twist, v, turned);
        for (int c = 0; c < 3; c++)
            assert_true(fabs(turned[c] - v[c]) < 1e-6);
        assert_true(fabs(swing.q[0] * v[0] + swing.q[1] * v[1] + swing.q[2] * v[2]) < 1e-6);
    }
}

/* For half a turn about a perpendicular axis, the twist is undefined. */
static void half_a_swing_has_no_twist(void **state) {
    (void)state;
    const float rest[4] = {0, 0, 0, 1}, local[4] = {1, 0, 0, 0}, axis[3] = {0, 1, 0};
    px_rotation twist = px_driver_rotation(px_rotation_of(rest), px_rotation_of(local), PELT_ROTATION_TWIST, axis);
    px_rotation swing = px_driver_rotation(px_rotation_of(rest), px_rotation_of(local), PELT_ROTATION_SWING, axis);
    assert_true(px_driver_angle(twist, px_rotation_identity()) == 0);
    assert_true(px_driver_angle(swing, px_rotation_of(local)) == 0);
}

static void angles_are_those_between(void **state) {
    (void)state;
    static const double angles[] = {0, 1e-9, 1e-4, 0.3, PI / 2, 3, PI};
    test_random random = {2};
    for (size_t a = 0; a < sizeof angles / sizeof *angles; a++)
        for (int axis = 0; axis < 3; axis++) {
            px_rotation from = random_rotation(&random);
            px_rotation to = px_rotation_mul(from, px_rotation_about(axis, angles[a]));
            for (int sign = 0; sign < 2; sign++) { /* q and −q are one rotation */
                assert_true(fabs(px_driver_angle(from, to) - angles[a]) < 1e-12);
                assert_true(fabs(px_driver_angle(to, from) - angles[a]) < 1e-12);
                for (int c = 0; c < 4; c++)
                    to.q[c] = -1.001 * to.q[c]; /* independent of the quaternion's length */
            }
        }
}

static void kernels_have_their_values(void **state) {
    (void)state;
    assert_true(px_driver_kernel(PELT_KERNEL_EXPONENTIAL, 2, 0) == 1);
    assert_true(px_driver_kernel(PELT_KERNEL_GAUSSIAN, 2, 0) == 1);
    assert_true(px_driver_kernel(PELT_KERNEL_THIN_PLATE, 2, 0) == 0);
    assert_true(fabs(px_driver_kernel(PELT_KERNEL_EXPONENTIAL, 2, 3) - 0.22313016014842982) < 1e-15);
    assert_true(fabs(px_driver_kernel(PELT_KERNEL_GAUSSIAN, 2, 3) - 0.10539922456186433) < 1e-15);
    assert_true(fabs(px_driver_kernel(PELT_KERNEL_THIN_PLATE, 2, 3) - 0.91229649324336984) < 1e-15);
}

/* ---- Weights of a pose ------------------------------------------------------------------------------------ */

#define MORPHS_MAX 35

/* Two joints, the second rotated at rest; six morphs, of which 1, 2 and 4 are driven. */
typedef struct rig {
    pelt_model model;
    uint32_t parents[2];
    pelt_transform rest[2], locals[2];
    pelt_driver drivers[2];
    float weights[MORPHS_MAX];
} rig;

static const float centres[8] = {0, 0, 0, 1, 0.70710678f, 0, 0, 0.70710678f}; /* rest; 90° about x */
static const uint32_t bend[2] = {4, 1}, turn[2] = {2, 4};
static const float bend_coefficients[6] = {1, 0, -1, 0, 2, 0.5f}, turn_coefficients[4] = {3, 0, 1, 7};

static rig make_rig(void) {
    rig r = {.parents = {PELT_NONE, 0}, .weights = {10, 11, 12, 13, 14, 15}};
    r.rest[0] = r.rest[1] = px_transform_identity();
    px_rotation_store(px_rotation_about(2, 1), r.rest[1].rotation);
    r.drivers[0] = (pelt_driver){.joint = 1,
                                 .kernel = PELT_KERNEL_EXPONENTIAL,
                                 .radius = (float)(PI / 2),
                                 .centre_count = 2,
                                 .centres = centres,
                                 .morph_count = 2,
                                 .morphs = bend,
                                 .coefficients = bend_coefficients};
    r.drivers[1] = (pelt_driver){.joint = 1,
                                 .part = PELT_ROTATION_TWIST,
                                 .axis = {0, 1, 0},
                                 .kernel = PELT_KERNEL_GAUSSIAN,
                                 .radius = 1,
                                 .centre_count = 1,
                                 .centres = centres,
                                 .morph_count = 2,
                                 .morphs = turn,
                                 .coefficients = turn_coefficients};
    r.model = (pelt_model){.driver_count = 2};
    return r;
}

/* Joint 1 rotated from rest by `turned`. */
static const float *weights_at(rig *r, px_rotation turned) {
    r->model.skeleton = (pelt_skeleton){.joint_count = 2, .parents = r->parents, .rest = r->rest};
    r->model.drivers = r->drivers;
    r->locals[0] = r->locals[1] = px_transform_identity();
    px_rotation_store(px_rotation_mul(px_rotation_of(r->rest[1].rotation), turned), r->locals[1].rotation);
    pelt_pose_weights(&r->model, r->locals, r->weights);
    return r->weights;
}

static void weights_are_the_formula(void **state) {
    (void)state;
    rig r = make_rig();
    const float *w = weights_at(&r, px_rotation_identity());
    double e = exp(-1);
    assert_true(w[0] == 10 && w[3] == 13 && w[5] == 15); /* not driven */
    assert_true(fabs(w[1] - (2 * e + 0.5)) < 1e-6);
    assert_true(fabs(w[2] - 3) < 1e-6);
    assert_true(fabs(w[4] - (1 - 1 + 1 + 7)) < 1e-6);
    weights_at(&r, px_rotation_about(0, PI / 2)); /* at the second centre; no twist */
    assert_true(fabs(w[1] - 2.5) < 1e-6);
    assert_true(fabs(w[2] - 3) < 1e-6);
    assert_true(fabs(w[4] - (e - 1 + 8)) < 1e-6);
    weights_at(&r, px_rotation_about(1, -0.5)); /* twist alone */
    assert_true(fabs(w[2] - 3 * exp(-0.25)) < 1e-6);
    assert_true(fabs(w[4] - (exp(-1 / PI) - 1 + exp(-0.25) + 7)) < 1e-6);
    r.model.driver_count = 0;
    r.weights[1] = 5;
    assert_true(weights_at(&r, px_rotation_identity())[1] == 5);
}

/* More morphs than one block, and none. */
static void drivers_may_have_many_morphs(void **state) {
    (void)state;
    rig r = make_rig();
    uint32_t morphs[MORPHS_MAX];
    float coefficients[3 * MORPHS_MAX];
    for (uint32_t m = 0; m < MORPHS_MAX; m++) {
        morphs[m] = MORPHS_MAX - 1 - m;
        coefficients[3 * m] = (float)m, coefficients[3 * m + 1] = 2, coefficients[3 * m + 2] = -(float)m;
    }
    r.drivers[0].morph_count = MORPHS_MAX;
    r.drivers[0].morphs = morphs;
    r.drivers[0].coefficients = coefficients;
    r.drivers[1].morph_count = 0;
    const float *weights = weights_at(&r, px_rotation_identity());
    for (uint32_t m = 0; m < MORPHS_MAX; m++)
        assert_true(fabs((double)weights[morphs[m]] - 2 * exp(-1)) < 1e-5);
}

/* New morphs of an earlier joint shift the indices of the others. */
static void drivers_follow_their_morphs(void **state) {
    (void)state;
    pelt_morph old[6] = {
        {.joint = 0}, {.joint = 0, .index = 1}, {.joint = 1}, {.joint = 1, .index = 1}, {.joint = 1, .index = 2},
        {.joint = 2}};
    pelt_morph new[8] = {[2] = {.joint = 0, .index = 2}, [3] = {.joint = 0, .index = 3}};
    memcpy(new, old, 2 * sizeof *old);
    memcpy(new + 4, old + 2, 4 * sizeof *old);
    test_context test;
    test_begin(&test, 1);
    rig r = make_rig();
    r.model.drivers = r.drivers;
    r.model.morphs = (pelt_morph_set){6, old};
    px_arena *arena = px_arena_create(test.context);
    pelt_driver *drivers;
    test_ok(&test, px_drivers_follow(arena, &r.model, &(pelt_morph_set){8, new}, &drivers));
    assert_true(drivers[0].morphs[0] == 6 && drivers[0].morphs[1] == 1); /* 4 and 1 before */
    assert_true(drivers[1].morphs[0] == 4 && drivers[1].morphs[1] == 6); /* 2 and 4 */
    assert_ptr_equal(drivers[1].coefficients, turn_coefficients);
    px_arena_destroy(arena);
    test_end(&test);
}

/* Keys of driven weights are dense enough for linear interpolation, also when a curve crosses its chord in the middle:
 * two bumps of opposite signs between 0 and 90 degrees. */
static void keys_follow_curves(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, pelt_model_create(test.context, &model));
    float positions[6] = {0, 0, 0, 1, 0, 0}, displacement[6] = {0, 0, 0, 0, 0.1f, 0};
    float bumps[8], coefficients[3] = {1, -1, 0};
    px_rotation_store(px_rotation_about(0, PI / 8), bumps);
    px_rotation_store(px_rotation_about(0, 3 * PI / 8), bumps + 4);
    uint32_t parent = PELT_NONE, first = 0;
    pelt_transform rest = px_transform_identity();
    pelt_morph morph = {.name = "m", .vertex_count = 2, .positions = displacement};
    pelt_driver driver = {.kernel = PELT_KERNEL_GAUSSIAN,
                          .radius = (float)(PI / 4),
                          .centre_count = 2,
                          .centres = bumps,
                          .morph_count = 1,
                          .morphs = &first,
                          .coefficients = coefficients};
    model->mesh.vertex_count = model->mesh.points.count = 2;
    model->mesh.positions = positions;
    model->skeleton = (pelt_skeleton){.joint_count = 1, .parents = &parent, .rest = &rest};
    model->morphs = (pelt_morph_set){1, &morph};
    model->drivers = &driver;
    model->driver_count = 1;
    float times[2] = {0, 1}, turns[8] = {0, 0, 0, 1};
    px_rotation_store(px_rotation_about(0, PI / 2), turns + 4);
    pelt_track track = {.path = PELT_PATH_ROTATION, .width = 4, .key_count = 2, .times = times, .values = turns};
    pelt_motion motion = {.name = "bend", .end = 1, .track_count = 1, .tracks = &track}, driven;
    px_arena *arena = px_arena_create(test.context);
    test_ok(&test, px_motion_drive(test.context, arena, model, 0, &motion, &driven));
    double worst = 0, largest = 0;
    for (int n = 0; n <= 200; n++) {
        float time = (float)n / 200, played, wanted;
        pelt_transform local;
        pelt_motion_sample(model, &driven, time, &local, &played);
        pelt_pose_weights(model, &local, &wanted);
        worst = fmax(worst, fabs((double)(played - wanted)));
        largest = fmax(largest, fabs((double)wanted));
    }
    print_message("weights up to %g, off by %g at most\n", largest, worst);
    assert_true(largest > 0.5);
    assert_true(worst < 1.2e-3); /* 1e-4 of the size, of a morph that displaces by a tenth of it */
    px_arena_destroy(arena);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotations_are_twist_then_swing), cmocka_unit_test(half_a_swing_has_no_twist),
        cmocka_unit_test(angles_are_those_between),       cmocka_unit_test(kernels_have_their_values),
        cmocka_unit_test(weights_are_the_formula),        cmocka_unit_test(drivers_may_have_many_morphs),
        cmocka_unit_test(drivers_follow_their_morphs),    cmocka_unit_test(keys_follow_curves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
