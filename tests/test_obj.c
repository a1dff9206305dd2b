/* OBJ: every kind of line, rejected files and their error messages, data preserved by reading and writing. */
#include "support.h"

#include "core/core.h"

#include <math.h>

/* ---- Helpers ---------------------------------------------------------------------------------------------- */

static pelt_result load_text(pelt_context *context, const char *text, pelt_model **model) {
    return pelt_load_memory(context, text, strlen(text), "test.obj", NULL, model);
}

static void check_fails(const char *text, const char *words) {
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_fails(&test, load_text(test.context, text, &model), PELT_ERROR_INPUT, words);
    assert_null(model);
    test_end(&test);
}

static void check_floats(const float *values, size_t count, const float *wanted) {
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        if (px_float_bits(values[i]) != px_float_bits(wanted[i]))
            fail_msg("number %zu is %g, should be %g", i, (double)values[i], (double)wanted[i]);
}

static void check_uints(const uint32_t *values, size_t count, const uint32_t *wanted) {
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        if (values[i] != wanted[i])
            fail_msg("number %zu is %u, should be %u", i, values[i], wanted[i]);
}

static char *read_whole(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Writes the model to a file of the folder and reads it again. */
static pelt_model *rewrite(test_context *test, const pelt_model *model, const char *folder, char **text) {
    char path[1100];
    snprintf(path, sizeof path, "%s/rewritten.obj", folder);
    test_ok(test, pelt_save(test->context, model, path, NULL));
    const char *paths[] = {path};
    pelt_model *again;
    test_ok(test, pelt_load(test->context, paths, 1, NULL, &again));
    if (text)
        *text = read_whole(path);
    unlink(path);
    return again;
}

static void same_array(const void *a, const void *b, size_t size) {
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_memory_equal(a, b, size);
}

static void same_mesh(const pelt_mesh *a, const pelt_mesh *b) {
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->points.count, b->points.count);
    assert_int_equal(a->triangle_count, b->triangle_count);
    assert_int_equal(a->polygon_count, b->polygon_count);
    assert_int_equal(a->part_count, b->part_count);
    same_array(a->positions, b->positions, a->vertex_count * 12ul);
    same_array(a->uvs, b->uvs, a->vertex_count * 8ul);
    same_array(a->normals, b->normals, a->vertex_count * 12ul);
    same_array(a->points.of, b->points.of, a->vertex_count * 4ul);
    same_array(a->triangles, b->triangles, a->triangle_count * 12ul);
    same_array(a->triangle_polygons, b->triangle_polygons, a->triangle_count * 4ul);
    for (uint32_t p = 0; p < a->part_count; p++) {
        assert_string_equal(a->parts[p].name, b->parts[p].name);
        assert_int_equal(a->parts[p].material == NULL, b->parts[p].material == NULL);
        if (a->parts[p].material)
            assert_string_equal(a->parts[p].material, b->parts[p].material);
        assert_int_equal(a->parts[p].first_triangle, b->parts[p].first_triangle);
        assert_int_equal(a->parts[p].triangle_count, b->parts[p].triangle_count);
    }
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static void plain_triangles(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1e-5\nf 1 2 3\nf 1 3 4", &model));
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->vertex_count, 4);
    assert_int_equal(mesh->points.count, 4);
    assert_int_equal(mesh->polygon_count, 2);
    assert_null(mesh->points.of);
    assert_null(mesh->triangle_polygons);
    assert_null(mesh->uvs);
    assert_null(mesh->normals);
    check_floats(mesh->positions, 12, (float[]){0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1e-5f});
    check_uints(mesh->triangles, 6, (uint32_t[]){0, 1, 2, 0, 2, 3});
    assert_int_equal(mesh->part_count, 1);
    assert_string_equal(mesh->parts[0].name, "");
    assert_null(mesh->parts[0].material);
    assert_string_equal(model->format, "OBJ");
    pelt_model_destroy(model);
    test_end(&test);
}

