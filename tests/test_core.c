/* core/context.c, arena.c, parallel.c, options.c, model.c. */
#include "support.h"

#include "core/core.h"
#include "core/poison.h"

#include <math.h>

/* ---- Context ---------------------------------------------------------------------------------------------- */

static void results_have_names(void **state) {
    (void)state;
    assert_string_equal(pelt_result_name(PELT_OK), "PELT_OK");
    assert_string_equal(pelt_result_name(PELT_ERROR_CANCELLED), "PELT_ERROR_CANCELLED");
    assert_string_equal(pelt_result_name((pelt_result)99), "PELT_UNKNOWN");
    assert_string_equal(pelt_result_text(PELT_ERROR_OUTPUT), "an output could not be written");
    assert_true(pelt_result_text((pelt_result)99)[0] != 0);
    assert_string_equal(pelt_version(), PELT_VERSION);
}

static void context_settings(void **state) {
    (void)state;
    pelt_context *context;
    assert_int_equal(pelt_context_create(NULL, &context), PELT_OK);
    assert_true(px_thread_count(context) >= 1);
    assert_string_equal(pelt_error_text(context), "");
    pelt_context_destroy(context);
    pelt_context_destroy(NULL);
    pelt_context_desc desc = pelt_context_desc_default();
    desc.thread_count = 257;
    assert_int_equal(pelt_context_create(&desc, &context), PELT_ERROR_USAGE);
    assert_null(context);
    desc.thread_count = 256;
    desc.resize = NULL; /* the default heap */
    assert_int_equal(pelt_context_create(&desc, &context), PELT_OK);
    assert_int_equal(px_thread_count(context), 256);
    pelt_context_destroy(context);
    test_context test;
    desc = test_desc(&test, 1);
    atomic_store(&test.fail_at, 1);
    assert_int_equal(pelt_context_create(&desc, &context), PELT_ERROR_MEMORY);
    assert_null(context);
}

