/* Baking: equal to live stepping, at any frame rate, and seamless loops. On a small troll. */
#include "support.h"

#include "scenes.h"

#include <math.h>

typedef struct baked {
    test_context test;
    pelt_model *model;
    pelt_jiggle_desc desc;
    pelt_jiggle_bake_desc how;
    pelt_clip clip;
    pelt_jiggle_bake_report report;
} baked;

static pelt_model *make_troll(pelt_context *context, uint32_t vertex_count, uint32_t frame_count) {
    pelt_model *model;
    scene_desc desc = {.vertex_count = vertex_count, .frame_count = frame_count};
    return scene_find("troll")->make(context, &desc, &model) == PELT_OK ? model : NULL;
}

static void begin(baked *b, uint32_t thread_count) {
    *b = (baked){.desc = pelt_jiggle_desc_default(), .how = pelt_jiggle_bake_desc_default()};
    b->desc.particles = 300;
    b->desc.softness = PELT_JIGGLE_SOFTNESS_EVEN;
    b->how.preroll = 0.1;
    test_begin(&b->test, thread_count);
    b->model = make_troll(b->test.context, 600, 31);
    assert_non_null(b->model);
}

static void bake(baked *b) {
    test_ok(&b->test,
            pelt_jiggle_bake(b->test.context, b->model, b->model->motions, &b->desc, &b->how, &b->clip, &b->report));
}

static void end(baked *b) {
    pelt_model_destroy(b->model);
    test_end(&b->test);
}

static const float *frame_of(const baked *b, uint32_t frame) {
    return b->clip.positions + (size_t)3 * b->clip.point_count * frame;
}

/* The largest difference of coordinates. */
static double difference(const float *a, const float *b, uint32_t point_count) {
    double largest = 0;
    for (size_t e = 0; e < (size_t)3 * point_count; e++)
        largest = fmax(largest, fabs((double)a[e] - (double)b[e]));
    return largest;
}

static void the_clip_is_that_of_the_motion(void **state) {
    (void)state;
    baked b;
    begin(&b, 1);
    bake(&b);
    assert_string_equal(b.clip.name, "bounce");
    assert_int_equal(b.clip.frame_count, 31);
    assert_int_equal(b.clip.point_count, b.model->mesh.points.count);
    assert_float_equal(b.clip.times[30], b.model->motions[0].end, 1e-6);
    assert_true(b.report.fps == 30 && b.report.turns == 0);
    assert_true(b.report.farthest > 0.005 && b.report.farthest < 0.5);
    assert_true(b.report.jiggle.particle_count > 100 && b.report.jiggle.volume_count > 5);
    pelt_clip swinging = b.clip;
    pelt_jiggle_bake_report report = b.report;
    b.desc.delta = 0;
    bake(&b);
    assert_true(b.report.farthest == 0);
    const float *at = frame_of(&b, report.farthest_frame) + 3 * report.farthest_vertex;
    const float *from = swinging.positions + (at - b.clip.positions);
    double far = sqrt(pow((double)at[0] - (double)from[0], 2) + pow((double)at[1] - (double)from[1], 2) +
                      pow((double)at[2] - (double)from[2], 2));
    assert_float_equal(far, report.farthest, 1e-6);
    /* The rest pose is a clip of one frame. */
    test_ok(&b.test, pelt_jiggle_bake(b.test.context, b.model, NULL, &b.desc, &b.how, &b.clip, NULL));
    assert_int_equal(b.clip.frame_count, 1);
    end(&b);
}

/* Live steps of one substep give the same bits. */
static void live_stepping_is_the_same(void **state) {
    (void)state;
    baked b;
    begin(&b, 2);
    b.how.preroll = 0;
    bake(&b);
    pelt_jiggle *live;
    test_ok(&b.test, pelt_jiggle_create(b.test.context, b.model, &b.desc, &live));
    const pelt_motion *motion = b.model->motions;
    pelt_transform *locals = malloc(b.model->skeleton.joint_count * sizeof *locals);
    float *positions = malloc((size_t)b.clip.point_count * 12);
    for (uint32_t n = 0; n <= 240; n++) {
        pelt_motion_sample(b.model, motion, (float)((double)motion->start + n * b.desc.substep), locals, NULL);
        pelt_jiggle_set_pose(live, locals);
        if (n > 0)
            pelt_jiggle_step(live, b.desc.substep);
        if (n % 8 != 0)
            continue;
        pelt_jiggle_positions(live, positions, NULL);
        if (memcmp(positions, frame_of(&b, n / 8), (size_t)b.clip.point_count * 12) != 0)
            fail_msg("frame %u differs by %g", n / 8, difference(positions, frame_of(&b, n / 8), b.clip.point_count));
    }
    free(locals);
    free(positions);
    pelt_jiggle_destroy(live);
    end(&b);
}

/* The frame rate does not affect the simulation: rates agree at common times. */
static void any_rate_shows_the_same_motion(void **state) {
    (void)state;
    static const struct {
        double fps;
        uint32_t every; /* frame at which both have the 10-per-second time … */
        double most;    /* … and the allowed difference, relative to the amplitude */
    } rates[] = {{30, 1, 1e-4}, {60, 1, 1e-4}, {120, 1, 1e-4}, {240, 1, 1e-4},
                 {70, 1, 0.02}, {25, 2, 0.02}, {1000, 1, 0.02}};
    baked b;
    begin(&b, 1);
    b.how.fps = 10;
    bake(&b);
    pelt_clip slow = b.clip;
    double amplitude = b.report.farthest;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        b.how.fps = rates[r].fps;
        bake(&b);
        for (uint32_t k = 0; k < slow.frame_count; k += rates[r].every) {
            const float *other = frame_of(&b, (uint32_t)lround(k * rates[r].fps / 10));
            double off =
                difference(slow.positions + (size_t)3 * k * slow.point_count, other, slow.point_count) / amplitude;
            if (!(off <= rates[r].most))
                fail_msg("%g frames per second: frame %u is off by %g of the amplitude", rates[r].fps, k, off);
        }
    }
    end(&b);
}