/* All statements of the format, and unusual white space. */
static void strange_lines(void **state) {
    (void)state;
    static const char text[] = "\xEF\xBB\xBF# comment ending in a backslash \\\r\n"
                               "v\t0 0 0 1\r\n"
                               "  v 1 0 0 0.5 0.5 0.5 # colours\r\n"
                               "v 0 \\\r\n 1 \\\n 0\r\n"
                               "v 1 1 +0.0\r"
                               "\n\n\t\r\n"
                               "vp 0.5\ncstype bezier\ncurv 0 1 1 2 \\\n 3 4\ns off\ns 1\n"
                               "l 1 2\np 1\n"
                               "mtllib a b.mtl\n"
                               "vt 0.5\nvt nan 0\nvn 0 0 2\n"
                               "f 1 2\n"
                               "f 1 2 \\\n 4 3 # quad\n"
                               "f\t-4 -3 -2\r\n"
                               "f 1 2 3#end";
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, text, &model));
    check_floats(model->mesh.positions, 12, (float[]){0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0});
    assert_int_equal(model->mesh.vertex_count, 4);
    check_uints(model->mesh.triangles, 12, (uint32_t[]){0, 1, 3, 0, 3, 2, 0, 1, 2, 0, 1, 2});
    check_uints(model->mesh.triangle_polygons, 4, (uint32_t[]){0, 0, 1, 2});
    assert_int_equal(model->mesh.polygon_count, 3);
    assert_non_null(strstr(test.log, "1 face of fewer than 3 corners"));
    assert_non_null(strstr(test.log, "2 line and point elements"));
    assert_non_null(strstr(test.log, "3 unknown statements"));
    assert_non_null(strstr(test.log, "1 texture coordinate not finite"));
    pelt_model_destroy(model);
    test_end(&test);
}

static const char seams[] = "mtllib one.mtl\nmtllib two three.mtl\n"
                            "o Body\n"
                            "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 9 9 9\n"
                            "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt 0.25 0.75\nvt 0 0\n"
                            "vn 0 0 1\nvn 0 3 4\n"
                            "g upper\nusemtl skin\n"
                            "f 1/1/1 2/2/1 3/3/1 4/4/1\n"
                            "g lower\n"
                            "f 1/5/1 2/2/1 3/3/1\n"
                            "f 1/1/2 2/2/1 3/3/1\n"
                            "f 1/6/1 2/2/1 3/3/1\n"
                            "o Hat\n"
                            "f 1/5/1 3/3/1 4/4/1\n"
                            "usemtl felt\n"
                            "f 1 2 3\n"
                            "usemtl\n"
                            "f 1//2 2//2 3//2\n";

static void vertices_split_at_seams(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, seams, &model));
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->points.count, 5);
    assert_int_equal(mesh->vertex_count, 14);
    check_uints(mesh->points.of, 14, (uint32_t[]){0, 1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 0, 1, 2});
    check_uints(mesh->triangles, 24,
                (uint32_t[]){0, 1, 2, 0, 2, 3, 5, 1, 2, 6, 1, 2, 7, 1, 2, 5, 2, 3, 8, 9, 10, 11, 12, 13});
    check_floats(mesh->uvs, 14, (float[]){0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0.25f, 0.75f, 0, 0});
    check_floats(mesh->normals + 6 * 3, 3, (float[]){0, 0.6f, 0.8f}); /* normalised */
    check_floats(mesh->normals + 8 * 3, 3, (float[]){0, 0, 1});       /* computed: its corner has no normal */
    check_floats(mesh->normals + 4 * 3, 3, (float[]){0, 0, 1});       /* in no face */
    static const struct {
        const char *name, *material;
        uint32_t first, count;
    } parts[] = {{"upper", "skin", 0, 2},
                 {"lower", "skin", 2, 3},
                 {"Hat", "skin", 5, 1},
                 {"Hat", "felt", 6, 1},
                 {"Hat", NULL, 7, 1}};
    assert_int_equal(mesh->part_count, PX_COUNT(parts));
    for (size_t p = 0; p < PX_COUNT(parts); p++) {
        assert_string_equal(mesh->parts[p].name, parts[p].name);
        assert_string_equal(mesh->parts[p].material ? mesh->parts[p].material : "-",
                            parts[p].material ? parts[p].material : "-");
        assert_int_equal(mesh->parts[p].first_triangle, parts[p].first);
        assert_int_equal(mesh->parts[p].triangle_count, parts[p].count);
        assert_int_equal(mesh->parts[p].joint, PELT_NONE);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

static void indices_may_point_forward(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, "f 1/1 2/1 3/1\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0.5 0.5\n", &model));
    assert_int_equal(model->mesh.triangle_count, 1);
    check_floats(model->mesh.uvs, 6, (float[]){0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f});
    pelt_model_destroy(model);
    test_end(&test);
}

