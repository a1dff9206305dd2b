/* Bones for corrections to come: better with them than those that are best alone, never worse after a round, the same
 * for any number of threads, left alone where they are not free, clean when memory runs out. */
#include "support.h"

#include "scenes.h"

#include <math.h>
#include <pelt/together.h>

#define RANK   4u
#define ROUNDS 5u

typedef struct subject {
    test_context test;
    pelt_context *context;
    pelt_model *model;
    pelt_decompose_desc bones;
    pelt_together_report report;
} subject;

static void begin(subject *s, uint32_t threads, pelt_transforms transforms) {
    *s = (subject){.bones = pelt_decompose_desc_default()};
    s->context = test_begin(&s->test, threads);
    scene_desc desc = {.vertex_count = 500, .frame_count = 20, .seed = 1};
    test_ok(&s->test, scene_find("cloth")->make(s->context, &desc, &s->model));
    s->bones.bones = 5;
    s->bones.iterations = 12;
    s->bones.transforms = transforms;
    test_ok(&s->test, pelt_decompose(s->context, s->model, &s->bones, NULL));
}

static void end(subject *s) {
    pelt_model_destroy(s->model);
    test_end(&s->test);
}

/* E_rms with corrections, which the model does not keep. */
static double corrected_error(const subject *s) {
    pelt_model model = *s->model;
    pelt_correct_desc desc = pelt_correct_desc_default();
    pelt_correct_report report;
    desc.rank = RANK;
    test_ok(&s->test,
            pelt_correct(s->context, &model, &(pelt_correct_pair){0, &s->model->clips[0]}, 1, &desc, &report));
    return report.errors[RANK];
}

static void fit_together(subject *s) {
    test_ok(&s->test, pelt_together(s->context, s->model, &s->bones, RANK, ROUNDS, &s->report));
    test_ok(&s->test, pelt_model_validate(s->context, s->model));
}

static void check_rounds(pelt_transforms transforms) {
    subject s;
    begin(&s, 2, transforms);
    const pelt_clip *clips = s.model->clips;
    double before = corrected_error(&s);
    fit_together(&s);
    double after = corrected_error(&s);
    assert_true(s.report.round_count >= 2 && s.report.round_count <= ROUNDS);
    for (uint32_t n = 1; n <= s.report.round_count; n++)
        assert_true(s.report.errors[n] < s.report.errors[n - 1]);
    assert_true(after < 0.85 * before);
    assert_true(after < 1.02 * s.report.errors[s.report.round_count]); /* what was told is what corrections reach */
    assert_int_equal(s.model->skin.bone_count, 5);
    assert_int_equal(s.model->morphs.morph_count, 0);
    assert_true(s.model->clips == clips);
    end(&s);
}

static void rounds_lower_the_error(void **state) {
    (void)state;
    check_rounds(PELT_TRANSFORMS_AFFINE);
    check_rounds(PELT_TRANSFORMS_TRS);
    check_rounds(PELT_TRANSFORMS_RIGID);
}

static void a_fixed_rest_pose_stays(void **state) {
    (void)state;
    subject s;
    begin(&s, 2, PELT_TRANSFORMS_AFFINE);
    s.bones.fixed_rest = true;
    const float *positions = s.model->mesh.positions;
    fit_together(&s);
    assert_true(s.report.round_count > 0 && s.model->mesh.positions == positions);
    end(&s);
}

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    subject one, four;
    begin(&one, 1, PELT_TRANSFORMS_AFFINE);
    begin(&four, 4, PELT_TRANSFORMS_AFFINE);
    fit_together(&one);
    fit_together(&four);
    const pelt_skin *a = &one.model->skin, *b = &four.model->skin;
    size_t count = (size_t)one.model->mesh.vertex_count * a->influence_count;
    assert_memory_equal(a->weights, b->weights, count * sizeof *a->weights);
    assert_memory_equal(one.report.errors, four.report.errors, (one.report.round_count + 1) * sizeof(double));
    end(&one);
    end(&four);
}

static void bones_that_are_not_free_stay(void **state) {
    (void)state;
    subject s;
    begin(&s, 1, PELT_TRANSFORMS_RIGID);
    pelt_model was = *s.model;
    pelt_decompose_desc free_bones = s.bones;
    s.bones.hierarchy = true;
    fit_together(&s);
    s.bones = free_bones;
    s.bones.rig = s.model;
    fit_together(&s);
    s.bones = free_bones;
    s.bones.method = PELT_DECOMPOSE_SMA;
    fit_together(&s);
    assert_int_equal(s.report.round_count, 0);
    assert_memory_equal(&was, s.model, sizeof was);
    test_fails(&s.test, pelt_together(s.context, s.model, &free_bones, 0, 1, NULL), PELT_ERROR_USAGE, "from 1 to 100");
    test_fails(&s.test, pelt_together(s.context, s.model, &free_bones, 1, 101, NULL), PELT_ERROR_USAGE, "100 rounds");
    end(&s);
}

/* After every failure the model is as it was. */
static pelt_result together_small(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    scene_desc size = {.vertex_count = 60, .frame_count = 6, .seed = 1};
    pelt_result result = scene_find("cloth")->make(context, &size, &model);
    if (result != PELT_OK)
        return result;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 2;
    desc.iterations = 1;
    result = pelt_decompose(context, model, &desc, NULL);
    pelt_model was = *model;
    if (result == PELT_OK)
        result = pelt_together(context, model, &desc, 1, 2, NULL);
    if (result != PELT_OK)
        assert_memory_equal(&was, model, sizeof was);
    pelt_model_destroy(model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    test_fail_some_allocations(1, 60, together_small, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_lower_the_error),
        cmocka_unit_test(a_fixed_rest_pose_stays),
        cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(bones_that_are_not_free_stay),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
