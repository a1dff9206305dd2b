/* CMU's trials that are there both as BVH and as ASF/AMC: joints are in the same places. */
#include "support.h"

#include "core/math3.h"

/* Joints that are in both skeletons; the BVH files have names of their own for them. */
static const char *const pairs[][2] = {
    {"Hips", "root"},
    {"LHipJoint", "lhipjoint"},
    {"LeftUpLeg", "lfemur"},
    {"LeftLeg", "ltibia"},
    {"LeftFoot", "lfoot"},
    {"LeftToeBase", "ltoes"},
    {"RHipJoint", "rhipjoint"},
    {"RightUpLeg", "rfemur"},
    {"RightLeg", "rtibia"},
    {"RightFoot", "rfoot"},
    {"RightToeBase", "rtoes"},
    {"LowerBack", "lowerback"},
    {"Spine", "upperback"},
    {"Spine1", "thorax"},
    {"Neck", "lowerneck"},
    {"Neck1", "upperneck"},
    {"Head", "head"},
    {"LeftShoulder", "lclavicle"},
    {"LeftArm", "lhumerus"},
    {"LeftForeArm", "lradius"},
    {"LeftHand", "lwrist"},
    {"LeftFingerBase", "lhand"},
    {"LeftHandIndex1", "lfingers"},
    {"LThumb", "lthumb"},
    {"RightShoulder", "rclavicle"},
    {"RightArm", "rhumerus"},
    {"RightForeArm", "rradius"},
    {"RightHand", "rwrist"},
    {"RightFingerBase", "rhand"},
    {"RightHandIndex1", "rfingers"},
    {"RThumb", "rthumb"},
    {"Head_end", "head_end"},
    {"LeftToeBase_end", "ltoes_end"},
    {"LeftHandIndex1_end", "lfingers_end"},
};
#define UNIT 0.45 /* the ASF's :units length, by which Pelt divides; the BVH files are in the numbers as they stand */
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static uint32_t find_joint(const pelt_model *model, const char *name) {
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        if (strcmp(model->skeleton.names[j], name) == 0)
            return j;
    fail_msg("%s has no joint '%s'", model->path, name);
    return 0;
}

/* Places [joint] of a frame of the first motion. */
static void find_places(const pelt_model *model, uint32_t frame, pelt_affine *globals) {
    pelt_transform locals[64];
    assert_true(model->skeleton.joint_count <= 64);
    const pelt_motion *motion = &model->motions[0];
    pelt_motion_sample(model, motion, motion->tracks[0].times[frame], locals, NULL);
    pelt_skeleton_globals(&model->skeleton, locals, globals);
}

static void place(const pelt_affine *global, double scale, float out[3]) {
    for (int c = 0; c < 3; c++)
        out[c] = (float)(scale * (double)global->m[4 * c + 3]);
}

/* From the highest to the lowest joint in a frame. */
static double body_height(const pelt_affine *globals, uint32_t count) {
    float low = 1e9f, high = -1e9f;
    for (uint32_t j = 0; j < count; j++) {
        low = fminf(low, globals[j].m[7]);
        high = fmaxf(high, globals[j].m[7]);
    }
    return (double)high - (double)low;
}

static bool load(test_context *test, const char *name, pelt_model **model) {
    char path[1024];
    if (!test_data(path, name))
        return false;
    const char *paths[] = {path};
    test_ok(test, pelt_load(test->context, paths, 1, NULL, model));
    return true;
}

/* The conversion to BVH left out the bones thorax and wrist: what hangs from them has OFFSET 0. Gives their length back,
 * so that all else can be compared, and the number of joints that needed it. */
static int mend_offsets(pelt_model *bvh, const pelt_model *amc) {
    int mended = 0;
    for (int p = 0; p < PAIRS; p++) {
        float *to = bvh->skeleton.rest[find_joint(bvh, pairs[p][0])].translation;
        const float *from = amc->skeleton.rest[find_joint(amc, pairs[p][1])].translation;
        if (px_dot3(to, to) > 0 || px_dot3(from, from) == 0)
            continue;
        for (int c = 0; c < 3; c++)
            to[c] = (float)(UNIT * (double)from[c]);
        mended++;
    }
    return mended;
}

static void compare_trial(const char *bvh_name, const char *amc_name) {
    test_context test;
    test_begin(&test, 1);
    pelt_model *bvh = NULL, *amc = NULL;
    if (load(&test, bvh_name, &bvh) && load(&test, amc_name, &amc)) {
        uint32_t frames = amc->motions[0].tracks[0].key_count;
        assert_int_equal(bvh->motions[0].tracks[0].key_count, frames + 1); /* a T-pose in front */
        assert_true(fabs((double)amc->motions[0].tracks[0].times[1] - 1 / 120.) < 1e-6);
        assert_int_equal(mend_offsets(bvh, amc), 7); /* neck, shoulders, fingers, thumbs */
        pelt_affine a[64], b[64];
        double worst = 0, sum = 0;
        for (uint32_t k = 0; k < frames; k++) {
            find_places(bvh, k + 1, a);
            find_places(amc, k, b);
            double height = body_height(a, bvh->skeleton.joint_count);
            for (int p = 0; p < PAIRS; p++) {
                float from[3], to[3];
                place(&a[find_joint(bvh, pairs[p][0])], 1, from);
                place(&b[find_joint(amc, pairs[p][1])], UNIT, to);
                px_sub3(from, to, from);
                double distance = sqrt((double)px_dot3(from, from)) / height;
                worst = fmax(worst, distance);
                sum += distance;
            }
        }
        print_message("%s: %u frames, joints differ by %.4f %% of the height at most, %.4f %% on average\n", amc_name,
                      frames, 100 * worst, 100 * sum / frames / PAIRS);
        assert_true(worst < 0.01);
        assert_true(sum / frames / PAIRS < 0.001);
    }
    pelt_model_destroy(bvh);
    pelt_model_destroy(amc);
    test_end(&test);
}

static void walk(void **state) {
    (void)state;
    compare_trial("mocap-cmu-bvh/007/07_05.bvh", "mocap-cmu-asfamc/07_05-walk.amc");
}
static void run(void **state) {
    (void)state;
    compare_trial("mocap-cmu-bvh/009/09_06.bvh", "mocap-cmu-asfamc/09_06-run.amc");
}
static void dance(void **state) {
    (void)state;
    compare_trial("mocap-cmu-bvh/131/131_04.bvh", "mocap-cmu-asfamc/131_04-dance.amc");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(walk), cmocka_unit_test(run), cmocka_unit_test(dance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
