/* The reduction A ≈ B C: every method against the optimum by LAPACK's singular values, and invariance to settings. */
#include "support.h"

#include "decompose/divide.h"
#include "decompose/gather.h"
#include "decompose/kinds.h"
#include "decompose/reduce.h"
#include "scenes.h"

#include <math.h>

/* ---- Fixtures --------------------------------------------------------------------------------------------- */

/* N vertices and F frames; smooth motion of decreasing amplitude in many directions. */
typedef struct fixture {
    test_context test;
    uint32_t vertex_count, frame_count;
    float *positions; /* [frame][vertex][3] */
    uint32_t *points;
    pelt_clip clips[2];
    pelt_model model;
    px_gathered plan;
    px_fit fit;
    pelt_decompose_desc desc;
} fixture;

static void make_positions(fixture *f, uint32_t vertex_count, uint32_t frame_count) {
    test_random random = {vertex_count + 7};
    size_t N = f->vertex_count = vertex_count, F = f->frame_count = frame_count;
    f->positions = calloc(3 * N * F, sizeof *f->positions);
    f->points = calloc(N, sizeof *f->points);
    double *shape = calloc(3 * N, sizeof *shape), strength = 1;
    assert_non_null(shape);
    for (int direction = 0; direction < 40; direction++, strength *= 0.75) {
        double speed = test_random_real(&random, 0.1, 3), phase = test_random_real(&random, 0, 6);
        for (size_t e = 0; e < 3 * N; e++)
            shape[e] = test_random_real(&random, -strength, strength);
        for (size_t k = 0; k < F; k++)
            for (size_t e = 0; e < 3 * N; e++)
                f->positions[3 * N * k + e] += (float)(shape[e] * cos(speed * (double)k + phase));
    }
    free(shape);
    for (uint32_t i = 0; i < vertex_count; i++)
        f->points[i] = i;
}

static void begin(fixture *f, uint32_t vertex_count, uint32_t frame_count, uint32_t threads) {
    memset(f, 0, sizeof *f);
    test_begin(&f->test, threads);
    make_positions(f, vertex_count, frame_count);
    uint32_t half = frame_count / 2; /* two clips: rows continue over both */
    f->clips[0] = (pelt_clip){.name = "one", .frame_count = half, .point_count = vertex_count};
    f->clips[0].positions = f->positions;
    f->clips[1] = (pelt_clip){.name = "two", .frame_count = frame_count - half, .point_count = vertex_count};
    f->clips[1].positions = f->positions + 3 * (size_t)half * vertex_count;
    f->model = (pelt_model){.clip_count = 2, .clips = f->clips};
    f->plan =
        (px_gathered){.classes = {.count = vertex_count}, .points = f->points, .center = {0.5, -1, 2}, .radius = 4};
    f->desc = pelt_decompose_desc_default();
    f->desc.bones = 4000;
    f->fit = (px_fit){.context = f->test.context,
                      .kind = &px_bone_affine,
                      .vertex_count = vertex_count,
                      .row_count = 3 * frame_count};
    f->fit.bone_capacity = 4000; /* the number of bones does not limit the dimension */
    f->fit.influence_count = 4;
    f->fit.arena = px_arena_create(f->test.context);
    px_fit_divide(&f->fit, vertex_count, false);
    f->fit.now.rest = PX_NEW(f->fit.arena, double, 3 * (size_t)vertex_count);
    assert_non_null(f->fit.now.rest);
}

static void end(fixture *f) {
    px_arena_destroy(f->fit.arena);
    free(f->points);
    free(f->positions);
    test_end(&f->test);
}

/* Element of A. */
static double entry(const fixture *f, size_t row, size_t i) {
    double p = (double)f->positions[3 * (row / 3 * f->vertex_count + i) + row % 3];
    return (p - f->plan.center[row % 3]) / f->plan.radius;
}

/* ---- Measures --------------------------------------------------------------------------------------------- */

/* E_rms of A − B C, element by element. */
static double true_loss(const fixture *f) {
    double sum = 0;
    size_t d = f->fit.dimension;
    for (size_t row = 0; row < f->fit.row_count; row++)
        for (size_t i = 0; i < f->vertex_count; i++) {
            double value = entry(f, row, i);
            for (size_t e = 0; e < d; e++)
                value -= f->fit.basis[row * d + e] * (double)f->fit.coords[i * d + e];
            sum += value * value;
        }
    return px_fit_error(&f->fit, sum);
}

