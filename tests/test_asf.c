/* ASF and AMC: values computed by hand, files found next to each other, rejected inputs. */
#include "support.h"

#include "core/math3.h"

static const char skeleton[] =
    "# comment\n:version 1.10\n:name test\n:units\n  mass 1.0\n  length 0.5\n  angle deg\n"
    ":documentation\n  free text: begin end\n"
    ":root\n  order TX TY TZ RX RY RZ\n  axis XYZ\n  position 0 1 0\n  orientation 0 0 0\n"
    ":bonedata\n"
    "  begin\n    id 1\n    name arm\n    direction 1 0 0\n    length 2\n    axis 0 0 90 XYZ\n"
    "    dof rx rz\n    limits (-10 10)\n           (-20 20)\n  end\n"
    "  begin\n    name hand\n    direction 0 1 0\n    length 1\n    axis 0 0 0 XYZ\n  end\n"
    "  begin\n    name foot\n    direction 0 -1 0\n    length 3\n    axis 0 90 90 ZYX\n    dof ty\n  end\n"
    ":hierarchy\n  begin\n    root arm foot\n    arm hand\n  end\n";

static const char motion[] = ":FULLY-SPECIFIED\n:DEGREES\n"
                             "1\nroot 0 0 0 0 0 0\narm 0 0\nfoot 0\n"
                             "2\nroot 1 2 3 90 0 90\narm 90 0 # turned\nfoot 0.5\n"
                             "4\narm 0 90\n";

static pelt_model *read_both(test_context *test, const char *amc) {
    pelt_model *model;
    test_ok(test, pelt_load_memory(test->context, skeleton, strlen(skeleton), "s.asf", NULL, &model));
    test_ok(test, pelt_load_cache_memory(test->context, amc, strlen(amc), "folder/trial.amc", NULL, model));
    return model;
}

