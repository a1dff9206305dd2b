/* Alembic: generated files with every kind of sampling, transform and object, decoded to exact values; rejected files
 * and their error messages; a real file compared with the bounds stored in it. */
#include "support.h"

#include "abc_build.h"
#include "io/abc.h"

#include <math.h>

/* ---- Helpers ---------------------------------------------------------------------------------------------- */

static pelt_result load_object(pelt_context *context, const build_file *file, const char *object, pelt_model **model) {
    pelt_load_desc desc = pelt_load_desc_default();
    desc.object = object;
    return pelt_load_memory(context, file->data, file->size, "some/test.abc", &desc, model);
}

static pelt_model *load(test_context *test, const build_file *file, const char *object) {
    pelt_model *model;
    test_ok(test, load_object(test->context, file, object, &model));
    assert_string_equal(model->format, "Alembic");
    return model;
}

static void check_fails(build_file *file, const char *object, pelt_result result, const char *words) {
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    test_fails(&test, load_object(test.context, file, object, &model), result, words);
    assert_null(model);
    assert_true(pelt_context_memory(test.context).peak < 1 << 22);
    test_end(&test);
    free(file->data);
}

static void check_floats(const float *values, size_t count, const float *wanted) {
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(values[i] - wanted[i]) <= 1e-6f))
            fail_msg("number %zu is %g, should be %g", i, (double)values[i], (double)wanted[i]);
}

static void check_uints(const uint32_t *values, size_t count, const uint32_t *wanted) {
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        if (values[i] != wanted[i])
            fail_msg("number %zu is %u, should be %u", i, values[i], wanted[i]);
}

static void check_frame(test_context *test, const pelt_model *model, uint32_t frame, const float *wanted) {
    const pelt_clip *clip = &model->clips[0];
    float all[64], one[3];
    test_ok(test, pelt_clip_read(test->context, clip, frame, 0, clip->point_count, all));
    check_floats(all, (size_t)3 * clip->point_count, wanted);
    for (uint32_t i = 0; i < clip->point_count; i++) { /* reading point by point gives the same values */
        test_ok(test, pelt_clip_read(test->context, clip, frame, i, 1, one));
        assert_memory_equal(one, all + 3 * (size_t)i, sizeof one);
    }
}

/* A clockwise triangle; in sample s, every x coordinate is s. */
static const int32_t three[] = {3}, corners[] = {0, 1, 2};
static const build_sample one_face = {three, sizeof three}, face_corners = {corners, sizeof corners};
typedef float triangle[9];
static const triangle shapes[] = {
    {0, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 1, 1, 0, 1, 0, 1}, {2, 0, 0, 2, 1, 0, 2, 0, 1}, {3, 0, 0, 3, 1, 0, 3, 0, 1}};
static const build_sample samples[] = {{shapes[0], sizeof(triangle)},
                                       {shapes[1], sizeof(triangle)},
                                       {shapes[2], sizeof(triangle)},
                                       {shapes[3], sizeof(triangle)}};

static uint64_t add_triangle(build_file *file, build_spec positions) {
    build_compound geometry = {0};
    positions.samples = positions.samples ? positions.samples : samples;
    build_geometry(file, &geometry, positions, one_face, face_corners);
    return build_mesh(file, &geometry);
}

static void end_with_mesh(build_file *file, uint64_t mesh, const build_times *samplings, size_t sampling_count) {
    uint64_t top = build_object(file, 0, &(build_node){"m", mesh, BUILD_META_MESH, NULL}, 1);
    build_end(file, top, samplings, sampling_count);
}

/* A file with one top-level mesh object "m". */
static build_file file_of_mesh(build_spec positions, const build_times *samplings, size_t sampling_count) {
    build_file file = build_begin();
    end_with_mesh(&file, add_triangle(&file, positions), samplings, sampling_count);
    return file;
}

static const double start[] = {0.5};
static const build_times uniform = {0.25, start, 1};

/* ---- Samples and times ------------------------------------------------------------------------------------ */

static void constant(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    build_file file = file_of_mesh((build_spec){.stored_count = 1, .sample_count = 40, .sampling = 1}, &uniform, 1);
    pelt_model *model = load(&test, &file, NULL);
    assert_int_equal(model->clip_count, 0);
    assert_int_equal(model->mesh.points.count, 3);
    check_floats(model->mesh.positions, 9, shapes[0]);
    check_uints(model->mesh.triangles, 3, (uint32_t[]){0, 2, 1});
    assert_int_equal(model->mesh.part_count, 1);
    assert_string_equal(model->mesh.parts[0].name, "m");
    pelt_model_destroy(model);
    free(file.data);
    test_end(&test);
}

