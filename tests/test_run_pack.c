/* Packed morphs: equal to unpacked ones up to 16-bit rounding, with every kernel, for any ranges. */
#include "support.h"

#include "run/skin.h"

#include <math.h>

#define VERTICES 1003u /* 62 whole blocks and a part of one */
#define MORPHS   5u

/* Ranges of vertices that begin and end inside blocks, one that moves nothing, one of a single vertex. */
static const uint32_t firsts[MORPHS] = {0, 7, 500, 990, 300}, counts[MORPHS] = {1003, 33, 1, 13, 100};
static const float WEIGHTS[MORPHS] = {0.5f, -2, 1, 0.25f, 3};

static float *random_array(pelt_context *context, pelt_model *model, test_random *random, uint32_t count, double most) {
    float *out = pelt_model_alloc(context, model, count, 3 * sizeof *out);
    for (size_t e = 0; out && e < 3 * (size_t)count; e++)
        out[e] = (float)test_random_real(random, -most, most);
    return out;
}

/* Morph 0 moves every 40th vertex only, morph 4 nothing; morph 3 has no normals. */
static pelt_result make_model(pelt_context *context, bool normals, pelt_model **out) {
    pelt_result result = pelt_model_create(context, out);
    if (result != PELT_OK)
        return result;
    pelt_model *model = *out;
    test_random random = {3};
    model->mesh.vertex_count = VERTICES;
    model->mesh.positions = random_array(context, model, &random, VERTICES, 1);
    model->mesh.normals = normals ? random_array(context, model, &random, VERTICES, 1) : NULL;
    model->morphs = (pelt_morph_set){MORPHS, pelt_model_alloc(context, model, MORPHS, sizeof(pelt_morph))};
    if (!model->mesh.positions || (normals && !model->mesh.normals) || !model->morphs.morphs)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < MORPHS; m++) {
        float *positions = random_array(context, model, &random, counts[m], m == 4 ? 0 : 0.1);
        if (!positions)
            return PELT_ERROR_MEMORY;
        for (size_t e = 0; m == 0 && e < (size_t)3 * VERTICES; e++)
            positions[e] *= e / 3 % 40 == 0;
        model->morphs.morphs[m] = (pelt_morph){.name = "",
                                               .index = m,
                                               .first_vertex = firsts[m],
                                               .vertex_count = counts[m],
                                               .positions = positions,
                                               .normals = m == 3 || m == 4 ? NULL : positions};
    }
    return PELT_OK;
}

/* The cost of 16 bits: 1/65534 of 0.1 for each morph, and the rounding of floats. */
static double tolerance(const float *weights) {
    double sum = 1e-6;
    for (int m = 0; m < 4; m++)
        sum += fabs((double)weights[m]) * 0.1 / 65534;
    return sum;
}

static void packed_is_unpacked(void **state) {
    (void)state;
    static const float still[MORPHS] = {0};
    static float p[3 * VERTICES], n[3 * VERTICES], want_p[3 * VERTICES], want_n[3 * VERTICES];
    for (int c = 0; c < 4; c++) { /* normals, weights */
        test_context test;
        pelt_model *model;
        pelt_packed_morphs packed;
        const float *weights = c & 2 ? WEIGHTS : still;
        test_begin(&test, 1);
        test_ok(&test, make_model(test.context, c & 1, &model));
        test_ok(&test, pelt_morph_pack(test.context, model, &packed));
        assert_int_equal(packed.normals != NULL, c & 1);
        pelt_morph_run(&model->mesh, &model->morphs, weights, want_p, want_n, NULL);
        for (uint32_t step = 16; step <= 1008; step += 496) { /* in ranges and at once */
            memset(p, 0, sizeof p);
            for (uint32_t first = 0; first < VERTICES; first += step)
                pelt_morph_run_packed(&model->mesh, &packed, weights, first,
                                      VERTICES - first < step ? VERTICES - first : step, p + 3 * first, n + 3 * first);
            for (size_t e = 0; e < 3 * VERTICES; e++) {
                assert_true(fabs((double)p[e] - (double)want_p[e]) <= tolerance(weights));
                assert_true(!(c & 1) || fabs((double)n[e] - (double)want_n[e]) <= tolerance(weights));
            }
        }
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* Only moving blocks are stored: morph 0 in the blocks of its vertices, morph 4 in none. */
static void only_moving_blocks_are_packed(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    pelt_packed_morphs packed;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, true, &model));
    test_ok(&test, pelt_morph_pack(test.context, model, &packed));
    uint32_t blocks[MORPHS] = {0};
    for (size_t e = 0; e < packed.offsets[63]; e++) {
        blocks[packed.positions[e].morph]++;
        assert_int_equal(packed.positions[e].morph, packed.normals[e].morph);
    }
    const uint32_t wanted[MORPHS] = {26, 3, 1, 2, 0};
    assert_memory_equal(blocks, wanted, sizeof wanted);
    for (size_t b = 0; b < 63; b++)
        for (size_t e = packed.offsets[b] + 1; e < packed.offsets[b + 1]; e++)
            assert_true(packed.positions[e - 1].morph < packed.positions[e].morph);
    pelt_model_destroy(model);
    test_end(&test);
}

