/* PLY: every encoding and type, faces, strips and unknown elements; rejected files and their error messages; data
 * preserved by reading and writing. */
#include "support.h"

#include "core/core.h"

#include <math.h>

/* ---- Helpers ---------------------------------------------------------------------------------------------- */

typedef struct ply_bytes {
    uint8_t data[4096];
    size_t size;
} ply_bytes;

static void put_text(ply_bytes *out, const char *text) {
    memcpy(out->data + out->size, text, strlen(text));
    out->size += strlen(text);
}

static void put_bits(ply_bytes *out, uint64_t bits, size_t size, bool big) {
    for (size_t i = 0; i < size; i++)
        out->data[out->size + (big ? size - 1 - i : i)] = (uint8_t)(bits >> 8 * i);
    out->size += size;
}

static pelt_result load(pelt_context *context, const void *data, size_t size, pelt_model **model) {
    return pelt_load_memory(context, data, size, "test.ply", NULL, model);
}

static pelt_model *load_text(test_context *test, const char *text) {
    pelt_model *model;
    test_ok(test, load(test->context, text, strlen(text), &model));
    assert_string_equal(model->format, "PLY");
    return model;
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

static void check_fails(const char *text, const char *words) {
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_fails(&test, load(test.context, text, strlen(text), &model), PELT_ERROR_INPUT, words);
    assert_null(model);
    assert_true(pelt_context_memory(test.context).peak < 1 << 20);
    test_end(&test);
}

#define HEAD     "ply\nformat ascii 1.0\n"
#define XYZ      "property float x\nproperty float y\nproperty float z\n"
#define TRIANGLE HEAD "element vertex 3\n" XYZ "element face 1\nproperty list uchar int vertex_indices\nend_header\n"

/* ---- Reading ---------------------------------------------------------------------------------------------- */

/* A quad and a triangle with normals and texture coordinates between unknown properties and elements. */
static void everything_in_text(void **state) {
    (void)state;
    static const char text[] =
        "ply\r\ncomment made by hand\r\nformat ascii 1.0\r\nobj_info none\r\n"
        "element material 1\r\nproperty list uchar float shine\r\nproperty int id\r\n"
        "element vertex 4\r\nproperty uchar red\r\nproperty double x\r\nproperty float32 z\r\n"
        "property float y\r\nproperty float nx\r\nproperty float ny\r\nproperty float nz\r\n"
        "property list uchar int near\r\nproperty float texture_u\r\nproperty float texture_v\r\n"
        "element face 3\r\nproperty uchar flags\r\nproperty list uint8 uint vertex_index\r\n"
        "element edge 1\r\nproperty int a\r\nend_header\r\n"
        "2 0.5 0.25 7\r\n"
        "255 0 1 0  0 0 1  2 1 2  0 0\r\n"
        "255 1 2 0  0 0 2  0  1 0\r\n"
        "255 1 3 1\r\n 0 0 0  0  1 1\r\n"
        "255 0 4 1  1 0 0  1 9  0 nan\r\n"
        "0 4 0 1 2 3\n0 2 0 1\n0 3 0 1 2\n5\n";
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load_text(&test, text);
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->vertex_count, 4);
    assert_int_equal(mesh->points.count, 4);
    assert_int_equal(mesh->polygon_count, 2);
    check_floats(mesh->positions, 12, (float[]){0, 0, 1, 1, 0, 2, 1, 1, 3, 0, 1, 4});
    check_floats(mesh->uvs, 8, (float[]){0, 0, 1, 0, 1, 1, 0, 0});
    check_floats(mesh->normals, 6, (float[]){0, 0, 1, 0, 0, 1});
    check_floats(mesh->normals + 9, 3, (float[]){1, 0, 0});
    check_uints(mesh->triangles, 9, (uint32_t[]){0, 1, 2, 0, 2, 3, 0, 1, 2});
    check_uints(mesh->triangle_polygons, 3, (uint32_t[]){0, 0, 1});
    assert_int_equal(mesh->part_count, 1);
    assert_non_null(strstr(test.log, "1 face of fewer than 3 corners"));
    assert_non_null(strstr(test.log, "1 texture coordinate not finite"));
    assert_non_null(strstr(test.log, "1 normal without direction"));
    pelt_model_destroy(model);
    test_end(&test);
}

