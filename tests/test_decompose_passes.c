/* The versions of the passes over vertices for different machines give the same bits. */
#include "support.h"

#include <math.h>

#if !defined(__x86_64__) /* a second version, with vectors twice as long, where the library has one only */
#include "core/core.h"
#include "decompose/fit.h"
#define LANES          8
#define VERTEX_BLOCK   vertex_block_wide
#define VERTEX_PRODUCT vertex_product_wide
#define MOMENT_BLOCK   moment_block_wide
pelt_result vertex_block_wide(void *user, size_t first, size_t count, size_t block);
void vertex_product_wide(const px_fit *fit, size_t i, size_t j, double y[4]);
pelt_result moment_block_wide(void *user, size_t first, size_t count, size_t block);
#include "decompose/vertex_kernel.h"
#undef GROUP
#include "decompose/moments_kernel.h"
#endif

#include "decompose/decomposer.h"
#include "decompose/kinds.h"
#include "decompose/passes.h"
#include "scenes.h"

typedef struct versions {
    px_block_fn *moments[3], *vertices[3];
    size_t count;
} versions;

static versions versions_here(void) {
    versions v = {{px_moment_block}, {px_vertex_block}, 1};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        v.moments[v.count] = px_moment_block_avx2;
        v.vertices[v.count++] = px_vertex_block_avx2;
    }
    if (__builtin_cpu_supports("avx512f")) {
        v.moments[v.count] = px_moment_block_avx512;
        v.vertices[v.count++] = px_vertex_block_avx512;
    }
#else
    v.moments[v.count] = moment_block_wide;
    v.vertices[v.count++] = vertex_block_wide;
#endif
    return v;
}

static void begin(test_context *test, uint32_t influences, pelt_model **model, pelt_decomposer **d) {
    test_begin(test, 1);
    test_ok(test, scene_find("cloth")->make(test->context, &(scene_desc){400, 40, 1}, model));
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 9;
    desc.influences = influences;
    test_ok(test, pelt_decomposer_create(test->context, *model, &desc, d));
}

static void versions_agree(void **state) {
    (void)state;
    versions v = versions_here();
    if (v.count == 1)
        skip();
    for (uint32_t influences = 1; influences <= 8; influences += influences == 1 ? 3 : 4)
        for (int search = 0; search < 3; search++) { /* 2: of more sets of bones */
            test_context test;
            pelt_model *model;
            pelt_decomposer *d;
            begin(&test, influences, &model, &d);
            px_fit *fit = &d->fit;
            size_t P = fit->bone_count, N = fit->vertex_count, K = fit->influence_count, n = 4 * P;
            uint32_t *influences_of = PX_NEW(fit->arena, uint32_t, N * K),
                     *firsts = PX_NEW(fit->arena, uint32_t, P + 2);
            double *moments = PX_NEW(fit->arena, double, n *(n + fit->dimension));
            double *rest = PX_NEW(fit->arena, double, 3 * N), *weights = PX_NEW(fit->arena, double, N *K);
            double *residuals = PX_NEW(fit->arena, double, N), *before = PX_NEW(fit->arena, double, N);
            assert_true(influences_of && firsts && moments && rest && weights && residuals && before);
            bool done;
            for (int step = 0; step < 3; step++) /* several influences per vertex */
                test_ok(&test, pelt_decomposer_step(d, &done));
            px_fit_gram(fit);
            px_fit_state_copy(fit, &fit->now, &fit->before);
            memcpy(before, fit->residuals, N * sizeof *before); /* they decide which vertices are searched */
            for (size_t version = 0; version < v.count; version++) {
                px_fit_state_copy(fit, &fit->before, &fit->now);
                memcpy(fit->residuals, before, N * sizeof *before);
                memset(fit->quiet, search ? 0 : 3, N); /* 3: vertices are searched now and then only */
                px_fit_by_bone(fit, 0, N, influences_of, firsts);
                px_moment_pass moment = {fit, influences_of, firsts,
                                         1 + px_block_count(fit->dimension, PX_MOMENT_COLUMNS)};
                test_ok(&test, px_parallel(test.context, NULL, P * moment.parts, 1, v.moments[version], &moment));
                px_vertex_pass vertex = {fit, .rest = true, .joint = true, .all = search > 0, .turn = 1};
                vertex.wide_from = search == 2 ? 0 : INFINITY;
                test_ok(&test, px_parallel(test.context, NULL, N, px_fit_block(fit), v.vertices[version], &vertex));
                if (version == 0) {
                    memcpy(moments, fit->scatter, n * n * sizeof *moments);
                    memcpy(moments + n * n, fit->cross, n * fit->dimension * sizeof *moments);
                    memcpy(rest, fit->now.rest, 3 * N * sizeof *rest);
                    memcpy(weights, fit->now.weights, N * K * sizeof *weights);
                    memcpy(residuals, fit->residuals, N * sizeof *residuals);
                }
                assert_memory_equal(moments, fit->scatter, n * n * sizeof *moments);
                assert_memory_equal(moments + n * n, fit->cross, n * fit->dimension * sizeof *moments);
                assert_memory_equal(rest, fit->now.rest, 3 * N * sizeof *rest);
                assert_memory_equal(weights, fit->now.weights, N * K * sizeof *weights);
                assert_memory_equal(residuals, fit->residuals, N * sizeof *residuals);
            }
            pelt_decomposer_destroy(d);
            pelt_model_destroy(model);
            test_end(&test);
        }
}

/* A wide search changes only vertices with large residuals, each for the better, and at least a tenth of those. */
static void wide_search_lowers_large_residuals(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    pelt_decomposer *d;
    begin(&test, 4, &model, &d);
    px_fit *fit = &d->fit;
    size_t N = fit->vertex_count, large = 0, lower = 0;
    double *plain = PX_NEW(fit->arena, double, N), *before = PX_NEW(fit->arena, double, N);
    assert_true(plain && before);
    px_fit_gram(fit);
    test_ok(&test, px_fit_measure(fit));
    double mean = fit->now.objective / (double)N;
    memcpy(before, fit->residuals, N * sizeof *before);
    px_fit_state_copy(fit, &fit->now, &fit->before);
    test_ok(&test, px_fit_vertices(fit, true));
    memcpy(plain, fit->residuals, N * sizeof *plain);
    px_fit_state_copy(fit, &fit->before, &fit->now);
    memcpy(fit->residuals, before, N * sizeof *before);
    test_ok(&test, px_fit_vertices_wide(fit));
    for (size_t i = 0; i < N; i++) {
        bool is_large = before[i] >= 2 * mean;
        large += is_large;
        lower += fit->residuals[i] < 0.999 * plain[i];
        assert_true(is_large ? fit->residuals[i] <= plain[i] : fit->residuals[i] == plain[i]);
    }
    assert_true(lower > 0 && lower >= large / 10);
    pelt_decomposer_destroy(d);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(versions_agree),
                                       cmocka_unit_test(wide_search_lowers_large_residuals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
