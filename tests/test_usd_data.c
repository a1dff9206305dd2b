/* USD on the real characters: every glTF file is written as USDZ, read again, written as GLB and read again. Poses at five random times of
 * each motion, weights, names, hierarchy, motions and materials must be those of the file. Prints a table. */
#include "characters.h"

#include "core/core.h"
#include "io/io.h"
#include "io/materials.h"

#include <math.h>

#define TIMES 5 /* of each motion */

static uint32_t file_count;
static double largest_position, largest_weight;

/* The largest distance of two poses, as a fraction of the size. */
static double pose_difference(test_context *test, const pelt_model *const models[2], uint32_t m, float time,
                              float *const positions[2]) {
    double low[3], high[3], off = 0, size = 1e-30;
    for (int n = 0; n < 2; n++)
        test_ok(test, pelt_model_pose(test->context, models[n], m == PELT_NONE ? NULL : &models[n]->motions[m], time,
                                      PELT_SKINNING_LINEAR, positions[n], NULL));
    for (size_t i = 0; i < models[0]->mesh.vertex_count; i++) {
        const float *a = positions[0] + 3 * i, *b = positions[1] + 3 * i;
        double square = 0;
        for (int c = 0; c < 3; c++) {
            low[c] = i ? fmin(low[c], (double)a[c]) : (double)a[c];
            high[c] = i ? fmax(high[c], (double)a[c]) : (double)a[c];
            square += ((double)a[c] - b[c]) * ((double)a[c] - b[c]);
        }
        off = fmax(off, square);
    }
    for (int c = 0; c < 3 && models[0]->mesh.vertex_count; c++)
        size = fmax(size, high[c] - low[c]);
    return sqrt(off) / size;
}

/* The largest difference of the weight of a joint. Joints have the same numbers in both. */
static double weight_difference(const pelt_model *a, const pelt_model *b) {
    double largest = 0;
    for (size_t i = 0; i < a->mesh.vertex_count; i++)
        for (uint32_t k = 0; k < a->skin.influence_count; k++) {
            size_t at = i * a->skin.influence_count + k;
            double off = 0;
            for (uint32_t e = 0; e < a->skin.influence_count; e++)
                off += a->skin.bone_joints[a->skin.bones[i * a->skin.influence_count + e]] ==
                               a->skin.bone_joints[a->skin.bones[at]]
                           ? (double)a->skin.weights[i * a->skin.influence_count + e]
                           : 0;
            for (uint32_t e = 0; e < b->skin.influence_count; e++)
                off -= b->skin.bone_joints[b->skin.bones[i * b->skin.influence_count + e]] ==
                               a->skin.bone_joints[a->skin.bones[at]]
                           ? (double)b->skin.weights[i * b->skin.influence_count + e]
                           : 0;
            largest = fmax(largest, a->skin.weights[at] > 0 ? fabs(off) : 0);
        }
    return largest;
}

static bool is_blank(const px_texture *texture) {
    return texture->image == PELT_NONE;
}

static void check_materials(test_context *test, const pelt_model *a, const pelt_model *b) {
    px_materials all[2];
    px_arena *arena = px_arena_create(test->context);
    test_ok(test, px_materials_get(arena, a, &all[0]));
    test_ok(test, px_materials_get(arena, b, &all[1]));
    for (uint32_t p = 0; p < a->mesh.part_count; p++) {
        if (!a->mesh.parts[p].material) {
            assert_null(b->mesh.parts[p].material);
            continue;
        }
        assert_string_equal(a->mesh.parts[p].material, b->mesh.parts[p].material);
        const px_material *x = px_material_named(&all[0], a->mesh.parts[p].material),
                          *y = px_material_named(&all[1], a->mesh.parts[p].material);
        assert_true(x && y);
        assert_float_equal(x->roughness, y->roughness, 1e-6);
        assert_float_equal(x->metallic, y->metallic, 1e-6);
        assert_int_equal(x->alpha, y->alpha);
        for (int c = 0; c < 3; c++)
            assert_float_equal(x->base_color[c], y->base_color[c], 1e-6);
        for (int use = 0; use < PX_TEXTURE_USES; use++) {
            const px_texture *s = &x->textures[use], *t = &y->textures[use];
            assert_int_equal(is_blank(s), is_blank(t));
            if (is_blank(s))
                continue;
            assert_int_equal(all[0].images[s->image].size, all[1].images[t->image].size);
            assert_memory_equal(all[0].images[s->image].data, all[1].images[t->image].data,
                                all[0].images[s->image].size);
        }
    }
    px_arena_destroy(arena);
}

