/* Skinning speed: 30,000 vertices, 60 bones, every body, 1 to 8 influences, with and without normals and tangents.
 *
 * One core's speed differs from machine to machine and from minute to minute, so each row also says what share of
 * memcpy's speed the kernel reaches, for the same number of bytes read and written, measured in the same round. All
 * figures are medians of several rounds.
 *
 *   bench_skin [VERTICES [ROUNDS]]
 */
#include <pelt/pelt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BONES            60u
#define MAX_ROUNDS       101
#define THREADS_VERTICES 1000000u

typedef struct fixture {
    uint32_t vertex_count;
    pelt_affine palette[BONES];
    pelt_dual_quaternion dual_quaternions[BONES];
    uint16_t *bones; /* [vertex][8] is the most that is used */
    float *weights;
    float *positions, *normals, *tangents;
    float *out_positions, *out_normals, *out_tangents;
    char *copy_from, *copy_to; /* for memcpy: as large as the largest job */
} fixture;

static uint64_t random_state = 1;
static double random_real(double min, double max) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return min + (max - min) * (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void *array(size_t count, size_t size) {
    void *out = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!out) {
        fprintf(stderr, "bench_skin: out of memory\n");
        exit(1);
    }
    memset(out, 0, count * size);
    return out;
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
    for (uint32_t j = 0; j < BONES; j++)
        f->palette[j] = random_bone();
    pelt_dual_quaternions(f->palette, BONES, f->dual_quaternions);
    f->bones = array(count * PELT_MAX_INFLUENCES, sizeof(uint16_t));
    f->weights = array(count * PELT_MAX_INFLUENCES, sizeof(float));
    f->positions = array(count * 3, sizeof(float));
    f->normals = array(count * 3, sizeof(float));
    f->tangents = array(count * 4, sizeof(float));
    f->out_positions = array(count * 3, sizeof(float));
    f->out_normals = array(count * 3, sizeof(float));
    f->out_tangents = array(count * 4, sizeof(float));
    f->copy_from = array(count, 128);
    f->copy_to = array(count, 128);
    for (size_t i = 0; i < count * PELT_MAX_INFLUENCES; i++)
        f->bones[i] = (uint16_t)random_real(0, BONES);
    for (size_t e = 0; e < 3 * count; e++) {
        f->positions[e] = (float)random_real(-1, 1);
        f->normals[e] = (float)random_real(-1, 1);
    }
    for (size_t e = 0; e < 4 * count; e++)
        f->tangents[e] = (float)random_real(-1, 1);
}

static void drop(fixture *f) {
    void *arrays[] = {f->bones,         f->weights,     f->positions,    f->normals,   f->tangents,
                      f->out_positions, f->out_normals, f->out_tangents, f->copy_from, f->copy_to};
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
        free(arrays[a]);
}