/* x of the triangle in each frame, and the frame's time. */
static void check_motion(const build_file *file, const double *x, const double *times, uint32_t count) {
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load(&test, file, NULL);
    assert_int_equal(model->clip_count, 1);
    const pelt_clip *clip = &model->clips[0];
    assert_string_equal(clip->name, "test");
    assert_int_equal(clip->frame_count, count);
    assert_int_equal(clip->point_count, 3);
    for (uint32_t k = 0; k < count; k++) {
        float xk = (float)x[k];
        check_floats(&clip->times[k], 1, &(float){(float)times[k]});
        check_frame(&test, model, k, (float[]){xk, 0, 0, xk, 1, 0, xk, 0, 1});
    }
    pelt_model_destroy(model);
    test_end(&test);
}

static void every_sampling(void **state) {
    (void)state;
    static const double x[] = {0, 1, 2, 3};
    build_file file = file_of_mesh((build_spec){.stored_count = 4, .sampling = 1}, &uniform, 1);
    check_motion(&file, x, (double[]){0.5, 0.75, 1, 1.25}, 4);
    free(file.data);
    file = file_of_mesh((build_spec){.stored_count = 4}, NULL, 0); /* identity sampling: one sample per second */
    check_motion(&file, x, (double[]){0, 1, 2, 3}, 4);
    free(file.data);
    const build_times cyclic = {1, (double[]){0.125, 0.25, 0.5}, 3};
    file = file_of_mesh((build_spec){.stored_count = 4, .sampling = 1}, &cyclic, 1);
    check_motion(&file, x, (double[]){0.125, 0.25, 0.5, 1.125}, 4);
    free(file.data);
    const build_times acyclic = {BUILD_ACYCLIC, (double[]){-1, 2, 2.5, 7}, 4};
    file = file_of_mesh((build_spec){.stored_count = 4, .sampling = 1}, &acyclic, 1);
    check_motion(&file, x, (double[]){-1, 2, 2.5, 7}, 4);
    free(file.data);
}

/* Repeated samples at either end are stored once; index fields of all widths. */
static void repeated_samples(void **state) {
    (void)state;
    static const double times[] = {0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25};
    for (uint32_t hint = 0; hint < 3; hint++) {
        build_spec spec = {.sampling = 1, .hint = hint, .sample_count = 8, .stored_count = 3, .first = 3, .last = 4};
        build_file file = file_of_mesh(spec, &uniform, 1);
        check_motion(&file, (double[]){0, 0, 0, 1, 2, 2, 2, 2}, times, 8);
        free(file.data);
        spec = (build_spec){.sampling = 1, .hint = hint, .sample_count = 8, .stored_count = 2, .first = 5, .last = 5};
        file = file_of_mesh(spec, &uniform, 1);
        check_motion(&file, (double[]){0, 0, 0, 0, 0, 1, 1, 1}, times, 8);
        free(file.data);
    }
}

static void doubles(void **state) {
    (void)state;
    double shape[2][9];
    for (int i = 0; i < 18; i++)
        shape[i / 9][i % 9] = (double)shapes[i / 9][i % 9];
    build_sample own[] = {{shape[0], sizeof shape[0]}, {shape[1], sizeof shape[1]}};
    build_file file = file_of_mesh((build_spec){.pod = BUILD_DOUBLE_POD, .samples = own, .stored_count = 2}, NULL, 0);
    check_motion(&file, (double[]){0, 1}, (double[]){0, 1}, 2);
    free(file.data);
}

static void odd_times_are_replaced(void **state) {
    (void)state;
    const build_times bad[] = {{BUILD_ACYCLIC, (double[]){0, 2, 1, 3}, 4},
                               {BUILD_ACYCLIC, (double[]){0, 1}, 2},
                               {0.25, NULL, 0},
                               {-1, start, 1},
                               {NAN, (double[]){0, 0, 0, 0}, 4},
                               {1, (double[]){0, 2}, 2},
                               {1, (double[]){INFINITY}, 1},
                               {1e38, (double[]){3.4e38}, 1}};
    for (size_t i = 0; i < PX_COUNT(bad); i++) {
        test_context test;
        test_begin(&test, 1);
        build_file file = file_of_mesh((build_spec){.stored_count = 4, .sampling = 1}, &bad[i], 1);
        pelt_model *model = load(&test, &file, NULL);
        assert_int_equal(test.warning_count, 1);
        assert_non_null(strstr(test.log, "missing or do not ascend"));
        assert_int_equal(model->clips[0].frame_count, 4);
        check_floats(model->clips[0].times, 4, (float[]){0, 1 / 30.f, 2 / 30.f, 3 / 30.f});
        pelt_model_destroy(model);
        free(file.data);
        test_end(&test);
    }
}

/* ---- Transforms ------------------------------------------------------------------------------------------- */

enum { SCALE, TRANSLATE = 0x10, ROTATE = 0x20, MATRIX = 0x30, ROTATE_X = 0x40, ROTATE_Y = 0x50, ROTATE_Z = 0x60 };

