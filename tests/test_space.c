/* Axes and units of files: the effect of `up` and `scale` on every kind of content, and detection of differing axes. */
#include "core/similarity.h"
#include "io/io.h"
#include "support.h"

#include <math.h>
#include <pelt/measure.h>
#include <pelt/run.h>

#include "gltf_build.h"

/* z up becomes y up, ten times as large. */
static void map_z(const float p[3], float out[3]) {
    out[0] = 10 * p[0];
    out[1] = 10 * p[2];
    out[2] = -10 * p[1];
}

/* ---- Meshes and caches ------------------------------------------------------------------------------------ */

static const char shape[] = "v 0 0 0\nv 2 0 0\nv 0 3 0\nv 1 1 5\nvn 0 0 1\nf 1//1 2//1 3//1\nf 1 2 4\n";
static const float points[4][3] = {{0, 0, 0}, {2, 0, 0}, {0, 3, 0}, {1, 1, 5}};

static void meshes_are_turned(void **state) {
    (void)state;
    static const struct {
        const char *up, *scale;
        float last[3], normal[3];
    } cases[] = {
        {NULL, NULL, {1, 1, 5}, {0, 0, 1}},
        {"y", "1", {1, 1, 5}, {0, 0, 1}},
        {"z", NULL, {1, 5, -1}, {0, 1, 0}},
        {"x", NULL, {-1, 1, 5}, {0, 0, 1}},
        {"z", "0.5", {0.5f, 2.5f, -0.5f}, {0, 1, 0}},
        {"other.obj=z", "mesh.obj=2", {2, 2, 10}, {0, 0, 1}},
        {"x,mesh.obj=z", NULL, {1, 5, -1}, {0, 1, 0}},
        {"mesh.obj=z,x", NULL, {1, 5, -1}, {0, 1, 0}},
        {"folder/mesh.obj=z", NULL, {1, 5, -1}, {0, 1, 0}},
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        test_context test;
        pelt_model *model;
        test_begin(&test, 1);
        pelt_load_desc desc = pelt_load_desc_default();
        desc.up = cases[c].up;
        desc.scale = cases[c].scale;
        test_ok(&test, pelt_load_memory(test.context, shape, sizeof shape - 1, "folder/mesh.obj", &desc, &model));
        const pelt_mesh *mesh = &model->mesh;
        for (uint32_t i = 0; i < mesh->vertex_count; i++)
            if (mesh->points.of[i] == 3)
                same_floats(mesh->positions + 3 * i, 3, cases[c].last);
        same_floats(mesh->normals, 3, cases[c].normal);
        test_ok(&test, pelt_model_validate(test.context, model));
        pelt_model_destroy(model);
        test_end(&test);
    }
}

static void bad_values_are_reported(void **state) {
    (void)state;
    static const char *const bad[][3] = {{"q", NULL, "up 'q': give y, z or x"},
                                         {"mesh.obj=", NULL, "up ''"},
                                         {NULL, "0", "scale '0'"},
                                         {NULL, "-1", "scale '-1'"},
                                         {NULL, "1e99", "scale '1e99'"},
                                         {NULL, "2x", "scale '2x'"},
                                         {"y,zz", NULL, "up 'zz'"}};
    for (size_t b = 0; b < PX_COUNT(bad); b++) {
        test_context test;
        pelt_model *model;
        test_begin(&test, 1);
        pelt_load_desc desc = pelt_load_desc_default();
        desc.up = bad[b][0];
        desc.scale = bad[b][1];
        test_fails(&test, pelt_load_memory(test.context, shape, sizeof shape - 1, "mesh.obj", &desc, &model),
                   PELT_ERROR_USAGE, bad[b][2]);
        test_end(&test);
    }
}

static void numbers_that_overflow_are_reported(void **state) {
    (void)state;
    static const char large[] = "v 0 0 3e38\nv 2 0 0\nv 0 3 0\nf 1 2 3\n";
    test_context test;
    pelt_model *model;
    test_begin(&test, 1);
    pelt_load_desc desc = pelt_load_desc_default();
    desc.scale = "1000";
    test_fails(&test, pelt_load_memory(test.context, large, sizeof large - 1, "mesh.obj", &desc, &model),
               PELT_ERROR_INPUT, "numbers are too large or too small at scale 1000");
    test_end(&test);
}