static void check_place(const pelt_model *model, const char *name, int frame, float x, float y, float z) {
    pelt_transform locals[16];
    pelt_affine globals[16];
    const pelt_motion *moves = frame < 0 ? NULL : &model->motions[0];
    assert_in_range(model->skeleton.joint_count, 1, 16);
    pelt_motion_sample(model, moves, moves ? moves->tracks[0].times[frame] : 0, locals, NULL);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
    uint32_t j = 0;
    while (j < model->skeleton.joint_count && strcmp(model->skeleton.names[j], name) != 0)
        j++;
    assert_true(j < model->skeleton.joint_count);
    const float *m = globals[j].m;
    if (fabsf(m[3] - x) + fabsf(m[7] - y) + fabsf(m[11] - z) > 1e-5f)
        fail_msg("%s in frame %d is at %g %g %g, should be at %g %g %g", name, frame, (double)m[3], (double)m[7],
                 (double)m[11], (double)x, (double)y, (double)z);
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static void worked_out_by_hand(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_both(&test, motion);
    static const char *const names[] = {"root", "arm", "hand", "hand_end", "foot", "foot_end"};
    assert_int_equal(model->skeleton.joint_count, 6);
    for (uint32_t j = 0; j < 6; j++)
        assert_string_equal(model->skeleton.names[j], names[j]);
    assert_int_equal(model->motion_count, 1);
    assert_string_equal(model->motions[0].name, "trial");
    assert_int_equal(model->motions[0].track_count, 4);                 /* root has two tracks, arm and foot one each */
    assert_true(fabs((double)model->motions[0].end - 3 / 120.) < 1e-7); /* frames 1, 2 and 4 */
    /* Lengths are divided by ½. */
    check_place(model, "root", -1, 0, 2, 0);
    check_place(model, "hand", -1, 4, 2, 0);
    check_place(model, "hand_end", -1, 4, 4, 0);
    check_place(model, "foot_end", 0, 0, -4, 0);
    /* Frame 2. The root's Rz · Rx turns x to y, y to z, z to x, and is at (2, 6, 6). The arm turns by 90 degrees about
     * its own x, which is C · x = y: its (4, 0, 0) becomes (0, 0, −4), in the world (−4, 0, 0). */
    check_place(model, "root", 1, 2, 6, 6);
    check_place(model, "arm", 1, 2, 6, 6);
    check_place(model, "hand", 1, -2, 6, 6);
    /* The foot's ty 0.5 is 1 along C · y = Rx(0) · Ry(90) · Rz(90) · y = z, in the world x; its length (0, −6, 0)
     * becomes (0, 0, −6). */
    check_place(model, "foot", 1, 3, 6, 6);
    check_place(model, "foot_end", 1, 3, 6, 0);
    /* Frame 4: the root stays; the arm turns about z: (4, 0, 0) becomes (0, 4, 0), in the world (0, 0, 4). */
    check_place(model, "hand", 2, 2, 6, 10);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Radians, and the root's axis and value orders: 90 degrees about x, then y, or the other way round. */
static void orders_and_units(void **state) {
    (void)state;
    static const struct {
        const char *axis;
        float place[3];
    } rows[] = {{"XYZ", {1, 0, 0}}, {"YXZ", {0, 0, 1}}};
    test_context test;
    test_begin(&test, 1);
    for (int r = 0; r < 2; r++) {
        char text[512];
        snprintf(
            text, sizeof text,
            ":units\nangle rad\n:root\norder RY RX\naxis %s\n:bonedata\nbegin\nname a\ndirection 0 1 0\nlength 1\nend\n"
            ":hierarchy\nbegin\nroot a\nend\n",
            rows[r].axis);
        const char *amc = "1\nroot 1.5707963267948966 1.5707963267948966\n";
        pelt_model *model;
        test_ok(&test, pelt_load_memory(test.context, text, strlen(text), "s.asf", NULL, &model));
        test_ok(&test, pelt_load_cache_memory(test.context, amc, strlen(amc), "t.amc", NULL, model));
        check_place(model, "a_end", 0, rows[r].place[0], rows[r].place[1], rows[r].place[2]);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

static void bad_skeletons(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "no bones"},
        {"hello", "line 1: 'hello' stands where a section"},
        {":bonedata\nstart", "'start' stands where 'begin'"},
        {":bonedata\nbegin\nlength 1\nend", "has no name"},
        {":bonedata\nbegin\nname a\nlength x\nend", "line 4: 'x' stands where a length"},
        {":bonedata\nbegin\nname a\naxis 0 0 0 XXZ\nend", "'XXZ' is no order of axes"},
        {":bonedata\nbegin\nname a\ndof rx rx\nend", "is there twice"},
        {":bonedata\nbegin\nname a\ndof rw\nend", "no degree of freedom"},
        {":bonedata\nbegin\nname a\nend", "'a' does not hang from the root"},
        {":bonedata\nbegin\nname a\nend\nbegin\nname b\nend\n:hierarchy\na b\nb a", "'a' does not hang"},
        {":bonedata\nbegin\nname a\nend\n:hierarchy\nroot a\nroot a", "has a parent already"},
        {":bonedata\nbegin\nname a\nend\n:hierarchy\nroot b", "no bone 'b'"},
        {":units\nlength 0\n", "a unit of length of 0"},
    };
    test_context test;
    test_begin(&test, 1);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        pelt_model *model;
        pelt_result result =
            pelt_load_memory(test.context, rows[r].text, strlen(rows[r].text), "bad.asf", NULL, &model);
        test_fails(&test, result, PELT_ERROR_INPUT, rows[r].words);
    }
    test_end(&test);
}

static void bad_motions(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "where the number of the first frame should"},
        {":DEGREES\nroot 1 2 3", "line 2: 'root' stands where"},
        {"1\nleg 1\n", "line 2: bone 'leg' is not in the skeleton"},
        {"1\narm 1\n", "bone 'arm' needs 2 numbers, number 2 is none"},
        {"1\narm 1 x\n", "number 2 is none"},
        {"1\narm 1 2 3\n", "more than the 2 numbers"},
        {"1\narm 1 2\n1\narm 1 2\n", "line 3: frame '1' does not come after"},
    };
    test_context test;
    test_begin(&test, 1);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        pelt_model *model;
        test_ok(&test, pelt_load_memory(test.context, skeleton, strlen(skeleton), "s.asf", NULL, &model));
        pelt_result result =
            pelt_load_cache_memory(test.context, rows[r].text, strlen(rows[r].text), "bad.amc", NULL, model);
        test_fails(&test, result, PELT_ERROR_INPUT, rows[r].words);
        assert_int_equal(model->motion_count, 0);
        pelt_model_destroy(model);
    }
    pelt_model *alone;
    test_fails(&test, pelt_load_memory(test.context, motion, strlen(motion), "t.amc", NULL, &alone), PELT_ERROR_INPUT,
               "give its skeleton (.asf)");
    test_end(&test);
}

