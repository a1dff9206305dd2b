/* Skinning speed.
 *
 * - Random joints: a generated mesh whose vertices take bones at random, the worst case, 1 to 8 influences.
 * - Real rigs, prepared: their vertices are grouped by bones.
 * - Kernels: every instruction set that gathers, with and without normals and tangents.
 * - Threads.
 *
 * One core's speed differs from machine to machine and from minute to minute, so rows say what share of memcpy's speed
 * the kernel reaches, measured in the same rounds. The bytes are those that the kernel reads in streams (positions,
 * normals, weights, bones; not the palette) and writes. "of memcpy": memcpy copies as many bytes. "of half": it copies
 * half as many, and then reads and writes as many. "× plain C" is the speed against the loop in skin_plain.c, compiled
 * with -O3 -march=native. Errors are relative to double precision and the size of the terms that are added.
 *
 *   bench_skin [TABLE [VERTICES [ROUNDS]]]    TABLE: random, rigs, bodies, threads, or all (default)
 */
#include "skin_bench.h"

#include <pelt/pelt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BONES 60u

typedef struct fixture {
    uint32_t vertex_count;
    pelt_affine *palette;
    pelt_dual_quaternion *dual_quaternions;
    uint16_t *bones; /* [vertex][8] is the most that is used */
    float *weights;
    float *positions, *normals, *tangents;
    float *out_positions, *out_normals, *out_tangents;
} fixture;

static uint64_t random_state = 1;
static double random_real(double min, double max) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return min + (max - min) * (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static pelt_affine random_bone(void) {
    double q[4], length = 0;
    for (int c = 0; c < 4; c++) {
        q[c] = random_real(-1, 1);
        length += q[c] * q[c];
    }
    length = sqrt(length);
    double x = q[0] / length, y = q[1] / length, z = q[2] / length, w = q[3] / length;
    double m[12] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),     random_real(-1, 1),
                    2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),     random_real(-1, 1),
                    2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y), random_real(-1, 1)};
    pelt_affine out;
    for (int e = 0; e < 12; e++)
        out.m[e] = (float)m[e];
    return out;
}

static void make(fixture *f, uint32_t vertex_count) {
    size_t count = f->vertex_count = vertex_count;
    f->palette = skin_array(BONES, sizeof *f->palette);
    f->dual_quaternions = skin_array(BONES, sizeof *f->dual_quaternions);
    for (uint32_t j = 0; j < BONES; j++)
        f->palette[j] = random_bone();
    pelt_dual_quaternions(f->palette, BONES, f->dual_quaternions);
    f->bones = skin_array(count * PELT_MAX_INFLUENCES, sizeof(uint16_t));
    f->weights = skin_array(count * PELT_MAX_INFLUENCES, sizeof(float));
    f->positions = skin_array(count * 3, sizeof(float));
    f->normals = skin_array(count * 3, sizeof(float));
    f->tangents = skin_array(count * 4, sizeof(float));
    f->out_positions = skin_array(count * 3, sizeof(float));
    f->out_normals = skin_array(count * 3, sizeof(float));
    f->out_tangents = skin_array(count * 4, sizeof(float));
    for (size_t i = 0; i < count * PELT_MAX_INFLUENCES; i++)
        f->bones[i] = (uint16_t)random_real(0, BONES);
    for (size_t e = 0; e < 3 * count; e++) {
        f->positions[e] = (float)random_real(-1, 1);
    }
    for (size_t i = 0; i < count; i++) {
        double n[3], length = 0;
        for (int c = 0; c < 3; c++)
            length += pow(n[c] = random_real(-1, 1), 2);
        for (int c = 0; c < 3; c++)
            f->normals[3 * i + (size_t)c] = (float)(n[c] / sqrt(length));
    }
    for (size_t e = 0; e < 4 * count; e++)
        f->tangents[e] = (float)random_real(-1, 1);
}

static void drop(fixture *f) {
    void *arrays[] = {f->palette, f->dual_quaternions, f->bones,         f->weights,     f->positions,
                      f->normals, f->tangents,         f->out_positions, f->out_normals, f->out_tangents};
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
        free(arrays[a]);
}

