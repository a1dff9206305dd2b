/* BVH: values read, computed by hand; rejected files; joint positions that survive writing and reading. */
#include "support.h"

#include "core/math3.h"

/* ---- Helpers ---------------------------------------------------------------------------------------------- */

static pelt_model *read_text(test_context *test, const char *text) {
    pelt_model *model;
    test_ok(test, pelt_load_memory(test->context, text, strlen(text), "folder/some.bvh", NULL, &model));
    return model;
}

/* Position of a joint in a frame of the first motion; frame −1: at rest. */
static void find_place(const pelt_model *model, uint32_t joint, int frame, float out[3]) {
    pelt_transform locals[64];
    pelt_affine globals[64];
    assert_in_range(model->skeleton.joint_count, 1, 64);
    const pelt_motion *motion = frame < 0 ? NULL : &model->motions[0];
    pelt_motion_sample(model, motion, motion ? motion->tracks[0].times[frame] : 0, locals, NULL);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    for (int c = 0; c < 3; c++)
        out[c] = globals[joint].m[4 * c + 3];
}

static void check_place(const pelt_model *model, uint32_t joint, int frame, float x, float y, float z) {
    float place[3], wanted[3] = {x, y, z};
    find_place(model, joint, frame, place);
    for (int c = 0; c < 3; c++)
        if (fabsf(place[c] - wanted[c]) > 1e-5f)
            fail_msg("joint %u frame %d is at %g %g %g, should be at %g %g %g", joint, frame, (double)place[0],
                     (double)place[1], (double)place[2], (double)x, (double)y, (double)z);
}

/* The largest distance between the joints of two models over all frames of their first motions. Joints are matched by
 * name. */
static double distance(const pelt_model *a, const pelt_model *b) {
    double worst = 0;
    uint32_t frames = a->motions[0].tracks[0].key_count;
    assert_int_equal(b->motions[0].tracks[0].key_count, frames);
    assert_int_equal(b->skeleton.joint_count, a->skeleton.joint_count);
    for (uint32_t j = 0; j < a->skeleton.joint_count; j++) {
        uint32_t other = 0;
        while (other < b->skeleton.joint_count && strcmp(a->skeleton.names[j], b->skeleton.names[other]) != 0)
            other++;
        assert_true(other < b->skeleton.joint_count);
        for (int k = 0; k < (int)frames; k++) {
            float p[3], q[3];
            find_place(a, j, k, p);
            find_place(b, other, k, q);
            px_sub3(p, q, p);
            worst = fmax(worst, sqrt((double)px_dot3(p, p)));
        }
    }
    return worst;
}

static pelt_model *convert(test_context *test, const pelt_model *model, const char *folder, const char *name) {
    char path[1100];
    const char *paths[] = {path};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_ok(test, pelt_save(test->context, model, path, NULL));
    pelt_model *again;
    test_ok(test, pelt_load(test->context, paths, 1, NULL, &again));
    unlink(path);
    return again;
}

