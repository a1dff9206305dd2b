/* Settings of a binding: weights from distance fields, excluded joints, mirroring, failures. */
#include "bind_models.h"

/* ---- Weights --------------------------------------------------------------------------------------------------- */

static void test_every_setting_gives_sound_weights(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_HIERARCHY; method++)
        for (uint32_t n = 0; n < 24; n++) {
            pelt_model *model = make_arms(&test, true);
            pelt_bind_desc desc = quick_desc();
            desc.method = method;
            desc.resolution = 24;
            desc.influences = 1 + n % 8;
            desc.falloff = 0.5 * (n % 3);
            desc.prune = n % 5 == 0 ? 0 : 0.02 * (n % 5);
            desc.smooth = n % 4;
            desc.curve = n % 2;
            desc.mirror = n % 3 == 0 ? PELT_BIND_MIRROR_X : PELT_BIND_MIRROR_OFF;
            bind_soundly(&test, model, &desc, NULL);
            for (uint32_t e = 0; e < model->mesh.vertex_count * model->skin.influence_count; e++)
                assert_true(model->skin.weights[e] == 0 || e % desc.influences == 0 ||
                            (double)model->skin.weights[e] >= desc.prune);
            pelt_model_destroy(model);
        }
    test_end(&test);
}

static double mean_largest(const pelt_model *model) {
    double sum = 0;
    for (size_t i = 0; i < model->mesh.vertex_count; i++)
        sum += (double)model->skin.weights[i * model->skin.influence_count];
    return sum / model->mesh.vertex_count;
}

/* A higher stiffness brings weights closer to 0 and 1; every vertex can have its own α. */
static void test_falloff_makes_stiffer(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_model *model = make_arms(&test, true);
        pelt_bind_desc desc = quick_desc();
        pelt_binding *binding;
        double before = 0;
        desc.method = method;
        desc.rigid_parts = PELT_BIND_RIGID_OFF;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        for (int n = 0; n <= 4; n++) {
            desc.falloff = 0.25 * n;
            test_ok(&test, pelt_binding_apply(binding, &desc));
            double now = mean_largest(model);
            assert_true(now > before + 1e-4);
            before = now;
        }
        saved_skin stiff = save_skin(model);
        float *own = malloc(model->mesh.vertex_count * sizeof *own);
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            own[i] = model->mesh.positions[3 * (size_t)i] > 0 ? 1.0f : 0.25f;
        desc.falloff = 0.5;
        desc.vertex_falloff = own;
        test_ok(&test, pelt_binding_apply(binding, &desc));
        size_t K = model->skin.influence_count, changed = 0;
        for (size_t i = 0; i < model->mesh.vertex_count; i++) {
            bool same = memcmp(model->skin.weights + i * K, stiff.skin.weights + i * K, K * sizeof(float)) == 0;
            if (own[i] == 1)
                assert_true(same);
            changed += !same;
        }
        assert_true(changed > model->mesh.vertex_count / 8);
        own[3] = 2;
        test_fails(&test, pelt_binding_apply(binding, &desc), PELT_ERROR_USAGE, "falloff of vertex 3");
        free(own);
        free(stiff.skin.bones);
        free(stiff.skin.weights);
        pelt_binding_destroy(binding);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* The same settings give the same bytes whatever was applied in between; memory does not grow. */
static void test_apply_again(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc(), other = desc;
    pelt_binding *binding;
    other.influences = 2;
    other.exclude = "Fore_L";
    other.smooth = 2;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    test_ok(&test, pelt_binding_apply(binding, NULL));
    saved_skin first = save_skin(model);
    int64_t size = 0;
    for (int n = 0; n < 8; n++) {
        test_ok(&test, pelt_binding_apply(binding, &other));
        assert_int_equal(model->skin.influence_count, 2);
        test_ok(&test, pelt_binding_apply(binding, n % 2 ? NULL : &desc));
        if (n == 0)
            size = atomic_load(&test.live_size);
        assert_int_equal(atomic_load(&test.live_size), size);
    }
    assert_skin(model, first);
    pelt_binding_destroy(binding);
    assert_sound(&test, model, 4);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Excluded joints ------------------------------------------------------------------------------------------- */

static void test_exclude_shares_the_rest(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true), *all = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_binding *binding;
    desc.influences = 8;
    desc.prune = 0;
    desc.rigid_parts = PELT_BIND_RIGID_OFF;
    bind_soundly(&test, all, &desc, NULL);
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    desc.exclude = "Fore_L";
    test_ok(&test, pelt_binding_apply(binding, &desc));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        double out = joint_weight(all, i, FORE_L);
        assert_true(joint_weight(model, i, FORE_L) == 0);
        for (uint32_t j = 0; j < ARMS && out < 0.98; j++)
            if (j != FORE_L)
                assert_true(fabs(joint_weight(model, i, j) - joint_weight(all, i, j) / (1 - out)) < 1e-5);
        if (out > 0.999999)
            assert_true(joint_weight(model, i, ARM_L) > 0.999);
    }
    assert_int_equal(pelt_binding_report(binding).idle[FORE_L], PELT_BIND_EXCLUDED);
    assert_int_equal(pelt_binding_report(binding).idle[ARM_L], PELT_BIND_ACTIVE);
    desc.exclude = "Mid,Arm_L,Arm_R,Fore_R"; /* no relative of the right arm remains: the nearest joint takes over */
    test_ok(&test, pelt_binding_apply(binding, &desc));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, FORE_L) == 1);
    desc.exclude = NULL;
    desc.only = "Mid, Fore_R";
    test_ok(&test, pelt_binding_apply(binding, &desc));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(fabs(joint_weight(model, i, MID) + joint_weight(model, i, FORE_R) - 1) < 1e-6);
    saved_skin before = save_skin(model);
    desc.only = "Mid,Nobody";
    test_fails(&test, pelt_binding_apply(binding, &desc), PELT_ERROR_INPUT, "only: there is no joint 'Nobody'");
    desc.only = "Mid";
    desc.exclude = "Mid";
    test_fails(&test, pelt_binding_apply(binding, &desc), PELT_ERROR_USAGE, "leave no joint");
    assert_skin(model, before);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    pelt_model_destroy(all);
    test_end(&test);
}

