/* glTF files with vertices sorted by bones: the triangles are the same, corner by corner. */
#include "gltf_build.h"
#include "gltf_written.h"

#include "core/influences.h"
#include "scenes.h"

/* ---- Two models with the same triangles --------------------------------------------------------------------- */

static void assert_corner(const float *a, const float *b, size_t i, size_t j, size_t width) {
    assert_int_equal(!a, !b);
    if (a)
        assert_memory_equal(a + i * width, b + j * width, width * sizeof *a);
}

static void assert_same_corners(const pelt_model *a, const pelt_model *b) {
    assert_int_equal(a->mesh.vertex_count, b->mesh.vertex_count);
    assert_int_equal(a->mesh.triangle_count, b->mesh.triangle_count);
    assert_int_equal(a->morphs.morph_count, b->morphs.morph_count);
    size_t k = a->skin.influence_count;
    assert_int_equal(k, b->skin.influence_count);
    for (size_t c = 0; c < 3 * (size_t)a->mesh.triangle_count; c++) {
        size_t i = a->mesh.triangles[c], j = b->mesh.triangles[c];
        assert_corner(a->mesh.positions, b->mesh.positions, i, j, 3);
        assert_corner(a->mesh.normals, b->mesh.normals, i, j, 3);
        assert_corner(a->mesh.tangents, b->mesh.tangents, i, j, 4);
        assert_corner(a->mesh.uvs, b->mesh.uvs, i, j, 2);
        assert_corner(a->skin.weights, b->skin.weights, i, j, k);
        assert_memory_equal(a->skin.bones + i * k, b->skin.bones + j * k, k * sizeof(uint16_t));
        for (uint32_t m = 0; m < a->morphs.morph_count; m++) {
            const pelt_morph *p = &a->morphs.morphs[m], *q = &b->morphs.morphs[m];
            assert_int_equal(p->first_vertex, q->first_vertex);
            if (i >= p->first_vertex && i < (size_t)p->first_vertex + p->vertex_count)
                assert_corner(p->positions, q->positions, i - p->first_vertex, j - p->first_vertex, 3);
        }
    }
}

/* Number of vertices of a part whose bones differ from those of the previous vertex. */
static uint32_t count_changes(const pelt_model *model) {
    uint32_t changes = 0, count = model->mesh.vertex_count;
    px_influences *rows = malloc(count * sizeof *rows);
    assert_non_null(rows);
    px_influences_make(model, 0, count, rows);
    for (uint32_t i = 1; i < count; i++)
        changes += !px_influences_alike(&rows[i], &rows[i - 1]);
    free(rows);
    return changes;
}

/* ---- Files -------------------------------------------------------------------------------------------------- */

static pelt_model *save_and_load(test_context *test, const pelt_model *model, const char *path, uint32_t order) {
    pelt_model *read;
    pelt_save_desc save = pelt_save_desc_default();
    save.order = order;
    test_ok(test, pelt_save(test->context, model, path, &save));
    test_ok(test, pelt_load(test->context, &path, 1, NULL, &read));
    return read;
}