/* The same numbers in every type and both byte orders; lists with lengths and elements of every whole type. */
static void every_type(void **state) {
    (void)state;
    static const char *const names[] = {"char", "uchar", "int16", "ushort", "int32", "uint", "float", "float64"};
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
    test_context test;
    test_begin(&test, 1);
    for (size_t type = 0; type < 8; type++)
        for (size_t list = 0; list < 6; list++)
            for (int big = 0; big < 2; big++) {
                ply_bytes bytes = {0};
                char head[400];
                const char *name = names[type];
                snprintf(
                    head, sizeof head,
                    "ply\nformat binary_%s_endian 1.0\nelement vertex 3\nproperty %s x\nproperty %s y\nproperty %s "
                    "z\nelement face 1\nproperty list %s %s vertex_indices\nend_header\n",
                    big ? "big" : "little", name, name, name, names[list], names[(type + list) % 6]);
                put_text(&bytes, head);
                for (uint32_t i = 0; i < 9; i++) {
                    double value = i * 10.0;
                    uint64_t bits = (uint64_t)value;
                    if (type == 6)
                        bits = px_float_bits((float)value);
                    else if (type == 7)
                        memcpy(&bits, &value, sizeof bits);
                    put_bits(&bytes, bits, sizes[type], big);
                }
                put_bits(&bytes, 3, sizes[list], big);
                for (uint64_t i = 0; i < 3; i++)
                    put_bits(&bytes, 2 - i, sizes[(type + list) % 6], big);
                pelt_model *model;
                test_ok(&test, load(test.context, bytes.data, bytes.size, &model));
                check_floats(model->mesh.positions, 9, (float[]){0, 10, 20, 30, 40, 50, 60, 70, 80});
                check_uints(model->mesh.triangles, 3, (uint32_t[]){2, 1, 0});
                pelt_model_destroy(model);
            }
    test_end(&test);
}

static void negative_numbers(void **state) {
    (void)state;
    ply_bytes bytes = {0};
    put_text(&bytes, "ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty char x\nproperty short y\n"
                     "property int z\nend_header\n");
    put_bits(&bytes, (uint64_t)-1, 1, false);
    put_bits(&bytes, (uint64_t)-2000, 2, false);
    put_bits(&bytes, (uint64_t)-300000, 4, false);
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, load(test.context, bytes.data, bytes.size, &model));
    check_floats(model->mesh.positions, 3, (float[]){-1, -2000, -300000});
    assert_int_equal(model->mesh.part_count, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Lone carriage returns end lines; a body that begins with a line feed is then read in full. */
static void lone_carriage_return(void **state) {
    (void)state;
    static const char text[] = "ply\rformat binary_little_endian 1.0\relement vertex 1\rproperty uchar x\r"
                               "property uchar y\rproperty uchar z\rend_header\r\n\r\n";
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load_text(&test, text);
    check_floats(model->mesh.positions, 3, (float[]){10, 13, 10});
    pelt_model_destroy(model);
    test_end(&test);
}

static void strips(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load_text(&test, HEAD "element tristrips 1\nproperty list int int vertex_indices\n"
                                              "element vertex 5\n" XYZ "end_header\n"
                                              "10 0 1 2 3 3 4 -1 2 3 4\n"
                                              "0 0 0 1 0 0 0 1 0 1 1 0 0 2 0\n");
    assert_int_equal(model->mesh.triangle_count, 3);
    check_uints(model->mesh.triangles, 9, (uint32_t[]){0, 1, 2, 1, 3, 2, 2, 3, 4});
    pelt_model_destroy(model);
    test_end(&test);
}

/* Texture coordinates of the faces split vertices, points stay. */
static void face_texcoords(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load_text(&test, HEAD "element vertex 4\n" XYZ "property float s\nproperty float t\n"
                                              "element face 3\nproperty list uchar int vertex_indices\n"
                                              "property list uchar float texcoord\nend_header\n"
                                              "0 0 0 9 9\n1 0 0 9 9\n1 1 0 9 9\n0 1 0 9 9\n"
                                              "3 0 1 2 6 0 0 1 0 1 1\n"
                                              "3 0 2 3 6 .5 .5 1 1 0 1\n"
                                              "3 1 2 3 0\n");
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->points.count, 4);
    assert_int_equal(mesh->vertex_count, 9);
    check_floats(mesh->uvs, 8, (float[]){0, 0, 1, 0, 1, 1, 0, 1});
    check_floats(mesh->uvs + 8, 4, (float[]){.5f, .5f, 1, 1});
    check_uints(mesh->points.of, 9, (uint32_t[]){0, 1, 2, 3, 0, 2, 1, 2, 3});
    pelt_model_destroy(model);
    test_end(&test);
}