static void errors_and_messages(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    assert_int_equal(px_fail(context, PELT_ERROR_INPUT, "row %d is \x1b[31mred\n", 3), PELT_ERROR_INPUT);
    assert_string_equal(pelt_error_text(context), "row 3 is ?[31mred?");
    assert_null(px_subject(context, "horse.glb"));
    px_fail(context, PELT_ERROR_INPUT, "was: %s", pelt_error_text(context)); /* the context's own text as an argument */
    assert_string_equal(pelt_error_text(context), "horse.glb: was: row 3 is ?[31mred?");
    px_log(context, PELT_LOG_WARNING, "%u joints", 5u);
    assert_string_equal(px_subject(context, NULL), "horse.glb");
    px_log(context, PELT_LOG_DEBUG, "done");
    assert_string_equal(test.log, "horse.glb: 5 joints\ndone\n");
    assert_int_equal(test.warning_count, 1);
    char long_text[5000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    px_fail(context, PELT_ERROR_INPUT, "%s", long_text);
    assert_true(strlen(pelt_error_text(context)) > 500 && strlen(pelt_error_text(context)) < 2000);
    px_subject(context, long_text);
    px_fail(context, PELT_ERROR_INPUT, "%s", "end");
    assert_true(strlen(pelt_error_text(context)) < 2000);
    test_end(&test);
}

static void progress_and_cancel(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    test_ok(&test, px_progress(context, "read", 1, 4));
    assert_true(test.progress_last == 0.25);
    test_ok(&test, px_progress(context, "read", 0, 0));
    assert_true(test.progress_last == 1);
    atomic_store(&test.cancel_at, 1);
    test_fails(&test, px_progress(context, "read", 1, 4), PELT_ERROR_CANCELLED, "cancelled");
    test_fails(&test, px_cancelled(context), PELT_ERROR_CANCELLED, "cancelled");
    test_end(&test);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

static bool is_zero(const char *bytes, size_t size) {
    for (size_t b = 0; b < size; b++)
        if (bytes[b])
            return false;
    return true;
}

static void allocation_is_counted(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    for (size_t size = 0; size < 300; size += 7) {
        char *block = px_alloc(context, 1, size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        assert_true(is_zero(block, size));
        memset(block, 0xAA, size);
        px_free(context, block);
    }
    px_free(context, NULL);
    assert_int_equal(pelt_context_memory(context).current, 0);
    assert_int_equal(pelt_context_memory(context).peak, 294);
    uint64_t count = pelt_context_memory(context).count;
    char *block = px_alloc(context, 10, 10);
    for (int b = 0; b < 100; b++)
        block[b] = (char)b;
    block = px_resize(context, block, 50, 10);
    for (int b = 0; b < 100; b++)
        assert_int_equal(block[b], b);
    assert_int_equal((uintptr_t)block % 64, 0);
    assert_int_equal(pelt_context_memory(context).current, 500);
    assert_int_equal(pelt_context_memory(context).count, count + 2);
    atomic_store(&test.fail_at, atomic_load(&test.allocations) + 1);
    assert_null(px_resize(context, block, 90, 10));
    assert_int_equal(block[99], 99); /* still valid */
    block = px_resize(context, block, 5, 10);
    assert_int_equal(block[49], 49);
    px_free(context, block);
    test_end(&test);
}

static void too_much_memory(void **state) {
    (void)state;
    test_context test;
    pelt_context_desc desc = test_desc(&test, 1);
    desc.memory_limit = 1000;
    pelt_context *context = test_begin_with(&test, &desc);
    void *block = px_alloc(context, 1, 1000);
    assert_non_null(block);
    assert_null(px_alloc(context, 1, 1));
    assert_non_null(strstr(pelt_error_text(context), "limit of 1000 bytes"));
    px_free(context, block);
    assert_null(px_alloc(context, 1, 1001));
    assert_null(px_alloc(context, SIZE_MAX / 2, 3)); /* the product overflows */
    assert_null(px_alloc(context, SIZE_MAX, 1));
    assert_int_equal(px_mul_size(SIZE_MAX / 2, 3), SIZE_MAX);
    assert_int_equal(px_mul_size(1000, 3), 3000);
    assert_int_equal(pelt_context_memory(context).peak, 1000); /* failed allocations do not count */
    assert_int_equal(pelt_context_memory(context).count, 1);
    assert_int_equal(pelt_context_memory(context).current, 0);
    test_end(&test);
    context = test_begin(&test, 1);
    atomic_store(&test.fail_at, atomic_load(&test.allocations) + 1);
    assert_null(px_alloc(context, 1000, 1)); /* refused by the heap */
    assert_string_equal(pelt_error_text(context), "out of memory");
    assert_int_equal(pelt_context_memory(context).peak, 0);
    test_end(&test);
}

static uint32_t released[4], released_count;

static void note_release(void *user) {
    released[released_count++] = *(uint32_t *)user;
}

/* AddressSanitizer knows the bytes around every array. */
static void overruns_are_seen(void **state) {
    (void)state;
#ifdef PX_POISONS
    test_context test;
    test_begin(&test, 1);
    px_arena *arena = px_arena_create(test.context);
    for (size_t size = 1; size < 200; size += 7) {
        char *arrays[] = {px_arena_alloc(arena, size, 1), px_arena_text(arena, "", 0), px_alloc(test.context, size, 1)};
        size_t sizes[] = {size, 1, size};
        for (int n = 0; n < 3; n++) {
            assert_false(__asan_address_is_poisoned(arrays[n]));
            assert_false(__asan_address_is_poisoned(arrays[n] + sizes[n] - 1));
            assert_true(__asan_address_is_poisoned(arrays[n] + sizes[n]));
        }
        assert_true(__asan_address_is_poisoned(arrays[2] - 1));
        px_free(test.context, arrays[2]);
    }
    px_arena_destroy(arena);
    test_end(&test);
#else
    skip(); /* not a build with AddressSanitizer */
#endif
}

static void arenas(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    px_arena *arena = px_arena_create(context);
    assert_ptr_equal(px_arena_context(arena), context);
    enum { BLOCKS = 3000 };
    static char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    test_random random = {2};
    for (int b = 0; b < BLOCKS; b++) {
        sizes[b] = test_random_below(&random, b % 50 == 0 ? 100000 : b % 3 ? 40 : 900);
        blocks[b] = b % 7 == 6 ? px_arena_text(arena, "abc", 3) : px_arena_alloc(arena, sizes[b], 1);
        assert_non_null(blocks[b]);
        if (b % 7 == 6) {
            assert_string_equal(blocks[b], "abc");
            sizes[b] = 4;
        } else {
            assert_int_equal((uintptr_t)blocks[b] % (sizes[b] >= 64 ? 64 : 16), 0);
            assert_true(is_zero(blocks[b], sizes[b]));
        }
        memset(blocks[b], b & 0x7F, sizes[b]);
    }
    for (int b = 0; b < BLOCKS; b++) /* no block overlaps another */
        for (size_t e = 0; e < sizes[b]; e++)
            assert_true(blocks[b][e] == (b & 0x7F));
    assert_null(px_arena_alloc(arena, SIZE_MAX, 1));
    assert_null(px_arena_alloc(arena, SIZE_MAX / 2, 4));
    assert_null(px_arena_alloc(arena, 1, SIZE_MAX - 10));
    assert_null(px_arena_text(arena, "", SIZE_MAX));
    uint32_t numbers[3] = {1, 2, 3};
    for (int n = 0; n < 3; n++)
        test_ok(&test, px_arena_defer(arena, note_release, &numbers[n]));
    released_count = 0;
    px_arena_destroy(arena);
    assert_int_equal(released_count, 3);
    assert_true(released[0] == 3 && released[1] == 2 && released[2] == 1);
    px_arena_destroy(NULL);
    test_end(&test);
}

static pelt_result use_arena(pelt_context *context, void *user) {
    (void)user;
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    uint32_t number = 1;
    released_count = 0;
    bool large = px_arena_alloc(arena, 100, 1000) && px_arena_alloc(arena, 100, 1);
    pelt_result result = px_arena_defer(arena, note_release, &number);
    px_arena_destroy(arena);
    assert_int_equal(released_count, 1); /* immediately on failure, or with the arena */
    return large ? result : PELT_ERROR_MEMORY;
}

static void arena_without_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, use_arena, NULL);
}

static void model_memory(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, pelt_model_create(context, &model));
    assert_string_equal(model->path, "");
    for (size_t count = 0; count < 20; count++) {
        char *block = pelt_model_alloc(context, model, count, 3);
        assert_true((uintptr_t)block % 64 == 0 && is_zero(block, 3 * count));
        assert_string_equal(pelt_model_text(context, model, "tail"), "tail");
    }
    assert_null(pelt_model_alloc(context, model, SIZE_MAX, 2));
    test_ok(&test, pelt_model_validate(context, model));
    pelt_model_destroy(model);
    pelt_model_destroy(NULL);
    atomic_store(&test.fail_at, atomic_load(&test.allocations) + 1);
    assert_int_equal(pelt_model_create(context, &model), PELT_ERROR_MEMORY);
    assert_null(model);
    test_end(&test);
}