/* One static triangle below one xform with these operations; returns the positions of the model. */
static void check_ops(const uint8_t *ops, size_t op_count, const double *values, size_t value_count,
                      const float wanted[9]) {
    test_context test;
    test_begin(&test, 1);
    build_file file = build_begin();
    uint64_t mesh = add_triangle(&file, (build_spec){.stored_count = 1, .samples = &samples[1]});
    build_spec spec = {.samples = &(build_sample){values, 8 * value_count}, .stored_count = 1};
    uint64_t xform = build_xform(&file, ops, op_count, spec, true);
    xform = build_object(&file, xform, &(build_node){"m", mesh, BUILD_META_MESH, NULL}, 1);
    uint64_t top = build_object(&file, 0, &(build_node){"x", xform, BUILD_META_XFORM, NULL}, 1);
    build_end(&file, top, NULL, 0);
    pelt_model *model = load(&test, &file, NULL);
    check_floats(model->mesh.positions, 9, wanted);
    assert_string_equal(model->mesh.parts[0].name, "x/m");
    assert_int_equal(model->clip_count, 0);
    pelt_model_destroy(model);
    free(file.data);
    test_end(&test);
}
#define CHECK_OPS(ops, values, ...) check_ops(ops, sizeof ops, values, PX_COUNT(values), (const float[9]){__VA_ARGS__})

/* Points (1 0 0), (1 1 0), (1 0 1). */
static void every_operation(void **state) {
    (void)state;
    CHECK_OPS(((const uint8_t[]){TRANSLATE | 3}), ((const double[]){1, 2, 3}), 2, 2, 3, 2, 3, 3, 2, 2, 4);
    CHECK_OPS(((const uint8_t[]){SCALE}), ((const double[]){2, 3, 4}), 2, 0, 0, 2, 3, 0, 2, 0, 4);
    CHECK_OPS(((const uint8_t[]){ROTATE_X}), ((const double[]){90}), 1, 0, 0, 1, 0, 1, 1, -1, 0);
    CHECK_OPS(((const uint8_t[]){ROTATE_Y}), ((const double[]){90}), 0, 0, -1, 0, 1, -1, 1, 0, -1);
    CHECK_OPS(((const uint8_t[]){ROTATE_Z}), ((const double[]){90}), 0, 1, 0, -1, 1, 0, 0, 1, 1);
    CHECK_OPS(((const uint8_t[]){ROTATE}), ((const double[]){0, 0, 5, 90}), 0, 1, 0, -1, 1, 0, 0, 1, 1);
    CHECK_OPS(((const uint8_t[]){ROTATE}), ((const double[]){0, 0, 0, 90}), 1, 0, 0, 1, 1, 0, 1, 0, 1);
    /* the first operation is the outermost */
    CHECK_OPS(((const uint8_t[]){TRANSLATE, ROTATE_Z, SCALE}), ((const double[]){10, 0, 0, 90, 2, 1, 1}), 10, 2, 0, 9,
              2, 0, 10, 2, 1);
    /* Alembic's row-vector convention: the translation is in the last row */
    CHECK_OPS(((const uint8_t[]){MATRIX}), ((const double[]){0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1}), 5, 7, 7,
              4, 7, 7, 5, 7, 8);
}

/* A static mesh: the inner transform rotates it about x and moves it to 100, the outer moves it along y. A second mesh
 * does not inherit transforms. */
static build_file moving_transforms(void) {
    static const double moves[3][3] = {{0, 0, 0}, {0, 10, 0}, {0, 20, 0}}, turned[] = {100, 0, 0, 90},
                        apart[] = {0, 0, 7};
    static const build_sample move_samples[] = {
        {moves[0], sizeof moves[0]}, {moves[1], sizeof moves[1]}, {moves[2], sizeof moves[2]}};
    static const uint8_t translate[] = {TRANSLATE};
    build_file file = build_begin();
    uint64_t mesh = add_triangle(&file, (build_spec){.stored_count = 1});
    build_spec spec = {.samples = &(build_sample){turned, sizeof turned}, .stored_count = 1};
    uint64_t inner = build_xform(&file, (const uint8_t[]){TRANSLATE, ROTATE_X}, 2, spec, true);
    inner = build_object(&file, inner, &(build_node){"m", mesh, BUILD_META_MESH, NULL}, 1);
    spec.samples = &(build_sample){apart, sizeof apart};
    uint64_t alone = build_xform(&file, translate, 1, spec, false);
    alone = build_object(&file, alone, &(build_node){"m", mesh, 0xFF, "a=b;schema=AbcGeom_PolyMesh_v1"}, 1);
    build_spec moving = {.samples = move_samples, .stored_count = 3, .sampling = 1, .kind = BUILD_ARRAY_KIND};
    uint64_t outer = build_xform(&file, translate, 1, moving, true);
    const build_node below[] = {{"inner", inner, BUILD_META_XFORM, NULL}, {"alone", alone, BUILD_META_XFORM, NULL}};
    outer = build_object(&file, outer, below, 2);
    uint64_t top = build_object(&file, 0, &(build_node){"outer", outer, BUILD_META_XFORM, NULL}, 1);
    build_end(&file, top, &uniform, 1);
    return file;
}

