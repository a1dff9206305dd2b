/* Detecting, loading and saving formats: the code around the format readers and writers. */
#include "support.h"

#include "io/io.h"

#include <dirent.h>

/* ---- Small files ------------------------------------------------------------------------------------------ */

static char folder[1024];

static int make_folder(void **state) {
    (void)state;
    test_folder(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char path[2200];
    px_folder list;
    assert_true(px_folder_open(&list, folder));
    for (const char *name; (name = px_folder_next(&list));) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        px_path_remove(path); /* not "." and ".." */
    }
    px_folder_close(&list);
    return rmdir(folder);
}

static const char *in_folder(const char *name) {
    static char paths[8][1400];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* A triangle whose first point is at (x, 0, 0). */
static void put_triangle(const char *name, int x, const char *face) {
    char text[200];
    snprintf(text, sizeof text, "v %d 0 0\nv 1 0 0\nv 0 1 0\n%s\n", x, face);
    put(name, text);
}

static int file_count(void) {
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    int count = -2; /* . and .. */
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static pelt_result load_one(pelt_context *context, const char *path, pelt_model **model) {
    return pelt_load(context, &path, 1, NULL, model);
}

/* ---- Order and patterns ----------------------------------------------------------------------------------- */

static void test_natural_order(void **state) {
    (void)state;
    assert_true(px_natural_compare("2.obj", "10.obj") < 0);
    assert_true(px_natural_compare("f_0009", "f_10") < 0);
    assert_true(px_natural_compare("a2b10", "a2b9") > 0);
    assert_true(px_natural_compare("a", "ab") < 0);
    assert_true(px_natural_compare("x1", "x01") == 0);
    assert_true(px_natural_compare("99999999999999999999998", "99999999999999999999999") < 0);
}

static void test_patterns(void **state) {
    (void)state;
    test_context test;
    px_arena *arena = px_arena_create(test_begin(&test, 1));
    assert_string_equal(px_sequence_path(arena, "a/f_%04d.obj", 7), "a/f_0007.obj");
    assert_string_equal(px_sequence_path(arena, "f%d.obj", 123), "f123.obj");
    assert_null(px_sequence_path(arena, "f.obj", 1));
    assert_null(px_sequence_path(arena, "f%s.obj", 1));
    assert_null(px_sequence_path(arena, "f%d%d.obj", 1));
    assert_null(px_sequence_path(arena, "f%999999d.obj", 1));
    assert_null(px_sequence_path(arena, "f%-4d.obj", 1));
    px_arena_destroy(arena);
    test_end(&test);
}

/* ---- Sequences -------------------------------------------------------------------------------------------- */

static void check_sequence(test_context *test, const char *path, uint32_t frames) {
    pelt_model *model;
    test_ok(test, load_one(test->context, path, &model));
    assert_int_equal(model->clip_count, 1);
    assert_int_equal(model->clips[0].frame_count, frames);
    for (uint32_t k = 0; k < frames; k++) {
        float point[3];
        test_ok(test, pelt_clip_read(test->context, &model->clips[0], k, 0, 1, point));
        assert_float_equal(point[0], (float)k, 0);
        assert_float_equal(model->clips[0].times[k], (float)k / 30, 1e-6);
    }
    pelt_model_destroy(model);
}

static void test_sequences(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (int k = 0; k < 12; k++) { /* 10 and 11 must sort after 9 */
        char name[32];
        snprintf(name, sizeof name, "f_%d.obj", k);
        put_triangle(name, k, "f 1 2 3");
    }
    put("notes.txt", "not a frame");
    check_sequence(&test, folder, 12);
    check_sequence(&test, in_folder("f_*.obj"), 12);
    check_sequence(&test, in_folder("f_%d.obj"), 12);
    const char *list[] = {in_folder("f_0.obj"), in_folder("f_1.obj"), in_folder("f_2.obj")};
    pelt_model *model;
    test_ok(&test, pelt_load(test.context, list, 3, NULL, &model));
    assert_int_equal(model->clips[0].frame_count, 3);
    pelt_model_destroy(model);
    test_fails(&test, load_one(test.context, in_folder("g_*.obj"), &model), PELT_ERROR_INPUT, "no file matches");
    test_end(&test);
}

/* Files of two sequences must not become one clip. */
static void test_two_sequences(void **state) {
    (void)state;
    static const struct {
        const char *files[4], *refused; /* NULL: one clip */
    } cases[] = {
        {{"walk_01.obj", "walk_02.obj", "run_01.obj", "run_02.obj"}, "run_%02d.obj' and '"},
        {{"walk_1.obj", "walk_2.obj", "walk_10.obj", "rest.obj"}, "rest.obj' and '"},
        {{"rest.obj", "walk.obj", "walk_9.obj", "walk_10.obj"}, "rest.obj' and '"},
        {{"take1_01.obj", "take1_02.obj", "take2_01.obj", "take2_02.obj"}, "take1_%02d.obj' and '"},
        {{"take1_1_v3.obj", "take1_2_v3.obj", "take1_10_v3.obj", "take1_11_v3.obj"}, NULL},
        {{"f_1_t0.obj", "f_2_t33.obj", "f_3_t67.obj", "f_4_t100.obj"}, NULL},
        {{"f_1.obj", "f_01.obj", "f_2.obj", "f_02.obj"}, "f_%02d.obj' and '"},
        {{"f_1.obj", "f_001.obj", "f_2.obj", "f_3.obj"}, "f_%03d.obj' and '"},
        {{"bent.obj", "rest.obj", "twisted.obj", "stretched.obj"}, NULL},
    };
    test_context test;
    test_begin(&test, 1);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int n = 0; n < 4; n++)
            put_triangle(cases[c].files[n], n, "f 1 2 3");
        const char *inputs[] = {folder, in_folder("*.obj")};
        for (int n = 0; n < 2; n++) {
            pelt_model *model;
            pelt_result result = load_one(test.context, inputs[n], &model);
            if (cases[c].refused) {
                test_fails(&test, result, PELT_ERROR_INPUT, cases[c].refused);
                test_fails(&test, result, PELT_ERROR_INPUT, "more than one sequence");
                continue;
            }
            test_ok(&test, result);
            assert_int_equal(model->clips[0].frame_count, 4);
            pelt_model_destroy(model);
        }
        for (int n = 0; n < 4; n++)
            assert_int_equal(unlink(in_folder(cases[c].files[n])), 0);
    }
    test_end(&test);
}

