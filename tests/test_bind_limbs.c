/* Limbs that touch: what binding reports, at which resolution they separate, and that weights do not cross. */
#include "bind_models.h"

/* A U: two long limbs side by side with a gap that only a fine grid resolves. */
static pelt_model *make_thick_fork(test_context *test, double half) {
    static const test_joint joints[] = {{"Palm", PELT_NONE, {0, 0, 0}}, {"A1", 0, {-0.15f, 0.2f, 0}},
                                        {"A2", 1, {-0.15f, 0.8f, 0}},   {"A3", 2, {-0.15f, 1.4f, 0}},
                                        {"B1", 0, {0.15f, 0.2f, 0}},    {"B2", 4, {0.15f, 0.8f, 0}},
                                        {"B3", 5, {0.15f, 1.4f, 0}}};
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "hand", NULL);
    shape_tube(s, 1, -0.4, 0.1, 4, 0.3, (double[3]){0, 0, 0});
    shape_tube(s, 1, 0, 2, 16, half, (double[3]){-0.15, 0, 0});
    shape_tube(s, 1, 0, 2, 16, half, (double[3]){0.15, 0, 0});
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, joints, 7);
    add_skin(test, model, joints, 7);
    return model;
}

static pelt_model *make_fork(test_context *test) {
    return make_thick_fork(test, 0.13);
}

static void test_touching_limbs_are_reported(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (int fine = 0; fine < 2; fine++) {
        pelt_model *model = make_fork(&test);
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.resolution = fine ? 160 : 24;
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        assert_int_equal(report.touching_count > 0, !fine);
        if (!fine) {
            const char *a = model->skeleton.names[report.touching_joints[0]];
            const char *b = model->skeleton.names[report.touching_joints[1]];
            assert_true(a[0] == 'A' && b[0] == 'B' && a[1] >= '2' && b[1] >= '2');
            assert_true(report.touching_pair_count > 1); /* A2 and B2, A3 and B3 */
            assert_memory_equal(report.touching[0].joints, report.touching_joints, sizeof report.touching_joints);
            for (uint32_t n = 1; n < report.touching_pair_count; n++)
                assert_true(report.touching[n].face_count <= report.touching[n - 1].face_count);
            for (uint32_t n = 0; n < report.touching_pair_count; n++) /* the gap is 0.04 along x, the mesh 2.4 long */
                assert_true(fabs(report.touching[n].gap - 0.04) < 1e-6 && report.touching[n].resolution >= 120 &&
                            report.touching[n].resolution <= 121);
        } else {
            assert_int_equal(report.touching_joints[0], PELT_NONE);
            assert_int_equal(report.touching_pair_count, 0);
        }
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* The resolution is chosen by the gap; without a gap, none separates the limbs. */
static void test_limbs_are_separated(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t n = 0; n < 3; n++) {
        pelt_model *model = make_thick_fork(&test, n == 2 ? 0.15 : 0.13);
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.resolution = 24;
        desc.separate = true;
        desc.max_resolution = n == 1 ? 40 : 200;
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        static const uint32_t cells[3] = {123, 42, 26};
        assert_int_equal(report.grid[1], cells[n]);
        assert_int_equal(report.touching_count > 0, n > 0);
        assert_int_equal(report.touching_count && report.touching[0].resolution > 0, n == 1);
        assert_sound(&test, model, desc.influences);
        desc.grid = "9,9,9";
        test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "leave it or grid out");
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* Euclidean distances reach across the gap; distances along the hierarchy do not; surface heat stays on its shell. */
static void test_methods_for_comparison(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    double other[5]; /* mean weight of the B joints on the side of limb A that faces B */
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_HIERARCHY; method++) {
        pelt_model *model = make_fork(&test);
        pelt_bind_desc desc = quick_desc();
        uint32_t count = 0;
        desc.method = method;
        desc.resolution = 130;
        desc.curve = PELT_BIND_CURVE_PAPER;
        desc.rigid_parts = PELT_BIND_RIGID_OFF;
        desc.joints = PELT_BIND_JOINTS_ALL;
        test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
        assert_sound(&test, model, desc.influences);
        other[method] = 0;
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
            const float *p = model->mesh.positions + 3 * (size_t)i;
            if (p[0] < -0.01f && p[0] > -0.03f && p[1] > 1) {
                other[method] += joint_weight(model, i, 5) + joint_weight(model, i, 6);
                count++;
            }
        }
        other[method] /= count;
        desc.keep_fields = true;
        pelt_binding *binding;
        pelt_result want = method > PELT_BIND_GEODESIC ? PELT_ERROR_USAGE : PELT_OK;
        assert_int_equal(pelt_binding_create(test.context, model, &desc, &binding), want);
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
    }
    assert_true(other[PELT_BIND_HEAT] < 0.01 && other[PELT_BIND_SURFACE] < 0.01);
    assert_true(other[PELT_BIND_HIERARCHY] == 0);
    assert_true(other[PELT_BIND_CLOSEST] > 0.1 && other[PELT_BIND_GEODESIC] < 0.02);
    test_end(&test);
}

