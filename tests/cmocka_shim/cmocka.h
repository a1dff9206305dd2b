/* The part of cmocka's interface that the unit tests use, for platforms without cmocka. Include <setjmp.h>, <stdarg.h>, <stddef.h>
 * and <stdint.h> before, as for cmocka. One test program per include: state is static. */
#ifndef PELT_TESTS_CMOCKA_SHIM_H
#define PELT_TESTS_CMOCKA_SHIM_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void CMUnitTestFunction(void **state);
typedef int CMFixtureFunction(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction *test_func;
    CMFixtureFunction *setup_func, *teardown_func;
    void *initial_state;
};

#define cmocka_unit_test(f)                                                                                            \
    { #f, f, NULL, NULL, NULL }
#define cmocka_unit_test_setup_teardown(f, setup, teardown)                                                            \
    { #f, f, setup, teardown, NULL }
#define cmocka_unit_test_prestate(f, state)                                                                            \
    { #f, f, NULL, NULL, state }
#define cmocka_run_group_tests(tests, setup, teardown)                                                                 \
    shim_run(tests, sizeof(tests) / sizeof(tests)[0], setup, teardown)
#define print_message(...) printf(__VA_ARGS__)
#define test_malloc        malloc
#define test_free          free

enum shim_outcome { SHIM_PASSED, SHIM_FAILED, SHIM_SKIPPED };
static jmp_buf shim_end; /* where a test that fails or is skipped goes on */

static inline __attribute__((noreturn, unused)) void shim_fail(const char *file, int line) {
    fflush(stdout);
    fprintf(stderr, "%s:%d: error: failure\n", file, line);
    longjmp(shim_end, SHIM_FAILED);
}

#define fail() shim_fail(__FILE__, __LINE__)
#define fail_msg(...)                                                                                                  \
    do {                                                                                                               \
        fprintf(stderr, "ERROR: " __VA_ARGS__);                                                                        \
        fputc('\n', stderr);                                                                                           \
        fail();                                                                                                        \
    } while (0)
#define skip() longjmp(shim_end, SHIM_SKIPPED)

static inline __attribute__((unused)) void shim_integers(unsigned long long a, unsigned long long b, bool equal,
                                                         const char *file, int line) {
    if ((a == b) == equal)
        return;
    fprintf(stderr, "%#llx %s %#llx\n", a, equal ? "!=" : "==", b);
    shim_fail(file, line);
}

static inline __attribute__((unused)) void shim_memory(const void *a, const void *b, size_t size, bool equal,
                                                       const char *file, int line) {
    if ((memcmp(a, b, size) == 0) == equal)
        return;
    size_t n = 0;
    while (n < size && ((const unsigned char *)a)[n] == ((const unsigned char *)b)[n])
        n++;
    fprintf(stderr, "%zu bytes %s from byte %zu on\n", size, equal ? "differ" : "are equal", n);
    shim_fail(file, line);
}

static inline __attribute__((unused)) void shim_strings(const char *a, const char *b, bool equal, const char *file,
                                                        int line) {
    if ((strcmp(a, b) == 0) == equal)
        return;
    fprintf(stderr, "\"%s\" %s \"%s\"\n", a, equal ? "!=" : "==", b);
    shim_fail(file, line);
}

static inline __attribute__((unused)) void shim_condition(bool holds, const char *text, const char *file, int line) {
    if (holds)
        return;
    fprintf(stderr, "%s\n", text);
    shim_fail(file, line);
}

static inline __attribute__((unused)) void shim_floats(float a, float b, float epsilon, const char *file, int line) {
    float distance = a < b ? b - a : a - b;
    if (distance <= epsilon || a == b)
        return;
    fprintf(stderr, "%g != %g (%g)\n", (double)a, (double)b, (double)epsilon);
    shim_fail(file, line);
}

#define assert_true(c)         shim_condition((c) ? true : false, #c, __FILE__, __LINE__)
#define assert_false(c)        shim_condition((c) ? false : true, "!(" #c ")", __FILE__, __LINE__)
#define assert_non_null(p)     shim_condition((p) != NULL, #p " != NULL", __FILE__, __LINE__)
#define assert_null(p)         shim_condition((p) == NULL, #p " == NULL", __FILE__, __LINE__)
#define assert_int_equal(a, b) shim_integers((unsigned long long)(a), (unsigned long long)(b), true, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                                                     \
    shim_integers((unsigned long long)(a), (unsigned long long)(b), false, __FILE__, __LINE__)
#define assert_ptr_equal(a, b)           shim_integers((uintptr_t)(a), (uintptr_t)(b), true, __FILE__, __LINE__)
#define assert_ptr_not_equal(a, b)       shim_integers((uintptr_t)(a), (uintptr_t)(b), false, __FILE__, __LINE__)
#define assert_string_equal(a, b)        shim_strings(a, b, true, __FILE__, __LINE__)
#define assert_string_not_equal(a, b)    shim_strings(a, b, false, __FILE__, __LINE__)
#define assert_memory_equal(a, b, n)     shim_memory(a, b, n, true, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, n) shim_memory(a, b, n, false, __FILE__, __LINE__)
#define assert_float_equal(a, b, e)      shim_floats((float)(a), (float)(b), (float)(e), __FILE__, __LINE__)
#define assert_in_range(v, low, high)                                                                                  \
    shim_condition((unsigned long long)(v) >= (unsigned long long)(low) &&                                             \
                       (unsigned long long)(v) <= (unsigned long long)(high),                                          \
                   #v " in " #low " to " #high, __FILE__, __LINE__)

/* Runs one test between its fixtures. */
static inline enum shim_outcome shim_run_one(const struct CMUnitTest *test) {
    void *state = test->initial_state;
    if (test->setup_func && test->setup_func(&state) != 0)
        return SHIM_FAILED;
    enum shim_outcome outcome = SHIM_PASSED;
    switch (setjmp(shim_end)) {
    case 0:
        test->test_func(&state);
        break;
    case SHIM_SKIPPED:
        outcome = SHIM_SKIPPED;
        break;
    default:
        outcome = SHIM_FAILED;
    }
    if (test->teardown_func && test->teardown_func(&state) != 0)
        outcome = SHIM_FAILED;
    return outcome;
}

/* The number of tests that failed. */
static inline int shim_run(const struct CMUnitTest *tests, size_t count, CMFixtureFunction *setup,
                           CMFixtureFunction *teardown) {
    static const char *const words[] = {"[       OK ] %s\n", "[  FAILED  ] %s\n", "[  SKIPPED ] %s\n"};
    int counts[3] = {0};
    void *state = NULL;
    if (setup && setup(&state) != 0) {
        fprintf(stderr, "the set-up failed\n");
        return 1;
    }
    for (size_t n = 0; n < count; n++) {
        printf("[ RUN      ] %s\n", tests[n].name);
        struct CMUnitTest test = tests[n];
        if (!test.initial_state)
            test.initial_state = state;
        enum shim_outcome outcome = shim_run_one(&test);
        counts[outcome]++;
        printf(words[outcome], test.name);
    }
    if (teardown && teardown(&state) != 0) {
        fprintf(stderr, "the tear-down failed\n");
        counts[SHIM_FAILED]++;
    }
    printf("passed %d, failed %d, skipped %d\n", counts[SHIM_PASSED], counts[SHIM_FAILED], counts[SHIM_SKIPPED]);
    return counts[SHIM_FAILED];
}

#endif
