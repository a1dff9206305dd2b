/* Alembic writer: what is read back equals what was written (positions, faces, texture coordinates, normals, times,
 * names), repeated samples, evenly and unevenly spaced frames, keys and hashes as the reference library has them; real
 * files from file to file. Failing allocations and files cut off: test_failing.c. */
#include "support.h"

#include "io/abc_write.h"

#include <math.h>

/* ---- Helpers ---------------------------------------------------------------------------------------------- */

typedef struct written {
    px_buffer bytes;
    pelt_model *model; /* read from the bytes */
} written;

static written write_and_read(test_context *test, const pelt_model *model, const pelt_save_desc *desc) {
    written out = {.bytes.context = test->context};
    test_ok(test, px_save_memory(test->context, model, "folder/clip.abc", desc, &out.bytes));
    test_ok(test, pelt_load_memory(test->context, out.bytes.data, out.bytes.size, "clip.abc", NULL, &out.model));
    assert_string_equal(out.model->format, "Alembic");
    return out;
}

static void end_written(written *out) {
    pelt_model_destroy(out->model);
    px_buffer_free(&out->bytes);
}

static void check_same(const char *what, const void *a, const void *b, size_t size) {
    if ((a == NULL) != (b == NULL) || (a && memcmp(a, b, size) != 0))
        fail_msg("%s differ", what);
}

/* Normals turn by 0 at rest, but are normalized when read: the last bit may differ. */
static void check_near(const char *what, const float *a, const float *b, size_t count) {
    if ((a == NULL) != (b == NULL))
        fail_msg("one has no %s", what);
    for (size_t i = 0; a && i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 2e-7f))
            fail_msg("%s: number %zu is %.9g, should be %.9g", what, i, (double)b[i], (double)a[i]);
}

static void check_clip(test_context *test, const pelt_clip *a, const pelt_clip *b) {
    assert_int_equal(a->frame_count, b->frame_count);
    assert_int_equal(a->point_count, b->point_count);
    float *left = malloc((size_t)12 * a->point_count), *right = malloc((size_t)12 * a->point_count);
    for (uint32_t k = 0; k < a->frame_count; k++) {
        assert_true(fabsf(a->times[k] - b->times[k]) <= 2e-7f * fabsf(a->times[k]));
        test_ok(test, pelt_clip_read(test->context, a, k, 0, a->point_count, left));
        test_ok(test, pelt_clip_read(test->context, b, k, 0, a->point_count, right));
        check_same("positions of a frame", left, right, (size_t)12 * a->point_count);
    }
    free(left);
    free(right);
}

/* Compares all that the format holds. */
static void check_model(test_context *test, const pelt_model *a, const pelt_model *b) {
    const pelt_mesh *left = &a->mesh, *right = &b->mesh;
    assert_int_equal(left->vertex_count, right->vertex_count);
    assert_int_equal(left->triangle_count, right->triangle_count);
    assert_int_equal(left->polygon_count, right->polygon_count);
    assert_int_equal(left->points.count, right->points.count);
    check_same("triangles", left->triangles, right->triangles, (size_t)12 * left->triangle_count);
    check_same("polygons", left->triangle_polygons, right->triangle_polygons, (size_t)4 * left->triangle_count);
    check_same("points", left->points.of, right->points.of, (size_t)4 * left->vertex_count);
    check_same("positions", left->positions, right->positions, (size_t)12 * left->vertex_count);
    check_same("texture coordinates", left->uvs, right->uvs, (size_t)8 * left->vertex_count);
    check_near("normals", left->normals, right->normals, (size_t)3 * left->vertex_count);
    assert_int_equal(a->clip_count, b->clip_count);
    if (a->clip_count)
        check_clip(test, &a->clips[0], &b->clips[0]);
}

static pelt_model *load_text(test_context *test, const char *text, const char *name) {
    pelt_model *model;
    test_ok(test, pelt_load_memory(test->context, text, strlen(text), name, NULL, &model));
    return model;
}