static double worst_product(const fixture *f) {
    double worst = 0;
    size_t d = f->fit.dimension;
    for (size_t a = 0; a < d; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = a == b ? -1 : 0;
            for (size_t row = 0; row < f->fit.row_count; row++)
                sum += f->fit.basis[row * d + a] * f->fit.basis[row * d + b];
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

/* The least E_rms of an approximation of rank `dimension`. */
static double least_loss(const fixture *f, size_t dimension) {
    size_t rows = f->fit.row_count, N = f->vertex_count, rank = rows < N ? rows : N;
    double *a = malloc((rows * N + rows * rank + rank + rank * N) * sizeof *a), sum = 0;
    assert_non_null(a);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < N; i++)
            a[row * N + i] = entry(f, row, i);
    double *u = a + rows * N, *s = u + rows * rank, *vt = s + rank;
    test_ok(&f->test, px_svd(f->test.context, px_matrix_of(a, rows, N), px_matrix_of(u, rows, rank), s,
                             px_matrix_of(vt, rank, N)));
    for (size_t e = dimension; e < rank; e++)
        sum += s[e] * s[e];
    free(a);
    return px_fit_error(&f->fit, sum);
}

static void check_norms(const fixture *f) {
    for (size_t i = 0; i < f->vertex_count; i++) {
        double sum = 0;
        for (size_t row = 0; row < f->fit.row_count; row++)
            sum += entry(f, row, i) * entry(f, row, i);
        assert_true(fabs(sum - f->fit.norms[i]) < 1e-6 * sum);
        for (size_t axis = 0; axis < 3; axis++)
            assert_true(fabs(f->fit.now.rest[3 * i + axis] - entry(f, axis, i)) < 1e-14);
    }
}

/* ---- Methods ---------------------------------------------------------------------------------------------- */

/* Sizes on both sides of 3F = N, and of more than one block. */
static const uint32_t sizes[][2] = {{150, 20}, {37, 40}, {2100, 6}};

static void exact_is_best(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        fixture f;
        begin(&f, sizes[n][0], sizes[n][1], 2);
        f.desc.epsilon = 2;
        test_ok(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc));
        double loss = true_loss(&f);
        assert_true(loss <= 2);
        /* coordinates are floats: 1000 · 6e-8 of their size */
        assert_true(fabs(loss - least_loss(&f, f.fit.dimension)) < 1e-4);
        assert_true(f.fit.dimension == 1 || least_loss(&f, f.fit.dimension - 1) > 2);
        assert_true(worst_product(&f) < 1e-12);
        check_norms(&f);
        end(&f);
    }
}

static void without_epsilon_nothing_is_lost(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        fixture f;
        begin(&f, sizes[n][0], sizes[n][1], 1);
        test_ok(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc));
        assert_true(true_loss(&f) <= 1e-3);
        assert_true(worst_product(&f) < 1e-12);
        end(&f);
    }
}

static void methods_reach_epsilon(void **state) {
    (void)state;
    uint32_t dimensions[5];
    for (uint32_t method = 0; method < 5; method++) {
        fixture f;
        begin(&f, 150, 30, 2);
        for (size_t column = 0; column < 150 * 30; column += 2) /* every vertex twice: duplicates count once */
            memcpy(f.positions + 3 * (column + 1), f.positions + 3 * column, 3 * sizeof(float));
        f.desc.reduce = method;
        f.desc.epsilon = 3;
        test_ok(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc));
        assert_true(true_loss(&f) <= 3 * (1 + 1e-9));
        assert_true(worst_product(&f) < 1e-12);
        check_norms(&f);
        dimensions[method] = f.fit.dimension;
        end(&f);
    }
    for (uint32_t method = 1; method < 5; method++)
        assert_true(dimensions[method] >= dimensions[PELT_REDUCE_SVD]);
    assert_true(dimensions[PELT_REDUCE_GRAM_SCHMIDT] <= 75);
    /* as in the paper's Table 1 */
    assert_true(dimensions[PELT_REDUCE_POWER2] <= dimensions[PELT_REDUCE_POWER1]);
    assert_true(dimensions[PELT_REDUCE_POWER1] <= dimensions[PELT_REDUCE_MAX]);
    assert_true(dimensions[PELT_REDUCE_MAX] < dimensions[PELT_REDUCE_GRAM_SCHMIDT]);
}

