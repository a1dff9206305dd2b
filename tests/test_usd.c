/* USD: content of written files, packages and their alignment; files of other programs, read by hand; rejected files; scenes that come
 * back. */
#include "support.h"

#include "core/core.h"
#include "io/io.h"
#include "scenes.h"

/* ---- Helpers ------------------------------------------------------------------------------------------------ */

static pelt_model *make_scene(test_context *test, const char *name, uint32_t vertex_count, uint32_t frame_count) {
    pelt_model *model;
    test_ok(test, scene_find(name)->make(test->context, &(scene_desc){vertex_count, frame_count, 1}, &model));
    return model;
}

/* The file as 0-terminated text. */
static px_buffer save(test_context *test, const pelt_model *model, const char *name) {
    px_buffer bytes = {.context = test->context};
    test_ok(test, px_save_memory(test->context, model, name, NULL, &bytes));
    px_buffer_add(&bytes, "", 1);
    assert_false(bytes.failed);
    bytes.size--;
    return bytes;
}

static void check_has(const px_buffer *text, const char *words) {
    if (!strstr(text->data, words))
        fail_msg("the file has no '%s'", words);
}

/* ---- Written files ------------------------------------------------------------------------------------------ */

static void rigs_become_skeletons(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "tube", 30, 4);
    px_buffer text = save(&test, model, "tube.usda");
    static const char *const words[] = {"#usda 1.0\n",
                                        "def SkelRoot \"Model\"",
                                        "metersPerUnit = 1\n",
                                        "upAxis = \"Y\"\n",
                                        "timeCodesPerSecond = 30\n",
                                        "uniform token[] joints = [\"",
                                        "rel skel:animationSource = </Model/Skeleton/",
                                        "def SkelAnimation \"",
                                        "quatf[] rotations.timeSamples = {\n",
                                        "int[] primvars:skel:jointIndices = [",
                                        "primvars:skel:geomBindTransform = ( (1, 0, 0, 0), ",
                                        "interpolation = \"vertex\""};
    for (size_t n = 0; n < PX_COUNT(words); n++)
        check_has(&text, words[n]);
    px_buffer_free(&text);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Names that paths cannot hold, and names that occur twice. */
static void names_are_valid_in_paths(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "tube", 30, 4);
    model->skeleton.names[0] = "1 a:b\"c";
    model->skeleton.names[1] = "Skeleton";
    px_buffer text = save(&test, model, "tube.usda");
    check_has(&text, "joints = [\"_1_a_b_c\", \"_1_a_b_c/Skeleton_1\"");
    check_has(&text, "jointNames = [\"1 a:b\\\"c\", \"Skeleton\"");
    px_buffer_free(&text);
    pelt_model_destroy(model);
    test_end(&test);
}

static void clips_become_samples_of_points(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "cloth", 20, 3);
    assert_int_equal(model->skin.bone_count, 0);
    px_buffer text = save(&test, model, "flag.usda");
    check_has(&text, "def Xform \"Model\"");
    check_has(&text, "point3f[] points.timeSamples = {\n            0: [(");
    assert_null(strstr(text.data, "skel:"));
    px_buffer_free(&text);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Packages ----------------------------------------------------------------------------------------------- */

static void packages_are_aligned(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "tube", 30, 4);
    px_buffer text = save(&test, model, "tube.usda"), package = save(&test, model, "tube.usdz");
    assert_memory_equal(package.data, "PK\3\4", 4);
    assert_int_equal(px_load_u32(package.data + 18), text.size);
    const uint8_t *sizes = (const uint8_t *)package.data + 26;
    size_t data = 30 + sizes[0] + sizes[1] * 256u + sizes[2] + sizes[3] * 256u;
    assert_int_equal(data % 64, 0);
    assert_memory_equal(package.data + data, text.data, text.size);
    const char *end = package.data + package.size - 22;
    assert_memory_equal(end, "PK\5\6", 4);
    assert_int_equal(px_load_u32(end + 16), data + text.size); /* the directory follows the data */
    assert_memory_equal(package.data + data + text.size, "PK\1\2", 4);
    px_buffer_free(&text);
    px_buffer_free(&package);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Files of other programs -------------------------------------------------------------------------------- */

