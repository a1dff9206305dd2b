/* Writing glTF: unchanged data is preserved, changed data is rewritten, unreferenced data is removed. */
#include "core/skin_parts.h"
#include "gltf_build.h"
#include "gltf_written.h"

/* The text of a member, as JSON. */
static void is_text(test_context *test, const px_json *value, const char *wanted) {
    assert_non_null(value);
    px_buffer text = {.context = test->context};
    px_json_write(&text, value, 0);
    px_buffer_add(&text, "", 1);
    assert_string_equal(text.data, wanted);
    px_buffer_free(&text);
}

/* ---- A test's files --------------------------------------------------------------------------------------- */

typedef struct bench {
    test_context test;
    char folder[1024];
    char path[1100];
    gltf_build b;
    pelt_model *model;
} bench;

static void begin(bench *t, const char *name) {
    memset(&t->b, 0, sizeof t->b);
    test_begin(&t->test, 1);
    test_folder(t->folder);
    snprintf(t->path, sizeof t->path, "%s/%s", t->folder, name);
}

static void end(bench *t) {
    char bin[1100];
    pelt_model_destroy(t->model);
    unlink(t->path);
    snprintf(bin, sizeof bin, "%s", t->path);
    strcpy(strrchr(bin, '.'), ".bin");
    unlink(bin);
    assert_int_equal(rmdir(t->folder), 0);
    test_end(&t->test);
}

static pelt_model *reload(bench *t) {
    const char *paths[] = {t->path};
    pelt_model *model;
    pelt_load_desc desc = pelt_load_desc_default();
    desc.join = "none"; /* every motion of the file */
    test_ok(&t->test, pelt_load(t->test.context, paths, 1, &desc, &model));
    return model;
}

/* Both models have the same vertex positions, at rest and in the middle of every motion. */
static void same_poses(bench *t, const pelt_model *a, const pelt_model *b) {
    assert_int_equal(a->mesh.vertex_count, b->mesh.vertex_count);
    assert_int_equal(a->motion_count, b->motion_count);
    size_t count = 3 * (size_t)a->mesh.vertex_count;
    float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
    for (uint32_t m = 0; m <= a->motion_count; m++) {
        const pelt_motion *p = m ? &a->motions[m - 1] : NULL, *q = m ? &b->motions[m - 1] : NULL;
        test_ok(&t->test, pelt_model_pose(t->test.context, a, p, 0.5f, PELT_SKINNING_LINEAR, x, NULL));
        test_ok(&t->test, pelt_model_pose(t->test.context, b, q, 0.5f, PELT_SKINNING_LINEAR, y, NULL));
        same_floats(y, count, x);
    }
    free(x);
    free(y);
}

/* ---- Unchanged data --------------------------------------------------------------------------------------- */

static void untouched(void **state) {
    (void)state;
    bench t;
    written w, again;
    begin(&t, "out.glb");
    t.model = build_load(&t.test, &t.b, build_rig(&t.b));
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    is_text(&t.test, item(w.root, "cameras", 0),
            "{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.10}}");
    is_text(&t.test, item(w.root, "materials", 0), "{\"name\":\"cloth\",\"extras\":{\"k\":1e+2}}");
    is_text(&t.test, px_json_get(item(w.root, "nodes", 2), "extras"), "{\"keep\":[1.50,true,null]}");
    assert_memory_equal(w.binary, t.b.bytes, t.b.size);
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &again);
    assert_int_equal(w.size, again.size);
    assert_memory_equal(w.file, again.file, w.size);
    forget(&w);
    forget(&again);
    end(&t);
}

/* .glb to .gltf with a separate .bin, and that to .glb. */
static void there_and_back(void **state) {
    (void)state;
    bench t;
    written w;
    begin(&t, "a b.gltf");
    t.model = build_load(&t.test, &t.b, build_rig(&t.b));
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    assert_null(w.binary);
    is_text(&t.test, px_json_get(item(w.root, "buffers", 0), "uri"), "\"a%20b.bin\"");
    forget(&w);
    pelt_model *again = reload(&t);
    same_poses(&t, t.model, again);
    char glb[1200];
    snprintf(glb, sizeof glb, "%s/out.glb", t.folder);
    test_ok(&t.test, pelt_save(t.test.context, again, glb, NULL));
    look(&t.test, glb, &w);
    assert_memory_equal(w.binary, t.b.bytes, t.b.size);
    is_text(&t.test, px_json_get(w.root, "asset"), "{\"version\":\"2.0\"}");
    unlink(glb);
    forget(&w);
    pelt_model_destroy(again);
    end(&t);
}

