/* The platform layer: paths in any language, folders, globs, atomic replacement, mapping, threads. */
#include "support.h"

#include "core/platform.h"

#include <errno.h>

#define NAME "Häst-馬-🐎" /* two, three and four bytes of UTF-8 */

static void write_text(const char *path, const char *text) {
    int file = px_open(path, PX_OPEN_NEW);
    assert_true(file >= 0);
    assert_int_equal(px_descriptor_write(file, text, strlen(text)), strlen(text));
    assert_true(px_descriptor_close(file));
}

static void check_text(const char *path, const char *text) {
    char found[64] = "";
    uint64_t size;
    int file = px_open(path, PX_OPEN_READ);
    assert_true(file >= 0);
    assert_int_equal(px_descriptor_look(file, &size), PX_PATH_FILE);
    assert_int_equal(size, strlen(text));
    assert_int_equal(px_descriptor_read(file, found, sizeof found - 1), strlen(text));
    assert_int_equal(px_descriptor_read(file, found + 32, 1), 0);
    assert_true(px_descriptor_close(file));
    assert_string_equal(found, text);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(px_path_name("name"), "name");
    assert_string_equal(px_path_name("folder/name"), "name");
    assert_string_equal(px_path_name("/folder.d/name.obj"), "name.obj");
    assert_string_equal(px_path_name("folder/"), "");
    assert_string_equal(px_path_name(""), "");
    bool windows = strchr(px_path_separators, '\\');
    assert_string_equal(px_path_name("a\\name"), windows ? "name" : "a\\name");
    assert_string_equal(px_path_name("C:name"), windows ? "name" : "C:name");
}

static bool matches(const char *pattern, const char *text) {
    return px_glob_matches(pattern, strlen(pattern), text, strlen(text), "/");
}

static void test_globs(void **state) {
    (void)state;
    static const char *const good[][2] = {
        {"", ""},
        {"*", ""},
        {"*", "abc"},
        {"a*c", "abc"},
        {"a*c", "ac"},
        {"a*b*c", "aXbXbc"},
        {"?b?", "abc"},
        {"[a-c]x", "bx"},
        {"[!a-c]x", "dx"},
        {"[^a-c]x", "dx"},
        {"[]]", "]"},
        {"[a-]", "-"},
        {"[a", "[a"},
        {"f_*.obj", "f_12.obj"},
        {"*/x", "a/x"},
        {"\\*", "*"},
        {"a\\[b", "a[b"},
        {"**a", "ba"},
        {NAME "*", NAME "1"},
        {"[[]x", "[x"},
    };
    static const char *const bad[][2] = {
        {"", "a"},    {"a", ""},  {"a*c", "abd"}, {"?", ""},    {"[a-c]", "d"},          {"[!a-c]", "b"},
        {"*", "a/b"}, {"?", "/"}, {"[!a]", "/"},  {"\\*", "x"}, {"f_*.obj", "f_1.obj2"}, {"*x", "a/x"},
    };
    for (size_t n = 0; n < sizeof good / sizeof *good; n++)
        if (!matches(good[n][0], good[n][1]))
            fail_msg("'%s' does not match '%s'", good[n][0], good[n][1]);
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++)
        if (matches(bad[n][0], bad[n][1]))
            fail_msg("'%s' matches '%s'", bad[n][0], bad[n][1]);
    assert_true(px_glob_matches("*", 1, "a/b", 3, ""));
    assert_true(px_glob_matches("a*\\b", 4, "ax\\b", 4, "/\\")); /* a separator, not an escape */
}