/* Two roots, all kinds of channels, end sites, numbers in many notations. */
static const char sample[] = "HIERARCHY\n"
                             "ROOT Hips\n{\n  OFFSET 0 1 0\n"
                             "  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
                             "  JOINT Left Leg {\n    OFFSET 1 0 0\n    CHANNELS 2 Yrotation Xrotation\n"
                             "    End Site\n    {\n      OFFSET 0 -2 0\n    }\n  }\n"
                             "  JOINT slide\n  {\n    OFFSET 0 0 3\n    CHANNELS 1 yposition\n"
                             "    End Site\n    {\n      OFFSET 0 0 0\n    }\n  }\n"
                             "}\n"
                             "ROOT Prop\n{\n  OFFSET 5 0 0\n  CHANNELS 0\n"
                             "  End Site\n  {\n    OFFSET 0 0 1\n  }\n}\n"
                             "MOTION\nFrames: 2\nFrame Time: 0.5\n"
                             "0 1 0 0 0 0  0 0  0\n"
                             "1e1 .5 -0 90 0 0\t90 90  4\r\n";

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static void sample_is_read(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_text(&test, sample);
    static const char *const names[] = {"Hips", "Left Leg", "Left Leg_end", "slide", "Prop", "Prop_end"};
    static const uint32_t parents[] = {PELT_NONE, 0, 1, 0, PELT_NONE, 4};
    assert_int_equal(model->skeleton.joint_count, 6);
    for (uint32_t j = 0; j < 6; j++) {
        assert_string_equal(model->skeleton.names[j], names[j]);
        assert_int_equal(model->skeleton.parents[j], parents[j]);
    }
    assert_string_equal(model->format, "BVH");
    assert_int_equal(model->motion_count, 1);
    assert_string_equal(model->motions[0].name, "some");
    assert_int_equal(model->motions[0].track_count, 4); /* hips has two tracks, leg and slide one each */
    assert_true(model->motions[0].start == 0 && model->motions[0].end == 0.5f);
    check_place(model, 2, -1, 1, -1, 0);
    check_place(model, 5, -1, 5, 0, 1);
    check_place(model, 2, 0, 1, -1, 0);
    /* Hips at (10, ½, 0), a quarter turn about z: the leg's (1, 0, 0) points to y. The leg's Ry · Rx turns its end from
     * (0, −2, 0) by Rx to (0, 0, −2), by Ry to (−2, 0, 0), and the hips turn that to (0, −2, 0). */
    check_place(model, 1, 1, 10, 1.5f, 0);
    check_place(model, 2, 1, 10, -0.5f, 0);
    /* Only y of (0, 0, 3) is replaced, by 4. */
    check_place(model, 3, 1, 6, 0.5f, 3);
    check_place(model, 5, 1, 5, 0, 1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* 90 degrees each: position of the child at (0, 1, 0) for every order of the channels. */
static void channel_orders(void **state) {
    (void)state;
    static const char *const orders[] = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"};
    static const float places[][3] = {{0, -1, 0}, {-1, 0, 0}, {0, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 0}};
    test_context test;
    test_begin(&test, 1);
    for (int o = 0; o < 6; o++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "HIERARCHY ROOT a\n{ OFFSET 0 0 0 CHANNELS 3 %crotation %crotation %crotation JOINT b\n{ OFFSET 0 1 0 } }"
            " MOTION Frames: 1 Frame Time: 1 90 90 90",
            orders[o][0], orders[o][1], orders[o][2]);
        pelt_model *model = read_text(&test, text);
        check_place(model, 1, 0, places[o][0], places[o][1], places[o][2]);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

static void odd_but_good(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_text(&test, "\xEF\xBB\xBF HIERARCHY ROOT a\n{ OFFSET 0 0 0 }"); /* no motion */
    assert_int_equal(model->motion_count, 0);
    pelt_model_destroy(model);
    model = read_text(&test, "HIERARCHY ROOT a\n{ OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION Frames: 0 Frame Time: 0");
    assert_int_equal(model->motion_count, 0);
    pelt_model_destroy(model);
    model = read_text(&test,
                      "HIERARCHY ROOT a\n{ OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION Frames: 3 Frame Time: 0 1 2 3 4");
    assert_int_equal(test.warning_count, 2); /* no frame time, one number too many */
    assert_true(fabs((double)model->motions[0].end - 2 / 120.) < 1e-7);
    pelt_model_destroy(model);
    test_end(&test);
}

static void bad_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"HIERARCHY\n", "no joints"},
        {"HIERARCHY\nJOINT a", "line 2: 'JOINT' is not expected"},
        {"HIERARCHY\nROOT a\nOFFSET", "line 3: 'OFFSET' stands where '{' should"},
        {"HIERARCHY\nROOT a\n{ OFFSET 1 x 2 }", "line 3: 'x' stands where an offset should be"},
        {"HIERARCHY\nROOT a\n{ OFFSET 1 1e99 2 }", "finite"},
        {"HIERARCHY\nROOT a\n{ CHANNELS 1 Wrotation }", "'Wrotation' is no channel"},
        {"HIERARCHY\nROOT a\n{ CHANNELS 1e9 Xrotation }", "'}' is no channel"},
        {"HIERARCHY\nROOT a\n{ JOINT b\n{ CHANNELS 1 Xrotation } CHANNELS 1 Xrotation }", "before its children"},
        {"HIERARCHY\nROOT a\n{ OFFSET 0 0 0", "ends inside of joint 'a'"},
        {"HIERARCHY\nROOT a\n{ End Site { OFFSET 0 0 } }", "'}' stands where the offset of an end site"},
        {"HIERARCHY\nROOT a\n{ CHANNELS 1 Xrotation }\nMOTION\nFrames: 4000000000\nFrame Time: 1\n1", "too short"},
        {"HIERARCHY\nROOT a\n{ CHANNELS 1 Xrotation }\nMOTION\nFrames: -1\nFrame Time: 1\n1", "too short"},
        {"HIERARCHY\nROOT a\n{ CHANNELS 1 Xrotation }\nMOTION\nFrames: 2\nFrame Time: 1\n1    ",
         "line 7: 'the end of file'"},
        {"HIERARCHY\nROOT a\n{ CHANNELS 1 Xrotation }\nMOTION\nFrame Time: 1\n1", "'Frames:'"},
    };
    test_context test;
    test_begin(&test, 1);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        pelt_model *model;
        pelt_result result =
            pelt_load_memory(test.context, rows[r].text, strlen(rows[r].text), "bad.bvh", NULL, &model);
        test_fails(&test, result, PELT_ERROR_INPUT, rows[r].words);
        assert_null(model);
    }
    test_end(&test);
}