/* Consecutive polygons of very different sizes: lists grow by more than a factor of two. */
static void growing_polygons(void **state) {
    (void)state;
    static const uint32_t sizes[] = {3, 300, 3000, 4, 20000, 60000};
    ply_bytes head = {0};
    put_text(&head, "ply\nformat binary_little_endian 1.0\nelement face 6\nproperty list ushort uchar vertex_indices\n"
                    "property list uint uchar texcoord\nelement vertex 3\nproperty uchar x\nproperty uchar y\n"
                    "property uchar z\nend_header\n");
    uint8_t *data = calloc(1, 300000), *p = data + head.size;
    memcpy(data, head.data, head.size);
    uint32_t triangles = 0;
    for (size_t f = 0; f < PX_COUNT(sizes); f++) {
        uint32_t n = sizes[f], uvs = 2 * n;
        p[0] = (uint8_t)n;
        p[1] = (uint8_t)(n >> 8);
        for (uint32_t c = 0; c < n; c++)
            p[2 + c] = (uint8_t)(c % 3);
        for (uint32_t b = 0; b < 4; b++)
            p[2 + n + b] = (uint8_t)(uvs >> 8 * b);
        memset(p + 6 + n, 7, uvs);
        p += 6 + n + uvs;
        triangles += n - 2;
    }
    p += 9;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, load(test.context, data, (size_t)(p - data), &model));
    assert_int_equal(model->mesh.triangle_count, triangles);
    assert_int_equal(model->mesh.polygon_count, 6);
    assert_int_equal(model->mesh.points.count, 3);
    check_floats(model->mesh.uvs, 2, (float[]){7, 7});
    pelt_model_destroy(model);
    free(data);
    test_end(&test);
}

/* ---- Failing ---------------------------------------------------------------------------------------------- */

static void refused(void **state) {
    (void)state;
    check_fails("plyx", "does not begin with a line 'ply'");
    check_fails("ply\nend_header\n", "does not tell the format");
    check_fails("ply\nformat utf8 1.0\nend_header\n", "line 2: 'utf8' is no encoding");
    check_fails(HEAD "element vertex 3\nproperty flat x\nend_header\n", "line 4: 'flat' is no type");
    check_fails(HEAD "property float x\nend_header\n", "line 3: a property stands before the first element");
    check_fails(HEAD "element vertex many\nend_header\n", "'many' is no number of elements");
    check_fails(HEAD "element vertex 99999999999999999999\n", "is no number of elements");
    check_fails(HEAD "element vertex\nend_header\n", "'vertex' is an element without a number");
    check_fails(HEAD "elephant vertex 3\nend_header\n", "'elephant' is no statement");
    check_fails(HEAD "element face 1\nproperty list float int vertex_indices\nend_header\n", "is no whole number");
    check_fails(HEAD "element vertex 3\n" XYZ, "the file ends before 'end_header'");
    check_fails(HEAD "element face 0\nend_header\n", "holds no vertices");
    check_fails(HEAD "element vertex 1\nproperty float x\nend_header\n1\n", "have no x, y and z");
    check_fails(HEAD "element vertex 1\nend_header\n", "have no x, y and z");
    check_fails(HEAD "element vertex 1\n" XYZ "element vertex 1\n" XYZ "end_header\n", "two elements 'vertex'");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 1", "is cut off: it promises 3 of 'vertex', more than follow");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 100", "vertex 2: the file ends here");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 1 0 3 0 1 3 ", "face 0: uses vertex 3, but the file holds 3");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 1 0 3 0 1 -1 ", "face 0: uses vertex -1");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 1 0 3 0 1 1.5 ", "face 0: uses vertex 1.5");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 1 0 99 0 1 2 ", "face 0: a list is longer than the rest of the file");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 1 0 -3 0 1 2 ", "the length of a list is no number from 0 up");
    check_fails(TRIANGLE "0 0 0 1 x 0 0 1 0 3 0 1 2 ", "vertex 1: there is something else where a number should be");
    check_fails(TRIANGLE "0 0 0 1 inf 0 0 1 0 3 0 1 2 ", "vertex 1: the position is not finite");
}

