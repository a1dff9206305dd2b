/* Skeletons whose size, direction or position does not match the mesh: detected, rejected, corrected. */
#include "bind_models.h"

#include <pelt/run.h>

#define HALF 0.70710678f

/* A body without symmetry: a trunk up y, two arms along x at its top, a foot along z at its bottom. */
enum { HIP, CHEST, HEAD, UPPER_L, LOWER_L, UPPER_R, LOWER_R, FOOT, TOE, BODY };
static const test_joint body_joints[BODY] = {
    {"Hip", PELT_NONE, {0, 2, 0}},          {"Chest", HIP, {0, 3.2f, 0}},          {"Head", CHEST, {0, 4.4f, 0}},
    {"Upper_L", CHEST, {0.6f, 3.5f, 0}},    {"Lower_L", UPPER_L, {1.8f, 3.5f, 0}}, {"Upper_R", CHEST, {-0.6f, 3.5f, 0}},
    {"Lower_R", UPPER_R, {-1.8f, 3.5f, 0}}, {"Foot", HIP, {0, 0.3f, 0}},           {"Toe", FOOT, {0, 0.3f, 1}}};

static pelt_model *body_mesh(test_context *test, float scale) {
    shape *s = calloc(1, sizeof *s);
    shape_part(s, "body", "cloth");
    shape_tube(s, 1, 0, 5, 24, 0.35, (double[3]){0, 0, 0});
    shape_tube(s, 0, -3, 3, 24, 0.25, (double[3]){0, 3.5, 0});
    shape_tube(s, 2, 0, 1.6, 8, 0.25, (double[3]){0, 0.3, 0});
    shape_part_end(s);
    for (size_t k = 0; k < 3 * (size_t)s->vertex_count; k++)
        s->positions[k] *= scale;
    pelt_model *model = shape_model(test, s);
    free(s);
    return model;
}

/* The hip moves and turns, the foot moves, the head turns. */
static void add_motion(test_context *test, pelt_model *model) {
    static const float times[] = {0, 1};
    static const float walk[] = {0, 2, 0, 1, 2, 3}, slide[] = {0, -1.7f, 0, 0, -1.7f, 0.5f},
                       turn[] = {0, 0, 0, 1, 0, HALF, 0, HALF};
    pelt_track *tracks = pelt_model_alloc(test->context, model, 4, sizeof *tracks);
    tracks[0] = (pelt_track){HIP, PELT_PATH_TRANSLATION, PELT_INTERPOLATION_LINEAR, 3, 2, times, walk};
    tracks[1] = (pelt_track){HIP, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 2, times, turn};
    tracks[2] = (pelt_track){FOOT, PELT_PATH_TRANSLATION, PELT_INTERPOLATION_LINEAR, 3, 2, times, slide};
    tracks[3] = (pelt_track){HEAD, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 4, 2, times, turn};
    model->motion_count = 1;
    model->motions = pelt_model_alloc(test->context, model, 1, sizeof *model->motions);
    model->motions[0] = (pelt_motion){"walk", 0, 1, 4, tracks};
}

static void copy_values(test_context *test, pelt_model *model, pelt_track *track) {
    float *values = pelt_model_alloc(test->context, model, (size_t)track->key_count * track->width, sizeof *values);
    memcpy(values, track->values, (size_t)track->key_count * track->width * sizeof *values);
    track->values = values;
}

/* The skeleton and its motion in other units and axes: z up when `lies` is set. */
static pelt_model *make_rig(test_context *test, float scale, bool lies, bool skinned) {
    pelt_model *rig = body_mesh(test, 1);
    add_skeleton(test, rig, body_joints, BODY);
    if (skinned)
        add_skin(test, rig, body_joints, BODY);
    else
        rig->mesh = (pelt_mesh){0};
    add_motion(test, rig);
    for (uint32_t j = 0; j < BODY; j++)
        for (int c = 0; c < 3; c++)
            rig->skeleton.rest[j].translation[c] *= scale;
    for (uint32_t t = 0; t < 4; t++) {
        pelt_track *track = &rig->motions[0].tracks[t];
        copy_values(test, rig, track);
        float *values = (float *)(uintptr_t)track->values;
        for (uint32_t k = 0; k < track->key_count && track->path == PELT_PATH_TRANSLATION; k++) {
            for (int c = 0; c < 3; c++)
                values[3 * k + (uint32_t)c] *= scale;
            if (lies && track->joint == HIP) { /* (x, y, z) → (x, −z, y) */
                float y = values[3 * k + 1];
                values[3 * k + 1] = -values[3 * k + 2];
                values[3 * k + 2] = y;
            }
        }
        for (uint32_t k = 0; k < track->key_count && lies && track->joint == HIP && track->path == PELT_PATH_ROTATION;
             k++) {
            float *q = values + 4 * k, x = q[0], y = q[1], z = q[2], w = q[3]; /* preceded by a quarter turn about x */
            q[0] = HALF * (x + w), q[1] = HALF * (y - z), q[2] = HALF * (z + y), q[3] = HALF * (w - x);
        }
    }
    pelt_transform *root = &rig->skeleton.rest[HIP];
    if (lies) {
        float y = root->translation[1];
        root->translation[1] = -root->translation[2];
        root->translation[2] = y;
        memcpy(root->rotation, (float[4]){HALF, 0, 0, HALF}, sizeof root->rotation);
    }
    for (uint32_t b = 0; b < rig->skin.bone_count; b++) /* the skin's inverse bind matrices belong to these joints */
        for (int e = 3; e < 12; e += 4)
            rig->skin.inverse_binds[b].m[e] *= scale;
    return rig;
}