static void cut_anywhere(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (size_t size = 0; size < strlen(skeleton) + strlen(motion); size++) {
        size_t first = size < strlen(skeleton) ? size : strlen(skeleton), second = size - first;
        char *asf = malloc(first + 1), *amc = malloc(second + 1);
        memcpy(asf, skeleton, first);
        memcpy(amc, motion, second);
        pelt_model *model;
        pelt_result result = pelt_load_memory(test.context, asf, first, "s.asf", NULL, &model);
        if (result == PELT_OK)
            result = pelt_load_cache_memory(test.context, amc, second, "t.amc", NULL, model);
        assert_true(result == PELT_OK || result == PELT_ERROR_INPUT);
        assert_true(result == PELT_OK || pelt_error_text(test.context)[0]);
        pelt_model_destroy(model);
        free(asf);
        free(amc);
    }
    test_end(&test);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

static void put(const char *folder, const char *name, const char *text) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static pelt_result load(pelt_context *context, const char *folder, pelt_model **model) {
    char path[1100];
    const char *paths[] = {path};
    snprintf(path, sizeof path, "%s/07_05.amc", folder);
    return pelt_load(context, paths, 1, NULL, model);
}

static void take_away(const char *folder, const char *name) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static pelt_result load_alone(pelt_context *context, void *user) {
    pelt_model *model;
    pelt_result result = load(context, user, &model);
    pelt_model_destroy(model);
    return result;
}

/* A lone AMC uses the .asf of the same name, else that of its subject, else the only one in the folder. */
static void skeleton_beside(void **state) {
    (void)state;
    char folder[1024];
    test_folder(folder);
    test_context test;
    test_begin(&test, 1);
    put(folder, "07_05.amc", motion);
    pelt_model *model;
    test_fails(&test, load(test.context, folder, &model), PELT_ERROR_INPUT, "give its skeleton");
    static const char *const names[] = {"any.asf", "07-walk.asf", "07_05.asf"};
    for (int n = 0; n < 3; n++) {
        put(folder, names[n], skeleton);
        test_ok(&test, load(test.context, folder, &model));
        assert_non_null(strstr(test.log, names[n]));
        assert_string_equal(model->format, "AMC");
        pelt_model_destroy(model);
        if (n == 0) { /* two equally good candidates: none is chosen */
            put(folder, "other.asf", skeleton);
            test_fails(&test, load(test.context, folder, &model), PELT_ERROR_INPUT, "give its skeleton");
        }
    }
    put(folder, "07_05.asf", "nothing");
    test_fails(&test, load(test.context, folder, &model), PELT_ERROR_INPUT, "07_05.asf: line 1");
    put(folder, "07_05.asf", skeleton);
    test_fail_each_allocation(1, load_alone, folder);
    take_away(folder, "other.asf");
    take_away(folder, "07_05.amc");
    for (int n = 0; n < 3; n++)
        take_away(folder, names[n]);
    assert_int_equal(rmdir(folder), 0);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_out_by_hand), cmocka_unit_test(orders_and_units), cmocka_unit_test(bad_skeletons),
        cmocka_unit_test(bad_motions),        cmocka_unit_test(cut_anywhere),     cmocka_unit_test(skeleton_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
