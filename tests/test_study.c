/* Baselines for skins: components against dense singular values, known clusters, evenly spread bones that recover the
 * motion of an exact skin; published figures on real data. */
#include "support.h"

#include "numeric/numeric.h"
#include "scenes.h"

#include <math.h>

static pelt_model *make_scene(const test_context *test, uint32_t vertices, uint32_t frames) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = vertices, .frame_count = frames, .seed = 3};
    test_ok(test, scene_find("softbody")->make(test->context, &desc, &model));
    return model;
}

static double error_of(const test_context *test, const pelt_model *model, const pelt_clip *clip) {
    pelt_difference difference;
    test_ok(test, pelt_compare_clips(test->context, model->clips, clip, NULL, &difference, NULL));
    return difference.error_rms;
}

static double stored_error(const test_context *test, const pelt_model *model, pelt_study *study,
                           pelt_components_desc desc) {
    const pelt_components *stored;
    test_ok(test, pelt_study_components(study, &desc, &stored));
    return error_of(test, model, &stored->clip);
}

/* ---- Truncated SVD ---------------------------------------------------------------------------------------- */

/* Singular values [min(3F, N)] of the clip, relative to the centre and radius of its first frame's ball. */
static double *singular_values(const test_context *test, const pelt_clip *clip, size_t *count) {
    size_t rows = 3 * (size_t)clip->frame_count, columns = clip->point_count, n = rows < columns ? rows : columns;
    double *a = malloc(rows * columns * sizeof *a), *u = malloc(rows * n * sizeof *u);
    double *vt = malloc(n * columns * sizeof *vt), *values = malloc(n * sizeof *values);
    float *points = malloc(3 * columns * sizeof *points);
    pelt_ball ball = {0};
    for (uint32_t k = 0; k < clip->frame_count; k++) {
        test_ok(test, pelt_clip_read(test->context, clip, k, 0, clip->point_count, points));
        if (k == 0)
            test_ok(test, pelt_enclosing_ball(test->context, points, clip->point_count, &ball));
        for (size_t e = 0; e < 3 * columns; e++)
            a[(3 * k + e % 3) * columns + e / 3] = ((double)points[e] - ball.center[e % 3]) / ball.radius;
    }
    free(points);
    test_ok(test, px_svd(test->context, px_matrix_of(a, rows, columns), px_matrix_of(u, rows, n), values,
                         px_matrix_of(vt, n, columns)));
    free(a);
    free(u);
    free(vt);
    *count = n;
    return values;
}

static void check_tail(uint32_t vertices, uint32_t frames) {
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, vertices, frames);
    const pelt_clip *clip = model->clips;
    size_t n;
    double *values = singular_values(&test, clip, &n), tail = 0;
    pelt_study *study;
    test_ok(&test, pelt_study_create(test.context, model, &study));
    uint32_t count;
    const double *errors = pelt_study_errors(study, &count);
    assert_true(count > 20 && count <= n + 1);
    for (size_t r = n + 1; r-- > 0;) {
        tail += r < n ? values[r] * values[r] : 0;
        double wanted = 1000 * sqrt(tail / (3.0 * clip->frame_count * clip->point_count));
        if (r < count)
            assert_true(fabs(errors[r] - wanted) <= 1e-6 * wanted + 1e-4);
        if (r == 1 || r == 7 || r == 20) {
            double stored =
                stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 1, (uint32_t)r, 10});
            assert_true(fabs(stored - wanted) <= 1e-3 * wanted); /* floats */
        }
    }
    free(values);
    pelt_study_destroy(study);
    pelt_model_destroy(model);
    test_end(&test);
}

static void svd_leaves_the_tail_of_singular_values(void **state) {
    (void)state;
    check_tail(200, 20); /* fewer numbers in a trajectory than points */
    check_tail(60, 40);  /* more */
}

/* ---- Clusters --------------------------------------------------------------------------------------------- */

