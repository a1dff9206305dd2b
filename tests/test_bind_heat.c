/* Weights by diffusion, before anything is cut or normalised; and which joints have bones. */
#include "bind_models.h"

#include "bind/bind.h"

static void test_names(void **state) {
    (void)state;
    assert_true(px_bind_name_steers("PoleTarget.L"));
    assert_true(px_bind_name_steers("hand_ctrl"));
    assert_false(px_bind_name_steers("Controller"));
    assert_false(px_bind_name_steers("Spike"));
    assert_true(px_bind_name_is_ik("IKFoot.L"));
    assert_true(px_bind_name_is_ik("ik_hand_r"));
    assert_false(px_bind_name_is_ik("Spike"));
    assert_true(px_bind_name_is_root("CharacterRoot"));
    assert_false(px_bind_name_is_root("Rooted"));
    assert_true(px_bind_name_is_end("Head_end"));
    assert_true(px_bind_name_is_end("Bip01 HeadNub"));
    assert_false(px_bind_name_is_end("Bend"));
}

/* The tube alone, without the button: along it weights are as the equation gives them. */
static pelt_model *make_tube(test_context *test, const test_joint *joints, uint32_t count) {
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "tube", NULL);
    shape_tube(s, 0, -2, 2, 32, 0.25, (double[3]){0, 0, 0});
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, joints, count);
    add_skin(test, model, joints, count);
    return model;
}

static void test_fields(void **state) {
    (void)state;
    static const test_joint joints[] = {{"A", PELT_NONE, {-2, 0, 0}}, {"B", 0, {0, 0, 0}}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, 2);
    pelt_bind_desc desc = quick_desc();
    desc.resolution = 128; /* borders are as exact as coarse nodes are small */
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    const px_bind_subject *s = &binding->subject;
    assert_int_equal(s->target_count, 2);
    for (uint32_t i = 0; i < s->row_count; i++) {
        const float *w = binding->fields.values + 2 * (size_t)i;
        float x = s->positions[3 * (size_t)i];
        assert_true(fabsf(w[0] + w[1] - 1) < 0.02f);
        assert_true(x < -1 ? w[0] > 0.97f : x > 1 ? w[1] > 0.97f : true);
        if (fabsf(x) < 1e-6f) /* the border is where the joint is */
            if (!(fabsf(w[0] - 0.5f) < 0.25f))
                fail_msg("%g at the joint", w[0]);
        for (uint32_t k = 0; k < s->row_count; k++) /* never less of B farther along */
            if (s->positions[3 * (size_t)k] > x + 1e-6f)
                assert_true(binding->fields.values[2 * (size_t)k + 1] > w[1] - 0.02f);
    }
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_joints_that_steer(void **state) {
    (void)state;
    static const test_joint joints[] = {
        {"Root", PELT_NONE, {0, 0, 0}},  {"A", 0, {-2, 0, 0}},   {"B", 1, {0, 0, 0}},
        {"PoleTarget", 1, {1, 0.2f, 0}}, {"ik_B", 0, {0, 0, 0}}, {"IKFore", 2, {1, 0, 0}}};
    static const uint8_t expected[] = {PELT_BIND_CONTROL, PELT_BIND_ACTIVE,  PELT_BIND_ACTIVE,
                                       PELT_BIND_CONTROL, PELT_BIND_CONTROL, PELT_BIND_ACTIVE};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_tube(&test, joints, 6);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    test_ok(&test, pelt_bind(test.context, model, &desc, &report));
    for (uint32_t j = 0; j < 6; j++)
        if (report.idle[j] != expected[j])
            fail_msg("%s is %u", joints[j].name, report.idle[j]);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_joints_that_steer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
