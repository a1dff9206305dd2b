/* Shared by unit tests: a heap that counts and can fail, a context that records, random numbers, the path of the real
 * data. Everything is static inline, so that a test program uses only what it needs. */
#ifndef PELT_TESTS_SUPPORT_H
#define PELT_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/platform.h"

#include <pelt/pelt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Long tests ------------------------------------------------------------------------------------------- */

/* Whether every case is to run, as with `make test-all`; else tests of many alike cases take a few. */
static inline bool test_all(void) {
    return getenv("PELT_ALL");
}

static inline void test_left_out(void **state) {
    (void)state;
    skip();
}

/* In place of cmocka_unit_test, for tests that take long and differ from shorter ones in scenes, sizes or settings rather than in the
 * code they enter: left out where PELT_SHORT is set, as `make test` does under sanitizers, which make them several times as long. */
#define test_long(f)                                                                                                   \
    { #f, getenv("PELT_SHORT") ? test_left_out : f, NULL, NULL, NULL }

/* ---- Random numbers: the same everywhere ------------------------------------------------------------------ */

typedef struct test_random {
    uint64_t state;
} test_random;

/* SplitMix64. */
static inline uint64_t test_random_bits(test_random *random) {
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* 0 to limit - 1. */
static inline uint32_t test_random_below(test_random *random, uint32_t limit) {
    return (uint32_t)((test_random_bits(random) >> 32) * limit >> 32);
}

/* In [min, max). */
static inline double test_random_real(test_random *random, double min, double max) {
    return min + (max - min) * (double)(test_random_bits(random) >> 11) * 0x1p-53;
}

/* ---- A context that records ------------------------------------------------------------------------------- */

typedef struct test_context {
    pelt_context *context;
    _Atomic uint64_t allocations; /* allocations so far */
    _Atomic uint64_t fail_at;     /* index of the allocation that fails, from 1; 0: none */
    bool fail_after;              /* all later ones fail too */
    _Atomic int64_t live_size;    /* bytes */
    char log[4096];               /* all messages, one per line; truncated when full */
    uint32_t warning_count;
    uint32_t progress_count;    /* calls */
    double progress_last;       /* fraction of the last call */
    _Atomic uint64_t asked;     /* number of cancel polls */
    _Atomic uint64_t cancel_at; /* index of the poll that cancels, as do all later ones; 0: none */
} test_context;

static inline void *test_resize(void *user, void *pointer, size_t old_size, size_t new_size) {
    test_context *test = (test_context *)user;
    if (new_size == 0) {
        atomic_fetch_sub(&test->live_size, (int64_t)old_size);
        free(pointer);
        return NULL;
    }
    uint64_t number = atomic_fetch_add(&test->allocations, 1) + 1, fail_at = atomic_load(&test->fail_at);
    if (fail_at && (number == fail_at || (test->fail_after && number > fail_at)))
        return NULL;
    if ((uint64_t)new_size >> 40) /* sanitizers would abort the program instead */
        return NULL;
    void *block = realloc(pointer, new_size);
    if (block)
        atomic_fetch_add(&test->live_size, (int64_t)new_size - (int64_t)old_size);
    return block;
}

static inline void test_log(void *user, pelt_log_level level, const char *text) {
    test_context *test = (test_context *)user;
    test->warning_count += level == PELT_LOG_WARNING;
    size_t used = strlen(test->log);
    snprintf(test->log + used, sizeof test->log - used, "%s\n", text);
}

static inline void test_progress(void *user, const char *phase, double fraction) {
    test_context *test = (test_context *)user;
    assert_non_null(phase);
    assert_true(fraction >= 0 && fraction <= 1);
    test->progress_count++;
    test->progress_last = fraction;
}

static inline bool test_cancel(void *user) {
    test_context *test = (test_context *)user;
    uint64_t number = atomic_fetch_add(&test->asked, 1) + 1, cancel_at = atomic_load(&test->cancel_at);
    return cancel_at && number >= cancel_at;
}

/* The settings of such a context, to be changed before test_begin_with. */
static inline pelt_context_desc test_desc(test_context *test, uint32_t thread_count) {
    memset(test, 0, sizeof *test);
    pelt_context_desc desc = pelt_context_desc_default();
    desc.resize = test_resize;
    desc.thread_count = thread_count;
    desc.log = test_log;
    desc.progress = test_progress;
    desc.cancel = test_cancel;
    desc.resize_user = desc.log_user = desc.progress_user = desc.cancel_user = test;
    return desc;
}

static inline pelt_context *test_begin_with(test_context *test, const pelt_context_desc *desc) {
    assert_int_equal(pelt_context_create(desc, &test->context), PELT_OK);
    return test->context;
}

static inline pelt_context *test_begin(test_context *test, uint32_t thread_count) {
    pelt_context_desc desc = test_desc(test, thread_count);
    return test_begin_with(test, &desc);
}

/* Destroys the context; unfreed memory is a failure. */
static inline void test_end(test_context *test) {
    pelt_context_destroy(test->context);
    assert_int_equal(atomic_load(&test->live_size), 0);
}

/* Asserts success; otherwise the test prints the error message. */
static inline void test_ok(const test_context *test, pelt_result result) {
    if (result != PELT_OK)
        fail_msg("%s: %s", pelt_result_name(result), pelt_error_text(test->context));
}

/* Asserts this error, with these words in its message. */
static inline void test_fails(const test_context *test, pelt_result result, pelt_result wanted, const char *words) {
    const char *text = pelt_error_text(test->context);
    if (result != wanted || !strstr(text, words))
        fail_msg("wanted %s with '%s', got %s: %s", pelt_result_name(wanted), words, pelt_result_name(result), text);
}

/* A text that is no valid file, and words of the message. */
typedef struct test_bad_text {
    const char *text, *words;
} test_bad_text;
/* Asserts that every text, read as a file of this name, is refused and leaves no model. */
static inline void test_texts_are_rejected(const test_bad_text *cases, size_t count, const char *name) {
    for (size_t c = 0; c < count; c++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model;
        pelt_result result = pelt_load_memory(test.context, cases[c].text, strlen(cases[c].text), name, NULL, &model);
        assert_true(result == PELT_ERROR_INPUT || result == PELT_ERROR_UNSUPPORTED);
        test_fails(&test, result, result, cases[c].words);
        assert_null(model);
        test_end(&test);
    }
}

/* Runs `run` in a new context whose allocation `fail_at` (and, with `after`, all later ones) fails. It must fail with
 * ERROR_MEMORY and a message, or succeed without that block; nothing may leak. `run` must destroy what it created.
 * Returns the number of allocations. */
typedef pelt_result test_run_fn(pelt_context *context, void *user);
static inline uint64_t test_fail_allocation(uint32_t thread_count, uint64_t fail_at, bool after, test_run_fn *run,
                                            void *user) {
    test_context test;
    test_begin(&test, thread_count);
    test.fail_after = after;
    uint64_t before = atomic_load(&test.allocations);
    atomic_store(&test.fail_at, before + fail_at);
    pelt_result result = run(test.context, user);
    uint64_t asked = atomic_load(&test.allocations) - before;
    const char *text = pelt_error_text(test.context);
    if (result != PELT_OK && (asked < fail_at || result != PELT_ERROR_MEMORY || !*text))
        fail_msg("allocation %llu of %llu: %s: '%s'", (unsigned long long)fail_at, (unsigned long long)asked,
                 pelt_result_name(result), text);
    test_end(&test);
    return asked;
}

/* Whether the thread sanitizer is built in. */
static inline bool test_under_thread_sanitizer(void) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return true;
#endif
#endif
    return false;
}

/* The thread sanitizer finds nothing on one thread, and such loops take half of the test time. */
static inline bool test_sees_nothing(uint32_t thread_count) {
    return thread_count == 1 && test_under_thread_sanitizer();
}

/* Fails the first, second, third … allocation (in the second pass, all later ones too), until `run` no longer reaches
 * the failing one. Without test_all(), ever fewer after the first 64: every second, every third … */
static inline void test_fail_each_allocation(uint32_t thread_count, test_run_fn *run, void *user) {
    if (test_sees_nothing(thread_count))
        return;
    for (int after = 0; after < 2; after++)
        for (uint64_t fail_at = 1; test_fail_allocation(thread_count, fail_at, after, run, user) >= fail_at;)
            fail_at += test_all() ? 1 : 1 + fail_at / 64;
}

/* The same with too many allocations to test each: about `most` of them with test_all(), else a third, evenly spaced; the second pass
 * tests others. */
static inline void test_fail_some_allocations(uint32_t thread_count, uint64_t most, test_run_fn *run, void *user) {
    if (test_sees_nothing(thread_count))
        return;
    uint64_t count = test_fail_allocation(thread_count, UINT64_MAX / 2, false, run, user);
    uint64_t step = 1 + count / (test_all() ? most : 1 + most / 3);
    for (int after = 0; after < 2; after++)
        for (uint64_t fail_at = 1 + (after ? step / 2 : 0); fail_at <= count; fail_at += step)
            test_fail_allocation(thread_count, fail_at, after, run, user);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

/* The path of a file in the real data ("bench/horse.obj"); returns whether it exists. Tests run in tests/. */
static inline bool test_has_data(char path[static 1024], const char *name) {
    const char *folder = getenv("PELT_DATA");
    snprintf(path, 1024, "%s/%s", folder ? folder : "../../shared/data", name);
    if (access(path, R_OK) == 0)
        return true;
    printf("no real data at %s\n", path);
    return false;
}

/* The same; skips the test if the file does not exist. Call it before allocating. A program all of whose tests need
 * data returns TEST_SKIP. */
#define TEST_SKIP 77
static inline void test_data(char path[static 1024], const char *name) {
    if (!test_has_data(path, name))
        skip();
}

/* Whether this build can read a file of the real data: one of them has EXT_meshopt_compression. */
static inline bool test_can_read(const char *path) {
    size_t length = strlen(path), end = strlen("facecap.glb");
    if (TEST_MESHOPTIMIZER || length < end || strcmp(path + length - end, "facecap.glb") != 0)
        return true;
    printf("left out, this build has no meshoptimizer: %s\n", path);
    return false;
}

/* Makes a new folder for a test's files. */
static inline void test_folder(char path[static 1024]) {
    const char *base = getenv("TMPDIR");
    int number = 0;
    do
        snprintf(path, 1024, "%s/pelt_test_%u_%d", base ? base : "/tmp", px_process_id(), number);
    while (!px_folder_make(path) && ++number < 1000);
    assert_true(number < 1000);
}

#endif
