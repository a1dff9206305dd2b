/* run/motion.c: parts of motions, and cycles without their last key. */
#include "support.h"

#include "scenes.h"

#include <pelt/run.h>

#include <math.h>
#include <string.h>

static pelt_model *make_troll(pelt_context *context) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = 300, .frame_count = 61};
    return scene_find("troll")->make(context, &desc, &model) == PELT_OK ? model : NULL;
}

/* The largest difference between local transforms of one motion and of another `shift` seconds later. */
static double difference(const pelt_model *model, const pelt_motion *a, const pelt_motion *b, double shift) {
    uint32_t count = model->skeleton.joint_count;
    pelt_transform *p = test_malloc(2 * count * sizeof *p), *q = p + count;
    double most = 0;
    for (int n = 0; n <= 50; n++) {
        double time = (double)a->start + ((double)a->end - (double)a->start) * n / 50;
        pelt_motion_sample(model, a, (float)time, p, NULL);
        pelt_motion_sample(model, b, (float)(time + shift), q, NULL);
        for (uint32_t j = 0; j < count; j++) {
            double dot = 0;
            for (int c = 0; c < 3; c++)
                most = fmax(most, fabs((double)p[j].translation[c] - (double)q[j].translation[c]));
            for (int c = 0; c < 4; c++)
                dot += (double)p[j].rotation[c] * (double)q[j].rotation[c];
            most = fmax(most, 1 - fabs(dot));
        }
    }
    test_free(p);
    return most;
}

/* All tracks end with the motion. */
static void check_ends(const pelt_motion *motion) {
    for (uint32_t t = 0; t < motion->track_count; t++) {
        const pelt_track *track = &motion->tracks[t];
        assert_true(track->times[0] == motion->start);
        assert_true(track->key_count == 1 || track->times[track->key_count - 1] == motion->end);
        for (uint32_t k = 1; k < track->key_count; k++)
            assert_true(track->times[k] > track->times[k - 1]);
    }
}

static void parts_move_alike(void **state) {
    (void)state;
    static const double parts[][2] = {{0, 1}, {0.5, 1}, {0.31, 0.708333}, {0.5, 99}, {0.2, 0.2}};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_troll(test.context);
    assert_non_null(model);
    for (size_t n = 0; n < sizeof parts / sizeof parts[0]; n++) {
        const pelt_motion *motion = model->motions;
        pelt_motion part;
        double end = fmin(parts[n][1], (double)motion->end - (double)motion->start);
        test_ok(&test, pelt_motion_part(test.context, model, motion, parts[n][0], parts[n][1], &part));
        assert_true(part.start == motion->start);
        assert_true(fabs((double)part.end - (double)part.start - (end - parts[n][0])) < 1e-6);
        check_ends(&part);
        assert_true(difference(model, &part, motion, parts[n][0]) < 1e-5);
    }
    pelt_motion part;
    test_ok(&test, pelt_motion_part(test.context, model, model->motions, 0, 99, &part));
    assert_memory_equal(&part, model->motions, sizeof part);
    test_fails(&test, pelt_motion_part(test.context, model, model->motions, 5, 6, &part), PELT_ERROR_USAGE,
               "nothing of motion");
    pelt_model_destroy(model);
    test_end(&test);
}

static void all_interpolations(void **state) {
    (void)state;
    const float times[] = {0, 0.4f, 1}, steps[] = {0, 0, 0, 1, 2, 3, 4, 5, 6};
    const float cubic[] = {0, 0, 0, 0, 0, 0, 3, 1, 0, 1, 1, 1, 1, 2, 3, -1, 0, 2, 0, 0, 1, 4, 5, 6, 0, 0, 0};
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_troll(test.context);
    assert_non_null(model);
    for (int kind = 0; kind < 2; kind++) {
        pelt_track track = {
            0,     PELT_PATH_TRANSLATION, kind ? PELT_INTERPOLATION_CUBIC : PELT_INTERPOLATION_STEP, 3, 3,
            times, kind ? cubic : steps};
        pelt_motion motion = {.name = "one", .start = 0, .end = 1, .track_count = 1, .tracks = &track}, part;
        test_ok(&test, pelt_motion_part(test.context, model, &motion, 0.3, 0.7, &part));
        check_ends(&part);
        assert_true(difference(model, &part, &motion, 0.3) < 1e-5);
    }
    pelt_model_destroy(model);
    test_end(&test);
}

/* The troll's hop is a cycle; without its last key it is one frame shorter. */
static void missing_keys_are_added(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_troll(test.context);
    assert_non_null(model);
    const pelt_motion *motion = model->motions;
    pelt_motion open, closed;
    double lasts = (double)motion->end - (double)motion->start, added;
    test_ok(&test, pelt_motion_close(test.context, model, motion, &closed, &added));
    assert_true(added == 0);
    assert_memory_equal(&closed, motion, sizeof closed);
    test_ok(&test, pelt_motion_part(test.context, model, motion, 0, lasts - 1.0 / 30, &open));
    test_ok(&test, pelt_motion_close(test.context, model, &open, &closed, &added));
    assert_true(fabs(added - 1.0 / 30) < 1e-5 && fabs((double)closed.end - (double)motion->end) < 1e-5);
    check_ends(&closed);
    assert_true(difference(model, &closed, motion, 0) < 1e-4);
    /* A motion that ends in another pose is not a cycle. */
    test_ok(&test, pelt_motion_part(test.context, model, motion, 0, 0.3, &open));
    test_ok(&test, pelt_motion_close(test.context, model, &open, &closed, &added));
    assert_true(added == 0 && closed.end == open.end);
    pelt_model_destroy(model);
    test_end(&test);
}

static pelt_result cut_and_close(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model = make_troll(context);
    pelt_motion open, closed;
    double added;
    pelt_result result = model ? PELT_OK : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = pelt_motion_part(context, model, model->motions, 0, 2 - 1.0 / 30, &open);
    if (result == PELT_OK)
        result = pelt_motion_close(context, model, &open, &closed, &added);
    pelt_model_destroy(model);
    return result;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(1, cut_and_close, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_move_alike),
        cmocka_unit_test(all_interpolations),
        cmocka_unit_test(missing_keys_are_added),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
