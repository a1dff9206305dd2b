/* What the parts of bench_skin share: steps that are timed in turns, the plain loop, errors. */
#ifndef PELT_BENCH_SKIN_BENCH_H
#define PELT_BENCH_SKIN_BENCH_H

#include <pelt/run.h>

/* Something to be timed. */
typedef struct skin_step {
    void (*run)(void *user);
    void *user;
    double seconds; /* one run, the fastest of all rounds */
} skin_step;

/* Times steps that take turns, so that all meet the same conditions. Machines are shared: the fastest of `rounds` says
 * most about the step itself. Short steps are repeated until a clock can tell. */
void skin_time(skin_step *steps, size_t count, int rounds);

/* A step that copies `bytes`. */
typedef struct skin_copy {
    char *from, *to;
    size_t bytes;
} skin_copy;
skin_copy skin_copy_make(size_t bytes);
void skin_copy_drop(skin_copy *copy);
void skin_copy_run(void *user);

/* Positions and normals of a linear job, one vertex after the other. */
void skin_plain(const pelt_skin_job *job);

/* The largest error of a linear job's results against double precision, relative to the size of the terms that are
 * added. */
double skin_error(const pelt_skin_job *job);

/* Zeroed, at an address of its own cache line; ends the program where there is no memory. */
void *skin_array(size_t count, size_t size);

/* The table of the real rigs. */
void skin_print_rigs(int rounds);

#endif