static void hierarchy(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    build_file file = moving_transforms();
    pelt_model *model = load(&test, &file, NULL);
    assert_int_equal(model->clip_count, 1);
    assert_int_equal(model->clips[0].frame_count, 3);
    check_floats(model->clips[0].times, 3, (float[]){0.5f, 0.75f, 1});
    for (uint32_t k = 0; k < 3; k++) {
        float y = 10 * (float)k;
        check_frame(&test, model, k, (float[]){100, y, 0, 100, y, 1, 100, y - 1, 0, 0, 0, 7, 0, 1, 7, 0, 0, 8});
    }
    assert_int_equal(model->mesh.part_count, 2);
    assert_string_equal(model->mesh.parts[0].name, "outer/inner/m");
    assert_string_equal(model->mesh.parts[1].name, "outer/alone/m");
    check_uints(model->mesh.triangles, 6, (uint32_t[]){0, 2, 1, 3, 5, 4});
    pelt_model_destroy(model);
    free(file.data);
    test_end(&test);
}

static void objects_are_chosen(void **state) {
    (void)state;
    static const struct {
        const char *object;
        uint32_t parts;
        float x;
    } rows[] = {{"m", 2, 100},           {"outer", 2, 100}, {"/outer/alone", 1, 0},
                {"outer/alone/m", 1, 0}, {"inner", 1, 100}, {"alone", 1, 0}};
    test_context test;
    test_begin(&test, 1);
    build_file file = moving_transforms();
    for (size_t i = 0; i < PX_COUNT(rows); i++) {
        pelt_model *model = load(&test, &file, rows[i].object);
        assert_int_equal(model->mesh.part_count, rows[i].parts);
        check_floats(model->mesh.positions, 1, &rows[i].x);
        pelt_model_destroy(model);
    }
    pelt_model *model;
    test_fails(&test, load_object(test.context, &file, "oute", &model), PELT_ERROR_INPUT,
               "no mesh at or below an object 'oute'; its meshes: outer/inner/m, outer/alone/m");
    test_fails(&test, load_object(test.context, &file, "outer/alone/m/n", &model), PELT_ERROR_INPUT, "no mesh at");
    free(file.data);
    pelt_load_desc desc = pelt_load_desc_default();
    desc.object = "m";
    char folder[1024], path[1100];
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.obj", folder);
    FILE *out = fopen(path, "w");
    fputs("v 0 0 0\n", out);
    fclose(out);
    const char *paths[] = {path};
    test_fails(&test, pelt_load(test.context, paths, 1, &desc, &model), PELT_ERROR_INPUT,
               "has no objects to choose from");
    unlink(path);
    rmdir(folder);
    test_end(&test);
}

/* A mirroring transform: faces and normals still point outwards. */
static void mirrored(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static const float normals[] = {-1, 0, 0, -1, 0, 0, 0, 0, 0};
    static const double mirror[] = {-2, 1, 1};
    build_file file = build_begin();
    build_compound geometry = {0};
    build_geometry(&file, &geometry, (build_spec){.samples = samples, .stored_count = 1}, one_face, face_corners);
    BUILD_ARRAY(&file, &geometry, "N", BUILD_FLOAT_POD, 3, normals, BUILD_META_POINTS);
    uint64_t mesh = build_mesh(&file, &geometry);
    build_spec spec = {.samples = &(build_sample){mirror, sizeof mirror}, .stored_count = 1};
    uint64_t xform = build_xform(&file, (const uint8_t[]){SCALE}, 1, spec, true);
    xform = build_object(&file, xform, &(build_node){"m", mesh, BUILD_META_SUBD, NULL}, 1);
    uint64_t top = build_object(&file, 0, &(build_node){"x", xform, BUILD_META_XFORM, NULL}, 1);
    build_end(&file, top, NULL, 0);
    pelt_model *model = load(&test, &file, NULL);
    check_uints(model->mesh.triangles, 3, (uint32_t[]){0, 1, 2});
    check_floats(model->mesh.normals, 9, (float[]){1, 0, 0, 1, 0, 0, 1, 0, 0});
    assert_non_null(strstr(test.log, "1 normal without direction"));
    assert_non_null(strstr(test.log, "1 subdivision surfaces read as the meshes that control them"));
    pelt_model_destroy(model);
    free(file.data);
    test_end(&test);
}