static void test_sequence_topology(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    put_triangle("a_1.obj", 0, "f 1 2 3");
    put_triangle("a_2.obj", 0, "f 1 3 2");
    test_fails(&test, load_one(test.context, in_folder("a_*.obj"), &model), PELT_ERROR_INPUT, "frame 1");
    assert_null(model);
    put_triangle("a_2.obj", 0, "v 5 5 5\nf 1 2 3");
    test_fails(&test, load_one(test.context, in_folder("a_*.obj"), &model), PELT_ERROR_INPUT, "a_2.obj: frame 1 has 4");
    put_triangle("a_2.obj", 0, "f 1 2 3\nf 1 2 3");
    test_fails(&test, load_one(test.context, in_folder("a_*.obj"), &model), PELT_ERROR_INPUT, "2 triangles");
    test_end(&test);
}

static void test_sequence_round_trip(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    put_triangle("s_00.obj", 0, "f 1 2 3");
    put_triangle("s_01.obj", 1, "f 1 2 3");
    pelt_model *model;
    test_ok(&test, load_one(test.context, in_folder("s_%02d.obj"), &model));
    test_ok(&test, pelt_save(test.context, model, in_folder("t_%d.obj"), NULL));
    test_ok(&test, pelt_save(test.context, model, in_folder("t.pc2"), NULL));
    check_sequence(&test, in_folder("t_%d.obj"), 2);
    pelt_model_destroy(model);
    const char *pair[] = {in_folder("s_00.obj"), in_folder("t.pc2")};
    test_ok(&test, pelt_load(test.context, pair, 2, NULL, &model));
    assert_int_equal(model->clips[0].frame_count, 2);
    assert_string_equal(model->format, "OBJ");
    pelt_model_destroy(model);
    check_sequence(&test, in_folder("t.pc2"), 2); /* a cache alone is a model of points */
    test_end(&test);
}

/* ---- Rejected input --------------------------------------------------------------------------------------- */

