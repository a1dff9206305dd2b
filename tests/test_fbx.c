/* FBX: one scene as text, as binary records of 32 and 64 bits, with plain and compressed arrays; what is read of it, computed by hand;
 * rejected files; decompression. */
#include "support.h"

#include "core/core.h"
#include "io/inflate.h"
#include "io/io.h"

/* ---- Helpers ------------------------------------------------------------------------------------------------ */

static const char *const files[] = {"strip_text.fbx", "strip_7400.fbx", "strip_7500.fbx"};

static pelt_model *read_file(test_context *test, const char *name, const pelt_load_desc *desc) {
    char path[256];
    snprintf(path, sizeof path, "../fuzz/corpus/fbx/%s", name);
    const char *paths[] = {path};
    pelt_model *model;
    test_ok(test, pelt_load(test->context, paths, 1, desc, &model));
    return model;
}

static void check_vertex(test_context *test, const pelt_model *model, float time, uint32_t vertex, float x, float y,
                         float z) {
    float positions[64][3], wanted[3] = {x, y, z};
    assert_in_range(model->mesh.vertex_count, 1, 64);
    test_ok(test,
            pelt_model_pose(test->context, model, &model->motions[0], time, PELT_SKINNING_LINEAR, positions[0], NULL));
    for (int c = 0; c < 3; c++)
        if (fabsf(positions[vertex][c] - wanted[c]) > 2e-6f)
            fail_msg("vertex %u at %g s is at %g %g %g, should be at %g %g %g", vertex, (double)time,
                     (double)positions[vertex][0], (double)positions[vertex][1], (double)positions[vertex][2],
                     (double)x, (double)y, (double)z);
}

/* ---- Content ------------------------------------------------------------------------------------------------ */

/* The strip has rows of points at heights 0, 1 and 2, moved by 10 along x. The upper bone, from height 1 on, turns by 90 degrees about z in a
 * second; the shape "half" lifts the last row by 1 at 50 %, "whole" by 3 at 100 %. */
