/* Weights pulled to examples: recovered from poses, kept where examples say nothing, the same for any number of threads. */
#include "support.h"

#include "core/core.h"
#include "scenes.h"

#include <pelt/bind.h>

#include <math.h>

#define POSES 4u

typedef struct subject {
    test_context test;
    pelt_model *model;   /* with other weights */
    pelt_model *painted; /* the same rig as it should be */
    pelt_bind_example examples[POSES];
} subject;

/* Poses of a motion, in the shapes that the painted rig has. */
static pelt_result make_examples(pelt_context *context, const pelt_model *painted, pelt_model *model,
                                 pelt_bind_example *examples) {
    for (uint32_t e = 0; e < POSES; e++) {
        const pelt_motion *motion = &painted->motions[0];
        float time = motion->start + (motion->end - motion->start) * (float)(e + 1) / (POSES + 1);
        pelt_transform *locals = pelt_model_alloc(context, model, painted->skeleton.joint_count, sizeof *locals);
        float *positions = pelt_model_alloc(context, model, 3 * (size_t)painted->mesh.vertex_count, sizeof *positions);
        if (!locals || !positions)
            return PELT_ERROR_MEMORY;
        pelt_motion_sample(painted, motion, time, locals, NULL);
        pelt_result result = pelt_model_pose(context, painted, motion, time, PELT_SKINNING_LINEAR, positions, NULL);
        if (result != PELT_OK)
            return result;
        examples[e] = (pelt_bind_example){"frame", locals, positions};
    }
    return PELT_OK;
}

/* Weights towards the nearest bone: w² of each, normalised. */
static pelt_result sharpen(pelt_context *context, pelt_model *model) {
    pelt_skin *skin = &model->skin;
    size_t K = skin->influence_count, N = model->mesh.vertex_count;
    float *weights = pelt_model_alloc(context, model, N * K, sizeof *weights);
    if (!weights)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < N; i++) {
        float sum = 0;
        for (size_t k = 0; k < K; k++)
            sum += weights[i * K + k] = skin->weights[i * K + k] * skin->weights[i * K + k];
        for (size_t k = 0; k < K; k++)
            weights[i * K + k] /= sum;
    }
    skin->weights = weights;
    return PELT_OK;
}

static void begin(subject *s, uint32_t threads, const char *name) {
    pelt_context *context = test_begin(&s->test, threads);
    scene_desc desc = {.vertex_count = 900, .frame_count = 30, .seed = 4};
    test_ok(&s->test, scene_find(name)->make(context, &desc, &s->painted));
    test_ok(&s->test, pelt_model_borrow(context, s->painted, &s->model));
    test_ok(&s->test, sharpen(context, s->model));
    test_ok(&s->test, make_examples(context, s->painted, s->model, s->examples));
}

static void end(subject *s) {
    pelt_model_destroy(s->model);
    pelt_model_destroy(s->painted);
    test_end(&s->test);
}

/* Mean L1 distance of two skins with the same bones. */
static double weights_apart(const pelt_model *a, const pelt_model *b) {
    double sum = 0;
    for (size_t i = 0; i < a->mesh.vertex_count; i++) {
        double *row = calloc(a->skin.bone_count, sizeof *row);
        assert_non_null(row);
        for (size_t k = 0; k < a->skin.influence_count; k++)
            row[a->skin.bones[i * a->skin.influence_count + k]] +=
                (double)a->skin.weights[i * a->skin.influence_count + k];
        for (size_t k = 0; k < b->skin.influence_count; k++)
            row[b->skin.bones[i * b->skin.influence_count + k]] -=
                (double)b->skin.weights[i * b->skin.influence_count + k];
        for (uint32_t j = 0; j < a->skin.bone_count; j++)
            sum += fabs(row[j]);
        free(row);
    }
    return sum / a->mesh.vertex_count;
}

static void recovers_weights(void **state) {
    (void)state;
    subject s;
    begin(&s, 2, "creature");
    double before = weights_apart(s.painted, s.model), last = before;
    const double strengths[] = {0.03, 0.01, 0.003, 0.001};
    for (size_t n = 0; n < PX_COUNT(strengths); n++) {
        pelt_model *model;
        pelt_bind_prefer_desc desc = pelt_bind_prefer_desc_default();
        pelt_bind_prefer_report report;
        desc.strength = strengths[n];
        test_ok(&s.test, pelt_model_borrow(s.test.context, s.model, &model));
        test_ok(&s.test, pelt_bind_prefer(s.test.context, model, s.examples, POSES, &desc, &report));
        test_ok(&s.test, pelt_model_validate(s.test.context, model));
        assert_int_equal(model->changed, PELT_CHANGED_SKIN);
        double apart = weights_apart(s.painted, model);
        assert_true(apart < last && report.after < report.before);
        assert_in_range(report.changed_count, 1, report.vertex_count);
        last = apart;
        pelt_model_destroy(model);
    }
    printf("mean L1 from the painted weights: %.4f to %.4f\n", before, last);
    assert_true(last < 0.3 * before);
    end(&s);
}

