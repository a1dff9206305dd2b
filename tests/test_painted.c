/* Painted vertex values: brightness of images at UVs, vertex attributes by name, numbers in text files. */
#include "core/core.h"
#include "gltf_build.h"
#include "view/view.h"

#include <png.h>

/* ---- Pictures --------------------------------------------------------------------------------------------- */

/* Two rows of two pixels: black, white; red, blue. */
static const uint8_t four[] = {0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 255, 0, 0, 255, 255};

typedef struct picture {
    char folder[1024], path[1088];
} picture;

static void begin(picture *p) {
    test_folder(p->folder);
    snprintf(p->path, sizeof p->path, "%s/p.png", p->folder);
}

static void end(const picture *p) {
    unlink(p->path);
    assert_int_equal(rmdir(p->folder), 0);
}

static void brightness_at_places(void **state) {
    (void)state;
    picture p;
    test_context test;
    begin(&p);
    test_begin(&test, 1);
    test_ok(&test, px_png_write(test.context, p.path, 2, 2, four));
    /* Centres of the pixels, with v upwards; one period further; halfway between pixels; across the border; NaN. */
    const float uvs[] = {0.25f, 0.75f,  0.75f, 0.75f, 0.25f, 0.25f, 0.75f, 0.25f,
                         1.75f, -0.25f, 0.5f,  0.75f, 0,     0.75f, NAN,   0};
    const double wanted[] = {0, 1, 0.2126, 0.0722, 1, 0.5, 0.5};
    float out[8];
    test_ok(&test, pelt_image_luminance(test.context, p.path, uvs, 8, out));
    for (int i = 0; i < 7; i++)
        assert_float_equal(out[i], wanted[i], 1e-6);
    assert_true(isnan(out[7]));
    test_end(&test);
    end(&p);
}

/* Grey in 1 bit, grey in 16 bits with alpha, and a palette: written by libpng's plain interface. */
static void write_grey(const char *path, uint32_t format, const void *pixels, const void *palette, uint32_t count) {
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = 2, .height = 1, .format = format, .colormap_entries = count};
    assert_true(png_image_write_to_file(&image, path, 0, pixels, 0, palette));
}

static void kinds_of_pictures(void **state) {
    (void)state;
    const float uvs[] = {0.25f, 0.5f, 0.75f, 0.5f};
    const uint8_t bytes[] = {51, 204}, with_alpha[] = {51, 0, 204, 128}, indices[] = {1, 0}, palette[] = {204, 51};
    picture p;
    begin(&p);
    for (int kind = 0; kind < 3; kind++) {
        test_context test;
        float out[2];
        test_begin(&test, 1);
        if (kind == 2)
            write_grey(p.path, PNG_FORMAT_FLAG_COLORMAP, indices, palette, 2);
        else
            write_grey(p.path, kind ? PNG_FORMAT_GA : PNG_FORMAT_GRAY, kind ? with_alpha : bytes, NULL, 0);
        test_ok(&test, pelt_image_luminance(test.context, p.path, uvs, 2, out));
        assert_float_equal(out[0], 0.2, 1e-6);
        assert_float_equal(out[1], 0.8, 1e-6);
        test_end(&test);
    }
    end(&p);
}

static void pictures_that_are_none(void **state) {
    (void)state;
    picture p;
    test_context test;
    const float uv[] = {0, 0};
    float out = 7;
    begin(&p);
    test_begin(&test, 1);
    test_fails(&test, pelt_image_luminance(test.context, p.path, uv, 1, &out), PELT_ERROR_INPUT, "p.png");
    test_ok(&test, px_png_write(test.context, p.path, 2, 2, four));
    for (long size = 0; size < 70; size += 3) { /* truncated anywhere before the last pixels */
        assert_int_equal(truncate(p.path, size), 0);
        test_fails(&test, pelt_image_luminance(test.context, p.path, uv, 1, &out), PELT_ERROR_INPUT, "p.png: ");
        test_ok(&test, px_png_write(test.context, p.path, 2, 2, four));
    }
    assert_float_equal(out, 7, 0);
    test_end(&test);
    end(&p);
}