static void cut_anywhere(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (size_t size = 0; size < sizeof sample - 1; size++) {
        char *copy = malloc(size + 1); /* exact size, so that sanitizers detect reads past the end */
        memcpy(copy, sample, size);
        pelt_model *model;
        pelt_result result = pelt_load_memory(test.context, copy, size, "cut.bvh", NULL, &model);
        assert_true(result == PELT_OK || result == PELT_ERROR_INPUT);
        assert_true(result == PELT_OK || pelt_error_text(test.context)[0]);
        pelt_model_destroy(model);
        free(copy);
    }
    test_end(&test);
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static void round_trips(void **state) {
    (void)state;
    char folder[1024];
    test_folder(folder);
    test_context test;
    test_begin(&test, 1);
    pelt_model *first = read_text(&test, sample);
    pelt_model *gltf = convert(&test, first, folder, "some.glb"), *second = convert(&test, gltf, folder, "some.bvh");
    assert_true(distance(first, gltf) < 1e-5);
    second->skeleton.names[1] = "Left Leg"; /* blanks in names are not preserved */
    second->skeleton.names[2] = "Left Leg_end";
    assert_true(distance(first, second) < 1e-5);
    assert_true(fabs((double)second->motions[0].end - 0.5) < 1e-6); /* the rate of the keys */
    pelt_model_destroy(second);
    pelt_model_destroy(gltf);
    pelt_model_destroy(first);
    rmdir(folder);
    test_end(&test);
}

/* The format has no rest rotations and scales; the joints have them. */
static void rest_rotations_and_scales(void **state) {
    (void)state;
    char folder[1024];
    test_folder(folder);
    test_context test;
    test_begin(&test, 1);
    pelt_model *model =
        read_text(&test, "HIERARCHY ROOT a\n{ OFFSET 1 2 3 CHANNELS 3 Xrotation Yrotation Zrotation JOINT b\n"
                         "{ OFFSET 0 1 0 CHANNELS 3 Xrotation Yrotation Zrotation JOINT c\n"
                         "{ OFFSET 0 1 1 CHANNELS 1 Zrotation } } }"
                         " MOTION Frames: 3 Frame Time: 1 1 2 3 4 5 6 7  90 2 -90 44 90 66 7  17 -82 93 84 75 66 -7");
    pelt_transform *rest = model->skeleton.rest;
    rest[0].scale[0] = rest[0].scale[1] = rest[0].scale[2] = 0.01f;
    rest[1].scale[1] = 2;
    rest[1].rotation[0] = rest[1].rotation[3] = sqrtf(0.5f);
    pelt_model *again = convert(&test, model, folder, "b.bvh");
    assert_non_null(strstr(test.log, "no scale"));
    assert_true(distance(model, again) < 1e-6);
    assert_int_equal(again->skeleton.joint_count, 3);
    for (uint32_t j = 1; j < 3; j++) { /* with all channels 0 the skeleton stands in the rest pose of the model */
        float wanted[3], root[3], place[3];
        find_place(model, j, -1, wanted);
        find_place(model, 0, -1, root);
        find_place(again, j, -1, place);
        for (int c = 0; c < 3; c++)
            assert_true(fabsf(place[c] - (wanted[c] - root[c])) < 1e-6f);
    }
    pelt_model_destroy(again);
    model->motion_count = 0;
    again = convert(&test, model, folder, "rest.bvh");
    const pelt_motion *rest_motion = &again->motions[0];
    assert_int_equal(rest_motion->track_count, 4); /* the root's position, three rotations … */
    for (uint32_t t = 1; t < 4; t++)
        assert_true(fabsf(rest_motion->tracks[t].values[3]) > 1 - 1e-6f); /* … by 0 degrees */
    pelt_model_destroy(again);
    pelt_model_destroy(model);
    rmdir(folder);
    test_end(&test);
}

/* A joint that rotates about x through full turns, beyond the range of the middle Euler angle: neither angles nor
 * quaternions jump. */
static void angles_do_not_jump(void **state) {
    (void)state;
    char folder[1024], path[1100], line[256];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/x.bvh", folder);
    test_context test;
    test_begin(&test, 1);
    pelt_model *model =
        read_text(&test, "HIERARCHY ROOT a\n{ OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION Frames: 9 Frame "
                         "Time: 1 0 60 120 180 -120 -60 0 60 120");
    const float *q = model->motions[0].tracks[0].values;
    for (int k = 1; k < 9; k++)
        assert_true(q[4 * k] * q[4 * k - 4] + q[4 * k + 3] * q[4 * k - 1] > 0.8f);
    test_ok(&test, pelt_save(test.context, model, path, NULL));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && strncmp(line, "Frame Time", 10) != 0)
        ;
    for (int k = 0; k < 9; k++) {
        double angles[6];
        for (int c = 0; c < 6; c++)
            assert_int_equal(fscanf(file, "%lf", &angles[c]), 1);
        assert_true(fabs(angles[3]) + fabs(angles[4] - 60 * k) + fabs(angles[5]) < 1e-3);
    }
    fclose(file);
    unlink(path);
    rmdir(folder);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Options of saving, and models that cannot be written. */
static void choices_of_a_save(void **state) {
    (void)state;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/x.bvh", folder);
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_text(&test, sample), *again;
    pelt_save_desc desc = pelt_save_desc_default();
    desc.motion_fps = 20;
    test_ok(&test, pelt_save(test.context, model, path, &desc));
    const char *paths[] = {path};
    test_ok(&test, pelt_load(test.context, paths, 1, NULL, &again));
    assert_int_equal(again->motions[0].tracks[0].key_count, 11);
    pelt_model_destroy(again);
    unlink(path);
    desc.motion = 1;
    test_fails(&test, pelt_save(test.context, model, path, &desc), PELT_ERROR_USAGE, "no motion 1, only 1");
    model->motion_count = 0;
    test_ok(&test, pelt_save(test.context, model, path, NULL)); /* the rest pose */
    unlink(path);
    model->skeleton.rest[0].translation[0] = 3e38f;
    model->skeleton.rest[1].translation[0] = 3e38f;
    test_fails(&test, pelt_save(test.context, model, path, NULL), PELT_ERROR_OUTPUT, "nowhere");
    model->skeleton.joint_count = 0;
    test_fails(&test, pelt_save(test.context, model, path, NULL), PELT_ERROR_INPUT, "no skeleton");
    snprintf(path, sizeof path, "%s/x.obj", folder);
    test_fails(&test, pelt_save(test.context, model, path, NULL), PELT_ERROR_INPUT, "no mesh");
    assert_int_not_equal(access(path, F_OK), 0);
    pelt_model_destroy(model);
    assert_int_equal(rmdir(folder), 0); /* no file remains */
    test_end(&test);
}

static pelt_result read_and_write(pelt_context *context, void *user) {
    pelt_model *model;
    pelt_result result = pelt_load_memory(context, sample, sizeof sample - 1, "some.bvh", NULL, &model);
    if (result == PELT_OK)
        result = pelt_save(context, model, user, NULL);
    pelt_model_destroy(model);
    return result;
}

static void every_allocation_fails(void **state) {
    (void)state;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/x.bvh", folder);
    test_fail_each_allocation(1, read_and_write, path);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_is_read),
        cmocka_unit_test(channel_orders),
        cmocka_unit_test(odd_but_good),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(rest_rotations_and_scales),
        cmocka_unit_test(choices_of_a_save),
        cmocka_unit_test(angles_do_not_jump),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
