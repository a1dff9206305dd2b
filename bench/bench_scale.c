/* How the time and memory of a decomposition grow with vertices and with frames: four sizes each of generated cloth.
 *
 * Twice the size should take no more than twice the time. Memory is the peak of what was allocated beside the model.
 * With PELT_BENCH_BIG=1 also the large case: 200,000 vertices × 500 frames, written to a mesh and a cache of 1.2 GB in
 * TMPDIR and streamed from there with 512 MB of memory; then the peak of the whole process counts.
 */
#include "scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BONES      16u
#define ITERATIONS 10u
#define MEGABYTE   1048576.0

static void print_row(const pelt_decompose_report *r, double megabytes) {
    printf("| %7u | %5u | %4u | %7.3f | %7.3f | %7.3f | %7.3f | %7.1f |\n", r->vertex_count, r->frame_count,
           r->dimension, r->seconds_reduce, r->seconds_seed, r->seconds_solve,
           r->seconds_reduce + r->seconds_seed + r->seconds_solve, megabytes);
    fflush(stdout);
}

static pelt_decompose_desc settings_for(uint32_t bones, size_t memory) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = bones;
    desc.iterations = ITERATIONS;
    desc.tolerance = 0;
    desc.memory = memory;
    return desc;
}

static int fail(pelt_context *context) {
    fprintf(stderr, "bench_scale: %s\n", pelt_error_text(context));
    pelt_context_destroy(context);
    return 1;
}

/* In a separate context, whose peak is then that of this size. */
static int run_size(uint32_t vertex_count, uint32_t frame_count) {
    pelt_context *context;
    pelt_model *model = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    scene_desc size = {.vertex_count = vertex_count, .frame_count = frame_count, .seed = 1};
    pelt_result result = scene_find("cloth")->make(context, &size, &model);
    size_t before = pelt_context_memory(context).current;
    pelt_decompose_desc desc = settings_for(BONES, 0);
    pelt_decompose_report report;
    if (result == PELT_OK)
        result = pelt_decompose(context, model, &desc, &report);
    if (result == PELT_OK)
        print_row(&report, (double)(pelt_context_memory(context).peak - before) / MEGABYTE);
    pelt_model_destroy(model);
    if (result != PELT_OK)
        return fail(context);
    pelt_context_destroy(context);
    return 0;
}

/* ---- The large case --------------------------------------------------------------------------------------- */

static pelt_result write_big(pelt_context *context, const char *mesh, const char *cache) {
    pelt_model *model = NULL;
    scene_desc size = {.vertex_count = 200000, .frame_count = 500, .seed = 1};
    pelt_result result = scene_find("cloth")->make(context, &size, &model);
    if (result == PELT_OK)
        result = pelt_save(context, model, mesh, NULL);
    if (result == PELT_OK)
        result = pelt_save(context, model, cache, NULL);
    pelt_model_destroy(model);
    return result;
}

static pelt_result decompose_big(pelt_context *context, const char *mesh, const char *cache) {
    pelt_model *model = NULL;
    const char *const paths[] = {mesh, cache};
    pelt_result result = pelt_load(context, paths, 2, NULL, &model);
    pelt_decompose_desc desc = settings_for(30, (size_t)512 << 20);
    pelt_decompose_report report;
    if (result == PELT_OK)
        result = pelt_decompose(context, model, &desc, &report);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (result == PELT_OK)
        print_row(&report, (double)usage.ru_maxrss / 1024);
    pelt_model_destroy(model);
    return result;
}

static int run_big(void) {
    const char *base = getenv("TMPDIR");
    char folder[1000], mesh[1024], cache[1024];
    snprintf(folder, sizeof folder, "%s/pelt_scale_XXXXXX", base ? base : "/tmp");
    pelt_context *context;
    if (!mkdtemp(folder) || pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    snprintf(mesh, sizeof mesh, "%s/cloth.obj", folder);
    snprintf(cache, sizeof cache, "%s/cloth.pc2", folder);
    printf("\nFrom a mapped cache, 30 bones, --memory 512M; MB is the peak of the process:\n");
    pelt_result result = write_big(context, mesh, cache);
    if (result == PELT_OK)
        result = decompose_big(context, mesh, cache);
    unlink(mesh);
    unlink(cache);
    rmdir(folder);
    if (result != PELT_OK)
        return fail(context);
    pelt_context_destroy(context);
    return 0;
}

int main(void) {
    const char *big = getenv("PELT_BENCH_BIG");
    int code = 0;
    printf("|       N |     F |    d |  reduce |    seed |   solve |   total |      MB |\n"
           "|--------:|------:|-----:|--------:|--------:|--------:|--------:|--------:|\n");
    for (uint32_t n = 0; n < 4 && code == 0; n++)
        code = run_size(5000u << n, 60);
    for (uint32_t n = 0; n < 4 && code == 0; n++)
        code = run_size(10000, 50u << n);
    return code == 0 && big && strcmp(big, "1") == 0 ? run_big() : code;
}