static void all_forms_hold_the_same_scene(void **state) {
    (void)state;
    for (size_t f = 0; f < PX_COUNT(files); f++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = read_file(&test, files[f], NULL);
        assert_string_equal(model->format, "FBX");
        assert_int_equal(model->mesh.points.count, 6);
        assert_int_equal(model->mesh.vertex_count,
                         8); /* the row in the middle has other texture coordinates below and above */
        assert_int_equal(model->mesh.triangle_count, 4);
        assert_int_equal(model->mesh.polygon_count, 2);
        assert_int_equal(model->mesh.part_count, 2);
        assert_string_equal(model->mesh.parts[0].material, "red");
        assert_string_equal(model->mesh.parts[1].material, "blue");
        assert_int_equal(model->mesh.parts[1].first_triangle, 2);
        assert_int_equal(model->skeleton.joint_count, 3);
        assert_string_equal(model->skeleton.names[2], "upper");
        assert_int_equal(model->skeleton.parents[2], 1);
        assert_int_equal(model->skin.bone_count, 2);
        assert_int_equal(model->skin.influence_count, 2);
        assert_int_equal(model->morphs.morph_count, 2);
        assert_string_equal(model->morphs.morphs[1].name, "whole");
        assert_int_equal(model->motion_count, 1);
        assert_string_equal(model->motions[0].name, "wave");
        assert_float_equal(model->motions[0].end, 1, 0);
        check_vertex(&test, model, 0, 0, 10, 0, 0);
        check_vertex(&test, model, 0, 5, 11, 2, 0);
        check_vertex(&test, model, 0.5f, 4, 10 - sqrtf(0.5f), 1 + sqrtf(0.5f), 1);
        check_vertex(&test, model, 0.75f, 4, 10 - sinf(67.5f * (float)M_PI / 180), 1 + cosf(67.5f * (float)M_PI / 180),
                     2);
        check_vertex(&test, model, 1, 4, 9, 1, 3);
        check_vertex(&test, model, 1, 1, 11, 0, 0);
        check_vertex(&test, model, 1, 3, 11 * 0.25f + 10 * 0.75f, 1 * 0.25f + 2 * 0.75f, 0);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* UnitScaleFactor 100 is metres. Axes and units that the caller gives replace those of the file. */
static void units_can_be_given(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_load_desc desc = pelt_load_desc_default();
    desc.scale = "0.5";
    desc.up = "z";
    pelt_model *model = read_file(&test, files[1], &desc);
    check_vertex(&test, model, 0, 5, 5.5f, 0, -1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* What is written comes back: parts, bones, shapes, and every vertex at any time. */
static void written_files_come_back(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_file(&test, files[0], NULL), *again;
    px_buffer bytes = {.context = test.context};
    test_ok(&test, px_save_memory(test.context, model, "again.fbx", NULL, &bytes));
    test_ok(&test, pelt_load_memory(test.context, bytes.data, bytes.size, "again.fbx", NULL, &again));
    assert_int_equal(again->mesh.vertex_count, model->mesh.vertex_count);
    assert_int_equal(again->mesh.points.count, model->mesh.points.count);
    assert_int_equal(again->mesh.polygon_count, model->mesh.polygon_count);
    assert_int_equal(again->mesh.part_count, 2);
    assert_string_equal(again->mesh.parts[1].material, "blue");
    assert_int_equal(again->skeleton.joint_count, 3);
    assert_string_equal(again->skeleton.names[2], "upper");
    assert_int_equal(again->skin.bone_count, 2);
    assert_int_equal(again->morphs.morph_count, 2);
    assert_string_equal(again->motions[0].name, "wave");
    for (int k = 0; k <= 20; k++) {
        float a[64][3], b[64][3], time = (float)k / 20;
        test_ok(&test,
                pelt_model_pose(test.context, model, &model->motions[0], time, PELT_SKINNING_LINEAR, a[0], NULL));
        test_ok(&test,
                pelt_model_pose(test.context, again, &again->motions[0], time, PELT_SKINNING_LINEAR, b[0], NULL));
        for (uint32_t i = 0; i < model->mesh.vertex_count; i++)
            for (int c = 0; c < 3; c++)
                if (fabsf(a[i][c] - b[i][c]) > 2e-5f)
                    fail_msg("vertex %u at %g s: %g, should be %g", i, (double)time, (double)b[i][c], (double)a[i][c]);
    }
    pelt_model_destroy(again);
    px_buffer_free(&bytes);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Rejected files ----------------------------------------------------------------------------------------- */

static void bad_files_are_rejected(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\n", "no nodes"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 6100\n}\n", "version 6.1"},
        {"; FBX 7.4.0\nObjects: {\n", "line 3: '}' is missing"},
        {"; FBX 7.4.0\nObjects }\n", "line 2: 'NAME:' is expected"},
        {"; FBX 7.4.0\n}\n", "'}' has no '{'"},
        {"; FBX 7.4.0\nA: \"text\n", "a text has no end"},
        {"; FBX 7.4.0\nA: *3 {\n", "an array has no content"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"\" {}\nModel: 1, "
         "\"b\", \"\" {}\n}\n",
         "two objects have the number 1"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"Mesh\" {}\nGeometry: "
         "2, \"g\", \"Mesh\" {\n"
         "Vertices: *3 { a: 0,0,0 }\nPolygonVertexIndex: *3 { a: 0,0,-5 }\n}\n}\nConnections: {\nC: \"OO\",1,0\nC: "
         "\"OO\",2,1\n}\n",
         "refers to point 4 of 1"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"Mesh\" {}\nGeometry: "
         "2, \"g\", \"Mesh\" {\n"
         "Vertices: *3 { a: 0,0,x }\n}\n}\nConnections: {\nC: \"OO\",1,0\nC: \"OO\",2,1\n}\n",
         "where a number is expected"},
        {"; FBX 7.4.0\nFBXHeaderExtension: {\nFBXVersion: 7400\n}\nObjects: {\nModel: 1, \"a\", \"Mesh\" {}\nGeometry: "
         "2, \"g\", "
         "\"Mesh\" {\nVertices: *3 { a: 0 0 0 }\n}\n}\nConnections: {\nC: \"OO\",1,0\nC: \"OO\",2,1\n}\n",
         "where a number is expected"}, /* numbers without commas */
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model;
        pelt_result result =
            pelt_load_memory(test.context, cases[c].text, strlen(cases[c].text), "bad.fbx", NULL, &model);
        assert_true(result == PELT_ERROR_INPUT || result == PELT_ERROR_UNSUPPORTED);
        test_fails(&test, result, result, cases[c].words);
        assert_null(model);
        test_end(&test);
    }
}

/* ---- Decompression ------------------------------------------------------------------------------------------ */

/* "a" 300 times: literals, then copies that overlap themselves. The corpus has blocks with codes of their own. */
static void compressed_bytes_come_back(void **state) {
    (void)state;
    static const uint8_t repeated[] = {0x78, 0xDA, 0x4B, 0x4C, 0x1C, 0x05, 0xC4, 0x02, 0x00, 0xD8, 0xA8, 0x71, 0xAD};
    static const uint8_t stored[] = {0x78, 0x01, 0x01, 0x03, 0x00, 0xFC, 0xFF, 'a', 'b', 'c', 0x02, 0x4D, 0x01, 0x27};
    uint8_t out[300], wanted[300];
    memset(wanted, 'a', sizeof wanted);
    assert_true(px_inflate(repeated, sizeof repeated, out, sizeof out));
    assert_memory_equal(out, wanted, sizeof wanted);
    assert_true(px_inflate(stored, sizeof stored, out, 3));
    assert_memory_equal(out, "abc", 3);
    assert_false(px_inflate(repeated, sizeof repeated, out, 299)); /* more than there is room for */
    assert_false(px_inflate(stored, sizeof stored, out, 4));       /* fewer than promised */
    for (size_t size = 0; size < 8; size++)
        assert_false(px_inflate(repeated, size, out, sizeof out));
    uint8_t wrong[sizeof repeated];
    memcpy(wrong, repeated, sizeof wrong);
    wrong[2] |= 7; /* a block of no kind */
    assert_false(px_inflate(wrong, sizeof wrong, out, sizeof out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_hold_the_same_scene), cmocka_unit_test(units_can_be_given),
        cmocka_unit_test(written_files_come_back),       cmocka_unit_test(bad_files_are_rejected),
        cmocka_unit_test(compressed_bytes_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