static void check_structure(const pelt_model *a, const pelt_model *b) {
    assert_int_equal(a->mesh.vertex_count, b->mesh.vertex_count);
    assert_int_equal(a->mesh.triangle_count, b->mesh.triangle_count);
    assert_int_equal(a->mesh.part_count, b->mesh.part_count);
    assert_int_equal(a->skeleton.joint_count, b->skeleton.joint_count);
    assert_int_equal(a->morphs.morph_count, b->morphs.morph_count);
    assert_int_equal(a->motion_count, b->motion_count);
    for (uint32_t j = 0; j < a->skeleton.joint_count; j++) {
        assert_string_equal(a->skeleton.names[j], b->skeleton.names[j]);
        assert_int_equal(a->skeleton.parents[j], b->skeleton.parents[j]);
    }
    for (uint32_t m = 0; m < a->morphs.morph_count; m++)
        assert_string_equal(a->morphs.morphs[m].name, b->morphs.morphs[m].name);
    for (uint32_t m = 0; m < a->motion_count; m++)
        assert_string_equal(a->motions[m].name, b->motions[m].name);
}

static double largest_difference(test_context *test, const pelt_model *a, const pelt_model *b) {
    const pelt_model *models[2] = {a, b};
    float *positions[2] = {calloc((size_t)3 * a->mesh.vertex_count + 1, sizeof(float)),
                           calloc((size_t)3 * b->mesh.vertex_count + 1, sizeof(float))};
    test_random random = {1};
    double off = pose_difference(test, models, PELT_NONE, 0, positions);
    for (uint32_t m = 0; m < a->motion_count; m++)
        for (int t = 0; t < TIMES; t++) {
            float time = (float)test_random_real(&random, (double)a->motions[m].start, (double)a->motions[m].end);
            off = fmax(off, pose_difference(test, models, m, time, positions));
        }
    free(positions[0]);
    free(positions[1]);
    return off;
}

static pelt_model *again(test_context *test, const pelt_model *model, const char *name) {
    px_buffer bytes = {.context = test->context};
    pelt_model *read;
    test_ok(test, px_save_memory(test->context, model, name, NULL, &bytes));
    test_ok(test, pelt_load_memory(test->context, bytes.data, bytes.size, name, NULL, &read));
    px_buffer_free(&bytes);
    return read;
}

static void check_file(const char *path) {
    test_context test;
    test_begin(&test, 1);
    const char *paths[] = {path};
    pelt_model *model, *last;
    test_ok(&test, pelt_load(test.context, paths, 1, NULL, &model));
    pelt_model *package = again(&test, model, "again.usdz");
    px_buffer bytes = {.context = test.context};
    test_ok(&test, px_save_memory(test.context, package, "again.glb", NULL, &bytes));
    test_ok(&test, pelt_load_memory(test.context, bytes.data, bytes.size, "again.glb", NULL, &last));
    check_structure(model, package);
    check_materials(&test, model, package);
    check_materials(&test, package, last);
    double off = largest_difference(&test, model, package), weights = weight_difference(model, package);
    assert_int_equal(last->mesh.vertex_count, model->mesh.vertex_count);
    assert_int_equal(last->motion_count, model->motion_count);
    off = fmax(off, largest_difference(&test, model, last));
    printf("%-28s %4u joints %3u motions   positions %8.1e   weights %8.1e\n", strrchr(path, '/') + 1,
           model->skeleton.joint_count, model->motion_count, off, weights);
    assert_true(off < 1e-4);
    assert_true(weights < 1e-4);
    largest_position = fmax(largest_position, off);
    largest_weight = fmax(largest_weight, weights);
    pelt_model_destroy(last);
    pelt_model_destroy(package);
    pelt_model_destroy(model);
    px_buffer_free(&bytes);
    test_end(&test);
    file_count++;
}

static void characters(void **state) {
    test_each_character(*state, check_file);
    assert_true(file_count > 0);
    printf("%u files: positions %.1e, weights %.1e\n", file_count, largest_position, largest_weight);
}

int main(void) {
    char path[1024];
    if (!test_has_data(path, ""))
        return TEST_SKIP;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(characters, path)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