/* Compressed views stay compressed, with their fallback buffer. */
static void compressed(void **state) {
    (void)state;
    static const uint8_t packed[8] = {0xa0, 0, 0, 0, 0, 0, 0, 0};
    bench t;
    written w;
    begin(&t, "out.glb");
    build_square(&t.b);
    build_view(&t.b, packed, 8,
               ",\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteOffset\":48,\"byteLength\":8,"
               "\"byteStride\":4,\"count\":1,\"mode\":\"ATTRIBUTES\"}}");
    t.model = build_load(&t.test, &t.b,
                         "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,"
                         "\"_PACKED\":0},\"mode\":0}]}],\"extensionsUsed\":[\"EXT_meshopt_compression\"]");
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    const px_json *packed_json =
        px_json_get(px_json_get(item(w.root, "bufferViews", 1), "extensions"), "EXT_meshopt_compression");
    is_text(&t.test, px_json_get(packed_json, "byteOffset"), "48");
    forget(&w);
    t.model->changed = PELT_CHANGED_POSITIONS; /* now the view is unused, and then the extension is too */
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    assert_int_equal(px_json_count(px_json_get(w.root, "bufferViews")), 2);
    assert_null(px_json_get(w.root, "extensionsUsed"));
    forget(&w);
    end(&t);
}

/* ---- Changed data ----------------------------------------------------------------------------------------- */

static void changed_positions(void **state) {
    (void)state;
    bench t;
    written w;
    begin(&t, "out.glb");
    t.model = build_load(&t.test, &t.b, build_rig(&t.b));
    for (uint32_t i = 0; i < t.model->mesh.vertex_count; i++)
        t.model->mesh.positions[3 * i + 2] += 3;
    t.model->changed = PELT_CHANGED_POSITIONS;
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    /* Nine accessors, of which one was the positions of both meshes: it is removed, two are added. */
    assert_int_equal(px_json_count(px_json_get(w.root, "accessors")), 10);
    assert_int_equal(px_json_count(px_json_get(w.root, "bufferViews")), 10);
    uint64_t at = px_json_uint(
        px_json_get(px_json_get(item(px_json_at(px_json_get(w.root, "meshes"), 0), "primitives", 0), "attributes"),
                    "POSITION"),
        99, 99);
    is_text(&t.test, px_json_get(item(w.root, "accessors", (uint32_t)at), "min"), "[0,0,3]");
    is_text(&t.test, px_json_get(item(w.root, "accessors", (uint32_t)at), "max"), "[1,1,3]");
    is_text(&t.test, item(w.root, "materials", 0), "{\"name\":\"cloth\",\"extras\":{\"k\":1e+2}}");
    forget(&w);
    pelt_model *again = reload(&t);
    same_poses(&t, t.model, again);
    same_floats(again->mesh.positions, 24, t.model->mesh.positions);
    pelt_model_destroy(again);
    end(&t);
}

/* Each kind of data alone, and all together, replaced by itself: the poses are the same. */
static void changed_nouns(void **state) {
    (void)state;
    for (uint32_t changed = 1; changed < 32; changed++) {
        bench t;
        begin(&t, "out.glb");
        t.model = build_load(&t.test, &t.b, build_rig(&t.b));
        t.model->changed = changed;
        test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
        pelt_model *again = reload(&t);
        same_poses(&t, t.model, again);
        assert_int_equal(again->morphs.morph_count, 1);
        assert_string_equal(again->morphs.morphs[0].name, "open");
        pelt_model_destroy(again);
        end(&t);
    }
}

/* The rigid part gets weights: it moves from its node's space to the skin's. */
static void newly_skinned(void **state) {
    (void)state;
    bench t;
    begin(&t, "out.glb");
    t.model = build_load(&t.test, &t.b, build_rig(&t.b));
    t.model->mesh.parts[1].skinned = true;
    for (size_t i = 4; i < 8; i++)
        t.model->skin.bones[i * t.model->skin.influence_count] = 1;
    t.model->changed = PELT_CHANGED_SKIN;
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    pelt_model *again = reload(&t);
    assert_true(again->mesh.parts[1].skinned);
    same_floats(again->mesh.positions, 24, t.model->mesh.positions);
    same_poses(&t, t.model, again);
    pelt_model_destroy(again);
    end(&t);
}