/* ---- Parallel loops --------------------------------------------------------------------------------------- */

enum { ELEMENTS = 100000, BLOCK = 777 };

typedef struct sum_job {
    pelt_context *context;
    double *blocks;       /* [block] */
    _Atomic uint8_t *hit; /* [element] */
    size_t fail_first;    /* blocks from this one on fail; SIZE_MAX: none fail */
    _Atomic uint32_t inner;
} sum_job;

static pelt_result sum_block(void *user, size_t first, size_t count, size_t block) {
    sum_job *job = user;
    assert_int_equal(first, block * BLOCK);
    assert_true(count <= BLOCK && first + count <= ELEMENTS);
    double sum = 0;
    for (size_t e = first; e < first + count; e++) {
        sum += 1.0 / (double)(e + 1);
        atomic_fetch_add(&job->hit[e], 1);
    }
    job->blocks[block] = sum;
    if (block >= job->fail_first)
        return px_fail(job->context, PELT_ERROR_INPUT, "block %zu is bad", block);
    return PELT_OK;
}

typedef struct host_job {
    pelt_task_fn *task;
    void *task_user;
    uint32_t index;
} host_job;

static void pool_thread(void *user) {
    host_job *job = user;
    job->task(job->task_user, job->index);
}

/* A host scheduler that runs tasks in reverse, each on its own thread, or on this one where there are no others (WebAssembly). */
static void host_run(void *user, uint32_t task_count, pelt_task_fn *task, void *task_user) {
    px_thread threads[256];
    host_job jobs[256];
    bool started[256];
    ++*(uint32_t *)user;
    for (uint32_t t = task_count; t-- > 0;) {
        jobs[t] = (host_job){task, task_user, t};
        started[t] = px_thread_start(&threads[t], pool_thread, &jobs[t]);
        if (!started[t])
            pool_thread(&jobs[t]);
    }
    for (uint32_t t = 0; t < task_count; t++)
        if (started[t])
            px_thread_join(&threads[t]);
}

