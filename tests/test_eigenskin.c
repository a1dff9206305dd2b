/* Corrections that poses drive: exact at the examples, good at others, within their supports, the same for any number of
 * threads and however the rig stands, clean when memory runs out. */
#include "support.h"

#include "scenes.h"

#include <math.h>

static const scene_desc arm_desc = {.vertex_count = 700, .frame_count = 20, .seed = 1};

typedef struct arm {
    pelt_model *model;
    scene_poses poses;
    pelt_pose_example *examples; /* [seen_count] */
} arm;

static pelt_result arm_make(pelt_context *context, const scene_desc *desc, arm *a) {
    const scene *s = scene_find("arm");
    pelt_result result = s->make(context, desc, &a->model);
    if (result == PELT_OK)
        result = s->poses(context, desc, a->model, &a->poses);
    if (result != PELT_OK)
        return result;
    a->examples = pelt_model_alloc(context, a->model, a->poses.seen_count, sizeof *a->examples);
    for (uint32_t p = 0; a->examples && p < a->poses.seen_count; p++) {
        const scene_pose *pose = &a->poses.seen[p];
        a->examples[p] = (pelt_pose_example){pose->name, pose->locals, pose->positions, NULL};
    }
    return a->examples ? PELT_OK : PELT_ERROR_MEMORY;
}

static arm arm_open(const test_context *test) {
    arm a = {0};
    test_ok(test, arm_make(test->context, &arm_desc, &a));
    return a;
}

/* The model in a pose, with the weights that drivers say: positions [vertex][3] in its memory. */
static float *driven(const test_context *test, pelt_model *model, const pelt_transform *locals) {
    float *weights = pelt_model_alloc(test->context, model, model->morphs.morph_count, sizeof *weights);
    float *out = pelt_model_alloc(test->context, model, 3 * (size_t)model->mesh.vertex_count, sizeof *out);
    assert_true(weights && out);
    pelt_pose_weights(model, locals, weights);
    test_ok(test, pelt_model_pose_locals(test->context, model, locals, weights, PELT_SKINNING_LINEAR, out, NULL));
    return out;
}

/* √(Σ |a − b|²) and the largest |a − b| over the vertices. */
typedef struct difference {
    double root, most;
} difference;

static difference compare(const pelt_model *model, const float *a, const float *b) {
    difference d = {0};
    for (size_t i = 0; i < model->mesh.vertex_count; i++) {
        double sum = 0;
        for (size_t c = 3 * i; c < 3 * i + 3; c++)
            sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
        d.root += sum;
        d.most = fmax(d.most, sqrt(sum));
    }
    d.root = sqrt(d.root);
    return d;
}

/* What is left in poses of what `before` [pose] was wrong by. */
static double relative_error(const test_context *test, pelt_model *model, const scene_pose *poses, uint32_t count,
                             float *const *before) {
    double left = 0, all = 0;
    for (uint32_t p = 0; p < count; p++) {
        double now = compare(model, driven(test, model, poses[p].locals), poses[p].positions).root;
        double then = compare(model, before[p], poses[p].positions).root;
        left += now * now;
        all += then * then;
    }
    return sqrt(left / all);
}

static float **plain_skins(const test_context *test, pelt_model *model, const scene_pose *poses, uint32_t count) {
    float **out = pelt_model_alloc(test->context, model, count, sizeof *out);
    assert_non_null(out);
    for (uint32_t p = 0; p < count; p++)
        out[p] = driven(test, model, poses[p].locals);
    return out;
}

/* ---- How good --------------------------------------------------------------------------------------------- */

static void few_modes_are_enough(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    arm a = arm_open(&test);
    float **seen = plain_skins(&test, a.model, a.poses.seen, a.poses.seen_count);
    float **unseen = plain_skins(&test, a.model, a.poses.unseen, a.poses.unseen_count);
    pelt_eigenskin_report r;
    test_ok(&test, pelt_eigenskin(context, a.model, a.examples, a.poses.seen_count, NULL, &r));
    test_ok(&test, pelt_model_validate(context, a.model));
    double learned = relative_error(&test, a.model, a.poses.seen, a.poses.seen_count, seen);
    double other = relative_error(&test, a.model, a.poses.unseen, a.poses.unseen_count, unseen);
    for (uint32_t n = 0; n <= r.mode_count; n++)
        print_message("%u modes: %.4f\n", n, r.errors[n]);
    print_message("on screen: %.4f, held out: %.4f, left out: %.4f\n", learned, other, r.left_out_error);
    for (uint32_t j = 0; j < r.joint_count; j++)
        print_message("joint %u: %u vertices %u modes %u centres radius %g, moves %g\n", r.joints[j].joint,
                      r.joints[j].vertex_count, r.joints[j].mode_count, r.joints[j].centre_count, r.joints[j].radius,
                      r.joints[j].displacement);
    assert_int_equal(r.mode_count, 5);
    assert_true(r.errors[0] == 1 && r.errors[2] <= 0.1);
    for (uint32_t n = 1; n <= r.mode_count; n++)
        assert_true(r.errors[n] <= r.errors[n - 1]);
    assert_true(learned <= 0.1 && other <= 0.2);
    pelt_model_destroy(a.model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_modes_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