/* A model of loose points with one clip in memory. */
static pelt_model *make_points(const test_context *test, uint32_t points, uint32_t frames, float **positions) {
    pelt_model *model;
    test_ok(test, pelt_model_create(test->context, &model));
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = points;
    mesh->positions = pelt_model_alloc(test->context, model, 3 * (size_t)points, sizeof(float));
    *positions = pelt_model_alloc(test->context, model, 3 * (size_t)points * frames, sizeof(float));
    float *times = pelt_model_alloc(test->context, model, frames, sizeof *times);
    model->clips = pelt_model_alloc(test->context, model, 1, sizeof *model->clips);
    assert_true(mesh->positions && *positions && times && model->clips);
    for (uint32_t k = 0; k < frames; k++)
        times[k] = (float)k;
    model->clips[0] = (pelt_clip){"made", frames, points, times, *positions, {0}};
    model->clip_count = 1;
    return model;
}

/* Two bodies whose points alternate, each with affine motions of its own. */
static pelt_model *make_two_bodies(const test_context *test, uint32_t points, uint32_t frames) {
    test_random random = {7};
    float *positions;
    pelt_model *model = make_points(test, points, frames, &positions);
    for (size_t e = 0; e < 3 * (size_t)points; e++)
        model->mesh.positions[e] = (float)test_random_real(&random, -1, 1);
    for (uint32_t k = 0; k < frames; k++) {
        double m[2][12];
        for (int n = 0; n < 24; n++)
            m[n / 12][n % 12] = test_random_real(&random, -1, 1);
        for (uint32_t i = 0; i < points; i++)
            for (int c = 0; c < 3; c++) {
                const float *p = model->mesh.positions + 3 * i;
                const double *row = m[i % 2] + 4 * c;
                positions[3 * ((size_t)k * points + i) + (size_t)c] =
                    (float)(row[0] * (double)p[0] + row[1] * (double)p[1] + row[2] * (double)p[2] + row[3]);
            }
    }
    return model;
}

static void clusters_find_bodies(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_two_bodies(&test, 60, 12);
    pelt_study *study;
    test_ok(&test, pelt_study_create(test.context, model, &study));
    const pelt_components *stored;
    test_ok(&test, pelt_study_components(study, &(pelt_components_desc){PELT_DESC_COOKIE, 2, 4, 100}, &stored));
    assert_true(error_of(&test, model, &stored->clip) < 1e-3);
    for (uint32_t i = 0; i < 60; i++)
        assert_int_equal(stored->clusters[i], stored->clusters[i % 2]);
    assert_int_not_equal(stored->clusters[0], stored->clusters[1]);
    assert_true(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 1, 4, 100}) > 10);
    assert_true(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 1, 8, 100}) < 1e-3);
    pelt_study_destroy(study);
    pelt_model_destroy(model);
    test_end(&test);
}

static void more_clusters_rounds_and_components_are_better(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, 300, 20);
    pelt_study *study;
    test_ok(&test, pelt_study_create(test.context, model, &study));
    double last = INFINITY;
    for (uint32_t rounds = 0; rounds < 12; rounds += 3) {
        double error = stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 6, 3, rounds});
        assert_true(error <= last * (1 + 1e-9));
        last = error;
    }
    assert_true(last < 0.95 * stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 6, 3, 0}));
    assert_true(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 6, 4, 9}) < last);
    assert_true(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 1, 3, 9}) > last);
    uint32_t points = model->mesh.points.count; /* one trajectory per point, even if many more are requested */
    assert_true(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, points, 1, 5}) < 1e-3);
    assert_true(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 5 * points, 500, 5}) < 1e-3);
    pelt_study_destroy(study);
    pelt_model_destroy(model);
    test_end(&test);
}