/* One mesh on two nodes: after a change of one they are two meshes. Two skins with the same joints stay separate. */
static void instances(void **state) {
    (void)state;
    bench t;
    written w;
    begin(&t, "out.glb");
    build_rig(&t.b);
    t.model = build_load(&t.test, &t.b,
                         "\"nodes\":[{\"mesh\":0,\"skin\":0},{\"children\":[2]},{\"translation\":[0,1,0]},{\"mesh\":0,"
                         "\"skin\":1}],\"skins\":[{\"joints\":[1,2]},{\"joints\":[2,1],\"inverseBindMatrices\":4}],"
                         "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":2,\"WEIGHTS_0\":3},"
                         "\"indices\":1}]}]");
    assert_int_equal(t.model->skin.bone_count, 4);
    t.model->mesh.positions[0] = 7;
    t.model->changed = PELT_CHANGED_POSITIONS | PELT_CHANGED_SKIN;
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    assert_int_equal(px_json_count(px_json_get(w.root, "meshes")), 2);
    assert_int_equal(px_json_count(px_json_get(w.root, "skins")), 2);
    assert_int_equal(px_json_count(px_json_get(w.root, "nodes")), 4);
    forget(&w);
    pelt_model *again = reload(&t);
    same_poses(&t, t.model, again);
    pelt_model_destroy(again);
    end(&t);
}

/* An unknown extension may refer to any accessor: none is renumbered. */
static void unknown_extension(void **state) {
    (void)state;
    bench t;
    written w;
    begin(&t, "out.glb");
    build_square(&t.b);
    build_square(&t.b);
    t.model =
        build_load(&t.test, &t.b,
                   "\"extensionsUsed\":[\"ACME_thing\"],\"extensions\":{\"ACME_thing\":{\"accessor\":1}},\"nodes\":["
                   "{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]");
    t.model->changed = PELT_CHANGED_POSITIONS;
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    assert_int_equal(px_json_count(px_json_get(w.root, "accessors")), 3);
    assert_memory_equal(w.binary, t.b.bytes, t.b.size);
    forget(&w);
    end(&t);
}

static uint32_t offset_of(const px_json *root, uint32_t view) {
    return (uint32_t)px_json_uint(px_json_get(item(root, "bufferViews", view), "byteOffset"), 9999, 9999);
}

/* Overlapping views are moved together, once, and keep their alignment. */
static void overlapping_views(void **state) {
    (void)state;
    bench t;
    written w;
    begin(&t, "out.glb");
    build_square(&t.b); /* view 0: removed with the old positions */
    static const uint16_t shared[] = {9, 0, 1, 2, 2, 1, 3, 9, 9, 9};
    memcpy(t.b.bytes + t.b.size, shared, sizeof shared);
    px_little_endian(t.b.bytes + t.b.size, sizeof shared / 2, 2);
    t.b.size += sizeof shared;
    strcat(t.b.views,
           ",{\"buffer\":0,\"byteOffset\":50,\"byteLength\":12},{\"buffer\":0,\"byteOffset\":52,\"byteLength\":12}");
    build_accessor_text(&t.b, "{\"bufferView\":1,\"componentType\":5123,\"count\":6,\"type\":\"SCALAR\"}");
    build_accessor_text(&t.b,
                        "{\"bufferView\":2,\"componentType\":5121,\"count\":4,\"type\":\"VEC3\",\"normalized\":true}");
    t.model = build_load(&t.test, &t.b,
                         "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,"
                         "\"COLOR_0\":2},\"indices\":1}]}]");
    t.model->changed = PELT_CHANGED_POSITIONS;
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    uint32_t indices = offset_of(w.root, 0), colours = offset_of(w.root, 1);
    assert_int_equal(indices % 4, 2);
    assert_int_equal(colours, indices + 2);
    assert_memory_equal(w.binary + indices, t.b.bytes + 50, 12);
    is_text(&t.test, px_json_get(item(w.root, "buffers", 0), "byteLength"), "64"); /* 16 of them, 48 new positions */
    forget(&w);
    pelt_model *again = reload(&t);
    same_poses(&t, t.model, again);
    SAME_UINTS(again->mesh.triangles, 0, 1, 2, 2, 1, 3);
    pelt_model_destroy(again);
    end(&t);
}

