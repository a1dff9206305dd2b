/* Bones and corrections in one operation: better than one after the other, never worse after a round, the same for any
 * number of threads, no rounds when bones are fixed, weights quantised as in files, model unchanged after a failure. */
#include "support.h"

#include "core/core.h"
#include "scenes.h"

#include <math.h>

#define RANK   4u
#define ROUNDS 5u

typedef struct subject {
    test_context test;
    pelt_context *context;
    pelt_model *model;
    pelt_decompose_desc bones;
    pelt_decompose_corrected_desc desc;
    pelt_decompose_corrected_report report;
} subject;

static void begin(subject *s, uint32_t threads, pelt_transforms transforms) {
    *s = (subject){.bones = pelt_decompose_desc_default(), .desc = pelt_decompose_corrected_desc_default()};
    s->context = test_begin(&s->test, threads);
    scene_desc desc = {.vertex_count = 500, .frame_count = 20, .seed = 1};
    test_ok(&s->test, scene_find("cloth")->make(s->context, &desc, &s->model));
    s->bones.bones = 5;
    s->bones.iterations = 12;
    s->bones.transforms = transforms;
    s->desc.corrections = RANK;
    s->desc.rounds = ROUNDS;
}

static void end(subject *s) {
    pelt_model_destroy(s->model);
    test_end(&s->test);
}

static void run(subject *s) {
    test_ok(&s->test, pelt_decompose_corrected(s->context, s->model, &s->bones, &s->desc, &s->report));
    test_ok(&s->test, pelt_model_validate(s->context, s->model));
}

