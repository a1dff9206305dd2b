/* Characters of rigid parts: hulls along the bones, and bolts on them. Every shell follows its joint. */
#include "bind_models.h"

enum { BONES = 4, BOLTS = 6 };
static const test_joint chain[BONES] = {
    {"a", PELT_NONE, {0, 0, 0}}, {"b", 0, {1, 0, 0}}, {"c", 1, {2, 0, 0}}, {"d", 2, {3, 0, 0}}};

/* owners [vertex]: the joint that each should follow. Hulls touch in the voxels. */
static pelt_model *make_machine(test_context *test, uint32_t *owners) {
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "machine", "steel");
    for (uint32_t j = 0; j < BONES; j++) {
        uint32_t first = s->vertex_count;
        shape_tube(s, 0, j + 0.02, j + 0.98, 6, 0.2, (double[3]){0, 0, 0});
        for (int n = 0; n < BOLTS; n++) /* all along, so that some sit where the next bone begins */
            shape_tube(s, 1, 0.18, 0.28, 1, 0.03, (double[3]){j + 0.08 + 0.168 * n, 0, 0.1 * (n % 3 - 1)});
        for (uint32_t i = first; i < s->vertex_count; i++)
            owners[i] = j;
    }
    shape_part_end(s);
    pelt_model *model = shape_model(test, s);
    free(s);
    add_skeleton(test, model, chain, BONES);
    add_skin(test, model, chain, BONES);
    return model;
}

static double mean_own(const pelt_model *model, const uint32_t *owners) {
    double sum = 0;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        sum += joint_weight(model, i, owners[i]) / model->mesh.vertex_count;
    return sum;
}

static void test_every_shell_follows_its_joint(void **state) {
    (void)state;
    static uint32_t owners[SHAPE_MOST];
    test_context test;
    test_begin(&test, 1);
    for (uint32_t method = 0; method < 2; method++) {
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.method = method;
        pelt_model *model = make_machine(&test, owners), *soft = make_machine(&test, owners);
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        assert_int_equal(report.rigid_count, model->mesh.vertex_count);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            assert_true(joint_weight(model, i, owners[i]) == 1);
        desc.rigid_parts = PELT_BIND_RIGID_OFF;
        test_ok(&test, pelt_bind(test.context, soft, &desc, &report));
        assert_int_equal(report.rigid_count, 0);
        assert_true(mean_own(soft, owners) < 0.95);
        pelt_model_destroy(model);
        pelt_model_destroy(soft);
    }
    test_end(&test);
}

/* Settings come first: a joint that is left out gets no shell. */
static void test_excluded_joints_get_no_shell(void **state) {
    (void)state;
    static uint32_t owners[SHAPE_MOST];
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    desc.exclude = "b";
    pelt_model *model = make_machine(&test, owners);
    test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, 1) == 0);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_shell_follows_its_joint),
                                       cmocka_unit_test(test_excluded_joints_get_no_shell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