/* Calls each implementation directly: all must span the same leading subspace. */
static void ways_agree(void **state) {
    (void)state;
    px_reduce_fn *const ways[] = {px_reduce_rows, px_reduce_vertices, px_reduce_iterate};
    double losses[3];
    uint32_t dimensions[3];
    for (int way = 0; way < 3; way++) {
        fixture f;
        begin(&f, 120, 40, 2);
        f.desc.epsilon = 1;
        px_reduction r = {
            .fit = &f.fit, .clips = f.model.clips, .plan = &f.plan, .desc = &f.desc, .block_vertices = 50};
        r.block = PX_ALLOC(f.test.context, double, 50 * (size_t)f.fit.row_count);
        test_ok(&f.test, ways[way](&r));
        px_free(f.test.context, r.block);
        size_t d = dimensions[way] = f.fit.dimension;
        f.fit.coords = PX_NEW(f.fit.arena, float, d *f.vertex_count);
        for (size_t i = 0; i < f.vertex_count; i++)
            for (size_t e = 0; e < d; e++) {
                double sum = 0;
                for (size_t row = 0; row < f.fit.row_count; row++)
                    sum += entry(&f, row, i) * f.fit.basis[row * d + e];
                f.fit.coords[i * d + e] = (float)sum;
            }
        losses[way] = true_loss(&f);
        assert_true(worst_product(&f) < 1e-12);
        end(&f);
    }
    for (int way = 1; way < 3; way++) {
        assert_int_equal(dimensions[way], dimensions[0]);
        assert_true(fabs(losses[way] - losses[0]) < 1e-6 * losses[0]);
    }
}

/* Sum of squares of A outside the basis. */
static double outside_basis(const fixture *f) {
    size_t d = f->fit.dimension;
    double *coords = malloc(d * sizeof *coords), sum = 0;
    assert_non_null(coords);
    for (size_t i = 0; i < f->vertex_count; i++) {
        memset(coords, 0, d * sizeof *coords);
        for (size_t row = 0; row < f->fit.row_count; row++) {
            double value = entry(f, row, i);
            sum += value * value;
            for (size_t e = 0; e < d; e++)
                coords[e] += value * f->fit.basis[row * d + e];
        }
        for (size_t e = 0; e < d; e++)
            sum -= coords[e] * coords[e];
    }
    free(coords);
    return sum;
}

/* The basis of a sample loses hardly more than that of all vertices. For noise it would lose more, and is rejected. */
static void samples_are_checked(void **state) {
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        bool noise = turn % 2 == 1;
        px_reduce_fn *find = turn < 2 ? px_reduce_rows : px_reduce_iterate;
        fixture f;
        begin(&f, 12000, 60, 2);
        f.fit.bone_capacity = 4;
        test_random random = {6};
        for (size_t e = 0; noise && e < (size_t)3 * 12000 * 60; e++)
            f.positions[e] = (float)test_random_real(&random, -1, 1);
        px_reduction r = {
            .fit = &f.fit, .clips = f.model.clips, .plan = &f.plan, .desc = &f.desc, .block_vertices = 300};
        r.block = PX_ALLOC(f.test.context, double, 300 * (size_t)f.fit.row_count);
        double expected;
        test_ok(&f.test, px_reduce_sample(&r, 2, find, &expected));
        assert_null(r.sample);
        assert_int_equal(f.fit.dimension, 64);
        double sampled = outside_basis(&f);
        test_ok(&f.test, find(&r));
        double whole = outside_basis(&f);
        assert_int_equal(isfinite(expected) != 0, !noise);
        assert_true(sampled <= expected);
        assert_true(sampled > whole);
        if (!noise || turn < 2) /* iteration finds only part of the leading directions of noise */
            assert_true(noise ? sampled > 1.02 * whole : sampled < 1.02 * whole);
        px_free(f.test.context, r.block);
        end(&f);
    }
}

