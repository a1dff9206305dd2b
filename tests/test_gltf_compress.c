/* Compressed glTF: what was written reads back within the stated distance, in the order that connectivity gives, for rigs
 * with morphs and 8 influences, text files and documents with other content; smaller bounds give larger files; results do
 * not depend on threads. */
#include "gltf_written.h"
#include "io/meshopt.h"
#include "scenes.h"

#include <math.h>

typedef struct bench {
    test_context test;
    pelt_context *context;
    char folder[1024], path[1100];
    pelt_model *model, *back;
    pelt_compress_report report;
} bench;

static void begin(bench *t, const char *name, uint32_t threads) {
    *t = (bench){0};
    t->context = test_begin(&t->test, threads);
    test_folder(t->folder);
    snprintf(t->path, sizeof t->path, "%s/out.glb", t->folder);
    scene_desc desc = {.vertex_count = 600, .frame_count = 12, .seed = 3};
    test_ok(&t->test, scene_find(name)->make(t->context, &desc, &t->model));
}

static void end(bench *t) {
    unlink(t->path);
    rmdir(t->folder);
    pelt_model_destroy(t->back);
    pelt_model_destroy(t->model);
    test_end(&t->test);
}

static void load(bench *t, const char *path, pelt_model **model) {
    test_ok(&t->test, pelt_load(t->context, &path, 1, NULL, model));
}

static size_t size_of(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    return (size_t)size;
}

/* Writes the model compressed and reads it back; returns the size of the file. */
static size_t compress(bench *t, double error) {
    pelt_save_desc save = pelt_save_desc_default();
    assert_false(save.compress);
    save.compress = true;
    save.compress_error = error;
    save.compressed = &t->report;
    save.skip_clips = true;
    save.player_influences = 8;
    test_ok(&t->test, pelt_save(t->context, t->model, t->path, &save));
    pelt_model_destroy(t->back);
    t->back = NULL;
    load(t, t->path, &t->back);
    return size_of(t->path);
}

static double posed_distance(bench *t, uint32_t motion, float time, const uint32_t *vertices) {
    size_t count = t->model->mesh.vertex_count;
    float *positions[2];
    double most = 0;
    const pelt_model *models[2] = {t->model, t->back};
    for (int m = 0; m < 2; m++) {
        positions[m] = calloc(3 * count, sizeof(float));
        const pelt_motion *played = motion == PELT_NONE ? NULL : &models[m]->motions[motion];
        test_ok(&t->test,
                pelt_model_pose(t->context, models[m], played, time, PELT_SKINNING_LINEAR, positions[m], NULL));
    }
    for (size_t i = 0; i < count; i++) {
        double square = 0;
        for (size_t x = 0; x < 3; x++) {
            double d = (double)positions[1][3 * i + x] - (double)positions[0][3 * (size_t)vertices[i] + x];
            square += d * d;
        }
        most = fmax(most, sqrt(square));
    }
    free(positions[0]);
    free(positions[1]);
    return most;
}

/* The largest distance of the file's vertices from the model's, which are found by connectivity. */
static double measure(bench *t) {
    uint32_t *vertices = calloc(t->model->mesh.vertex_count, sizeof *vertices);
    assert_int_equal(t->back->mesh.vertex_count, t->model->mesh.vertex_count);
    assert_int_equal(t->back->mesh.triangle_count, t->model->mesh.triangle_count);
    assert_int_equal(t->back->morphs.morph_count, t->model->morphs.morph_count);
    test_ok(&t->test, pelt_model_match(t->context, t->back, t->model, vertices));
    double most = posed_distance(t, PELT_NONE, 0, vertices);
    for (uint32_t m = 0; m < t->model->motion_count; m++) {
        const pelt_motion *motion = &t->model->motions[m];
        for (uint32_t k = 0; k < motion->tracks[0].key_count; k++)
            most = fmax(most, posed_distance(t, m, motion->tracks[0].times[k], vertices));
    }
    free(vertices);
    return most;
}

static void decompose(bench *t, uint32_t corrections, uint32_t influences) {
    pelt_decompose_desc bones = pelt_decompose_desc_default();
    pelt_decompose_corrected_desc desc = pelt_decompose_corrected_desc_default();
    bones.bones = 8;
    bones.iterations = 6;
    bones.influences = influences;
    desc.corrections = corrections;
    desc.rounds = 0;
    test_ok(&t->test, pelt_decompose_corrected(t->context, t->model, &bones, &desc, NULL));
}

