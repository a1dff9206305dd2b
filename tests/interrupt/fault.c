/* A library to be preloaded (LD_PRELOAD): one fault in a run of a program, at a place that is the same in every run.
 *
 *   PELT_FAULT="memory N"           the N-th allocation fails
 *   PELT_FAULT="file N"             the disk is full from the N-th call on that creates, writes or closes a file
 *   PELT_FAULT="place N"            the N-th call that links or renames a file finds the disk full
 *   PELT_FAULT="INT memory N"       the N-th allocation first raises SIGINT; "TERM file N" and so on likewise
 *   PELT_FAULT_COUNTS=FILE          write "ALLOCATIONS FILE-CALLS RENAMES" there when main returns
 *
 * Only calls made while main runs count, so neither the loader nor what runs at exit (gcov) is hit. Files are written in
 * pieces of at most PIECE bytes, which a file system may do, so that small files have many places too. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PIECE  4096u

enum { MEMORY, FILES, PLACES, CALL_KINDS };
static const char *const kind_names[CALL_KINDS] = {"memory", "file", "place"};

static atomic_bool armed;
static atomic_long counts[CALL_KINDS];
static int fault_kind = -1, fault_signal;
static long fault_at;

/* Counts a call; whether it is to fail. */
static bool fault(int kind) {
    if (!atomic_load(&armed))
        return false;
    long count = atomic_fetch_add(&counts[kind], 1) + 1;
    if (kind != fault_kind)
        return false;
    if (fault_signal) {
        if (count == fault_at)
            raise(fault_signal);
        return false;
    }
    errno = kind == MEMORY ? ENOMEM : ENOSPC;
    return kind == FILES ? count >= fault_at : count == fault_at;
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);

EXPORT void *malloc(size_t size) {
    return fault(MEMORY) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size) {
    return fault(MEMORY) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *pointer, size_t size) {
    return size && fault(MEMORY) ? NULL : __libc_realloc(pointer, size);
}

/* ---- Files ------------------------------------------------------------------------------------------------ */

#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static bool created[1024]; /* [descriptor] opened with O_CREAT */

static bool is_created(int descriptor) {
    return descriptor >= 0 && (size_t)descriptor < sizeof created / sizeof *created && created[descriptor];
}

EXPORT int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
        if (fault(FILES))
            return -1;
    }
    int descriptor = REAL(open)(path, flags, mode);
    if (descriptor >= 0 && (size_t)descriptor < sizeof created / sizeof *created)
        created[descriptor] = flags & O_CREAT;
    return descriptor;
}

EXPORT ssize_t write(int descriptor, const void *data, size_t size) {
    if (!is_created(descriptor))
        return REAL(write)(descriptor, data, size);
    return fault(FILES) ? -1 : REAL(write)(descriptor, data, size < PIECE ? size : PIECE);
}

EXPORT int close(int descriptor) {
    bool fails = is_created(descriptor) && fault(FILES);
    int result = REAL(close)(descriptor);
    if (!fails)
        return result;
    errno = ENOSPC;
    return -1;
}

EXPORT int link(const char *from, const char *to) {
    return fault(PLACES) ? -1 : REAL(link)(from, to);
}

EXPORT int rename(const char *from, const char *to) {
    return fault(PLACES) ? -1 : REAL(rename)(from, to);
}

/* ---- main ------------------------------------------------------------------------------------------------- */

typedef int main_fn(int argc, char **argv, char **environment);
static main_fn *program;

static int run(int argc, char **argv, char **environment) {
    const char *text = getenv("PELT_FAULT");
    char signal_name[8] = "", kind[8] = "";
    if (text && sscanf(text, "%7s %ld", kind, &fault_at) != 2 &&
        sscanf(text, "%7s %7s %ld", signal_name, kind, &fault_at) != 3)
        return 99;
    fault_signal = strcmp(signal_name, "INT") == 0 ? SIGINT : strcmp(signal_name, "TERM") == 0 ? SIGTERM : 0;
    for (int k = 0; k < CALL_KINDS; k++)
        if (strcmp(kind, kind_names[k]) == 0)
            fault_kind = k;
    atomic_store(&armed, true);
    int code = program(argc, argv, environment);
    atomic_store(&armed, false);
    const char *path = getenv("PELT_FAULT_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        for (int k = 0; k < CALL_KINDS; k++)
            fprintf(file, "%ld%c", atomic_load(&counts[k]), k + 1 < CALL_KINDS ? ' ' : '\n');
        fclose(file);
    }
    return code;
}

typedef int start_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
start_fn __libc_start_main;

EXPORT int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end) {
    program = main;
    return REAL(__libc_start_main)(run, argc, argv, init, fini, rtld_fini, stack_end);
}
