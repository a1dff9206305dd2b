/* Reading glTF: containers, buffers, every kind of accessor, nodes, meshes, skins, morphs, animations; rejected files
 * and their error messages. */
#include "gltf_build.h"
#include "io/meshopt.h"

static const char *const mesh_text =
    "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}]";

/* Loads a file, calls `check` and frees everything. */
static void with_model(gltf_build *b, const char *text, void (*check)(const pelt_model *model)) {
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = build_load(&test, b, text);
    check(model);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Triangles -------------------------------------------------------------------------------------------- */

static void is_two_triangles(const pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->vertex_count, 4);
    assert_int_equal(mesh->triangle_count, 2);
    SAME_FLOATS(mesh->positions, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0);
    SAME_UINTS(mesh->triangles, 0, 1, 2, 2, 1, 3);
    assert_null(mesh->normals);
    assert_int_equal(mesh->part_count, 1);
    assert_false(mesh->parts[0].skinned);
    assert_int_equal(model->skin.bone_count, 1);
    assert_int_equal(model->skin.influence_count, 1);
}

static void indices(void **state) {
    (void)state;
    gltf_build b = {0}, c = {0}, d = {0};
    build_square(&b);
    BUILD_BYTES(&b, 5121, "SCALAR", 6, "", 0, 1, 2, 2, 1, 3);
    with_model(&b, mesh_text, is_two_triangles);
    build_square(&c);
    BUILD_SHORTS(&c, 5123, "SCALAR", 6, "", 0, 1, 2, 2, 1, 3);
    with_model(&c, mesh_text, is_two_triangles);
    build_square(&d);
    build_numbers(&d, (const uint32_t[]){0, 1, 2, 2, 1, 3}, 24, 4, 5125, "SCALAR", 6, "");
    with_model(&d, mesh_text, is_two_triangles);
    gltf_build e = {0}, f = {0};
    build_square(&e);
    BUILD_BYTES(&e, 5121, "SCALAR", 6, "", 0, 1, 2, 2, 1, 4);
    build_fails(&e, mesh_text, PELT_ERROR_INPUT,
                "mesh 0, primitive 0: accessor 1: index 4 is out of range, there are 4 vertices");
    build_square(&f);
    BUILD_FLOATS(&f, "SCALAR", 3, 0, 1, 2);
    build_fails(&f, mesh_text, PELT_ERROR_INPUT, "indices: accessor 1: type \"SCALAR\" of componentType 5126");
}

static void strip(const pelt_model *model) {
    SAME_UINTS(model->mesh.triangles, 0, 1, 2, 1, 3, 2);
    assert_int_equal(model->mesh.triangle_count, 2);
}

static void fan(const pelt_model *model) {
    SAME_UINTS(model->mesh.triangles, 1, 2, 0, 2, 3, 0);
}

static void points(const pelt_model *model) {
    assert_int_equal(model->mesh.triangle_count, 0);
    assert_int_equal(model->mesh.parts[0].triangle_count, 0);
    assert_int_equal(model->mesh.vertex_count, 4);
}

static void modes(void **state) {
    (void)state;
    static const char *const text =
        "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"mode\":%d}]}]";
    static const struct {
        int mode;
        void (*check)(const pelt_model *);
    } cases[] = {{5, strip}, {6, fan}, {0, points}, {1, points}, {3, points}};
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        gltf_build b = {0};
        char json[256];
        build_square(&b);
        snprintf(json, sizeof json, text, cases[c].mode);
        with_model(&b, json, cases[c].check);
    }
    gltf_build b = {0};
    char json[256];
    build_square(&b);
    snprintf(json, sizeof json, text, 7);
    build_fails(&b, json, PELT_ERROR_INPUT, "\"mode\" must be from 0 to 6");
}

/* ---- Accessors -------------------------------------------------------------------------------------------- */

