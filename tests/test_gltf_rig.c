/* Reading glTF: skins, morphs, animations; containers, URIs and files rejected before reading. */
#include "gltf_build.h"

/* ---- Skins ------------------------------------------------------------------------------------------------ */

static void rig(void **state) {
    (void)state;
    gltf_build b = {0};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = build_load(&test, &b, build_rig(&b));
    const pelt_skin *skin = &model->skin;
    assert_int_equal(skin->bone_count, 3); /* hip, knee, and the node of the rigid part */
    assert_int_equal(skin->influence_count, 2);
    SAME_UINTS(skin->bone_joints, 1, 2, 3);
    SAME_FLOATS(skin->inverse_binds[1].m, 1, 0, 0, 0, 0, 1, 0, -2, 0, 0, 1, 0);
    SAME_FLOATS(skin->weights, 32768 / 65535.0f, 32767 / 65535.0f, 49151 / 65535.0f, 16384 / 65535.0f, 1, 0, 1, 0, 1,
                0);
    static const uint16_t bones[] = {0, 1, 1, 0, 1, 0, 1, 0, 2, 0};
    assert_memory_equal(skin->bones, bones, sizeof bones);
    assert_true(model->mesh.parts[0].skinned);
    assert_false(model->mesh.parts[1].skinned);
    const pelt_morph *morph = &model->morphs.morphs[0];
    assert_int_equal(model->morphs.morph_count, 1);
    assert_string_equal(morph->name, "open");
    assert_int_equal(morph->joint, 3);
    assert_int_equal(morph->first_vertex, 4);
    assert_int_equal(morph->vertex_count, 4);
    SAME_FLOATS(&morph->weight, 0.25f);
    SAME_FLOATS(morph->positions, 0, 0, 2, 0, 0, 4, 0, 0, 6, 0, 0, 8); /* scaled with its node */
    assert_int_equal(model->motion_count, 2);
    assert_string_equal(model->motions[0].name, "turn");
    assert_int_equal(model->motions[1].tracks[0].path, PELT_PATH_WEIGHTS);
    assert_int_equal(model->motions[1].tracks[0].interpolation, PELT_INTERPOLATION_STEP);
    assert_int_equal(model->motions[1].tracks[0].width, 1);
    assert_ptr_equal(model->motions[0].tracks[0].times, model->motions[1].tracks[0].times);
    SAME_FLOATS(&model->motions[0].end, 1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* One vertex with `set_count` sets of weights on a skin of 12 joints. */
static pelt_model *load_weights(test_context *test, gltf_build *b, const uint8_t *joints, const float *weights,
                                uint32_t set_count) {
    char text[2048] = "\"skins\":[{\"joints\":[1,2,3,4,5,6,7,8,9,10,11,12]}],\"nodes\":[{\"mesh\":0,\"skin\":0}";
    memset(b, 0, sizeof *b);
    BUILD_FLOATS(b, "VEC3", 1, 1, 2, 3);
    for (int n = 0; n < 12; n++)
        strcat(text, ",{}");
    strcat(text, "],\"meshes\":[{\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0");
    for (uint32_t set = 0; set < set_count; set++) {
        size_t used = strlen(text);
        uint32_t j = build_accessor(b, joints + 4 * set, 4, 5121, "VEC4", 1, "");
        uint32_t w = build_numbers(b, weights + 4 * set, 16, 4, 5126, "VEC4", 1, "");
        snprintf(text + used, sizeof text - used, ",\"JOINTS_%u\":%u,\"WEIGHTS_%u\":%u", set, j, set, w);
    }
    strcat(text, "}}]}]");
    return build_load(test, b, text);
}

static void weights(void **state) {
    (void)state;
    gltf_build b;
    test_context test;
    test_begin(&test, 1);
    static const uint8_t joints[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const float falling[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, zero[12] = {0};
    static const float odd[] = {0.5f, -1, 0, NAN};
    pelt_model *model = load_weights(&test, &b, joints, falling, 3);
    assert_int_equal(model->skin.influence_count, 8);
    float sum = 12 + 11 + 10 + 9 + 8 + 7 + 6 + 5;
    SAME_FLOATS(model->skin.weights, 12 / sum, 11 / sum, 10 / sum, 9 / sum, 8 / sum, 7 / sum, 6 / sum, 5 / sum);
    assert_int_equal(model->skin.bone_joints[model->skin.bones[7]], 5);
    assert_non_null(strstr(test.log, "1 vertices have more than 8 joints"));
    pelt_model_destroy(model);

    static const uint8_t fifth[] = {5, 1, 2, 3};
    model = load_weights(&test, &b, fifth, zero, 1);
    assert_int_equal(model->skin.influence_count, 1);
    assert_int_equal(model->skin.bone_joints[model->skin.bones[0]], 6);
    SAME_FLOATS(model->skin.weights, 1);
    assert_non_null(strstr(test.log, "1 vertices have no skin weight"));
    pelt_model_destroy(model);

    static const uint8_t twice[] = {3, 200, 3, 0};
    static const float split[] = {0.25f, 0, 0.25f, 0.5f};
    model =
        load_weights(&test, &b, twice, split, 1); /* a joint named twice, and one out of range that weighs nothing */
    assert_int_equal(model->skin.influence_count, 2);
    SAME_FLOATS(model->skin.weights, 0.5f, 0.5f);
    pelt_model_destroy(model);

    model = load_weights(&test, &b, fifth, odd, 1);
    SAME_FLOATS(model->skin.weights, 1);
    pelt_model_destroy(model);
    test_end(&test);
}

static void wrong_skins(void **state) {
    (void)state;
    static const struct {
        const char *skin, *words;
    } cases[] = {
        {"{\"joints\":[1]}", "mesh 0, primitive 0: JOINTS_0: joint 1 is out of range, the skin has 1"},
        {"{\"joints\":[]}", "skin 0: has no joints"},
        {"{}", "skin 0: has no joints"},
        {"{\"joints\":[1,9]}", "skin 0: its joint 9 does not exist, there are 2 nodes"},
        {"{\"joints\":[0,1],\"inverseBindMatrices\":3}", "skin 0: has 2 joints, but 1 inverse bind matrices"},
        {"{\"joints\":[0,1],\"inverseBindMatrices\":0}", "inverseBindMatrices: accessor 0: type \"VEC3\""},
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        gltf_build b = {0};
        char text[512];
        BUILD_FLOATS(&b, "VEC3", 1, 0, 0, 0);
        BUILD_BYTES(&b, 5121, "VEC4", 1, "", 0, 1, 0, 0);
        BUILD_FLOATS(&b, "VEC4", 1, 0.5f, 0.5f, 0, 0);
        BUILD_FLOATS(&b, "MAT4", 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
        snprintf(text, sizeof text,
                 "\"skins\":[%s],\"nodes\":[{\"mesh\":0,\"skin\":0},{}],\"meshes\":[{\"primitives\":[{\"mode\":0,"
                 "\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2}}]}]",
                 cases[c].skin);
        build_fails(&b, text, PELT_ERROR_INPUT, cases[c].words);
    }
}

/* ---- Morphs over several primitives ----------------------------------------------------------------------- */

static void morphs(void **state) {
    (void)state;
    gltf_build b = {0};
    test_context test;
    test_begin(&test, 1);
    BUILD_FLOATS(&b, "VEC3", 2, 0, 0, 0, 1, 0, 0);
    BUILD_FLOATS(&b, "VEC3", 2, 0, 0, 1, 0, 0, 2);
    BUILD_FLOATS(&b, "VEC3", 2, 1, 0, 0, 1, 0, 0);
    pelt_model *model = build_load(
        &test, &b,
        "\"nodes\":[{\"mesh\":0,\"weights\":[0.5,0.75]}],\"meshes\":[{\"weights\":[1,1],\"primitives\":["
        "{\"mode\":0,\"attributes\":{\"POSITION\":0,\"NORMAL\":2},\"targets\":[{\"POSITION\":1},{\"NORMAL\":2}]},"
        "{\"mode\":0,\"attributes\":{\"POSITION\":0},\"targets\":[{\"POSITION\":1}]}]}]");
    assert_int_equal(model->morphs.morph_count, 2);
    const pelt_morph *morph = model->morphs.morphs;
    SAME_FLOATS(&morph[0].weight, 0.5f);
    SAME_FLOATS(&morph[1].weight, 0.75f);
    assert_int_equal(morph[1].index, 1);
    assert_int_equal(morph[1].vertex_count, 4);
    SAME_FLOATS(morph[0].positions, 0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 2);
    assert_null(morph[0].normals);
    SAME_FLOATS(morph[1].positions, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    SAME_FLOATS(morph[1].normals, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Animations ------------------------------------------------------------------------------------------- */

static void animations(void **state) {
    (void)state;
    gltf_build b = {0};
    test_context test;
    test_begin(&test, 1);
    BUILD_FLOATS(&b, "SCALAR", 2, 0.5f, 2);
    BUILD_SHORTS(&b, 5122, "VEC4", 2, ",\"normalized\":true", 0, 0, 0, 32767, 0, 0, 32767, 0x8000);
    BUILD_FLOATS(&b, "VEC3", 6, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6);
    pelt_model *model = build_load(
        &test, &b,
        "\"nodes\":[{},{}],\"animations\":[{},{\"samplers\":[{\"input\":0,\"output\":1},{\"input\":0,\"output\":2,"
        "\"interpolation\":\"CUBICSPLINE\"}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}"
        "},"
        "{\"sampler\":1,\"target\":{\"path\":\"scale\"}},{\"sampler\":1,\"target\":{\"node\":0,\"path\":\"pointer\"}},"
        "{\"sampler\":1,\"target\":{\"node\":0,\"path\":\"weights\"}},"
        "{\"sampler\":1,\"target\":{\"node\":0,\"path\":\"scale\"}}]}]");
    assert_int_equal(model->motion_count, 2);
    assert_int_equal(model->motions[0].track_count, 0);
    const pelt_motion *motion = &model->motions[1];
    assert_int_equal(motion->track_count, 2);
    SAME_FLOATS(&motion->start, 0.5f);
    SAME_FLOATS(&motion->end, 2);
    float half = 1 / sqrtf(2);
    SAME_FLOATS(motion->tracks[0].values, 0, 0, 0, 1, 0, 0, half, -half);
    assert_int_equal(motion->tracks[1].interpolation, PELT_INTERPOLATION_CUBIC);
    assert_int_equal(motion->tracks[1].key_count, 2);
    SAME_FLOATS(motion->tracks[1].values, 1, 1, 1, 2, 2, 2);
    assert_non_null(strstr(test.log, "animation 1, channel 3: node 0 has no morph targets"));
    pelt_model_destroy(model);
    test_end(&test);
}

static void wrong_animations(void **state) {
    (void)state;
    static const struct {
        const char *sampler, *words;
    } cases[] = {
        {"\"input\":1,\"output\":2", "animation 0, channel 0: accessor 1: key 1 is at 1 s; times must ascend"},
        {"\"input\":0,\"output\":2", "accessor 2: has 3 values, 2 keys need 2"},
        {"\"input\":0,\"output\":9", "output 9 does not exist"},
        {"\"input\":0", "sampler 0 has no input or output"},
        {"\"input\":0,\"output\":2,\"interpolation\":\"MAGIC\"", "interpolation \"MAGIC\" is unknown"},
        {"\"input\":2,\"output\":2", "input: accessor 2: type \"VEC3\""},
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        gltf_build b = {0};
        char text[512];
        BUILD_FLOATS(&b, "SCALAR", 2, 0, 1);
        BUILD_FLOATS(&b, "SCALAR", 3, 1, 1, 2);
        BUILD_FLOATS(&b, "VEC3", 3, 0, 0, 0, 1, 1, 1, 2, 2, 2);
        snprintf(
            text, sizeof text,
            "\"nodes\":[{}],\"animations\":[{\"samplers\":[{%s}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,"
            "\"path\":\"scale\"}}]}]",
            cases[c].sampler);
        build_fails(&b, text, PELT_ERROR_INPUT, cases[c].words);
    }
}

/* ---- Containers ------------------------------------------------------------------------------------------- */

static void text_fails(const char *text, size_t size, pelt_result wanted, const char *words) {
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_fails(&test, pelt_load_memory(test.context, text, size, "test.gltf", NULL, &model), wanted, words);
    test_end(&test);
}

static void containers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        pelt_result result;
        const char *words;
    } cases[] = {
#define TEXT(text) (text), sizeof(text) - 1
        {TEXT("glTF\2\0"), PELT_ERROR_INPUT, "GLB header: needs 12 bytes, the file has 6"},
        {TEXT("glTF\1\0\0\0\14\0\0\0"), PELT_ERROR_UNSUPPORTED, "GLB header: version 1; only version 2 is read"},
        {TEXT("glTF\2\0\0\0\377\0\0\0"), PELT_ERROR_INPUT, "says 255 bytes, the file has 12; it is cut off"},
        {TEXT("glTF\2\0\0\0\14\0\0\0"), PELT_ERROR_INPUT, "there is no JSON chunk"},
        {TEXT("glTF\2\0\0\0\20\0\0\0\1\0\0\0"), PELT_ERROR_INPUT, "GLB chunk 0: its header is cut off"},
        {TEXT("glTF\2\0\0\0\24\0\0\0\1\0\0\0JSON"), PELT_ERROR_INPUT, "GLB chunk 0: says 1 bytes, the file has 0"},
        {TEXT("glTF\2\0\0\0\24\0\0\0\0\0\0\0BIN\0"), PELT_ERROR_INPUT, "GLB chunk 0: must be JSON"},
        {TEXT("[\"asset\"]"), PELT_ERROR_INPUT, "its JSON is no object"},
        {TEXT("{\"asset\":{}}"), PELT_ERROR_INPUT, "asset: its version is missing"},
        {TEXT("{\"asset\":{\"version\":\"1.0\"}}"), PELT_ERROR_UNSUPPORTED, "only version 2.0 is read"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},}"), PELT_ERROR_INPUT, "JSON line 1"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},\"extensionsRequired\":[\"KHR_mesh_of_light\"]}"),
         PELT_ERROR_UNSUPPORTED, "needs the extension KHR_mesh_of_light, which is not supported"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"a.bin\",\"byteLength\":4}]}"), PELT_ERROR_INPUT,
         "buffer 0: names the file a.bin, but a document in memory has no folder"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"data:a;base64,AAAA\",\"byteLength\":4}]}"),
         PELT_ERROR_INPUT, "buffer 0: needs 4 bytes, there are 3"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"data:,abcd\",\"byteLength\":4}]}"),
         PELT_ERROR_INPUT, "its data URI is not in base64"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"data:;base64,AAA!\",\"byteLength\":3}]}"),
         PELT_ERROR_INPUT, "a character that is not base64"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"data:;base64,A\",\"byteLength\":3}]}"),
         PELT_ERROR_INPUT, "its data URI is cut off"},
        {TEXT("{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{}]}"), PELT_ERROR_INPUT, "its byteLength is missing"},
