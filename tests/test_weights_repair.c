/* Relaxing, repairing, limiting, copying weights, and mirroring them by topology. */
#include "weights_models.h"

/* A bumpy grid of side² vertices, with two bones; weights of the second one as a ramp along x. */
static pelt_model *make_grid(test_context *test, uint32_t side) {
    static const char *const names[] = {"left", "right", "other"};
    static const float places[] = {-1, 0, 0, 1, 0, 0, 0, 5, 0};
    uint32_t count = side * side, *triangles = malloc(6 * sizeof *triangles * count), triangle_count = 0;
    float *positions = malloc(3 * sizeof *positions * count);
    for (uint32_t i = 0; i < count; i++) {
        positions[3 * i] = 2 * (float)(i % side) / (float)(side - 1) - 1;
        positions[3 * i + 1] = 2 * (float)(i / side) / (float)(side - 1) - 1;
        positions[3 * i + 2] = 0.1f * sinf(7 * positions[3 * i]) * cosf(5 * positions[3 * i + 1]);
    }
    for (uint32_t y = 0; y + 1 < side; y++)
        for (uint32_t x = 0; x + 1 < side; x++) {
            uint32_t i = y * side + x, six[] = {i, i + 1, i + side, i + side, i + 1, i + side + 1};
            memcpy(triangles + 3 * (size_t)triangle_count, six, sizeof six);
            triangle_count += 2;
        }
    pelt_model *model = make_mesh(test, positions, count, triangles, triangle_count);
    add_rig(test, model, names, places, 3);
    for (uint32_t i = 0; i < count; i++)
        set_weights(model, i, 0, 1, 0.5 + 0.5 * (double)positions[3 * i]);
    free(positions);
    free(triangles);
    return model;
}

static float *keep_weights(const pelt_model *model) {
    size_t size = (size_t)model->mesh.vertex_count * model->skin.influence_count * sizeof(float);
    return memcpy(malloc(size), model->skin.weights, size);
}

/* ---- Hammer ----------------------------------------------------------------------------------------------- */