/* The body bound to its own skeleton. */
static pelt_model *plain_body(test_context *test, pelt_bind_desc desc) {
    pelt_model *model = body_mesh(test, 1), *rig = make_rig(test, 1, false, false);
    pelt_bind_report report;
    desc.skeleton = rig;
    test_ok(test, pelt_bind(test->context, model, &desc, &report));
    assert_false(report.fit.changes || report.fit.misfit);
    assert_true(report.fit.scale == 1 && report.fit.inside_before > 0.99);
    pelt_model_destroy(rig);
    return model;
}

/* Compares both models at rest and at the end of their motions; the largest distance allowed is `most`. */
static void assert_moves_alike(test_context *test, const pelt_model *model, const pelt_model *plain, float most) {
    size_t count = 3 * (size_t)plain->mesh.vertex_count;
    float *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
    for (int end = 0; end < 2; end++) {
        const pelt_motion *motions[] = {end ? &model->motions[0] : NULL, end ? &plain->motions[0] : NULL};
        test_ok(test, pelt_model_pose(test->context, model, motions[0], 1, PELT_SKINNING_LINEAR, a, NULL));
        test_ok(test, pelt_model_pose(test->context, plain, motions[1], 1, PELT_SKINNING_LINEAR, b, NULL));
        for (size_t k = 0; k < count; k++)
            assert_true(fabsf(a[k] - b[k]) <= most);
    }
    free(a);
    free(b);
}

static void test_other_units_and_axes(void **state) {
    (void)state;
    static const struct {
        float scale;
        bool lies;
        const char *text;
    } cases[] = {{0.1f, false, "is 10 times too small"},
                 {10, false, "is 10 times too large"},
                 {0.01f, false, "is 100 times too small"},
                 {2.54f, false, "is 2.54 times too large"},
                 {1, true, "has to be turned by -90 degrees about x"},
                 {0.01f, true, "is 100 times too small for the mesh and has to be turned by -90 degrees about x"}};
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *plain = plain_body(&test, desc);
    for (size_t n = 0; n < 2 * sizeof cases / sizeof cases[0]; n++) {
        float scale = cases[n / 2].scale;
        pelt_model *model = body_mesh(&test, 1), *rig = make_rig(&test, scale, cases[n / 2].lies, n % 2);
        pelt_bind_fit fit;
        pelt_bind_report report;
        char text[200];
        desc.skeleton = rig;
        desc.fit = desc.no_fit = false;
        test_ok(&test, pelt_bind_measure_fit(test.context, model, &desc, &fit));
        assert_true(fit.misfit && fit.changes && fit.inside_after > 0.99);
        assert_true(fabs(fit.scale * (double)scale - 1) < 1e-6);
        assert_non_null(strstr(pelt_bind_fit_text(&fit, text, sizeof text), cases[n / 2].text));
        test_fails(&test, pelt_bind(test.context, model, &desc, &report), PELT_ERROR_INPUT, cases[n / 2].text);
        assert_int_equal(model->skin.bone_count, 0);
        desc.fit = true;
        test_ok(&test, pelt_bind(test.context, model, &desc, &report));
        assert_true(report.fit.changes);
        test_ok(&test, pelt_model_validate(test.context, model));
        assert_true(mean_distance(model, plain, NULL) < 1e-3);
        assert_moves_alike(&test, model, plain, 2e-3f);
        for (uint32_t j = 0; j < BODY; j++) /* no joint has a scale */
            for (int c = 0; c < 3; c++)
                assert_true(model->skeleton.rest[j].scale[c] == 1);
        pelt_model_destroy(model);
        pelt_model_destroy(rig);
    }
    pelt_model_destroy(plain);
    test_end(&test);
}

/* A file whose own skeleton is too small, with and without a skin. */
static void test_own_skeleton(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *plain = plain_body(&test, desc);
    for (int skinned = 0; skinned < 2; skinned++) {
        pelt_model *model = body_mesh(&test, 1), *rig = make_rig(&test, 0.1f, false, false);
        static test_joint small[BODY];
        memcpy(small, body_joints, sizeof small);
        for (uint32_t j = 0; j < BODY; j++)
            for (int c = 0; c < 3; c++)
                small[j].place[c] *= 0.1f;
        add_skeleton(&test, model, small, BODY);
        if (skinned)
            add_skin(&test, model, small, BODY);
        model->motion_count = 1;
        model->motions = rig->motions;
        desc.fit = false;
        test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "10 times too small");
        desc.fit = true;
        pelt_binding *binding;
        test_ok(&test, pelt_binding_create(test.context, model, &desc, &binding));
        for (int again = 0; again < 2; again++)
            test_ok(&test, pelt_binding_apply(binding, NULL));
        assert_true(fabs(pelt_binding_report(binding).fit.scale - 10) < 1e-6);
        pelt_binding_destroy(binding);
        test_ok(&test, pelt_model_validate(test.context, model));
        assert_true(model->changed & PELT_CHANGED_SKELETON && model->changed & PELT_CHANGED_MOTIONS);
        assert_true(mean_distance(model, plain, NULL) < 1e-3);
        assert_moves_alike(&test, model, plain, 2e-3f);
        pelt_model_destroy(model);
        pelt_model_destroy(rig);
    }
    pelt_model_destroy(plain);
    test_end(&test);
}