/* Impossible counts cost neither time nor memory. */
static void hostile_sizes(void **state) {
    (void)state;
    check_fails(HEAD "element vertex 4000000000\n" XYZ "end_header\n0 0 0\n", "promises 4000000000 of 'vertex'");
    check_fails(HEAD "element nothing 1000000000000000000\nelement vertex 1\n" XYZ "end_header\n0 0\n", "is cut off");
    check_fails(TRIANGLE "0 0 0 1 0 0 0 1 0 4000000000 0 1 2", "a list is longer than the rest of the file");
    check_fails(HEAD "element vertex 1\n" XYZ "element junk 1000000000000\nproperty list int int a\nend_header\n"
                     "0 0 0 0\n",
                "promises 1000000000000 of 'junk'");
}

static size_t make_binary(ply_bytes *out) {
    put_text(out, "ply\nformat binary_little_endian 1.0\nelement vertex 4\n" XYZ "property float s\nproperty float t\n"
                  "element face 2\nproperty list uchar int vertex_indices\nproperty list uchar float texcoord\n"
                  "end_header\n");
    for (uint32_t i = 0; i < 20; i++)
        put_bits(out, px_float_bits((float)(i * i % 7)), 4, false);
    for (uint32_t face = 0; face < 2; face++) {
        put_bits(out, 3, 1, false);
        for (uint32_t c = 0; c < 3; c++)
            put_bits(out, (face + c) % 4, 4, false);
        put_bits(out, 6, 1, false);
        for (uint32_t c = 0; c < 6; c++)
            put_bits(out, px_float_bits((float)(face * c)), 4, false);
    }
    return out->size;
}

static void cut_everywhere(void **state) {
    (void)state;
    ply_bytes bytes = {0};
    size_t size = make_binary(&bytes);
    for (size_t cut = 0; cut <= size; cut++) {
        test_context test;
        test_begin(&test, 1);
        uint8_t *exact = malloc(cut + (cut == 0));
        memcpy(exact, bytes.data, cut);
        pelt_model *model;
        pelt_result result = load(test.context, exact, cut, &model);
        assert_int_equal(result, cut < size ? PELT_ERROR_INPUT : PELT_OK);
        assert_true(result == PELT_OK || pelt_error_text(test.context)[0] != 0);
        pelt_model_destroy(model);
        free(exact);
        test_end(&test);
    }
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

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
    same_array(a->positions, b->positions, a->vertex_count * 12ul);
    same_array(a->uvs, b->uvs, a->vertex_count * 8ul);
    same_array(a->normals, b->normals, a->vertex_count * 12ul);
    same_array(a->points.of, b->points.of, a->vertex_count * 4ul);
    same_array(a->triangles, b->triangles, a->triangle_count * 12ul);
    same_array(a->triangle_polygons, b->triangle_polygons, a->triangle_count * 4ul);
}

/* Seams, a quad and a polygon of 300 corners. */
static pelt_model *make_model(test_context *test) {
    static char text[20000];
    char *p = text;
    for (int i = 0; i < 300; i++)
        p += sprintf(p, "v %d %g %g\n", i, i * 0.1, i / 3.0);
    p += sprintf(p, "vt 0 0\nvt 0.1 1\nvn 0 0 1\nvn 0.6 0 0.8\nf 1/1/1 2/1/1 3/1/1 4/2/1\nf 2/2/2 1/1/1 5/1/2\nf");
    for (int i = 0; i < 300; i++)
        p += sprintf(p, " %d/1/1", i + 1);
    sprintf(p, "\n");
    pelt_model *model;
    test_ok(test, pelt_load_memory(test->context, text, strlen(text), "a.obj", NULL, &model));
    assert_true(model->mesh.vertex_count > 300);
    return model;
}

