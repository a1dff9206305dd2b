/* core/json.c: round trips, errors with line numbers, edits of trees. */
#include "support.h"

#include "core/json.h"
#include "core/poison.h"

#include <math.h>

typedef struct fixture {
    test_context test;
    px_arena *arena;
    px_buffer text;
} fixture;

static void begin(fixture *f) {
    test_begin(&f->test, 1);
    f->arena = px_arena_create(f->test.context);
    f->text = (px_buffer){.context = f->test.context};
}

static void end(fixture *f) {
    px_buffer_free(&f->text);
    px_arena_destroy(f->arena);
    test_end(&f->test);
}

/* A block of exactly this size, so that sanitizers detect overruns. */
static pelt_result read_exact(fixture *f, const char *text, size_t size, px_json **value) {
    char *exact = malloc(size + (size == 0));
    memcpy(exact, text, size);
    pelt_result result = px_json_read(f->arena, exact, size, value);
    free(exact);
    return result;
}

static const char *written(fixture *f, const px_json *value, int indent) {
    f->text.size = 0;
    px_json_write(&f->text, value, indent);
    px_buffer_add(&f->text, "", 1);
    assert_false(f->text.failed);
    return f->text.data;
}

static px_json *read_text(fixture *f, const char *text) {
    px_json *value;
    test_ok(&f->test, read_exact(f, text, strlen(text), &value));
    return value;
}

static const char document[] = "{\"a\":[1,2.50,-0,1E+5,1e-7,0.10000000000000000000001,123456789012345678901234567890],"
                               "\"b\":{\"\":null,\"x\":true,\"x\":false,\"y\\u0000z\":\"\\\"\\\\\\n\\t\\u0001\"},"
                               "\"ünï\":[[],{},[[{}]],\"\"]}";

static void round_trip(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    px_json *value = read_text(&f, document);
    assert_string_equal(written(&f, value, 0), document); /* number notations, order, duplicate keys */
    px_json *copy = px_json_copy(f.arena, value);
    assert_string_equal(written(&f, copy, 0), document);
    char *pretty = strdup(written(&f, value, 2));
    assert_non_null(strstr(pretty, "\n  \"a\": [\n    1,\n    2.50,"));
    assert_string_equal(written(&f, read_text(&f, pretty), 0), document);
    free(pretty);
    assert_string_equal(written(&f, read_text(&f, "\xEF\xBB\xBF \r\n\t[ 1 , 2 ] "), 0), "[1,2]");
    end(&f);
}

static void strings(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"\"\\u00e4\\u20AC\"", "ä€"},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80"},
        {"\"\\ud83d\"", "\xEF\xBF\xBD"}, /* half of a surrogate pair */
        {"\"\\ude00x\"", "\xEF\xBF\xBDx"},
        {"\"\\ud83d\\u0041\"", "\xEF\xBF\xBD\x41"},
        {"\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD\xF0\x9F\x98\x80"},
        {"\"\\/\\b\\f\\n\\r\\t\\\\\\\"\"", "/\b\f\n\r\t\\\""},
        {"\"\"", ""},
    };
    fixture f;
    begin(&f);
    for (size_t r = 0; r < PX_COUNT(rows); r++)
        assert_string_equal(px_json_string(read_text(&f, rows[r][0]), NULL), rows[r][1]);
    px_json *zero = read_text(&f, "{\"a\\u0000b\":\"c\\u0000d\",\"a\":1}");
    assert_int_equal(zero->first->length, 3);
    assert_int_equal(px_json_uint(px_json_get(zero, "a"), 9, 0), 1); /* a prefix of a name does not match */
    end(&f);
}

static void refused(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"", "ends where a value"},
        {"  ", "ends where a value"},
        {"[1,]", "no JSON value"},
        {"[1 2]", "expected , or ]"},
        {"[", "ends where a value"},
        {"[1", "an array has no end"},
        {"{", "needs a name"},
        {"{\"a\"", "needs a colon"},
        {"{\"a\":1", "an object has no end"},
        {"{\"a\":1,}", "needs a name"},
        {"{a:1}", "needs a name"},
        {"{\"a\":1]", "expected , or }"},
        {"]", "no JSON value"},
        {"tru", "no JSON value"},
        {"nul", "no JSON value"},
        {"falsy", "no JSON value"},
        {"1 1", "more text"},
        {"truex", "more text"},
        {"01", "no JSON value"},
        {"-", "no JSON value"},
        {"+1", "no JSON value"},
        {".5", "no JSON value"},
        {"1.", "no JSON value"},
        {"1.e5", "no JSON value"},
        {"1e", "no JSON value"},
        {"1e+", "no JSON value"},
        {"-01", "no JSON value"},
        {"NaN", "no JSON value"},
        {"\"a", "a string has no end"},
        {"\"a\\", "a string has no end"},
        {"\"a\\\"", "a string has no end"},
        {"\"\\x\"", "unknown escape"},
        {"\"\\u12\"", "four hexadecimal"},
        {"\"\\u12g4\"", "four hexadecimal"},
        {"\"a\nb\"", "control character"},
        {"\n\n [1,\n tru]", "line 4"},
        {"//", "no JSON value"},
    };
    fixture f;
    begin(&f);
    for (size_t r = 0; r < PX_COUNT(rows); r++) {
        px_json *value = (px_json *)1;
        test_fails(&f.test, read_exact(&f, rows[r][0], strlen(rows[r][0]), &value), PELT_ERROR_INPUT, rows[r][1]);
        assert_null(value);
    }
    px_json *value;
    test_fails(&f.test, read_exact(&f, "\0", 1, &value), PELT_ERROR_INPUT, "no JSON value");
    end(&f);
}

