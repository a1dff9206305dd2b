/* Where bones begin, how many there are, and smooth weights. */
#include "support.h"

#include "decompose/neighbours.h"
#include "scenes.h"

#include <math.h>

static pelt_model *make_scene(test_context *test, const char *name, uint32_t vertices, uint32_t frames) {
    pelt_model *model;
    test_ok(test, scene_find(name)->make(test->context, &(scene_desc){vertices, frames, 1}, &model));
    if (model->clip_count == 0) {
        model->clips = pelt_model_alloc(test->context, model, 1, sizeof *model->clips);
        assert_non_null(model->clips);
        test_ok(test, pelt_clip_from_motion(test->context, model, &model->motions[0], 15, PELT_SKINNING_LINEAR,
                                            &model->clips[0]));
        model->clip_count = 1;
    }
    return model;
}

/* E_rms of what the model plays against its clip. */
static double played_error(test_context *test, pelt_model *model) {
    pelt_clip played;
    pelt_difference difference;
    const pelt_clip *clip = &model->clips[0];
    test_ok(test, pelt_clip_from_motion_at(test->context, model, &model->motions[0], clip->times, clip->frame_count,
                                           PELT_SKINNING_LINEAR, &played));
    test_ok(test, pelt_compare_clips(test->context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

static double decompose(test_context *test, const char *name, const pelt_decompose_desc *desc,
                        pelt_decompose_report *report) {
    pelt_model *model = make_scene(test, name, 400, 12);
    test_ok(test, pelt_decompose(test->context, model, desc, report));
    report->iteration_errors = NULL; /* goes with the model */
    double error = played_error(test, model);
    pelt_model_destroy(model);
    return error;
}

static void regions(void **state) {
    (void)state;
    static const char *const scenes[] = {"cloth", "softbody",
                                         "production"}; /* the last one has 35 shells for 8 seeds */
    for (size_t s = 0; s < sizeof scenes / sizeof scenes[0]; s++) {
        test_context test;
        test_begin(&test, 2);
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        pelt_decompose_report report;
        desc.bones = 8;
        desc.iterations = 12;
        double split = decompose(&test, scenes[s], &desc, &report);
        desc.seed_method = PELT_SEED_REGIONS;
        double grown = decompose(&test, scenes[s], &desc, &report);
        assert_int_equal(report.bone_count, 8);
        assert_true(grown < 2 * split + 0.1); /* another start, a like result */
        test_end(&test);
    }
}

#define COLUMNS 40u

/* A strip of two rows whose right half moves up in the second frame, and a triangle above its left half, without an edge to
 * it, that moves as the right half does. The basis is the frames themselves. */
static void make_strip(test_context *test, px_fit *fit) {
    *fit = (px_fit){.context = test->context, .arena = px_arena_create(test->context)};
    fit->vertex_count = 2 * COLUMNS + 3;
    fit->row_count = fit->dimension = 6;
    fit->bone_capacity = 2;
    fit->influence_count = 4;
    fit->basis = PX_NEW(fit->arena, double, 36);
    fit->coords = PX_NEW(fit->arena, float, 6 * (size_t)fit->vertex_count);
    fit->norms = PX_NEW(fit->arena, double, fit->vertex_count);
    test_ok(test, px_fit_state_make(fit, &fit->now));
    test_ok(test, px_fit_make_moments(fit));
    for (size_t r = 0; r < 6; r++)
        fit->basis[7 * r] = 1;
    for (uint32_t i = 0; i < fit->vertex_count; i++) {
        bool lone = i >= 2 * COLUMNS;
        uint32_t column = lone ? 3 + i % 2 : i / 2;
        double p[3] = {0.05 * column, lone ? 0.2 + 0.05 * (i % 3) : 0.05 * (i % 2), 0};
        double up = lone || column >= COLUMNS / 2 ? 0.7 : 0;
        for (size_t e = 0; e < 6; e++) {
            double value = p[e % 3] + (e == 4 ? up : 0);
            fit->coords[6 * i + e] = (float)value;
            fit->norms[i] += value * value;
            fit->now.rest[3 * i + e % 3] = p[e % 3];
        }
    }
}

/* Regions end where the motion changes, and what no edge leads to joins the motion, not what is near. */
static void regions_follow_motion(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    px_fit fit;
    make_strip(&test, &fit);
    enum { quads = 2 * (COLUMNS - 1) };
    uint32_t triangles[3 * (quads + 1)], vertices[2 * COLUMNS + 3];
    for (uint32_t t = 0; t < quads; t++)
        for (uint32_t c = 0; c < 3; c++)
            triangles[3 * t + c] = t + c;
    for (uint32_t c = 0; c < 3; c++)
        triangles[3 * quads + c] = 2 * COLUMNS + c;
    for (uint32_t i = 0; i < fit.vertex_count; i++)
        vertices[i] = i;
    pelt_mesh mesh = {.triangle_count = quads + 1, .triangles = triangles};
    px_neighbours neighbours;
    test_ok(&test, px_neighbours_make(fit.arena, &mesh, vertices, fit.vertex_count, &neighbours));
    assert_int_equal(neighbours.offsets[1] - neighbours.offsets[0], 2); /* a corner of the strip, each neighbour once */
    assert_int_equal(neighbours.offsets[11] - neighbours.offsets[10], 4);
    test_ok(&test, px_fit_seed_regions(&fit, &neighbours, 2));
    assert_int_equal(fit.bone_count, 2);
    uint16_t left = fit.now.bones[0], right = fit.now.bones[4 * (2 * COLUMNS - 1)];
    assert_int_not_equal(left, right);
    for (uint32_t i = 0; i < fit.vertex_count; i++) {
        assert_int_equal(fit.now.counts[i], 1);
        assert_int_equal(fit.now.bones[4 * i], i < COLUMNS ? left : right);
    }
    px_arena_destroy(fit.arena);
    test_end(&test);
}

/* More seeds than vertices that differ. */
static void regions_of_little(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_scene(&test, "tube", 56, 8);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 500;
    desc.iterations = 3;
    desc.seed_method = PELT_SEED_REGIONS;
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_true(report.bone_count <= report.vertex_count);
    pelt_model_destroy(model);
    test_end(&test);
}

/* The error asked for is reached, a smaller one takes more bones, and a bone less would not do for long. */
static void by_error(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    pelt_decompose_report coarse, fine;
    desc.key_tolerance = 0;
    desc.error = 12;
    assert_true(decompose(&test, "cloth", &desc, &coarse) <= 12 * 1.001);
    desc.error = 4;
    assert_true(decompose(&test, "cloth", &desc, &fine) <= 4 * 1.001);
    assert_true(coarse.bone_count < 4); /* bones grow from four: those not needed are gone */
    assert_true(coarse.bone_count < fine.bone_count);
    desc.error = 0;
    desc.bones = fine.bone_count / 2;
    assert_true(decompose(&test, "cloth", &desc, &coarse) > 4);
    test_end(&test);
}

static void by_itself(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_decompose_report report;
    double error = decompose(&test, "tube", NULL, &report);
    assert_true(report.bone_count >= 2 && report.bone_count <= 16);
    assert_true(error < 2);
    test_end(&test);
}

/* What was tried on the way is told: ever more bones, from four, and what they reached. */
static void searched(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, "cloth", 200, 10);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.iterations = 3;
    desc.error = 1;
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_true(report.search_count > 2);
    assert_int_equal(report.search_bones[0], 4);
    for (uint32_t n = 1; n < report.search_count; n++)
        assert_true(report.search_bones[n] > report.search_bones[n - 1]);
    const float *errors = report.search_errors;
    assert_true(errors[report.search_count - 1] <= 1 && errors[report.search_count - 2] > 1);
    desc.bones = 5;
    test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
    assert_int_equal(report.search_count, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Σ over edges of the squared difference of all weights. */
static double roughness(const pelt_model *model) {
    double sum = 0;
    uint32_t K = model->skin.influence_count;
    float difference[64];
    for (size_t e = 0; e < 3 * (size_t)model->mesh.triangle_count; e++) {
        uint32_t ends[2] = {model->mesh.triangles[e], model->mesh.triangles[e % 3 == 2 ? e - 2 : e + 1]};
        memset(difference, 0, sizeof difference);
        for (int side = 0; side < 2; side++)
            for (uint32_t a = 0; a < K; a++)
                difference[model->skin.bones[ends[side] * K + a]] +=
                    (side ? -1.0f : 1.0f) * model->skin.weights[ends[side] * K + a];
        for (uint32_t j = 0; j < model->skin.bone_count; j++)
            sum += (double)difference[j] * (double)difference[j];
    }
    return sum;
}

static void smooth_weights(void **state) {
    (void)state;
    static const double amounts[] = {0, 0.2, 2};
    double rough[3];
    for (size_t s = 0; s < 3; s++) {
        test_context test;
        test_begin(&test, 2);
        pelt_model *model = make_scene(&test, "softbody", 400, 12);
        pelt_decompose_desc desc = pelt_decompose_desc_default();
        desc.bones = 10;
        desc.iterations = 10;
        desc.smooth = amounts[s];
        pelt_decompose_report report;
        test_ok(&test, pelt_decompose(test.context, model, &desc, &report));
        test_ok(&test, pelt_model_validate(test.context, model));
        rough[s] = roughness(model);
        /* The estimate is that of the smooth weights, not of those before. */
        assert_true(fabs(played_error(&test, model) - report.error_fit) < 0.05 * report.error_fit);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_true(rough[1] < 0.9 * rough[0]);
    assert_true(rough[2] < 0.9 * rough[1]);
}

/* Step by step gives what the door at once gives, and never a rising error. */
static void stepping(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 6;
    desc.iterations = 20;
    pelt_model *at_once = make_scene(&test, "softbody", 300, 10), *stepped = make_scene(&test, "softbody", 300, 10);
    pelt_decompose_report report;
    test_ok(&test, pelt_decompose(test.context, at_once, &desc, NULL));
    pelt_decomposer *decomposer;
    test_ok(&test, pelt_decomposer_create(test.context, stepped, &desc, &decomposer));
    double last = pelt_decomposer_error(decomposer);
    for (bool done = false; !done;) {
        test_ok(&test, pelt_decomposer_step(decomposer, &done));
        assert_true(pelt_decomposer_error(decomposer) <= last);
        last = pelt_decomposer_error(decomposer);
    }
    assert_int_equal(stepped->motion_count, 0); /* nothing changes before the end */
    test_ok(&test, pelt_decomposer_finish(decomposer, &report));
    pelt_decomposer_destroy(decomposer);
    assert_memory_equal(at_once->mesh.positions, stepped->mesh.positions, 12 * (size_t)stepped->mesh.vertex_count);
    assert_memory_equal(at_once->skin.weights, stepped->skin.weights,
                        4 * (size_t)stepped->skin.influence_count * stepped->mesh.vertex_count);
    pelt_model_destroy(stepped);
    pelt_model_destroy(at_once);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions),        cmocka_unit_test(regions_of_little), cmocka_unit_test(regions_follow_motion),
        cmocka_unit_test(by_error),       cmocka_unit_test(by_itself),         cmocka_unit_test(searched),
        cmocka_unit_test(smooth_weights), cmocka_unit_test(stepping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