static void is_quantized(const pelt_model *model) {
    SAME_FLOATS(model->mesh.positions, 0, 0, 0, 200, 0, -2, 0, 6, 0);
    SAME_FLOATS(model->mesh.normals, 0, 0, 1, 0, 1, 0, -1, 0, 0);
    SAME_FLOATS(model->mesh.uvs, 0, 1, 1, 1 - 51 / 255.0f, 0, 0);
}

/* KHR_mesh_quantization: positions i16, normals normalised i8 in the same view, UVs normalised u8. */
static void quantized(void **state) {
    (void)state;
    gltf_build b = {0};
    static const uint8_t data[36] = {0, 0, 0, 0,   0, 0, 0, 0, 0, 0, 127, 0, 100, 0, 0,    0, 255, 255,
                                     0, 0, 0, 127, 0, 0, 0, 0, 3, 0, 0,   0, 0,   0, 0x80, 0, 0,   0};
    build_view(&b, data, sizeof data, ",\"byteStride\":12");
    build_view(&b, (const uint8_t[]){0, 0, 0, 0, 255, 51, 0, 0, 0, 255, 0, 0}, 12, ",\"byteStride\":4");
    build_accessor_text(&b, "{\"bufferView\":0,\"componentType\":5122,\"count\":3,\"type\":\"VEC3\"}");
    build_accessor_text(
        &b,
        "{\"bufferView\":0,\"byteOffset\":8,\"componentType\":5120,\"normalized\":true,\"count\":3,\"type\":\"VEC3\"}");
    build_accessor_text(&b,
                        "{\"bufferView\":1,\"componentType\":5121,\"normalized\":true,\"count\":3,\"type\":\"VEC2\"}");
    with_model(
        &b,
        "\"extensionsRequired\":[\"KHR_mesh_quantization\"],\"nodes\":[{\"mesh\":0,\"scale\":[2,2,2]}],\"meshes\":["
        "{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2}}]}]",
        is_quantized);
}

static void is_sparse(const pelt_model *model) {
    SAME_FLOATS(model->mesh.positions, 0, 0, 0, 5, 6, 7, 0, 0, 0, 8, 9, 10);
}

static void is_sparse_on_base(const pelt_model *model) {
    SAME_FLOATS(model->mesh.positions, 0, 0, 0, 5, 6, 7, 0, 1, 0, 8, 9, 10);
}

static void build_sparse(gltf_build *b, const char *base, uint8_t first, uint8_t second) {
    uint8_t chosen[2] = {first, second};
    memset(b, 0, sizeof *b);
    build_square(b);
    b->accessors[0] = 0;
    build_view(b, chosen, 2, "");
    build_view(b, (const float[]){5, 6, 7, 8, 9, 10}, 24, "");
    px_little_endian(b->bytes + b->size - 24, 6, 4);
    build_accessor_text(b,
                        "{%s\"componentType\":5126,\"count\":4,\"type\":\"VEC3\",\"sparse\":{\"count\":2,\"indices\":{"
                        "\"bufferView\":1,\"componentType\":5121},\"values\":{\"bufferView\":2}}}",
                        base);
}

static void sparse(void **state) {
    (void)state;
    static const char *const text =
        "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]";
    gltf_build b;
    build_sparse(&b, "", 1, 3);
    with_model(&b, text, is_sparse);
    build_sparse(&b, "\"bufferView\":0,", 1, 3);
    with_model(&b, text, is_sparse_on_base);
    build_sparse(&b, "", 1, 4);
    build_fails(&b, text, PELT_ERROR_INPUT, "accessor 0: sparse index 1 is 4; they must ascend and stay below 4");
    build_sparse(&b, "", 3, 1);
    build_fails(&b, text, PELT_ERROR_INPUT, "sparse index 1 is 1");
}