/* A vertex that moves on its own and is in no sample is found when all vertices are projected. */
static void samples_miss_nothing(void **state) {
    (void)state;
    const uint32_t vertices = 48000, frames = 200, lone = 5; /* of the first ten, samples take vertices 0 and 1 */
    fixture f;
    begin(&f, vertices, frames, 2);
    f.fit.bone_capacity = 4;
    assert_int_equal(px_sample_stride(&f.fit), 10);
    test_random random = {7};
    for (size_t k = 0; k < frames; k++)
        for (size_t a = 0; a < 3; a++)
            f.positions[3 * (k * vertices + lone) + a] = (float)test_random_real(&random, -2, 2);
    test_ok(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc));
    double all = 0, held = 0;
    for (size_t row = 0; row < f.fit.row_count; row++)
        all += entry(&f, row, lone) * entry(&f, row, lone);
    for (size_t e = 0; e < f.fit.dimension; e++)
        held += pow((double)f.fit.coords[lone * f.fit.dimension + e], 2);
    assert_true(held > 0.99 * all);
    end(&f);
}

/* Samples pay for large animations only. */
static void stride_follows_the_work(void **state) {
    (void)state;
    assert_int_equal(px_sample_stride(&(px_fit){.row_count = 1500, .total_count = 200000}), 16);
    assert_int_equal(px_sample_stride(&(px_fit){.row_count = 1500, .total_count = 20000}), 1);
    assert_int_equal(px_sample_stride(&(px_fit){.row_count = 144, .total_count = 200000}), 1);
}

/* An iterated basis of unknown rank must grow until it suffices. */
static void iteration_widens(void **state) {
    (void)state;
    fixture f;
    begin(&f, 700, 200, 2);
    test_random random = {5};
    for (size_t e = 0; e < 3 * 700 * 200; e++) /* noise: all directions have equal variance */
        f.positions[e] = (float)test_random_real(&random, -1, 1);
    f.desc.epsilon = 60;
    px_reduction r = {.fit = &f.fit, .clips = f.model.clips, .plan = &f.plan, .desc = &f.desc, .block_vertices = 300};
    r.block = PX_ALLOC(f.test.context, double, 300 * (size_t)f.fit.row_count);
    test_ok(&f.test, px_reduce_iterate(&r));
    px_free(f.test.context, r.block);
    assert_true(f.fit.dimension > 256);
    assert_true(worst_product(&f) < 1e-12);
    end(&f);
}

/* Noise needs all directions; the number of bones bounds the dimension; with a rig it does not. */
static void bones_bound_the_dimension(void **state) {
    (void)state;
    for (int rig = 0; rig < 2; rig++) {
        fixture f;
        begin(&f, 700, 200, 1);
        f.fit.bone_capacity = 1;
        f.desc.rig = rig ? &f.model : NULL;
        test_random random = {9};
        for (size_t e = 0; e < 3 * 700 * 200; e++)
            f.positions[e] = (float)test_random_real(&random, -1, 1);
        test_ok(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc));
        assert_int_equal(f.fit.dimension, rig ? 600 : 64);
        /* the 64 leading directions, although found by iteration */
        assert_true(rig || true_loss(&f) < 1.01 * least_loss(&f, 64));
        end(&f);
    }
}

/* ---- Bad input and small input ---------------------------------------------------------------------------- */

static void not_finite_is_reported(void **state) {
    (void)state;
    for (uint32_t method = 0; method < 2; method++)
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
            for (int last = 0; last < 2; last++) {
                fixture f;
                begin(&f, sizes[n][0], sizes[n][1], 2);
                f.desc.reduce = method;
                uint32_t N = f.vertex_count, F = f.frame_count, k = last ? F - 1 : F / 2, i = last ? N - 1 : 3;
                f.positions[3 * ((size_t)k * N + i) + 1] = last ? NAN : INFINITY;
                char words[128];
                snprintf(words, sizeof words, "clip 'two', frame %u, point %u: the position is not finite", k - F / 2,
                         i);
                test_fails(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc), PELT_ERROR_INPUT, words);
                end(&f);
            }
}