static void bodies_agree_to_the_last_bit(void **state) {
    (void)state;
    static float p[3 * VERTICES], want[3 * VERTICES];
    test_context test;
    pelt_model *model;
    pelt_packed_morphs packed;
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, false, &model));
    test_ok(&test, pelt_morph_pack(test.context, model, &packed));
    px_morph_scalar(packed.offsets, packed.positions, WEIGHTS, model->mesh.positions, 0, VERTICES, want);
    for (pelt_simd simd = PELT_SIMD_SCALAR; simd < PELT_SIMD_COUNT; simd++) {
        if (!pelt_simd_available(simd))
            continue;
        memset(p, 0, sizeof p);
        px_morph_body_of(simd)(packed.offsets, packed.positions, WEIGHTS, model->mesh.positions, 0, VERTICES, p);
        assert_memory_equal(p, want, sizeof p);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* Displacements near the smallest floats become zero. */
static void tiny_displacements_vanish(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    pelt_packed_morphs packed;
    float deltas[3] = {1e-40f, -1e-40f, 0}, out[3 * VERTICES];
    test_begin(&test, 1);
    test_ok(&test, make_model(test.context, false, &model));
    model->morphs.morphs[0] = (pelt_morph){.name = "", .vertex_count = 1, .positions = deltas};
    model->morphs.morph_count = 1;
    test_ok(&test, pelt_morph_pack(test.context, model, &packed));
    pelt_morph_run_packed(&model->mesh, &packed, &(float){1e30f}, 0, VERTICES, out, NULL);
    assert_memory_equal(out, model->mesh.positions, sizeof out);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Jobs with morphs have the bits of morphing first, with and without normals, on any number of threads. */
static void skinning_jobs_apply_morphs(void **state) {
    (void)state;
    static float p[3 * VERTICES], n[3 * VERTICES], got_p[3 * VERTICES], got_n[3 * VERTICES], want_p[3 * VERTICES],
        want_n[3 * VERTICES], bone_weights[2 * VERTICES];
    static uint16_t bones[2 * VERTICES];
    static const pelt_affine palette[3] = {{{1, 0, 0, 1, 0, 0, -1, 2, 0, 1, 0, 3}},
                                           {{0, 2, 0, 0, -1, 0, 0, 0, 0, 0, 1.5f, 0}},
                                           {{1, 0.5f, 0, 0, 0, 1, 0, -1, 0.2f, 0, 1, 0}}};
    for (uint32_t i = 0; i < VERTICES; i++) {
        bones[2 * i] = (uint16_t)(i % 3), bones[2 * i + 1] = (uint16_t)((i + 1) % 3);
        bone_weights[2 * i] = 0.75f, bone_weights[2 * i + 1] = 0.25f;
    }
    for (int c = 0; c < 4; c++) { /* normals, exact */
        test_context test;
        pelt_model *model;
        pelt_packed_morphs packed;
        test_begin(&test, 2);
        test_ok(&test, make_model(test.context, c & 1, &model));
        test_ok(&test, pelt_morph_pack(test.context, model, &packed));
        pelt_morph_run_packed(&model->mesh, &packed, WEIGHTS, 0, VERTICES, p, n);
        pelt_skin_job job = {.vertex_count = VERTICES,
                             .influence_count = 2,
                             .bones = bones,
                             .weights = bone_weights,
                             .palette = palette,
                             .positions = p,
                             .normals = c & 1 ? n : NULL,
                             .out_positions = want_p,
                             .out_normals = c & 1 ? want_n : NULL,
                             .exact = c & 2};
        pelt_skin_run(&job);
        job.positions = model->mesh.positions, job.normals = model->mesh.normals;
        job.out_positions = got_p, job.out_normals = c & 1 ? got_n : NULL;
        job.morphs = packed, job.morph_weights = WEIGHTS;
        for (int threads = 0; threads < 2; threads++) {
            memset(got_p, 0, sizeof got_p);
            memset(got_n, 0, sizeof got_n);
            if (threads)
                test_ok(&test, pelt_skin_run_threads(test.context, &job));
            else
                pelt_skin_run(&job);
            assert_memory_equal(got_p, want_p, sizeof want_p);
            assert_true(!(c & 1) || memcmp(got_n, want_n, sizeof want_n) == 0);
        }
        pelt_model_destroy(model);
        test_end(&test);
    }
}

static void nothing_is_packed(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    pelt_packed_morphs packed;
    test_begin(&test, 1);
    test_ok(&test, pelt_model_create(test.context, &model));
    test_ok(&test, pelt_morph_pack(test.context, model, &packed));
    pelt_morph_run_packed(&model->mesh, &packed, NULL, 0, 0, NULL, NULL);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result pack_once(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    pelt_packed_morphs packed;
    pelt_result result = make_model(context, true, &model);
    if (result == PELT_OK)
        result = pelt_morph_pack(context, model, &packed);
    pelt_model_destroy(model);
    return result;
}

static void packing_survives_lack_of_memory(void **state) {
    (void)state;
    test_fail_each_allocation(1, pack_once, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_is_unpacked),
        cmocka_unit_test(only_moving_blocks_are_packed),
        cmocka_unit_test(bodies_agree_to_the_last_bit),
        cmocka_unit_test(skinning_jobs_apply_morphs),
        cmocka_unit_test(nothing_is_packed),
        cmocka_unit_test(tiny_displacements_vanish),
        cmocka_unit_test(packing_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
