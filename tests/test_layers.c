/* Texture coordinates after the first set, and colours, of one format written to another: they come back as they were, also where vertices
 * were left out; parts that lack them get zeros and white. */
#include "gltf_build.h"

#include "io/fbx.h"
#include "io/layers.h"

/* A square of two sets of texture coordinates and a triangle of one, with colours at the first. */
static pelt_model *load_painted(test_context *test, gltf_build *b) {
    build_square(b);
    BUILD_SHORTS(b, 5123, "SCALAR", 6, "", 0, 1, 2, 2, 1, 3);
    BUILD_FLOATS(b, "VEC2", 4, 0, 0, 1, 0, 0, 1, 1, 1);
    BUILD_FLOATS(b, "VEC2", 4, 0.25f, 0, 0.5f, 0, 0.75f, 0.125f, 1, 0.25f);
    BUILD_FLOATS(b, "VEC4", 4, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0.5f, 0.25f, 0.5f, 0.75f, 1);
    BUILD_FLOATS(b, "VEC3", 3, 0, 0, 1, 1, 0, 1, 0, 1, 1);
    BUILD_FLOATS(b, "VEC2", 3, 0, 0, 1, 0, 0, 1);
    return build_load(test, b,
                      "\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"name\":\"plate\"}],"
                      "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":2,\"TEXCOORD_1\":3,"
                      "\"COLOR_0\":4},\"indices\":1,\"material\":0},"
                      "{\"attributes\":{\"POSITION\":5,\"TEXCOORD_0\":6},\"material\":1}]}],"
                      "\"materials\":[{\"name\":\"paint\"},{\"name\":\"plain\"}]");
}

/* The model written to memory and read again. */
static pelt_model *convert(test_context *test, const pelt_model *model, const char *name) {
    px_buffer bytes = {.context = test->context};
    static char copies[16][16384]; /* models refer to the bytes of their files */
    static size_t count;
    char *copy = copies[count++ % 16];
    pelt_model *again;
    test_ok(test, px_save_memory(test->context, model, name, NULL, &bytes));
    assert_in_range(bytes.size, 1, sizeof copies[0]);
    memcpy(copy, bytes.data, bytes.size);
    test_ok(test, pelt_load_memory(test->context, copy, bytes.size, name, NULL, &again));
    px_buffer_free(&bytes);
    return again;
}

/* The row of a layer at the vertex of a part that is at this position. */
static const float *row_at(const pelt_model *model, const px_layer *layer, float x, float y, float z) {
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        const float *p = model->mesh.positions + (size_t)3 * i;
        if (fabsf(p[0] - x) < 1e-6f && fabsf(p[1] - y) < 1e-6f && fabsf(p[2] - z) < 1e-6f)
            return layer->values + (size_t)layer->width * i;
    }
    fail_msg("there is no vertex at %g %g %g", (double)x, (double)y, (double)z);
    return NULL;
}

static void check_painted(test_context *test, const pelt_model *model) {
    px_arena *arena = px_arena_create(test->context);
    px_layers layers;
    test_ok(test, px_layers_get(arena, model, &layers));
    assert_int_equal(layers.layer_count, 2);
    assert_int_equal(layers.vertex_count, model->mesh.vertex_count);
    const px_layer *uvs = &layers.layers[0], *colors = &layers.layers[1];
    assert_int_equal(uvs->width, PX_UV_WIDTH);
    assert_int_equal(colors->width, PX_COLOR_WIDTH);
    SAME_FLOATS(row_at(model, uvs, 0, 1, 0), 0.75f, 0.875f); /* v upwards */
    SAME_FLOATS(row_at(model, uvs, 1, 1, 0), 1, 0.75f);
    SAME_FLOATS(row_at(model, colors, 0, 1, 0), 0, 0, 1, 0.5f);
    SAME_FLOATS(row_at(model, colors, 1, 1, 0), 0.25f, 0.5f, 0.75f, 1);
    SAME_FLOATS(row_at(model, uvs, 1, 0, 1), 0, 0);
    SAME_FLOATS(row_at(model, colors, 1, 0, 1), 1, 1, 1, 1);
    px_arena_destroy(arena);
}

