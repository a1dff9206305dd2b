/* PC2 and MDD caches: values and their offsets, rejected files, bit-exact round trips. */
#include "support.h"

#include "core/core.h"

#include <math.h>

enum { FRAMES = 3, POINTS = 4, FLOATS = FRAMES * POINTS * 3 };

/* ---- Helpers ---------------------------------------------------------------------------------------------- */

static void put(uint8_t **out, uint32_t value, bool big_endian) {
    for (int i = 0; i < 4; i++)
        *(*out)++ = (uint8_t)(value >> 8 * (big_endian ? 3 - i : i));
}

/* All kinds of bit patterns, NaNs too: a cache is copied bit for bit. */
static uint32_t sample_bits(uint32_t index) {
    test_random random = {.state = index};
    return (uint32_t)test_random_bits(&random);
}

static size_t make_pc2(uint8_t *out, float start, float rate) {
    uint8_t *p = out;
    memcpy(p, "POINTCACHE2", 12);
    p += 12;
    const uint32_t fields[] = {1, POINTS, px_float_bits(start), px_float_bits(rate), FRAMES};
    for (size_t i = 0; i < PX_COUNT(fields); i++)
        put(&p, fields[i], false);
    for (uint32_t i = 0; i < FLOATS; i++)
        put(&p, sample_bits(i), false);
    return (size_t)(p - out);
}

static size_t make_mdd(uint8_t *out, const float times[FRAMES]) {
    uint8_t *p = out;
    put(&p, FRAMES, true);
    put(&p, POINTS, true);
    for (int k = 0; k < FRAMES; k++)
        put(&p, px_float_bits(times[k]), true);
    for (uint32_t i = 0; i < FLOATS; i++)
        put(&p, sample_bits(i), true);
    return (size_t)(p - out);
}