/* `extra`: 0 positions only, 1 with normals, 2 with tangents too. */
static pelt_skin_job make_job(fixture *f, uint32_t influences, int extra, pelt_skinning skinning) {
    for (size_t i = 0; i < f->vertex_count; i++) {
        double sum = 0, w[PELT_MAX_INFLUENCES];
        for (uint32_t k = 0; k < influences; k++)
            sum += w[k] = random_real(0.1, 1);
        for (uint32_t k = 0; k < influences; k++)
            f->weights[i * influences + k] = (float)(w[k] / sum);
    }
    return (pelt_skin_job){
        .vertex_count = f->vertex_count,
        .influence_count = influences,
        .bones = f->bones,
        .weights = f->weights,
        .palette = f->palette,
        .dual_quaternions = f->dual_quaternions,
        .skinning = skinning,
        .positions = f->positions,
        .normals = extra > 0 ? f->normals : NULL,
        .tangents = extra > 1 ? f->tangents : NULL,
        .out_positions = f->out_positions,
        .out_normals = extra > 0 ? f->out_normals : NULL,
        .out_tangents = extra > 1 ? f->out_tangents : NULL,
    };
}

/* ---- Tables ----------------------------------------------------------------------------------------------- */

static size_t job_bytes(const pelt_skin_job *job) {
    size_t floats = 6 + (job->normals ? 6 : 0) + (job->tangents ? 8 : 0);
    return job->vertex_count * (4 * floats + 6 * (size_t)job->influence_count);
}

static void run_plain(void *user) {
    skin_plain(user);
}
static void run_best(void *user) {
    pelt_skin_run(user);
}

static void print_random(fixture *f, int rounds) {
    printf("| random joints, K | Mv/s | of memcpy | of half | × plain C | dual × | error "
           "|\n|---|---|---|---|---|---|---|\n");
    for (uint32_t k = 1; k <= PELT_MAX_INFLUENCES; k++) {
        pelt_skin_job job = make_job(f, k, 1, PELT_SKINNING_LINEAR), dual = job;
        dual.skinning = PELT_SKINNING_DUAL_QUATERNION;
        skin_copy copy = skin_copy_make(job_bytes(&job)), half = {copy.from, copy.to, copy.bytes / 2};
        skin_step steps[] = {{run_best, &job, 0},
                             {skin_copy_run, &copy, 0},
                             {skin_copy_run, &half, 0},
                             {run_plain, &job, 0},
                             {run_best, &dual, 0}};
        skin_time(steps, sizeof steps / sizeof steps[0], rounds);
        run_best(&job);
        double seconds = steps[0].seconds;
        printf("| %u | %7.1f | %4.2f | %4.2f | %5.2f | %4.2f | %.1e |\n", k, 1e-6 * job.vertex_count / seconds,
               steps[1].seconds / seconds, steps[2].seconds / seconds, steps[3].seconds / seconds,
               steps[4].seconds / seconds, skin_error(&job));
        skin_copy_drop(&copy);
    }
}

/* AVX-512 is for prepared skins. */
static bool gathers(pelt_simd simd) {
    return pelt_simd_available(simd) && simd != PELT_SIMD_AVX512;
}

typedef struct body_job {
    pelt_skin_job job;
    pelt_simd simd;
} body_job;
static void run_body(void *user) {
    const body_job *body = user;
    pelt_skin_run_simd(&body->job, body->simd);
}

static void print_row(fixture *f, int rounds, pelt_skinning skinning, int extra, uint32_t influences) {
    body_job bodies[PELT_SIMD_COUNT];
    skin_step steps[PELT_SIMD_COUNT + 1];
    size_t count = 0;
    pelt_skin_job job = make_job(f, influences, extra, skinning);
    skin_copy copy = skin_copy_make(job_bytes(&job));
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++)
        if (gathers(simd)) {
            bodies[count] = (body_job){job, simd};
            steps[count] = (skin_step){run_body, &bodies[count], 0};
            count++;
        }
    steps[count] = (skin_step){skin_copy_run, &copy, 0};
    skin_time(steps, count + 1, rounds);
    for (size_t s = 0; s < count; s++)
        printf(" %7.1f | %4.2f | %5.2f |", 1e-6 * job.vertex_count / steps[s].seconds,
               steps[count].seconds / steps[s].seconds, steps[0].seconds / steps[s].seconds);
    printf("\n");
    skin_copy_drop(&copy);
}

