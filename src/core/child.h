/* Programs that a program runs: part of the platform layer (platform.h), in program_posix.c and program_windows.c. */
#ifndef PELT_CORE_CHILD_H
#define PELT_CORE_CHILD_H

#include "core/platform.h"

void px_program_sleep(double seconds);

/* A program that this one runs. */
typedef struct px_child {
    uint64_t process; /* 0: none, or it has ended */
    uint64_t handle;
} px_child;
/* Starts arguments[0] with these arguments, the last of which is NULL. Its output and messages go to a new file; it gets no input, and of the
 * environment all variables but those whose names begin with one of `without`, the last of which is NULL. */
bool px_child_start(px_child *child, const char *const *arguments, const char *output, const char *const *without);
/* True if the program has ended: *code is its exit code, or 1000 plus the signal that ended it; *seconds the CPU time that it took. */
bool px_child_ended(px_child *child, int *code, double *seconds);
/* Requests an orderly end, or ends it at once. */
void px_child_stop(const px_child *child, bool at_once);

#endif