#undef TEXT
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++)
        text_fails(cases[c].text, cases[c].size, cases[c].result, cases[c].words);
}

/* A square in base64, with optional chunks after the data of a GLB. */
static void data_uri(void **state) {
    (void)state;
    static const char text[] =
        "\xEF\xBB\xBF "
        "{\"asset\":{\"version\":\"2.0\"},\"extensionsRequired\":[\"KHR_materials_unlit\"],\"nodes\":[{\"mesh\":0}"
        "],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}],\"accessors\":[{\"bufferView\":0,"
        "\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":12}],"
        "\"buffers\":[{\"byteLength\":12,\"uri\":\"data:application/gltf-buffer;base64,AACAPwAAAEAAAEBA\"}]}";
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_ok(&test, pelt_load_memory(test.context, text, sizeof text - 1, "anything", NULL, &model));
    SAME_FLOATS(model->mesh.positions, 1, 2, 3);
    assert_string_equal(model->format, "glTF");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- External files --------------------------------------------------------------------------------------- */

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void neighbours(void **state) {
    (void)state;
    static const struct {
        const char *uri, *words; /* NULL: success */
    } cases[] = {
        {"a%20b.bin", NULL},
        {"sub/a%20b.bin", NULL},
        {"./sub/a b.bin", NULL},
        {"../a.bin", "which is not in the document's folder"},
        {"sub/../../a.bin", "which is not in the document's folder"},
        {"sub/%2e%2e/a.bin", "which is not in the document's folder"},
        {"/etc/passwd", "which is not in the document's folder"},
        {"%2Fetc/passwd", "which is not in the document's folder"},
        {"..\\\\a.bin", "which is not in the document's folder"},
        {"file:///etc/passwd", "which is not in the document's folder"},
        {"http://example.org/a.bin", "which is not in the document's folder"},
        {"a%00b.bin", "which is not in the document's folder"},
        {"", "which is not in the document's folder"},
        {"missing.bin", "missing.bin: cannot be opened"},
        {"sub", "sub: is a folder, not a file"},
        {"short.bin", "buffer 0: needs 12 bytes, there are 4"},
    };
    static const char *const text =
        "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{"
        "\"POSITION\":0}}]}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"}],"
        "\"bufferViews\":[{\"buffer\":0,\"byteLength\":12}],\"buffers\":[{\"byteLength\":12,\"uri\":\"%s\"}]}";
    char folder[1024], path[1100], sub[1100], spaced[1200], nested[1200], brief[1200], json[1024];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/test.gltf", folder);
    snprintf(sub, sizeof sub, "%s/sub", folder);
    snprintf(spaced, sizeof spaced, "%s/a b.bin", folder);
    snprintf(nested, sizeof nested, "%s/a b.bin", sub);
    snprintf(brief, sizeof brief, "%s/short.bin", folder);
    assert_true(px_folder_make(sub));
    write_file(spaced, (const float[]){1, 2, 3}, 12);
    write_file(nested, (const float[]){1, 2, 3}, 12);
    write_file(brief, "1234", 4);
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        test_context test;
        pelt_model *model;
        const char *paths[] = {path};
        snprintf(json, sizeof json, text, cases[c].uri);
        write_file(path, json, strlen(json));
        test_begin(&test, 1);
        pelt_result result = pelt_load(test.context, paths, 1, NULL, &model);
        if (cases[c].words)
            test_fails(&test, result, PELT_ERROR_INPUT, cases[c].words);
        else
            test_ok(&test, result);
        pelt_model_destroy(model);
        test_end(&test);
    }
    unlink(path), unlink(spaced), unlink(nested), unlink(brief), rmdir(sub);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

static pelt_result load_rig(pelt_context *context, void *user) {
    const gltf_build *b = user;
    pelt_model *model;
    pelt_result result = pelt_load_memory(context, b->glb, b->glb_size, "test.glb", NULL, &model);
    pelt_model_destroy(model);
    return result;
}

static void memory(void **state) {
    (void)state;
    gltf_build b = {0};
    build_glb(&b, build_rig(&b));
    test_fail_each_allocation(1, load_rig, &b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rig),        cmocka_unit_test(weights),    cmocka_unit_test(wrong_skins),
        cmocka_unit_test(morphs),     cmocka_unit_test(animations), cmocka_unit_test(wrong_animations),
        cmocka_unit_test(containers), cmocka_unit_test(data_uri),   cmocka_unit_test(neighbours),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