/* Different samplings: the clip has a frame at every sample time; an object without a sample there is interpolated. */
static void samplings_meet(void **state) {
    (void)state;
    static const double moves[2][3] = {{0, 0, 0}, {0, 8, 0}};
    static const build_sample move_samples[] = {{moves[0], sizeof moves[0]}, {moves[1], sizeof moves[1]}};
    const build_times times[] = {{0.5, (double[]){0}, 1}, {BUILD_ACYCLIC, (double[]){0.25, 1.25}, 2}};
    test_context test;
    test_begin(&test, 1);
    build_file file = build_begin();
    uint64_t mesh = add_triangle(&file, (build_spec){.stored_count = 3, .sampling = 1});
    build_spec spec = {.samples = move_samples, .stored_count = 2, .sampling = 2};
    uint64_t xform = build_xform(&file, (const uint8_t[]){TRANSLATE}, 1, spec, true);
    xform = build_object(&file, xform, &(build_node){"m", mesh, BUILD_META_MESH, NULL}, 1);
    uint64_t top = build_object(&file, 0, &(build_node){"x", xform, BUILD_META_XFORM, NULL}, 1);
    build_end(&file, top, times, 2);
    pelt_model *model = load(&test, &file, NULL);
    assert_int_equal(model->clips[0].frame_count, 5);
    check_floats(model->clips[0].times, 5, (float[]){0, 0.25f, 0.5f, 1, 1.25f});
    static const float xs[] = {0, 0.5f, 1, 2, 2}, ys[] = {0, 0, 2, 6, 8};
    for (uint32_t k = 0; k < 5; k++)
        check_frame(&test, model, k, (float[]){xs[k], ys[k], 0, xs[k], ys[k] + 1, 0, xs[k], ys[k], 1});
    pelt_model_destroy(model);
    free(file.data);
    test_end(&test);
}

/* ---- Faces, texture coordinates, normals ------------------------------------------------------------------ */

/* A quad and a triangle with texture coordinates by corner and index and normals by corner. */
static build_file file_of_corners(uint32_t bad_index) {
    static const float points[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, 0};
    static const float uvs[] = {0, 0, 1, 0, 1, 1, 0, NAN};
    static const float normals[27] = {0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0};
    static const int32_t counts[] = {4, 2, 3}, indices[] = {0, 3, 2, 1, 0, 1, 1, 2, 4};
    const uint32_t uv_indices[] = {0, 3, 2, 1, 0, 0, 0, bad_index, 2};
    build_file file = build_begin();
    build_compound geometry = {0}, uv = {0};
    const build_sample position = {points, sizeof points}, normal = {normals, sizeof normals};
    build_geometry(&file, &geometry, (build_spec){.samples = &position, .stored_count = 1},
                   (build_sample){counts, sizeof counts}, (build_sample){indices, sizeof indices});
    BUILD_ARRAY(&file, &uv, ".vals", BUILD_FLOAT_POD, 2, uvs, 0);
    BUILD_ARRAY(&file, &uv, ".indices", BUILD_UINT_POD, 1, uv_indices, 0);
    build_spec spec = {.name = "uv", .place = build_end_compound(&file, &uv), .metadata = BUILD_META_CORNERS};
    build_add(&file, &geometry, &spec);
    spec = (build_spec){.name = "N", .kind = BUILD_ARRAY_KIND, .pod = BUILD_FLOAT_POD, .extent = 3, .samples = &normal};
    spec.stored_count = 1;
    spec.metadata = 0xFF;
    spec.text = "geoScope=fvr";
    build_add(&file, &geometry, &spec);
    uint64_t mesh = build_mesh(&file, &geometry);
    const build_node nodes[] = {{"camera", 0, BUILD_META_OTHER, NULL}, {"m", mesh, BUILD_META_MESH, NULL}};
    build_end(&file, build_object(&file, 0, nodes, 2), NULL, 0);
    return file;
}

static void corners_have_their_own(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    build_file file = file_of_corners(1);
    pelt_model *model = load(&test, &file, NULL);
    const pelt_mesh *mesh = &model->mesh;
    assert_int_equal(mesh->points.count, 5);
    assert_int_equal(mesh->vertex_count, 7);
    assert_int_equal(mesh->polygon_count, 2);
    check_uints(mesh->triangle_polygons, 3, (uint32_t[]){0, 0, 1});
    /* 0 3 2 1 reversed is 0 1 2 3; 1 2 4 becomes 1 4 2, where corners 1 and 2 have other attributes than in the quad */
    check_uints(mesh->triangles, 9, (uint32_t[]){0, 1, 2, 0, 2, 3, 5, 4, 6});
    check_uints(mesh->points.of, 7, (uint32_t[]){0, 1, 2, 3, 4, 1, 2});
    check_floats(mesh->uvs, 14, (float[]){0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0});
    check_floats(mesh->normals, 21, (float[]){0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0});
    assert_non_null(strstr(test.log, "1 face of fewer than 3 corners"));
    assert_non_null(strstr(test.log, "1 texture coordinate not finite"));
    assert_non_null(strstr(test.log, "1 objects that are no meshes or transforms left out"));
    pelt_model_destroy(model);
    free(file.data);
    test_end(&test);
    file = file_of_corners(4);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "corner 7 uses texture coordinate or normal 4 of 4");
}