static void print_bodies(fixture *f, int rounds) {
    static const char *const skinnings[] = {"linear", "dual quaternion"};
    static const char *const extras[] = {"positions", "+ normals", "+ tangents"};
    printf("| skinning | arrays | K |");
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++)
        if (gathers(simd))
            printf(" %s Mv/s | of memcpy | × scalar |", pelt_simd_name(simd));
    printf("\n|---|---|---|");
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++)
        if (gathers(simd))
            printf("---|---|---|");
    printf("\n");
    for (int s = 0; s < 2; s++)
        for (int extra = 0; extra < 3; extra++)
            for (uint32_t k = 1; k <= PELT_MAX_INFLUENCES; k *= 2) {
                printf("| %-15s | %-10s | %u |", skinnings[s], extras[extra], k);
                print_row(f, rounds, (pelt_skinning)s, extra, k);
            }
}

typedef struct thread_job {
    pelt_context *context;
    pelt_skin_job job;
} thread_job;
static void run_threads(void *user) {
    const thread_job *job = user;
    if (pelt_skin_run_threads(job->context, &job->job) != PELT_OK)
        exit(1);
}

static void print_threads(int rounds) {
    static const uint32_t counts[2] = {30000, 1000000}; /* in the caches, and larger than them */
    printf("| vertices | skinning | 1 thread Mv/s | 2 threads Mv/s | ratio |\n|---|---|---|---|---|\n");
    for (int row = 0; row < 4; row++) {
        fixture f;
        thread_job jobs[2];
        skin_step steps[2];
        make(&f, counts[row / 2]);
        for (uint32_t t = 0; t < 2; t++) {
            pelt_context_desc desc = pelt_context_desc_default();
            desc.thread_count = t + 1;
            if (pelt_context_create(&desc, &jobs[t].context) != PELT_OK)
                exit(1);
            jobs[t].job = make_job(&f, 4, 1, (pelt_skinning)(row % 2));
            steps[t] = (skin_step){run_threads, &jobs[t], 0};
        }
        skin_time(steps, 2, rounds);
        printf("| %u | %s | %.1f | %.1f | %.2f |\n", f.vertex_count, row % 2 ? "dual quaternion" : "linear",
               1e-6 * f.vertex_count / steps[0].seconds, 1e-6 * f.vertex_count / steps[1].seconds,
               steps[0].seconds / steps[1].seconds);
        pelt_context_destroy(jobs[0].context);
        pelt_context_destroy(jobs[1].context);
        drop(&f);
    }
}

static void print_table(const char *name, uint32_t vertices, int rounds) {
    fixture f;
    make(&f, vertices);
    if (strcmp(name, "random") == 0)
        print_random(&f, rounds);
    else if (strcmp(name, "rigs") == 0)
        skin_print_rigs(rounds);
    else if (strcmp(name, "bodies") == 0)
        print_bodies(&f, rounds);
    else
        print_threads(rounds);
    drop(&f);
}

int main(int argc, char **argv) {
    static const char *const tables[] = {"random", "rigs", "bodies", "threads"};
    const char *wanted = argc > 1 ? argv[1] : "all";
    long vertices = argc > 2 ? atol(argv[2]) : 30000, rounds = argc > 3 ? atol(argv[3]) : 41;
    bool found = false;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        bool one = strcmp(wanted, tables[t]) == 0;
        if ((!one && strcmp(wanted, "all") != 0) || vertices < 1 || vertices > 10000000 || rounds < 1 || rounds > 1000)
            continue;
        printf(
            "%s%s: positions and normals, one thread, the fastest of %ld rounds; Mv/s: million vertices a second\n\n",
            found ? "\n" : "", tables[t], rounds);
        print_table(tables[t], (uint32_t)vertices, (int)rounds);
        found = true;
    }
    if (found)
        return 0;
    fprintf(stderr,
            "usage: bench_skin [random|rigs|bodies|threads|all [VERTICES [ROUNDS]]]; at most 10000000 vertices, "
            "1000 rounds\n");
    return 1;
}
