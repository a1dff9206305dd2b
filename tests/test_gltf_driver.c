/* Drivers in glTF files: read, rewritten and preserved; inconsistent drivers are dropped with a warning. */
#include "gltf_build.h"

#include "core/json.h"
#include "io/io.h"

#define DRIVERS                                                                                                        \
    "{\"version\":1,\"drivers\":[{\"joint\":2,\"name\":\"knee\",\"part\":\"swing\",\"axis\":[0,1,0],"                  \
    "\"kernel\":\"gaussian\",\"radius\":0.75,\"centres\":[[0,0,0,1],[0.6,0,0,0.8]],"                                   \
    "\"targets\":[{\"node\":3,\"target\":0,\"coefficients\":[1e-7,0.1,-2.5]}]},"                                       \
    "{\"joint\":1,\"name\":\"hip\",\"part\":\"whole\",\"kernel\":\"thin-plate\",\"radius\":1,\"centres\":[],"          \
    "\"targets\":[]}]}"

/* The rig with these extras at the root. */
static const char *with_extras(gltf_build *b, const char *extras) {
    static char text[8192];
    memset(b, 0, sizeof *b);
    snprintf(text, sizeof text, "%s,\"extras\":%s", build_rig(b), extras);
    return text;
}

static void are_drivers(const pelt_model *model) {
    assert_int_equal(model->driver_count, 2);
    const pelt_driver *driver = &model->drivers[0];
    assert_string_equal(model->skeleton.names[driver->joint], "knee");
    assert_int_equal(driver->part, PELT_ROTATION_SWING);
    assert_int_equal(driver->kernel, PELT_KERNEL_GAUSSIAN);
    SAME_FLOATS(driver->axis, 0, 1, 0);
    SAME_FLOATS(&driver->radius, 0.75f);
    assert_int_equal(driver->centre_count, 2);
    assert_true(driver->centres[4] == 0.6f && driver->centres[7] == 0.8f);
    assert_int_equal(driver->morph_count, 1);
    assert_string_equal(model->morphs.morphs[driver->morphs[0]].name, "open");
    assert_true(driver->coefficients[0] == 1e-7f && driver->coefficients[1] == 0.1f);
    assert_true(driver->coefficients[2] == -2.5f);
    assert_string_equal(model->skeleton.names[driver[1].joint], "hip");
    assert_int_equal(driver[1].kernel, PELT_KERNEL_THIN_PLATE);
    assert_int_equal(driver[1].centre_count + driver[1].morph_count, 0);
}

