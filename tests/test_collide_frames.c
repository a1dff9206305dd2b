/* All frames of two moving bodies on any number of threads; memory; empty and non-finite input. */
#include "collide_models.h"

#include <math.h>

/* ---- Frames ----------------------------------------------------------------------------------------------- */

#define FRAMES 40u

typedef struct collide_run {
    pelt_model *models[2];
    uint32_t side_count;
    pelt_contacts frames[FRAMES];
    uint32_t pairs[FRAMES][4][2];
} collide_run;

static pelt_result run_collide(pelt_context *context, void *user) {
    collide_run *run = user;
    float times[FRAMES];
    pelt_mover movers[2];
    for (uint32_t k = 0; k < FRAMES; k++) {
        times[k] = (float)k / 30;
        run->frames[k] = (pelt_contacts){.pairs = run->pairs[k]};
    }
    for (uint32_t s = 0; s < 2; s++)
        movers[s] = (pelt_mover){.model = run->models[s],
                                 .frame_count = FRAMES - 10 * s,
                                 .times = times,
                                 .motion = run->models[s]->motions,
                                 .offset = {0.3f * (float)s, 0, 0}};
    return pelt_collide(context, &movers[0], run->side_count == 2 ? &movers[1] : NULL, 4, run->frames);
}

static collide_run make_run(test_context *test, uint32_t side_count) {
    collide_run run = {.models = {make_model(test, "tube", 300), make_model(test, "morph", 200)},
                       .side_count = side_count};
    return run;
}

static void free_run(const collide_run *run) {
    pelt_model_destroy(run->models[0]);
    pelt_model_destroy(run->models[1]);
}

/* Frames equal those of bodies posed one by one, also by positions, for any number of threads. */
static void test_frames(void **state) {
    (void)state;
    for (uint32_t sides = 1; sides <= 2; sides++) {
        collide_run runs[2];
        for (uint32_t n = 0; n < 2; n++) {
            test_context test;
            test_begin(&test, 1 + 2 * n);
            runs[n] = make_run(&test, sides);
            test_ok(&test, run_collide(test.context, &runs[n]));
            free_run(&runs[n]);
            test_end(&test);
        }
        uint64_t sum = 0;
        for (uint32_t k = 0; k < FRAMES; k++) {
            const pelt_contacts *one = &runs[0].frames[k], *more = &runs[1].frames[k];
            assert_int_equal(one->pair_count, more->pair_count);
            assert_int_equal(one->triangle_count[0], more->triangle_count[0]);
            assert_int_equal(one->triangle_count[1], more->triangle_count[1]);
            assert_true(one->opened == more->opened && one->opened > 0 && one->opened <= 1);
            assert_int_equal(one->listed_count, one->pair_count < 4 ? one->pair_count : 4);
            assert_true(sides == 2 || one->triangle_count[1] == 0);
            sum += one->pair_count;
        }
        assert_memory_equal(runs[0].pairs, runs[1].pairs, sizeof runs[0].pairs);
        assert_true(sum > 100);
    }
}

static void test_clips(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 2);
    collide_run run = make_run(&test, 2);
    pelt_clip clips[2];
    pelt_mover movers[2];
    pelt_contacts by_motion[10], by_clip[10];
    memset(by_clip, 0, sizeof by_clip);
    memset(by_motion, 0, sizeof by_motion);
    for (uint32_t s = 0; s < 2; s++) {
        float times[10];
        for (int k = 0; k < 10; k++)
            times[k] = 0.1f * (float)k;
        test_ok(&test, pelt_clip_from_motion_at(test.context, run.models[s], run.models[s]->motions, times, 10,
                                                PELT_SKINNING_LINEAR, &clips[s]));
        movers[s] = (pelt_mover){run.models[s], 10, clips[s].times, run.models[s]->motions, NULL, {0}};
    }
    test_ok(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_motion));
    for (uint32_t s = 0; s < 2; s++)
        movers[s].clip = &clips[s];
    test_ok(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_clip));
    for (int k = 0; k < 10; k++) {
        assert_true(by_motion[k].pair_count > 0);
        assert_int_equal(by_motion[k].pair_count, by_clip[k].pair_count);
        assert_true(by_motion[k].opened < 1);
        assert_true(by_clip[k].opened == 1); /* refitting the spheres needs every vertex */
    }
    movers[1].frame_count = 9;
    test_fails(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_clip), PELT_ERROR_USAGE, "frames");
    movers[1] = (pelt_mover){.model = run.models[1]};
    test_fails(&test, pelt_collide(test.context, &movers[0], &movers[1], 0, by_clip), PELT_ERROR_USAGE, "no frame");
    free_run(&run);
    test_end(&test);
}