/* Weights that do not sum to one are an error of the source file; they are normalised when written. */
static void mended(void **state) {
    (void)state;
    bench t;
    written w;
    begin(&t, "out.glb");
    BUILD_FLOATS(&t.b, "VEC3", 1, 0, 0, 0);
    BUILD_BYTES(&t.b, 5121, "VEC4", 1, "", 0, 1, 0, 0);
    BUILD_FLOATS(&t.b, "VEC4", 1, 0.25f, 0.5f, 0, 0);
    t.model = build_load(
        &t.test, &t.b,
        "\"skins\":[{\"joints\":[1,2],\"skeleton\":2}],\"nodes\":[{\"mesh\":0,\"skin\":0},{\"children\":[2]},"
        "{}],\"meshes\":[{\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,"
        "\"WEIGHTS_0\":2}}]}]");
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    is_text(&t.test, item(w.root, "skins", 0), "{\"joints\":[1,2]}");
    assert_int_equal(px_json_count(px_json_get(w.root, "accessors")), 3);
    float weights[2];
    memcpy(weights, w.binary + 16, sizeof weights); /* after the position and the joints */
    px_little_endian(weights, 2, sizeof *weights);
    assert_true(fabs((double)weights[0] + (double)weights[1] - 1) <= 2e-7); /* tolerance of the specification */
    SAME_FLOATS(weights, 1 / 3.0f, 2 / 3.0f);
    forget(&w);
    end(&t);
}

/* ---- Images ----------------------------------------------------------------------------------------------- */

static void images(void **state) {
    (void)state;
    static const char *const text = "{\"asset\":{\"version\":\"2.0\"},\"images\":[{\"uri\":\"a.png\",\"name\":\"i\"},{"
                                    "\"uri\":\"gone.png\"},{\"uri\":"
                                    "\"data:image/png;base64,AAAA\"}]}";
    static const char png[] = "\x89PNG\r\n\x1A\nrest";
    bench t;
    written w;
    begin(&t, "in.gltf");
    char image[1200], beside[1200], sub[1200], inside[1300];
    snprintf(image, sizeof image, "%s/a.png", t.folder);
    snprintf(beside, sizeof beside, "%s/out.glb", t.folder);
    snprintf(sub, sizeof sub, "%s/sub", t.folder);
    snprintf(inside, sizeof inside, "%s/out.glb", sub);
    FILE *file = fopen(t.path, "w");
    fputs(text, file);
    fclose(file);
    file = fopen(image, "wb");
    fwrite(png, 1, 12, file);
    fclose(file);
    assert_true(px_folder_make(sub));
    t.model = reload(&t);
    test_ok(&t.test, pelt_save(t.test.context, t.model, beside, NULL));
    look(&t.test, beside, &w);
    is_text(&t.test, item(w.root, "images", 0), "{\"uri\":\"a.png\",\"name\":\"i\"}");
    assert_null(w.binary);
    forget(&w);
    test_ok(&t.test, pelt_save(t.test.context, t.model, inside, NULL));
    look(&t.test, inside, &w);
    is_text(&t.test, item(w.root, "images", 0), "{\"name\":\"i\",\"bufferView\":0,\"mimeType\":\"image/png\"}");
    is_text(&t.test, item(w.root, "images", 1), "{\"uri\":\"gone.png\"}");
    is_text(&t.test, item(w.root, "images", 2), "{\"uri\":\"data:image/png;base64,AAAA\"}");
    assert_memory_equal(w.binary, png, 12);
    assert_non_null(strstr(t.test.log, "image 1: gone.png cannot be read"));
    forget(&w);
    unlink(image), unlink(beside), unlink(inside), rmdir(sub);
    end(&t);
}

/* ---- Without a source document ---------------------------------------------------------------------------- */

/* A model as a reader of another format would create it: parts that share `count` vertices, one triangle each. */
static pelt_model *make_model(bench *t, uint32_t count) {
    pelt_model *model;
    test_ok(&t->test, pelt_model_create(t->test.context, &model));
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = count;
    mesh->triangle_count = mesh->polygon_count = 2;
    mesh->part_count = 2;
    mesh->positions = pelt_model_alloc(t->test.context, model, count, 12);
    mesh->uvs = pelt_model_alloc(t->test.context, model, count, 8);
    mesh->triangles = pelt_model_alloc(t->test.context, model, 2, 12);
    mesh->parts = pelt_model_alloc(t->test.context, model, 2, sizeof *mesh->parts);
    mesh->parts[0] = (pelt_part){.name = "one", .material = "red", .triangle_count = 1, .joint = PELT_NONE};
    mesh->parts[1] =
        (pelt_part){.name = "two", .material = "red", .first_triangle = 1, .triangle_count = 1, .joint = PELT_NONE};
    for (uint32_t i = 0; i < count; i++)
        mesh->positions[3 * i] = (float)i, mesh->positions[3 * i + 1] = (float)(i % 7), mesh->uvs[2 * i + 1] = 0.25f;
    memcpy(mesh->triangles, (const uint32_t[]){0, 1, 2, 2, 1, count - 1}, 24);
    return model;
}