/* The pole of a sphere: one point, many texture coordinates. A quadratic search would take minutes. */
static void many_seams_at_one_point(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    px_buffer text = {.context = test_begin(&test, 1)};
    const uint32_t count = 300000;
    px_buffer_text(&text, "v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    for (uint32_t i = 0; i < count; i++)
        px_buffer_text(&text, "vt 0 0\n");
    for (uint32_t i = 1; i <= count; i++)
        px_buffer_format(&text, "f 1/%u 2/1 3/1\n", i);
    test_ok(&test, pelt_load_memory(test.context, text.data, text.size, "pole.obj", NULL, &model));
    assert_int_equal(model->mesh.vertex_count, count + 2);
    assert_int_equal(model->mesh.points.of[count + 1], 0);
    assert_true(pelt_context_memory(test.context).peak < 32 * text.size);
    pelt_model_destroy(model);
    px_buffer_free(&text);
    test_end(&test);
}

static void content_is_recognised(void **state) {
    (void)state;
    static const char good[] = "# comment\no thing\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, pelt_load_memory(test.context, good, sizeof good - 1, "thing.txt", NULL, &model));
    assert_string_equal(model->format, "OBJ");
    pelt_model_destroy(model);
    static const char letter[] = "v for vertex\nf for face\n";
    test_fails(&test, pelt_load_memory(test.context, letter, sizeof letter - 1, "letter.txt", NULL, &model),
               PELT_ERROR_INPUT, "letter.txt: is in none of the formats");
    static const char junk[] = "v 0 0 0\0\x01\x02 and more";
    test_fails(&test, pelt_load_memory(test.context, junk, sizeof junk - 1, "junk.obj", NULL, &model), PELT_ERROR_INPUT,
               "junk.obj: is not text");
    test_end(&test);
}

/* ---- Failing ---------------------------------------------------------------------------------------------- */

#define THREE "v 0 0 0\nv 1 0 0\nv 0 1 0\n"

static void errors_name_the_line(void **state) {
    (void)state;
    check_fails("", "test.obj: holds no vertices");
    check_fails("# nothing\nf 1 2\n", "holds no vertices");
    check_fails("v 0 0 0\nv 1 2\n", "line 2: the position has 2 numbers, it needs 3");
    check_fails("v", "line 1: the position has 0 numbers");
    check_fails("v 1 # 2 3", "line 1: the position has 1 number, it");
    check_fails("\r\n\r\nv 0 0 nan\r\n", "line 3: the position is not finite");
    check_fails("\r\rv 0 0 -Inf", "line 3: the position is not finite");
    check_fails("v 0 0 1.#IND\n", "line 1: the position is not finite");
    check_fails("v 0 0 1e39\n", "line 1: the position is not finite");
    check_fails("v 0 0,5 0\n", "line 1: '0,5' in a position is not a number");
    check_fails("v 0 x 0\n", "line 1: 'x' in a position is not a number");
    check_fails(THREE "vt\n", "line 4: the texture coordinate has 0 numbers, it needs 1");
    check_fails(THREE "vn 0 1\n", "line 4: the normal has 2 numbers, it needs 3");
    check_fails(THREE "f 0 1 2\n", "line 4: the face uses vertex 0, but they count from 1");
    check_fails(THREE "f 1 2 4\n", "line 4: the face uses vertex 4, but the file holds 3");
    check_fails(THREE "f 1 2 99999999999999999999\n", "line 4: the face uses vertex ");
    check_fails(THREE "f 1 2 -4\n", "line 4: the face uses vertex -4, but only 3 stand before it");
    check_fails(THREE "f 1/1 2/1 3/1\n", "line 4: the face uses texture coordinate 1, but the file holds 0");
    check_fails(THREE "vn 0 0 1\nf 1//1 2//1 3//2\n", "line 5: the face uses normal 2, but the file holds 1");
    check_fails(THREE "f 1 2 x\n", "line 4: 'x' is not the corner of a face");
    check_fails(THREE "f 1 2 3.5\n", "line 4: '.5' follows the corner of a face");
    check_fails(THREE "f 1/1/1/1 2 3\n", "line 4: ");
    check_fails(THREE "f 1 2 \\\n\\\n 7\n", "line 6: the face uses vertex 7");
}

static pelt_result load_and_save(pelt_context *context, void *user) {
    pelt_model *model;
    PX_TRY(load_text(context, seams, &model));
    pelt_result result = pelt_save(context, model, user, NULL);
    pelt_model_destroy(model);
    return result;
}

static void memory_may_run_out(void **state) {
    (void)state;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/out.obj", folder);
    test_fail_each_allocation(1, load_and_save, path);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* no other file remains */
}

static void reading_can_be_cancelled(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    px_buffer text = {.context = test_begin(&test, 1)};
    while (text.size < (size_t)20 << 20)
        px_buffer_text(&text, "v 0.123456 0.234567 0.345678\n");
    test_ok(&test, pelt_load_memory(test.context, text.data, text.size, "big.obj", NULL, &model));
    assert_true(test.progress_count >= 2);
    pelt_model_destroy(model);
    atomic_store(&test.cancel_at, atomic_load(&test.asked) + 2);
    test_fails(&test, pelt_load_memory(test.context, text.data, text.size, "big.obj", NULL, &model),
               PELT_ERROR_CANCELLED, "cancelled");
    px_buffer_free(&text);
    test_end(&test);
}

/* ---- Round trips ------------------------------------------------------------------------------------------ */

static void round_trip_keeps_all(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    char folder[1024], *text;
    test_folder(folder);
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, seams, &model));
    pelt_model *again = rewrite(&test, model, folder, &text);
    same_mesh(&model->mesh, &again->mesh);
    assert_non_null(strstr(text, "mtllib one.mtl\nmtllib two three.mtl\n"));
    assert_non_null(strstr(text, "o Body\ng upper\nusemtl skin\nf 1/1/1 2/2/1 3/3/1 4/4/1\ng lower\n"));
    assert_non_null(strstr(text, "o Hat\nf "));
    assert_non_null(strstr(text, "usemtl felt\nf 1 2 3\nusemtl\nf 1//2 2//2 3//2\n"));
    free(text);
    pelt_model_destroy(again);
    pelt_model_destroy(model);
    test_end(&test);
    rmdir(folder);
}