/* Wrong vertices, single and in a pair, are found and get back about what they had; no other vertex changes. */
static void repairs(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_grid(&test, 20), *good = make_grid(&test, 20);
    static const uint32_t wrong[] = {45, 130, 131, 250, 388};
    for (size_t n = 0; n < 5; n++)
        set_weights(model, wrong[n], 2, 2, 0);
    pelt_weights_report report;
    test_ok(&test, pelt_weights_hammer(test.context, model, NULL, NULL, &report));
    assert_sound(&test, model, 4);
    assert_int_equal(report.changed_count, 5);
    for (uint32_t i = 0; i < 400; i++)
        assert_true(row_distance(model, i, good, i) < 0.06);
    test_ok(&test, pelt_weights_hammer(test.context, model, NULL, NULL, &report)); /* nothing is left to do */
    assert_int_equal(report.changed_count, 0);
    pelt_model_destroy(good);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A border between rigid halves, with its corners, is no mistake. */
static void keeps_borders(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_grid(&test, 16);
    for (uint32_t i = 0; i < 256; i++)
        set_weights(model, i, i % 16 > 5 && i / 16 > 5 ? 1 : 0, 0, 0);
    pelt_weights_report report;
    test_ok(&test, pelt_weights_hammer(test.context, model, NULL, NULL, &report));
    assert_int_equal(report.changed_count, 0);
    /* The vertices of a list are repaired anyway. */
    pelt_weights_scope scope = pelt_weights_scope_default();
    pelt_hammer_desc desc = pelt_hammer_desc_default();
    scope.parts = "vertices(102 5)";
    desc.difference = 0;
    test_ok(&test, pelt_weights_hammer(test.context, model, &scope, &desc, &report));
    assert_int_equal(report.vertex_count, 2);
    assert_int_equal(report.changed_count, 1);
    assert_true(weight_of(model, 102, 0) > 0.2f && weight_of(model, 102, 1) > 0.2f);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Relax ------------------------------------------------------------------------------------------------ */

/* A step becomes smooth, alike at any density; vertices outside the region stay; the bound holds. */
static void relaxes(void **state) {
    (void)state;
    double middles[2];
    for (int fine = 0; fine < 2; fine++) {
        test_context test;
        test_begin(&test, 2);
        uint32_t side = fine ? 61 : 31;
        pelt_model *model = make_grid(&test, side);
        for (uint32_t i = 0; i < side * side; i++)
            set_weights(model, i, model->mesh.positions[3 * i] > 0.01f ? 1 : 0, 0, 0);
        pelt_weights_scope scope = pelt_weights_scope_default();
        pelt_relax_desc desc = pelt_relax_desc_default();
        pelt_weights_report report;
        scope.parts = "box(-0.5 -2 -1 0.5 2 1)";
        desc.radius = 0.05;
        desc.displacement = 0;
        float *before = keep_weights(model);
        test_ok(&test, pelt_weights_relax(test.context, model, &scope, &desc, &report));
        assert_sound(&test, model, 4);
        uint32_t row = side / 2 * side, quarter = side / 4;
        for (uint32_t x = 1; x < side; x++)
            assert_true(weight_of(model, row + x, 1) >= weight_of(model, row + x - 1, 1) - 1e-5f);
        for (uint32_t i = 0; i < side * side; i++)
            if (fabsf(model->mesh.positions[3 * i]) > 0.51f)
                assert_memory_equal(before + 4 * (size_t)i, model->skin.weights + 4 * (size_t)i, 4 * sizeof(float));
        middles[fine] = (double)weight_of(model, row + side / 2 + side / 10, 1);
        assert_true(weight_of(model, row + quarter, 1) < 0.1f && report.change_max > 0.3);
        free(before);
        pelt_model_destroy(model);
        test_end(&test);
    }
    print_message("a fifth to the right of the step: %g and %g at twice the density\n", middles[0], middles[1]);
    assert_true(fabs(middles[0] - middles[1]) < 0.05);
}

/* Largest distance between two skins in the poses of the first one's motion. */
static double farthest(test_context *test, const pelt_model *a, const pelt_model *b) {
    size_t count = 3 * (size_t)a->mesh.vertex_count;
    float *places[2] = {malloc(count * sizeof(float)), malloc(count * sizeof(float))};
    double most = 0, length = (double)(a->motions[0].end - a->motions[0].start);
    for (int pose = 0; pose < 16; pose++) {
        float time = a->motions[0].start + (float)((pose + 0.5) / 16 * length);
        test_ok(test, pelt_model_pose(test->context, a, &a->motions[0], time, PELT_SKINNING_LINEAR, places[0], NULL));
        test_ok(test, pelt_model_pose(test->context, b, &b->motions[0], time, PELT_SKINNING_LINEAR, places[1], NULL));
        for (size_t i = 0; i < count; i += 3) {
            double x = places[0][i] - places[1][i], y = places[0][i + 1] - places[1][i + 1],
                   z = places[0][i + 2] - places[1][i + 2];
            most = fmax(most, sqrt(x * x + y * y + z * z));
        }
    }
    free(places[0]);
    free(places[1]);
    return most;
}

static double size_of(const pelt_model *model) {
    double square = 0;
    for (size_t c = 0; c < 3; c++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < model->mesh.vertex_count; i++) {
            low = fminf(low, model->mesh.positions[3 * i + c]);
            high = fmaxf(high, model->mesh.positions[3 * i + c]);
        }
        square += (double)(high - low) * (double)(high - low);
    }
    return sqrt(square);
}

static void keeps_the_deformation(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    double moved[2], size = 0;
    for (int bounded = 0; bounded < 2; bounded++) {
        pelt_model *model = make_scene(&test, "creature", 1500), *old = make_scene(&test, "creature", 1500);
        pelt_relax_desc desc = pelt_relax_desc_default();
        pelt_weights_scope eight = pelt_weights_scope_default();
        eight.influences = 8;
        desc.radius = 0.04;
        desc.displacement = bounded ? 0.004 : 0;
        size = size_of(model);
        assert_int_equal(model->motion_count, 1);
        test_ok(&test, pelt_weights_relax(test.context, model, &eight, &desc, NULL));
        moved[bounded] = farthest(&test, old, model) / size;
        pelt_model_destroy(model);
        pelt_model_destroy(old);
    }
    print_message("largest movement %g of the diagonal, with a bound of 0.004: %g\n", moved[0], moved[1]);
    assert_true(moved[0] > 0.008 && moved[1] < 0.004001);
    test_end(&test);
}

/* ---- Limit ------------------------------------------------------------------------------------------------ */

static double error_of(test_context *test, const pelt_model *a, const pelt_model *b) {
    pelt_clip clips[2];
    pelt_difference difference;
    pelt_model *models[2];
    for (int n = 0; n < 2; n++) {
        test_ok(test, pelt_model_borrow(test->context, n ? b : a, &models[n]));
        test_ok(test, pelt_clip_from_motion(test->context, models[n], models[n]->motions, 10, PELT_SKINNING_LINEAR,
                                            &clips[n]));
    }
    test_ok(test, pelt_compare_clips(test->context, &clips[0], &clips[1], NULL, &difference, NULL));
    pelt_model_destroy(models[0]);
    pelt_model_destroy(models[1]);
    return difference.error_rms;
}

/* Less change of the deformation than keeping the largest weights. */
static void limits(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    for (uint32_t influences = 1; influences <= 3; influences++) {
        pelt_model *model = make_scene(&test, "creature", 1500), *plain = make_scene(&test, "creature", 1500);
        pelt_model *old = make_scene(&test, "creature", 1500);
        pelt_weights_scope scope = pelt_weights_scope_default();
        scope.influences = influences;
        pelt_weights_report report;
        test_ok(&test, pelt_weights_limit(test.context, model, &scope, NULL, &report));
        test_ok(&test, pelt_weights_normalise(test.context, plain, &scope, NULL));
        assert_sound(&test, model, influences);
        assert_true(report.influence_count <= influences);
        double ours = error_of(&test, old, model), largest = error_of(&test, old, plain);
        print_message("%u bones: E_rms %g, with the largest weights %g\n", influences, ours, largest);
        assert_true(ours <= largest * 1.001 && (influences == 1 || ours < 0.97 * largest));
        pelt_model_destroy(model);
        pelt_model_destroy(plain);
        pelt_model_destroy(old);
    }
    test_end(&test);
}

/* Locked bones keep their weights; the default is 4 bones. */
static void limits_unlocked(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_grid(&test, 4);
    for (uint32_t i = 0; i < 16; i++) {
        const float weights[] = {0.5f, 0.3f, 0.2f, 0};
        const uint16_t bones[] = {0, 1, 2, 0};
        memcpy(model->skin.weights + 4 * (size_t)i, weights, sizeof weights);
        memcpy(model->skin.bones + 4 * (size_t)i, bones, sizeof bones);
    }
    pelt_weights_scope scope = pelt_weights_scope_default();
    pelt_weights_report report;
    test_ok(&test, pelt_weights_limit(test.context, model, NULL, NULL, &report));
    assert_int_equal(report.changed_count, 0);
    scope.influences = 2;
    scope.lock = "other";
    test_ok(&test, pelt_weights_limit(test.context, model, &scope, NULL, &report));
    assert_int_equal(report.changed_count, 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_true(fabsf(weight_of(model, i, 2) - 0.2f) < 1e-6f);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Copy ------------------------------------------------------------------------------------------------- */

static void copies(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_grid(&test, 21), *old = make_grid(&test, 21);
    pelt_weights_scope scope = pelt_weights_scope_default();
    pelt_copy_desc desc = pelt_copy_desc_default();
    pelt_weights_report report;
    scope.parts = "sphere(0.5 0 0 0.3)";
    desc.source = "vertices(0)"; /* bone 0 alone */
    test_ok(&test, pelt_weights_copy(test.context, model, &scope, &desc, &report));
    assert_sound(&test, model, 4);
    for (uint32_t i = 0; i < 441; i++) {
        const float *p = model->mesh.positions + 3 * (size_t)i;
        bool in = (p[0] - 0.5f) * (p[0] - 0.5f) + p[1] * p[1] + p[2] * p[2] < 0.0899f;
        if (in)
            assert_true(weight_of(model, i, 0) > 0.9999f);
    }
    assert_true(report.vertex_count > 10 && report.vertex_count < 60);
    /* From the nearest point outside the region: the border is as it was, and so is a ramp along it. */
    test_ok(&test, pelt_weights_copy(test.context, model, &scope, NULL, &report));
    for (uint32_t i = 0; i < 441; i++)
        assert_true(row_distance(model, i, old, i) < 0.75);
    /* The mean of the source. */
    desc.source = "vertices(0-20)";
    desc.rigid = true;
    test_ok(&test, pelt_weights_copy(test.context, model, &scope, &desc, &report));
    assert_true(fabsf(weight_of(model, 10 * 21 + 15, 0) - 0.5f) < 1e-4f);
    /* Refused. */
    desc.source = "vertices(441)";
    test_fails(&test, pelt_weights_copy(test.context, model, &scope, &desc, NULL), PELT_ERROR_INPUT, "indices");
    desc.source = "box(0 0 0 -1 0 0)";
    test_fails(&test, pelt_weights_copy(test.context, model, &scope, &desc, NULL), PELT_ERROR_USAGE, "corner");
    desc.source = "sphere(90 0 0 1)";
    test_fails(&test, pelt_weights_copy(test.context, model, &scope, &desc, NULL), PELT_ERROR_INPUT, "no vertices");
    desc.source = "sphere(0 0 0)";
    test_fails(&test, pelt_weights_copy(test.context, model, &scope, &desc, NULL), PELT_ERROR_USAGE, "radius");
    desc.source = "nothing";
    test_fails(&test, pelt_weights_copy(test.context, model, &scope, &desc, NULL), PELT_ERROR_INPUT, "no part");
    pelt_model_destroy(model);
    pelt_model_destroy(old);
    test_end(&test);
}

/* ---- Mirror by topology ----------------------------------------------------------------------------------- */

/* A grid of 13 × 13 that is bent to one side, its quads cut the same way on both sides, with joints left and right. */
static pelt_model *make_bent(test_context *test) {
    pelt_model *model = make_grid(test, 13);
    for (uint32_t i = 0; i < 169; i++) {
        float *p = model->mesh.positions + 3 * (size_t)i;
        p[0] = 1.2f * p[0] + 0.4f * p[1] * p[1] + (p[0] > 0 ? 0.2f * p[0] * p[1] : 0);
        set_weights(model, i, i % 13 < 6 ? 1 : 0, 2, i % 13 < 6 ? 0 : (double)(i / 13) / 40); /* the right is wrong */
        if (i % 13 == 6)
            set_weights(model, i, 0, 1, 0.5);
    }
    return model;
}

static void mirrors_by_topology(void **state) {
    (void)state;
    for (int given = 0; given < 2; given++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *model = make_bent(&test), *old = make_bent(&test);
        pelt_mirror_desc desc = pelt_mirror_desc_default();
        pelt_mirror_report report;
        desc.match = PELT_MIRROR_BY_TOPOLOGY;
        desc.side = PELT_MIRROR_POSITIVE_TO_NEGATIVE;
        desc.seed = given ? "6-19" : NULL;
        test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report));
        assert_sound(&test, model, 4);
        assert_int_equal(report.topology_count, 169);
        assert_int_equal(report.middle_count, 13);
        assert_int_equal(report.exact_count, 78);
        for (uint32_t i = 0; i < 169; i++) {
            uint32_t x = i % 13, image = i - x + 12 - x;
            if (x > 6) {
                assert_true(row_distance(model, i, old, i) < 1e-6);
                assert_true(fabsf(weight_of(model, image, 1) - weight_of(old, i, 0)) < 1e-6f);
                assert_true(fabsf(weight_of(model, image, 2) - weight_of(old, i, 2)) < 1e-6f);
            }
        }
        /* By position most vertices find no image at their place. */
        desc.match = PELT_MIRROR_BY_POSITION;
        test_ok(&test, pelt_weights_mirror(test.context, old, NULL, &desc, &report));
        assert_true(report.topology_count == 0 && report.exact_count < 40);
        pelt_model_destroy(model);
        pelt_model_destroy(old);
        test_end(&test);
    }
}

/* Sides that are not connected alike are mirrored by position, with a warning; a wrong seed is refused. */
static void no_topology(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_bent(&test);
    pelt_mirror_desc desc = pelt_mirror_desc_default();
    pelt_mirror_report report;
    desc.match = PELT_MIRROR_BY_TOPOLOGY;
    desc.seed = "6-169";
    test_fails(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report), PELT_ERROR_INPUT, "below 169");
    desc.seed = "6";
    test_fails(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report), PELT_ERROR_INPUT, "like 12-15");
    desc.seed = NULL;
    model->mesh.triangle_count = 1;
    uint32_t warnings = test.warning_count;
    test_ok(&test, pelt_weights_mirror(test.context, model, NULL, &desc, &report));
    assert_int_equal(report.topology_count, 0);
    assert_true(test.warning_count > warnings);
    pelt_model_destroy(model);
    test_end(&test);
}