static void depth_is_bounded(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    enum { MANY = 100000 };
    char *text = malloc(2 * MANY);
    for (int object = 0; object < 2; object++)
        for (int depth = PX_JSON_MAX_DEPTH; depth <= PX_JSON_MAX_DEPTH + 1; depth++) {
            size_t size = 0;
            for (int d = 0; d < depth; d++)
                size += (size_t)sprintf(text + size, object && d + 1 < depth ? "{\"\":" : "[");
            for (int d = depth; d-- > 0;)
                text[size++] = object && d + 1 < depth ? '}' : ']';
            px_json *value;
            pelt_result result = read_exact(&f, text, size, &value);
            if (depth > PX_JSON_MAX_DEPTH) {
                test_fails(&f.test, result, PELT_ERROR_INPUT, "nested too deep");
                continue;
            }
            test_ok(&f.test, result);
            assert_non_null(px_json_copy(f.arena, value));
            assert_int_equal(strlen(written(&f, value, 0)), size);
        }
    memset(text, '[', 2 * MANY); /* would need a deep stack */
    px_json *value;
    test_fails(&f.test, read_exact(&f, text, 2 * MANY, &value), PELT_ERROR_INPUT, "nested too deep");
    size_t size = 1; /* many brackets side by side are not nested */
    for (int e = 0; e < 1000; e++, size += 3)
        memcpy(text + size, "[],", 3);
    text[size - 1] = ']';
    test_ok(&f.test, read_exact(&f, text, size, &value));
    free(text);
    end(&f);
}

/* Every prefix of a document, and every document with one byte changed, is parsed or rejected, without a crash. */
static void damaged(void **state) {
    (void)state;
    test_random random = {4};
    char text[sizeof document];
    for (size_t size = 0; size < sizeof document - 1; size++) {
        fixture f;
        begin(&f);
        px_json *value;
        assert_int_equal(read_exact(&f, document, size, &value), PELT_ERROR_INPUT);
        for (int trial = 0; trial < 20; trial++) {
            memcpy(text, document, sizeof text);
            text[size] = (char)test_random_bits(&random);
            if (read_exact(&f, text, sizeof document - 1, &value) != PELT_OK)
                continue;
            /* A parsed document can be written and parsed again, with the same text. */
            char *once = strdup(written(&f, value, 0));
            assert_string_equal(written(&f, read_text(&f, once), 0), once);
            free(once);
        }
        end(&f);
    }
}

static void looking(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    px_json *v =
        read_text(&f, "{\"n\":3,\"x\":-2.5,\"s\":\"t\",\"b\":true,\"c\":false,\"l\":[1,\"two\",3],\"big\":4294967295,"
                      "\"huge\":1e300,\"inf\":1e999,\"o\":{\"n\":7},\"n\":4}");
    assert_int_equal(px_json_count(v), 11);
    assert_int_equal(px_json_uint(px_json_get(v, "n"), 10, 99), 3); /* the first of duplicate keys */
    assert_int_equal(px_json_uint(px_json_get(v, "n"), 2, 99), 99);
    assert_int_equal(px_json_uint(px_json_get(v, "x"), 10, 99), 99);
    assert_int_equal(px_json_uint(px_json_get(v, "s"), 10, 99), 99);
    assert_int_equal(px_json_uint(px_json_get(v, "big"), UINT32_MAX, 0), UINT32_MAX);
    assert_int_equal(px_json_uint(px_json_get(v, "huge"), UINT64_MAX, 5), 5);
    assert_int_equal(px_json_uint(px_json_get(v, "inf"), UINT64_MAX, 5), 5);
    assert_int_equal(px_json_uint(px_json_get(v, "no"), 10, 6), 6);
    assert_true(px_json_double(px_json_get(v, "x"), 0) == -2.5);
    assert_true(px_json_double(px_json_get(v, "s"), 1.5) == 1.5);
    assert_string_equal(px_json_string(px_json_get(v, "s"), ""), "t");
    assert_string_equal(px_json_string(px_json_get(v, "n"), "none"), "none");
    assert_true(px_json_bool(px_json_get(v, "b"), false) && !px_json_bool(px_json_get(v, "c"), true));
    assert_true(px_json_bool(px_json_get(v, "no"), true) && !px_json_bool(px_json_get(v, "n"), false));
    assert_int_equal(px_json_uint(px_json_get(px_json_get(v, "o"), "n"), 9, 0), 7);
    assert_null(px_json_get(px_json_get(px_json_get(v, "no"), "n"), "m"));
    assert_null(px_json_get(px_json_get(v, "l"), "n"));
    px_json *list = px_json_get(v, "l");
    assert_string_equal(px_json_string(px_json_at(list, 1), ""), "two");
    assert_null(px_json_at(list, 3));
    assert_null(px_json_at(v, 0));
    assert_int_equal(px_json_count(NULL), 0);
    end(&f);
}