/* Two joints without a common parent, half the weight each. */
static void add_skin(bench *t, pelt_model *model) {
    static const char *names[] = {"left", "right"};
    uint32_t count = model->mesh.vertex_count;
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->joint_count = 2;
    skeleton->names = names;
    skeleton->parents = pelt_model_alloc(t->test.context, model, 2, 4);
    skeleton->rest = pelt_model_alloc(t->test.context, model, 2, sizeof *skeleton->rest);
    model->skin = (pelt_skin){.bone_count = 2, .influence_count = 2};
    model->skin.bone_joints = pelt_model_alloc(t->test.context, model, 2, 4);
    model->skin.inverse_binds = pelt_model_alloc(t->test.context, model, 2, sizeof *model->skin.inverse_binds);
    model->skin.bones = pelt_model_alloc(t->test.context, model, count, 4);
    model->skin.weights = pelt_model_alloc(t->test.context, model, count, 8);
    for (uint32_t j = 0; j < 2; j++) {
        skeleton->parents[j] = PELT_NONE;
        skeleton->rest[j] = (pelt_transform){{(float)j, 2, 0}, {0, 0, 0, 1}, {1, 1, 1}};
        model->skin.bone_joints[j] = j;
        model->skin.inverse_binds[j] = (pelt_affine){{1, 0, 0, 0, 0, 1, 0, -2, 0, 0, 1, 0}};
    }
    for (uint32_t i = 0; i < count; i++) {
        model->skin.bones[2 * i + 1] = 1;
        model->skin.weights[2 * i] = model->skin.weights[2 * i + 1] = 0.5f;
    }
}

static void from_nothing(void **state) {
    (void)state;
    static const struct {
        uint32_t count;
        const char *component;
    } cases[] = {{4, "5123"}, {65535, "5123"}, {65536, "5125"}};
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        bench t;
        written w;
        begin(&t, "out.glb");
        t.model = make_model(&t, cases[c].count);
        add_skin(&t, t.model);
        test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
        look(&t.test, t.path, &w);
        is_text(&t.test, px_json_get(w.root, "asset"), "{\"version\":\"2.0\",\"generator\":\"pelt " PELT_VERSION "\"}");
        is_text(&t.test, px_json_get(w.root, "materials"), "[{\"name\":\"red\"}]");
        is_text(&t.test, item(w.root, "scenes", 0), "{\"nodes\":[2,3]}"); /* the mesh, a new root over both joints */
        const px_json *mesh = item(w.root, "meshes", 0), *second = item(mesh, "primitives", 1);
        is_text(&t.test, px_json_get(second, "attributes"),
                "{\"POSITION\":0,\"TEXCOORD_0\":1,\"JOINTS_0\":5,\"WEIGHTS_0\":6}"); /* shared with the first */
        uint32_t indices = (uint32_t)px_json_uint(px_json_get(second, "indices"), 99, 99);
        is_text(&t.test, px_json_get(item(w.root, "accessors", indices), "componentType"), cases[c].component);
        forget(&w);
        pelt_model *again = reload(&t);
        assert_int_equal(again->mesh.triangle_count, 2);
        assert_int_equal(again->mesh.part_count, 2);
        assert_string_equal(again->mesh.parts[0].name, "one");
        assert_string_equal(again->mesh.parts[1].name, "two");
        SAME_FLOATS(again->mesh.uvs, 0, 0.25f);
        assert_int_equal(again->mesh.triangles[5] - again->mesh.triangles[4], cases[c].count - 2);
        pelt_model_destroy(again);
        end(&t);
    }
}

static void nothing(void **state) {
    (void)state;
    bench t;
    written w;
    begin(&t, "out.glb");
    test_ok(&t.test, pelt_model_create(t.test.context, &t.model));
    test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
    look(&t.test, t.path, &w);
    assert_null(w.binary);
    assert_null(px_json_get(w.root, "nodes"));
    is_text(&t.test, px_json_get(w.root, "scenes"), "[{}]");
    forget(&w);
    end(&t);
}

