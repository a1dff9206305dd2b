/* Signals that interrupt reading and writing. POSIX systems only: Windows has neither these signals nor named pipes in folders. */
#include "support.h"

#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_int alarms;

static void on_alarm(int number) {
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

static void wait_for_alarms(int count) {
    for (int end = atomic_load(&alarms) + count; atomic_load(&alarms) < end;)
        usleep(1000);
}

#define PIPE_SIZE ((size_t)1 << 18) /* larger than a pipe's buffer: the writer waits for the reader */

typedef struct pipe_end {
    const char *path;
    bool reads;
    size_t done; /* bytes */
} pipe_end;

/* The other end of the pipe: opens late and is slow, so that each call of the main thread is interrupted. */
static void *run_slow_end(void *user) {
    static char bytes[PIPE_SIZE];
    pipe_end *end = user;
    wait_for_alarms(3);
    int pipe = open(end->path, end->reads ? O_RDONLY : O_WRONLY);
    wait_for_alarms(3);
    for (ssize_t size = 1; size > 0 && end->done<PIPE_SIZE; end->done += size> 0 ? (size_t)size : 0)
        size = end->reads ? read(pipe, bytes, PIPE_SIZE) : write(pipe, bytes, PIPE_SIZE - end->done);
    close(pipe);
    return NULL;
}

/* Signals that do not cancel interrupt open, read and write (EINTR); the calls are repeated. */
static void test_interrupted_calls(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0666), 0);
    struct sigaction action = {.sa_handler = on_alarm}, before; /* without SA_RESTART */
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    char *bytes = calloc(PIPE_SIZE, 1);
    pipe_end ends[2] = {{.path = path, .reads = true}, {.path = path, .reads = false}};
    for (size_t n = 0; n < 2; n++) {
        pthread_t thread;
        pthread_sigmask(SIG_BLOCK, &alarm_only, NULL); /* inherited: only the main thread gets signals */
        int failed = pthread_create(&thread, NULL, run_slow_end, &ends[n]);
        pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
        if (failed == EAGAIN && n == 0) { /* one thread alone cannot be at both ends (WebAssembly) */
            free(bytes);
            test_end(&test);
            skip();
        }
        assert_int_equal(failed, 0);
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 3000}, {0, 3000}}, NULL);
        px_arena *arena = px_arena_create(test.context);
        px_file file = {.size = PIPE_SIZE};
        pelt_result result =
            ends[n].reads ? pelt_file_write(test.context, path, bytes, PIPE_SIZE) : px_file_open(arena, path, &file);
        pthread_join(thread, NULL);
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
        test_ok(&test, result);
        assert_true(ends[n].done == PIPE_SIZE && file.size == PIPE_SIZE);
        px_arena_destroy(arena);
    }
    free(bytes);
    sigaction(SIGALRM, &before, NULL);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interrupted_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