/* A PC2 file of two frames: the points with z up at a scale, then moved. */
static void write_cache(uint8_t *file, float scale, float shift) {
    static const uint8_t head[32] = "POINTCACHE2\0\1\0\0\0\4\0\0\0\0\0\0\0\0\0\x80\x3f\2";
    memcpy(file, head, sizeof head);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 4; i++) {
            const float p[3] = {scale * points[i][0] + shift, scale * -points[i][2], scale * (points[i][1] + (float)k)};
            memcpy(file + 32 + 12 * (4 * k + i), p, sizeof p);
        }
}

static void check_cache(float scale, float shift, const char *up, const char *factor, const float wanted[3]) {
    test_context test;
    pelt_model *model;
    uint8_t file[32 + 2 * 4 * 12];
    float frame[12];
    write_cache(file, scale, shift);
    test_begin(&test, 1);
    pelt_load_desc desc = pelt_load_desc_default();
    desc.up = up;
    desc.scale = factor;
    test_ok(&test, pelt_load_memory(test.context, shape, sizeof shape - 1, "mesh.obj", NULL, &model));
    test_ok(&test, pelt_load_cache_memory(test.context, file, sizeof file, "cache.pc2", &desc, model));
    test_ok(&test, pelt_clip_read(test.context, &model->clips[0], 1, 0, 4, frame));
    same_floats(frame + 9, 3, wanted);
    test_ok(&test, pelt_clip_read(test.context, &model->clips[0], 1, 3, 1, frame));
    same_floats(frame, 3, wanted);
    pelt_model_destroy(model);
    test_end(&test);
}

