/* Shared by the parts of bench_skin: steps timed in turns, the plain loop, errors. */
#ifndef PELT_BENCH_SKIN_BENCH_H
#define PELT_BENCH_SKIN_BENCH_H

#include <pelt/run.h>

/* A step to be timed. */
typedef struct skin_step {
    void (*run)(void *user);
    void *user;
    double seconds; /* one run, the fastest of all rounds */
} skin_step;

/* Times steps in turns, so that all have the same conditions. Machines are shared: the fastest of `rounds` is the best
 * estimate. Short steps are repeated until the clock resolves them. */
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

/* Zeroed and aligned to a cache line; exits when out of memory. */
void *skin_array(size_t count, size_t size);

/* The table of the real rigs. */
void skin_print_rigs(int rounds);

#endif