/* A real character in a pose that is not symmetric: the images are those of the symmetric rest pose. */
static void mirrors_posed_character(void **state) {
    (void)state;
    char path[1024];
    test_data(path, "char-makehuman/human_game.glb");
    test_context test;
    test_begin(&test, 0);
    const char *paths[] = {path};
    pelt_model *rest, *posed;
    test_ok(&test, pelt_load(test.context, paths, 1, NULL, &rest));
    test_ok(&test, pelt_load(test.context, paths, 1, NULL, &posed));
    for (size_t i = 0; i < posed->mesh.vertex_count; i++) { /* leans to one side, and is twisted */
        float *p = posed->mesh.positions + 3 * i, angle = 0.5f * p[1], x = p[0] + 0.15f * p[1] * p[1], z = p[2];
        p[0] = cosf(angle) * x - sinf(angle) * z;
        p[2] = sinf(angle) * x + cosf(angle) * z;
    }
    pelt_mirror_desc desc = pelt_mirror_desc_default();
    pelt_mirror_report report;
    test_ok(&test, pelt_weights_mirror(test.context, rest, NULL, &desc, &report));
    uint32_t exact = report.exact_count;
    desc.match = PELT_MIRROR_BY_TOPOLOGY;
    test_ok(&test, pelt_weights_mirror(test.context, posed, NULL, &desc, &report));
    assert_int_equal(report.topology_count, 13380);
    assert_int_equal(report.exact_count, exact);
    double most = 0;
    for (size_t i = 0; i < posed->mesh.vertex_count; i++)
        most = fmax(most, row_distance(rest, i, posed, i));
    print_message("%u pairs; weights differ by %g at most from those mirrored at rest\n", exact, most);
    assert_true(most < 1e-5);
    pelt_model_destroy(rest);
    pelt_model_destroy(posed);
    test_end(&test);
}

/* The same for any number of threads. */
static void same_bits(void **state) {
    (void)state;
    float *first = NULL;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        test_context test;
        test_begin(&test, threads);
        pelt_model *model = make_scene(&test, "creature", 2000);
        pelt_weights_scope scope = pelt_weights_scope_default();
        scope.influences = 3;
        test_ok(&test, pelt_weights_relax(test.context, model, NULL, NULL, NULL));
        test_ok(&test, pelt_weights_limit(test.context, model, &scope, NULL, NULL));
        size_t size = (size_t)model->mesh.vertex_count * model->skin.influence_count * sizeof *first;
        if (!first)
            first = memcpy(malloc(size), model->skin.weights, size);
        assert_memory_equal(first, model->skin.weights, size);
        pelt_model_destroy(model);
        test_end(&test);
    }
    free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repairs),     cmocka_unit_test(keeps_borders),
        cmocka_unit_test(relaxes),     cmocka_unit_test(keeps_the_deformation),
        cmocka_unit_test(limits),      cmocka_unit_test(limits_unlocked),
        cmocka_unit_test(copies),      cmocka_unit_test(mirrors_by_topology),
        cmocka_unit_test(no_topology), cmocka_unit_test(mirrors_posed_character),
        cmocka_unit_test(same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