/* Arms that hang although the mesh's are spread, no unit factor, a root at the origin: a motion-capture rest pose. */
static void test_bare_skeletons_are_posed(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *model = body_mesh(&test, 1), *rig = make_rig(&test, 7.3f, false, false);
    pelt_bind_report report;
    memset(rig->skeleton.rest[HIP].translation, 0, sizeof rig->skeleton.rest[HIP].translation);
    memcpy(rig->skeleton.rest[UPPER_L].rotation, (float[4]){0, 0, -0.34f, 0.9404f}, 4 * sizeof(float));
    memcpy(rig->skeleton.rest[UPPER_R].rotation, (float[4]){0, 0, 0.34f, 0.9404f}, 4 * sizeof(float));
    desc.skeleton = rig;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_INPUT, "too large");
    desc.fit = true;
    test_ok(&test, pelt_bind(test.context, model, &desc, &report));
    assert_true(report.fit.changes && report.fit.posed && report.fit.inside_after > 0.99);
    assert_true(fabs(report.fit.scale * 7.3 - 1) < 0.2);
    pelt_affine globals[BODY];
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, globals);
    assert_true(globals[LOWER_L].m[3] > 1 && globals[LOWER_R].m[3] < -1);
    assert_true(fabsf(globals[LOWER_L].m[7] - 3.5f) < 0.3f && fabsf(globals[LOWER_R].m[7] - 3.5f) < 0.3f);
    for (uint32_t j = 0; j < BODY; j++)
        assert_int_equal(report.idle[j], PELT_BIND_ACTIVE);
    /* The motion starts in the mesh's pose. */
    pelt_transform locals[BODY];
    pelt_motion_sample(model, &model->motions[0], 0, locals, NULL);
    for (int c = 0; c < 3; c++)
        assert_true(fabsf(locals[HIP].translation[c] - model->skeleton.rest[HIP].translation[c]) < 1e-4f);
    pelt_model_destroy(model);
    pelt_model_destroy(rig);
    test_end(&test);
}

/* Joints outside the mesh that are correct: targets of inverse kinematics, a root far away, a tail without a mesh. */
static void test_right_skeletons_stay(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    test_joint joints[BODY + 6];
    memcpy(joints, body_joints, sizeof body_joints);
    joints[BODY] = (test_joint){"ik_target_L", PELT_NONE, {9, 9, 9}};
    joints[BODY + 1] = (test_joint){"Pole", PELT_NONE, {0, 2, 30}};
    joints[BODY + 2] = (test_joint){"tail_1", HIP, {0, 2, -1}};
    joints[BODY + 3] = (test_joint){"tail_2", BODY + 2, {0, 2, -2}};
    joints[BODY + 4] = (test_joint){"prop", LOWER_L, {4, 3.5f, 0}};
    joints[BODY + 5] = (test_joint){"prop_tip", BODY + 4, {5, 3.5f, 0}};
    for (int skinned = 0; skinned < 2; skinned++) {
        pelt_model *model = body_mesh(&test, 1);
        pelt_bind_fit fit;
        add_skeleton(&test, model, joints, BODY + 6);
        if (skinned)
            add_skin(&test, model, joints, BODY + 6);
        test_ok(&test, pelt_bind_measure_fit(test.context, model, NULL, &fit));
        assert_false(fit.misfit);
        test_ok(&test, pelt_bind(test.context, model, &desc, NULL));
        pelt_model_destroy(model);
    }
    test_end(&test);
}

static void test_settings(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_bind_desc desc = quick_desc();
    pelt_model *model = body_mesh(&test, 1), *rig = make_rig(&test, 0.1f, false, false);
    pelt_bind_report report;
    desc.skeleton = rig;
    desc.fit = desc.no_fit = true;
    test_fails(&test, pelt_bind(test.context, model, &desc, NULL), PELT_ERROR_USAGE, "exclude each other");
    desc.fit = false;
    test_ok(&test, pelt_bind(test.context, model, &desc, &report));
    assert_true(report.fit.scale == 1 && !report.fit.changes);
    assert_true(fabsf(model->skeleton.rest[HIP].translation[1] - 0.2f) < 1e-6f);
    pelt_model_destroy(model);
    pelt_model_destroy(rig);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_units_and_axes),
        cmocka_unit_test(test_own_skeleton),
        cmocka_unit_test(test_bare_skeletons_are_posed),
        cmocka_unit_test(test_right_skeletons_stay),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
