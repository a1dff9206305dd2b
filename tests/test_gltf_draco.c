/* KHR_draco_mesh_compression: primitives are decoded to plain ones; invalid streams are rejected. */
#include "gltf_build.h"
#include "gltf_written.h"

#include "io/draco.h"

#include <unistd.h>

/* ---- Files ------------------------------------------------------------------------------------------------ */

/* Made with libdraco 1.5.5: a square with normals, texture coordinates, joints, weights and tangents, quantised to 11,
 * 8, 10, (joints are not), 8 and 6 bits; and one with exact positions and colours of three bytes, its vertices in
 * order. */
static const uint8_t edgebreaker[335] = {
    0x44, 0x52, 0x41, 0x43, 0x4f, 0x02, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00, 0x04, 0x02, 0x05, 0x02, 0x00, 0x00, 0x01,
    0x1f, 0xff, 0x01, 0x11, 0xff, 0x01, 0x11, 0xff, 0x01, 0x11, 0xff, 0x01, 0x11, 0xff, 0x01, 0x11, 0xff, 0x01, 0x11,
    0x06, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x02, 0x00, 0x00, 0x03, 0x00, 0x00, 0x04, 0x00, 0x00,
    0x01, 0x00, 0x09, 0x03, 0x00, 0x07, 0x02, 0x01, 0x01, 0x09, 0x03, 0x00, 0x01, 0x03, 0x01, 0x03, 0x09, 0x02, 0x00,
    0x02, 0x02, 0x01, 0x04, 0x02, 0x04, 0x00, 0x03, 0x01, 0x01, 0x04, 0x09, 0x04, 0x00, 0x04, 0x02, 0x01, 0x04, 0x09,
    0x04, 0x00, 0x05, 0x02, 0x01, 0x01, 0x01, 0x00, 0x03, 0x03, 0x01, 0x30, 0x01, 0x10, 0x03, 0x00, 0x24, 0x82, 0x4a,
    0x04, 0x00, 0x00, 0x00, 0x00, 0xff, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x80, 0x3f, 0x0b, 0x00, 0x03, 0x01, 0x00, 0x09, 0x03, 0x01, 0x20, 0x13, 0x01, 0x10, 0x01,
    0x10, 0x03, 0x00, 0xf8, 0x8f, 0xb6, 0xa4, 0x4d, 0x32, 0x00, 0xff, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x08,
    0x01, 0x01, 0x01, 0x00, 0x03, 0x03, 0x01, 0x30, 0x01, 0x10, 0x03, 0x00, 0x24, 0x82, 0xa6, 0x00, 0x00, 0x00, 0x00,
    0x00, 0xff, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3f, 0x0a, 0x01,
    0x01, 0x01, 0x00, 0x02, 0x03, 0x01, 0x40, 0x01, 0x00, 0x31, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x01, 0x01, 0x01, 0x00, 0x09, 0x03, 0x01, 0x10, 0x01, 0x20, 0x13, 0x01, 0x10, 0x03, 0x00, 0x90, 0x90, 0x61, 0x90,
    0xa0, 0x9a, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3e, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x3f, 0x08, 0x01, 0x01, 0x01, 0x00,
    0x07, 0x07, 0x01, 0x10, 0x0b, 0x01, 0x30, 0x03, 0x00, 0x38, 0x82, 0x80, 0x09, 0x00, 0x4c, 0x09, 0x04, 0x80, 0x4c,
    0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00, 0xcd, 0xcc, 0x4c, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0xbf, 0x00, 0x00, 0x00, 0x40, 0x06};
static const uint8_t sequential[112] = {
    0x44, 0x52, 0x41, 0x43, 0x4f, 0x02, 0x02, 0x01, 0x00, 0x00, 0x00, 0x02, 0x04, 0x01, 0x00, 0x01, 0x02, 0x02, 0x01,
    0x03, 0x01, 0x02, 0x00, 0x09, 0x03, 0x00, 0x00, 0x02, 0x02, 0x03, 0x01, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00,
    0x80, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x00, 0x07, 0x03, 0x01, 0x10, 0x01, 0x20, 0x0b, 0x01, 0x10,
    0x03, 0x00, 0x90, 0x90, 0x31, 0x30, 0x0a, 0xf5, 0x01, 0x00, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0x00};

static bool take_any(void *user, uint64_t bytes) {
    (void)user, (void)bytes;
    return true;
}