/* Saved as one object: groups instead of objects, all points in order, each used by a line or a face. */
static void parts_may_be_one_object(void **state) {
    (void)state;
    static const char file[] = "v 0 0 9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 8\nv 0 0 7\no Left\nusemtl red\nf 4 3 2\n"
                               "o Right\ng inner\nf 2 3 4\n";
    test_context test;
    pelt_model *model, *again;
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/one.obj", folder);
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, file, &model));
    pelt_save_desc desc = pelt_save_desc_default();
    desc.one_object = true;
    for (int with_document = 1; with_document >= 0; with_document--) {
        test_ok(&test, pelt_save(test.context, model, path, &desc));
        char *text = read_whole(path);
        assert_null(strstr(text, "\no"));
        assert_non_null(strstr(text, with_document
                                         ? "v 0 0 7\ng Left\nusemtl red\nf 4 3 2\ng inner\nf 2 3 4\nl 1 5\nl 6 5\n"
                                         : "v 0 0 7\ng Left\nusemtl red\nf 4 3 2\ng "));
        free(text);
        test_ok(&test, pelt_load(test.context, (const char *const[]){path}, 1, NULL, &again));
        assert_int_equal(again->mesh.part_count, 2);
        assert_int_equal(again->mesh.points.count, 6);
        assert_string_equal(again->mesh.parts[0].name, model->mesh.parts[0].name);
        assert_string_equal(again->mesh.parts[1].name, model->mesh.parts[1].name);
        pelt_model_destroy(again);
        model->document = NULL;
    }
    pelt_model_destroy(model);
    test_ok(&test, load_text(test.context, "v 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 2 3 4\n", &model));
    test_ok(&test, pelt_save(test.context, model, path, &desc)); /* an isolated point: a line to another point */
    char *text = read_whole(path);
    assert_non_null(strstr(text, "f 2 3 4\nl 1 2\n"));
    free(text);
    pelt_model_destroy(model);
    test_ok(&test, load_text(test.context, "v 1 2 3\n", &model));
    test_ok(&test, pelt_save(test.context, model, path, &desc)); /* a single point: no line is possible */
    pelt_model_destroy(model);
    test_end(&test);
    unlink(path);
    rmdir(folder);
}