static double sum_with(uint32_t thread_count, bool host) {
    test_context test;
    pelt_context_desc desc = test_desc(&test, thread_count);
    uint32_t host_calls = 0;
    if (host) {
        desc.run_tasks = host_run;
        desc.run_tasks_user = &host_calls;
    }
    pelt_context *context = test_begin_with(&test, &desc);
    static double blocks[ELEMENTS / BLOCK + 1];
    static _Atomic uint8_t hit[ELEMENTS];
    double sum = 0;
    for (int again = 0; again < 5; again++) { /* the same pool again */
        memset(hit, 0, sizeof hit);
        sum_job job = {context, blocks, hit, SIZE_MAX, 0};
        test_ok(&test, px_parallel(context, "sum", ELEMENTS, BLOCK, sum_block, &job));
        sum = 0;
        for (size_t b = 0; b < px_block_count(ELEMENTS, BLOCK); b++)
            sum += blocks[b];
        for (size_t e = 0; e < ELEMENTS; e++)
            assert_int_equal(hit[e], 1);
        assert_true(test.progress_last == 1);
    }
    assert_int_equal(host_calls, host ? 5 : 0);
    test_end(&test);
    return sum;
}

static void loops_do_every_element_once(void **state) {
    (void)state;
    double one = sum_with(1, false);
    for (uint32_t thread_count = 1; thread_count <= 8; thread_count += thread_count < 3 ? 1 : 5)
        for (int host = 0; host < 2; host++)
            assert_true(sum_with(thread_count, host) == one);
}

static void lowest_failure_is_reported(void **state) {
    (void)state;
    static double blocks[ELEMENTS / BLOCK + 1];
    static _Atomic uint8_t hit[ELEMENTS];
    for (uint32_t thread_count = 1; thread_count <= 8; thread_count += thread_count < 3 ? 1 : 5) {
        test_context test;
        pelt_context *context = test_begin(&test, thread_count);
        for (size_t first = 0; first < px_block_count(ELEMENTS, BLOCK); first += 16) {
            memset(hit, 0, sizeof hit);
            sum_job job = {context, blocks, hit, first, 0};
            char words[40];
            snprintf(words, sizeof words, "block %zu is bad", first);
            test_fails(&test, px_parallel(context, NULL, ELEMENTS, BLOCK, sum_block, &job), PELT_ERROR_INPUT, words);
        }
        test_end(&test);
    }
}

