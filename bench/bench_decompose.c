/* Decompositions of the three bench animations (if present) and of generated scenes: error and seconds per phase.
 *
 * Prints the tables of docs/decompose.md. The errors are the solver's own estimate in double precision; what a file
 * reaches differs by rounding and by the keys left out, and `pelt decompose` reports it.
 *
 *   bench_decompose [NAME]            only animations whose name begins like this
 *   bench_decompose phases [NAME]     affine bones: CPU seconds and floating-point operations of each phase
 *   bench_decompose curve BONES CLIP… error over the number of bones, and where it rises: BONES is a list such as 8,9,10,
 *                                     a CLIP stands for the files CLIP.obj and CLIP.pc2
 *
 * Operations are those of matrix products, Cholesky factorisations and moments; those in single precision count half. The small
 * systems of single vertices are not counted. The peak is that of a matrix product of 768 × 768 in the same run, on one thread.
 */
#include "animations.h"

#include "decompose/decomposer.h"
#include "decompose/passes.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>

static const struct {
    const char *name;
    uint32_t kind;
} kinds[] = {{"affine", PELT_TRANSFORMS_AFFINE}, {"trs", PELT_TRANSFORMS_TRS}, {"rigid", PELT_TRANSFORMS_RIGID}};

static int fail(pelt_context *context, const char *what) {
    fprintf(stderr, "bench_decompose: %s: %s\n", what, pelt_error_text(context));
    return 1;
}

/* One row of the table. */
static int run_kind(pelt_context *context, const animation *a, size_t kind) {
    pelt_model *model = NULL;
    if (animation_open(context, a, &model) != PELT_OK)
        return fail(context, a->name);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = a->bone_count;
    desc.transforms = kinds[kind].kind;
    pelt_decompose_report r;
    pelt_result result = pelt_decompose(context, model, &desc, &r);
    if (result == PELT_OK)
        printf("| %-12s | %6u | %4u | %3u | %-6s | %4u | %3u | %6.3f | %6.3f | %6.3f | %6.3f | %6.3f |\n", a->name,
               r.vertex_count, r.frame_count, r.bone_count, kinds[kind].name, r.dimension, r.iteration_count,
               r.error_fit, r.seconds_reduce, r.seconds_seed, r.seconds_solve,
               r.seconds_reduce + r.seconds_seed + r.seconds_solve);
    pelt_model_destroy(model);
    return result == PELT_OK ? 0 : fail(context, a->name);
}

/* ---- Phases ------------------------------------------------------------------------------------------------ */

static _Atomic uint64_t operations;

/* The linker sends calls of px_NAME here (--wrap in CMakeLists.txt). */
#define WRAPPED(result, name, ...)                                                                                     \
    result __real_##name(__VA_ARGS__);                                                                                 \
    result __wrap_##name(__VA_ARGS__);                                                                                 \
    result __wrap_##name(__VA_ARGS__)

WRAPPED(void, px_gemm, double alpha, px_matrix a, px_matrix b, double beta, px_matrix c) {
    operations += 2 * (uint64_t)c.rows * c.columns * a.columns;
    __real_px_gemm(alpha, a, b, beta, c);
}

/* In single precision: an operation takes half of the time. */
WRAPPED(void, px_multiply_rows, const float *const *rows, size_t count, px_matrix b, float *c) {
    operations += (uint64_t)count * b.rows * b.columns;
    __real_px_multiply_rows(rows, count, b, c);
}

WRAPPED(void, px_syrk, double alpha, px_matrix a, double beta, px_matrix c) {
    operations += ((uint64_t)a.rows + 1) * a.rows * a.columns;
    __real_px_syrk(alpha, a, beta, c);
}

WRAPPED(bool, px_cholesky_solve, px_matrix a, px_matrix b) {
    operations += (uint64_t)a.rows * a.rows * a.rows / 3 + 2 * (uint64_t)a.rows * a.rows * b.columns;
    return __real_px_cholesky_solve(a, b);
}

/* S: 4 × 4 elements for each pair of influences of a vertex. Q: 4 × d for each influence. */
WRAPPED(pelt_result, px_fit_moments, px_fit *fit) {
    uint64_t sum = 0;
    for (size_t i = 0; i < fit->vertex_count; i++)
        sum += fit->now.counts[i] * ((uint64_t)32 * fit->now.counts[i] + 8 * (uint64_t)fit->dimension);
    operations += sum;
    return __real_px_fit_moments(fit);
}