static float random_float(test_random *random) {
    for (;;) {
        float value = px_float_from_bits((uint32_t)test_random_bits(random));
        if (isfinite(value))
            return value;
    }
}

/* Corners "v", "v/vt", "v//vn", "v/vt/vn" of polygons of 3 to 6. */
static void random_file(test_random *random, px_buffer *text) {
    for (int i = 0; i < 200; i++) {
        static const char *const keywords[] = {"v", "vt", "vn"};
        for (int kind = 0; kind < 3; kind++) {
            px_buffer_text(text, keywords[kind]);
            for (int c = 0; c < (kind == 1 ? 2 : 3); c++) {
                px_buffer_text(text, " ");
                px_buffer_float(text, kind == 2 ? (float)test_random_real(random, -1, 1) : random_float(random));
            }
            px_buffer_text(text, "\n");
        }
    }
    for (int i = 0; i < 500; i++) {
        if (i % 50 == 0)
            px_buffer_format(text, "%s part %d\n", i % 100 ? "usemtl" : "o", i);
        px_buffer_text(text, "f");
        for (uint32_t corners = 3 + test_random_below(random, 4), kind = test_random_below(random, 4); corners--;) {
            px_buffer_format(text, " %u", 1 + test_random_below(random, 200));
            px_buffer_text(text, kind == 1 ? "/" : kind >= 2 ? "/" : "");
            if (kind & 1)
                px_buffer_format(text, "%u", 1 + test_random_below(random, 200));
            if (kind >= 2)
                px_buffer_format(text, "/%u", 1 + test_random_below(random, 200));
        }
        px_buffer_text(text, "\n");
    }
}

static void random_files_come_back(void **state) {
    (void)state;
    test_random random = {.state = 3};
    char folder[1024];
    test_folder(folder);
    for (int i = 0; i < 20; i++) {
        test_context test;
        px_buffer text = {.context = test_begin(&test, 1)};
        random_file(&random, &text);
        pelt_model *model;
        test_ok(&test, pelt_load_memory(test.context, text.data, text.size, "random.obj", NULL, &model));
        assert_int_equal(model->mesh.points.count, 200);
        assert_int_equal(model->mesh.polygon_count, 500);
        assert_int_equal(model->mesh.part_count, 10);
        pelt_model *again = rewrite(&test, model, folder, NULL);
        same_mesh(&model->mesh, &again->mesh);
        pelt_model_destroy(again);
        pelt_model_destroy(model);
        px_buffer_free(&text);
        test_end(&test);
    }
    rmdir(folder);
}

