/* The platform layer of programs on POSIX systems. */
#include "core/platform.h"

#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void px_program_begin(int *count, char ***arguments) {
    (void)count, (void)arguments; /* bytes already */
}

/* Linux and its like, Solaris, NetBSD. Programs elsewhere are not told where they are. */
bool px_program_path(char path[PX_PATH_SIZE]) {
    static const char *const links[] = {"/proc/self/exe", "/proc/curproc/exe", "/proc/self/path/a.out"};
    for (size_t n = 0; n < sizeof links / sizeof *links; n++)
        if (px_path_real(links[n], path))
            return true;
    return false;
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