/* Called by the vertex step for a block: products of its influences, 4 × d each. */
WRAPPED(void, px_fit_by_bone, const px_fit *fit, size_t first, size_t count, uint32_t *influences, uint32_t *firsts) {
    __real_px_fit_by_bone(fit, first, count, influences, firsts);
    operations += 8 * (uint64_t)fit->dimension * firsts[fit->bone_count];
}

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { REDUCE, SEED, SOLVE, BUILD, WRITE, PHASE_COUNT };
static const char *const phase_names[] = {"reduce", "seed", "solve", "build", "write"};

typedef struct sample {
    double cpu, wall;
    uint64_t operations;
} sample;

typedef struct meter {
    int phase;
    sample start, phases[PHASE_COUNT];
} meter;

static sample take_sample(void) {
    return (sample){seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_MONOTONIC), operations};
}

static void enter(meter *m, int phase) {
    sample now = take_sample(), *out = &m->phases[m->phase];
    out->cpu += now.cpu - m->start.cpu;
    out->wall += now.wall - m->start.wall;
    out->operations += now.operations - m->start.operations;
    m->phase = phase;
    m->start = now;
}

/* The first report of seeds ends the reduction. */
static void on_progress(void *user, const char *phase, double fraction) {
    (void)fraction;
    meter *m = user;
    if (m->phase == REDUCE && strcmp(phase, "seed") == 0)
        enter(m, SEED);
}

static pelt_result run_phases(pelt_context *context, const animation *a, meter *m) {
    pelt_model *model = NULL;
    pelt_decomposer *d = NULL;
    bool done = false;
    char path[1024];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/bench_decompose_%ld.glb", folder ? folder : "/tmp", (long)getpid());
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = a->bone_count;
    pelt_result result = animation_open(context, a, &model);
    m->phase = REDUCE;
    m->start = take_sample();
    if (result == PELT_OK)
        result = pelt_decomposer_create(context, model, &desc, &d);
    enter(m, SOLVE);
    while (result == PELT_OK && !done)
        result = pelt_decomposer_step(d, &done);
    enter(m, BUILD);
    if (result == PELT_OK)
        result = pelt_decomposer_finish(d, NULL);
    enter(m, WRITE);
    if (result == PELT_OK)
        result = pelt_save(context, model, path, NULL);
    enter(m, WRITE);
    unlink(path);
    pelt_decomposer_destroy(d);
    pelt_model_destroy(model);
    return result;
}

/* Operations per second of a matrix product on one thread. */
static double measure_peak(void) {
    enum { size = 768, rounds = 6 };
    double *a = calloc((size_t)3 * size * size, sizeof *a), best = 0;
    if (!a)
        return 1;
    for (size_t e = 0; e < (size_t)2 * size * size; e++)
        a[e] = (double)(e % 17) - 8;
    for (int n = 0; n < rounds; n++) {
        double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
        px_gemm(1, px_matrix_of(a, size, size), px_matrix_of(a + size * size, size, size), 0,
                px_matrix_of(a + 2 * size * size, size, size));
        best = fmax(best, 2.0 * size * size * size / (seconds(CLOCK_PROCESS_CPUTIME_ID) - start));
    }
    free(a);
    return best;
}

/* Five rows of the table. */
static int print_phases(const animation *a, double peak) {
    meter meters[2] = {0};
    for (uint32_t threads = 1; threads <= 2; threads++) {
        pelt_context_desc desc = pelt_context_desc_default();
        pelt_context *context;
        desc.thread_count = threads;
        desc.progress = on_progress;
        desc.progress_user = &meters[threads - 1];
        if (pelt_context_create(&desc, &context) != PELT_OK)
            return 1;
        int code = run_phases(context, a, &meters[threads - 1]) == PELT_OK ? 0 : fail(context, a->name);
        pelt_context_destroy(context);
        if (code != 0)
            return code;
    }
    for (int p = 0; p < PHASE_COUNT; p++) {
        const sample *one = &meters[0].phases[p], *two = &meters[1].phases[p];
        double rate = (double)one->operations / fmax(one->cpu, 1e-9);
        printf("| %-12s | %-6s | %7.3f | %7.2f | %5.1f | %4.0f %% | %7.3f | %5.2f |\n", p == 0 ? a->name : "",
               phase_names[p], one->cpu, 1e-9 * (double)one->operations, 1e-9 * rate, 100 * rate / peak, two->cpu,
               one->wall / fmax(two->wall, 1e-9));
    }
    fflush(stdout);
    return 0;
}

