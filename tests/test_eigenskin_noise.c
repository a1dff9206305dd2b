/* Pose-driven corrections learned from examples with noise, without sense, few or equal. */
#include "eigenskin_arm.h"

/* ---- Noise ------------------------------------------------------------------------------------------------ */

/* Rotates every joint of every example by so many degrees about random axes. With `true_shapes` the examples have the
 * shape of the rotated pose: bends are off by up to so much in x, z and twist. Otherwise the shape is unchanged. */
static void add_noise(arm *a, double degrees, bool true_shapes, uint64_t seed) {
    scene_random random = {seed};
    for (uint32_t p = 0; p < a->poses.seen_count; p++) {
        pelt_transform *locals = (pelt_transform *)(uintptr_t)a->examples[p].locals;
        arm_bend bends[ARM_BENDS];
        for (uint32_t j = 0; j <= ARM_BENDS; j++) {
            float *r = locals[j].rotation;
            quat q = {r[0], r[1], r[2], r[3]};
            double noise[3];
            for (int c = 0; c < 3; c++)
                noise[c] = scene_random_range(&random, -degrees, degrees) * 3.141592653589793 / 180;
            vec axis = {noise[0], noise[1], noise[2]};
            double angle = sqrt(noise[0] * noise[0] + noise[1] * noise[1] + noise[2] * noise[2]);
            if (true_shapes && j > 0) {
                double twist = 2 * atan2(q.y, q.w), half = sqrt(q.x * q.x + q.z * q.z);
                double swing = half > 0 ? 2 * atan2(half, sqrt(q.y * q.y + q.w * q.w)) / half : 0;
                assert_true(half == 0 || q.y == 0); /* examples either twist or swing */
                bends[j - 1] = (arm_bend){swing * q.x + noise[0], swing * q.z + noise[1], twist + noise[2]};
                q = arm_turn(&bends[j - 1]);
            } else if (!true_shapes && angle > 0)
                q = quat_mul(q, quat_turn(vec_unit(axis), angle));
            r[0] = (float)q.x, r[1] = (float)q.y, r[2] = (float)q.z, r[3] = (float)q.w;
        }
        if (!true_shapes)
            continue;
        arm_pose pose = arm_pose_make(bends);
        float *positions = (float *)(uintptr_t)a->examples[p].positions;
        for (size_t i = 0; i < a->model->mesh.vertex_count; i++)
            vec_store(positions + 3 * i, arm_place(&pose, vec_load(a->model->mesh.positions + 3 * i)));
    }
}

/* Joints that are never exactly at rest are harmless: in other poses the error stays that without noise. */
static void noise_does_no_harm(void **state) {
    (void)state;
    static const double levels[] = {0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    for (size_t n = 0; n < sizeof levels / sizeof levels[0]; n++)
        for (int true_shapes = 0; true_shapes < 2; true_shapes++) {
            test_context test;
            pelt_context *context = test_begin(&test, 2);
            arm a = arm_open(&test);
            float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
            add_noise(&a, levels[n], true_shapes, 1 + n);
            test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, NULL));
            double error = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
            assert_true(error <= (true_shapes || levels[n] < 1 ? 0.13 : 0.15)); /* 0.112 without */
            pelt_model_destroy(a.model);
            test_end(&test);
        }
}

/* Thin-plate kernels have negative eigenvalues, whose absolute values are used: clamping them to 0 gives 0.1185. */
static void thin_plates_have_negative_eigenvalues(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.kernel = PELT_KERNEL_THIN_PLATE;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, NULL));
    double error = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
    assert_true(error < 0.115); /* 0.1120 */
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Examples whose shapes are unrelated to their poses are ignored: the rig is unchanged, and the report says so. */
static void nonsense_teaches_nothing(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    scene_random random = {7};
    for (uint32_t p = 0; p < a.poses.seen_count; p++) {
        float *positions = (float *)(uintptr_t)a.examples[p].positions;
        float *skinned = driven(&test, a.model, a.examples[p].locals);
        for (size_t c = 0; c < 3 * (size_t)a.model->mesh.vertex_count; c++)
            positions[c] = skinned[c] + (float)scene_random_range(&random, -0.1, 0.1);
    }
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, &r));
    assert_true(r.left_out_error == 1);
    double kept = 0;
    for (uint32_t j = 0; j < r.joint_count; j++)
        kept = fmax(kept, r.joints[j].gain);
    double error = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
    assert_true(kept == 0 && r.morph_count == 0 && fabs(error - 1) < 1e-6);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* A joint with too few examples for leave-one-out validation uses them: one sculpt, or two to either side. */
static void few_examples_are_trusted(void **state) {
    (void)state;
    for (uint32_t count = 1; count <= 2; count++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        float **seen = plain_skins(&test, a.model, a.poses.seen + 12, 1);
        pelt_pose_example two[2] = {a.examples[12], a.examples[15]}; /* of the wrist: −50 and 50 degrees */
        test_ok(&test, pelt_eigenskin(context, a.model, two, count, NULL, NULL));
        assert_true(relative_error(&test, a.model, a.poses.seen + 12, 1, seen) < 0.1);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
}

/* The same pose twice becomes one with the mean shape; the rest pose in another shape is ignored. */
static void equal_poses_are_merged(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **seen = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    pelt_pose_example examples[64];
    assert_true(a.poses.seen_count < 63);
    memcpy(examples, a.examples, a.poses.seen_count * sizeof *examples);
    examples[a.poses.seen_count] = a.examples[0];
    examples[a.poses.seen_count + 1] =
        (pelt_pose_example){"rest", a.model->skeleton.rest, a.examples[0].positions, NULL};
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, examples, a.poses.seen_count + 2, NULL, &r));
    assert_true(r.example_count == a.poses.seen_count + 2 && r.pose_count == a.poses.seen_count);
    assert_true(r.rest_count == 1 && r.odd_count == 1);
    assert_true(relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, seen) < 0.06);
    test_ok(&test, pelt_model_validate(context, a.model));
    pelt_model_destroy(a.model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_long(noise_does_no_harm),
        cmocka_unit_test(thin_plates_have_negative_eigenvalues),
        cmocka_unit_test(nonsense_teaches_nothing),
        cmocka_unit_test(few_examples_are_trusted),
        cmocka_unit_test(equal_poses_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