static void every_encoding_comes_back(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.ply", folder);
    const char *paths[] = {path};
    pelt_model *model = make_model(&test);
    for (uint32_t variant = 0; variant < 3 * 4; variant++) {
        pelt_model part = *model;
        part.mesh.normals = variant / 3 % 2 ? NULL : model->mesh.normals;
        part.mesh.uvs = variant / 6 ? NULL : model->mesh.uvs;
        pelt_save_desc desc = pelt_save_desc_default();
        desc.ply = variant % 3;
        test_ok(&test, pelt_save(test.context, &part, path, &desc));
        pelt_model *again;
        test_ok(&test, pelt_load(test.context, paths, 1, NULL, &again));
        same_mesh(&part.mesh, &again->mesh);
        pelt_model_destroy(again);
    }
    pelt_save_desc desc = pelt_save_desc_default();
    desc.ply = 3;
    test_fails(&test, pelt_save(test.context, model, path, &desc), PELT_ERROR_USAGE, "pelt_save_desc.ply is 3");
    desc.ply = PELT_PLY_BINARY;
    model->mesh.positions[7] = NAN;
    test_fails(&test, pelt_save(test.context, model, path, &desc), PELT_ERROR_OUTPUT, "vertex 2 is not finite");
    unlink(path);
    rmdir(folder);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A file pattern is a clip; in a folder with other meshes, only the first format of the table is read. */
static void sequences(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    char folder[1024], pattern[1100], path[1100];
    test_folder(folder);
    snprintf(pattern, sizeof pattern, "%s/f_%%02d.ply", folder);
    pelt_model *model = make_model(&test), *again;
    uint32_t count = model->mesh.points.count;
    float *positions = calloc((size_t)3 * 3 * count, sizeof *positions);
    for (uint32_t i = 0; i < 9 * count; i++)
        positions[i] = (float)(i % 101);
    pelt_clip clip = {.name = "", .frame_count = 3, .point_count = count, .times = (float[]){0, 1, 2}};
    clip.positions = positions;
    model->clips = &clip;
    model->clip_count = 1;
    test_ok(&test, pelt_save(test.context, model, pattern, NULL));
    const char *inputs[] = {pattern, folder};
    for (size_t i = 0; i < 2; i++) {
        test_ok(&test, pelt_load(test.context, &inputs[i], 1, NULL, &again));
        assert_int_equal(again->clip_count, 1);
        assert_int_equal(again->clips[0].frame_count, 3);
        assert_int_equal(again->clips[0].point_count, count);
        assert_string_equal(again->clips[0].name, "f");
        assert_memory_equal(again->clips[0].positions, positions, (size_t)9 * count * sizeof *positions);
        pelt_model_destroy(again);
    }
    snprintf(path, sizeof path, "%s/a.obj", folder);
    test_ok(&test, pelt_save(test.context, model, path, NULL));
    test_ok(&test, pelt_load(test.context, &inputs[1], 1, NULL, &again));
    assert_string_equal(again->format, "OBJ");
    assert_int_equal(again->clip_count, 0);
    pelt_model_destroy(again);
    unlink(path);
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/f_%02d.ply", folder, k);
        unlink(path);
    }
    rmdir(folder);
    free(positions);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Out of memory ---------------------------------------------------------------------------------------- */

static pelt_result read_and_write(pelt_context *context, void *user) {
    const ply_bytes *bytes = user;
    pelt_model *model;
    pelt_result result = load(context, bytes->data, bytes->size, &model);
    for (uint32_t encoding = 0; encoding < 3 && result == PELT_OK; encoding += 2) {
        pelt_save_desc desc = pelt_save_desc_default();
        desc.ply = encoding;
        char path[64];
        snprintf(path, sizeof path, "/tmp/pelt_test_%ld.ply", (long)getpid());
        result = pelt_save(context, model, path, &desc);
        assert_int_equal(access(path, R_OK) == 0, result == PELT_OK);
        unlink(path);
    }
    pelt_model_destroy(model);
    return result;
}

static void no_memory(void **state) {
    (void)state;
    ply_bytes bytes = {0};
    make_binary(&bytes);
    test_fail_each_allocation(1, read_and_write, &bytes);
    static const char text[] =
        HEAD "element vertex 3\n" XYZ "property uint pelt_point\nproperty float nx\nproperty float "
             "ny\nproperty float nz\nelement face 1\nproperty list uchar int vertex_indices\n"
             "end_header\n0 0 0 0 0 0 1 1 0 0 1 0 0 1 0 0 0 0 0 0 1 3 0 1 2\n";
    bytes.size = 0;
    put_text(&bytes, text);
    test_fail_each_allocation(1, read_and_write, &bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_in_text),
        cmocka_unit_test(every_type),
        cmocka_unit_test(negative_numbers),
        cmocka_unit_test(lone_carriage_return),
        cmocka_unit_test(strips),
        cmocka_unit_test(face_texcoords),
        cmocka_unit_test(growing_polygons),
        cmocka_unit_test(refused),
        cmocka_unit_test(hostile_sizes),
        cmocka_unit_test(cut_everywhere),
        cmocka_unit_test(every_encoding_comes_back),
        cmocka_unit_test(sequences),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
