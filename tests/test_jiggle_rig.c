/* Simulation applied to a rig: clips, helper bones, morph targets, motions of other skeletons, failures. */
#include "support.h"

#include "scenes.h"

typedef struct rig_test {
    test_context test;
    pelt_model *model;
    pelt_jiggle_desc jiggle;
    pelt_jiggle_bake_desc bake;
    pelt_jiggle_simulate_desc desc; /* with the two above */
    pelt_jiggle_simulate_report report;
} rig_test;

static pelt_result make_troll(pelt_context *context, pelt_model **model) {
    return scene_find("troll")->make(context, &(scene_desc){.vertex_count = 500, .frame_count = 13}, model);
}

static void settings(rig_test *t) {
    t->jiggle = pelt_jiggle_desc_default();
    t->jiggle.particles = 200;
    t->jiggle.softness = PELT_JIGGLE_SOFTNESS_EVEN;
    t->bake = pelt_jiggle_bake_desc_default();
    t->bake.preroll = 0.1;
    t->desc = pelt_jiggle_simulate_desc_default();
    t->desc.jiggle = &t->jiggle;
    t->desc.bake = &t->bake;
}

static void begin(rig_test *t) {
    settings(t);
    test_begin(&t->test, 1);
    test_ok(&t->test, make_troll(t->test.context, &t->model));
}

static void end(rig_test *t) {
    pelt_model_destroy(t->model);
    test_end(&t->test);
}

static void simulate(rig_test *t) {
    test_ok(&t->test, pelt_jiggle_simulate(t->test.context, t->model, &t->desc, &t->report));
}

/* E_rms of the model's first clip against its motion. */
static double error_of(rig_test *t, uint32_t motion) {
    pelt_clip played;
    pelt_difference difference;
    const pelt_clip *clip = &t->model->clips[0];
    test_ok(&t->test, pelt_clip_from_motion_at(t->test.context, t->model, &t->model->motions[motion], clip->times,
                                               clip->frame_count, PELT_SKINNING_LINEAR, &played));
    test_ok(&t->test, pelt_compare_clips(t->test.context, clip, &played, NULL, &difference, NULL));
    return difference.error_rms;
}

static void clips_are_those_of_the_bake(void **state) {
    (void)state;
    rig_test t;
    begin(&t);
    pelt_clip wanted;
    test_ok(&t.test,
            pelt_jiggle_bake(t.test.context, t.model, &t.model->motions[0], &t.jiggle, &t.bake, &wanted, NULL));
    for (int again = 0; again < 2; again++) { /* the clips of the first run are replaced */
        simulate(&t);
        assert_true(t.model->clip_count == 1 && t.report.clip_count == 1 && t.report.motions[0] == 0);
        assert_true(t.report.added[0] == 0 && t.report.bakes[0].farthest > 0);
        const pelt_clip *clip = &t.model->clips[0];
        assert_int_equal(clip->frame_count, wanted.frame_count);
        assert_memory_equal(clip->positions, wanted.positions, (size_t)12 * wanted.frame_count * wanted.point_count);
    }
    assert_int_equal(t.model->changed & PELT_CHANGED_MOTIONS, 0);
    end(&t);
}

static void parts_replace_motions(void **state) {
    (void)state;
    rig_test t;
    begin(&t);
    t.desc.from = 0.1;
    t.desc.to = 0.3;
    simulate(&t);
    const pelt_motion *motion = &t.model->motions[0];
    const pelt_clip *clip = &t.model->clips[0];
    assert_true(t.model->changed & PELT_CHANGED_MOTIONS);
    assert_float_equal(motion->end - motion->start, 0.2, 1e-6);
    assert_float_equal(clip->times[clip->frame_count - 1] - clip->times[0], 0.2, 1e-6);
    t.desc.from = 0.5;
    test_fails(&t.test, pelt_jiggle_simulate(t.test.context, t.model, &t.desc, NULL), PELT_ERROR_USAGE, "lasts 0.2 s");
    end(&t);
}

static void a_rig_without_motions_stands(void **state) {
    (void)state;
    rig_test t;
    begin(&t);
    t.model->motion_count = 0;
    simulate(&t);
    assert_true(t.model->clip_count == 1 && t.model->clips[0].frame_count == 1 && t.report.motions[0] == PELT_NONE);
    end(&t);
}

static void helper_bones_follow_the_clips(void **state) {
    (void)state;
    rig_test t;
    begin(&t);
    simulate(&t);
    uint32_t joints = t.model->skeleton.joint_count, bones = t.model->skin.bone_count;
    double before = error_of(&t, 0);
    pelt_decompose_desc desc = pelt_jiggle_bones_default();
    assert_true(desc.add == 16 && desc.iterations == 8);
    desc.add = 6;
    pelt_decompose_corrected_report report;
    test_ok(&t.test, pelt_jiggle_add_bones(t.test.context, t.model, &desc, NULL, &report));
    assert_int_equal(t.model->skin.bone_count, bones + 6);
    assert_true(t.model->skeleton.joint_count >= joints + 6);
    double after = error_of(&t, 0);
    if (!(after < 0.5 * before))
        fail_msg("E_rms %g with helper bones, %g without", after, before);
    end(&t);
}

static void morphs_follow_the_clips(void **state) {
    (void)state;
    rig_test t;
    begin(&t);
    simulate(&t);
    double before = error_of(&t, 0);
    pelt_correct_report report;
    test_ok(&t.test, pelt_jiggle_add_morphs(t.test.context, t.model, t.report.motions, NULL, &report));
    assert_true(report.rank > 0 && t.model->morphs.morph_count >= report.rank);
    double after = error_of(&t, 0);
    if (!(after < 0.1 * before))
        fail_msg("E_rms %g with morph targets, %g without", after, before);
    end(&t);
}