/* Adds a clip of the mesh's points, [frame][point][3]. */
static void add_clip(test_context *test, pelt_model *model, const float *times, uint32_t frame_count,
                     const float *positions) {
    pelt_clip *clip = pelt_model_alloc(test->context, model, 1, sizeof *clip);
    *clip = (pelt_clip){.name = "move",
                        .frame_count = frame_count,
                        .point_count = model->mesh.points.count,
                        .times = times,
                        .positions = positions};
    model->clips = clip;
    model->clip_count = 1;
}

/* The archive in memory, and a property of the object with this path. */
typedef struct opened {
    px_arena *arena;
    abc_archive archive;
    abc_object object;
    abc_compound geometry;
} opened;

static opened *open_object(test_context *test, const px_buffer *bytes, const char *path) {
    opened *o = calloc(1, sizeof *o);
    o->arena = px_arena_create(test->context);
    o->archive =
        (abc_archive){.context = test->context, .file = {test->context, (const uint8_t *)bytes->data, bytes->size}};
    uint64_t place;
    test_ok(test, px_abc_open(o->arena, &o->archive, &place));
    for (bool last = false; path && !last; path += strcspn(path, "/") + !last) {
        size_t size = strcspn(path, "/");
        abc_cursor cursor;
        bool found = true, here = false;
        last = path[size] == 0;
        test_ok(test, px_abc_children(&o->archive, place, &cursor));
        while (found && !here) {
            test_ok(test, px_abc_next_child(&o->archive, &cursor, &o->object, &found));
            here = found && o->object.name.size == size && memcmp(o->object.name.data, path, size) == 0;
        }
        if (!here)
            fail_msg("there is no object %s", path);
        place = o->object.place;
        if (last)
            break;
    }
    return o;
}

static abc_property find(test_context *test, opened *o, const char *schema, const char *compound, const char *name) {
    abc_compound properties;
    abc_property property;
    bool found;
    test_ok(test, px_abc_properties(&o->archive, o->object.place, &properties));
    test_ok(test, px_abc_find(&o->archive, &properties, schema, &property, &found));
    assert_true(found);
    test_ok(test, px_abc_compound(&o->archive, &property, &o->geometry));
    if (compound) {
        test_ok(test, px_abc_find(&o->archive, &o->geometry, compound, &property, &found));
        assert_true(found);
        test_ok(test, px_abc_compound(&o->archive, &property, &o->geometry));
    }
    test_ok(test, px_abc_find(&o->archive, &o->geometry, name, &property, &found));
    assert_true(found);
    return property;
}

static void end_object(opened *o) {
    px_arena_destroy(o->arena);
    free(o);
}

/* ---- Round trips ------------------------------------------------------------------------------------------ */

/* Quads and triangles, two objects, texture coordinates and normals by corner, a point without a face. */
static const char two_objects[] =
    "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 1\nv 9 9 9\nv 5 0 0\nv 6 0 0\nv 5 1 0\n"
    "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt 0.5 0.25\n"
    "vn 0 0 1\nvn 1 0 0\nvn 0 0.6 0.8\n"
    "o left\nusemtl red\nf 1/1/1 2/2/1 3/3/1 4/4/1\nusemtl blue\nf 3/5/2 2/1/2 5/2/3\no right\nf 7/1/1 8/2/1 9/3/1\n";