static void threads_change_nothing(void **state) {
    (void)state;
    float *coordinates[2];
    uint32_t *clusters[2];
    size_t numbers = 0, points = 0;
    for (int t = 0; t < 2; t++) {
        test_context test;
        test_begin(&test, t ? 4 : 1);
        pelt_model *model = make_scene(&test, 700, 10);
        pelt_study *study;
        const pelt_components *stored;
        test_ok(&test, pelt_study_create(test.context, model, &study));
        test_ok(&test, pelt_study_components(study, &(pelt_components_desc){PELT_DESC_COOKIE, 9, 3, 6}, &stored));
        points = stored->point_count;
        numbers = points * stored->component_count;
        coordinates[t] = malloc(numbers * sizeof(float));
        clusters[t] = malloc(points * sizeof(uint32_t));
        memcpy(coordinates[t], stored->coordinates, numbers * sizeof(float));
        memcpy(clusters[t], stored->clusters, points * sizeof(uint32_t));
        pelt_study_destroy(study);
        pelt_model_destroy(model);
        test_end(&test);
    }
    assert_memory_equal(coordinates[0], coordinates[1], numbers * sizeof(float));
    assert_memory_equal(clusters[0], clusters[1], points * sizeof(uint32_t));
    for (int t = 0; t < 2; t++) {
        free(coordinates[t]);
        free(clusters[t]);
    }
}

/* All points in one place that never moves, and a single point. */
static void still_points_need_nothing(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t points = 1; points < 4; points += 2) {
        float *positions;
        pelt_model *model = make_points(&test, points, 2, &positions);
        pelt_study *study;
        test_ok(&test, pelt_study_create(test.context, model, &study));
        assert_true(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, 2, 4, 3}) == 0);
        pelt_study_destroy(study);
        pelt_model_destroy(model);
    }
    test_end(&test);
}

/* ---- Spread bones ----------------------------------------------------------------------------------------- */

static double distance(const float *a, const float *b) {
    return hypot(hypot((double)a[0] - (double)b[0], (double)a[1] - (double)b[1]), (double)a[2] - (double)b[2]);
}

static void spread_bones_are_even(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    pelt_model *model = make_scene(&test, 400, 3);
    test_ok(&test, pelt_study_spread(test.context, model, 12, 4));
    test_ok(&test, pelt_model_validate(test.context, model));
    assert_int_equal(model->skin.bone_count, 12);
    const pelt_transform *joints = model->skeleton.rest;
    double between = INFINITY, farthest = 0;
    for (uint32_t a = 0; a < 12; a++)
        for (uint32_t b = 0; b < a; b++)
            between = fmin(between, distance(joints[a].translation, joints[b].translation));
    for (uint32_t i = 0; i < model->mesh.vertex_count; i++) {
        const float *p = model->mesh.positions + 3 * i;
        double nearest = INFINITY;
        uint32_t bone = 0;
        for (uint32_t j = 0; j < 12; j++)
            if (distance(p, joints[j].translation) < nearest) {
                nearest = distance(p, joints[j].translation);
                bone = j;
            }
        assert_int_equal(model->skin.bones[4 * i], bone);
        assert_true(model->skin.weights[4 * i] < 1);
        farthest = fmax(farthest, nearest);
    }
    assert_true(farthest <= between); /* no vertex is farther from the bones than they are from each other */
    test_ok(&test, pelt_study_spread(test.context, model, 4000, 8));
    test_ok(&test, pelt_model_validate(test.context, model)); /* no more bones than positions */
    assert_true(model->skin.bone_count <= model->mesh.vertex_count && model->skin.bone_count > 300);
    pelt_model_destroy(model);
    test_end(&test);
}

/* Frames of this skin when each bone moves by some affine transform. */
static void move_by_skin(const pelt_model *model, float *positions, uint32_t frames) {
    test_random random = {11};
    const pelt_skin *skin = &model->skin;
    pelt_affine *palette = malloc(skin->bone_count * sizeof *palette);
    for (uint32_t k = 0; k < frames; k++) {
        for (uint32_t j = 0; j < skin->bone_count; j++)
            for (int e = 0; e < 12; e++)
                palette[j].m[e] = (float)test_random_real(&random, -0.5, 0.5) + (e % 5 == 0 ? 1 : 0);
        pelt_skin_job job = {.vertex_count = model->mesh.vertex_count,
                             .influence_count = skin->influence_count,
                             .bones = skin->bones,
                             .weights = skin->weights,
                             .palette = palette,
                             .positions = model->mesh.positions,
                             .out_positions = positions + 3 * (size_t)model->mesh.vertex_count * k};
        pelt_skin_run(&job);
    }
    free(palette);
}