static void drivers_are_read(void **state) {
    (void)state;
    gltf_build b;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = build_load(&test, &b, with_extras(&b, "{\"pelt_drivers\":" DRIVERS "}"));
    are_drivers(model);
    assert_int_equal(test.warning_count, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

/* Writes the model and reads it again; stores the JSON of the root's extras in `extras` ("" if none). */
static pelt_model *again(test_context *test, const pelt_model *model, char extras[static 4096]) {
    px_buffer bytes = {.context = test->context}, text = {.context = test->context};
    test_ok(test, px_save_memory(test->context, model, "out.glb", NULL, &bytes));
    px_arena *arena = px_arena_create(test->context);
    px_json *root;
    test_ok(test, px_json_read(arena, bytes.data + 20, px_load_u32((const uint8_t *)bytes.data + 12), &root));
    if (px_json_get(root, "extras"))
        px_json_write(&text, px_json_get(root, "extras"), 0);
    px_buffer_add(&text, "", 1);
    snprintf(extras, 4096, "%s", text.data);
    pelt_model *copy;
    test_ok(test, pelt_load_memory(test->context, bytes.data, bytes.size, "out.glb", NULL, &copy));
    px_arena_destroy(arena);
    px_buffer_free(&bytes);
    px_buffer_free(&text);
    return copy;
}

/* Loads the rig with extras, marks data as changed, and checks the written file. */
static void rewrite(const char *from, uint32_t changed, bool drivers, const char *wanted) {
    gltf_build b;
    test_context test;
    char extras[4096];
    test_begin(&test, 1);
    pelt_model *model = build_load(&test, &b, with_extras(&b, from));
    model->changed = changed;
    model->driver_count = drivers ? model->driver_count : 0;
    pelt_model *copy = again(&test, model, extras);
    assert_string_equal(extras, wanted);
    assert_int_equal(copy->driver_count, model->driver_count);
    if (drivers)
        are_drivers(copy);
    pelt_model_destroy(copy);
    pelt_model_destroy(model);
    test_end(&test);
}

static void others_extras_stay(void **state) {
    (void)state;
    const char *mixed = "{\"mine\":1.50,\"pelt_drivers\":" DRIVERS ",\"yours\":[null]}";
    rewrite(mixed, 0, true, mixed);
    rewrite(mixed, PELT_CHANGED_MOTIONS | PELT_CHANGED_SKIN, true, mixed);
    const char *anew = "{\"mine\":1.50,\"yours\":[null],\"pelt_drivers\":" DRIVERS "}";
    rewrite(mixed, PELT_CHANGED_DRIVERS, true, anew);
    rewrite(mixed, PELT_CHANGED_MORPHS, true, anew);
    rewrite(mixed, PELT_CHANGED_MORPHS, false, "{\"mine\":1.50,\"yours\":[null]}");
    rewrite("{\"pelt_drivers\":" DRIVERS "}", PELT_CHANGED_DRIVERS, false, "");
    rewrite("{}", PELT_CHANGED_MOTIONS, false, "{}");
    rewrite("7", PELT_CHANGED_DRIVERS, false, "7");
}

/* Renumbered nodes: other joints, or no document. */
static void drivers_find_new_nodes(void **state) {
    (void)state;
    gltf_build b;
    test_context test;
    char extras[4096];
    test_begin(&test, 1);
    pelt_model *model = build_load(&test, &b, with_extras(&b, "{\"pelt_drivers\":" DRIVERS ",\"mine\":1}"));
    model->changed = PELT_CHANGED_SKELETON;
    pelt_model *copy = again(&test, model, extras);
    are_drivers(copy);
    assert_non_null(strstr(extras, "\"mine\":1"));
    pelt_model_destroy(copy);
    model->document = NULL;
    copy = again(&test, model, extras);
    are_drivers(copy);
    assert_null(strstr(extras, "mine"));
    pelt_model_destroy(copy);
    pelt_model_destroy(model);
    test_end(&test);
}

static void extras_that_are_no_object_give_way(void **state) {
    (void)state;
    gltf_build b;
    test_context test;
    char extras[4096];
    test_begin(&test, 1);
    pelt_model *model = build_load(&test, &b, with_extras(&b, "[1,2]"));
    pelt_driver driver = {.radius = 1};
    model->drivers = &driver;
    model->driver_count = 1;
    model->changed = PELT_CHANGED_DRIVERS;
    pelt_model *copy = again(&test, model, extras);
    assert_int_equal(copy->driver_count, 1);
    assert_non_null(strstr(test.log, "extras of the file are no object"));
    pelt_model_destroy(copy);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Inconsistent drivers --------------------------------------------------------------------------------- */

#define ONE(members) "{\"pelt_drivers\":{\"version\":1,\"drivers\":[{" members "}]}}"
#define HEAD         "\"joint\":2,\"part\":\"whole\",\"kernel\":\"gaussian\",\"radius\":1,"
#define TARGETS(of)  ONE(HEAD "\"centres\":[[0,0,0,1]],\"targets\":" of)
#define CENTRES(of)  ONE(HEAD "\"targets\":[],\"centres\":" of)

static void nonsense_is_left_out(void **state) {
    (void)state;
    static const struct {
        const char *extras, *words;
    } cases[] = {
        {"{\"pelt_drivers\":null}", "test.glb: extras.pelt_drivers: is not of version 1"},
        {"{\"pelt_drivers\":{\"version\":3,\"drivers\":[]}}", "is not of version 1 or 2"},
        {ONE("\"joint\":2,\"against\":[]"), "its \"against\" must be a list of nodes"},
        {ONE("\"joint\":2,\"against\":4"), "its \"against\" must be a list of nodes"},
        {ONE("\"joint\":2,\"against\":[4]"), "its \"against\" must be a list of nodes"},
        {ONE("\"against\":[2]," HEAD "\"centres\":[],\"targets\":[]"), "which must not be below it"},
        {"{\"pelt_drivers\":{\"version\":1}}", "its \"drivers\" must be a list"},
        {"{\"pelt_drivers\":{\"version\":1,\"drivers\":[3]}}", "driver 0: its \"joint\" is missing"},
        {ONE("\"joint\":\"knee\""), "driver 0: \"joint\" must be an index"},
        {ONE("\"joint\":4"), "joint 4 does not exist, there are 4"},
        {ONE("\"joint\":-1"), "joint -1 does not exist"},
        {ONE("\"joint\":2,\"name\":\"elbow\""), "was made for joint 'elbow', but its node is 'knee' now"},
        {ONE("\"joint\":2,\"part\":\"spin\""), "its part is 'spin', should be whole, swing or twist"},
        {ONE("\"joint\":2,\"part\":\"whole\",\"kernel\":[]"), "its kernel is '', should be exponential"},
        {ONE("\"joint\":2,\"part\":\"twist\",\"kernel\":\"gaussian\",\"axis\":[0,1]"), "its axis must be 3 numbers"},
        {ONE("\"joint\":2,\"part\":\"twist\",\"kernel\":\"gaussian\",\"axis\":[0,2,0],\"radius\":1,\"centres\":[],"
             "\"targets\":[]"),
         "driver 0: its axis has length 2"},
        {ONE("\"joint\":2,\"part\":\"whole\",\"kernel\":\"gaussian\",\"centres\":[],\"targets\":[]"),
         "driver 0: its radius is 0"},
        {ONE("\"joint\":2,\"part\":\"whole\",\"kernel\":\"gaussian\",\"radius\":1e999,\"centres\":[],\"targets\":[]"),
         "driver 0: its radius is inf"},
        {CENTRES("{\"a\":[0,0,0,1]}"), "its \"centres\" must be a list"},
        {CENTRES("[[0,0,1]]"), "its centres must be 4 numbers"},
        {CENTRES("[[0,0,0,\"NaN\"]]"), "its centres must be 4 numbers"},
        {CENTRES("[[0,0,0,1],[0,0,0,0]]"), "driver 0: its centre 1 has length 0"},
        {TARGETS("[{}]"), "its \"node\" is missing"},
        {TARGETS("[{\"node\":9}]"), "node 9 does not exist"},
        {TARGETS("[{\"node\":3}]"), "node 3 has no such morph target"},
        {TARGETS("[{\"node\":3,\"target\":1}]"), "node 3 has no such morph target"},
        {TARGETS("[{\"node\":0,\"target\":0}]"), "node 0 has no such morph target"},
        {TARGETS("[{\"node\":3,\"target\":1e30}]"), "target 1e30 does not exist"},
        {TARGETS("[{\"node\":3,\"target\":0,\"coefficients\":[1]}]"), "its coefficients must be 2 numbers"},
        {TARGETS("[{\"node\":3,\"target\":0,\"coefficients\":[1,1e99]}]"), "coefficient 1 of morph 0 is not finite"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        gltf_build b;
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = build_load(&test, &b, with_extras(&b, cases[c].extras));
        assert_int_equal(model->driver_count, 0);
        assert_int_equal(test.warning_count, 1);
        if (!strstr(test.log, cases[c].words) || !strstr(test.log, "; the file is read without drivers of morphs"))
            fail_msg("wanted '%s', got %s", cases[c].words, test.log);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

static pelt_result there_and_back(pelt_context *context, void *user) {
    const gltf_build *b = user;
    pelt_model *model;
    pelt_result result = pelt_load_memory(context, b->glb, b->glb_size, "test.glb", NULL, &model);
    if (result != PELT_OK)
        return result;
    px_buffer bytes = {.context = context};
    model->changed = PELT_CHANGED_DRIVERS;
    result = px_save_memory(context, model, "out.glb", NULL, &bytes);
    px_buffer_free(&bytes);
    pelt_model_destroy(model);
    return result;
}

static void drivers_survive_lack_of_memory(void **state) {
    (void)state;
    gltf_build b;
    build_glb(&b, with_extras(&b, "{\"pelt_drivers\":" DRIVERS "}"));
    test_fail_each_allocation(1, there_and_back, &b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_are_read),       cmocka_unit_test(others_extras_stay),
        cmocka_unit_test(drivers_find_new_nodes), cmocka_unit_test(extras_that_are_no_object_give_way),
        cmocka_unit_test(nonsense_is_left_out),   cmocka_unit_test(drivers_survive_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
