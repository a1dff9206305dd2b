/* Joining motions that play together: by name, by time, on request; and motions that must stay separate. */
#include "io/io.h"
#include "support.h"

#include <time.h>

static const float times[] = {0, 1}, values[8];

/* A motion of one property; joint 0 is a bone, joints 1 and 2 have a morph each. */
typedef struct given {
    const char *name;
    uint32_t joint;
    pelt_path path;
    float start, end;
} given;

static pelt_model *make_model(test_context *test, const given *motions, uint32_t count) {
    static const char *names[] = {"bone", "head", "brows"};
    static uint32_t parents[] = {PELT_NONE, PELT_NONE, PELT_NONE};
    pelt_model *model;
    test_ok(test, pelt_model_create(test->context, &model));
    model->skeleton = (pelt_skeleton){.joint_count = 3, .names = names, .parents = parents};
    model->motion_count = count;
    model->motions = pelt_model_alloc(test->context, model, count, sizeof *model->motions);
    for (uint32_t m = 0; m < count; m++) {
        pelt_track *track = pelt_model_alloc(test->context, model, 1, sizeof *track);
        *track = (pelt_track){motions[m].joint, motions[m].path, PELT_INTERPOLATION_LINEAR, 1, 2, times, values};
        model->motions[m] = (pelt_motion){motions[m].name, motions[m].start, motions[m].end, 1, track};
    }
    return model;
}

/* `wanted`: names of the motions afterwards with their numbers of tracks, "Walk2 Run1". */
static void check(const given *motions, uint32_t count, const char *how, const char *wanted) {
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_model(&test, motions, count);
    test_ok(&test, px_join_motions(test.context, model, how));
    char text[256] = "";
    for (uint32_t m = 0; m < model->motion_count; m++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%u", m ? " " : "", model->motions[m].name,
                 model->motions[m].track_count);
    assert_string_equal(text, wanted);
    bool joined_by_names =
        how && strchr(how, '+') && model->motion_count < count; /* otherwise a document keeps its motions */
    assert_int_equal(model->changed, joined_by_names ? PELT_CHANGED_MOTIONS : 0);
    pelt_model_destroy(model);
    test_end(&test);
}

static void bones_and_morphs_of_one_time(void **state) {
    (void)state;
    const given blender[] = {{"KeyAction", 1, PELT_PATH_WEIGHTS, 0, 1},
                             {"ArmatureAction", 0, PELT_PATH_ROTATION, 0, 1}};
    check(blender, 2, NULL, "ArmatureAction2");
    check(blender, 2, "auto", "ArmatureAction2");
    check(blender, 2, "none", "KeyAction1 ArmatureAction1");
    const given several[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                             {"Run", 0, PELT_PATH_ROTATION, 0, 0.5f},
                             {"head", 1, PELT_PATH_WEIGHTS, 0, 0.5f},
                             {"brows", 2, PELT_PATH_WEIGHTS, 0, 0.5f}};
    check(several, 4, NULL, "Walk1 Run3");
    const given later[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1}, {"head", 1, PELT_PATH_WEIGHTS, 0, 0.9f}};
    check(later, 2, NULL, "Walk1 head1");
}

static void what_may_be_meant_otherwise_stays_apart(void **state) {
    (void)state;
    const given two_walks[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                               {"Wave", 0, PELT_PATH_ROTATION, 0, 1},
                               {"Smile", 1, PELT_PATH_WEIGHTS, 0, 1}};
    check(two_walks, 3, NULL, "Walk1 Wave1 Smile1");
    const given two_smiles[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                                {"Smile", 1, PELT_PATH_WEIGHTS, 0, 1},
                                {"Frown", 1, PELT_PATH_WEIGHTS, 0, 1}};
    check(two_smiles, 3, NULL, "Walk1 Smile1 Frown1");
    const given bones[] = {{"Nod", 0, PELT_PATH_ROTATION, 0, 1}, {"Wave", 1, PELT_PATH_ROTATION, 0, 1}};
    check(bones, 2, NULL, "Nod1 Wave1");
}

/* Adjacent times match, those of the first and the last do not: ambiguous, so none are joined. */
static void times_that_are_nearly_the_same(void **state) {
    (void)state;
    const given two_bones[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                               {"Smile", 1, PELT_PATH_WEIGHTS, 0, 1.0008f},
                               {"Wave", 0, PELT_PATH_ROTATION, 0, 1.0016f}};
    check(two_bones, 3, NULL, "Walk1 Smile1 Wave1");
    const given two_morphs[] = {{"Smile", 1, PELT_PATH_WEIGHTS, 0, 1},
                                {"Walk", 0, PELT_PATH_ROTATION, 0, 1.0008f},
                                {"Frown", 2, PELT_PATH_WEIGHTS, 0, 1.0016f}};
    check(two_morphs, 3, NULL, "Smile1 Walk1 Frown1");
}

/* Motions joined by name form groups: a conflict with any member counts. */
static void groups_that_clash_stay_apart(void **state) {
    (void)state;
    const given motions[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                             {"Face", 1, PELT_PATH_WEIGHTS, 0, 1},
                             {"Face", 2, PELT_PATH_WEIGHTS, 0, 1},
                             {"Brows", 2, PELT_PATH_WEIGHTS, 0, 1}};
    check(motions, 4, NULL, "Walk1 Face2 Brows1");
    const given brows_first[] = {motions[0], motions[3], motions[1], motions[2]};
    check(brows_first, 4, NULL, "Walk1 Brows1 Face2");
}

