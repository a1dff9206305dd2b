/* Vertex animation textures: every texel of positions and normals, the description, the lookup coordinates; refused clips;
 * failing allocations leave no file. What three makes of them: tests/browser/vat.mjs. */
#include "support.h"

#include "core/core.h"

#include <math.h>

static char folder[1024];

static const char *in_folder(const char *name) {
    static char paths[4][1300];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* The contents of a file, with a zero at the end; freed by the caller. */
static char *get_file(const char *name, size_t *size) {
    FILE *f = fopen(in_folder(name), "rb");
    assert_non_null(f);
    char *bytes = calloc(1, 1 << 20);
    *size = fread(bytes, 1, (1 << 20) - 1, f);
    fclose(f);
    return bytes;
}

static const char *const outputs[] = {"a.exr", "a_normals.exr", "a.json", "a.glb"};

static size_t remove_outputs(void) {
    size_t count = 0;
    for (size_t o = 0; o < PX_COUNT(outputs); o++)
        count += unlink(in_folder(outputs[o])) == 0;
    return count;
}

/* Two triangles with a hard edge: 4 points, 6 vertices; the second frame is turned by 90 degrees about z. */
static const char roof[] =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 -1\nvn 0 0 1\nvn -1 0 0\no a\nf 1//1 2//1 3//1\nf 1//2 3//2 4//2\n";
static const float rest_points[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, -1}};
static const float turned_points[4][3] = {{0, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, 0, -1}};

static pelt_result make_model(pelt_context *context, uint32_t frame_count, pelt_model **model) {
    static const float times[2] = {0, 0.5f};
    PX_TRY(pelt_load_memory(context, roof, strlen(roof), "a.obj", NULL, model));
    pelt_clip *clip = pelt_model_alloc(context, *model, 1, sizeof *clip);
    float *positions = pelt_model_alloc(context, *model, 24, sizeof *positions);
    if (!clip || !positions)
        return PELT_ERROR_MEMORY;
    memcpy(positions, rest_points, sizeof rest_points);
    memcpy(positions + 12, turned_points, sizeof turned_points);
    *clip = (pelt_clip){
        .name = "turn", .frame_count = frame_count, .point_count = 4, .times = times, .positions = positions};
    (*model)->clips = clip;
    (*model)->clip_count = frame_count > 0;
    return PELT_OK;
}

static float half_value(uint16_t bits) {
    float size = bits & 0x7C00 ? ldexpf((float)(0x400 + (bits & 0x3FF)), (bits >> 10 & 31) - 25)
                               : ldexpf((float)(bits & 0x3FF), -24);
    return bits & 0x8000 ? -size : size;
}

/* Channel c (0 red) of a texel; `half`: 16-bit floats. */
static float texel(const char *bytes, size_t size, size_t width, size_t height, bool half, size_t x, size_t y,
                   size_t c) {
    size_t item = half ? 2 : 4, line = 8 + 3 * item * width, first = size - height * line;
    assert_int_equal(px_load_u64(bytes + first - 8 * (height - y)), first + y * line); /* table of offsets */
    const char *at = bytes + first + y * line;
    assert_int_equal(px_load_u32(at), y);
    assert_int_equal(px_load_u32(at + 4), 3 * item * width);
    at += 8 + item * ((2 - c) * width + x);
    return half ? half_value((uint16_t)((uint8_t)at[0] | (uint8_t)at[1] << 8)) : px_float_from_bits(px_load_u32(at));
}

/* The mesh of the texture has the name of a rig that is baked beside it: the rig is not replaced. */
static void the_input_is_kept(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, make_model(test.context, 2, &model));
    model->path = in_folder("a.glb");
    test_fails(&test, pelt_save(test.context, model, in_folder("a.exr"), NULL), PELT_ERROR_OUTPUT, "another name");
    assert_int_equal(remove_outputs(), 0);
    pelt_model_destroy(model);
    test_end(&test);
}