static void test_files(void **state) {
    (void)state;
    char folder[1024], a[1100], b[1100], real[PX_PATH_SIZE];
    uint64_t size;
    test_folder(folder);
    snprintf(a, sizeof a, "%s/" NAME, folder);
    assert_int_equal(px_path_look(a, &size), PX_PATH_NONE);
    assert_true(px_open(a, PX_OPEN_READ) < 0);
    assert_int_equal(errno, ENOENT);
    assert_true(px_folder_make(a));
    assert_false(px_folder_make(a));
    assert_int_equal(errno, EEXIST);
    assert_int_equal(px_path_look(a, &size), PX_PATH_FOLDER);
    int opened = px_open(a, PX_OPEN_READ);
    assert_int_equal(px_descriptor_look(opened, &size), PX_PATH_FOLDER);
    px_descriptor_close(opened);

    snprintf(a, sizeof a, "%s/" NAME "/one.txt", folder);
    snprintf(b, sizeof b, "%s/" NAME "/two.txt", folder);
    write_text(a, "one");
    check_text(a, "one");
    assert_true(px_open(a, PX_OPEN_NEW) < 0);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(px_path_look(a, &size), PX_PATH_FILE);
    assert_int_equal(size, 3);
    assert_true(px_path_real(a, real));
    assert_string_equal(px_path_name(real), "one.txt");
    assert_false(px_path_real(b, real));

    write_text(b, "second");
    assert_false(px_path_link(a, b)); /* replaces nothing */
    int reader = px_open(b, PX_OPEN_READ);
    assert_true(px_path_rename(a, b)); /* replaces, even while somebody reads */
    px_descriptor_close(reader);
    check_text(b, "one");
    assert_int_equal(px_path_look(a, &size), PX_PATH_NONE);
#if defined(__EMSCRIPTEN__) /* has no hard links */
    assert_true(px_path_rename(b, a));
#else
    assert_true(px_path_link(b, a));
    assert_true(px_path_remove(b));
#endif
    check_text(a, "one");

    px_folder list;
    snprintf(b, sizeof b, "%s/" NAME, folder);
    assert_true(px_folder_open(&list, b));
    size_t count = 0;
    for (const char *name; (name = px_folder_next(&list));)
        count += name[0] == '.' ? 0 : strcmp(name, "one.txt") == 0 ? 1 : 100;
    px_folder_close(&list);
    assert_int_equal(count, 1);
    assert_true(px_folder_open(&list, folder));
    for (const char *name; (name = px_folder_next(&list));)
        count += strcmp(name, NAME) == 0;
    px_folder_close(&list);
    assert_int_equal(count, 2);
    assert_false(px_folder_open(&list, a));
    assert_true(px_path_remove(a));
    assert_false(px_path_remove(a));
    assert_int_equal(px_path_look("/dev/null", &size), PX_PATH_STREAM);
}

/* The old content stays mapped while the file is replaced, and nothing is left of it. */
static void test_mapping(void **state) {
    (void)state;
    char folder[1024], a[1100], b[1100];
    test_folder(folder);
    snprintf(a, sizeof a, "%s/a", folder);
    snprintf(b, sizeof b, "%s/b", folder);
    write_text(a, "old content");
    write_text(b, "new");
    px_mapping mapping;
    int file = px_open(a, PX_OPEN_READ);
    assert_true(px_map(file, 11, &mapping));
    px_descriptor_close(file);
    assert_memory_equal(mapping.data, "old content", 11);
    assert_true(px_path_rename(b, a));
    check_text(a, "new");
    px_map_release(mapping.data, mapping.size);
    assert_memory_equal(mapping.data, "old content", 11);
    px_unmap(&mapping);
    px_folder list;
    size_t count = 0;
    assert_true(px_folder_open(&list, folder));
    for (const char *name; (name = px_folder_next(&list));)
        count += name[0] != '.';
    px_folder_close(&list);
    assert_int_equal(count, 1);
    check_text(a, "new");
}

typedef struct turns {
    px_mutex lock;
    px_condition changed;
    int turn, sum;
} turns;

/* 1 MB of the stack is used: the threads of some C libraries have less. */
static void take_turns(void *user) {
    turns *t = user;
    volatile char stack[1 << 20];
    for (size_t n = 0; n < sizeof stack; n += 512)
        stack[n] = 1;
    px_mutex_lock(&t->lock);
    for (int n = 0; n < 100; n++) {
        while (t->turn == 0)
            px_condition_wait(&t->changed, &t->lock);
        t->turn = 0;
        t->sum += stack[512];
        px_condition_broadcast(&t->changed);
    }
    px_mutex_unlock(&t->lock);
}

static void test_threads(void **state) {
    (void)state;
#if defined(__EMSCRIPTEN__) /* has no threads */
    skip();
#endif
    turns t = {.turn = 0};
    px_thread thread;
    px_mutex_init(&t.lock);
    px_condition_init(&t.changed);
    assert_true(px_core_count() >= 1);
    assert_true(px_thread_start(&thread, take_turns, &t));
    px_mutex_lock(&t.lock);
    for (int n = 0; n < 100; n++) {
        while (t.turn == 1)
            px_condition_wait(&t.changed, &t.lock);
        t.turn = 1;
        px_condition_signal(&t.changed);
    }
    px_mutex_unlock(&t.lock);
    px_thread_join(&thread);
    assert_int_equal(t.sum, 100);
    px_condition_destroy(&t.changed);
    px_mutex_destroy(&t.lock);
}

static void test_clock(void **state) {
    (void)state;
    double first = px_seconds(), last = first;
    while (last == first)
        last = px_seconds();
    assert_true(last > first && last < first + 100);
    assert_int_equal(px_process_id(), px_process_id());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_globs),   cmocka_unit_test(test_files),
        cmocka_unit_test(test_mapping), cmocka_unit_test(test_threads), cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