static void keeps_bound(const char *name, uint32_t corrections, uint32_t influences) {
    bench t;
    begin(&t, name, 1);
    if (!px_meshopt_encodes()) {
        end(&t);
        skip();
    }
    if (t.model->clip_count > 0)
        decompose(&t, corrections, influences);
    pelt_save_desc plain = pelt_save_desc_default();
    plain.skip_clips = true;
    plain.player_influences = 8;
    test_ok(&t.test, pelt_save(t.context, t.model, t.path, &plain));
    size_t last = size_of(t.path);
    static const double errors[] = {1e-6, 1e-4, 1e-2};
    for (size_t e = 0; e < PX_COUNT(errors); e++) {
        size_t size = compress(&t, errors[e]);
        assert_true(size < last);
        assert_true(t.report.fraction <= errors[e]);
        assert_true(t.report.fraction > 0);
        /* the report's distance is that of the file: both are evaluated in floats */
        assert_true(measure(&t) <= t.report.distance * 1.001 + 1e-6 * t.report.distance / t.report.fraction);
        last = size;
    }
    end(&t);
}

static void rig(void **state) {
    (void)state;
    keeps_bound("creature", 0, 4);
}

static void morphs(void **state) {
    (void)state;
    keeps_bound("cloth", 3, 4);
}

static void eight_influences(void **state) {
    (void)state;
    keeps_bound("cloth", 0, 8);
}

/* Weights sum to exactly 1: they are on a grid of a power of two. */
static void weights(void **state) {
    (void)state;
    bench t;
    begin(&t, "creature", 1);
    if (px_meshopt_encodes()) {
        compress(&t, 1e-2);
        const pelt_skin *skin = &t.back->skin;
        for (size_t i = 0; i < t.back->mesh.vertex_count; i++) {
            float sum = 0;
            for (size_t k = 0; k < skin->influence_count; k++)
                sum += skin->weights[i * skin->influence_count + k];
            assert_true(sum == 1);
        }
    }
    end(&t);
}

/* keep_order: triangles and vertices stay in their order. */
static void order(void **state) {
    (void)state;
    bench t;
    begin(&t, "creature", 1);
    if (px_meshopt_encodes()) {
        pelt_save_desc save = pelt_save_desc_default();
        assert_false(save.keep_order);
        compress(&t, 1e-3);
        const pelt_mesh *mesh = &t.model->mesh, *back = &t.back->mesh;
        size_t size = 3 * (size_t)mesh->triangle_count * sizeof *mesh->triangles;
        assert_memory_not_equal(back->triangles, mesh->triangles, size);
        pelt_model_destroy(t.back);
        save.compress = save.keep_order = save.skip_clips = true;
        save.compress_error = 1e-3;
        test_ok(&t.test, pelt_save(t.context, t.model, t.path, &save));
        load(&t, t.path, &t.back);
        back = &t.back->mesh;
        for (size_t e = 0; e < 3 * (size_t)mesh->triangle_count; e++) /* the codec may rotate corners */
            assert_true(back->triangles[e] == mesh->triangles[e] ||
                        back->triangles[e] == mesh->triangles[e - e % 3 + (e + 1) % 3] ||
                        back->triangles[e] == mesh->triangles[e - e % 3 + (e + 2) % 3]);
    }
    end(&t);
}

static void threads(void **state) {
    (void)state;
    written files[2];
    for (uint32_t n = 0; n < 2; n++) {
        bench t;
        begin(&t, "creature", n + 1);
        if (!px_meshopt_encodes()) {
            end(&t);
            skip();
        }
        compress(&t, 1e-3);
        read_whole(t.path, &files[n]);
        end(&t);
    }
    assert_int_equal(files[0].size, files[1].size);
    assert_memory_equal(files[0].file, files[1].file, files[0].size);
    free(files[0].file);
    free(files[1].file);
}

/* A document with a material, extras and an attribute unknown to Pelt, compressed twice: all is kept, the unknown numbers
 * to the bit. */