static void textures(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, make_model(test.context, 2, &model));
    test_ok(&test, pelt_save(test.context, model, in_folder("a.exr"), NULL));
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->vertex_count, 6);
    size_t size, normal_size, text_size, mesh_size;
    char *positions = get_file("a.exr", &size), *normals = get_file("a_normals.exr", &normal_size);
    char *text = get_file("a.json", &text_size), *glb = get_file("a.glb", &mesh_size);
    assert_memory_equal(positions, "\x76\x2F\x31\x01\x02\0\0\0channels\0chlist", 23);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < 6; i++) {
            uint32_t point = pelt_vertex_class(&mesh->points, i);
            const float *n = mesh->normals + (size_t)3 * i, *p = k ? turned_points[point] : rest_points[point];
            const float wanted[3] = {k ? -n[1] : n[0], k ? n[0] : n[1], n[2]};
            for (size_t c = 0; c < 3; c++) {
                assert_true(texel(positions, size, 6, 2, false, i, k, c) == p[c]);
                assert_true(fabsf(texel(normals, normal_size, 6, 2, true, i, k, c) - wanted[c]) < 1e-3f);
            }
        }
    assert_non_null(strstr(
        text, "\"vertices\": 6,\n  \"frames\": 2,\n  \"width\": 6,\n  \"height\": 2,\n  \"rows_per_frame\": 1,"));
    assert_non_null(strstr(
        text,
        "\"duration\": 0.5,\n  \"fps\": 2,\n  \"times\": [0, 0.5],\n  \"min\": [-1, 0, -1],\n  \"max\": [1, 1, 0],"));
    assert_non_null(
        strstr(text, "\"positions\": \"a.exr\",\n  \"normals\": \"a_normals.exr\",\n  \"mesh\": \"a.glb\"\n}"));
    pelt_model *written;
    test_ok(&test, pelt_load(test.context, &(const char *){in_folder("a.glb")}, 1, NULL, &written));
    assert_int_equal(written->mesh.vertex_count, 6);
    assert_false(written->mesh.parts[0].skinned);
    assert_int_equal(written->motion_count, 0);
    float u[6], v[6];
    test_ok(&test, pelt_vertex_attribute(test.context, written, "TEXCOORD_0.x", u)); /* a second set needs a first */
    test_ok(&test, pelt_vertex_attribute(test.context, written, "TEXCOORD_1.x", u));
    test_ok(&test, pelt_vertex_attribute(test.context, written, "TEXCOORD_1.y", v));
    for (size_t i = 0; i < 6; i++)
        assert_true(fabsf(u[i] - ((float)i + 0.5f) / 6) < 1e-6f && v[i] == 0.25f);
    pelt_model_destroy(written);
    free(positions);
    free(normals);
    free(text);
    free(glb);
    assert_int_equal(remove_outputs(), 4);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A mesh without normals gets those of its faces. */
static void without_normals(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static const char text[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nf 1 2 3\n";
    static const float positions[2][12] = {{0, 0, 0, 1, 0, 0, 0, 1, 0, 9, 9, 9}, {0, 0, 0, 0, 0, -1, 0, 1, 0, 9, 9, 9}};
    pelt_model *model;
    test_ok(&test, pelt_load_memory(test.context, text, strlen(text), "a.obj", NULL, &model));
    pelt_clip clip = {.name = "turn", .frame_count = 2, .point_count = 4, .times = (const float[]){0, 1}};
    clip.positions = positions[0];
    model->clips = &clip;
    model->clip_count = 1;
    test_ok(&test, pelt_save(test.context, model, in_folder("a.exr"), NULL));
    size_t size;
    char *normals = get_file("a_normals.exr", &size);
    for (size_t i = 0; i < 3; i++)
        for (size_t c = 0; c < 3; c++) {
            assert_true(texel(normals, size, 4, 2, true, i, 0, c) == (c == 2 ? 1 : 0));
            assert_true(fabsf(texel(normals, size, 4, 2, true, i, 1, c) - (c == 0 ? 1.f : 0.f)) < 1e-6f);
        }
    free(normals);
    assert_int_equal(remove_outputs(), 4);
    model->clips = NULL;
    model->clip_count = 0;
    pelt_model_destroy(model);
    test_end(&test);
}

static void refused(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, make_model(test.context, 0, &model));
    test_fails(&test, pelt_save(test.context, model, in_folder("a.exr"), NULL), PELT_ERROR_USAGE,
               "there is no vertex animation to write; bake one first");
    pelt_model_destroy(model);
    test_ok(&test, make_model(test.context, 2, &model));
    ((float *)(uintptr_t)model->clips[0].positions)[13] = INFINITY;
    test_fails(&test, pelt_save(test.context, model, in_folder("a.exr"), NULL), PELT_ERROR_INPUT,
               "frame 1: the position of vertex 0 is not finite");
    model->clips[0].frame_count = 20000; /* not read: refused before */
    test_fails(&test, pelt_save(test.context, model, in_folder("a.exr"), NULL), PELT_ERROR_OUTPUT,
               "6 vertices in 20000 frames are more than a texture of 16384 × 16384 holds");
    pelt_model_destroy(model);
    assert_int_equal(remove_outputs(), 0);
    test_end(&test);
}

static pelt_result write_one(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model = NULL;
    pelt_result result = make_model(context, 2, &model);
    if (result == PELT_OK)
        result = pelt_save(context, model, in_folder("a.exr"), NULL);
    pelt_model_destroy(model);
    assert_int_equal(remove_outputs(), result == PELT_OK ? 4 : 0);
    return result;
}

static void no_memory(void **state) {
    (void)state;
    test_fail_some_allocations(1, 60, write_one, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_input_is_kept), cmocka_unit_test(textures),
                                       cmocka_unit_test(without_normals), cmocka_unit_test(refused),
                                       cmocka_unit_test(no_memory)};
    test_folder(folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