static pelt_model *read_file(test_context *test, const char *name, const pelt_load_desc *desc) {
    char path[256];
    snprintf(path, sizeof path, "../fuzz/corpus/usd/%s", name);
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

/* Rows of points at heights 0, 1 and 2, moved by 10 along x, z up, in halves of a metre. The upper joint, from height 1 on, turns by 90
 * degrees about y in a second; the shape moves the last row by -1 along y. */
static void skeletons_are_read(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_file(&test, "strip.usda", NULL);
    assert_string_equal(model->format, "USD");
    assert_int_equal(model->mesh.points.count, 6);
    assert_int_equal(model->mesh.vertex_count,
                     8); /* the row in the middle has other texture coordinates below and above */
    assert_int_equal(model->mesh.polygon_count, 2);
    assert_int_equal(model->mesh.triangle_count, 4);
    assert_int_equal(model->mesh.part_count, 2);
    assert_string_equal(model->mesh.parts[0].name, "Body");
    assert_string_equal(model->mesh.parts[0].material, "red");
    assert_string_equal(model->mesh.parts[1].material, "blue");
    assert_int_equal(model->skeleton.joint_count,
                     4); /* the place of the skeleton, two joints, the mesh for its shapes */
    assert_string_equal(model->skeleton.names[2], "upper");
    assert_int_equal(model->skeleton.parents[2], 1);
    assert_int_equal(model->skin.bone_count, 2);
    assert_int_equal(model->skin.influence_count, 2);
    assert_int_equal(model->morphs.morph_count, 1);
    assert_string_equal(model->morphs.morphs[0].name, "lift_shape");
    assert_int_equal(model->motion_count, 1);
    assert_string_equal(model->motions[0].name, "wave");
    assert_float_equal(model->motions[0].end, 1, 0);
    check_vertex(&test, model, 0, 0, 5, 0, 0);
    check_vertex(&test, model, 0, 5, 5.5f, 1, 0);
    check_vertex(&test, model, 1, 4, 5.5f, 0.5f, 0.25f); /* height 1 above the joint becomes x */
    check_vertex(&test, model, 1, 1, 5.5f, 0, 0);
    pelt_load_desc desc = pelt_load_desc_default();
    desc.scale = "2";
    pelt_model *large = read_file(&test, "strip.usda", &desc);
    check_vertex(&test, large, 0, 5, 22, 0, 4);
    pelt_model_destroy(large);
    px_buffer glb = save(&test, model, "strip.glb");
    check_has(&(px_buffer){.data = glb.data + 20}, "\"baseColorFactor\":[1,0,0,0.5]");
    check_has(&(px_buffer){.data = glb.data + 20}, "\"alphaMode\":\"BLEND\"");
    px_buffer_free(&glb);
    pelt_model_destroy(model);
    test_end(&test);
}

static void samples_of_points_are_read(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = read_file(&test, "moving.usda", NULL);
    assert_int_equal(model->skin.bone_count, 0);
    assert_int_equal(model->clip_count, 1);
    assert_string_equal(model->clips[0].name, "moving");
    assert_int_equal(model->clips[0].frame_count, 2);
    assert_float_equal(model->clips[0].times[1], 0.5, 1e-7);
    float points[6][3];
    test_ok(&test, pelt_clip_read(test.context, &model->clips[0], 1, 0, 6, points[0]));
    assert_float_equal(points[1][0], 0, 1e-6); /* turned, then scaled */
    assert_float_equal(points[1][1], 2, 1e-6);
    assert_float_equal(points[1][2], 2, 1e-6);
    assert_true(isnan(points[2][2]));
    assert_float_equal(points[4][0], 4, 0);
    assert_int_equal(model->mesh.triangles[3], 5); /* the left-handed face is turned round */
    assert_float_equal(model->mesh.normals[2], 1, 1e-6);
    assert_non_null(strstr(test.log, "not read; flatten"));
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Scenes that come back ---------------------------------------------------------------------------------- */

static double pose_difference(test_context *test, const pelt_model *a, const pelt_model *b, uint32_t m, float time) {
    size_t count = (size_t)3 * a->mesh.vertex_count;
    float *x = calloc(count + 1, sizeof *x), *y = calloc(count + 1, sizeof *y);
    double size = 1e-30, off = 0;
    const pelt_motion *moves[2] = {m < a->motion_count ? &a->motions[m] : NULL,
                                   m < b->motion_count ? &b->motions[m] : NULL};
    test_ok(test, pelt_model_pose(test->context, a, moves[0], time, PELT_SKINNING_LINEAR, x, NULL));
    test_ok(test, pelt_model_pose(test->context, b, moves[1], time, PELT_SKINNING_LINEAR, y, NULL));
    for (size_t c = 0; c < count; c++) {
        size = fmax(size, fabs((double)x[c]));
        off = fmax(off, fabs((double)x[c] - (double)y[c]));
    }
    free(x);
    free(y);
    return off / size;
}

static void check_same(test_context *test, const char *what, const pelt_model *a, const pelt_model *b) {
    assert_int_equal(a->mesh.vertex_count, b->mesh.vertex_count);
    assert_int_equal(a->mesh.triangle_count, b->mesh.triangle_count);
    assert_int_equal(a->mesh.part_count, b->mesh.part_count);
    assert_int_equal(a->skeleton.joint_count, b->skeleton.joint_count);
    assert_int_equal(a->morphs.morph_count, b->morphs.morph_count);
    assert_int_equal(a->motion_count, b->motion_count);
    for (uint32_t p = 0; p < a->mesh.part_count; p++) {
        assert_string_equal(a->mesh.parts[p].name, b->mesh.parts[p].name);
        assert_int_equal(a->mesh.parts[p].joint, b->mesh.parts[p].joint);
        assert_int_equal(a->mesh.parts[p].skinned, b->mesh.parts[p].skinned);
    }
    for (uint32_t j = 0; j < a->skeleton.joint_count; j++) {
        assert_string_equal(a->skeleton.names[j], b->skeleton.names[j]);
        assert_int_equal(a->skeleton.parents[j], b->skeleton.parents[j]);
    }
    for (uint32_t m = 0; m < a->morphs.morph_count; m++) {
        assert_string_equal(a->morphs.morphs[m].name, b->morphs.morphs[m].name);
        assert_int_equal(a->morphs.morphs[m].joint, b->morphs.morphs[m].joint);
        assert_int_equal(a->morphs.morphs[m].index, b->morphs.morphs[m].index);
        assert_float_equal(a->morphs.morphs[m].weight, b->morphs.morphs[m].weight, 0);
    }
    for (uint32_t m = 0; m < a->motion_count; m++) {
        const pelt_motion *x = &a->motions[m], *y = &b->motions[m];
        assert_string_equal(x->name, y->name);
        for (int k = 0; k <= 10; k++) {
            float time = x->start + (x->end - x->start) * (float)k / 10;
            double off = pose_difference(test, a, b, m, time);
            if (!(off < 1e-5))
                fail_msg("%s: motion %u at %g s is off by %g of the size", what, m, (double)time, off);
        }
    }
}

static void check_round_trip(test_context *test, const char *what, const pelt_model *model) {
    static const char *const names[] = {"again.usda", "again.usdz"};
    for (size_t n = 0; n < PX_COUNT(names); n++) {
        px_buffer bytes = save(test, model, names[n]);
        pelt_model *again;
        test_ok(test, pelt_load_memory(test->context, bytes.data, bytes.size, names[n], NULL, &again));
        check_same(test, what, model, again);
        px_buffer second = save(test, again, names[n]); /* what was read is written as it was */
        pelt_model *third;
        test_ok(test, pelt_load_memory(test->context, second.data, second.size, names[n], NULL, &third));
        check_same(test, what, model, third);
        pelt_model_destroy(third);
        pelt_model_destroy(again);
        px_buffer_free(&second);
        px_buffer_free(&bytes);
    }
}

static void scenes_come_back(void **state) {
    (void)state;
    const scene *s;
    uint32_t rigs = 0;
    for (uint32_t n = 0; (s = scene_at(n)); n++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model;
        test_ok(&test, s->make(test.context, &(scene_desc){300, 5, 1}, &model));
        if (model->skin.bone_count) {
            check_round_trip(&test, s->name, model);
            rigs++;
        }
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(rigs >= 5);
}

/* Cubic curves, steps, weights in the rest pose, a joint with two bind matrices and names with quotes. */
static void odd_rigs_come_back(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "morph", 60, 4);
    static const float times[] = {0, 0.5f, 2};
    static const float cubic[] = {0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0.3f, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    static const float steps[] = {1, 1, 1, 1, 1.5f, 1, 1, 1, 1};
    pelt_track tracks[] = {{.joint = 0,
                            .path = PELT_PATH_TRANSLATION,
                            .interpolation = PELT_INTERPOLATION_CUBIC,
                            .width = 3,
                            .key_count = 3,
                            .times = times,
                            .values = cubic},
                           {.joint = 0,
                            .path = PELT_PATH_SCALE,
                            .interpolation = PELT_INTERPOLATION_STEP,
                            .width = 3,
                            .key_count = 3,
                            .times = times,
                            .values = steps}};
    pelt_motion *motions = pelt_model_alloc(test.context, model, (size_t)model->motion_count + 1, sizeof *motions);
    for (uint32_t m = 0; m < model->motion_count; m++)
        motions[m] = model->motions[m];
    motions[model->motion_count++] =
        (pelt_motion){.name = "odd \"name\" \\ x", .end = 2, .track_count = 2, .tracks = tracks};
    model->motions = motions;
    assert_true(model->morphs.morph_count > 0 && model->skin.bone_count > 0);
    model->morphs.morphs[0].weight = 0.5f;
    pelt_skin skin = model->skin;
    pelt_skin *own = &model->skin;
    own->bone_joints = pelt_model_alloc(test.context, model, (size_t)skin.bone_count + 1, sizeof *own->bone_joints);
    own->inverse_binds = pelt_model_alloc(test.context, model, (size_t)skin.bone_count + 1, sizeof *own->inverse_binds);
    memcpy(own->bone_joints, skin.bone_joints, skin.bone_count * sizeof *own->bone_joints);
    memcpy(own->inverse_binds, skin.inverse_binds, skin.bone_count * sizeof *own->inverse_binds);
    own->bone_joints[skin.bone_count] = skin.bone_joints[0];
    own->inverse_binds[skin.bone_count] = skin.inverse_binds[0];
    own->inverse_binds[skin.bone_count].m[3] += 0.25f;
    own->bone_count++;
    own->bones[0] = (uint16_t)skin.bone_count;
    for (uint32_t p = 0; p < model->mesh.part_count; p++)
        model->mesh.parts[p].skinned = true;
    check_round_trip(&test, "odd", model);
    px_buffer text = save(&test, model, "odd.usda");
    check_has(&text, "/pelt_bind_");
    px_buffer_free(&text);
    pelt_model_destroy(model);
    test_end(&test);
}

static void clips_come_back(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "cloth", 50, 4), *again;
    px_buffer bytes = save(&test, model, "flag.usdz");
    test_ok(&test, pelt_load_memory(test.context, bytes.data, bytes.size, "flag.usdz", NULL, &again));
    assert_int_equal(again->clip_count, 1);
    assert_int_equal(again->mesh.points.count, model->mesh.points.count);
    assert_int_equal(again->mesh.vertex_count, model->mesh.vertex_count);
    assert_string_equal(again->clips[0].name, model->clips[0].name);
    assert_int_equal(again->clips[0].frame_count, model->clips[0].frame_count);
    size_t count = model->mesh.points.count;
    float *a = calloc(3 * count, sizeof *a), *b = calloc(3 * count, sizeof *b);
    for (uint32_t k = 0; k < model->clips[0].frame_count; k++) {
        assert_float_equal(again->clips[0].times[k], model->clips[0].times[k], 0);
        test_ok(&test, pelt_clip_read(test.context, &model->clips[0], k, 0, (uint32_t)count, a));
        test_ok(&test, pelt_clip_read(test.context, &again->clips[0], k, 0, (uint32_t)count, b));
        assert_memory_equal(a, b, 3 * count * sizeof *a);
    }
    free(a);
    free(b);
    pelt_model_destroy(again);
    pelt_model_destroy(model);
    px_buffer_free(&bytes);
    test_end(&test);
}

/* ---- Rejected files ----------------------------------------------------------------------------------------- */

static void bad_files_are_rejected(void **state) {
    (void)state;
#define MESH "#usda 1.0\ndef Mesh \"m\"\n{\nint[] faceVertexCounts = [3]\n"
    static const test_bad_text cases[] = {
        {"#usda 1.0\n", "neither a mesh nor a skeleton"},
        {"PXR-USDC\0\0", "usdcat"},
        {"#usda 1.0\ndef Mesh \"m\"\n{\n", "line 4: '}' is missing"},
        {"#usda 1.0\n}\n", "line 2: '}' has no '{'"},
        {"#usda 1.0\ndef Mesh m\n{}\n", "a name in quotes is expected"},
        {"#usda 1.0\ndef Mesh \"m\"\n{\nint[] x = [1, (2]\n}\n", "line 4: ']' has no partner"},
        {"#usda 1.0\ndef Mesh \"m\"\n{\nint[] x = [1\n}\n", "line 5: '}' has no partner"},
        {"#usda 1.0\ndef Mesh \"m\"\n{\nstring x = \"a\n}\n", "line 4: a text has no end"},
        {"#usda 1.0\ndef Mesh \"m\"\n{\nfloat\n}\n", "line 4: 'TYPE NAME' is expected"},
        {MESH "int[] faceVertexIndices = [0, 1, 9]\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n}\n",
         "faceVertexIndices of 'm' has the value 9; it must be below 3"},
        {MESH "int[] faceVertexIndices = [0, 1]\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n}\n",
         "have more corners than its 2 indices"},
        {MESH "int[] faceVertexIndices = [0, 1, 2]\npoint3f[] points = [(0, 0, 0), (1, 0, x), (0, 1, 0)]\n}\n",
         "line 6: 'x), (0, 1, 0)]' where a number is expected"},
        {MESH "int[] faceVertexIndices = [0 1 2]\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n}\n",
         "where a number is expected"}, /* numbers without commas */
        {MESH "int[] faceVertexIndices = [0, 1, 2]\npoint3f[] points = [(0, 0, 0), (1, 0, inf), (0, 1, 0)]\n}\n",
         "point 1 of 'm' is not finite"},
        {"#usda 1.0\ndef Skeleton \"s\"\n{\nuniform token[] joints = [\"a/b\", \"a\"]\n}\n",
         "the joint 'a/b' comes before the joint above it"},
    };
    test_texts_are_rejected(cases, PX_COUNT(cases), "bad.usda");
}

static void deep_files_are_rejected(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        test_context test;
        test_begin(&test, 1);
        px_buffer text = {.context = test.context};
        px_buffer_text(&text, kind ? "#usda 1.0\ndef \"a\" {\nfloat x = " : "#usda 1.0\n");
        for (int n = 0; n < 200000; n++)
            px_buffer_text(&text, kind ? "[" : "def \"a\" {\n");
        assert_false(text.failed);
        pelt_model *model;
        pelt_result result = pelt_load_memory(test.context, text.data, text.size, "deep.usda", NULL, &model);
        test_fails(&test, result, PELT_ERROR_INPUT, "nested too deeply");
        px_buffer_free(&text);
        test_end(&test);
    }
}

static void bad_packages_are_rejected(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "tube", 30, 4), *again;
    px_buffer package = save(&test, model, "tube.usdz");
    char *end = package.data + package.size - 22, *central = package.data + px_load_u32(end + 16);
    static const struct {
        int offset, value;
        const char *words;
    } cases[] = {{10, 8, "is compressed"},
                 {24, 1, "is compressed"},
                 {43, 0x7F, "has no header"},
                 {0, 0, "directory is damaged"}};
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        char old = central[cases[c].offset];
        central[cases[c].offset] = (char)cases[c].value;
        pelt_result result = pelt_load_memory(test.context, package.data, package.size, "t.usdz", NULL, &again);
        test_fails(&test, result, result == PELT_ERROR_INPUT ? PELT_ERROR_INPUT : PELT_ERROR_UNSUPPORTED,
                   cases[c].words);
        central[cases[c].offset] = old;
    }
    memcpy(package.data + 64, "PXR-USDC", 8); /* where the data of the first file begins */
    test_fails(&test, pelt_load_memory(test.context, package.data, package.size, "t.usdz", NULL, &again),
               PELT_ERROR_UNSUPPORTED, "usdcat");
    px_buffer_free(&package);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Failing allocations ------------------------------------------------------------------------------------ */