/* Examples in the rest pose say nothing about weights. */
static void keeps_weights_at_rest(void **state) {
    (void)state;
    subject s;
    begin(&s, 1, "tube");
    float *rest = pelt_model_alloc(s.test.context, s.model, 3 * (size_t)s.model->mesh.vertex_count, sizeof *rest);
    test_ok(&s.test, pelt_model_pose(s.test.context, s.painted, NULL, 0, PELT_SKINNING_LINEAR, rest, NULL));
    pelt_bind_example example = {"rest", s.model->skeleton.rest, rest};
    pelt_model *kept;
    test_ok(&s.test, pelt_model_borrow(s.test.context, s.model, &kept));
    test_ok(&s.test, pelt_bind_prefer(s.test.context, s.model, &example, 1, NULL, NULL));
    assert_true(weights_apart(kept, s.model) < 0.01); /* weights below 0.003 are dropped */
    pelt_model_destroy(kept);
    end(&s);
}

static void threads_agree(void **state) {
    (void)state;
    float *first = NULL;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        subject s;
        begin(&s, threads, "creature");
        pelt_bind_prefer_desc desc = pelt_bind_prefer_desc_default();
        desc.influences = 3;
        test_ok(&s.test, pelt_bind_prefer(s.test.context, s.model, s.examples, POSES, &desc, NULL));
        assert_int_equal(s.model->skin.influence_count, 3);
        size_t size = 3 * (size_t)s.model->mesh.vertex_count * sizeof(float);
        if (first)
            assert_memory_equal(first, s.model->skin.weights, size);
        else {
            assert_non_null(first = malloc(size));
            memcpy(first, s.model->skin.weights, size);
        }
        end(&s);
    }
    free(first);
}

static void refuses(void **state) {
    (void)state;
    subject s;
    begin(&s, 1, "tube");
    pelt_context *context = s.test.context;
    pelt_bind_prefer_desc desc = pelt_bind_prefer_desc_default();
    test_fails(&s.test, pelt_bind_prefer(context, s.model, s.examples, 0, NULL, NULL), PELT_ERROR_USAGE, "no examples");
    desc.influences = 9;
    test_fails(&s.test, pelt_bind_prefer(context, s.model, s.examples, 1, &desc, NULL), PELT_ERROR_USAGE, "influences");
    float *broken = pelt_model_alloc(context, s.model, 3 * (size_t)s.model->mesh.vertex_count, sizeof *broken);
    broken[4] = NAN;
    pelt_bind_example example = {"bent", s.model->skeleton.rest, broken};
    test_fails(&s.test, pelt_bind_prefer(context, s.model, &example, 1, NULL, NULL), PELT_ERROR_INPUT,
               "example bent, vertex 1");
    s.model->skin = (pelt_skin){0};
    test_fails(&s.test, pelt_bind_prefer(context, s.model, s.examples, 1, NULL, NULL), PELT_ERROR_INPUT, "no skin");
    end(&s);
}

static pelt_result run_tube(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    pelt_bind_example examples[POSES];
    scene_desc desc = {.vertex_count = 60, .frame_count = 4, .seed = 1};
    pelt_result result = scene_find("tube")->make(context, &desc, &model);
    if (result != PELT_OK)
        return result;
    result = make_examples(context, model, model, examples);
    if (result == PELT_OK)
        result = sharpen(context, model);
    const float *weights = model->skin.weights;
    if (result == PELT_OK)
        result = pelt_bind_prefer(context, model, examples, POSES, NULL, NULL);
    if (result != PELT_OK)
        assert_ptr_equal(model->skin.weights, weights);
    pelt_model_destroy(model);
    return result;
}

static void survives_failing_allocations(void **state) {
    (void)state;
    test_fail_each_allocation(1, run_tube, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_weights),
        cmocka_unit_test(keeps_weights_at_rest),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(refuses),
        cmocka_unit_test(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
