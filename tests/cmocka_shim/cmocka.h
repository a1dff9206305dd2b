/* What the unit tests use of cmocka's interface, for platforms that have no libcmocka (PELT_CMOCKA=OFF). A failed assertion prints its
 * place and leaves the test by longjmp. Leaks are not found: test_end of support.h and sanitizers find them. */
#ifndef PELT_TESTS_CMOCKA_H
#define PELT_TESTS_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*CMFixtureFunction)(void **state);
struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    CMFixtureFunction setup, teardown;
    void *state;
};
#define cmocka_unit_test(f)                               ((struct CMUnitTest){#f, f, NULL, NULL, NULL})
#define cmocka_unit_test_prestate(f, data)                ((struct CMUnitTest){#f, f, NULL, NULL, data})
#define cmocka_unit_test_setup_teardown(f, before, after) ((struct CMUnitTest){#f, f, before, after, NULL})
#define cmocka_run_group_tests(tests, before, after)                                                                   \
    unit_run((tests), sizeof(tests) / sizeof *(tests), (before), (after))

#define print_message(...) ((void)printf(__VA_ARGS__))
#define print_error(...)   ((void)fprintf(stderr, __VA_ARGS__))
#define test_malloc        malloc
#define test_calloc        calloc
#define test_realloc       realloc
#define test_free          free

static jmp_buf unit_leave;
enum { UNIT_FAILED = 1, UNIT_SKIPPED };

__attribute__((unused, noreturn)) static void unit_end(const char *file, int line, int how) {
    if (how == UNIT_FAILED)
        printf("%s:%d: error: failure\n", file, line);
    fflush(stdout);
    longjmp(unit_leave, how);
}
#define fail()        unit_end(__FILE__, __LINE__, UNIT_FAILED)
#define skip()        unit_end(__FILE__, __LINE__, UNIT_SKIPPED)
#define fail_msg(...) (printf(__VA_ARGS__), printf("\n"), fail())

/* One assertion: prints `what` and two values where it does not hold. */
__attribute__((unused)) static void unit_check(int good, const char *what, uint64_t a, uint64_t b, const char *file,
                                               int line) {
    if (good)
        return;
    printf("%s: 0x%llx, 0x%llx\n", what, (unsigned long long)a, (unsigned long long)b);
    unit_end(file, line, UNIT_FAILED);
}
__attribute__((unused)) static void unit_compare(uint64_t a, uint64_t b, int equal, const char *what, const char *file,
                                                 int line) {
    unit_check((a == b) == equal, what, a, b, file, line);
}
__attribute__((unused)) static void unit_check_range(uint64_t v, uint64_t low, uint64_t high, const char *what,
                                                     const char *file, int line) {
    unit_check(v >= low && v <= high, what, v, high, file, line);
}
#define UNIT_COMPARE(a, b, equal)  unit_compare((uint64_t)(a), (uint64_t)(b), equal, #a ", " #b, __FILE__, __LINE__)
#define assert_true(c)             unit_check((c) ? 1 : 0, #c, 0, 1, __FILE__, __LINE__)
#define assert_false(c)            unit_check((c) ? 0 : 1, "not: " #c, 1, 0, __FILE__, __LINE__)
#define assert_null(p)             UNIT_COMPARE((uintptr_t)(p), 0, 1)
#define assert_non_null(p)         UNIT_COMPARE((uintptr_t)(p), 0, 0)
#define assert_ptr_equal(a, b)     UNIT_COMPARE((uintptr_t)(a), (uintptr_t)(b), 1)
#define assert_ptr_not_equal(a, b) UNIT_COMPARE((uintptr_t)(a), (uintptr_t)(b), 0)
#define assert_int_equal(a, b)     UNIT_COMPARE(a, b, 1)
#define assert_int_not_equal(a, b) UNIT_COMPARE(a, b, 0)
#define assert_in_range(v, low, high)                                                                                  \
    unit_check_range((uint64_t)(v), (uint64_t)(low), (uint64_t)(high), #v " in " #low " to " #high, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) unit_check(memcmp(a, b, size) == 0, #a " is " #b, 0, 0, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, size)                                                                            \
    unit_check(memcmp(a, b, size) != 0, #a " is not " #b, 0, 0, __FILE__, __LINE__)

__attribute__((unused)) static void unit_check_text(const char *a, const char *b, int equal, const char *file,
                                                    int line) {
    if ((strcmp(a, b) == 0) == equal)
        return;
    printf("\"%s\" %s \"%s\"\n", a, equal ? "!=" : "==", b);
    unit_end(file, line, UNIT_FAILED);
}
#define assert_string_equal(a, b)     unit_check_text(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) unit_check_text(a, b, 0, __FILE__, __LINE__)

__attribute__((unused)) static void unit_check_near(float a, float b, float tolerance, const char *file, int line) {
    float off = a < b ? b - a : a - b;
    if (off <= tolerance)
        return;
    printf("%.9g != %.9g\n", (double)a, (double)b);
    unit_end(file, line, UNIT_FAILED);
}
#define assert_float_equal(a, b, tolerance)                                                                            \
    unit_check_near((float)(a), (float)(b), (float)(tolerance), __FILE__, __LINE__)

/* Runs the tests in order; returns how many failed. */
static int unit_run(const struct CMUnitTest *tests, size_t count, CMFixtureFunction before, CMFixtureFunction after) {
    volatile size_t failed = 0, skipped = 0;
    void *group = NULL;
    if (before && before(&group) != 0)
        return 1;
    for (volatile size_t n = 0; n < count; n++) {
        const struct CMUnitTest *test = &tests[n];
        void *state = test->state ? test->state : group;
        printf("[ RUN      ] %s\n", test->name);
        fflush(stdout);
        int how = setjmp(unit_leave);
        if (how == 0) {
            if (test->setup && test->setup(&state) != 0)
                fail_msg("setup failed");
            test->test(&state);
            if (test->teardown && test->teardown(&state) != 0)
                fail_msg("teardown failed");
        }
        failed += how == UNIT_FAILED;
        skipped += how == UNIT_SKIPPED;
        printf("[ %s ] %s\n", how == 0 ? "      OK" : how == UNIT_FAILED ? "  FAILED" : " SKIPPED", tests[n].name);
    }
    if (after && after(&group) != 0)
        failed++;
    printf("[==========] %zu tests run, %zu failed, %zu skipped\n", count, failed, skipped);
    return (int)failed;
}

#endif