/* `extra`: 0 positions only, 1 with normals, 2 with tangents too. */
static pelt_skin_job make_job(fixture *f, uint32_t influences, int extra, pelt_skinning skinning) {
    for (size_t e = 0; e < (size_t)f->vertex_count * influences; e++)
        f->weights[e] = 1.0f / (float)influences;
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

/* ---- Measuring -------------------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

/* Half of all bytes read and written, so that memcpy of as many moves the same amount. */
static size_t copy_size(const pelt_skin_job *job) {
    size_t floats = 6 + (job->normals ? 6 : 0) + (job->tangents ? 8 : 0);
    return job->vertex_count * (4 * floats + 6 * (size_t)job->influence_count) / 2;
}

typedef struct figures {
    double seconds, copy_seconds;
} figures;

/* Kernel and memcpy take turns, so that both meet the same conditions. */
static figures measure(fixture *f, const pelt_skin_job *job, pelt_simd simd, int rounds) {
    double kernel[MAX_ROUNDS], copy[MAX_ROUNDS];
    size_t size = copy_size(job);
    for (int r = -1; r < rounds; r++) { /* the first round warms up */
        double a = now();
        pelt_skin_run_simd(job, simd);
        double b = now();
        memcpy(f->copy_to, f->copy_from, size);
        __asm__ volatile("" : : "r"(f->copy_to) : "memory"); /* the copy must happen */
        double c = now();
        if (r >= 0)
            kernel[r] = b - a, copy[r] = c - b;
    }
    return (figures){median(kernel, rounds), median(copy, rounds)};
}

static void print_bodies(fixture *f, int rounds) {
    static const char *const skinnings[] = {"linear", "dual quaternion"};
    static const char *const extras[] = {"positions", "+ normals", "+ tangents"};
    static const uint32_t influences[] = {1, 2, 4, 8};
    printf("| skinning | arrays | K |");
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++)
        if (pelt_simd_available(simd))
            printf(" %s Mv/s | of memcpy | × scalar |", pelt_simd_name(simd));
    printf("\n");
    for (int s = 0; s < 2; s++)
        for (int extra = 0; extra < 3; extra++)
            for (int k = 0; k < 4; k++) {
                pelt_skin_job job = make_job(f, influences[k], extra, (pelt_skinning)s);
                double scalar = 0;
                printf("| %-15s | %-10s | %u |", skinnings[s], extras[extra], influences[k]);
                for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
                    if (!pelt_simd_available(simd))
                        continue;
                    figures row = measure(f, &job, simd, rounds);
                    scalar = simd == PELT_SIMD_SCALAR ? row.seconds : scalar;
                    printf(" %7.1f | %4.0f %% | %5.2f |", 1e-6 * job.vertex_count / row.seconds,
                           100 * row.copy_seconds / row.seconds, scalar / row.seconds);
                }
                printf("\n");
            }
}

static void print_threads(fixture *f, int rounds) {
    pelt_context *contexts[2] = {NULL, NULL};
    for (uint32_t t = 0; t < 2; t++) {
        pelt_context_desc desc = pelt_context_desc_default();
        desc.thread_count = t + 1;
        if (pelt_context_create(&desc, &contexts[t]) != PELT_OK)
            exit(1);
    }
    for (int s = 0; s < 2; s++) {
        pelt_skin_job job = make_job(f, 4, 1, (pelt_skinning)s);
        double seconds[2][MAX_ROUNDS];
        for (int r = -1; r < rounds; r++)
            for (int t = 0; t < 2; t++) {
                double start = now();
                if (pelt_skin_run_threads(contexts[t], &job) != PELT_OK)
                    exit(1);
                if (r >= 0)
                    seconds[t][r] = now() - start;
            }
        double one = median(seconds[0], rounds), two = median(seconds[1], rounds);
        printf("| %8u | %-26s | %13.1f | %14.1f | %5.2f |\n", job.vertex_count, s ? "dual quaternion" : "linear",
               1e-6 * job.vertex_count / one, 1e-6 * job.vertex_count / two, one / two);
    }
    pelt_context_destroy(contexts[0]);
    pelt_context_destroy(contexts[1]);
}

int main(int argc, char **argv) {
    long vertices = argc > 1 ? atol(argv[1]) : 30000, rounds = argc > 2 ? atol(argv[2]) : 21;
    if (vertices < 1 || vertices > 10000000 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_skin [VERTICES [ROUNDS]]; at most 10000000 vertices, %d rounds\n", MAX_ROUNDS);
        return 1;
    }
    fixture f;
    make(&f, (uint32_t)vertices);
    printf("%ld vertices, %u bones, medians of %ld rounds; Mv/s: million vertices a second\n", vertices, BONES, rounds);
    print_bodies(&f, (int)rounds);
    printf("\n| vertices | skinning, K = 4, + normals | 1 thread Mv/s | 2 threads Mv/s | ratio |\n");
    print_threads(&f, (int)rounds);
    drop(&f);
    make(&f, THREADS_VERTICES); /* long enough that waking a thread costs nothing */
    print_threads(&f, (int)rounds);
    drop(&f);
    return 0;
}