/* ---- Rejected files --------------------------------------------------------------------------------------- */

static build_file file_of_faces(const int32_t *counts, size_t face_count, const int32_t *indices, size_t corner_count) {
    build_file file = build_begin();
    build_compound geometry = {0};
    build_geometry(&file, &geometry, (build_spec){.samples = samples, .stored_count = 1},
                   (build_sample){counts, 4 * face_count}, (build_sample){indices, 4 * corner_count});
    end_with_mesh(&file, build_mesh(&file, &geometry), NULL, 0);
    return file;
}

static void changing_topology(void **state) {
    (void)state;
    const build_sample fewer[] = {{shapes[0], 36}, {shapes[1], 36}, {shapes[2], 24}};
    build_file file = file_of_mesh((build_spec){.samples = fewer, .stored_count = 3}, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_UNSUPPORTED,
                "object 'm' changes its topology: it has 3 points at first and 2 later (sample 2)");
    static const int32_t other[] = {0, 2, 1};
    for (int same = 0; same < 2; same++) {
        const build_sample faces[] = {{corners, 12}, {same ? corners : other, 12}};
        build_compound geometry = {0};
        build_spec spec = {.name = "P", .kind = BUILD_ARRAY_KIND, .pod = BUILD_FLOAT_POD, .extent = 3};
        spec.samples = samples;
        spec.stored_count = 2;
        file = build_begin();
        build_add(&file, &geometry, &spec);
        spec = (build_spec){.name = ".faceIndices", .kind = BUILD_ARRAY_KIND, .pod = BUILD_INT_POD, .extent = 1};
        spec.samples = faces;
        spec.stored_count = 2;
        build_add(&file, &geometry, &spec);
        BUILD_ARRAY(&file, &geometry, ".faceCounts", BUILD_INT_POD, 1, three, 0);
        end_with_mesh(&file, build_mesh(&file, &geometry), NULL, 0);
        if (same) {
            check_motion(&file, (double[]){0, 1}, (double[]){0, 1}, 2);
            free(file.data);
        } else {
            check_fails(&file, NULL, PELT_ERROR_UNSUPPORTED,
                        "its faces are others in sample 1 than in the first; export it with the same points and faces");
        }
    }
}

static void refused(void **state) {
    (void)state;
    build_file file = build_begin();
    build_put(&file, "", 0);
    memcpy(file.data, "\x89HDF\r\n\x1A\n", 8);
    check_fails(&file, NULL, PELT_ERROR_UNSUPPORTED, "is in HDF5, as old Alembic files are; export it again as Ogawa");
    file = file_of_faces(three, 1, corners, 3);
    file.data[5] = 0;
    check_fails(&file, NULL, PELT_ERROR_INPUT, "was never closed");
    file = file_of_faces(three, 1, corners, 3);
    file.data[7] = 2;
    check_fails(&file, NULL, PELT_ERROR_UNSUPPORTED, "is Ogawa version 2");
    file = file_of_faces((const int32_t[]){4}, 1, corners, 3);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "its faces have 4 corners, but it lists 3");
    file = file_of_faces((const int32_t[]){-1, 4}, 2, corners, 3);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "its faces have 4294967299 corners, but it lists 3");
    file = file_of_faces(three, 1, (const int32_t[]){0, 1, 3}, 3);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "object 'm': a face uses point 3 of 3");
    file = file_of_faces(three, 1, (const int32_t[]){0, 1, -1}, 3);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "a face uses point 4294967295 of 3");
    file = build_begin();
    build_end(&file, build_object(&file, 0, NULL, 0), NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "holds no mesh with positions");
    file = file_of_mesh((build_spec){.stored_count = 2, .sampling = 3}, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "a time sampling that does not exist");
    file = file_of_mesh((build_spec){.stored_count = 2, .sample_count = 4, .first = 1, .last = 3}, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "a property of 4 samples holds 4");
    file = file_of_mesh((build_spec){.stored_count = 2, .sample_count = 2, .first = 1, .last = 2}, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "first and last changes make no sense");
    static const float nan_shape[9] = {NAN};
    file = file_of_mesh((build_spec){.samples = &(build_sample){nan_shape, 36}, .stored_count = 1}, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "not finite");
}

/* ---- Malicious files -------------------------------------------------------------------------------------- */

static void hostile_counts(void **state) {
    (void)state;
    build_spec many = {.stored_count = 2, .sample_count = 4000000000u, .first = 1, .last = 1, .hint = 2};
    build_file file = file_of_mesh(many, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_UNSUPPORTED, "has 4000000000 frames; 1048576 are the most that are read");
    many = (build_spec){.stored_count = 2, .sample_count = 4000000000u, .first = 1, .last = 3999999999u, .hint = 2};
    file = file_of_mesh(many, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "a property of 4000000000 samples holds 4");
    file = file_of_faces(three, 1, corners, 3);
    build_patch(&file, 8, UINT64_MAX >> 1);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "is cut off or damaged: it refers to byte 9223372036854775807");
    file = file_of_faces(three, 1, corners, 3);
    build_patch(&file, (size_t)px_load_u64(file.data + 8), UINT64_C(1) << 61);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "has 2305843009213693952 children");
}