static void loops_have_no_seam(void **state) {
    (void)state;
    static const double rates[] = {30, 7.3};
    for (int r = 0; r < 2; r++) {
        baked b;
        begin(&b, 1);
        b.how.loop = true;
        b.how.fps = rates[r];
        pelt_model_destroy(b.model);
        assert_non_null(b.model = make_troll(b.test.context, 600, 61)); /* a whole cycle */
        bake(&b);
        uint32_t last = b.clip.frame_count - 1;
        assert_int_equal(last, (uint32_t)lround(2 * rates[r]));
        assert_float_equal(b.report.fps, last / 2.0, 1e-6);
        assert_memory_equal(frame_of(&b, 0), frame_of(&b, last), (size_t)b.clip.point_count * 12);
        /* The simulation converged to a cycle: hardly any blending was needed. */
        assert_true(b.report.turns >= 2 && b.report.turns < 20);
        assert_true(b.report.seam < 0.01 * b.report.farthest);
        end(&b);
    }
    baked b;
    begin(&b, 1); /* half a cycle */
    pelt_model_destroy(b.model);
    assert_non_null(b.model = make_troll(b.test.context, 600, 20));
    b.how.loop = true;
    test_fails(&b.test,
               pelt_jiggle_bake(b.test.context, b.model, b.model->motions, &b.desc, &b.how, &b.clip, &b.report),
               PELT_ERROR_INPUT, "no cycle");
    assert_null(b.clip.positions);
    end(&b);
}

typedef struct change {
    double last;
    uint32_t calls;
} change;

/* All tissue is pinned after half a second. */
static void hold(void *user, double time, pelt_jiggle *jiggle) {
    change *c = user;
    assert_true(time >= c->last);
    c->last = time;
    c->calls++;
    pelt_jiggle_joint joints[64];
    for (uint32_t j = 0; j < 21; j++) {
        joints[j] = pelt_jiggle_joint_default(j);
        joints[j].pin = time > 0.5 ? 1 : 0;
    }
    pelt_jiggle_set_values(jiggle, joints, 21, NULL);
}

static void values_change(void **state) {
    (void)state;
    baked b;
    begin(&b, 1);
    bake(&b);
    pelt_clip free_clip = b.clip;
    change c = {0};
    b.how.at = hold;
    b.how.user = &c;
    bake(&b);
    assert_int_equal(c.calls, 24 + 240);
    assert_float_equal(c.last, 1, 1e-9);
    assert_memory_equal(b.clip.positions, free_clip.positions, (size_t)b.clip.point_count * 12 * 15);
    b.desc.delta = 0;
    pelt_clip held = b.clip;
    b.how.at = NULL;
    bake(&b); /* only skinning and volume preservation */
    assert_true(difference(held.positions + (size_t)90 * b.clip.point_count, frame_of(&b, 30), b.clip.point_count) <
                1e-6);
    assert_true(
        difference(free_clip.positions + (size_t)90 * b.clip.point_count, frame_of(&b, 30), b.clip.point_count) > 1e-3);
    end(&b);
}

static void threads_change_nothing(void **state) {
    (void)state;
    baked one, three;
    begin(&one, 1);
    begin(&three, 3);
    bake(&one);
    bake(&three);
    assert_memory_equal(one.clip.positions, three.clip.positions, (size_t)31 * one.clip.point_count * 12);
    end(&one);
    end(&three);
}

static pelt_result bake_small(pelt_context *context, void *user) {
    (void)user;
    pelt_model *model = make_troll(context, 100, 4);
    if (!model)
        return PELT_ERROR_MEMORY;
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    pelt_jiggle_bake_desc how = pelt_jiggle_bake_desc_default();
    desc.particles = 60;
    how.preroll = 0;
    pelt_clip clip;
    pelt_jiggle_bake_report report;
    pelt_result result = pelt_jiggle_bake(context, model, model->motions, &desc, &how, &clip, &report);
    if (result != PELT_OK) {
        assert_null(clip.positions);
        assert_int_equal(clip.frame_count, 0);
    }
    pelt_model_destroy(model);
    return result;
}

static void failures_leave_nothing(void **state) {
    (void)state;
    test_fail_some_allocations(1, 16, bake_small, NULL);
    baked b;
    begin(&b, 1);
    atomic_store(&b.test.asked, 0);
    bake(&b);
    uint64_t asked = atomic_load(&b.test.asked);
    assert_true(asked > 10 && b.test.progress_count > 10);
    atomic_store(&b.test.asked, 0);
    atomic_store(&b.test.cancel_at, asked - 5);
    assert_int_equal(pelt_jiggle_bake(b.test.context, b.model, b.model->motions, &b.desc, &b.how, &b.clip, NULL),
                     PELT_ERROR_CANCELLED);
    assert_null(b.clip.positions);
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clip_is_that_of_the_motion),
        cmocka_unit_test(live_stepping_is_the_same),
        test_long(any_rate_shows_the_same_motion),
        test_long(loops_have_no_seam),
        cmocka_unit_test(values_change),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
