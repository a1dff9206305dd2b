/* The platform layer of programs on POSIX systems. */
#include "core/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *own_name;

void px_program_begin(int *count, char ***arguments) {
    own_name = *count > 0 ? (*arguments)[0] : ""; /* bytes already */
}

void px_program_sleep(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* Linux and its like, NetBSD, Solaris; elsewhere only where the program was started by its path. */
bool px_program_path(char path[PX_PATH_SIZE]) {
    static const char *const links[] = {"/proc/self/exe", "/proc/curproc/exe", "/proc/self/path/a.out"};
    for (size_t n = 0; n < sizeof links / sizeof *links; n++)
        if (px_path_real(links[n], path))
            return true;
    return strchr(own_name, '/') && px_path_real(own_name, path);
}

/* ---- Signals ---------------------------------------------------------------------------------------------- */

static atomic_int interrupts;
static int interrupted_code, lost_code;
static const char *lost_message;

static void on_signal(int number) {
    (void)number;
    if (atomic_fetch_add(&interrupts, 1) > 0)
        _exit(interrupted_code);
}

/* SIGBUS: a memory-mapped input was truncated while it was read. */
static void on_lost_input(int number) {
    (void)number;
    ssize_t written = write(STDERR_FILENO, lost_message, strlen(lost_message));
    (void)written;
    _exit(lost_code);
}

/* Without SA_RESTART, a signal interrupts a blocking read of a pipe. */
void px_program_signals(int interrupted, int lost, const char *lost_text) {
    static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
    interrupted_code = interrupted;
    lost_code = lost;
    lost_message = lost_text;
    for (size_t n = 0; n < sizeof stopping / sizeof *stopping; n++) {
        struct sigaction old, action = {.sa_handler = on_signal};
        sigemptyset(&action.sa_mask);
        if (sigaction(stopping[n], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(stopping[n], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGBUS, on_lost_input);
}

bool px_program_interrupted(void) {
    return atomic_load_explicit(&interrupts, memory_order_relaxed) > 0;
}

/* ---- Terminal and browser --------------------------------------------------------------------------------- */

bool px_terminal_draws(FILE *stream) {
    const char *kind = getenv("TERM");
    return isatty(fileno(stream)) && kind && strcmp(kind, "dumb") != 0;
}

extern char **environ;

bool px_page_open(const char *path) {
    static const char *const names[] = {"xdg-open", "open"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char *const arguments[] = {(char *)(uintptr_t)names[n], (char *)(uintptr_t)path, NULL};
        pid_t child;
        int status;
        if (posix_spawnp(&child, names[n], NULL, NULL, arguments, environ) == 0 &&
            waitpid(child, &status, 0) == child && status == 0)
            return true;
    }
    return false;
}

/* ---- Children --------------------------------------------------------------------------------------------- */

static bool begins_with_one(const char *text, const char *const *beginnings) {
    for (; *beginnings; beginnings++)
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

/* The environment, without some variables; freed by the caller. */
static char **environment(const char *const *without) {
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **list = malloc((count + 1) * sizeof *list);
    for (size_t n = 0; list && n < count; n++)
        if (!begins_with_one(environ[n], without))
            list[kept++] = environ[n];
    if (list)
        list[kept] = NULL;
    return list;
}

bool px_child_start(px_child *child, const char *const *arguments, const char *output, const char *const *without) {
    posix_spawn_file_actions_t actions;
    char **variables = environment(without);
    pid_t id = 0;
    *child = (px_child){0};
    if (!variables || posix_spawn_file_actions_init(&actions) != 0) {
        free(variables);
        errno = ENOMEM;
        return false;
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int failed = posix_spawn(&id, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, variables);
    posix_spawn_file_actions_destroy(&actions);
    free(variables);
    child->process = failed ? 0 : (uint64_t)id;
    errno = failed;
    return !failed;
}

bool px_child_ended(px_child *child, int *code, double *seconds) {
    struct rusage used;
    int status;
    if (child->process == 0 || wait4((pid_t)child->process, &status, WNOHANG, &used) != (pid_t)child->process)
        return false;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    *seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    child->process = 0;
    return true;
}

void px_child_stop(const px_child *child, bool at_once) {
    if (child->process)
        kill((pid_t)child->process, at_once ? SIGKILL : SIGTERM);
}