typedef struct race {
    pelt_context *context;
    atomic_bool begun[2];
} race;

/* Both blocks wait for each other (for a second at most: there may be only one thread); the second fails later. */
static pelt_result race_block(void *user, size_t first, size_t count, size_t block) {
    (void)first, (void)count;
    race *r = user;
    atomic_store(&r->begun[block], true);
    for (int wait = 0; wait < 1000 && !atomic_load(&r->begun[1 - block]); wait++)
        usleep(1000);
    if (block == 1)
        usleep(20000);
    return px_fail(r->context, block ? PELT_ERROR_OUTPUT : PELT_ERROR_INPUT, "block %zu is bad", block);
}

static void later_failures_do_not_count(void **state) {
    (void)state;
    test_context test;
    race r = {.context = test_begin(&test, 2)};
    test_fails(&test, px_parallel(r.context, NULL, 2, 1, race_block, &r), PELT_ERROR_INPUT, "block 0 is bad");
    test_end(&test);
}

static void loops_can_be_cancelled(void **state) {
    (void)state;
    static double blocks[ELEMENTS / BLOCK + 1];
    static _Atomic uint8_t hit[ELEMENTS];
    for (uint64_t at = 1; at < 40; at += 13) {
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        atomic_store(&test.cancel_at, at);
        memset(hit, 0, sizeof hit);
        sum_job job = {context, blocks, hit, SIZE_MAX, 0};
        test_fails(&test, px_parallel(context, "sum", ELEMENTS, BLOCK, sum_block, &job), PELT_ERROR_CANCELLED,
                   "cancelled");
        uint32_t done = 0;
        for (size_t e = 0; e < ELEMENTS; e += BLOCK)
            done += hit[e];
        assert_true(done < at);
        test_end(&test);
    }
}

static pelt_result no_block(void *user, size_t first, size_t count, size_t block) {
    (void)user, (void)first, (void)count, (void)block;
    fail();
    return PELT_OK;
}

static pelt_result inner_block(void *user, size_t first, size_t count, size_t block) {
    (void)first, (void)block;
    sum_job *job = user;
    atomic_fetch_add(&job->inner, (uint32_t)count);
    return PELT_OK;
}

static pelt_result outer_block(void *user, size_t first, size_t count, size_t block) {
    (void)first, (void)count, (void)block;
    sum_job *job = user;
    return px_parallel(job->context, "inner", 10, 3, inner_block, job);
}

static void empty_and_nested_loops(void **state) {
    (void)state;
    for (uint32_t thread_count = 1; thread_count < 4; thread_count++)
        for (int host = 0; host < 2; host++) {
            test_context test;
            pelt_context_desc desc = test_desc(&test, thread_count);
            uint32_t host_calls = 0;
            desc.run_tasks = host ? host_run : NULL;
            desc.run_tasks_user = &host_calls;
            pelt_context *context = test_begin_with(&test, &desc);
            test_ok(&test, px_parallel(context, "none", 0, 5, no_block, NULL));
            assert_int_equal(host_calls, 0);
            sum_job job = {.context = context};
            test_ok(&test, px_parallel(context, "outer", 20, 1, outer_block, &job));
            assert_int_equal(job.inner, 200);
            assert_int_equal(host_calls, host);
            test_end(&test);
        }
}

static pelt_result loop_without_memory(pelt_context *context, void *user) {
    (void)user;
    sum_job job = {.context = context};
    PX_TRY(px_parallel(context, "sum", 100, 1, inner_block, &job));
    assert_int_equal(job.inner, 100);
    return PELT_OK;
}

/* Without memory for the pool, a loop runs on one thread. */
static void pool_without_memory(void **state) {
    (void)state;
    test_fail_each_allocation(3, loop_without_memory, NULL);
}