/* Empty and one-element inputs: one dimension, no loss. */
static void smallest_inputs(void **state) {
    (void)state;
    for (uint32_t method = 0; method < 5; method++)
        for (uint32_t N = 1; N <= 2; N++) {
            fixture f;
            begin(&f, N, 2, 1);
            f.desc.reduce = method;
            memset(f.positions, 0, 6 * N * sizeof *f.positions);
            memset(f.plan.center, 0, sizeof f.plan.center);
            test_ok(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc));
            assert_int_equal(f.fit.dimension, 1);
            assert_true(true_loss(&f) == 0);
            end(&f);
        }
}

/* ---- Invariance of the result ----------------------------------------------------------------------------- */

/* FNV-1a hash of the result of the reduction. */
static uint64_t hash_fit(const px_fit *fit) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    const struct {
        const void *data;
        size_t size;
    } parts[] = {{fit->basis, sizeof(double) * fit->row_count * fit->dimension},
                 {fit->coords, sizeof(float) * fit->vertex_count * fit->dimension},
                 {fit->norms, sizeof(double) * fit->vertex_count}};
    for (size_t p = 0; p < 3; p++)
        for (size_t b = 0; b < parts[p].size; b++)
            hash = (hash ^ ((const uint8_t *)parts[p].data)[b]) * UINT64_C(0x100000001B3);
    return hash;
}

static void threads_and_memory_change_nothing(void **state) {
    (void)state;
    for (uint32_t method = 0; method < 5; method++)
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
            uint64_t first = 0;
            for (uint32_t run = 0; run < 3; run++) {
                fixture f;
                begin(&f, sizes[n][0], sizes[n][1], run + 1);
                f.desc.reduce = method;
                f.desc.epsilon = 2;
                f.fit.bone_capacity = 100;
                f.desc.memory = run == 2 ? (size_t)32 << 20 : 0;
                test_ok(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc));
                first = run == 0 ? hash_fit(&f.fit) : first;
                assert_true(hash_fit(&f.fit) == first);
                end(&f);
            }
        }
}

/* The whole decomposition stays within the memory bound, with the same result. */
static void whole_stays_within_memory(void **state) {
    (void)state;
    const size_t bound = (size_t)14 << 20;
    uint64_t hashes[2];
    for (int bounded = 0; bounded < 2; bounded++) {
        test_context test;
        test_begin(&test, 2);
        pelt_model *model;
        scene_desc desc = {.vertex_count = 6000, .frame_count = 60, .seed = 1};
        test_ok(&test, scene_find("cloth")->make(test.context, &desc, &model));
        test_ok(&test, pelt_model_weld(test.context, model));
        size_t before = pelt_context_memory(test.context).current;
        pelt_decompose_desc settings = pelt_decompose_desc_default();
        settings.bones = 8;
        settings.iterations = 3;
        settings.memory = bounded ? bound : 0;
        test_ok(&test, pelt_decompose(test.context, model, &settings, NULL));
        if (bounded)
            assert_true(pelt_context_memory(test.context).peak - before <= bound);
        uint64_t hash = UINT64_C(0xCBF29CE484222325);
        const uint8_t *bytes = (const uint8_t *)model->skin.weights;
        for (size_t b = 0; b < sizeof(float) * model->mesh.vertex_count * model->skin.influence_count; b++)
            hash = (hash ^ bytes[b]) * UINT64_C(0x100000001B3);
        hashes[bounded] = hash;
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(hashes[0] == hashes[1]);
}

static void too_little_memory_is_reported(void **state) {
    (void)state;
    fixture f;
    begin(&f, 2100, 6, 1);
    f.desc.reduce = PELT_REDUCE_MAX;
    f.desc.memory = 100000;
    test_fails(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc), PELT_ERROR_MEMORY,
               "the reduction 'max' holds the whole animation");
    f.desc.reduce = PELT_REDUCE_SVD; /* the error states how much memory is needed */
    f.desc.memory = 650000;
    test_fails(&f.test, px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc), PELT_ERROR_MEMORY,
               "more than the 0 MB allowed: allow a memory of");
    end(&f);
}