static void editing(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    px_arena *arena = f.arena;
    px_json *v = read_text(&f, "{\"a\":1,\"b\":2,\"a\":3,\"c\":4}");
    px_json_set(arena, v, "b", px_json_new_string(arena, "q\"u\xE2\x82\xAC"));
    px_json_set(arena, v, "d",
                px_json_append(px_json_array(arena), px_json_new_bool(arena, true))); /* gives the value */
    assert_string_equal(written(&f, v, 0), "{\"a\":1,\"b\":\"q\\\"u\xE2\x82\xAC\",\"a\":3,\"c\":4,\"d\":true}");
    px_json_remove(v, "a"); /* all of them */
    px_json_remove(v, "no");
    assert_null(px_json_get(v, "a"));
    px_json_remove(v, "d"); /* the last one: appending still works */
    px_json *list = px_json_set(arena, v, "l", px_json_array(arena));
    px_json_append(list, px_json_new_double(arena, 0.1));
    px_json_append(list, px_json_new_float(arena, 0.1f));
    px_json_append(list, px_json_new_double(arena, NAN));
    px_json_append(list, px_json_new_double(arena, -INFINITY));
    px_json_append(list, px_json_new_uint(arena, UINT64_MAX));
    px_json_append(list, px_json_object(arena));
    assert_string_equal(written(&f, v, 0),
                        "{\"b\":\"q\\\"u\xE2\x82\xAC\",\"c\":4,\"l\":[0.1,0.1,null,null,18446744073709551615,{}]}");
    assert_int_equal(px_json_count(v), 3);
    px_json_set(arena, v, "l", px_json_new_bool(arena, false)); /* the last one replaced */
    px_json_set(arena, v, "m", px_json_new_uint(arena, 1));
    assert_string_equal(written(&f, v, 0), "{\"b\":\"q\\\"u\xE2\x82\xAC\",\"c\":4,\"l\":false,\"m\":1}");
    assert_null(px_json_set(arena, NULL, "x", px_json_object(arena)));
    assert_null(px_json_set(arena, v, "x", NULL));
    assert_null(px_json_append(NULL, v));
    px_json_remove(NULL, "x");
    end(&f);
}

static pelt_result all_of_it(pelt_context *context, void *user) {
    (void)user;
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    px_buffer text = {.context = context};
    px_json *value = NULL, *copy = NULL;
    pelt_result result = px_json_read(arena, document, sizeof document - 1, &value);
    assert_true((result == PELT_OK) == (value != NULL));
    if (result == PELT_OK) {
        copy = px_json_copy(arena, value);
        px_json *list = px_json_set(arena, copy, "new", px_json_array(arena));
        px_json *number = px_json_append(list, px_json_new_double(arena, 0.3));
        if (copy)
            px_json_write(&text, copy, 1);
        result = !copy || !number || text.failed ? PELT_ERROR_MEMORY : PELT_OK;
    }
    px_buffer_free(&text);
    px_arena_destroy(arena);
    return result;
}

static void without_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, all_of_it, NULL);
}

/* A hostile document of many tiny values uses a bounded multiple of its size. */
static void memory_is_bounded(void **state) {
    (void)state;
    fixture f;
    begin(&f);
    enum { VALUES = 200000 };
    char *text = malloc(2 * VALUES + 1);
    for (int v = 0; v < VALUES; v++)
        memcpy(text + 2 * v + 1, v + 1 < VALUES ? "0," : "0]", 2);
    text[0] = '[';
    px_json *value;
    test_ok(&f.test, px_json_read(f.arena, text, 2 * VALUES + 1, &value));
    assert_int_equal(px_json_count(value), VALUES);
    size_t most = 40 + 2 * PX_POISON_GAP; /* bytes of memory per byte of text */
    assert_true(pelt_context_memory(f.test.context).peak < most * (2 * VALUES));
    free(text);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),       cmocka_unit_test(strings),        cmocka_unit_test(refused),
        cmocka_unit_test(depth_is_bounded), cmocka_unit_test(damaged),        cmocka_unit_test(looking),
        cmocka_unit_test(editing),          cmocka_unit_test(without_memory), cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