/* Two triangles of four points; five vertices, since one point is split. */
static pelt_model *make_mesh(test_context *test) {
    static const char text[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 1/2 3/1 4/1\n";
    pelt_model *model;
    test_ok(test, pelt_load_memory(test->context, text, sizeof text - 1, "mesh.obj", NULL, &model));
    assert_int_equal(model->mesh.points.count, POINTS);
    assert_int_equal(model->mesh.vertex_count, POINTS + 1);
    return model;
}

static void check_clip(test_context *test, const pelt_model *model, const char *name) {
    assert_int_equal(model->clip_count, 1);
    const pelt_clip *clip = &model->clips[0];
    assert_string_equal(clip->name, name);
    assert_int_equal(clip->frame_count, FRAMES);
    assert_int_equal(clip->point_count, POINTS);
    for (uint32_t k = 0; k < FRAMES; k++)
        for (uint32_t first = 0; first < POINTS; first++) {
            float out[POINTS * 3];
            uint32_t count = POINTS - first;
            test_ok(test, pelt_clip_read(test->context, clip, k, first, count, out));
            for (uint32_t i = 0; i < count * 3; i++)
                assert_int_equal(px_float_bits(out[i]), sample_bits((k * POINTS + first) * 3 + i));
        }
}

static void check_times(const pelt_clip *clip, float a, float b, float c) {
    const float wanted[FRAMES] = {a, b, c};
    for (int k = 0; k < FRAMES; k++)
        if (fabsf(clip->times[k] - wanted[k]) > 1e-6f)
            fail_msg("frame %d is at %g, should be at %g", k, (double)clip->times[k], (double)wanted[k]);
}

typedef uint8_t cache_bytes[512];

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static void pc2_is_used_in_place(void **state) {
    (void)state;
    _Alignas(16) cache_bytes bytes;
    size_t size = make_pc2(bytes, 0, 1);
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_mesh(&test);
    pelt_load_desc desc = pelt_load_desc_default();
    desc.fps = 10;
    test_ok(&test, pelt_load_cache_memory(test.context, bytes, size, "some/run.fast.pc2", &desc, model));
    check_clip(&test, model, "run.fast");
    check_times(&model->clips[0], 0, 0.1f, 0.2f);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    assert_ptr_equal(model->clips[0].positions, bytes + 32);
#endif
    pelt_model_destroy(model);
    test_end(&test);
}

/* Floats at an unaligned address cannot be used in place. */
static void pc2_at_any_address(void **state) {
    (void)state;
    _Alignas(16) cache_bytes bytes;
    test_context test;
    test_begin(&test, 1);
    for (size_t shift = 1; shift < 4; shift++) {
        size_t size = make_pc2(bytes + shift, 20, 2);
        pelt_model *model = make_mesh(&test);
        test_ok(&test, pelt_load_cache_memory(test.context, bytes + shift, size, "odd", NULL, model));
        assert_null(model->clips[0].positions);
        check_clip(&test, model, "odd");
        check_times(&model->clips[0], 20 / 30.f, 22 / 30.f, 24 / 30.f);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

static void mdd_is_converted(void **state) {
    (void)state;
    _Alignas(16) cache_bytes bytes;
    size_t size = make_mdd(bytes, (float[]){0.5f, 0.75f, 2});
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_mesh(&test);
    test_ok(&test, pelt_load_cache_memory(test.context, bytes, size, "walk.mdd", NULL, model));
    check_clip(&test, model, "walk");
    check_times(&model->clips[0], 0.5f, 0.75f, 2);
    pelt_model_destroy(model);
    test_end(&test);
}

static void odd_times_are_replaced(void **state) {
    (void)state;
    _Alignas(16) cache_bytes bytes;
    test_context test;
    test_begin(&test, 1);
    static const float bad[][FRAMES] = {{0, 1, 1}, {0, NAN, 1}, {INFINITY, 1, 2}, {3, 2, 1}};
    for (size_t i = 0; i < PX_COUNT(bad); i++) {
        size_t size = make_mdd(bytes, bad[i]);
        pelt_model *model = make_mesh(&test);
        test_ok(&test, pelt_load_cache_memory(test.context, bytes, size, "a.mdd", NULL, model));
        check_times(&model->clips[0], 0, 1 / 30.f, 2 / 30.f);
        assert_int_equal(test.warning_count, i + 1);
        pelt_model_destroy(model);
    }
    test.warning_count = 0;
    static const float starts[][2] = {{0, 0}, {0, -1}, {NAN, 1}, {0, NAN}, {1e38f, 3e38f}, {INFINITY, 1}};
    for (size_t i = 0; i < PX_COUNT(starts); i++) {
        size_t size = make_pc2(bytes, starts[i][0], starts[i][1]);
        pelt_model *model = make_mesh(&test);
        pelt_load_desc desc = pelt_load_desc_default();
        desc.fps = 1;
        test_ok(&test, pelt_load_cache_memory(test.context, bytes, size, "a.pc2", &desc, model));
        check_times(&model->clips[0], 0, 1, 2);
        assert_int_equal(test.warning_count, i + 1);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* ---- Failing ---------------------------------------------------------------------------------------------- */

/* Every truncated file is rejected with an error message and without reading past its end; one extra byte is
 * reported. */
static void cut_or_longer(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        _Alignas(16) cache_bytes bytes = {0};
        size_t size = kind ? make_mdd(bytes, (float[]){0, 1, 2}) : make_pc2(bytes, 0, 1);
        const char *name = kind ? "a.mdd" : "a.pc2";
        for (size_t cut = 0; cut <= size + 1; cut++) {
            test_context test;
            test_begin(&test, 1);
            pelt_model *model = make_mesh(&test);
            uint8_t *exact = malloc(cut + (cut == 0));
            memcpy(exact, bytes, cut);
            pelt_result result = pelt_load_cache_memory(test.context, exact, cut, name, NULL, model);
            assert_int_equal(result, cut < size ? PELT_ERROR_INPUT : PELT_OK);
            assert_int_equal(model->clip_count, cut >= size);
            assert_int_equal(test.warning_count, cut > size);
            if (cut == size - 1)
                test_fails(&test, result, PELT_ERROR_INPUT,
                           "is cut off: it promises 3 frames of 4 points and holds 2 whole ones");
            pelt_model_destroy(model);
            free(exact);
            test_end(&test);
        }
    }
}

static void check_patched(bool mdd, size_t offset, uint32_t value, const char *words) {
    _Alignas(16) cache_bytes bytes;
    size_t size = mdd ? make_mdd(bytes, (float[]){0, 1, 2}) : make_pc2(bytes, 0, 1);
    uint8_t *place = bytes + offset;
    put(&place, value, mdd);
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_mesh(&test);
    pelt_result result = pelt_load_cache_memory(test.context, bytes, size, mdd ? "a.mdd" : "a.pc2", NULL, model);
    test_fails(&test, result, PELT_ERROR_INPUT, words);
    assert_int_equal(model->clip_count, 0);
    assert_true(pelt_context_memory(test.context).peak < 1 << 20);
    pelt_model_destroy(model);
    test_end(&test);
}

static void damaged_headers(void **state) {
    (void)state;
    check_patched(false, 0, 0, "a.pc2: does not begin with POINTCACHE2");
    check_patched(false, 16, 0, "holds no points");
    check_patched(false, 16, 3, "has 3 points, but the mesh mesh.obj has 4");
    check_patched(false, 16, 0x80000000u, "has a damaged header");
    check_patched(false, 16, 0x7FFFFFFFu, "is cut off");
    check_patched(false, 16, 0x15555556u, "is cut off"); /* 12 bytes each: 8 where sizes have 32 bits */
    check_patched(false, 28, 0, "holds no frames");
    check_patched(false, 28, 0x7FFFFFFFu, "is cut off");
    check_patched(false, 28, 0xFFFFFFFFu, "has a damaged header");
    check_patched(true, 0, 0, "a.mdd: holds no frames");
    check_patched(true, 0, 0x7FFFFFFFu, "is cut off");
    check_patched(true, 4, 0, "holds no points");
    check_patched(true, 4, 0x7FFFFFFFu, "is cut off");
    check_patched(true, 0, 0x40000000u, "is cut off");
    check_patched(true, 4, 0x15555556u, "is cut off");
    check_patched(true, 4, 0xFFFFFFFFu, "its header is damaged");
}

/* ---- Round trips ------------------------------------------------------------------------------------------ */

static size_t read_whole(const char *path, uint8_t *out, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(out, 1, room, file);
    fclose(file);
    unlink(path);
    return size;
}

/* PC2 to MDD to PC2 gives the bytes of the first file, including the header. */
static void caches_convert_into_each_other(void **state) {
    (void)state;
    char folder[1024], path[1100];
    test_folder(folder);
    static const float starts[][2] = {{0, 1}, {10, 1}, {0, 0.5f}, {-3, 4}};
    for (size_t i = 0; i < PX_COUNT(starts); i++) {
        _Alignas(16) cache_bytes pc2, mdd, back;
        size_t size = make_pc2(pc2, starts[i][0], starts[i][1]);
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = make_mesh(&test);
        test_ok(&test, pelt_load_cache_memory(test.context, pc2, size, "a.pc2", NULL, model));
        snprintf(path, sizeof path, "%s/a.mdd", folder);
        test_ok(&test, pelt_save(test.context, model, path, NULL));
        assert_true(test.progress_last == 1.0);
        pelt_model_destroy(model);
        size_t mdd_size = read_whole(path, mdd, sizeof mdd);
        assert_int_equal(mdd_size, 8 + FRAMES * 4 + FLOATS * 4);
        model = make_mesh(&test);
        test_ok(&test, pelt_load_cache_memory(test.context, mdd, mdd_size, "a.mdd", NULL, model));
        check_clip(&test, model, "a");
        snprintf(path, sizeof path, "%s/b.pc2", folder);
        test_ok(&test, pelt_save(test.context, model, path, NULL));
        assert_int_equal(read_whole(path, back, sizeof back), size);
        assert_memory_equal(back, pc2, size);
        assert_int_equal(test.warning_count, 0);
        pelt_model_destroy(model);
        test_end(&test);
    }
    rmdir(folder);
}

static void uneven_times_are_reported(void **state) {
    (void)state;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.pc2", folder);
    _Alignas(16) cache_bytes bytes;
    size_t size = make_mdd(bytes, (float[]){0, 1, 4});
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_mesh(&test);
    test_ok(&test, pelt_load_cache_memory(test.context, bytes, size, "a.mdd", NULL, model));
    test_ok(&test, pelt_save(test.context, model, path, NULL));
    assert_int_equal(test.warning_count, 1);
    assert_non_null(strstr(test.log, "move by up to 1 seconds"));
    pelt_model_destroy(model);
    unlink(path);
    test_end(&test);
    rmdir(folder);
}

static pelt_result load_and_save(pelt_context *context, void *user) {
    static const char mesh[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
    _Alignas(16) cache_bytes bytes;
    size_t size = make_mdd(bytes, (float[]){0, 1, 2});
    pelt_model *model;
    PX_TRY(pelt_load_memory(context, mesh, sizeof mesh - 1, "mesh.obj", NULL, &model));
    pelt_result result = pelt_load_cache_memory(context, bytes, size, "a.mdd", NULL, model);
    if (result == PELT_OK)
        result = pelt_save(context, model, user, NULL);
    pelt_model_destroy(model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.pc2", folder);
    test_fail_each_allocation(1, load_and_save, path);
    snprintf(path, sizeof path, "%s/a.mdd", folder);
    test_fail_each_allocation(1, load_and_save, path);
    unlink(path);
    snprintf(path, sizeof path, "%s/a.pc2", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* Real files: their first frames equal the meshes next to them. */
static void real_caches(void **state) {
    (void)state;
    static const char *const names[] = {"horse-gallop", "elastic-cow", "samba"};
    char mesh[1024], cache[1024], name[64];
    for (size_t i = 0; i < PX_COUNT(names); i++) {
        snprintf(name, sizeof name, "bench/%s.obj", names[i]);
        test_data(mesh, name);
        snprintf(name, sizeof name, "bench/%s.pc2", names[i]);
        test_data(cache, name);
        test_context test;
        test_begin(&test, 2);
        const char *paths[] = {mesh, cache};
        pelt_model *model;
        test_ok(&test, pelt_load(test.context, paths, 2, NULL, &model));
        assert_int_equal(model->clip_count, 1);
        const pelt_clip *clip = &model->clips[0];
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        assert_non_null(clip->positions);
#endif
        float point[3];
        for (uint32_t p = 0; p < clip->point_count; p++) {
            test_ok(&test, pelt_clip_read(test.context, clip, 0, p, 1, point));
            for (int c = 0; c < 3; c++)
                assert_true(fabsf(point[c] - model->mesh.positions[3 * p + c]) < 1e-4f);
        }
        pelt_model_destroy(model);
        test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc2_is_used_in_place),
        cmocka_unit_test(pc2_at_any_address),
        cmocka_unit_test(mdd_is_converted),
        cmocka_unit_test(odd_times_are_replaced),
        cmocka_unit_test(cut_or_longer),
        cmocka_unit_test(damaged_headers),
        cmocka_unit_test(caches_convert_into_each_other),
        cmocka_unit_test(uneven_times_are_reported),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(real_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