/* Weights do not leak where limbs touch: more than a voxel from the contact, vertices have no weight of the other
 * limb. */
static void test_touching_limbs_are_parted(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_fork(&test);
    pelt_bind_desc desc = quick_desc();
    desc.resolution = 24;
    test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        const float *p = model->mesh.positions + 3 * (size_t)i;
        if (p[1] < 1.2f || fabsf(p[0]) < 0.1f)
            continue;
        uint32_t first = p[0] < 0 ? 4 : 1; /* of the other limb */
        count++;
        for (uint32_t j = first; j < first + 3; j++)
            if (!(joint_weight(model, i, j) < 1e-6))
                fail_msg("%g of %s at %g", joint_weight(model, i, j), model->skeleton.names[j], (double)p[0]);
    }
    assert_true(count > 20);
    pelt_model_destroy(model);
    test_end(&test);
}

/* On blocks of voxels, limbs stay apart that the voxels separate: the gap of the fork is smaller than a block. */
static void test_blocks_keep_limbs_apart(void **state) {
    (void)state;
    test_context one, four;
    test_begin(&one, 1);
    test_begin(&four, 4);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report dense, report;
        desc.method = method;
        desc.resolution = 300;
        pelt_model *model = make_fork(&one), *blocks = make_fork(&one), *again = make_fork(&four);
        test_ok(&one, pelt_bind(one.context, model, &desc, &dense));
        assert_int_equal(dense.block_size, 1);
        desc.max_voxels = 2000;
        test_ok(&one, pelt_bind(one.context, blocks, &desc, &report));
        test_ok(&four, pelt_bind(four.context, again, &desc, NULL));
        assert_skin(blocks, save_skin(again));
        assert_sound(&one, blocks, desc.influences);
        assert_true(report.block_size >= 8 && report.touching_count == 0);
        assert_int_equal(report.boundary_voxel_count, dense.boundary_voxel_count);
        assert_int_equal(report.interior_voxel_count, dense.interior_voxel_count);
        double sum = 0;
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
            float x = model->mesh.positions[3 * (size_t)i], y = model->mesh.positions[3 * (size_t)i + 1];
            for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
                sum += fabs((double)joint_weight(model, i, j) - (double)joint_weight(blocks, i, j));
            for (uint32_t j = x < 0 ? 4 : 1, end = j + 3; j < end && y > 1.3f; j++)
                assert_true(joint_weight(blocks, i, j) < (method == PELT_BIND_HEAT ? 1e-6 : 0.02));
        }
        assert_true(sum < 0.15 * model->mesh.vertex_count);
        pelt_model_destroy(model);
        pelt_model_destroy(blocks);
        pelt_model_destroy(again);
    }
    test_end(&one);
    test_end(&four);
}

/* ---- Warnings -------------------------------------------------------------------------------------------------- */

static void test_joints_without_weights_say_why(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    desc.rigid = "cloth=Mid,brass=Mid";
    bind_soundly(&test, model, &desc, &report);
    assert_int_equal(report.joint_count, ARMS);
    assert_int_equal(report.idle[MID], PELT_BIND_ACTIVE);
    assert_int_equal(report.idle[FORE_L], PELT_BIND_OVERSHADOWED);
    assert_int_equal(report.vertex_count, model->mesh.vertex_count);
    assert_int_equal(report.rigid_count, model->mesh.vertex_count);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_bridged_parts_are_named(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    shape *s = arms_shape();
    shape_part(s, "satellite", NULL);
    shape_tube(s, 1, 0, 0.25, 1, 0.125, (double[3]){1, 1.5, 0});
    shape_part_end(s);
    pelt_model *model = shape_model(&test, s);
    free(s);
    add_skeleton(&test, model, arms_joints, ARMS);
    add_skin(&test, model, arms_joints, ARMS);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    bind_soundly(&test, model, &desc, &report);
    assert_int_equal(report.bridged_part_count, 1);
    assert_int_equal(report.bridged_parts[0], 2);
    assert_int_equal(report.bridged_count, model->mesh.parts[2].vertex_count);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touching_limbs_are_reported), cmocka_unit_test(test_limbs_are_separated),
        cmocka_unit_test(test_methods_for_comparison),      cmocka_unit_test(test_touching_limbs_are_parted),
        cmocka_unit_test(test_blocks_keep_limbs_apart),     cmocka_unit_test(test_joints_without_weights_say_why),
        cmocka_unit_test(test_bridged_parts_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