/* E_rms of the model's motion with its morphs against its clip. */
static double measured_error(const subject *s) {
    pelt_clip played;
    pelt_difference difference;
    const pelt_clip *clip = &s->model->clips[0];
    test_ok(&s->test, pelt_clip_from_motion_at(s->context, s->model, &s->model->motions[0], clip->times,
                                               clip->frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(&s->test, pelt_compare_clips(s->context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

static void check_rounds(pelt_transforms transforms) {
    subject apart, both;
    begin(&apart, 2, transforms);
    apart.desc.rounds = 0;
    run(&apart);
    assert_int_equal(apart.report.round_count, 0);
    assert_null(apart.report.round_errors);
    begin(&both, 2, transforms);
    const pelt_clip *clips = both.model->clips;
    run(&both);
    const pelt_decompose_corrected_report *r = &both.report;
    assert_true(r->round_count >= 2 && r->round_count <= ROUNDS);
    for (uint32_t n = 1; n <= r->round_count; n++)
        assert_true(r->round_errors[n] < r->round_errors[n - 1]);
    double before = apart.report.correct.errors[RANK], after = r->correct.errors[RANK];
    assert_true(after < 0.85 * before);
    assert_true(after < 1.02 * r->round_errors[r->round_count]); /* rounds report the error with corrections */
    assert_true(fabs(measured_error(&both) - after) < 1e-3 * after);
    assert_int_equal(both.model->skin.bone_count, 5);
    assert_true(both.model->morphs.morph_count >= RANK); /* and an offset if weights would leave their range */
    assert_int_equal(r->decompose.motions[0], 0);
    assert_true(both.model->clips == clips);
    end(&apart);
    end(&both);
}

static void rounds_lower_the_error(void **state) {
    (void)state;
    check_rounds(PELT_TRANSFORMS_AFFINE);
    check_rounds(PELT_TRANSFORMS_TRS);
    check_rounds(PELT_TRANSFORMS_RIGID);
    check_rounds(PELT_TRANSFORMS_SIMILARITY);
}

/* Without corrections the result equals pelt_decompose. */
static void no_corrections(void **state) {
    (void)state;
    subject s, plain;
    begin(&s, 1, PELT_TRANSFORMS_AFFINE);
    begin(&plain, 1, PELT_TRANSFORMS_AFFINE);
    s.desc.corrections = 0;
    run(&s);
    test_ok(&plain.test, pelt_decompose(plain.context, plain.model, &plain.bones, NULL));
    const pelt_skin *a = &s.model->skin, *b = &plain.model->skin;
    assert_memory_equal(a->weights, b->weights, s.model->mesh.vertex_count * a->influence_count * sizeof *a->weights);
    assert_int_equal(s.model->morphs.morph_count, 0);
    end(&s);
    end(&plain);
}

static void a_fixed_rest_pose_stays(void **state) {
    (void)state;
    subject s;
    begin(&s, 2, PELT_TRANSFORMS_AFFINE);
    s.bones.fixed_rest = true;
    float *before = malloc(3 * sizeof *before * s.model->mesh.vertex_count);
    memcpy(before, s.model->mesh.positions, 3 * sizeof *before * s.model->mesh.vertex_count);
    run(&s);
    assert_true(s.report.round_count > 0);
    for (size_t e = 0; e < (size_t)3 * s.model->mesh.vertex_count; e++)
        assert_true(fabsf(s.model->mesh.positions[e] - before[e]) < 1e-5f);
    free(before);
    end(&s);
}

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    subject one, four;
    begin(&one, 1, PELT_TRANSFORMS_AFFINE);
    begin(&four, 4, PELT_TRANSFORMS_AFFINE);
    run(&one);
    run(&four);
    const pelt_skin *a = &one.model->skin, *b = &four.model->skin;
    size_t count = (size_t)one.model->mesh.vertex_count * a->influence_count;
    assert_memory_equal(a->weights, b->weights, count * sizeof *a->weights);
    assert_memory_equal(one.report.round_errors, four.report.round_errors,
                        (one.report.round_count + 1) * sizeof(double));
    assert_memory_equal(one.model->morphs.morphs[0].positions, four.model->morphs.morphs[0].positions,
                        3 * sizeof(float) * one.model->mesh.vertex_count);
    end(&one);
    end(&four);
}

static void no_rounds_where_bones_are_not_free(void **state) {
    (void)state;
    subject s;
    begin(&s, 1, PELT_TRANSFORMS_RIGID);
    s.bones.hierarchy = true;
    run(&s);
    assert_int_equal(s.report.round_count, 0);
    assert_int_equal(s.report.correct.rank, RANK);
    s.bones.hierarchy = false;
    s.bones.rig = s.model; /* the model itself as rig: its weights, new motions */
    s.bones.given_weights = true;
    run(&s);
    assert_int_equal(s.report.round_count, 0);
    s.bones = pelt_decompose_desc_default();
    s.bones.method = PELT_DECOMPOSE_SMA;
    run(&s);
    assert_int_equal(s.report.round_count, 0);
    s.desc.corrections = 101;
    test_fails(&s.test, pelt_decompose_corrected(s.context, s.model, NULL, &s.desc, NULL), PELT_ERROR_USAGE,
               "corrections is 101");
    end(&s);
}

/* Targets are fitted to quantised weights, as stored in the file. */
static void weights_are_rounded_first(void **state) {
    (void)state;
    static const struct {
        pelt_weight_format format;
        float total;
    } cases[] = {{PELT_WEIGHTS_U8, 255}, {PELT_WEIGHTS_U16, 65535}};
    for (size_t n = 0; n < PX_COUNT(cases); n++) {
        subject s;
        begin(&s, 2, PELT_TRANSFORMS_AFFINE);
        s.desc.weights = cases[n].format;
        s.desc.rounds = 1;
        run(&s);
        const pelt_skin *skin = &s.model->skin;
        for (size_t i = 0; i < (size_t)s.model->mesh.vertex_count * skin->influence_count; i++) {
            float whole = roundf(skin->weights[i] * cases[n].total);
            assert_true(skin->weights[i] == whole / cases[n].total);
        }
        assert_true(fabs(measured_error(&s) - s.report.correct.errors[RANK]) < 1e-3 * s.report.correct.errors[RANK]);
        end(&s);
    }
}

/* After every failure the model is unchanged. */
static pelt_result run_small(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    scene_desc size = {.vertex_count = 60, .frame_count = 6, .seed = 1};
    pelt_result result = scene_find("cloth")->make(context, &size, &model);
    if (result != PELT_OK)
        return result;
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    pelt_decompose_corrected_desc desc = pelt_decompose_corrected_desc_default();
    bones.bones = 2;
    bones.iterations = 1;
    desc.corrections = 1;
    desc.rounds = 2;
    desc.weights = PELT_WEIGHTS_U8;
    pelt_model was = *model;
    result = pelt_decompose_corrected(context, model, &bones, &desc, NULL);
    if (result != PELT_OK)
        assert_memory_equal(&was, model, sizeof was);
    pelt_model_destroy(model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    test_fail_some_allocations(1, 60, run_small, NULL);
}

/* A model that shares data may be changed and destroyed; the source is unaffected. */
static void borrowed_models_leave_the_source(void **state) {
    (void)state;
    subject s;
    begin(&s, 1, PELT_TRANSFORMS_AFFINE);
    pelt_model was = *s.model, *borrowed;
    pelt_part part = s.model->mesh.parts[0];
    test_ok(&s.test, pelt_model_borrow(s.context, s.model, &borrowed));
    test_ok(&s.test, pelt_decompose(s.context, borrowed, &s.bones, NULL));
    test_ok(&s.test, pelt_model_validate(s.context, borrowed));
    assert_int_equal(borrowed->skin.bone_count, 5);
    pelt_model_destroy(borrowed);
    assert_memory_equal(&was, s.model, sizeof was);
    assert_memory_equal(&part, s.model->mesh.parts, sizeof part);
    test_ok(&s.test, pelt_model_validate(s.context, s.model));
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        test_long(rounds_lower_the_error),
        cmocka_unit_test(no_corrections),
        cmocka_unit_test(a_fixed_rest_pose_stays),
        cmocka_unit_test(same_for_any_number_of_threads),
        cmocka_unit_test(no_rounds_where_bones_are_not_free),
        cmocka_unit_test(weights_are_rounded_first),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(borrowed_models_leave_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
