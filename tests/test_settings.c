/* pelt_settings_load and pelt_studio_save: what callers are told, and every allocation failing in turn. */
#include "support.h"

typedef struct heard {
    char text[1024]; /* "name=value;" of every call; <null> for NULL */
    pelt_result answer;
} heard;

static pelt_result hear(void *user, const char *name, const char *value) {
    heard *h = user;
    size_t length = strlen(h->text);
    snprintf(h->text + length, sizeof h->text - length, "%s=%s;", name ? name : "<null>", value ? value : "<null>");
    return h->answer;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static char folder[1024], path[1100], other[1100];

static int begin(void **state) {
    (void)state;
    test_folder(folder);
    snprintf(path, sizeof path, "%s/settings.json", folder);
    snprintf(other, sizeof other, "%s/page.html", folder);
    return 0;
}

static void reads_members_in_order(void **state) {
    (void)state;
    static const struct {
        const char *text, *heard;
    } rows[] = {
        {"{}", ""},
        {"{\"bones\": 1e1, \"hierarchy\": true, \"normals\": false, \"nothing\": null}",
         "bones=1e1;hierarchy=<null>;normals=false;"},
        {"{\"verb\": \"bind\", \"result\": 3, \"settings\": {\"up\": \"z\", \"names\": [\"a\", \"b\"], \"v\": [1, "
         "-0.5, 2e3], \"e\": []}}",
         "<null>=bind;up=z;names=a,b;v=1,-0.5,2e3;e=;"},
        {"{\"b\": 1, \"verb\": \"pose\"}", "<null>=pose;b=1;"},
    };
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        heard h = {0};
        write_file(path, rows[n].text);
        test_ok(&test, pelt_settings_load(context, path, hear, &h));
        assert_string_equal(h.text, rows[n].heard);
    }
    test_end(&test);
}

static void tells_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "settings.json"},
        {"[1]", "should be an object of settings"},
        {"{\"settings\": []}", "should be an object of settings"},
        {"{\"bones\": {}}", "'bones' should be a number"},
        {"{\"bones\": [1, [2]]}", "'bones' should be a number"},
        {"{\"bones\": 1", "settings.json: JSON line"},
    };
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    heard h = {0};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        write_file(path, rows[n].text);
        test_fails(&test, pelt_settings_load(context, path, hear, &h), PELT_ERROR_INPUT, rows[n].words);
    }
    remove(path);
    test_fails(&test, pelt_settings_load(context, path, hear, &h), PELT_ERROR_INPUT, "settings.json");
    /* The answer of the caller ends the reading. */
    write_file(path, "{\"a\": 1, \"b\": 2}");
    h = (heard){.answer = PELT_ERROR_CANCELLED};
    assert_int_equal(pelt_settings_load(context, path, hear, &h), PELT_ERROR_CANCELLED);
    assert_string_equal(h.text, "a=1;");
    test_end(&test);
}

static void survives_failing_allocations(void **state) {
    (void)state;
    char page[1100];
    snprintf(page, sizeof page, "%s/studio.html", folder);
    write_file(page, "<!doctype html>\n<!-- files -->\n<script></script>\n");
    write_file(path, "{\"verb\": \"bind\", \"settings\": {\"names\": [\"a\", \"b\"], \"n\": 1}}");
    write_file(other, "old");
    const char *files[] = {path};
    uint64_t count = 0;
    for (uint64_t at = 0; at <= count; at++) {
        test_context test;
        pelt_context *context = test_begin(&test, 1);
        heard h = {0};
        uint64_t before = test.allocations;
        test.fail_at = at ? before + at : 0;
        pelt_result loaded = pelt_settings_load(context, path, hear, &h);
        pelt_result saved = loaded == PELT_OK ? pelt_studio_save(context, page, files, 1, other) : PELT_ERROR_MEMORY;
        if (at == 0) {
            count = test.allocations - before;
            assert_int_equal(saved, PELT_OK);
            write_file(other, "old");
        } else
            assert_int_equal(saved, PELT_ERROR_MEMORY);
        FILE *file = fopen(other, "rb");
        char text[4] = "";
        assert_int_equal(fread(text, 1, 3, file), 3);
        fclose(file);
        assert_string_equal(text, "old");
        test_end(&test);
    }
    assert_true(count > 4);
    remove(page);
    remove(path);
    remove(other);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_members_in_order),
        cmocka_unit_test(tells_what_is_wrong),
        cmocka_unit_test(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