static pelt_result read_picture(pelt_context *context, void *user) {
    const float uv[] = {0, 0};
    float out;
    return pelt_image_luminance(context, user, uv, 1, &out);
}

static void pictures_without_memory(void **state) {
    (void)state;
    picture p;
    test_context test;
    begin(&p);
    test_begin(&test, 1);
    test_ok(&test, px_png_write(test.context, p.path, 2, 2, four));
    test_end(&test);
    test_fail_each_allocation(1, read_picture, p.path);
    end(&p);
}

/* ---- Attributes ------------------------------------------------------------------------------------------- */

/* Two parts: a square with a number and a colour for every corner, and a triangle without. */
static const char *const painted =
    "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":["
    "{\"attributes\":{\"POSITION\":0,\"_FALLOFF\":1,\"COLOR_0\":2}},{\"attributes\":{\"POSITION\":3,\"NORMAL\":3}}]}]";

static void build_painted(gltf_build *b) {
    build_square(b);
    BUILD_FLOATS(b, "SCALAR", 4, 0.25f, 0.5f, 0.75f, 1);
    BUILD_BYTES(b, 5121, "VEC4", 4, ",\"normalized\":true", 0, 51, 0, 255, 255, 102, 0, 255, 0, 153, 0, 255, 255, 204,
                0, 255);
    BUILD_FLOATS(b, "VEC3", 3, 0, 0, 1, 1, 0, 1, 0, 1, 1);
}

static void attributes_by_name(void **state) {
    (void)state;
    gltf_build b = {0};
    test_context test;
    float out[7];
    test_begin(&test, 1);
    build_painted(&b);
    pelt_model *model = build_load(&test, &b, painted);
    test_ok(&test, pelt_vertex_attribute(test.context, model, "_FALLOFF", out));
    SAME_FLOATS(out, 0.25f, 0.5f, 0.75f, 1);
    for (int i = 4; i < 7; i++)
        assert_true(isnan(out[i]));
    test_ok(&test, pelt_vertex_attribute(test.context, model, "COLOR_0", out));
    SAME_FLOATS(out, 0, 1, 0, 1);
    test_ok(&test, pelt_vertex_attribute(test.context, model, "COLOR_0.g", out));
    for (int i = 0; i < 4; i++)
        assert_float_equal(out[i], 0.2 * (double)(i + 1), 1e-6);
    test_ok(&test, pelt_vertex_attribute(test.context, model, "NORMAL.z", out));
    assert_true(isnan(out[0]));
    SAME_FLOATS(out + 4, 1, 1, 1);
    pelt_model_destroy(model);
    test_end(&test);
}

static void attributes_that_are_none(void **state) {
    (void)state;
    gltf_build b = {0};
    test_context test;
    float out[7];
    test_begin(&test, 1);
    build_painted(&b);
    pelt_model *model = build_load(&test, &b, painted), *bare;
    test_fails(&test, pelt_vertex_attribute(test.context, model, "falloff", out), PELT_ERROR_INPUT,
               "no vertex attribute \"falloff\"; there are: POSITION, _FALLOFF, COLOR_0, NORMAL");
    test_fails(&test, pelt_vertex_attribute(test.context, model, "_FALLOFF.y", out), PELT_ERROR_INPUT,
               "only 1 components");
    pelt_model_destroy(model);
    const char *obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    test_ok(&test, pelt_load_memory(test.context, obj, strlen(obj), "bare.obj", NULL, &bare));
    test_fails(&test, pelt_vertex_attribute(test.context, bare, "x", out), PELT_ERROR_INPUT, "glTF, FBX and USD files");
    pelt_model_destroy(bare);
    test_end(&test);
}

static pelt_result read_attributes(pelt_context *context, void *user) {
    gltf_build *b = user;
    pelt_model *model;
    float out[7];
    pelt_result result = pelt_load_memory(context, b->glb, b->glb_size, "test.glb", NULL, &model);
    if (result == PELT_OK)
        result = pelt_vertex_attribute(context, model, "COLOR_0.g", out);
    pelt_model_destroy(model);
    return result;
}

static void attributes_without_memory(void **state) {
    (void)state;
    gltf_build b = {0};
    build_painted(&b);
    build_glb(&b, painted);
    test_fail_each_allocation(1, read_attributes, &b);
}

/* ---- Numbers ---------------------------------------------------------------------------------------------- */

/* A square of two triangles that share no corner: six vertices of four points. */
static const char *const square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 1/2 3/2 4/2\n";

typedef struct number_file {
    test_context test;
    pelt_model *model;
    char folder[1024], path[1100];
} number_file;

static void write_numbers(const number_file *n, const char *text) {
    FILE *f = fopen(n->path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void begin_numbers(number_file *n) {
    test_folder(n->folder);
    snprintf(n->path, sizeof n->path, "%s/n.txt", n->folder);
    test_begin(&n->test, 1);
    test_ok(&n->test, pelt_load_memory(n->test.context, square, strlen(square), "square.obj", NULL, &n->model));
    assert_true(n->model->mesh.vertex_count == 6 && n->model->mesh.points.count == 4);
}

static void end_numbers(number_file *n) {
    unlink(n->path);
    rmdir(n->folder);
    pelt_model_destroy(n->model);
    test_end(&n->test);
}

static void numbers_of_vertices_and_points(void **state) {
    (void)state;
    number_file n;
    float out[6], wanted[6];
    begin_numbers(&n);
    write_numbers(&n, "1 2 -3e-1\r\n# four\n4\t5 6");
    test_ok(&n.test, pelt_vertex_numbers(n.test.context, n.model, n.path, out));
    SAME_FLOATS(out, 1, 2, -0.3f, 4, 5, 6);
    write_numbers(&n, "10\n20\n30\n40\n");
    test_ok(&n.test, pelt_vertex_numbers(n.test.context, n.model, n.path, out));
    for (int i = 0; i < 6; i++)
        wanted[i] = 10 * (float)(n.model->mesh.points.of[i] + 1);
    assert_memory_equal(out, wanted, sizeof wanted);
    end_numbers(&n);
}

static void numbers_that_are_none(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"1 2 3 4 5", "n.txt: has 5 numbers; the mesh has 6 vertices and 4 points"},
        {"1 2 3 4 5 6 7", "has more than 6 numbers"},
        {"", "has 0 numbers"},
        {"1\n2\nthree", "line 3: 'three' is no finite number"},
        {"1 nan", "line 1: 'nan' is no finite number"},
    };
    number_file n;
    float out[6];
    begin_numbers(&n);
    for (size_t t = 0; t < PX_COUNT(texts); t++) {
        write_numbers(&n, texts[t][0]);
        test_fails(&n.test, pelt_vertex_numbers(n.test.context, n.model, n.path, out), PELT_ERROR_INPUT, texts[t][1]);
    }
    unlink(n.path);
    test_fails(&n.test, pelt_vertex_numbers(n.test.context, n.model, n.path, out), PELT_ERROR_INPUT,
               "n.txt: cannot be opened");
    end_numbers(&n);
}

static pelt_result read_numbers(pelt_context *context, void *user) {
    const number_file *n = user;
    float out[6];
    return pelt_vertex_numbers(context, n->model, n->path, out);
}

static void numbers_without_memory(void **state) {
    (void)state;
    number_file n;
    begin_numbers(&n);
    write_numbers(&n, "1 2 3 4");
    test_fail_each_allocation(1, read_numbers, &n);
    end_numbers(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brightness_at_places),      cmocka_unit_test(kinds_of_pictures),
        cmocka_unit_test(pictures_that_are_none),    cmocka_unit_test(pictures_without_memory),
        cmocka_unit_test(attributes_by_name),        cmocka_unit_test(attributes_that_are_none),
        cmocka_unit_test(attributes_without_memory), cmocka_unit_test(numbers_of_vertices_and_points),
        cmocka_unit_test(numbers_that_are_none),     cmocka_unit_test(numbers_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
