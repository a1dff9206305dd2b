/* Bone weights fitted under pose-driven corrections: true ones are found again, left-out poses decide, and nothing
 * changes without a gain. */
#include "eigenskin_arm.h"

/* Examples and test poses that the skin itself makes, with the weights at hand. */
static void make_true(const test_context *test, arm *a) {
    for (uint32_t p = 0; p < a->poses.seen_count + a->poses.unseen_count; p++) {
        const scene_pose *pose =
            p < a->poses.seen_count ? &a->poses.seen[p] : &a->poses.unseen[p - a->poses.seen_count];
        memcpy((float *)(uintptr_t)pose->positions, driven(test, a->model, pose->locals),
               3 * (size_t)a->model->mesh.vertex_count * sizeof(float));
    }
}

/* Moves half of each vertex's weights to the others of its bones, alternately up and down the arm. Returns the true
 * weights, by bone: [vertex][bone]. */
static float *perturb(const test_context *test, arm *a) {
    pelt_model *m = a->model;
    size_t K = m->skin.influence_count, bones = m->skin.bone_count;
    float *truth = pelt_model_alloc(test->context, m, m->mesh.vertex_count * bones, sizeof *truth);
    float *weights = pelt_model_alloc(test->context, m, m->mesh.vertex_count * K, sizeof *weights);
    assert_true(truth && weights);
    for (size_t i = 0; i < m->mesh.vertex_count; i++) {
        size_t used = 0;
        while (used < K && m->skin.weights[i * K + used] > 0)
            used++;
        for (size_t k = 0; k < used; k++) {
            truth[i * bones + m->skin.bones[i * K + k]] = m->skin.weights[i * K + k];
            weights[i * K + k] = 0.6f * m->skin.weights[i * K + k] + 0.4f / (float)used;
        }
    }
    m->skin.weights = weights;
    return truth;
}

/* Mean over vertices of Σ_b |w_b − truth_b|. */
static double distance(const pelt_model *m, const float *truth) {
    size_t K = m->skin.influence_count, bones = m->skin.bone_count;
    double sum = 0;
    for (size_t i = 0; i < m->mesh.vertex_count; i++)
        for (size_t b = 0; b < bones; b++) {
            double own = 0;
            for (size_t k = 0; k < K; k++)
                own += m->skin.bones[i * K + k] == b ? (double)m->skin.weights[i * K + k] : 0;
            sum += fabs(own - (double)truth[i * bones + b]);
        }
    return sum / m->mesh.vertex_count;
}

static void check_weights(const pelt_model *m) {
    size_t K = m->skin.influence_count;
    for (size_t i = 0; i < m->mesh.vertex_count; i++) {
        double sum = 0;
        for (size_t k = 0; k < K; k++) {
            assert_true(m->skin.weights[i * K + k] >= 0);
            assert_true(k == 0 || m->skin.weights[i * K + k] <= m->skin.weights[i * K + k - 1]);
            sum += (double)m->skin.weights[i * K + k];
        }
        assert_true(fabs(sum - 1) < 1e-6);
    }
}

static void true_weights_are_found(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    make_true(&test, &a);
    float *truth = perturb(&test, &a);
    double before = distance(a.model, truth);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    pelt_eigenskin_report r;
    desc.refit_weights = true;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
    test_ok(&test, pelt_model_validate(context, a.model));
    check_weights(a.model);
    assert_true(r.refit_rounds > 0 && r.refit_ratio < 0.2);
    assert_true(a.model->changed & PELT_CHANGED_SKIN);
    assert_true(before > 0.05 && distance(a.model, truth) < 0.1 * before);
    assert_true(relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen) < 0.05);
    pelt_model_destroy(a.model);
    test_end(&test);
}

/* Unseen poses of the scene's own arm, with the same number of modes, with and without. */
static void unseen_poses_are_nearer(void **state) {
    (void)state;
    double errors[2];
    for (int refit = 0; refit < 2; refit++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        pelt_eigenskin_report r;
        desc.refit_weights = refit;
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, &desc, &r));
        assert_true(refit ? r.refit_rounds > 0 && r.refit_ratio < 0.98 : isnan(r.refit_ratio));
        errors[refit] = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
        pelt_model_destroy(a.model);
        test_end(&test);
    }
    assert_true(errors[1] < 0.95 * errors[0]);
}

/* The weights stay, to the bit, if they are right already, if there are too few examples to leave some out, or if a
 * third of them has all the movement. */
static void weights_stay_without_a_gain(void **state) {
    (void)state;
    enum { RIGHT, FEW, STILL };
    for (int kind = RIGHT; kind <= STILL; kind++) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        arm a = arm_open(&test);
        if (kind == RIGHT)
            make_true(&test, &a);
        for (uint32_t x = 0; kind == STILL && x < a.poses.seen_count; x++)
            if (x % 3 != 0)
                a.examples[x] = (pelt_pose_example){"rest", a.model->skeleton.rest, a.model->mesh.positions, NULL};
        const float *weights = a.model->skin.weights;
        pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
        pelt_eigenskin_report r;
        desc.refit_weights = true;
        test_ok(&test, pelt_eigenskin(context, a.model, a.examples, kind == FEW ? 5 : a.poses.seen_count, &desc, &r));
        assert_true(r.refit_rounds == 0 && (kind == RIGHT ? r.refit_ratio > 0.98 : isnan(r.refit_ratio)));
        assert_true(a.model->skin.weights == weights && !(a.model->changed & PELT_CHANGED_SKIN));
        pelt_model_destroy(a.model);
        test_end(&test);
    }
}

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    test_context tests[2];
    arm arms[2];
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.refit_weights = true;
    for (int n = 0; n < 2; n++) {
        pelt_context *context = test_begin(&tests[n], n ? 4 : 1);
        arms[n] = arm_open(&tests[n]);
        test_ok(&tests[n],
                pelt_eigenskin(context, arms[n].model, arms[n].examples, arms[n].poses.seen_count, &desc, NULL));
    }
    const pelt_skin *x = &arms[0].model->skin, *y = &arms[1].model->skin;
    size_t numbers = (size_t)arms[0].model->mesh.vertex_count * x->influence_count;
    assert_memory_equal(x->weights, y->weights, numbers * sizeof *x->weights);
    assert_memory_equal(x->bones, y->bones, numbers * sizeof *x->bones);
    for (int n = 0; n < 2; n++) {
        pelt_model_destroy(arms[n].model);
        test_end(&tests[n]);
    }
}

/* After a failure the model has its own weights. */
static pelt_result refit_small(pelt_context *context, void *user) {
    (void)user;
    arm a = {0};
    const scene_desc size = {.vertex_count = 60, .frame_count = 2, .seed = 1};
    pelt_result result = arm_make(context, &size, &a);
    const float *weights = a.model ? a.model->skin.weights : NULL;
    pelt_eigenskin_desc desc = pelt_eigenskin_desc_default();
    desc.refit_weights = true;
    desc.kernel = PELT_KERNEL_EXPONENTIAL;
    desc.radius = 1;
    desc.regularise = 0.01;
    if (result == PELT_OK) {
        result = pelt_eigenskin(context, a.model, a.examples, 6, &desc, NULL);
        if (result != PELT_OK)
            assert_true(a.model->skin.weights == weights && a.model->morphs.morph_count == 0);
    }
    pelt_model_destroy(a.model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    test_fail_some_allocations(1, 150, refit_small, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(true_weights_are_found),      cmocka_unit_test(unseen_poses_are_nearer),
        cmocka_unit_test(weights_stay_without_a_gain), cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