/* An object that contains itself once recurses in depth; twice or more, in width. Both are rejected early. */
static void hostile_groups(void **state) {
    (void)state;
    for (size_t width = 1; width <= 3; width++) {
        build_file file = build_begin();
        build_node nodes[3];
        for (size_t i = 0; i < width; i++)
            nodes[i] = (build_node){"again", 16, BUILD_META_NONE, NULL};
        uint64_t self = build_object(&file, 0, nodes, width);
        for (size_t i = 0; i < width; i++)
            build_patch(&file, (size_t)self + 8 + 8 * (i + 1), self);
        build_end(&file, self, NULL, 0);
        check_fails(&file, NULL, PELT_ERROR_INPUT,
                    width == 1 ? "its objects are more than 256 deep"
                               : "its groups contain each other again and again");
    }
    build_file file = build_begin(); /* 40 levels, each with two references to the same child: 2^40 objects */
    uint64_t place = build_object(&file, 0, NULL, 0);
    for (int level = 0; level < 40; level++) {
        const build_node both[] = {{"a", place, BUILD_META_NONE, NULL}, {"b", place, BUILD_META_NONE, NULL}};
        place = build_object(&file, 0, both, 2);
    }
    build_end(&file, place, NULL, 0);
    check_fails(&file, NULL, PELT_ERROR_INPUT, "its groups contain each other again and again");
}

/* 1,200 objects that share one mesh of 300,000 corners. */
static void hostile_sharing(void **state) {
    (void)state;
    enum { COPIES = 1200, CORNERS = 300000 };
    int32_t *indices = calloc(CORNERS, sizeof *indices), *counts = calloc(CORNERS / 3, sizeof *counts);
    build_node *nodes = calloc(COPIES, sizeof *nodes);
    for (size_t f = 0; f < CORNERS / 3; f++)
        counts[f] = 3;
    build_file file = file_of_faces(counts, CORNERS / 3, indices, CORNERS);
    uint64_t root = px_load_u64(file.data + 8), top = px_load_u64(file.data + root + 8 + 16);
    uint64_t mesh = px_load_u64(file.data + top + 16);
    for (size_t i = 0; i < COPIES; i++)
        nodes[i] = (build_node){"copy", mesh, BUILD_META_MESH, NULL};
    top = build_object(&file, 0, nodes, COPIES);
    build_patch(&file, (size_t)root + 8 + 16, top);
    check_fails(&file, NULL, PELT_ERROR_UNSUPPORTED, "has objects that share so much data");
    free(nodes);
    free(counts);
    free(indices);
}

static void cut_everywhere(void **state) {
    (void)state;
    build_file files[] = {moving_transforms(), file_of_corners(1)};
    for (size_t f = 0; f < PX_COUNT(files); f++) {
        for (size_t cut = 0; cut < files[f].size; cut++) {
            test_context test;
            test_begin(&test, 1);
            uint8_t *exact = malloc(cut + (cut == 0));
            memcpy(exact, files[f].data, cut);
            pelt_model *model;
            pelt_result result = pelt_load_memory(test.context, exact, cut, "cut.abc", NULL, &model);
            assert_int_equal(result, PELT_ERROR_INPUT);
            assert_true(pelt_error_text(test.context)[0] != 0);
            free(exact);
            test_end(&test);
        }
        free(files[f].data);
    }
}

/* With any byte changed, loading succeeds with a usable model or fails with an error message. */
static void every_byte_changed(void **state) {
    (void)state;
    build_file files[] = {moving_transforms(), file_of_corners(1)};
    static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
    test_context test;
    test_begin(&test, 1);
    for (size_t f = 0; f < PX_COUNT(files); f++) {
        for (size_t at = 0; at < files[f].size; at++)
            for (size_t v = 0; v < PX_COUNT(values); v++) {
                uint8_t before = files[f].data[at];
                files[f].data[at] = values[v];
                pelt_model *model;
                pelt_result result = load_object(test.context, &files[f], NULL, &model);
                assert_true(result == PELT_OK || pelt_error_text(test.context)[0] != 0);
                for (uint32_t k = 0; model && model->clip_count && k < model->clips[0].frame_count && k < 4; k++) {
                    float out[3];
                    test_ok(&test, pelt_clip_read(test.context, &model->clips[0], k, 0, 1, out));
                }
                pelt_model_destroy(model);
                files[f].data[at] = before;
            }
        free(files[f].data);
    }
    test_end(&test);
}

static pelt_result load_and_drop(pelt_context *context, void *user) {
    pelt_model *model;
    pelt_result result = load_object(context, user, NULL, &model);
    pelt_model_destroy(model);
    return result;
}