/* A model of another source: no document, values shared between vertices, names that would break lines. */
static void other_models_are_written(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    char folder[1024], *text;
    test_folder(folder);
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, seams, &model));
    model->document = NULL;
    model->mesh.parts[0].name = "two\nlines\\";
    pelt_model *again = rewrite(&test, model, folder, &text);
    assert_int_equal(again->mesh.points.count, 5);
    assert_int_equal(again->mesh.polygon_count, model->mesh.polygon_count);
    assert_int_equal(again->mesh.part_count, model->mesh.part_count);
    assert_string_equal(again->mesh.parts[0].name, "two_lines_");
    for (uint32_t c = 0; c < 3 * model->mesh.triangle_count; c++) {
        uint32_t a = model->mesh.triangles[c], b = again->mesh.triangles[c];
        assert_memory_equal(model->mesh.positions + 3 * a, again->mesh.positions + 3 * b, 12);
        assert_memory_equal(model->mesh.normals + 3 * a, again->mesh.normals + 3 * b, 12);
        assert_memory_equal(model->mesh.uvs + 2 * a, again->mesh.uvs + 2 * b, 8);
    }
    size_t lines = 0;
    for (const char *c = text; (c = strstr(c, "\nvn ")); c++)
        lines++;
    assert_int_equal(lines, 2); /* each value is written once */
    free(text);
    pelt_model_destroy(again);
    model->mesh.positions[4] = NAN;
    char path[1100];
    snprintf(path, sizeof path, "%s/nan.obj", folder);
    test_fails(&test, pelt_save(test.context, model, path, NULL), PELT_ERROR_OUTPUT,
               "the position of vertex 1 is not finite");
    assert_int_not_equal(access(path, F_OK), 0);
    pelt_model_destroy(model);
    test_end(&test);
    rmdir(folder);
}

/* An algorithm assigned different normals to vertices that shared a `vn`. */
static void changed_normals_are_written(void **state) {
    (void)state;
    test_context test;
    pelt_model *model;
    char folder[1024];
    test_folder(folder);
    test_begin(&test, 1);
    test_ok(&test, load_text(test.context, THREE "vn 0 0 1\nf 1//1 2//1 3//1\n", &model));
    memcpy(model->mesh.normals + 3, (float[]){1, 0, 0}, 12);
    pelt_model *again = rewrite(&test, model, folder, NULL);
    check_floats(again->mesh.normals, 9, (float[]){0, 0, 1, 1, 0, 0, 0, 0, 1});
    pelt_model_destroy(again);
    pelt_model_destroy(model);
    test_end(&test);
    rmdir(folder);
}

/* Every truncated file is read or rejected; sanitizers detect overruns. */
static void cut_anywhere(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof seams; size++) {
        test_context test;
        pelt_model *model;
        test_begin(&test, 1);
        char *exact = malloc(size + (size == 0));
        memcpy(exact, seams, size);
        pelt_result result = pelt_load_memory(test.context, exact, size, "cut.obj", NULL, &model);
        assert_true(result == PELT_OK || (result == PELT_ERROR_INPUT && pelt_error_text(test.context)[0]));
        pelt_model_destroy(model);
        free(exact);
        test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_triangles),
        cmocka_unit_test(strange_lines),
        cmocka_unit_test(vertices_split_at_seams),
        cmocka_unit_test(indices_may_point_forward),
        cmocka_unit_test(many_seams_at_one_point),
        cmocka_unit_test(content_is_recognised),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(reading_can_be_cancelled),
        cmocka_unit_test(round_trip_keeps_all),
        cmocka_unit_test(parts_may_be_one_object),
        cmocka_unit_test(random_files_come_back),
        cmocka_unit_test(other_models_are_written),
        cmocka_unit_test(changed_normals_are_written),
        cmocka_unit_test(cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