static void scenes_keep_their_corners(void **state) {
    (void)state;
    static const char *const names[] = {"production", "creature", "morph"};
    char folder[1024], path[1100], other[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.glb", folder);
    snprintf(other, sizeof other, "%s/b.gltf", folder);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        test_context test;
        pelt_model *model;
        test_begin(&test, 1);
        test_ok(&test, scene_find(names[n])->make(test.context, &(scene_desc){.vertex_count = 1500}, &model));
        model->clip_count = 0;
        pelt_model *kept = save_and_load(&test, model, path, PELT_ORDER_KEPT);
        pelt_model *made = save_and_load(&test, model, path, PELT_ORDER_SKIN);   /* all accessors are new */
        pelt_model *sorted = save_and_load(&test, kept, other, PELT_ORDER_SKIN); /* all accessors come from a file */
        assert_same_corners(kept, made);
        assert_same_corners(kept, sorted);
        if (strcmp(names[n], "production") == 0)
            assert_true(count_changes(made) < count_changes(kept) && count_changes(sorted) == count_changes(made));
        pelt_model_destroy(made);
        pelt_model_destroy(sorted);
        pelt_model_destroy(kept);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

#define MOST 60 /* vertices of a file */

/* Accessors 0, 1 and 2 with POSITION, JOINTS_0 and WEIGHTS_0: vertices along x, on two joints in turn. */
static void add_alternating(gltf_build *b, int count) {
    float positions[MOST * 3] = {0};
    uint8_t joints[MOST * 4] = {0}, weights[MOST * 4] = {0};
    for (int i = 0; i < count; i++) {
        positions[3 * i] = (float)i;
        positions[3 * i + 1] = (float)(i % 3);
        joints[4 * i] = (uint8_t)(i % 2);
        weights[4 * i] = 255;
    }
    build_numbers(b, positions, 12 * (size_t)count, 4, 5126, "VEC3", (uint32_t)count, "");
    build_accessor(b, joints, 4 * (size_t)count, 5121, "VEC4", (uint32_t)count, "");
    build_accessor(b, weights, 4 * (size_t)count, 5121, "VEC4", (uint32_t)count, ",\"normalized\":true");
}

/* Alternating joints, a non-indexed list next to indexed primitives on the same arrays, and colours of 3 bytes. */
static pelt_model *load_list(test_context *test, gltf_build *b) {
    enum { COUNT = MOST };
    uint8_t colors[COUNT * 3] = {0}, indices[COUNT];
    for (int i = 0; i < COUNT; i++) {
        colors[3 * i] = (uint8_t)i;
        indices[i] = (uint8_t)(COUNT - 1 - i);
    }
    add_alternating(b, COUNT);
    build_accessor(b, colors, sizeof colors, 5121, "VEC3", COUNT, ",\"normalized\":true");
    build_accessor(b, indices, sizeof indices, 5121, "SCALAR", COUNT, "");
    return build_load(
        test, b,
        "\"skins\":[{\"joints\":[1,2]}],\"scenes\":[{\"nodes\":[0,1,2]}],"
        "\"nodes\":[{\"mesh\":0,\"skin\":0},{},{}],\"meshes\":[{\"primitives\":["
        "{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2,\"COLOR_0\":3}},"
        "{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2,\"COLOR_0\":3},\"indices\":4}]}]");
}

static void lists_and_shared_arrays(void **state) {
    (void)state;
    static gltf_build b;
    test_context test;
    char folder[1024], path[1100];
    float colors[120];
    test_begin(&test, 1);
    test_folder(folder);
    snprintf(path, sizeof path, "%s/list.glb", folder);
    pelt_model *model = load_list(&test, &b), *sorted = save_and_load(&test, model, path, PELT_ORDER_SKIN);
    assert_same_corners(model, sorted);
    assert_int_equal(count_changes(model), 119);
    assert_int_equal(count_changes(sorted), 3); /* one change in each part, and one between them */
    test_ok(&test, pelt_vertex_attribute(test.context, sorted, "COLOR_0", colors));
    for (size_t i = 0; i < 120; i++)
        assert_true(fabsf(255 * colors[i] - sorted->mesh.positions[3 * i]) < 1e-3f);
    written w;
    look(&test, path, &w);
    assert_int_equal(px_json_count(px_json_get(w.root, "accessors")), 6); /* four arrays, indices of two parts */
    forget(&w);
    pelt_model_destroy(sorted);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Skins that list the same joints in another order: the shared arrays have one order, the indices of both follow it. */
static void shared_arrays_under_two_skins(void **state) {
    (void)state;
    static gltf_build b;
    test_context test;
    char folder[1024], path[1100];
    test_begin(&test, 1);
    test_folder(folder);
    snprintf(path, sizeof path, "%s/skins.glb", folder);
    add_alternating(&b, 12);
    pelt_model *model =
        build_load(&test, &b,
                   "\"skins\":[{\"joints\":[2,3]},{\"joints\":[3,2]}],\"scenes\":[{\"nodes\":[0,1,2,3]}],"
                   "\"nodes\":[{\"mesh\":0,\"skin\":0},{\"mesh\":1,\"skin\":1},{},{}],\"meshes\":["
                   "{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2}}]},"
                   "{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2}}]}]");
    pelt_model *sorted = save_and_load(&test, model, path, PELT_ORDER_SKIN);
    assert_same_corners(model, sorted);
    assert_int_equal(count_changes(sorted), 2); /* one change in each part; between them the bone is the same */
    pelt_model_destroy(sorted);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Matrices of an application, whose columns are aligned to 4 bytes, as they are in the file and after vertices changed.
 */
static void matrices_are_moved_whole(void **state) {
    (void)state;
    enum { COUNT = 12 };
    for (uint32_t changed = 0; changed <= PELT_CHANGED_VERTICES; changed += PELT_CHANGED_VERTICES) {
        gltf_build b = {0};
        test_context test;
        char folder[1024], path[1100];
        float matrices[COUNT * 16] = {0}, values[COUNT];
        uint8_t small[COUNT * 12] = {0};
        for (int i = 0; i < COUNT; i++) {
            matrices[16 * i] = matrices[16 * i + 15] = (float)i;
            small[12 * i] = small[12 * i + 10] = (uint8_t)i;
        }
        test_begin(&test, 1);
        test_folder(folder);
        snprintf(path, sizeof path, "%s/matrices.glb", folder);
        add_alternating(&b, COUNT);
        build_numbers(&b, matrices, sizeof matrices, 4, 5126, "MAT4", COUNT, "");
        build_accessor(&b, small, sizeof small, 5121, "MAT3", COUNT, "");
        pelt_model *model =
            build_load(&test, &b,
                       "\"skins\":[{\"joints\":[1,2]}],\"scenes\":[{\"nodes\":[0,1,2]}],"
                       "\"nodes\":[{\"mesh\":0,\"skin\":0},{},{}],\"meshes\":[{\"primitives\":[{\"attributes\":"
                       "{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2,\"_MATRIX\":3,\"_SMALL\":4}}]}]");
        uint32_t origins[COUNT];
        for (uint32_t i = 0; i < COUNT; i++)
            origins[i] = i;
        model->mesh.origins = changed ? origins : NULL;
        model->changed = changed;
        pelt_model *sorted = save_and_load(&test, model, path, PELT_ORDER_SKIN);
        assert_same_corners(model, sorted);
        static const char *const names[] = {"_MATRIX", "_SMALL"};
        for (int n = 0; n < 2; n++) {
            test_ok(&test, pelt_vertex_attribute(test.context, sorted, names[n], values));
            for (size_t i = 0; i < COUNT; i++)
                assert_true(values[i] == sorted->mesh.positions[3 * i]);
        }
        pelt_model_destroy(sorted);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* Arrays that Pelt does not read may be too short or have sparse indices out of range: an error, and no file. */
static void bad_arrays_are_refused(void **state) {
    (void)state;
    static const char *const colors[] = {
        "{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\",\"count\":2}",
        "{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\",\"count\":3,\"sparse\":{\"count\":1,"
        "\"indices\":{\"bufferView\":3,\"componentType\":5121},\"values\":{\"bufferView\":0}}}"};
    static const char *const words[] = {"2 elements for 3 vertices", "sparse index 3 is not below 3"};
    for (int c = 0; c < 2; c++) {
        gltf_build b = {0};
        test_context test;
        char folder[1024], path[1100];
        pelt_save_desc save = pelt_save_desc_default();
        save.order = PELT_ORDER_SKIN;
        test_begin(&test, 1);
        test_folder(folder);
        snprintf(path, sizeof path, "%s/bad.glb", folder);
        BUILD_FLOATS(&b, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
        BUILD_BYTES(&b, 5121, "VEC4", 3, "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        BUILD_FLOATS(&b, "VEC4", 3, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0);
        build_view(&b, (const uint8_t[]){3}, 1, "");
        build_accessor_text(&b, "%s", colors[c]);
        pelt_model *model = build_load(&test, &b,
                                       "\"skins\":[{\"joints\":[1]}],\"scenes\":[{\"nodes\":[0,1]}],"
                                       "\"nodes\":[{\"mesh\":0,\"skin\":0},{}],\"meshes\":[{\"primitives\":["
                                       "{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2,"
                                       "\"_OWN\":3}}]}]");
        test_fails(&test, pelt_save(test.context, model, path, &save), PELT_ERROR_INPUT, words[c]);
        assert_int_not_equal(access(path, F_OK), 0);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

static pelt_result save_sorted(pelt_context *context, void *user) {
    pelt_model *model;
    pelt_save_desc save = pelt_save_desc_default();
    save.order = PELT_ORDER_SKIN;
    pelt_result result = scene_find("tube")->make(context, &(scene_desc){0}, &model);
    if (result == PELT_OK)
        model->clip_count = 0;
    if (result == PELT_OK)
        result = pelt_save(context, model, user, &save);
    pelt_model_destroy(model);
    return result;
}

static void sorting_survives_lack_of_memory(void **state) {
    (void)state;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/t.glb", folder);
    test_fail_some_allocations(1, 200, save_sorted, path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_keep_their_corners),     cmocka_unit_test(lists_and_shared_arrays),
        cmocka_unit_test(shared_arrays_under_two_skins), cmocka_unit_test(matrices_are_moved_whole),
        cmocka_unit_test(bad_arrays_are_refused),        cmocka_unit_test(sorting_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