static void bounds(void **state) {
    (void)state;
    static const char *const text =
        "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]";
    static const struct {
        const char *accessor, *words;
    } cases[] = {
        {"{\"bufferView\":0,\"componentType\":5126,\"count\":5,\"type\":\"VEC3\"}",
         "accessor 0: needs 60 bytes, view 0 has 48"},
        {"{\"bufferView\":0,\"byteOffset\":4,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"}",
         "accessor 0: needs 52 bytes, view 0 has 48"},
        {"{\"bufferView\":3,\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"}", "bufferView 3 does not exist"},
        {"{\"componentType\":5126,\"count\":1000000000,\"type\":\"VEC3\"}",
         sizeof(size_t) > 4 ? "it looks damaged" : "do not fit into memory"},
        {"{\"componentType\":5126,\"count\":4000000000,\"type\":\"VEC3\"}",
         "its count must be a positive whole number"},
        {"{\"componentType\":5126,\"count\":0,\"type\":\"VEC3\"}", "its count must be a positive whole number"},
        {"{\"componentType\":5126,\"count\":1.5,\"type\":\"VEC3\"}", "its count must be a positive whole number"},
        {"{\"bufferView\":0,\"componentType\":5126,\"count\":1,\"type\":\"VEC4\"}", "cannot be used here"},
        {"{\"bufferView\":0,\"componentType\":9,\"count\":1,\"type\":\"VEC3\"}", "cannot be used here"},
        {"{\"bufferView\":\"0\",\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"}", "must be an index"},
        {"{\"bufferView\":0,\"byteOffset\":-4,\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"}",
         "\"byteOffset\" must be a whole number"},
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        gltf_build b = {0};
        build_square(&b);
        b.accessors[0] = 0;
        build_accessor_text(&b, "%s", cases[c].accessor);
        build_fails(&b, text, PELT_ERROR_INPUT, cases[c].words);
    }
    gltf_build b = {0};
    BUILD_FLOATS(&b, "VEC3", 1, 0, NAN, 0);
    build_fails(&b, text, PELT_ERROR_INPUT, "accessor 0: a position is not finite");
}

/* Made with meshoptimizer: the square with a stride of 16, and its indices in both encodings. */
static const uint8_t packed_vertices[73] = {0xa0, 0,    0, 1, 0x3f, 0,    0,    0,    0xff, 0xff, 0xff,
                                            1,    0x3f, 0, 0, 0,    0x7e, 0x7d, 0x7e, 0,    0,    1,
                                            0x0c, 0,    0, 0, 0xff, 1,    0x0c, 0,    0,    0,    0x7e};
static const uint8_t packed_triangles[19] = {0xe1, 0xf0, 0x10, 0,    0x76, 0x87, 0x56, 0x67, 0x78, 0xa9,
                                             0x86, 0x65, 0x89, 0x68, 0x98, 0x01, 0x69, 0,    0};
static const uint8_t packed_sequence[11] = {0xd1, 0, 4, 4, 0, 2, 8};

static void build_packed(gltf_build *b, const void *packed, size_t size, const char *mode, int stride) {
    char more[512];
    memset(b, 0, sizeof *b);
    snprintf(more, sizeof more,
             ",\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteOffset\":0,\"byteLength\":73,"
             "\"byteStride\":%d,\"count\":4,\"mode\":\"ATTRIBUTES\"}}",
             stride);
    build_view(b, packed_vertices, sizeof packed_vertices, more);
    snprintf(more, sizeof more,
             ",\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteOffset\":76,\"byteLength\":%zu,"
             "\"byteStride\":4,\"count\":6,\"mode\":\"%s\"}}",
             size, mode);
    build_view(b, packed, size, more);
    build_accessor_text(b, "{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"}");
    build_accessor_text(b, "{\"bufferView\":1,\"componentType\":5125,\"count\":6,\"type\":\"SCALAR\"}");
}