static bool has_draco(void) {
    px_draco *draco;
    bool has = px_draco_decode(sequential, sizeof sequential, take_any, NULL, &draco) == PX_DRACO_OK;
    px_draco_free(draco);
    return has;
}

/* Skips the test in builds without libdraco. */
static void need_draco(void) {
    if (!has_draco())
        skip();
}

#define REQUIRED                                                                                                       \
    "\"extensionsUsed\":[\"KHR_draco_mesh_compression\"],\"extensionsRequired\":[\"KHR_draco_mesh_compression\"],"
#define DRACO(ids) "\"extensions\":{\"KHR_draco_mesh_compression\":{\"bufferView\":0,\"attributes\":{" ids "}}}"
/* A node with a mesh of these primitives. */
#define MESH(primitives) "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[" primitives "]}]"

#define EXACT_PRIMITIVE(ids)                                                                                           \
    "{\"attributes\":{\"POSITION\":0,\"COLOR_0\":2},\"indices\":1,\"material\":0," DRACO(ids) "}"
static const char exact_text[] =
    REQUIRED "\"materials\":[{\"name\":\"cloth\"}]," MESH(EXACT_PRIMITIVE("\"POSITION\":0,\"COLOR_0\":1"));

/* Positions, indices and colours of a stream that claims `count` vertices and indices. */
static void build_exact(gltf_build *b, const uint8_t *stream, size_t size, uint32_t count, uint32_t index_count) {
    memset(b, 0, sizeof *b);
    build_view(b, stream, size, "");
    build_accessor_text(b, "{\"componentType\":5126,\"count\":%u,\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":[9,9,9]}",
                        count);
    build_accessor_text(b, "{\"componentType\":5125,\"count\":%u,\"type\":\"SCALAR\"}", index_count);
    build_accessor_text(b, "{\"componentType\":5121,\"normalized\":true,\"count\":%u,\"type\":\"VEC3\"}", count);
}

static const char rig_text[] = REQUIRED
    "\"nodes\":[{\"mesh\":0,\"skin\":0},{},{}],\"skins\":[{\"joints\":[1,2]}],\"meshes\":[{\"primitives\":[{"
    "\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2,\"JOINTS_0\":3,\"WEIGHTS_0\":4,\"TANGENT\":5},"
    "\"indices\":6," DRACO("\"POSITION\":7,\"NORMAL\":1,\"TEXCOORD_0\":2,\"JOINTS_0\":3,\"WEIGHTS_0\":4,"
                           "\"TANGENT\":5") "}]}]";