static void layers_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"a.fbx", "a.usda", "a.usdz"};
    test_context test;
    test_begin(&test, 1);
    static gltf_build b;
    pelt_model *model = load_painted(&test, &b);
    check_painted(&test, model);
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        pelt_model *other = convert(&test, model, names[n]), *back = convert(&test, other, "b.glb"),
                   *twice = convert(&test, back, names[(n + 1) % PX_COUNT(names)]);
        assert_int_equal(other->mesh.vertex_count, 7);
        check_painted(&test, other);
        check_painted(&test, back);
        check_painted(&test, twice);
        float green[7];
        test_ok(&test, pelt_vertex_attribute(test.context, other, "COLOR_0.g", green));
        assert_float_equal(green[3], 0.5f, 0);
        test_fails(&test, pelt_vertex_attribute(test.context, other, "_MASK", green), PELT_ERROR_INPUT,
                   "there are: TEXCOORD_1, COLOR_0");
        pelt_model_destroy(twice);
        pelt_model_destroy(back);
        pelt_model_destroy(other);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* A vertex is left out: those that remain keep their rows. */
static void layers_follow_the_vertices(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static gltf_build b;
    pelt_model *model = load_painted(&test, &b), *other = convert(&test, model, "a.fbx");
    uint32_t origins[] = {3, 2, 1, 4, 5, 6};
    for (int m = 0; m < 2; m++) {
        pelt_model *part;
        px_arena *arena = px_arena_create(test.context);
        px_layers layers;
        test_ok(&test, pelt_model_borrow(test.context, m ? other : model, &part));
        part->mesh.origins = origins;
        part->mesh.vertex_count = 6;
        part->mesh.parts[0].vertex_count = 3;
        part->mesh.parts[1].first_vertex = 3;
        part->changed |= PELT_CHANGED_VERTICES;
        test_ok(&test, px_layers_get(arena, part, &layers));
        assert_int_equal(layers.layer_count, 2);
        SAME_FLOATS(layers.layers[0].values, 1, 0.75f, 0.75f, 0.875f, 0.5f, 1);
        SAME_FLOATS(layers.layers[1].values + 4, 0, 0, 1, 0.5f);
        px_arena_destroy(arena);
        pelt_model_destroy(part);
    }
    pelt_model_destroy(other);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Colours that an operation set go to every format, in place of those of the file. */
static void baked_colors_are_written(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static gltf_build b;
    pelt_model *model = load_painted(&test, &b);
    float *colors = pelt_model_alloc(test.context, model, (size_t)3 * model->mesh.vertex_count, sizeof *colors);
    assert_non_null(colors);
    colors[3] = 0.5f;
    model->mesh.colors = colors;
    model->changed |= PELT_CHANGED_COLORS;
    pelt_model *other = convert(&test, model, "a.fbx"), *back = convert(&test, other, "b.glb");
    px_arena *arena = px_arena_create(test.context);
    px_layers layers;
    test_ok(&test, px_layers_get(arena, back, &layers));
    assert_int_equal(layers.layer_count, 2);
    SAME_FLOATS(row_at(back, &layers.layers[1], 1, 0, 0), 0.5f, 0, 0, 1);
    px_arena_destroy(arena);
    pelt_model_destroy(back);
    pelt_model_destroy(other);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Colours of corners split vertices; equal combinations are one vertex. */
static void corners_of_other_colors_are_split(void **state) {
    (void)state;
    static const char text[] =
        "#usda 1.0\n(\n    metersPerUnit = 1\n)\ndef Mesh \"plate\"\n{\n"
        "    int[] faceVertexCounts = [3, 3]\n    int[] faceVertexIndices = [0, 1, 2, 2, 1, 3]\n"
        "    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]\n"
        "    texCoord2f[] primvars:st = [(0, 0)] (\n        interpolation = \"constant\"\n    )\n"
        "    texCoord2f[] primvars:light = [(0, 0), (1, 0), (0, 1), (0, 1), (0.5, 0.5), (1, 1)] (\n"
        "        interpolation = \"faceVarying\"\n    )\n"
        "    color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0)] (\n        interpolation = \"uniform\"\n    )\n"
        "    float[] primvars:displayOpacity = [1, 0.25]\n}\n";
    test_context test;
    test_begin(&test, 1);
    pelt_model *model;
    test_ok(&test, pelt_load_memory(test.context, text, sizeof text - 1, "a.usda", NULL, &model));
    assert_int_equal(model->mesh.vertex_count, 6); /* both points of the shared edge have two colours */
    assert_int_equal(model->mesh.points.count, 4);
    float alpha[6];
    test_ok(&test, pelt_vertex_attribute(test.context, model, "displayColor.a", alpha));
    for (uint32_t c = 0; c < 6; c++)
        assert_float_equal(alpha[model->mesh.triangles[c]], c < 3 ? 1 : 0.25f, 0);
    test_ok(&test, pelt_vertex_attribute(test.context, model, "light.x", alpha));
    SAME_FLOATS(alpha, 0, 1, 0, 1, 0, 0.5f);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_come_back),
        cmocka_unit_test(layers_follow_the_vertices),
        cmocka_unit_test(baked_colors_are_written),
        cmocka_unit_test(corners_of_other_colors_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
