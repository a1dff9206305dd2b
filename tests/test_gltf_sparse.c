/* Morph targets that are mostly zero in glTF files: plain arrays, each with a view; sparse accessors only on
 * request. */
#include "gltf_written.h"
#include "view_models.h"

enum { VERTICES = 600 };

typedef struct bench {
    test_context test;
    char folder[1024], path[1100];
    pelt_model *model, *back;
    written w;
} bench;

/* `count` morphs; morph m moves the vertices [first, first + moved[m]). Written, inspected, and read again. */
static void begin(bench *t, const uint32_t *moved, uint32_t count, bool sparse) {
    float positions[3 * VERTICES] = {0};
    *t = (bench){0};
    pelt_context *context = test_begin(&t->test, 1);
    test_folder(t->folder);
    snprintf(t->path, sizeof t->path, "%s/out.glb", t->folder);
    for (uint32_t i = 0; i < VERTICES; i++)
        positions[3 * i] = (float)i;
    t->model = make_mesh(context, positions, VERTICES, (const uint32_t[3]){0, 1, 2}, 1);
    pelt_model *model = t->model;
    pelt_transform rest = {{0}, {0, 0, 0, 1}, {1, 1, 1}};
    model->skeleton = (pelt_skeleton){1, keep(context, model, (const char *[]){"node"}, 1, sizeof(char *)),
                                      keep(context, model, (uint32_t[]){PELT_NONE}, 1, sizeof(uint32_t)),
                                      keep(context, model, &rest, 1, sizeof rest)};
    model->morphs = (pelt_morph_set){count, keep(context, model, NULL, count, sizeof(pelt_morph))};
    for (uint32_t m = 0; m < count; m++) {
        float *offsets = keep(context, model, NULL, (size_t)3 * VERTICES, sizeof *offsets);
        for (uint32_t i = 0; i < moved[m]; i++)
            offsets[3 * (100 + i) + 1] = (float)(m + 1) * 0.25f + (float)i;
        model->morphs.morphs[m] =
            (pelt_morph){.name = "", .index = m, .vertex_count = VERTICES, .weight = 0.5f, .positions = offsets};
    }
    pelt_save_desc save = pelt_save_desc_default();
    assert_false(save.sparse);
    save.sparse = sparse;
    test_ok(&t->test, pelt_save(context, model, t->path, &save));
    look(&t->test, t->path, &t->w);
    const char *paths[] = {t->path};
    test_ok(&t->test, pelt_load(context, paths, 1, NULL, &t->back));
    assert_int_equal(t->back->morphs.morph_count, count);
    for (uint32_t m = 0; m < count; m++)
        assert_memory_equal(t->back->morphs.morphs[m].positions, model->morphs.morphs[m].positions, 12 * VERTICES);
}

static void end(bench *t) {
    forget(&t->w);
    unlink(t->path);
    rmdir(t->folder);
    pelt_model_destroy(t->back);
    pelt_model_destroy(t->model);
    test_end(&t->test);
}

static const px_json *target_accessor(const bench *t, uint32_t m) {
    const px_json *primitive = px_json_at(px_json_get(item(t->w.root, "meshes", 0), "primitives"), 0);
    const px_json *target = px_json_at(px_json_get(primitive, "targets"), m);
    return item(t->w.root, "accessors", (uint32_t)px_json_uint(px_json_get(target, "POSITION"), UINT32_MAX, 0));
}

/* The view of a target's accessor; UINT32_MAX: none. */
static uint32_t view_of(const bench *t, uint32_t m) {
    return (uint32_t)px_json_uint(px_json_get(target_accessor(t, m), "bufferView"), UINT32_MAX, UINT32_MAX);
}

static uint32_t sparse_count(const bench *t, uint32_t m) {
    return (uint32_t)px_json_uint(px_json_get(px_json_get(target_accessor(t, m), "sparse"), "count"), UINT32_MAX, 0);
}

static void targets_are_plain_arrays(void **state) {
    (void)state;
    bench t;
    begin(&t, (const uint32_t[]){20, 0, VERTICES - 100, 0}, 4, false);
    for (uint32_t m = 0; m < 4; m++) {
        const px_json *view = item(t.w.root, "bufferViews", view_of(&t, m));
        assert_non_null(view);
        assert_int_equal(px_json_uint(px_json_get(view, "byteLength"), UINT32_MAX, 0), 12 * VERTICES);
        assert_null(px_json_get(target_accessor(&t, m), "sparse"));
    }
    assert_true(view_of(&t, 1) == view_of(&t, 3)); /* zeros are written once */
    assert_true(view_of(&t, 0) != view_of(&t, 1) && view_of(&t, 0) != view_of(&t, 2));
    assert_true(t.w.size < 12 * VERTICES * 4 + 3000); /* positions, two targets, zeros */
    end(&t);
}

/* On request, targets that are mostly zero have no view. All-zero targets still have one. */
static void targets_may_be_sparse(void **state) {
    (void)state;
    bench t;
    begin(&t, (const uint32_t[]){20, 0, VERTICES - 100}, 3, true);
    assert_true(view_of(&t, 0) == UINT32_MAX && sparse_count(&t, 0) == 20);
    assert_true(view_of(&t, 1) != UINT32_MAX && sparse_count(&t, 1) == 0);
    assert_true(view_of(&t, 2) != UINT32_MAX && sparse_count(&t, 2) == 0);
    end(&t);
}

/* Keys of morph weights, of which one target is used at a time. */
static void keys_may_be_sparse(void **state) {
    (void)state;
    enum { TARGETS = 8, KEYS = 50 };
    static float times[KEYS], weights[KEYS * TARGETS];
    for (uint32_t k = 0; k < KEYS; k++) {
        times[k] = (float)k / 10;
        weights[k * TARGETS + k * TARGETS / KEYS] = 0.5f + times[k];
    }
    for (int sparse = 0; sparse < 2; sparse++) {
        bench t;
        begin(&t, (const uint32_t[TARGETS]){1, 1, 1, 1, 1, 1, 1, 1}, TARGETS, sparse);
        pelt_track track = {
            .path = PELT_PATH_WEIGHTS, .width = TARGETS, .key_count = KEYS, .times = times, .values = weights};
        pelt_motion motion = {.name = "talk", .end = times[KEYS - 1], .track_count = 1, .tracks = &track};
        t.model->motions = &motion;
        t.model->motion_count = 1;
        pelt_save_desc save = pelt_save_desc_default();
        save.sparse = sparse;
        test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, &save));
        forget(&t.w);
        look(&t.test, t.path, &t.w);
        const px_json *sampler = px_json_at(px_json_get(item(t.w.root, "animations", 0), "samplers"), 0);
        const px_json *accessor =
            item(t.w.root, "accessors", (uint32_t)px_json_uint(px_json_get(sampler, "output"), UINT32_MAX, 0));
        assert_int_equal(px_json_uint(px_json_get(px_json_get(accessor, "sparse"), "count"), UINT32_MAX, 0),
                         sparse ? KEYS : 0);
        assert_int_equal(px_json_get(accessor, "bufferView") == NULL, sparse);
        pelt_model *again;
        test_ok(&t.test, pelt_load(t.test.context, &(const char *){t.path}, 1, NULL, &again));
        assert_int_equal(again->motions[0].tracks[0].key_count, KEYS);
        assert_memory_equal(again->motions[0].tracks[0].values, weights, sizeof weights);
        pelt_model_destroy(again);
        end(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_plain_arrays),
        cmocka_unit_test(targets_may_be_sparse),
        cmocka_unit_test(keys_may_be_sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