static void many_motions_take_little_time(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    test_context test;
    test_begin(&test, 1);
    given *motions = test_malloc(COUNT * sizeof *motions);
    for (uint32_t same = 0; same < 2; same++) { /* one name for all, or one for each */
        char(*names)[16] = test_malloc(COUNT * sizeof *names);
        for (uint32_t m = 0; m < COUNT; m++) {
            snprintf(names[m], sizeof names[m], "m%u", same ? 0 : m);
            motions[m] = (given){names[m], 0, PELT_PATH_ROTATION, 0, 1};
        }
        pelt_model *model = make_model(&test, motions, COUNT);
        clock_t start = clock();
        test_ok(&test, px_join_motions(test.context, model, NULL));
        assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
        assert_int_equal(model->motion_count, COUNT);
        pelt_model_destroy(model);
        test_free(names);
    }
    test_free(motions);
    test_end(&test);
}

/* Two motions of the same name among others: enough that every array is its own allocation. */
static pelt_result join_many(pelt_context *context, void *user) {
    (void)user;
    enum { COUNT = 20000 };
    static char names[COUNT][8];
    static uint32_t parents[] = {PELT_NONE, PELT_NONE};
    static const char *joints[] = {"bone", "head"};
    pelt_model *model;
    PX_TRY(pelt_model_create(context, &model));
    pelt_track *tracks = pelt_model_alloc(context, model, COUNT, sizeof *tracks);
    model->motions = pelt_model_alloc(context, model, COUNT, sizeof *model->motions);
    pelt_result result = tracks && model->motions ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < COUNT && result == PELT_OK; m++) {
        snprintf(names[m], sizeof names[m], "m%u", m ? m : 1);
        tracks[m] = (pelt_track){m % 2, PELT_PATH_ROTATION, PELT_INTERPOLATION_LINEAR, 1, 2, times, values};
        model->motions[m] = (pelt_motion){names[m], 0, (float)m, 1, &tracks[m]};
    }
    model->skeleton = (pelt_skeleton){.joint_count = 2, .names = joints, .parents = parents};
    model->motion_count = COUNT;
    if (result == PELT_OK) {
        result = px_join_motions(context, model, NULL);
        assert_int_equal(model->motion_count, result == PELT_OK ? COUNT - 1 : COUNT);
    }
    pelt_model_destroy(model);
    return result;
}

static void without_memory(void **state) {
    (void)state;
    test_fail_some_allocations(1, 60, join_many, NULL);
}

static void one_name(void **state) {
    (void)state;
    const given named[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                           {"Walk", 1, PELT_PATH_WEIGHTS, 0, 0.7f},
                           {"Walk", 2, PELT_PATH_TRANSLATION, 0.2f, 2}};
    check(named, 3, NULL, "Walk3");
    const given clash[] = {{"mixamo.com", 0, PELT_PATH_ROTATION, 0, 1}, {"mixamo.com", 0, PELT_PATH_ROTATION, 0, 2}};
    check(clash, 2, NULL, "mixamo.com1 mixamo.com1");
    const given either[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                            {"Walk", 1, PELT_PATH_WEIGHTS, 0, 2},
                            {"Walk", 0, PELT_PATH_ROTATION, 0, 2}};
    check(either, 3, NULL, "Walk1 Walk2"); /* ambiguous by name: the times decide */
    const given nameless[] = {{"", 0, PELT_PATH_ROTATION, 0, 1}, {"", 1, PELT_PATH_ROTATION, 0, 2}};
    check(nameless, 2, NULL, "1 1");
}

static void as_asked_for(void **state) {
    (void)state;
    const given motions[] = {{"Walk", 0, PELT_PATH_ROTATION, 0, 1},
                             {"Wave", 0, PELT_PATH_ROTATION, 0, 1},
                             {"Smile", 1, PELT_PATH_WEIGHTS, 0, 3},
                             {"Frown", 1, PELT_PATH_WEIGHTS, 0, 1}};
    check(motions, 4, "Walk+Smile", "Walk2 Wave1 Frown1");
    check(motions, 4, "Smile+Wave, Frown+Walk", "Walk2 Wave2");
    check(motions, 4, "Jump+Grin", "Walk1 Wave1 Smile1 Frown1"); /* names of another input */
    test_context test;
    test_begin(&test, 1);
    pelt_model *model = make_model(&test, motions, 4);
    static const char *const bad[][2] = {{"Walk+Wave", "'Walk' and 'Wave' both move the rotation of 'bone'"},
                                         {"Walk+Smile,Wave+Frown,Walk+Frown", "both move the rotation of 'bone'"},
                                         {"Walk+Smile,Frown+Smile", "'Smile' and 'Frown' both move the morph weights"},
                                         {"Smile+Frown", "both move the morph weights of 'head'"},
                                         {"Walk", "with + between"},
                                         {"Walk+Smle", "there is no motion 'Smle'"},
                                         {"Walk+", "there is no motion ''"}};
    for (size_t b = 0; b < PX_COUNT(bad); b++) {
        test_fails(&test, px_join_motions(test.context, model, bad[b][0]), PELT_ERROR_USAGE, bad[b][1]);
        assert_int_equal(model->motion_count, 4);
    }
    test_ok(&test, px_join_motions(test.context, model, "Walk+Smile"));
    assert_float_equal(model->motions[0].start, 0, 0);
    assert_float_equal(model->motions[0].end, 3, 0);
    pelt_model_destroy(model);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bones_and_morphs_of_one_time),
        cmocka_unit_test(what_may_be_meant_otherwise_stays_apart),
        cmocka_unit_test(times_that_are_nearly_the_same),
        cmocka_unit_test(groups_that_clash_stay_apart),
        cmocka_unit_test(many_motions_take_little_time),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(one_name),
        cmocka_unit_test(as_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