/* The least-squares step of the second half, as documented in the header. */
static pelt_result find_transforms(pelt_context *context, pelt_model *model) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.rig = model;
    desc.given_weights = desc.fixed_rest = true;
    desc.key_tolerance = 0;
    return pelt_decompose(context, model, &desc, NULL);
}

static double played_error(const test_context *test, pelt_model *model) {
    const pelt_clip *clip = model->clips;
    pelt_clip played;
    test_ok(test, pelt_clip_from_motion_at(test->context, model, model->motions, clip->times, clip->frame_count,
                                           PELT_SKINNING_LINEAR, &played));
    return error_of(test, model, &played);
}

static void spread_bones_find_an_exact_skin(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    test_random random = {5};
    float *positions;
    pelt_model *model = make_points(&test, 300, 6, &positions);
    for (size_t e = 0; e < 900; e++)
        model->mesh.positions[e] = (float)test_random_real(&random, -1, 1);
    test_ok(&test, pelt_study_spread(test.context, model, 7, 4));
    move_by_skin(model, positions, 6);
    test_ok(&test, find_transforms(test.context, model));
    assert_true(played_error(&test, model) < 0.01);
    test_ok(&test, pelt_study_spread(test.context, model, 6, 4)); /* fewer bones cannot reproduce it */
    test_ok(&test, find_transforms(test.context, model));
    assert_true(played_error(&test, model) > 1);
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Failures --------------------------------------------------------------------------------------------- */

static pelt_result study_all(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model;
    scene_desc desc = {.vertex_count = 60, .frame_count = 4, .seed = 3};
    pelt_result result = scene_find("tube")->make(context, &desc, &model);
    if (result != PELT_OK)
        return result;
    pelt_clip clip;
    pelt_study *study = NULL;
    const pelt_components *stored;
    result = pelt_clip_from_motion(context, model, model->motions, 10, PELT_SKINNING_LINEAR, &clip);
    model->clips = &clip;
    model->clip_count = 1;
    if (result == PELT_OK)
        result = pelt_study_create(context, model, &study);
    if (result == PELT_OK)
        result = pelt_study_components(study, &(pelt_components_desc){PELT_DESC_COOKIE, 3, 2, 2}, &stored);
    model->clip_count = 0;
    uint32_t bones = model->skin.bone_count;
    if (result == PELT_OK && (result = pelt_study_spread(context, model, 5, 3)) != PELT_OK)
        assert_int_equal(model->skin.bone_count, bones); /* unchanged */
    pelt_study_destroy(study);
    pelt_model_destroy(model);
    return result;
}

static void failing_allocations_leave_nothing(void **state) {
    (void)state;
    test_fail_each_allocation(2, study_all, NULL);
}

static void cancelled_anywhere(void **state) {
    (void)state;
    uint64_t at = 1;
    for (bool reached = true; reached; at += 1 + at / 4) {
        test_context test;
        test_begin(&test, 2);
        atomic_store(&test.cancel_at, at);
        pelt_result result = study_all(test.context, NULL);
        reached = result == PELT_ERROR_CANCELLED;
        assert_true(reached || result == PELT_OK);
        test_end(&test);
    }
    assert_true(at > 10);
}

static void wrong_inputs_are_reported(void **state) {
    (void)state;
    test_context test;
    pelt_context *context = test_begin(&test, 2);
    float *positions;
    pelt_model *model = make_points(&test, 5, 4, &positions);
    pelt_study *study;
    for (int frame = 0; frame < 4; frame += 2) {
        positions[15 * frame + 7] = NAN;
        test_fails(&test, pelt_study_create(context, model, &study), PELT_ERROR_INPUT, frame ? "frame 2, point 2" : "");
        assert_null(study);
        positions[15 * frame + 7] = 0;
    }
    test_ok(&test, pelt_study_create(context, model, &study));
    const pelt_components *stored;
    test_fails(&test, pelt_study_components(study, &(pelt_components_desc){PELT_DESC_COOKIE, 0, 4, 1}, &stored),
               PELT_ERROR_USAGE, "clusters is 0");
    test_fails(&test, pelt_study_components(study, &(pelt_components_desc){PELT_DESC_COOKIE, 1, 0, 1}, &stored),
               PELT_ERROR_USAGE, "components is 0");
    pelt_study_destroy(study);
    test_fails(&test, pelt_study_spread(context, model, 0, 4), PELT_ERROR_USAGE, "from 1 to");
    test_fails(&test, pelt_study_spread(context, model, 4, 9), PELT_ERROR_USAGE, "from 1 to");
    model->clips[0].frame_count = 3000;
    model->mesh.points.count = 5000;
    test_fails(&test, pelt_study_create(context, model, &study), PELT_ERROR_UNSUPPORTED, "up to 1365 frames");
    model->clip_count = 0;
    test_fails(&test, pelt_study_create(context, model, &study), PELT_ERROR_INPUT, "no animation");
    model->mesh.vertex_count = model->mesh.points.count = 0;
    test_fails(&test, pelt_study_spread(context, model, 4, 4), PELT_ERROR_INPUT, "no mesh");
    pelt_model_destroy(model);
    test_end(&test);
}

/* ---- Published figures ------------------------------------------------------------------------------------ */

/* E_rms of FESAM's Table 2. */
typedef struct published {
    const char *mesh, *cache;
    uint32_t bones;
    double cpca, sad;
    bool sad_is_better; /* see docs/study.md */
} published;

static void near(double value, double wanted, bool may_be_better) {
    if (value > 1.15 * wanted || (value < 0.85 * wanted && !may_be_better))
        fail_msg("E_rms is %g; %g is published", value, wanted);
}

static void published_figures_are_met(void **state) {
    (void)state;
    static const published rows[] = {
        {"bench/horse-gallop.obj", "bench/horse-gallop.pc2", 30, 2.4, 4.9, false},
        {"bench/elastic-cow.obj", "bench/elastic-cow.pc2", 18, 7.3, 16, true},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char mesh[1024], cache[1024];
        test_data(mesh, rows[r].mesh);
        test_data(cache, rows[r].cache);
        test_context test;
        pelt_context *context = test_begin(&test, 2);
        const char *paths[] = {mesh, cache};
        pelt_model *model;
        pelt_study *study;
        test_ok(&test, pelt_load(context, paths, 2, NULL, &model));
        test_ok(&test, pelt_study_create(context, model, &study));
        near(stored_error(&test, model, study, (pelt_components_desc){PELT_DESC_COOKIE, rows[r].bones, 4, 10}),
             rows[r].cpca, false);
        pelt_study_destroy(study);
        test_ok(&test, pelt_study_spread(context, model, rows[r].bones, 4));
        test_ok(&test, find_transforms(context, model));
        near(played_error(&test, model), rows[r].sad, rows[r].sad_is_better);
        pelt_model_destroy(model);
        test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svd_leaves_the_tail_of_singular_values),
        cmocka_unit_test(clusters_find_bodies),
        cmocka_unit_test(more_clusters_rounds_and_components_are_better),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(still_points_need_nothing),
        cmocka_unit_test(spread_bones_are_even),
        cmocka_unit_test(spread_bones_find_an_exact_skin),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(cancelled_anywhere),
        cmocka_unit_test(wrong_inputs_are_reported),
        cmocka_unit_test(published_figures_are_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