static void test_refusals(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_fails(&test, load_one(test.context, in_folder("none.obj"), &model), PELT_ERROR_INPUT, "cannot be opened");
    put("what.xyz", "hello");
    test_fails(&test, load_one(test.context, in_folder("what.xyz"), &model), PELT_ERROR_INPUT, "(glTF, OBJ, ");
    test_fails(&test, load_one(test.context, folder, &model), PELT_ERROR_INPUT, "the folder holds no file");
    test_fails(&test, pelt_load(test.context, NULL, 0, NULL, &model), PELT_ERROR_USAGE, "no input");
    put_triangle("a.obj", 0, "f 1 2 3");
    test_ok(&test, load_one(test.context, in_folder("a.obj"), &model));
    test_fails(&test, pelt_save(test.context, model, in_folder("a.xyz"), NULL), PELT_ERROR_USAGE, "a.xyz: ");
    test_fails(&test, pelt_save(test.context, model, in_folder("a.pc2"), NULL), PELT_ERROR_USAGE, "bake");
    test_fails(&test, pelt_save(test.context, model, in_folder("no/a.obj"), NULL), PELT_ERROR_OUTPUT, "no/a.obj: ");
    pelt_save_desc keep = pelt_save_desc_default();
    keep.replace = false;
    test_fails(&test, pelt_save(test.context, model, in_folder("a.obj"), &keep), PELT_ERROR_OUTPUT, "exists already");
    pelt_model_destroy(model);
    test_end(&test);
}

static void test_detection(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    put("cache.bin", ""); /* filled below: content takes precedence over the extension */
    FILE *file = fopen(in_folder("cache.bin"), "wb");
    unsigned char head[32] = "POINTCACHE2";
    head[12] = 1;
    assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    const pelt_format_info *info = pelt_format_of_file(test.context, in_folder("cache.bin"));
    assert_non_null(info);
    assert_string_equal(info->name, "PC2");
    assert_string_equal(pelt_format_for_output("x/Y.GLB")->name, "glTF");
    assert_null(pelt_format_for_output("glb"));
    assert_null(pelt_format_for_output("a.glb/b"));
    test_end(&test);
}