static void build_packed_rig(gltf_build *b) {
    static const char *const types[6] = {"VEC3", "VEC3", "VEC2", "VEC4", "VEC4", "VEC4"};
    memset(b, 0, sizeof *b);
    build_view(b, edgebreaker, sizeof edgebreaker, "");
    for (int a = 0; a < 6; a++)
        build_accessor_text(b, "{\"componentType\":%d,\"count\":4,\"type\":\"%s\"}", a == 3 ? 5121 : 5126, types[a]);
    build_accessor_text(b, "{\"componentType\":5123,\"count\":6,\"type\":\"SCALAR\"}");
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static void is_square(const pelt_model *model) {
    assert_int_equal(model->mesh.vertex_count, 4);
    SAME_FLOATS(model->mesh.positions, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0);
    assert_int_equal(model->mesh.triangle_count, 2);
    SAME_UINTS(model->mesh.triangles, 0, 1, 2, 2, 1, 3);
}

static void reads_exact_streams(void **state) {
    (void)state;
    need_draco();
    gltf_build b;
    test_context test;
    float green[4];
    test_begin(&test, 1);
    build_exact(&b, sequential, sizeof sequential, 4, 6);
    pelt_model *model = build_load(&test, &b, exact_text);
    is_square(model);
    assert_string_equal(model->mesh.parts[0].material, "cloth");
    test_ok(&test, pelt_vertex_attribute(test.context, model, "COLOR_0.g", green));
    SAME_FLOATS(green, 0, 1, 0, 20 / 255.0f);
    pelt_model_destroy(model);
    assert_int_equal(pelt_context_memory(test.context).current, 0);
    test_end(&test);
}

/* The vertex of the model that is nearest to a point. */
static uint32_t nearest(const pelt_model *model, float x, float y) {
    uint32_t best = 0;
    float least = INFINITY;
    for (uint32_t v = 0; v < model->mesh.vertex_count; v++) {
        const float *p = model->mesh.positions + 3 * (size_t)v;
        float distance = hypotf(hypotf(p[0] - x, p[1] - y), p[2]);
        if (distance < least)
            least = distance, best = v;
    }
    assert_true(least < 1.0f / 2000);
    return best;
}

static float weight_of(const pelt_model *model, uint32_t vertex, uint32_t bone) {
    float sum = 0;
    uint32_t most = model->skin.influence_count;
    for (uint32_t k = 0; k < most; k++) {
        size_t at = (size_t)vertex * most + k;
        sum += model->skin.bones[at] == bone ? model->skin.weights[at] : 0;
    }
    return sum;
}

static void reads_quantised_rigs(void **state) {
    (void)state;
    need_draco();
    static const float want[4][8] = {/* position, normal, tangent: y, w; weight of bone 0 */
                                     {0, 0, 0, 1, 0, 1, 0.5f},
                                     {1, 0, 0, 1, 0, 1, 0.25f},
                                     {0, 1, 0.6f, 0.8f, 0.6f, -1, 0},
                                     {1, 1, 0, 1, 0, -1, 0}};
    gltf_build b;
    test_context test;
    test_begin(&test, 1);
    build_packed_rig(&b);
    pelt_model *model = build_load(&test, &b, rig_text);
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->vertex_count, 4);
    assert_int_equal(mesh->triangle_count, 2);
    for (uint32_t i = 0; i < 4; i++) {
        const float *w = want[i];
        uint32_t v = nearest(model, w[0], w[1]);
        assert_true(fabsf(mesh->normals[3 * v + 1] - w[2]) < 0.02f && fabsf(mesh->normals[3 * v + 2] - w[3]) < 0.02f);
        assert_true(fabsf(mesh->uvs[2 * v] - w[0]) < 0.002f && fabsf(1 - mesh->uvs[2 * v + 1] - w[1]) < 0.002f);
        assert_true(fabsf(mesh->tangents[4 * v + 1] - w[4]) < 0.04f && mesh->tangents[4 * v + 3] == w[5]);
        assert_true(fabsf(weight_of(model, v, 0) - w[6]) < 0.005f);
        assert_true(fabsf(weight_of(model, v, 0) + weight_of(model, v, 1) - 1) < 1e-6f);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* Fallback arrays outside Draco are read unless the file requires the extension. */
static void plain_arrays_come_first(void **state) {
    (void)state;
    gltf_build b;
    for (int required = 0; required < 2; required++) {
        test_context test;
        if (required)
            need_draco();
        test_begin(&test, 1);
        build_exact(&b, sequential, sizeof sequential, 4, 6);
        b.accessors[0] = 0;
        BUILD_FLOATS(&b, "VEC3", 4, 5, 0, 0, 6, 0, 0, 5, 1, 0, 6, 1, 0); /* view 1, accessor 0 */
        BUILD_SHORTS(&b, 5123, "SCALAR", 6, "", 0, 1, 2, 2, 1, 3);
        const char *text =
            required ? REQUIRED MESH("{\"attributes\":{\"POSITION\":0},\"indices\":1," DRACO("\"POSITION\":0") "}")
                     : MESH("{\"attributes\":{\"POSITION\":0},\"indices\":1," DRACO("\"POSITION\":0") "}");
        pelt_model *model = build_load(&test, &b, text);
        assert_true(model->mesh.positions[0] == (required ? 0 : 5));
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* Fallback arrays, a missing accessor of indices, strips, and two primitives that share a stream. */
static void reads_other_primitives(void **state) {
    (void)state;
    need_draco();
    static const char *const texts[3] = {
        REQUIRED MESH("{\"attributes\":{\"POSITION\":0}," DRACO("\"POSITION\":0") "}"),
        REQUIRED MESH("{\"mode\":5,\"attributes\":{\"POSITION\":0},\"indices\":3," DRACO("\"POSITION\":0") "}"),
        REQUIRED MESH("{\"attributes\":{\"POSITION\":0,\"NORMAL\":4},\"indices\":1," DRACO(
            "\"POSITION\":0") "},"
                              "{\"attributes\":{\"POSITION\":0},\"indices\":1," DRACO("\"POSITION\":0") "}"),
    };
    for (int t = 0; t < 3; t++) {
        gltf_build b;
        test_context test;
        test_begin(&test, 1);
        build_exact(&b, sequential, sizeof sequential, 4, 6);
        build_accessor_text(&b, "{\"componentType\":5123,\"count\":4,\"type\":\"SCALAR\"}");
        BUILD_FLOATS(&b, "VEC3", 4, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0);
        pelt_model *model = build_load(&test, &b, texts[t]);
        assert_int_equal(model->mesh.part_count, t == 2 ? 2 : 1);
        SAME_FLOATS(model->mesh.positions, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0);
        SAME_UINTS(model->mesh.triangles, 0, 1, 2, 2, 1, 3);
        if (t == 2) {
            SAME_FLOATS(model->mesh.normals, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1);
            SAME_UINTS(model->mesh.triangles + 6, 4, 5, 6, 6, 5, 7);
        }
        pelt_model_destroy(model);
        test_end(&test);
    }
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static uint32_t number(const px_json *object, const char *key) {
    return (uint32_t)px_json_uint(px_json_get(object, key), 1000000, 1000000);
}

/* The written file has neither the stream nor the extension; its arrays follow the specification. */
static void writes_plain_files(void **state) {
    (void)state;
    need_draco();
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/draco.glb", folder);
    gltf_build b;
    test_context test;
    written w;
    test_begin(&test, 1);
    build_exact(&b, sequential, sizeof sequential, 4, 6);
    pelt_model *model = build_load(&test, &b, exact_text), *again;
    for (int changed = 0; changed < 2; changed++) {
        model->changed = changed ? PELT_CHANGED_POSITIONS : 0;
        test_ok(&test, pelt_save(test.context, model, path, NULL));
        look(&test, path, &w);
        assert_null(px_json_get(w.root, "extensionsUsed"));
        assert_null(px_json_get(w.root, "extensionsRequired"));
        assert_int_equal(px_json_count(px_json_get(w.root, "accessors")), 3);
        assert_int_equal(px_json_count(px_json_get(w.root, "bufferViews")), 3);
        assert_int_equal(px_json_count(px_json_get(w.root, "buffers")), 1);
        const px_json *primitive = item(item(w.root, "meshes", 0), "primitives", 0);
        const px_json *attributes = px_json_get(primitive, "attributes");
        assert_null(px_json_get(primitive, "extensions"));
        const px_json *position = item(w.root, "accessors", number(attributes, "POSITION"));
        assert_true(px_json_double(px_json_at(px_json_get(position, "max"), 0), 0) == 1); /* the file said 9 */
        const px_json *colour = item(w.root, "accessors", number(attributes, "COLOR_0"));
        assert_int_equal(number(item(w.root, "bufferViews", number(colour, "bufferView")), "byteStride"), 4);
        assert_int_equal(number(item(w.root, "accessors", number(primitive, "indices")), "componentType"), 5123);
        forget(&w);
        const char *paths[1] = {path};
        test_ok(&test, pelt_load(test.context, paths, 1, NULL, &again));
        is_square(again);
        pelt_model_destroy(again);
    }
    pelt_model_destroy(model);
    unlink(path);
    rmdir(folder);
    test_end(&test);
}

/* ---- Invalid input ---------------------------------------------------------------------------------------- */

static void builds_without_say_so(void **state) {
    (void)state;
    if (has_draco())
        skip();
    gltf_build b;
    build_exact(&b, sequential, sizeof sequential, 4, 6);
    build_fails(&b, exact_text, PELT_ERROR_UNSUPPORTED,
                "mesh 0, primitive 0: was compressed with KHR_draco_mesh_compression; this build has no Draco support");
}

static void refuses_what_does_not_fit(void **state) {
    (void)state;
    need_draco();
    gltf_build b;
#define ONE(rest) REQUIRED MESH("{\"attributes\":{\"POSITION\":0,\"COLOR_0\":2},\"indices\":1," rest "}")
    static const struct {
        const char *text, *words;
    } cases[] = {
        {ONE(DRACO("\"POSITION\":0,\"COLOR_0\":9")),
         "COLOR_0: the Draco stream in view 0 has no attribute with its id"},
        {ONE(DRACO("\"POSITION\":1")), "POSITION: its accessor's componentType"},
        {ONE(DRACO("\"COLOR_0\":0")), "COLOR_0: its accessor's componentType cannot hold"},
        {ONE(DRACO("\"NORMAL\":0")), "KHR_draco_mesh_compression has NORMAL, the primitive has not"},
        {ONE(DRACO("\"POSITION\":-1")), "the id of POSITION must be a whole number"},
        {ONE(DRACO("\"POSITION\":0") ",\"mode\":0"), "\"mode\" must be 4 or 5"},
        {ONE("\"extensions\":{\"KHR_draco_mesh_compression\":{}}"), "needs a bufferView and attributes"},
        {ONE("\"extensions\":{\"KHR_draco_mesh_compression\":{\"bufferView\":0}}"),
         "needs a bufferView and attributes"},
        {ONE("\"extensions\":{\"KHR_draco_mesh_compression\":{\"bufferView\":1,\"attributes\":{}}}"),
         "bufferView 1 does not exist, there are 1"},
        {REQUIRED MESH("{\"attributes\":{\"POSITION\":3},\"indices\":1," DRACO("\"POSITION\":0") "}"),
         "POSITION 3 does not exist, there are 3"},
        {REQUIRED MESH("{\"attributes\":{\"POSITION\":1},\"indices\":1," DRACO("\"POSITION\":0") "}"),
         "POSITION: accessor 1 has 6 elements, view 0's Draco stream has 4 vertices"},
    };
    for (size_t c = 1; c < PX_COUNT(cases); c++) {
        build_exact(&b, sequential, sizeof sequential, 4, 6);
        if (c == 1) { /* a component type that differs from the stream's: two components are requested */
            b.accessors[0] = 0;
            build_accessor_text(&b, "{\"componentType\":5120,\"count\":4,\"type\":\"VEC3\"}");
            build_accessor_text(&b, "{\"componentType\":5125,\"count\":6,\"type\":\"SCALAR\"}");
            build_accessor_text(&b, "{\"componentType\":5120,\"count\":4,\"type\":\"VEC2\"}");
        }
        build_fails(&b, cases[c].text, PELT_ERROR_INPUT, cases[c].words);
    }
    build_exact(&b, sequential, sizeof sequential, 4, 6);
    build_fails(&b, cases[0].text, PELT_ERROR_INPUT, cases[0].words);
    build_exact(&b, sequential, sizeof sequential, 5, 6);
    build_fails(&b, exact_text, PELT_ERROR_INPUT,
                "POSITION: accessor 0 has 5 elements, view 0's Draco stream has 4 vertices");
    build_exact(&b, sequential, sizeof sequential, 4, 3);
    build_fails(&b, exact_text, PELT_ERROR_INPUT, "indices: accessor 1 has 3 elements, view 0's Draco stream has 6");
    build_packed_rig(&b);
    b.accessors[0] = 0;
    for (int a = 0; a < 7; a++)
        build_accessor_text(&b, "{\"componentType\":5126,\"count\":4,\"type\":\"VEC4\"}");
    build_fails(&b, REQUIRED MESH("{\"attributes\":{\"POSITION\":0}," DRACO("\"POSITION\":7") "}"), PELT_ERROR_INPUT,
                "POSITION: has another number of components");
}

/* Encoders drop triangles without area, and some keep the old number of indices. */
static void fewer_triangles_are_a_warning(void **state) {
    (void)state;
    need_draco();
    gltf_build b;
    test_context test;
    test_begin(&test, 1);
    build_exact(&b, sequential, sizeof sequential, 4, 9);
    pelt_model *model = build_load(&test, &b, exact_text);
    is_square(model);
    assert_non_null(strstr(test.log, "accessor 1 has 9 indices, view 0's Draco stream only 6"));
    pelt_model_destroy(model);
    test_end(&test);
}

static void fails_with(const uint8_t *stream, size_t size, const char *words) {
    gltf_build b;
    build_exact(&b, stream, size, 4, 6);
    build_fails(&b, exact_text, PELT_ERROR_INPUT, words);
}

static void refuses_other_streams(void **state) {
    (void)state;
    need_draco();
    uint8_t stream[sizeof sequential];
#define CHANGED(at, value) (memcpy(stream, sequential, sizeof stream), stream[at] = (value), stream)
    fails_with(CHANGED(0, 'X'), sizeof stream, "view 0: is no Draco stream");
    fails_with(CHANGED(6, 1), sizeof stream, "view 0: its Draco stream is not of version 2.2");
    fails_with(CHANGED(7, 0), sizeof stream, "view 0: its Draco stream holds no triangles");
    fails_with(CHANGED(8, 9), sizeof stream, "view 0: its Draco stream is damaged");
    fails_with(CHANGED(15, 7), sizeof stream, "view 0: its Draco stream is damaged"); /* a vertex that does not exist */
#undef CHANGED
}

/* Streams that claim huge sizes are rejected before memory is allocated. */
static void refuses_huge_streams(void **state) {
    (void)state;
    need_draco();
    static const size_t counts[2] = {11, 12}; /* triangles and vertices, before the square's */
    for (int c = 0; c < 2; c++) {
        uint8_t stream[sizeof sequential + 4];
        size_t at = counts[c];
        memcpy(stream, sequential, at);
        memcpy(stream + at, "\xff\xff\xff\xff\x03", 5); /* a billion */
        memcpy(stream + at + 5, sequential + at + 1, sizeof sequential - at - 1);
        fails_with(stream, sizeof stream, "it looks damaged");
    }
    gltf_build b;
    test_context test;
    pelt_model *model;
    uint8_t stream[sizeof edgebreaker + 2];
    memcpy(stream, edgebreaker, 13);
    memcpy(stream + 13, "\xff\xff\x07", 3); /* 131,071 triangles: 19 MB with those of five attributes, not too many */
    memcpy(stream + 16, edgebreaker + 14, sizeof edgebreaker - 14);
    fails_with(stream, sizeof stream, "its Draco stream is damaged");
    pelt_context_desc desc = test_desc(&test, 1);
    desc.memory_limit = 4 << 20;
    test_begin_with(&test, &desc);
    build_exact(&b, stream, sizeof stream, 4, 6);
    build_glb(&b, exact_text);
    test_fails(&test, pelt_load_memory(test.context, b.glb, b.glb_size, "test.glb", NULL, &model), PELT_ERROR_MEMORY,
               "needs more memory than the limit");
    assert_null(model);
    test_end(&test);
}

/* Truncated or changed bytes: an error or another mesh, never a crash. */
static void survives_damage(void **state) {
    (void)state;
    need_draco();
    gltf_build b;
    test_context test;
    pelt_model *model;
    uint32_t failed = 0;
    test_begin(&test, 1);
    for (int which = 0; which < 2; which++) {
        const uint8_t *stream = which ? edgebreaker : sequential;
        size_t size = which ? sizeof edgebreaker : sizeof sequential;
        for (size_t at = 0; at < 3 * size; at++) {
            uint8_t changed[sizeof edgebreaker];
            memcpy(changed, stream, size);
            changed[at % size] ^= at < 2 * size ? 0xff : 0x04;
            if (which)
                build_packed_rig(&b);
            else
                build_exact(&b, sequential, size, 4, 6);
            memcpy(b.bytes, changed, size);
            if (at < size) /* truncated: the view is shorter */
                snprintf(b.views, sizeof b.views, "{\"buffer\":0,\"byteLength\":%zu}", at ? at : 1);
            build_glb(&b, which ? rig_text : exact_text);
            pelt_result result = pelt_load_memory(test.context, b.glb, b.glb_size, "test.glb", NULL, &model);
            assert_true(result == PELT_OK || result == PELT_ERROR_INPUT || result == PELT_ERROR_MEMORY);
            assert_true(at >= size || result != PELT_OK);
            failed += result != PELT_OK;
            pelt_model_destroy(model);
        }
    }
    assert_true(failed > sizeof sequential + sizeof edgebreaker);
    assert_int_equal(pelt_context_memory(test.context).current, 0);
    test_end(&test);
}

static pelt_result load_once(pelt_context *context, void *user) {
    const gltf_build *b = user;
    pelt_model *model;
    pelt_result result = pelt_load_memory(context, b->glb, b->glb_size, "test.glb", NULL, &model);
    pelt_model_destroy(model);
    return result;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    need_draco();
    gltf_build b;
    build_packed_rig(&b);
    build_glb(&b, rig_text);
    test_fail_each_allocation(1, load_once, &b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_exact_streams),       cmocka_unit_test(reads_quantised_rigs),
        cmocka_unit_test(plain_arrays_come_first),   cmocka_unit_test(reads_other_primitives),
        cmocka_unit_test(writes_plain_files),        cmocka_unit_test(builds_without_say_so),
        cmocka_unit_test(refuses_what_does_not_fit), cmocka_unit_test(fewer_triangles_are_a_warning),
        cmocka_unit_test(refuses_other_streams),     cmocka_unit_test(refuses_huge_streams),
        cmocka_unit_test(survives_damage),           cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