static void meshes(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load_text(&test, two_objects, "a.obj");
    written out = write_and_read(&test, model, NULL);
    check_model(&test, model, out.model);
    assert_int_equal(out.model->clip_count, 0);
    assert_int_equal(out.model->mesh.part_count, 2);
    assert_string_equal(out.model->mesh.parts[0].name, "left/leftShape");
    assert_string_equal(out.model->mesh.parts[1].name, "right/rightShape");
    assert_int_equal(out.model->mesh.parts[1].triangle_count, 1);
    opened *o = open_object(&test, &out.bytes, "left/leftShape/blue"); /* materials are sets of faces */
    abc_property faces = find(&test, o, ".faceset", NULL, ".faces");
    ogawa_data data;
    test_ok(&test, px_abc_sample(&o->archive.file, &faces, 0, &data));
    assert_int_equal(data.size, 4);
    assert_int_equal(px_load_u32(data.bytes), 1); /* the second face */
    end_object(o);
    written again = write_and_read(&test, out.model, NULL); /* an Alembic file keeps its paths */
    check_model(&test, model, again.model);
    assert_string_equal(again.model->mesh.parts[0].name, "left/leftShape");
    end_written(&again);
    end_written(&out);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Objects that share points stay one; names that other programs could not read are changed. */
static void names(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static const char shared[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\no a\nf 1 2 3\no b\nf 1 3 4\n";
    pelt_model *model = load_text(&test, shared, "a.obj");
    written out = write_and_read(&test, model, NULL);
    check_model(&test, model, out.model);
    assert_int_equal(out.model->mesh.part_count, 1);
    assert_string_equal(out.model->mesh.parts[0].name, "clip/clipShape");
    end_object(open_object(&test, &out.bytes, "clip/clipShape/b"));
    end_written(&out);
    pelt_model_destroy(model);
    static const char twice[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 2 0 0\nv 3 0 0\nv 3 1 0\nv 4 0 0\nv 5 0 0\nv 5 1 0\n"
                                "o a/b\nf 1 2 3\no c\nf 4 5 6\no a/b\nf 7 8 9\n";
    model = load_text(&test, twice, "a.obj");
    out = write_and_read(&test, model, NULL);
    assert_int_equal(out.model->mesh.part_count, 3);
    assert_string_equal(out.model->mesh.parts[0].name, "a_b/a_bShape");
    assert_true(strcmp(out.model->mesh.parts[2].name, "a_b/a_bShape") != 0);
    end_written(&out);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A triangle and another that stands still. */
static const char pair[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 0 0\nv 6 0 0\nv 5 1 0\nvn 0 0 1\n"
                           "o a\nf 1//1 2//1 3//1\no b\nf 4//1 5//1 6//1\n";

static void clips(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load_text(&test, pair, "a.obj");
    enum { FRAMES = 300 }; /* numbers of two bytes in headers */
    static float positions[FRAMES][18], times[FRAMES];
    for (size_t k = 0; k < FRAMES; k++) {
        size_t moment = k < 10 ? 10 : k > 200 ? 200 : k; /* stands still, moves, stands still */
        times[k] = (float)((double)(k + 7) / 25);
        for (size_t i = 0; i < 18; i++)
            positions[k][i] = model->mesh.positions[i] + (i < 9 ? 0.25f * (float)(moment - 10) : 0);
    }
    add_clip(&test, model, times, FRAMES, positions[0]);
    written out = write_and_read(&test, model, NULL);
    check_model(&test, model, out.model);
    opened *o = open_object(&test, &out.bytes, "a/aShape");
    abc_property moving = find(&test, o, ".geom", NULL, "P");
    assert_int_equal(moving.sample_count, FRAMES);
    assert_int_equal(moving.first, 11);
    assert_int_equal(moving.last, 200);
    abc_property box = find(&test, o, ".geom", NULL, ".selfBnds");
    ogawa_data data;
    test_ok(&test, px_abc_sample(&o->archive.file, &box, 14, &data));
    assert_true(px_double_from_bits(px_load_u64(data.bytes)) == 1 &&
                px_double_from_bits(px_load_u64(data.bytes + 24)) == 2);
    assert_int_equal(o->archive.sampling_count, 2);
    assert_true(o->archive.samplings[1].period == 1.0 / 25); /* not that of the rounded times */
    assert_true(px_abc_time(&o->archive.samplings[1], 0) == 7.0 / 25);
    end_object(o);
    o = open_object(&test, &out.bytes, "b/bShape");
    abc_property still = find(&test, o, ".geom", NULL, "P");
    assert_int_equal(still.sample_count, FRAMES);
    assert_true(px_abc_is_constant(&still));
    end_object(o);
    end_written(&out);
    pelt_model_destroy(model);
    test_end(&test);
}

static void times_of_frames(void **state) {
    (void)state;
    static const struct {
        float times[4];
        double period; /* 0: each frame has its own time */
    } rows[] = {
        {{0, 1 / 24.f, 2 / 24.f, 3 / 24.f}, 1.0 / 24},
        {{0, 1001 / 24000.f, 2002 / 24000.f, 3003 / 24000.f}, 1001.0 / 24000},
        {{100, 100.0333333f, 100.0666667f, 100.1f}, 1.0 / 30},
        {{-0.5f, 0, 0.5f, 1}, 0.5},
        {{0, 3, 6, 9}, 3},
        {{0, 0.1f, 0.2f, 0.4f}, 0},
        {{0, 0.1f, 0.2f, 0.3005f}, 0},
    };
    test_context test;
    test_begin(&test, 1);
    for (size_t r = 0; r < PX_COUNT(rows); r++) {
        pelt_model *model = load_text(&test, pair, "a.obj");
        float positions[4][18];
        for (size_t i = 0; i < 72; i++)
            positions[i / 18][i % 18] = (float)i;
        add_clip(&test, model, rows[r].times, 4, positions[0]);
        written out = write_and_read(&test, model, NULL);
        check_clip(&test, &model->clips[0], &out.model->clips[0]);
        opened *o = open_object(&test, &out.bytes, NULL);
        const abc_sampling *sampling = &o->archive.samplings[1];
        assert_int_equal(sampling->acyclic, rows[r].period == 0);
        assert_int_equal(sampling->count, rows[r].period == 0 ? 4 : 1);
        if (rows[r].period > 0)
            assert_true(fabs(sampling->period - rows[r].period) <= 1e-15 * rows[r].period);
        end_object(o);
        end_written(&out);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* Normals turn with the faces, by 90 degrees about x here; edited normals keep their tilt; hard edges stay. */
static void normals_follow(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    static const char roof[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 -1\nvn 0 0 1\nvn 0 0.6 0.8\nvn -1 0 0\n"
                               "o a\nf 1//1 2//2 3//1\nf 1//3 3//3 4//3\n";
    pelt_model *model = load_text(&test, roof, "a.obj");
    float positions[2][12];
    for (size_t p = 0; p < 4; p++) {
        const float *rest = model->mesh.positions + (size_t)3 * pelt_class_vertex(&model->mesh.points, p);
        memcpy(positions[0] + 3 * p, rest, 12);
        memcpy(positions[1] + 3 * p, (float[]){rest[0] + 7, -rest[2], rest[1]}, 12);
    }
    add_clip(&test, model, (const float[]){0, 1}, 2, positions[0]);
    written out = write_and_read(&test, model, NULL);
    check_model(&test, model, out.model);
    opened *o = open_object(&test, &out.bytes, "a/aShape");
    abc_property values = find(&test, o, ".geom", "N", ".vals"), indices = find(&test, o, ".geom", "N", ".indices");
    ogawa_data data, index;
    test_ok(&test, px_abc_sample(&o->archive.file, &values, 1, &data));
    test_ok(&test, px_abc_sample(&o->archive.file, &indices, 1, &index));
    static const float wanted[6][3] = {{0, -1, 0}, {0, -1, 0}, {0, -0.8f, 0.6f}, {-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}};
    assert_int_equal(index.size, 24);
    for (size_t c = 0; c < 6; c++) { /* corners in Alembic's order: 1 3 2, 1 4 3 */
        uint32_t at = px_load_u32(index.bytes + 4 * c);
        for (size_t i = 0; i < 3; i++) {
            float n = px_float_from_bits(px_load_u32(data.bytes + 12 * (size_t)at + 4 * i));
            if (!(fabsf(n - wanted[c][i]) < 1e-6f))
                fail_msg("corner %zu: %g, should be %g", c, (double)n, (double)wanted[c][i]);
        }
    }
    end_object(o);
    end_written(&out);
    pelt_model_destroy(model);
    test_end(&test);
}

static void choices(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = load_text(&test, pair, "a.obj");
    float positions[2][18] = {{0}};
    add_clip(&test, model, (const float[]){0, 1}, 2, positions[0]);
    px_buffer bytes = {.context = test.context};
    pelt_save_desc desc = pelt_save_desc_default();
    desc.clip = 1;
    test_fails(&test, px_save_memory(test.context, model, "a.abc", &desc, &bytes), PELT_ERROR_USAGE,
               "there is no clip 1, only 1");
    desc.clip = 0;
    desc.skip_clips = true;
    written out = write_and_read(&test, model, &desc);
    assert_int_equal(out.model->clip_count, 0);
    check_same("positions", model->mesh.positions, out.model->mesh.positions, 72);
    end_written(&out);
    px_buffer_free(&bytes);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- The reference library -------------------------------------------------------------------------------- */

/* Keys of samples in files of the reference library. */
static void keys(void **state) {
    (void)state;
    static const struct {
        uint8_t bytes[24];
        size_t size;
        uint8_t key[16];
    } rows[] = {
        {{1}, 1, {0x16, 0xFE, 0x74, 0x83, 0x90, 0x5C, 0xCE, 0x7A, 0x85, 0x67, 0x0E, 0x43, 0xE4, 0x67, 0x88, 0x77}},
        {{0, 0, 0, 0, 3, 0, 0, 0},
         8,
         {0x47, 0x1E, 0x3B, 0x80, 0x21, 0xDA, 0x49, 0x2E, 0xBE, 0xF0, 0xB7, 0x0D, 0x45, 0xE2, 0xA0, 0x91}},
        {{[22] = 0x14, [23] = 0x40},
         24,
         {0xC2, 0x65, 0xC8, 0xFD, 0xC5, 0x81, 0x4F, 0x58, 0x13, 0xFF, 0x2F, 0x2F, 0x26, 0x02, 0x71, 0xFE}},
    };
    for (size_t r = 0; r < PX_COUNT(rows); r++) {
        uint8_t key[16];
        px_ogawa_key(rows[r].bytes, rows[r].size, key);
        assert_memory_equal(key, rows[r].key, 16);
    }
}

/* All keys of the positions of the first object are those that the library wrote. */
static void check_keys(test_context *test, const px_file *file, const px_buffer *bytes, const char *name) {
    const px_buffer original = {.data = (char *)(uintptr_t)file->data, .size = file->size};
    opened *a = open_object(test, &original, name), *b = open_object(test, bytes, name);
    abc_property left = find(test, a, ".geom", NULL, "P"), right = find(test, b, ".geom", NULL, "P");
    assert_int_equal(left.sample_count, right.sample_count);
    assert_int_equal(left.first, right.first);
    assert_int_equal(left.last, right.last);
    for (uint32_t k = 0; k < left.sample_count; k++) {
        ogawa_data old, new;
        test_ok(test, px_abc_sample(&a->archive.file, &left, k, &old));
        test_ok(test, px_abc_sample(&b->archive.file, &right, k, &new));
        assert_int_equal(old.size, new.size);
        assert_memory_equal(old.bytes - 16, new.bytes - 16, 16 + old.size);
    }
    end_object(a);
    end_object(b);
}

static void real_files(void **state) {
    (void)state;
    static const struct {
        const char *path;
        bool plain; /* without transforms: the samples themselves are the same */
    } rows[] = {{"abc-samples/wave-uniform.abc", true},     {"abc-samples/wave-acyclic.abc", true},
                {"abc-samples/cyclic-shutter.abc", true},   {"abc-samples/constant-and-repeats.abc", true},
                {"abc-samples/hierarchy.abc", false},       {"abc-samples/points-curves-camera.abc", false},
                {"anim-dembones/data/Bone_Anim.abc", false}};
    char path[1024];
    test_data(path, rows[0].path);
    for (size_t r = 0; r < PX_COUNT(rows); r++) {
        test_context test;
        test_begin(&test, 1);
        test_data(path, rows[r].path);
        pelt_model *model;
        test_ok(&test, pelt_load(test.context, &(const char *){path}, 1, NULL, &model));
        written out = write_and_read(&test, model, NULL);
        check_model(&test, model, out.model);
        assert_int_equal(model->mesh.part_count, out.model->mesh.part_count);
        for (uint32_t p = 0; p < model->mesh.part_count; p++)
            assert_string_equal(model->mesh.parts[p].name, out.model->mesh.parts[p].name);
        px_arena *arena = px_arena_create(test.context);
        px_file file;
        test_ok(&test, px_file_open(arena, path, &file));
        if (rows[r].plain)
            check_keys(&test, &file, &out.bytes, model->mesh.parts[model->mesh.part_count - 1].name);
        px_arena_destroy(arena);
        end_written(&out);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes),         cmocka_unit_test(names),
        cmocka_unit_test(clips),          cmocka_unit_test(times_of_frames),
        cmocka_unit_test(normals_follow), cmocka_unit_test(choices),
        cmocka_unit_test(keys),           cmocka_unit_test(real_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