static pelt_result alloc_block(void *user, size_t first, size_t count, size_t block) {
    (void)first, (void)count, (void)block;
    pelt_context *context = ((sum_job *)user)->context;
    for (size_t size = 1; size < 2000; size += 100) {
        char *bytes = px_alloc(context, size, 1);
        if (!bytes)
            return PELT_ERROR_MEMORY;
        bytes = px_resize(context, bytes, 2 * size, 1);
        bytes[2 * size - 1] = 1;
        px_free(context, bytes);
    }
    return PELT_OK;
}

static void allocation_from_threads(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 8);
    sum_job job = {.context = context};
    test_ok(&test, px_parallel(context, NULL, 200, 1, alloc_block, &job));
    size_t pool = pelt_context_memory(context).current; /* memory of the thread pool */
    test_ok(&test, px_parallel(context, NULL, 200, 1, alloc_block, &job));
    assert_int_equal(pelt_context_memory(context).current, pool);
    assert_int_equal(pelt_context_memory(context).count, 2 * 200 * 20 * 2 + 1);
    test_end(&test);
}

/* ---- Options ---------------------------------------------------------------------------------------------- */

typedef struct settings {
    bool loud;
    uint32_t bones, any, kind;
    double rate, error;
    size_t memory;
    const char *name;
    double place[3];
} settings;

static const pelt_option rows[] = {
    {"loud", 'l', PELT_OPTION_FLAG, PELT_FIELD(settings, loud), NULL, 0, 0, NULL, NULL, "be loud"},
    {"bones", 'b', PELT_OPTION_UINT, PELT_FIELD(settings, bones), "30", 1, 1000, NULL, "N", "bones"},
    {"any", 0, PELT_OPTION_UINT, PELT_FIELD(settings, any), NULL, 0, 0, NULL, "N", "any number"},
    {"kind", 0, PELT_OPTION_CHOICE, PELT_FIELD(settings, kind), "rigid", 0, 0, "affine|trs|rigid", NULL, "kind"},
    {"rate", 0, PELT_OPTION_REAL, PELT_FIELD(settings, rate), "29.97", 0.5, 1e3, NULL, "FPS", "frames"},
    {"error", 0, PELT_OPTION_REAL, PELT_FIELD(settings, error), NULL, 0, 0, NULL, "E", "error"},
    {"memory", 0, PELT_OPTION_SIZE, PELT_FIELD(settings, memory), "64M", 0, 0, NULL, "BYTES", "memory"},
    {"name", 0, PELT_OPTION_TEXT, PELT_FIELD(settings, name), NULL, 0, 0, NULL, "TEXT", "name"},
    {"place", 0, PELT_OPTION_VECTOR, PELT_FIELD(settings, place), "1,2,-3", -10, 10, NULL, "X,Y,Z", "place"},
};
static const pelt_preset_value presets[] = {
    {"few", "bones", "3"}, {"few", "loud", NULL}, {"many", "bones", "900"}, {"wrong", "bones", "0"}};
static const pelt_option_table table = {NULL, rows, PX_COUNT(rows), presets, PX_COUNT(presets)};

static void option_defaults(void **state) {
    (void)state;
    settings s;
    memset(&s, 0xAA, sizeof s);
    pelt_options_default(&table, &s);
    assert_true(!s.loud && s.bones == 30 && s.any == 0 && s.kind == 2 && s.rate == 29.97 && s.error == 0);
    assert_true(s.memory == 64u << 20 && !s.name);
    assert_true(s.place[0] == 1 && s.place[1] == 2 && s.place[2] == -3);
}