/* A cache that does not fit, or is not a cache, leaves the model unchanged. */
static void test_cache_in_memory(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    const char *mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 1/2 2/1 3/1\n";
    pelt_model *model;
    test_ok(&test, pelt_load_memory(test.context, mesh, strlen(mesh), "a.obj", NULL, &model));
    uint32_t *points = model->mesh.points.of;
    assert_non_null(points);
    unsigned char cache[32 + 4 * 12] = "POINTCACHE2"; /* one frame of four points: as many as vertices */
    cache[12] = 1, cache[16] = 4, cache[26] = 0x80, cache[27] = 0x3F, cache[28] = 1;
    test_ok(&test, pelt_load_cache_memory(test.context, cache, sizeof cache, "a.pc2", NULL, model));
    assert_null(model->mesh.points.of); /* the vertices are the points now */
    pelt_model_destroy(model);
    test_ok(&test, pelt_load_memory(test.context, mesh, strlen(mesh), "a.obj", NULL, &model));
    points = model->mesh.points.of;
    test_fails(&test, pelt_load_cache_memory(test.context, cache, sizeof cache - 1, "a.pc2", NULL, model),
               PELT_ERROR_INPUT, "a.pc2: ");
    test_fails(&test, pelt_load_cache_memory(test.context, mesh, strlen(mesh), "b.obj", NULL, model), PELT_ERROR_INPUT,
               "not a cache");
    assert_ptr_equal(model->mesh.points.of, points);
    static char name[100000]; /* name of the clip: its own allocation, made after the mesh is prepared for the cache */
    memset(name, 'n', sizeof name);
    memcpy(name + sizeof name - 5, ".pc2", 5);
    for (uint64_t n = 1;; n++) {
        atomic_store(&test.fail_at, atomic_load(&test.allocations) + n);
        pelt_result result = pelt_load_cache_memory(test.context, cache, sizeof cache, name, NULL, model);
        if (result == PELT_OK)
            break;
        assert_int_equal(result, PELT_ERROR_MEMORY);
        assert_ptr_equal(model->mesh.points.of, points);
        assert_int_equal(model->clip_count, 0);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- All or nothing --------------------------------------------------------------------------------------- */

static void test_output_is_atomic(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    put("old.txt", "old");
    px_output *output = px_output_begin(test.context, true);
    px_output_file *file;
    test_ok(&test, px_output_open(output, in_folder("old.txt"), &file));
    test_ok(&test, px_output_write(file, "new", 3));
    test_ok(&test, px_output_open(output, in_folder("second.txt"), &file));
    assert_int_equal(file_count(), 3); /* the old file and two temporary files */
    px_output_abort(output);
    assert_int_equal(file_count(), 1);

    output = px_output_begin(test.context, true);
    test_ok(&test, px_output_open(output, in_folder("old.txt"), &file));
    test_ok(&test, px_output_write(file, "new", 3));
    test_ok(&test, px_output_commit(output));
    assert_int_equal(file_count(), 1);
    char text[8] = "";
    FILE *check = fopen(in_folder("old.txt"), "rb");
    assert_int_equal(fread(text, 1, sizeof text, check), 3);
    fclose(check);
    assert_string_equal(text, "new");
    test_end(&test);
}

static void check_text(const char *name, const char *wanted) {
    char text[8] = "";
    FILE *file = fopen(in_folder(name), "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, wanted);
}

/* Files are renamed one after the other. If one fails, earlier ones are rolled back: an existing file has its old
 * content again, a new one is deleted. The main file, opened first, is renamed last. */
static void test_all_are_renamed_or_none(void **state) {
    (void)state;
    static const char *const names[] = {"main.txt", "second.txt", "third.txt"};
    test_context test;
    test_begin(&test, 1);
    put("second.txt", "old");
    for (int blocked = 1; blocked >= 0; blocked--) {
        px_output *output = px_output_begin(test.context, true);
        for (size_t n = 0; n < 3; n++) {
            px_output_file *file;
            test_ok(&test, px_output_open(output, in_folder(names[n]), &file));
            test_ok(&test, px_output_write(file, "new", 3));
        }
        if (blocked) {
            assert_true(px_folder_make(in_folder("main.txt"))); /* a file cannot replace a folder */
            test_fails(&test, px_output_commit(output), PELT_ERROR_OUTPUT, "cannot be put in place");
            assert_int_equal(rmdir(in_folder("main.txt")), 0);
            assert_int_equal(file_count(), 1);
            check_text("second.txt", "old");
        } else {
            test_ok(&test, px_output_commit(output));
            assert_int_equal(file_count(), 3);
            for (size_t n = 0; n < 3; n++)
                check_text(names[n], "new");
        }
    }
    test_end(&test);
}

static void test_cancel_leaves_nothing(void **state) {
    (void)state;
    put_triangle("c_0.obj", 0, "f 1 2 3");
    put_triangle("c_1.obj", 1, "f 1 2 3");
    for (uint64_t at = 1;; at++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model;
        test_ok(&test, load_one(test.context, in_folder("c_%d.obj"), &model));
        atomic_store(&test.cancel_at, atomic_load(&test.asked) + at);
        pelt_result result = pelt_save(test.context, model, in_folder("d_%d.obj"), NULL);
        pelt_model_destroy(model);
        test_end(&test);
        if (result == PELT_OK) {
            assert_true(at > 2); /* cancel was polled during the operation */
            assert_int_equal(file_count(), 4);
            return;
        }
        assert_int_equal(result, PELT_ERROR_CANCELLED);
        assert_int_equal(file_count(), 2);
    }
}

static pelt_result load_and_save(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    PX_TRY(load_one(context, in_folder("m_*.obj"), &model));
    pelt_result result = pelt_save(context, model, in_folder("n_%d.obj"), NULL);
    pelt_model_destroy(model);
    return result;
}

static void test_failed_allocations(void **state) {
    (void)state;
    put_triangle("m_0.obj", 0, "f 1 2 3");
    put_triangle("m_1.obj", 1, "f 1 2 3");
    test_fail_each_allocation(1, load_and_save, NULL);
    assert_int_equal(file_count(), 4); /* no temporary file remains */
}

int main(void) {
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_natural_order),
        cmocka_unit_test(test_patterns),
        FOLDER_TEST(test_two_sequences),
        FOLDER_TEST(test_sequences),
        FOLDER_TEST(test_sequence_topology),
        FOLDER_TEST(test_sequence_round_trip),
        FOLDER_TEST(test_refusals),
        FOLDER_TEST(test_detection),
        cmocka_unit_test(test_cache_in_memory),
        FOLDER_TEST(test_output_is_atomic),
        FOLDER_TEST(test_all_are_renamed_or_none),
        FOLDER_TEST(test_cancel_leaves_nothing),
        FOLDER_TEST(test_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