/* Reads a file of the corpus and writes it as a package and as glTF. */
static pelt_result convert(pelt_context *context, void *user) {
    static const char *const outputs[] = {"out.usdz", "out.glb"};
    const char *paths[] = {user};
    pelt_model *model;
    pelt_result result = pelt_load(context, paths, 1, NULL, &model);
    for (size_t n = 0; n < PX_COUNT(outputs) && result == PELT_OK; n++) {
        px_buffer bytes = {.context = context};
        result = px_save_memory(context, model, outputs[n], NULL, &bytes);
        px_buffer_free(&bytes);
    }
    pelt_model_destroy(model);
    return result;
}

static void allocations_may_fail(void **state) {
    (void)state;
    char paths[][64] = {"../fuzz/corpus/usd/strip.usda", "../fuzz/corpus/usd/moving.usda"};
    for (size_t n = 0; n < PX_COUNT(paths); n++)
        test_fail_each_allocation(1, convert, paths[n]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rigs_become_skeletons),
        cmocka_unit_test(names_are_valid_in_paths),
        cmocka_unit_test(clips_become_samples_of_points),
        cmocka_unit_test(packages_are_aligned),
        cmocka_unit_test(skeletons_are_read),
        cmocka_unit_test(samples_of_points_are_read),
        cmocka_unit_test(scenes_come_back),
        cmocka_unit_test(odd_rigs_come_back),
        cmocka_unit_test(clips_come_back),
        cmocka_unit_test(bad_files_are_rejected),
        cmocka_unit_test(deep_files_are_rejected),
        cmocka_unit_test(bad_packages_are_rejected),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
