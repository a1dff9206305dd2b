/* Poses of joints from files, and Euler angles. */
#include "support.h"

#include "core/core.h"
#include "scenes.h"

#include <math.h>

static char folder[1024];

static const char *put_file(const char *name, const char *text) {
    static char path[1300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    return path;
}

/* A tube whose joints are turned at rest: the second has half a turn about y in it. */
static pelt_model *make_rig(test_context *test) {
    pelt_model *model;
    test_begin(test, 1);
    test_ok(test, scene_find("tube")->make(test->context, &(scene_desc){30, 4, 1}, &model));
    memcpy(model->skeleton.rest[1].rotation, (float[]){0, 1, 0, 0}, 4 * sizeof(float));
    model->path = "rig.glb";
    return model;
}

static void end(test_context *test, pelt_model *model) {
    pelt_model_destroy(model);
    test_end(test);
}

static void same_rotation(const float *a, double x, double y, double z, double w) {
    double dot = a[0] * x + a[1] * y + a[2] * z + a[3] * w;
    assert_float_equal(fabs(dot), 1, 1e-6);
}

/* Extrinsic rotations about x, then y, then z, followed by the rest rotation: rest · Rz · Ry · Rx. */
static void angles(void **state) {
    (void)state;
    pelt_transform rest = {.rotation = {0, 0, 0, 1}}, local = rest;
    pelt_pose_turn(&rest, (double[]){90, 0, 0}, &local);
    same_rotation(local.rotation, sqrt(0.5), 0, 0, sqrt(0.5));
    pelt_pose_turn(&rest, (double[]){90, 90, 0}, &local); /* z to −y by x, −y stays; y to z by x, z to x by y */
    same_rotation(local.rotation, 0.5, 0.5, -0.5, 0.5);
    memcpy(rest.rotation, (float[]){0, 1, 0, 0}, sizeof rest.rotation);
    pelt_pose_turn(&rest, (double[]){90, 0, 0}, &local); /* half a turn about y comes last */
    same_rotation(local.rotation, 0, sqrt(0.5), -sqrt(0.5), 0);
}

static void one_pose(void **state) {
    (void)state;
    test_context test;
    pelt_model *model = make_rig(&test);
    pelt_pose *poses;
    uint32_t count;
    const char *path = put_file("bent.json", "{\"joints\": {\"upper\": {\"euler\": [90, 0, 0], \"scale\": [1, 2, 3]},\n"
                                             "\"lower\": {\"rotation\": [0, 0, 2, 0], \"translation\": [4, 5, 6]}}}");
    test_ok(&test, pelt_load_poses(test.context, model, path, NULL, &poses, &count));
    assert_int_equal(count, 1);
    assert_string_equal(poses[0].name, "bent");
    const pelt_transform *t = poses[0].locals;
    same_rotation(t[0].rotation, 0, 0, 1, 0); /* made unit */
    same_rotation(t[1].rotation, 0, sqrt(0.5), -sqrt(0.5), 0);
    assert_true(t[0].translation[0] == 4 && t[0].translation[1] == 5 && t[0].translation[2] == 6);
    assert_true(t[0].scale[0] == 1 && t[1].scale[0] == 1 && t[1].scale[1] == 2 && t[1].scale[2] == 3);
    assert_memory_equal(t[1].translation, model->skeleton.rest[1].translation, sizeof t->translation);
    end(&test, model);
}

static void several_poses(void **state) {
    (void)state;
    test_context test;
    pelt_model *model = make_rig(&test);
    pelt_pose *poses;
    uint32_t count;
    const char *path = put_file("set.JSON", "{\"poses\": {\"a\": {\"joints\": {}},\n"
                                            "\"b c\": {\"joints\": {\"lower\": {\"euler\": [0, 0, 90]}}}}}");
    test_ok(&test, pelt_load_poses(test.context, model, path, NULL, &poses, &count));
    assert_int_equal(count, 2);
    assert_string_equal(poses[0].name, "a");
    assert_string_equal(poses[1].name, "b c");
    assert_memory_equal(poses[0].locals, model->skeleton.rest, 2 * sizeof(pelt_transform));
    same_rotation(poses[1].locals[0].rotation, 0, 0, sqrt(0.5), sqrt(0.5));
    assert_memory_equal(&poses[1].locals[1], &model->skeleton.rest[1], sizeof(pelt_transform));
    test_ok(&test, pelt_load_poses(test.context, model, put_file("no.json", "{\"poses\": {}}"), NULL, &poses, &count));
    assert_int_equal(count, 0);
    end(&test, model);
}

/* A skeleton without a motion stands in the pose; one with other axes gets the same world rotation from its own rest
 * pose. */
static void poses_of_skeletons(void **state) {
    (void)state;
    test_context test;
    pelt_model *model = make_rig(&test);
    pelt_pose *poses;
    uint32_t count;
    char path[1300];
    snprintf(path, sizeof path, "%s/rig.glb", folder);
    model->motion_count = 0;
    test_ok(&test, pelt_save(test.context, model, path, NULL));
    memcpy(model->skeleton.rest[1].rotation, (float[]){0, 0, 0, 1}, 4 * sizeof(float));
    test_ok(&test, pelt_load_poses(test.context, model, path, NULL, &poses, &count));
    assert_int_equal(count, 1);
    same_rotation(poses[0].locals[1].rotation, 0, 1, 0, 0);

    /* 90° about the world's z; the rig's joint has a quarter about x in it: z in the world is −y … of its own. */
    const char *bvh = put_file("turned.bvh", "HIERARCHY\nROOT lower\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition "
                                             "Zposition Zrotation Xrotation Yrotation\nJOINT upper\n{\nOFFSET 0 1 0\n"
                                             "CHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n"
                                             "}\n}\nMOTION\nFrames: 1\nFrame Time: 0.1\n1 2 3 0 0 0 90 0 0\n");
    memcpy(model->skeleton.rest[1].rotation, (float[]){0.70710678f, 0, 0, 0.70710678f}, 4 * sizeof(float));
    test_ok(&test, pelt_load_poses(test.context, model, bvh, NULL, &poses, &count));
    same_rotation(poses[0].locals[0].rotation, 0, 0, 0, 1);
    same_rotation(poses[0].locals[1].rotation, 0.5, 0.5, 0.5, 0.5); /* Rz(90°) · Rx(90°) */
    assert_true(poses[0].locals[0].translation[0] == 1 && poses[0].locals[0].translation[2] == 3);
    end(&test, model);
}

static void joints_by_name(void **state) {
    (void)state;
    test_context test;
    pelt_model *model = make_rig(&test);
    uint32_t joint;
    test_ok(&test, pelt_joint_find(test.context, model, "upper", &joint));
    assert_int_equal(joint, 1);
    test_fails(&test, pelt_joint_find(test.context, model, "uper", &joint), PELT_ERROR_INPUT,
               "rig.glb: there is no joint 'uper'; did you mean 'upper'?");
    test_fails(&test, pelt_joint_find(test.context, model, "", &joint), PELT_ERROR_INPUT, "among its 2: lower, upper");
    model->skeleton.names[0] = "upper";
    test_fails(&test, pelt_joint_find(test.context, model, "upper", &joint), PELT_ERROR_INPUT,
               "has several joints 'upper'");
    end(&test, model);
}

static void what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "JSON"},
        {"7", "has no \"joints\""},
        {"{\"joints\": []}", "has no \"joints\""},
        {"{\"poses\": {\"p\": 7}}", "pose 'p' has no \"joints\""},
        {"{\"joints\": {\"upper\": []}}", "'upper': must be an object"},
        {"{\"joints\": {\"upper\": {\"euler\": 1}}}", "\"euler\" must be an array of 3"},
        {"{\"joints\": {\"upper\": {\"euler\": [1, 2, 3, 4]}}}", "\"euler\" must be an array of 3"},
        {"{\"joints\": {\"upper\": {\"rotation\": [1, 2, 3]}}}", "\"rotation\" must be an array of 4"},
        {"{\"joints\": {\"upper\": {\"euler\": [1, null, 3]}}}", "\"euler\" must be an array of 3"},
        {"{\"joints\": {\"upper\": {\"scale\": [1, 1, 1e39]}}}", "\"scale\" must be an array of 3"},
        {"{\"joints\": {\"upper\": {\"wobble\": [1]}}}", "\"wobble\" is not known"},
        {"{\"joints\": {\"upr\": {}}}", "did you mean 'upper'"},
    };
    test_context test;
    pelt_model *model = make_rig(&test);
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        pelt_pose *poses;
        uint32_t count;
        const char *path = put_file("bad.json", cases[c].text);
        test_fails(&test, pelt_load_poses(test.context, model, path, NULL, &poses, &count), PELT_ERROR_INPUT,
                   cases[c].words);
        assert_non_null(strstr(pelt_error_text(test.context), "bad.json"));
        assert_null(poses);
        assert_int_equal(count, 0);
    }
    end(&test, model);
}

static int make_folder(void **state) {
    (void)state;
    test_folder(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"bent.json", "set.JSON", "no.json", "rig.glb", "turned.bvh", "bad.json"};
    char path[1300];
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[n]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles),         cmocka_unit_test(one_pose),
        cmocka_unit_test(several_poses),  cmocka_unit_test(poses_of_skeletons),
        cmocka_unit_test(joints_by_name), cmocka_unit_test(what_is_wrong),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