static void caches_are_brought_to_their_mesh(void **state) {
    (void)state;
    check_cache(1, 0, NULL, NULL, (const float[]){1, 2, 5});           /* certain: there is no other difference */
    check_cache(8, 0, NULL, NULL, (const float[]){8, -40, 16});        /* not a known unit: reported, not changed */
    check_cache(1, 50, NULL, NULL, (const float[]){51, -5, 2});        /* at another position: likewise */
    check_cache(1, 0, "cache.pc2=y", NULL, (const float[]){1, -5, 2}); /* as stored */
    check_cache(1, 0, "z", NULL, (const float[]){1, 2, 5});            /* as requested */
    check_cache(1, 50, "z", "2", (const float[]){102, 4, 10});
    test_context test;
    pelt_model *model;
    uint8_t file[32 + 2 * 4 * 12];
    float frame[12];
    pelt_load_desc desc = pelt_load_desc_default();
    desc.scale = "cache.pc2=1e9";
    write_cache(file, 1e35f, 0);
    test_begin(&test, 1);
    test_ok(&test, pelt_load_memory(test.context, shape, sizeof shape - 1, "mesh.obj", NULL, &model));
    test_ok(&test, pelt_load_cache_memory(test.context, file, sizeof file, "cache.pc2", &desc, model));
    test_fails(&test, pelt_clip_read(test.context, &model->clips[0], 1, 0, 4, frame), PELT_ERROR_INPUT,
               "frame 1: numbers are too large at scale 1e+09");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Whether two files differ ------------------------------------------------------------------------------ */

static void axes_are_compared(void **state) {
    (void)state;
    test_random random = {.state = 5};
    float own[300], other[300];
    for (int i = 0; i < 300; i++)
        own[i] = (float)test_random_real(&random, -1, 1) * (float)(1 + i % 3) + (i % 3 == 1 ? 3 : 0);
    pelt_axes axes;
    pelt_compare_axes(own, own, 100, &axes);
    assert_false(axes.differ);
    for (int i = 0; i < 300; i++) /* another pose */
        other[i] = own[i] + 0.3f * (float)test_random_real(&random, -1, 1);
    pelt_compare_axes(own, other, 100, &axes);
    assert_false(axes.differ);
    for (uint32_t up = PELT_UP_Z; up <= PELT_UP_X; up++)
        for (int unit = 0; unit < 3; unit++) {
            static const float scales[] = {1, 100, 0.0254f};
            double turn[9];
            char text[200];
            px_similarity s = {.scale = scales[unit]};
            px_axes_turn(PELT_UP_Y, up, turn);
            for (int e = 0; e < 9; e++) /* the inverse */
                s.turn[e] = turn[3 * (e % 3) + e / 3];
            for (int i = 0; i < 100; i++) {
                double p[3] = {own[3 * i], own[3 * i + 1], own[3 * i + 2]}, to[3];
                px_similarity_map(&s, p, to);
                for (int c = 0; c < 3; c++)
                    other[3 * i + c] = (float)to[c];
            }
            pelt_compare_axes(own, other, 100, &axes);
            assert_true(axes.differ && axes.certain);
            assert_int_equal(axes.up, PELT_UP_Y);
            assert_int_equal(axes.other_up, up);
            assert_true(fabs(axes.scale * (double)scales[unit] - 1) < 1e-6);
            pelt_axes_text(&axes, "a.obj", text, sizeof text);
            assert_non_null(
                strstr(text, up == PELT_UP_Z ? "has Z up where a.obj has Y up" : "has X up where a.obj has Y up"));
            assert_int_equal(strstr(text, "100 times as large") != NULL, unit == 1);
            assert_int_equal(strstr(text, "39.37 times as small") != NULL, unit == 2);
            pelt_compare_axes(other, own, 100, &axes);
            assert_true(axes.differ && axes.certain);
            assert_int_equal(axes.up, up);
            other[0] = NAN; /* ignored */
            pelt_compare_axes(own, other, 100, &axes);
            assert_true(axes.certain);
        }
    for (int much = 0; much < 2; much++) { /* a cloth that has already moved in the first frame; one that moved far */
        test_random moved = {3};
        for (int i = 0; i < 100; i++) {
            double offset = (much ? 0.3 : 0.05) * test_random_real(&moved, -1, 1);
            other[3 * i] = own[3 * i] + (float)offset;
            other[3 * i + 1] = -own[3 * i + 2];
            other[3 * i + 2] = own[3 * i + 1] + (float)offset;
        }
        pelt_compare_axes(own, other, 100, &axes);
        assert_true(axes.differ && axes.certain == !much && axes.other_up == PELT_UP_Z && axes.scale == 1);
    }
    pelt_compare_axes(own, other, 0, &axes);
    assert_false(axes.differ);
}

/* ---- Rigs -------------------------------------------------------------------------------------------------- */

/* Every frame of a rig, read with axes and a scale, is the frame of the original rig, rotated and scaled. */
static void rigs_play_turned(void **state) {
    (void)state;
    test_context test;
    gltf_build a = {0}, b = {0};
    test_begin(&test, 1);
    pelt_model *plain = build_load(&test, &a, build_rig(&a)), *turned;
    build_glb(&b, build_rig(&b));
    pelt_load_desc desc = pelt_load_desc_default();
    desc.up = "z";
    desc.scale = "10";
    desc.join = "none";
    test_ok(&test, pelt_load_memory(test.context, b.glb, b.glb_size, "test.glb", &desc, &turned));
    test_ok(&test, pelt_model_validate(test.context, turned));
    assert_true(plain->motion_count > 0 && plain->skin.bone_count > 0);
    uint32_t vertices = plain->mesh.vertex_count;
    float *own = calloc(vertices, 3 * sizeof *own), *other = calloc(vertices, 3 * sizeof *other);
    for (uint32_t m = 0; m < plain->motion_count; m++) {
        pelt_clip clips[2];
        test_ok(&test,
                pelt_clip_from_motion(test.context, plain, &plain->motions[m], 10, PELT_SKINNING_LINEAR, &clips[0]));
        test_ok(&test,
                pelt_clip_from_motion(test.context, turned, &turned->motions[m], 10, PELT_SKINNING_LINEAR, &clips[1]));
        for (uint32_t k = 0; k < clips[0].frame_count; k++) {
            test_ok(&test, pelt_clip_read(test.context, &clips[0], k, 0, vertices, own));
            test_ok(&test, pelt_clip_read(test.context, &clips[1], k, 0, vertices, other));
            for (uint32_t i = 0; i < vertices; i++) {
                float wanted[3];
                map_z(own + 3 * i, wanted);
                for (int c = 0; c < 3; c++)
                    assert_float_equal(other[3 * i + (uint32_t)c], wanted[c], 1e-4);
            }
        }
    }
    for (uint32_t i = 0; i < vertices; i++) { /* the mesh too, in the pose that it was bound in */
        float wanted[3];
        map_z(plain->mesh.positions + 3 * i, wanted);
        same_floats(turned->mesh.positions + 3 * i, 3, wanted);
    }
    free(own);
    free(other);
    pelt_model_destroy(plain);
    pelt_model_destroy(turned);
    test_end(&test);
}

/* ---- Skeletons and motions --------------------------------------------------------------------------------- */

static const char skeleton[] = ":units\n length 0.5\n angle deg\n:root\n order TX TY TZ RX RY RZ\n axis XYZ\n"
                               ":bonedata\n begin\n name lfemur\n direction 0 -1 0\n length 4\n axis 0 0 20 XYZ\n"
                               " dof rx ry rz\n end\n:hierarchy\n begin\n root lfemur\n end\n";
static const char motion[] = ":FULLY-SPECIFIED\n:DEGREES\n1\nroot 0 4 0 10 0 0\nlfemur 0 0 0\n"
                             "2\nroot 0 4 1 0 20 0\nlfemur 30 0 0\n";

static const char *write_text(const char *folder, const char *name, const char *text, char path[1300]) {
    snprintf(path, 1300, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

/* A motion added from memory follows its skeleton like one in a file. */
static void motions_follow_their_skeleton(void **state) {
    (void)state;
    test_context test;
    char folder[1024], paths[2][1300];
    test_folder(folder);
    test_begin(&test, 1);
    const char *const files[] = {write_text(folder, "s.asf", skeleton, paths[0]),
                                 write_text(folder, "t.amc", motion, paths[1])};
    pelt_load_desc desc = pelt_load_desc_default();
    desc.up = "z";
    desc.scale = "3";
    pelt_model *wanted, *model;
    test_ok(&test, pelt_load(test.context, files, 2, &desc, &wanted));
    test_ok(&test, pelt_load_memory(test.context, skeleton, sizeof skeleton - 1, "s.asf", &desc, &model));
    for (uint32_t m = 0; m < 2; m++) { /* whatever is specified for the motion itself */
        test_ok(&test,
                pelt_load_cache_memory(test.context, motion, sizeof motion - 1, "t.amc", m ? &desc : NULL, model));
        assert_int_equal(model->motion_count, m + 1);
        assert_int_equal(model->motions[m].track_count, wanted->motions[0].track_count);
        for (uint32_t t = 0; t < wanted->motions[0].track_count; t++) {
            const pelt_track *a = &wanted->motions[0].tracks[t], *b = &model->motions[m].tracks[t];
            assert_true(a->joint == b->joint && a->path == b->path && a->key_count == b->key_count);
            assert_memory_equal(a->values, b->values, (size_t)a->key_count * a->width * sizeof *a->values);
        }
    }
    for (uint32_t n = 0; n < wanted->skeleton.joint_count; n++)
        assert_memory_equal(&wanted->skeleton.rest[n], &model->skeleton.rest[n], sizeof *model->skeleton.rest);
    pelt_model_destroy(wanted);
    pelt_model_destroy(model);
    test_end(&test);
    for (int n = 0; n < 2; n++)
        unlink(paths[n]);
    rmdir(folder);
}

/* ---- Names of files ---------------------------------------------------------------------------------------- */

static void entries_without_a_file_are_found(void **state) {
    (void)state;
    static const char *const files[] = {"a/mesh.obj", "b/f_*.mdd", "odd=name.pc2"};
    static const struct {
        const char *list, *unmatched;
    } cases[] = {
        {NULL, NULL},
        {"z", NULL},
        {"mesh.obj=z,y", NULL},
        {"a/mesh.obj=z", NULL},
        {"b/f_1.mdd=z", NULL},
        {"f_2.mdd=z", NULL},
        {"f_*.mdd=z", NULL},
        {"odd=name.pc2=z", NULL},
        {"=z", ""},
        {"f_1.pc2=z", "f_1.pc2"},
        {"z, mesh.ply=x", "mesh.ply"},
        {"a,b.obj=z", "b.obj"},
        {"obj=z", "obj"},
        {",,", NULL},
    };
    for (size_t c = 0; c < PX_COUNT(cases); c++) {
        const char *name = NULL;
        size_t length = 0;
        bool found = pelt_load_unmatched(cases[c].list, files, PX_COUNT(files), &name, &length);
        assert_int_equal(found, cases[c].unmatched != NULL);
        if (found)
            assert_true(px_is_name(cases[c].unmatched, name, length));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_are_turned),
        cmocka_unit_test(bad_values_are_reported),
        cmocka_unit_test(numbers_that_overflow_are_reported),
        cmocka_unit_test(caches_are_brought_to_their_mesh),
        cmocka_unit_test(axes_are_compared),
        cmocka_unit_test(rigs_play_turned),
        cmocka_unit_test(motions_follow_their_skeleton),
        cmocka_unit_test(entries_without_a_file_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