static int run_phase_table(const char *name) {
    double peak = measure_peak();
    int code = 0;
    printf("Peak of a thread: %.1f GFLOP/s.\n\n"
           "| animation    | phase  |   CPU s | GFLOP | GFLOP/s | of the peak | CPU s, two threads | times as "
           "fast |\n"
           "|--------------|--------|--------:|--------:|------:|-------:|--------:|------:|\n",
           1e-9 * peak);
    for (size_t n = 0; n < ANIMATION_COUNT && code == 0; n++)
        if (animation_wanted(&animations[n], name))
            code = print_phases(&animations[n], peak);
    return code;
}

/* ---- Error over bones -------------------------------------------------------------------------------------- */

#define CURVE_MOST 64u

/* E_rms after the final steps. */
static pelt_result solve_once(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                              double *error) {
    pelt_decomposer *d = NULL;
    bool done = false;
    pelt_result result = pelt_decomposer_create(context, model, desc, &d);
    while (result == PELT_OK && !done)
        result = pelt_decomposer_step(d, &done);
    if (result == PELT_OK)
        result = px_decomposer_settle(d);
    if (result == PELT_OK)
        *error = pelt_decomposer_error(d);
    pelt_decomposer_destroy(d);
    return result;
}

/* Prints a row: errors above that of fewer bones are marked and counted, also in `rises`. */
static int print_curve(pelt_context *context, const char *name, size_t kind, const uint32_t *bones, size_t count,
                       uint32_t *rises) {
    char mesh[1024], cache[1024];
    snprintf(mesh, sizeof mesh, "%s.obj", name);
    snprintf(cache, sizeof cache, "%s.pc2", name);
    const char *const paths[] = {mesh, cache}, *slash = strrchr(name, '/');
    pelt_model *model = NULL;
    pelt_result result = pelt_load(context, paths, 2, NULL, &model);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.transforms = kinds[kind].kind;
    double least = INFINITY, largest = 0, sum = 0, start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    uint32_t here = 0;
    printf("| %-18.18s | %-6s |", slash ? slash + 1 : name, kinds[kind].name);
    for (size_t b = 0; b < count && result == PELT_OK; b++) {
        double error = 0;
        desc.bones = bones[b];
        result = solve_once(context, model, &desc, &error);
        bool rise = error > least && error > 1e-3; /* below: rounding of the input */
        printf(" %.4g%s", error, rise ? "*" : "");
        fflush(stdout);
        largest = fmax(largest, rise ? error / least - 1 : 0);
        here += rise;
        least = fmin(least, error);
        sum += log(fmax(error, 1e-3));
    }
    printf(" | %u | %.1f %% | %.4f | %.2f |\n", here, 100 * largest, exp(sum / (double)count),
           seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
    *rises += here;
    pelt_model_destroy(model);
    return result == PELT_OK ? 0 : fail(context, name);
}

static int run_curves(pelt_context *context, const char *list, char **names, int name_count) {
    uint32_t bones[CURVE_MOST], rises = 0;
    size_t count = 0;
    int code = 0;
    for (char *end; *list && count < CURVE_MOST; list = *end ? end + 1 : end)
        bones[count++] = (uint32_t)strtoul(list, &end, 10);
    printf("| clip | bones | E_rms (*: above that of fewer bones) | rises | largest | geometric mean | CPU s |\n"
           "|---|---|---|--:|--:|--:|--:|\n");
    for (int n = 0; n < name_count && code == 0; n++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0] && code == 0; kind += 2) /* affine, rigid */
            code = print_curve(context, names[n], kind, bones, count, &rises);
    printf("%u rises\n", rises);
    return code;
}

int main(int count, char **texts) {
    bool phases = count > 1 && strcmp(texts[1], "phases") == 0;
    const char *name = count > 1 + phases ? texts[1 + phases] : NULL;
    if (phases)
        return run_phase_table(name);
    pelt_context *context;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    int code = 0;
    if (count > 2 && strcmp(texts[1], "curve") == 0) {
        code = run_curves(context, texts[2], texts + 3, count - 3);
        pelt_context_destroy(context);
        return code;
    }
    printf(
        "| animation    |      N |    F |   P | bones  |    d | its |  E_rms | reduce |   seed |  solve |  total |\n"
        "|--------------|-------:|-----:|----:|--------|-----:|----:|-------:|-------:|-------:|-------:|-------:|\n");
    for (size_t n = 0; n < ANIMATION_COUNT && code == 0; n++)
        if (animation_wanted(&animations[n], name))
            for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0] && code == 0; kind++)
                code = run_kind(context, &animations[n], kind);
    pelt_context_destroy(context);
    return code;
}