static void test_cancel_frames(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    collide_run run = make_run(&test, 2);
    atomic_store(&test.cancel_at, atomic_load(&test.asked) + 3);
    assert_int_equal(run_collide(test.context, &run), PELT_ERROR_CANCELLED);
    free_run(&run);
    test_end(&test);
}

/* ---- Memory, empty and non-finite input ------------------------------------------------------------------- */

static void test_memory(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    collide_run run = make_run(&test, 2);
    test_fail_each_allocation(1, run_collide, &run);
    test_fail_some_allocations(2, 40, run_collide, &run);
    free_run(&run);

    /* Setting poses and running queries do not allocate. */
    subject s = make_subject(&test, "morph", 400);
    uint64_t before = pelt_context_memory(test.context).count;
    for (int k = 0; k < 20; k++) {
        pelt_body_point point;
        pair_marks marks = {calloc(s.model->mesh.triangle_count, s.model->mesh.triangle_count),
                            s.model->mesh.triangle_count, 0, 0};
        pelt_body_motion(s.body, &s.model->motions[0], 0.1f * (float)k);
        assert_int_equal(pelt_body_query_stats(s.body).ball_count, 0);
        assert_true(pelt_body_ray(s.body, &(pelt_ray){{9, 9, 9}, {-9, -9, -9}, INFINITY}, &point) ||
                    pelt_body_nearest(s.body, (float[3]){9, 9, 9}, INFINITY, &point));
        pelt_body_stats work = pelt_body_query_stats(s.body);
        assert_true(work.ball_count > 0 && work.ball_count < work.node_count);
        assert_true(work.open_count > 0 && work.open_count < work.leaf_count);
        pelt_body_pairs(s.body, s.body, mark_pair, &marks);
        free(marks.hit);
    }
    assert_int_equal(pelt_context_memory(test.context).count, before);
    free_subject(&s);
    test_end(&test);
}

static void check_nothing(pelt_body *body) {
    pelt_body_point point;
    pair_marks marks = {NULL, 0, 0, 0};
    subject none = {0};
    assert_false(pelt_body_ray(body, &(pelt_ray){{0, 0, 9}, {0, 0, -1}, INFINITY}, &point));
    assert_false(pelt_body_nearest(body, (float[3]){0, 0, 0}, INFINITY, &point));
    pelt_body_sphere(body, (float[3]){0, 0, 0}, INFINITY, mark, &none);
    pelt_body_pairs(body, body, mark_pair, &marks);
}

static void test_nothing(void **state) {
    (void)state;
    test_context test;
    test_begin(&test, 1);
    for (uint32_t vertices = 0; vertices <= 60; vertices += 60) {
        subject s = make_subject(&test, NULL, vertices);
        pelt_affine palette[7];
        if (vertices == 0)
            check_nothing(s.body);
        for (int way = 0; way < 3; way++) {
            for (int e = 0; e < 84; e++)
                palette[e / 12].m[e % 12] = way == 0 ? NAN : way == 1 ? INFINITY : 3e38f;
            pelt_body_palette(s.body, palette, (float[3]){1, 1, 1});
            check_nothing(s.body);
        }
        free_subject(&s);
    }
    /* A non-finite bone affects only its own vertices. */
    subject s = make_subject(&test, "creature", 300);
    pelt_body_point point;
    pelt_affine *palette = malloc(s.tree->bone_count * sizeof *palette);
    memcpy(palette, s.body->palette, s.tree->bone_count * sizeof *palette);
    palette[s.tree->bone_count - 1].m[5] = NAN;
    pelt_body_palette(s.body, palette, NULL);
    assert_true(pelt_body_nearest(s.body, (float[3]){0, 0, 0}, INFINITY, &point));
    free(palette);
    free_subject(&s);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames), cmocka_unit_test(test_clips),   cmocka_unit_test(test_cancel_frames),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