static void a_retargeted_motion_is_the_first(void **state) {
    (void)state;
    rig_test t;
    begin(&t);
    pelt_model *source;
    test_ok(&t.test, make_troll(t.test.context, &source));
    pelt_retarget_desc retarget = pelt_retarget_desc_default();
    retarget.name = "captured";
    t.desc.source = source;
    t.desc.source_motion = &source->motions[0];
    t.desc.retarget = &retarget;
    t.desc.motion = 7; /* ignored */
    simulate(&t);
    assert_int_equal(t.model->motion_count, 2);
    assert_string_equal(t.model->motions[0].name, "captured");
    assert_string_equal(t.model->motions[1].name, source->motions[0].name);
    assert_string_equal(t.model->clips[0].name, "captured");
    assert_true(t.report.clip_count == 1 && t.report.motions[0] == 0);
    assert_int_equal(t.report.retarget.matched, t.model->skeleton.joint_count);
    pelt_model_destroy(source);
    end(&t);
}

static void wrong_motions_are_named(void **state) {
    (void)state;
    rig_test t;
    begin(&t);
    t.desc.motion = 1;
    test_fails(&t.test, pelt_jiggle_simulate(t.test.context, t.model, &t.desc, NULL), PELT_ERROR_USAGE,
               "pelt_jiggle_simulate_desc.motion is 1");
    t.desc.motion = 0;
    t.desc.motion_count = 2;
    test_fails(&t.test, pelt_jiggle_simulate(t.test.context, t.model, &t.desc, NULL), PELT_ERROR_USAGE,
               "motion_count 2");
    t.desc.motion_count = 0;
    t.desc.source_motion = &t.model->motions[0];
    test_fails(&t.test, pelt_jiggle_simulate(t.test.context, t.model, &t.desc, NULL), PELT_ERROR_USAGE,
               "pelt_jiggle_simulate_desc.source is NULL");
    end(&t);
}

/* ---- Failures --------------------------------------------------------------------------------------------- */

/* All data that the operations replace. */
typedef struct parts {
    pelt_mesh mesh;
    pelt_skeleton skeleton;
    pelt_skin skin;
    pelt_morph_set morphs;
    pelt_motion *motions;
    pelt_clip *clips;
    uint32_t motion_count, clip_count, changed;
} parts;

static parts parts_of(const pelt_model *m) {
    parts p;
    memset(&p, 0, sizeof p); /* also clears padding between fields */
    p.mesh = m->mesh;
    memset(&p.mesh.weld, 0, sizeof p.mesh.weld); /* a weld may be kept */
    p.skeleton = m->skeleton;
    p.skin = m->skin;
    p.morphs = m->morphs;
    p.motions = m->motions;
    p.clips = m->clips;
    p.motion_count = m->motion_count;
    p.clip_count = m->clip_count;
    p.changed = m->changed;
    return p;
}

/* Runs all three on a retargeted part of a motion; a failing one must leave the model unchanged. */
static pelt_result run_all(pelt_context *context, void *user) {
    (void)user;
    rig_test t;
    settings(&t);
    t.jiggle.particles = 60;
    t.desc.from = 0.1;
    t.desc.to = 0.2;
    pelt_model *model = NULL, *source = NULL;
    pelt_result result = make_troll(context, &model);
    if (result == PELT_OK)
        result = make_troll(context, &source);
    if (result == PELT_OK) {
        t.desc.source = source;
        t.desc.source_motion = &source->motions[0];
        pelt_decompose_desc bones = pelt_jiggle_bones_default();
        bones.add = bones.iterations = 2;
        for (int step = 0; step < 3 && result == PELT_OK; step++) {
            parts before = parts_of(model);
            result = step == 0   ? pelt_jiggle_simulate(context, model, &t.desc, &t.report)
                     : step == 1 ? pelt_jiggle_add_bones(context, model, &bones, NULL, NULL)
                                 : pelt_jiggle_add_morphs(context, model, t.report.motions, NULL, NULL);
            parts after = parts_of(model);
            if (result != PELT_OK && memcmp(&before, &after, sizeof before) != 0)
                fail_msg("step %d failed and changed the model", step);
        }
    }
    pelt_model_destroy(source);
    pelt_model_destroy(model);
    return result;
}

static void failures_leave_the_model_as_it_was(void **state) {
    (void)state;
    test_fail_some_allocations(1, 6, run_all, NULL);
    test_context test;
    test_begin(&test, 1);
    test_ok(&test, run_all(test.context, NULL));
    uint64_t asked = atomic_load(&test.asked);
    test_end(&test);
    for (uint64_t part = 1; part < 5; part++) {
        test_begin(&test, 1);
        atomic_store(&test.cancel_at, 1 + asked * part / 5);
        assert_int_equal(run_all(test.context, NULL), PELT_ERROR_CANCELLED);
        test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clips_are_those_of_the_bake),  cmocka_unit_test(parts_replace_motions),
        cmocka_unit_test(a_rig_without_motions_stands), cmocka_unit_test(helper_bones_follow_the_clips),
        cmocka_unit_test(morphs_follow_the_clips),      cmocka_unit_test(a_retargeted_motion_is_the_first),
        cmocka_unit_test(wrong_motions_are_named),      cmocka_unit_test(failures_leave_the_model_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