static void option_values(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    settings s;
    pelt_options_default(&table, &s);
    static const char *const good[][2] = {{"loud", NULL},     {"bones", "1"},       {"any", "4294967294"},
                                          {"kind", "trs"},    {"rate", "+.5"},      {"error", "-1e-300"},
                                          {"memory", "1.5k"}, {"name", "anything"}, {"place", "0,-.5,1e1"}};
    for (size_t g = 0; g < PX_COUNT(good); g++)
        test_ok(&test, pelt_options_set(context, &table, &s, good[g][0], good[g][1]));
    assert_true(s.loud && s.bones == 1 && s.any == 4294967294u && s.kind == 1 && s.rate == 0.5 && s.error == -1e-300);
    assert_true(s.memory == 1536 && strcmp(s.name, "anything") == 0);
    assert_true(s.place[0] == 0 && s.place[1] == -0.5 && s.place[2] == 10);
    settings before = s;
    static const char *const bad[][3] = {
        {"bone", "3", "bone: there is no such option"},
        {"bones", NULL, "needs a value"},
        {"bones", "", "not a whole number"},
        {"bones", "0", "from 1 to 1000"},
        {"bones", "1001", "out of range"},
        {"bones", "2.5", "whole number"},
        {"bones", "2x", "not a whole number"},
        {"bones", "-1", "out of range"},
        {"any", "4294967295", "out of range"},
        {"kind", "tr", "not one of affine|trs|rigid"},
        {"kind", "", "not one of"},
        {"kind", "affine|trs", "not one of"},
        {"rate", "nan", "not a number"},
        {"rate", "inf", "not a number"},
        {"rate", "1e4", "from 0.5 to 1000"},
        {"error", "1e999", "out of range"},
        {"error", "-1e999", "out of range"},
        {"memory", "1T", "not a whole number"},
        {"memory", "K", "not a whole number"},
        {"memory", "1.5", "out of range"},
        {"memory", "1e30", "out of range"},
        {"loud", "maybe", "takes no value"},
        {"place", "1", "three numbers"},
        {"place", "1,2", "three numbers"},
        {"place", "1,2,", "not a number"},
        {"place", "1,2,3,4", "three numbers"},
        {"place", "1,2,11", "from -10 to 10"},
    };
    for (size_t b = 0; b < PX_COUNT(bad); b++) {
        test_fails(&test, pelt_options_set(context, &table, &s, bad[b][0], bad[b][1]), PELT_ERROR_USAGE, bad[b][2]);
        assert_memory_equal(&s, &before, sizeof s);
    }
    test_ok(&test, pelt_options_set(context, &table, &s, "loud", "false"));
    assert_false(s.loud);
    test_end(&test);
}

static void option_presets(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 1);
    settings s;
    pelt_options_default(&table, &s);
    test_ok(&test, pelt_options_set(context, &table, &s, "rate", "5"));
    test_ok(&test, pelt_options_preset(context, &table, &s, "few"));
    assert_true(s.loud && s.bones == 3 && s.rate == 5 && s.kind == 2);
    test_ok(&test, pelt_options_preset(context, &table, &s, "many"));
    assert_true(s.loud && s.bones == 900);
    test_fails(&test, pelt_options_preset(context, &table, &s, "none"), PELT_ERROR_USAGE, "no such preset");
    test_fails(&test, pelt_options_preset(context, &table, &s, "wrong"), PELT_ERROR_USAGE, "from 1 to 1000");
    assert_true(s.bones == 900);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_names),
        cmocka_unit_test(context_settings),
        cmocka_unit_test(errors_and_messages),
        cmocka_unit_test(progress_and_cancel),
        cmocka_unit_test(allocation_is_counted),
        cmocka_unit_test(overruns_are_seen),
        cmocka_unit_test(too_much_memory),
        cmocka_unit_test(arenas),
        cmocka_unit_test(arena_without_memory),
        cmocka_unit_test(model_memory),
        cmocka_unit_test(loops_do_every_element_once),
        cmocka_unit_test(lowest_failure_is_reported),
        cmocka_unit_test(later_failures_do_not_count),
        cmocka_unit_test(loops_can_be_cancelled),
        cmocka_unit_test(empty_and_nested_loops),
        cmocka_unit_test(pool_without_memory),
        cmocka_unit_test(allocation_from_threads),
        cmocka_unit_test(option_defaults),
        cmocka_unit_test(option_values),
        cmocka_unit_test(option_presets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