static void meshopt(void **state) {
    (void)state;
    gltf_build b;
    build_packed(&b, packed_triangles, sizeof packed_triangles, "TRIANGLES", 16);
    if (px_meshopt_decode("INDICES", "NONE", packed_sequence, sizeof packed_sequence, 6, 4, (uint8_t[24]){0}) ==
        PX_MESHOPT_NONE) {
        build_fails(&b, mesh_text, PELT_ERROR_UNSUPPORTED, "this build has no meshoptimizer support");
        return;
    }
    with_model(&b, mesh_text, is_two_triangles);
    build_packed(&b, packed_sequence, sizeof packed_sequence, "INDICES", 16);
    with_model(&b, mesh_text, is_two_triangles);
    build_packed(&b, packed_sequence, sizeof packed_sequence, "TRIANGLES", 16);
    build_fails(&b, mesh_text, PELT_ERROR_INPUT, "compressed view 1: its data is damaged");
    build_packed(&b, packed_triangles, sizeof packed_triangles, "TRIANGLES", 15);
    build_fails(&b, mesh_text, PELT_ERROR_INPUT, "compressed view 0: mode \"ATTRIBUTES\" with byteStride 15");
    build_packed(&b, packed_triangles, sizeof packed_triangles, "MAGIC", 16);
    build_fails(&b, mesh_text, PELT_ERROR_INPUT, "compressed view 1: mode \"MAGIC\"");
}

/* ---- Nodes ------------------------------------------------------------------------------------------------ */

static void is_ordered(const pelt_model *model) {
    const pelt_skeleton *s = &model->skeleton;
    assert_int_equal(s->joint_count, 4);
    static const char *const names[] = {"b", "a", "c", ""};
    for (uint32_t j = 0; j < 4; j++)
        assert_string_equal(s->names[j], names[j]);
    SAME_UINTS(s->parents, PELT_NONE, 0, PELT_NONE, 0);
    SAME_FLOATS(s->rest[1].translation, 1, 2, 3);
    SAME_FLOATS(s->rest[1].scale, 4, 5, 6);
    SAME_FLOATS(s->rest[1].rotation, 0, 0, sqrtf(0.5f), sqrtf(0.5f));
    SAME_FLOATS(s->rest[2].rotation, 0.5f, 0.5f, 0.5f, 0.5f);
}

static void nodes(void **state) {
    (void)state;
    gltf_build b = {0};
    with_model(&b,
               "\"nodes\":[{\"name\":\"a\",\"matrix\":[0,4,0,0,-5,0,0,0,0,0,6,0,1,2,3,1]},"
               "{\"name\":\"b\",\"children\":[0,3]},{\"name\":\"c\",\"rotation\":[1,1,1,1]},{}]",
               is_ordered);
    static const struct {
        const char *nodes, *words;
    } cases[] = {
        {"\"nodes\":[{\"children\":[1]},{\"children\":[0]}]", "node 0: is its own ancestor"},
        {"\"nodes\":[{\"children\":[0]}]", "node 0: is its own ancestor"},
        {"\"nodes\":[{\"children\":[2]},{\"children\":[2]},{}]", "node 1: its child 2 has node 0 as parent already"},
        {"\"nodes\":[{\"children\":[1]}]", "node 0: its child 1 does not exist, there are 1 nodes"},
        {"\"nodes\":[{\"children\":7}]", "\"children\" must be a list"},
        {"\"nodes\":[{\"translation\":[1,2]}]", "\"translation\" must be a list of 3 numbers"},
        {"\"nodes\":[{\"scale\":[1,2,1e60]}]", "\"scale\" must hold finite numbers"},
        {"\"nodes\":[7]", "nodes 0: must be an object"},
        {"\"nodes\":{}", "nodes: must be a list"},
        {"\"nodes\":[{\"mesh\":0}]", "node 0: mesh 0 does not exist, there are 0"},
        {"\"nodes\":[{}],\"scenes\":[{\"nodes\":[3]}]", "scene 0: its node 3 does not exist, there are 1"},
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++)
        build_fails(&b, cases[c].nodes, PELT_ERROR_INPUT, cases[c].words);
}