/* ---- Scenes ----------------------------------------------------------------------------------------------- */

/* A part that joins a skin moves with its node to the scenes that contain it; if the node has other uses, a new node
 * takes its place. */
static void several_scenes(void **state) {
    (void)state;
    static const struct {
        const char *more, *scenes, *hip, *mesh;
    } cases[] = {
        {"", "[{\"nodes\":[4]},{\"nodes\":[0,1,3]},{\"nodes\":[1,3]}]", "[2]", "3"},
        {",\"camera\":0", "[{\"nodes\":[4]},{\"nodes\":[0,1,3]},{\"nodes\":[1,3]}]", "[2,5]", "3"},
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        bench t;
        written w;
        char text[4096], nodes[400];
        begin(&t, "out.glb");
        const char *rig = build_rig(&t.b), *rest = strstr(rig, "\"cameras\"");
        snprintf(nodes, sizeof nodes,
                 "\"scene\":1,\"scenes\":[{\"nodes\":[4]},{\"nodes\":[0,1]},{\"nodes\":[1]}],"
                 "\"nodes\":[{\"mesh\":0,\"skin\":0},{\"name\":\"hip\",\"children\":[2,3],\"translation\":[0,1,0]},"
                 "{\"translation\":[0,1,0]},{\"mesh\":1,\"scale\":[2,2,2]%s},{\"name\":\"other\"}],",
                 cases[c].more);
        const char *animations = strstr(rest, ",\"animations\""), *targets = strstr(rest, ",\"targets\"");
        snprintf(text, sizeof text, "%s%.*s}]}]", nodes, (int)(targets - rest), rest); /* no morphs, no motions */
        assert_true(animations > targets);
        t.model = build_load(&t.test, &t.b, text);
        test_ok(&t.test, px_skin_join_parts(t.model));
        assert_true(t.model->changed & PELT_CHANGED_SKIN);
        test_ok(&t.test, pelt_save(t.test.context, t.model, t.path, NULL));
        look(&t.test, t.path, &w);
        is_text(&t.test, px_json_get(w.root, "scenes"), cases[c].scenes);
        is_text(&t.test, px_json_get(item(w.root, "nodes", 1), "children"), cases[c].hip);
        is_text(&t.test, px_json_get(item(w.root, "nodes", (uint32_t)atoi(cases[c].mesh)), "mesh"), "1");
        forget(&w);
        pelt_model *again = reload(&t);
        same_poses(&t, t.model, again);
        pelt_model_destroy(again);
        end(&t);
    }
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

typedef struct save_case {
    const gltf_build *b;
    uint32_t changed;
    const char *path;
} save_case;

static pelt_result load_and_save(pelt_context *context, void *user) {
    const save_case *c = user;
    pelt_model *model;
    pelt_result result = pelt_load_memory(context, c->b->glb, c->b->glb_size, "test.glb", NULL, &model);
    if (result == PELT_OK) {
        model->changed = c->changed;
        if (c->changed == UINT32_MAX)
            model->document = NULL;
        result = pelt_save(context, model, c->path, NULL);
    }
    pelt_model_destroy(model);
    return result;
}

static void memory(void **state) {
    (void)state;
    static const uint32_t changes[] = {0, PELT_CHANGED_POSITIONS | PELT_CHANGED_SKIN | PELT_CHANGED_MORPHS, UINT32_MAX};
    bench t;
    begin(&t, "out.glb");
    build_glb(&t.b, build_rig(&t.b));
    for (size_t c = 0; c < PX_COUNT(changes); c++)
        test_fail_each_allocation(1, load_and_save, &(save_case){&t.b, changes[c], t.path});
    t.model = NULL;
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched),     cmocka_unit_test(there_and_back),
        cmocka_unit_test(compressed),    cmocka_unit_test(changed_positions),
        cmocka_unit_test(changed_nouns), cmocka_unit_test(newly_skinned),
        cmocka_unit_test(instances),     cmocka_unit_test(unknown_extension),
        cmocka_unit_test(mended),        cmocka_unit_test(overlapping_views),
        cmocka_unit_test(images),        cmocka_unit_test(from_nothing),
        cmocka_unit_test(nothing),       cmocka_unit_test(several_scenes),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