static void no_memory(void **state) {
    (void)state;
    build_file files[] = {moving_transforms(), file_of_corners(1)};
    for (size_t f = 0; f < PX_COUNT(files); f++) {
        test_fail_each_allocation(1, load_and_drop, &files[f]);
        free(files[f].data);
    }
}

/* ---- A real file ------------------------------------------------------------------------------------------ */

/* The bounding box of all objects at every sample (.childBnds), which the exporter stored in the file. */
static void open_boxes(test_context *test, px_arena *arena, const px_file *file, abc_archive *archive,
                       abc_property *boxes) {
    uint64_t top;
    abc_compound properties;
    bool found;
    *archive = (abc_archive){.context = test->context, .file = {test->context, file->data, file->size}};
    test_ok(test, px_abc_open(arena, archive, &top));
    test_ok(test, px_abc_properties(archive, top, &properties));
    test_ok(test, px_abc_find(archive, &properties, ".childBnds", boxes, &found));
    assert_true(found);
}

static double signed_volume(const pelt_mesh *mesh) {
    double sum = 0;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const float *p[3];
        for (size_t c = 0; c < 3; c++)
            p[c] = mesh->positions + 3 * (size_t)mesh->triangles[3 * t + c];
        for (int i = 0, j = 1, k = 2; i < 3; i++, j = (j + 1) % 3, k = (k + 1) % 3)
            sum += (double)p[0][i] * ((double)p[1][j] * (double)p[2][k] - (double)p[1][k] * (double)p[2][j]);
    }
    return sum / 6;
}

static void real_file(void **state) {
    (void)state;
    char path[1024];
    test_data(path, "anim-dembones/data/Bone_Anim.abc");
    test_context test;
    test_begin(&test, 2);
    const char *paths[] = {path};
    pelt_model *model;
    test_ok(&test, pelt_load(test.context, paths, 1, NULL, &model));
    const pelt_clip *clip = &model->clips[0];
    assert_int_equal(model->mesh.points.count, 754);
    assert_int_equal(model->mesh.polygon_count, 752);
    assert_int_equal(model->mesh.triangle_count, 1504);
    assert_int_equal(model->clip_count, 1);
    assert_int_equal(clip->frame_count, 400);
    check_floats(clip->times, 1, &(float){1 / 24.f});
    check_floats(clip->times + 399, 1, &(float){400 / 24.f});
    assert_true(signed_volume(&model->mesh) > 0);
    px_arena *arena = px_arena_create(test.context);
    abc_archive *archive = malloc(sizeof *archive);
    px_file file;
    abc_property boxes;
    test_ok(&test, px_file_open(arena, path, &file));
    open_boxes(&test, arena, &file, archive, &boxes);
    assert_int_equal(boxes.sample_count, 400);
    float frame[754 * 3], last[754 * 3];
    double fastest = 0;
    for (uint32_t k = 0; k < 400; k++) {
        test_ok(&test, pelt_clip_read(test.context, clip, k, 0, 754, frame));
        ogawa_data box;
        test_ok(&test, px_abc_sample(&archive->file, &boxes, k, &box));
        for (size_t c = 0; c < 6; c++) {
            double extreme = c < 3 ? INFINITY : -INFINITY;
            for (size_t i = 0; i < 754; i++)
                extreme =
                    c < 3 ? fmin(extreme, (double)frame[3 * i + c % 3]) : fmax(extreme, (double)frame[3 * i + c % 3]);
            double wanted = px_double_from_bits(px_load_u64(box.bytes + 8 * c));
            if (fabs(extreme - wanted) > 1e-6)
                fail_msg("frame %u: side %zu of the box is at %g, should be at %g", k, c, extreme, wanted);
        }
        for (size_t i = 0; k && i < 754 * 3; i++)
            fastest = fmax(fastest, fabs((double)frame[i] - (double)last[i]));
        memcpy(last, frame, sizeof last);
    }
    assert_true(fastest > 0.01 && fastest < 0.5); /* size 3.7: vertices move, without jumps */
    free(archive);
    px_arena_destroy(arena);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant),
        cmocka_unit_test(every_sampling),
        cmocka_unit_test(repeated_samples),
        cmocka_unit_test(doubles),
        cmocka_unit_test(odd_times_are_replaced),
        cmocka_unit_test(every_operation),
        cmocka_unit_test(hierarchy),
        cmocka_unit_test(objects_are_chosen),
        cmocka_unit_test(mirrored),
        cmocka_unit_test(samplings_meet),
        cmocka_unit_test(corners_have_their_own),
        cmocka_unit_test(changing_topology),
        cmocka_unit_test(refused),
        cmocka_unit_test(hostile_counts),
        cmocka_unit_test(hostile_groups),
        cmocka_unit_test(hostile_sharing),
        cmocka_unit_test(cut_everywhere),
        cmocka_unit_test(every_byte_changed),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(real_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