/* A matrix with shear is simplified, with a warning. */
static void shear(void **state) {
    (void)state;
    gltf_build b = {0};
    test_context test;
    test_begin(&test, 1);
    pelt_model_destroy(build_load(&test, &b, "\"nodes\":[{\"matrix\":[1,0,0,0,1,1,0,0,0,0,1,0,0,0,0,1]}]"));
    assert_non_null(strstr(test.log, "node 0: its matrix has shear"));
    test_end(&test);
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

static void is_mirrored(const pelt_model *model) {
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->part_count, 3);
    SAME_FLOATS(mesh->positions, 10, 0, 0, 8, 0, 0, 10, 2, 0); /* moved to the position of the node … */
    SAME_UINTS(mesh->triangles, 0, 2, 1, 3, 4, 5, 6, 7, 8);    /* … and reversed, since the node mirrors */
    SAME_FLOATS(mesh->normals, 0, 0, 1, 0, 0, 1, 0, 0, 1);
    SAME_FLOATS(mesh->tangents, -1, 0, 0, -1);
    SAME_FLOATS(mesh->positions + 9, 0, 0, 0, 1, 0, 0); /* a singular node cannot be inverted: its bone applies it */
    SAME_FLOATS(model->skin.inverse_binds[1].m, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0);
    SAME_FLOATS(model->skin.inverse_binds[0].m, -0.5f, 0, 0, 5, 0, 0.5f, 0, 0, 0, 0, 0.5f, 0);
    assert_string_equal(mesh->parts[0].name, "tri");
    assert_string_equal(mesh->parts[0].material, "material_0");
    assert_int_equal(mesh->parts[2].joint, 2);
}

static void rigid_parts(void **state) {
    (void)state;
    gltf_build b = {0};
    BUILD_FLOATS(&b, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    BUILD_FLOATS(&b, "VEC3", 3, 0, 0, 1, 0, 0, 1, 0, 0, 1);
    BUILD_FLOATS(&b, "VEC4", 3, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1);
    with_model(
        &b,
        "\"nodes\":[{\"mesh\":0,\"scale\":[-2,2,2],\"translation\":[10,0,0]},{\"mesh\":0,\"scale\":[1,1,0]},"
        "{\"mesh\":0},{\"mesh\":0}],\"scenes\":[{\"nodes\":[0,1]},{\"nodes\":[2]}],\"materials\":[{}],"
        "\"meshes\":[{\"name\":\"tri\",\"primitives\":[{\"material\":0,\"attributes\":{\"POSITION\":0,\"NORMAL\":1,"
        "\"TANGENT\":2}},{\"attributes\":{\"NORMAL\":1}}]}]",
        is_mirrored);
}

static void has_made_normals(const pelt_model *model) {
    SAME_FLOATS(model->mesh.normals, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1);
    assert_null(model->mesh.tangents);
}

static void some_normals(void **state) {
    (void)state;
    gltf_build b = {0};
    BUILD_FLOATS(&b, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    BUILD_FLOATS(&b, "VEC3", 3, 0, 2, 0, 0, 2, 0, 0, 2, 0);
    BUILD_FLOATS(&b, "VEC4", 3, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1);
    with_model(&b,
               "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,"
               "\"TANGENT\":2}},{\"attributes\":{\"POSITION\":0}}]}]",
               has_made_normals);
}

/* Many nodes with one mesh, or one accessor in many primitives, must not multiply memory without limit. */
static void bombs(void **state) {
    (void)state;
    gltf_build b = {0};
    char text[4096] = "\"nodes\":[{\"mesh\":0}";
    for (int n = 0; n < 60; n++)
        strcat(text, ",{\"mesh\":0}");
    strcat(text, "],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]");
    build_accessor_text(&b, "{\"componentType\":5126,\"count\":1000000,\"type\":\"VEC3\"}");
    build_fails(&b, text, PELT_ERROR_INPUT, "it looks damaged");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices),      cmocka_unit_test(modes),  cmocka_unit_test(quantized),
        cmocka_unit_test(sparse),       cmocka_unit_test(bounds), cmocka_unit_test(meshopt),
        cmocka_unit_test(nodes),        cmocka_unit_test(shear),  cmocka_unit_test(rigid_parts),
        cmocka_unit_test(some_normals), cmocka_unit_test(bombs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
