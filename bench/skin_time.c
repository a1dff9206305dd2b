#include "skin_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Long enough for the clock, short enough that most rounds are not interrupted. */
#define ROUND_SECONDS 2e-4

void *skin_array(size_t count, size_t size) {
    void *out = aligned_alloc(64, (count * size + 64) / 64 * 64);
    if (!out) {
        fprintf(stderr, "bench_skin: out of memory\n");
        exit(1);
    }
    memset(out, 0, (count * size + 64) / 64 * 64);
    return out;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run_times(const skin_step *step, int times) {
    double start = now();
    for (int t = 0; t < times; t++)
        step->run(step->user);
    return now() - start;
}

void skin_time(skin_step *steps, size_t count, int rounds) {
    for (size_t s = 0; s < count; s++)
        steps[s].seconds = INFINITY;
    for (int r = 0; r < rounds; r++)
        for (size_t s = 0; s < count; s++) {
            double once = run_times(&steps[s], 1); /* also brings its arrays into the cache */
            int times = 1 + (int)fmin(1000, ROUND_SECONDS / fmax(once, 1e-9));
            steps[s].seconds = fmin(steps[s].seconds, run_times(&steps[s], times) / times);
        }
}

skin_copy skin_copy_make(size_t bytes) {
    return (skin_copy){skin_array(bytes, 1), skin_array(bytes, 1), bytes};
}

void skin_copy_drop(skin_copy *copy) {
    free(copy->from);
    free(copy->to);
}

void skin_copy_run(void *user) {
    skin_copy *copy = user;
    memcpy(copy->to, copy->from, copy->bytes);
    __asm__ volatile("" : : "r"(copy->to) : "memory"); /* the copy must happen */
}

/* ---- Errors ----------------------------------------------------------------------------------------------- */

static void blend(const pelt_skin_job *job, size_t i, double m[12]) {
    memset(m, 0, 12 * sizeof *m);
    for (size_t k = 0; k < job->influence_count; k++) {
        size_t at = i * job->influence_count + k;
        for (int e = 0; e < 12; e++)
            m[e] += (double)job->weights[at] * (double)job->palette[job->bones[at]].m[e];
    }
}

static double vertex_error(const pelt_skin_job *job, size_t i) {
    const float *p = job->positions + 3 * i, *rest = job->normals + 3 * i;
    double m[12], n[3], off = 0, size = 0, length = 0, turned = 0, terms = 0;
    blend(job, i, m);
    for (int r = 0; r < 3; r++) {
        const double *a = m + 4 * ((r + 1) % 3), *b = m + 4 * ((r + 2) % 3), *row = m + 4 * r;
        double is = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
        off += pow(is - (double)job->out_positions[3 * i + r], 2);
        size = fmax(size, fabs(row[0] * p[0]) + fabs(row[1] * p[1]) + fabs(row[2] * p[2]) + fabs(row[3]));
        n[r] = (a[1] * b[2] - a[2] * b[1]) * rest[0] + (a[2] * b[0] - a[0] * b[2]) * rest[1] +
               (a[0] * b[1] - a[1] * b[0]) * rest[2];
        terms =
            fmax(terms, fabs(a[1] * b[2] * rest[0]) + fabs(a[2] * b[1] * rest[0]) + fabs(a[2] * b[0] * rest[1]) +
                            fabs(a[0] * b[2] * rest[1]) + fabs(a[0] * b[1] * rest[2]) + fabs(a[1] * b[0] * rest[2]));
        length += n[r] * n[r];
    }
    for (int r = 0; r < 3; r++)
        turned += pow(n[r] - sqrt(length) * (double)job->out_normals[3 * i + r], 2);
    return fmax(size > 0 ? sqrt(off) / size : 0, terms > 0 ? sqrt(turned) / terms : 0);
}

double skin_error(const pelt_skin_job *job) {
    double largest = 0;
    for (size_t i = 0; i < job->vertex_count; i++)
        largest = fmax(largest, vertex_error(job, i));
    return largest;
}