static void content(void **state) {
    (void)state;
    static const char text[] =
        "{\"asset\":{\"version\":\"2.0\"},\"extras\":{\"kept\":[1,2.50]},\"buffers\":[{\"byteLength\":66,\"uri\":"
        "\"data:;"
        "base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAzczMPc3MTD6amZk+zczMPc3MTD6amZk+AAABAAIA\"}],"
        "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},{\"buffer\":0,\"byteOffset\":36,\"byteLength\":24},{"
        "\"buffer\":0,"
        "\"byteOffset\":60,\"byteLength\":6}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,"
        "\"type\":"
        "\"VEC3\",\"min\":[0,0,0],\"max\":[1,1,0]},{\"bufferView\":1,\"componentType\":5126,\"count\":3,\"type\":"
        "\"VEC2\"},"
        "{\"bufferView\":2,\"componentType\":5123,\"count\":3,\"type\":\"SCALAR\"}],\"materials\":[{\"name\":\"red\","
        "\"extras\":7}"
        "],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"_PAIR\":1},\"indices\":2,\"material\":0}]}],"
        "\"nodes\":[{\"mesh\":0,\"name\":\"n\"}],\"scenes\":[{\"nodes\":[0]}],\"scene\":0}";
    bench t;
    written w;
    begin(&t, "creature", 1);
    pelt_model_destroy(t.model);
    t.model = NULL;
    test_ok(&t.test, pelt_load_memory(t.context, text, sizeof text - 1, "a.gltf", NULL, &t.model));
    for (int pass = 0; pass < 2 && px_meshopt_encodes(); pass++) {
        float pair[3];
        compress(&t, 1e-4);
        look(&t.test, t.path, &w);
        assert_string_equal(px_json_at(px_json_get(px_json_get(w.root, "extras"), "kept"), 1)->text, "2.50");
        assert_string_equal(px_json_get(item(w.root, "materials", 0), "extras")->text, "7");
        assert_string_equal(px_json_string(px_json_at(px_json_get(w.root, "extensionsRequired"), 0), ""),
                            "EXT_meshopt_compression");
        test_ok(&t.test, pelt_vertex_attribute(t.context, t.back, "_PAIR.y", pair));
        for (int i = 0; i < 3; i++) /* 0.1 0.2, 0.3 0.1, 0.2 0.3 */
            assert_true(pair[i] == 0.1f || pair[i] == 0.2f || pair[i] == 0.3f);
        forget(&w);
        pelt_model_destroy(t.model);
        t.model = t.back;
        t.back = NULL;
    }
    end(&t);
}

/* Connectivity alone matches a grid, which is symmetric, after its vertices and triangles were shuffled. */
static void connectivity(void **state) {
    (void)state;
    bench t;
    begin(&t, "cloth", 1);
    pelt_mesh *mesh = &t.model->mesh;
    uint32_t n = mesh->vertex_count, *found = calloc(n, sizeof *found);
    pelt_model *other;
    test_ok(&t.test, pelt_model_borrow(t.context, t.model, &other));
    float *positions = pelt_model_alloc(t.context, other, 3 * (size_t)n, sizeof *positions);
    uint32_t *triangles = pelt_model_alloc(t.context, other, 3 * (size_t)mesh->triangle_count, sizeof *triangles);
    uint32_t step = 7;
    while (n % step == 0)
        step += 2;
    for (size_t i = 0; i < n; i++) /* vertex i becomes i · step mod n, a little off */
        for (size_t x = 0; x < 3; x++)
            positions[3 * (i * step % n) + x] = mesh->positions[3 * i + x] * 1.01f;
    for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++)
        triangles[3 * (size_t)mesh->triangle_count - 3 - c + 2 * (c % 3)] =
            (uint32_t)((size_t)mesh->triangles[c] * step % n); /* the last triangle first */
    other->mesh.positions = positions;
    other->mesh.triangles = triangles;
    other->mesh.uvs = NULL; /* those of the vertices before */
    test_ok(&t.test, pelt_model_match(t.context, t.model, other, found));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found[i], i * step % n);
    triangles[0] = triangles[5]; /* another mesh */
    assert_int_equal(pelt_model_match(t.context, t.model, other, found), PELT_ERROR_INPUT);
    free(found);
    pelt_model_destroy(other);
    end(&t);
}

static void without_meshoptimizer(void **state) {
    (void)state;
    bench t;
    begin(&t, "creature", 1);
    if (px_meshopt_encodes()) {
        end(&t);
        skip();
    }
    pelt_save_desc save = pelt_save_desc_default();
    save.compress = true;
    assert_int_equal(pelt_save(t.context, t.model, t.path, &save), PELT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(pelt_error_text(t.context), "no meshoptimizer support"));
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rig),     cmocka_unit_test(morphs),       cmocka_unit_test(eight_influences),
        cmocka_unit_test(weights), cmocka_unit_test(order),        cmocka_unit_test(threads),
        cmocka_unit_test(content), cmocka_unit_test(connectivity), cmocka_unit_test(without_meshoptimizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