/* ---- Left and right -------------------------------------------------------------------------------------------- */

static uint32_t mirrored_vertex(const pelt_model *model, uint32_t vertex) {
    const float *p = model->mesh.positions + 3 * (size_t)vertex;
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        const float *q = model->mesh.positions + 3 * (size_t)i;
        if (q[0] == -p[0] && q[1] == p[1] && q[2] == p[2])
            return i;
    }
    return PELT_NONE;
}

static void test_mirror_is_exact(void **state) {
    (void)state;
    static const uint32_t pairs[ARMS] = {MID, ARM_R, FORE_R, ARM_L, FORE_L};
    test_context test;
    test_begin(&test, 2);
    for (uint32_t influences = 1; influences <= 4; influences++) {
        pelt_model *model = make_arms(&test, true);
        pelt_bind_desc desc = quick_desc();
        pelt_bind_report report;
        desc.influences = influences;
        desc.prune = 0.001;
        desc.falloff = 0.1;
        desc.mirror = PELT_BIND_MIRROR_X;
        bind_soundly(&test, model, &desc, &report);
        uint32_t unmatched = 0;
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
            uint32_t other = mirrored_vertex(model, i);
            bool middle = other == i && influences == 1; /* tie: one of two equal joints gets all the weight */
            unmatched += other == PELT_NONE;
            for (uint32_t j = 0; j < ARMS && other != PELT_NONE && !middle; j++)
                assert_true(joint_weight(model, i, j) == joint_weight(model, other, pairs[j]));
        }
        assert_int_equal(unmatched, model->mesh.parts[1].vertex_count);
        assert_int_equal(report.unmatched_count, unmatched);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* An excluded joint gets no weight from the mirrored side either. */
static void test_mirror_respects_exclusions(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    pelt_bind_report report;
    pelt_binding *binding;
    test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
    desc.mirror = PELT_BIND_MIRROR_X;
    desc.exclude = "Fore_L";
    test_ok(&test, pelt_binding_apply(binding, &desc));
    report = pelt_binding_report(binding);
    assert_true(report.unmatched_count > model->mesh.parts[1].vertex_count);
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
        assert_true(joint_weight(model, i, FORE_L) == 0);
    pelt_binding_destroy(binding);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Failing --------------------------------------------------------------------------------------------------- */

/* A cancelled or failed run leaves the model unchanged. */
static pelt_result bind_once(pelt_context *context, void *user) {
    test_context quiet;
    test_begin(&quiet, 1);
    pelt_model *made = make_arms(&quiet, true), *model = NULL;
    pelt_bind_desc desc = quick_desc();
    desc.resolution = 16;
    desc.lock = "Arm_R";
    desc.rigid = "brass=Fore_R";
    (void)user;
    desc.mirror = PELT_BIND_MIRROR_X;
    desc.smooth = 1;
    pelt_result result = pelt_model_borrow(context, made, &model);
    if (result == PELT_OK) {
        pelt_bind_report report;
        result = pelt_bind(context, model, &desc, &report);
        if (result != PELT_OK) {
            assert_memory_equal(&model->skin, &made->skin, sizeof model->skin);
            assert_int_equal(model->changed, made->changed);
            assert_int_equal(report.vertex_count, 0);
        }
        pelt_model_destroy(model);
    }
    pelt_model_destroy(made);
    test_end(&quiet);
    return result;
}

static void test_failing_allocations(void **state) {
    (void)state;
    test_fail_each_allocation(1, bind_once, NULL);
}

static void test_cancelling(void **state) {
    (void)state;
    test_context test;
    pelt_result result = PELT_ERROR_CANCELLED;
    uint64_t at = 1;
    for (; result == PELT_ERROR_CANCELLED; at += 1 + at / 4) {
        test_begin(&test, 1);
        atomic_store(&test.cancel_at, at);
        result = bind_once(test.context, NULL);
        test_end(&test);
    }
    assert_int_equal(result, PELT_OK);
    assert_true(at > 4);
}

static void test_wrong_numbers(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_arms(&test, true);
    pelt_bind_desc desc = quick_desc();
    desc.influences = 9;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "pelt_bind_desc.influences is 9");
    desc = quick_desc();
    desc.falloff = -1;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "pelt_bind_desc.falloff is -1");
    desc = quick_desc();
    desc.prune = NAN;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "pelt_bind_desc.prune is");
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    test_context one, four;
    test_begin(&one, 1);
    test_begin(&four, 4);
    for (uint32_t method = PELT_BIND_HEAT; method <= PELT_BIND_GEODESIC; method++) {
        pelt_model *a = make_scene(&one, "production", 3000), *b = make_scene(&four, "production", 3000);
        pelt_bind_desc desc = quick_desc();
        desc.method = method;
        desc.mirror = PELT_BIND_MIRROR_X;
        desc.smooth = 2;
        bind_soundly(&one, a, &desc, NULL);
        bind_soundly(&four, b, &desc, NULL);
        assert_skin(a, save_skin(b));
        pelt_model_destroy(a);
        pelt_model_destroy(b);
    }
    test_end(&one);
    test_end(&four);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_setting_gives_sound_weights),
        cmocka_unit_test(test_falloff_makes_stiffer),
        cmocka_unit_test(test_apply_again),
        cmocka_unit_test(test_exclude_shares_the_rest),
        cmocka_unit_test(test_mirror_is_exact),
        cmocka_unit_test(test_mirror_respects_exclusions),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_wrong_numbers),
        cmocka_unit_test(test_threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