static pelt_result gather_once(pelt_context *context, void *user) {
    const fixture *source = user;
    fixture f = *source;
    f.fit.context = context;
    f.fit.arena = px_arena_create(context);
    f.fit.now.rest = f.fit.arena ? PX_NEW(f.fit.arena, double, 3 * (size_t)f.vertex_count) : NULL;
    pelt_result result = f.fit.now.rest ? px_fit_gather(&f.fit, f.model.clips, &f.plan, &f.desc) : PELT_ERROR_MEMORY;
    px_arena_destroy(f.fit.arena);
    return result;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (uint32_t method = 0; method < 4; method++)
        for (size_t n = 0; n < 2; n++) {
            fixture f;
            begin(&f, sizes[n][0], sizes[n][1], 1);
            f.model.clips = f.clips;
            f.desc.reduce = method;
            f.desc.epsilon = 20;
            test_fail_each_allocation(1, gather_once, &f);
            end(&f);
        }
}

/* ---- Releasing mapped files ------------------------------------------------------------------------------- */

static size_t resident_pages(const void *data, size_t size) {
    size_t page = 4096, count = 0; /* Linux on most machines */
    uintptr_t first = (uintptr_t)data / page * page;
    FILE *map = fopen("/proc/self/pagemap", "rb");
    for (uintptr_t at = first; map && at < (uintptr_t)data + size; at += page) {
        uint64_t entry_bits = 0;
        if (fseek(map, (long)(at / page * sizeof entry_bits), SEEK_SET) == 0 &&
            fread(&entry_bits, sizeof entry_bits, 1, map) == 1)
            count += entry_bits >> 63;
    }
    if (map)
        fclose(map);
    return count;
}

/* Pages of a mapped file are released and read again; memory that is not a mapping must stay unchanged. */
static void release_keeps_the_data(void **state) {
    (void)state;
    enum { points = 6000000 };                 /* 72 MB: files up to 64 MB are not released */
    const uint32_t enough = (uint32_t)8 << 20; /* enough points to trigger the release */
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.pc2", folder);
    enum { whole = (32 + 12 * points + 65535) / 65536 * 65536 };
    void *memory = malloc(whole + 65536);
    assert_non_null(memory);
    uint8_t *bytes =
        (uint8_t *)memory + (65536 - (uintptr_t)memory % 65536); /* whole pages: the system could release them */
    const uint32_t fields[] = {1, points, 0, 0x3F800000u, 1};
    memcpy(bytes, "POINTCACHE2", 12);
    memcpy(bytes + 12, fields, sizeof fields);
    for (uint32_t e = 0; e < 3 * points; e++)
        memcpy(bytes + 32 + 4 * (size_t)e, &(float){(float)e + 1}, 4);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, 32 + 12 * points, file), 32 + 12 * points);
    fclose(file);
    test_context test;
    test_begin(&test, 1);
    for (int mapped = 0; mapped < 2; mapped++) {
        pelt_model *model;
        test_ok(&test, mapped ? pelt_load(test.context, &(const char *){path}, 1, NULL, &model)
                              : pelt_load_memory(test.context, bytes, 32 + 12 * points, "a.pc2", NULL, &model));
        const pelt_clip *clip = &model->clips[0];
        assert_non_null(clip->positions);
        size_t before = resident_pages(clip->positions, 12 * points);
        px_clip_release(clip, enough);
        if (mapped && before > 0) /* if the system reports residency */
            assert_true(resident_pages(clip->positions, 12 * points) < before);
        for (uint32_t e = 0; e < 3 * points; e++)
            assert_true(clip->positions[e] == (float)e + 1);
        pelt_model_destroy(model);
    }
    test_end(&test);
    free(memory);
    unlink(path);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_is_best),
        cmocka_unit_test(without_epsilon_nothing_is_lost),
        cmocka_unit_test(methods_reach_epsilon),
        cmocka_unit_test(ways_agree),
        test_long(samples_are_checked),
        test_long(samples_miss_nothing),
        cmocka_unit_test(stride_follows_the_work),
        cmocka_unit_test(iteration_widens),
        test_long(bones_bound_the_dimension),
        cmocka_unit_test(not_finite_is_reported),
        cmocka_unit_test(smallest_inputs),
        cmocka_unit_test(threads_and_memory_change_nothing),
        test_long(whole_stays_within_memory),
        cmocka_unit_test(too_little_memory_is_reported),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(release_keeps_the_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
