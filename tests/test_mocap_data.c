/* CMU trials available both as BVH and as ASF/AMC: joint positions agree. Rigs keep their joint positions as BVH. A
 * captured walk is retargeted to another body. */
#include "support.h"

#include "core/math3.h"

/* Joints common to both skeletons, with their names in the BVH and in the ASF files. */
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
#define UNIT 0.45 /* :units length of the ASF, by which Pelt divides; the BVH files are in the original numbers */
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static uint32_t find_joint(const pelt_model *model, const char *name) {
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        if (strcmp(model->skeleton.names[j], name) == 0)
            return j;
    fail_msg("%s has no joint '%s'", model->path, name);
    return 0;
}

/* Positions [joint] in a frame of the first motion. */
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

static pelt_model *load(test_context *test, const char *path) {
    pelt_model *model;
    test_ok(test, pelt_load(test->context, &path, 1, NULL, &model));
    return model;
}

/* The conversion to BVH dropped the bones thorax and wrist: their children have OFFSET 0. Restores these offsets, so
 * that all else can be compared; returns the number of restored joints. */
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
    char bvh_path[1024], amc_path[1024];
    test_data(bvh_path, bvh_name);
    test_data(amc_path, amc_name);
    test_context test;
    test_begin(&test, 1);
    pelt_model *bvh = load(&test, bvh_path), *amc = load(&test, amc_path);
    uint32_t frames = amc->motions[0].tracks[0].key_count;
    assert_int_equal(bvh->motions[0].tracks[0].key_count, frames + 1); /* preceded by a T-pose */
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

/* ---- Rigs as BVH ------------------------------------------------------------------------------------------ */

/* Writes the frames of a rig's first motion as BVH and reads them again; returns the largest joint distance, relative
 * to the rig. BVH lists joints in another order and names need not be unique: both are visited in depth-first order. */
static void walk_down(const pelt_skeleton *skeleton, uint32_t parent, uint32_t *order, uint32_t *count) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (skeleton->parents[j] == parent) {
            order[(*count)++] = j;
            walk_down(skeleton, j, order, count);
        }
}

static double distance(const pelt_model *rig, const pelt_model *bvh) {
    enum { MOST = 128 };
    pelt_transform locals[MOST];
    pelt_affine a[MOST], b[MOST];
    uint32_t order[MOST], other[MOST], count = 0, other_count = 0;
    assert_int_equal(rig->skeleton.joint_count, bvh->skeleton.joint_count);
    walk_down(&rig->skeleton, PELT_NONE, order, &count);
    walk_down(&bvh->skeleton, PELT_NONE, other, &other_count);
    float low = 1e9f, high = -1e9f;
    double worst = 0;
    const pelt_track *track = &bvh->motions[0].tracks[0];
    for (uint32_t k = 0; k < track->key_count; k++) {
        pelt_motion_sample(rig, &rig->motions[0], rig->motions[0].start + track->times[k], locals, NULL);
        pelt_skeleton_globals(&rig->skeleton, locals, a);
        pelt_motion_sample(bvh, &bvh->motions[0], track->times[k], locals, NULL);
        pelt_skeleton_globals(&bvh->skeleton, locals, b);
        for (uint32_t n = 0; n < count; n++) {
            float p[3], q[3];
            place(&a[order[n]], 1, p);
            place(&b[other[n]], 1, q);
            low = fminf(low, fminf(p[0], fminf(p[1], p[2])));
            high = fmaxf(high, fmaxf(p[0], fmaxf(p[1], p[2])));
            px_sub3(p, q, p);
            worst = fmax(worst, sqrt((double)px_dot3(p, p)));
        }
    }
    return worst / ((double)high - (double)low);
}

static void rigs_as_bvh(void **state) {
    (void)state;
    static const char *const names[] = {"char-gltf-khronos/Fox/glTF-Binary/Fox.glb",
                                        "char-quaternius/animals_pack/Horse.glb",
                                        "char-threejs/gltf/RobotExpressive/RobotExpressive.glb",
                                        "char-gltf-khronos/CesiumMan/glTF-Binary/CesiumMan.glb"};
    enum { COUNT = sizeof names / sizeof names[0] };
    char rigs[COUNT][1024], folder[1024], path[1100];
    for (int n = 0; n < COUNT; n++)
        test_data(rigs[n], names[n]);
    test_folder(folder);
    snprintf(path, sizeof path, "%s/rig.bvh", folder);
    for (int n = 0; n < COUNT; n++) {
        test_context test;
        test_begin(&test, 1);
        pelt_model *rig = load(&test, rigs[n]);
        test_ok(&test, pelt_save(test.context, rig, path, NULL));
        pelt_model *bvh = load(&test, path);
        double worst = distance(rig, bvh);
        print_message("%s: %.1e of its size\n", names[n], worst);
        assert_true(worst < 1e-4);
        pelt_model_destroy(rig);
        pelt_model_destroy(bvh);
        test_end(&test);
    }
    unlink(path);
    rmdir(folder);
}

/* ---- A walk on another body ------------------------------------------------------------------------------- */

/* Height of the lower foot: its toes, or its ankle minus the ankle's height above the toes when standing. */
static float foot_height(const pelt_model *rig, const pelt_affine *globals) {
    static const char *const names[][2] = {{"LeftFoot", "LeftToeBase"}, {"RightFoot", "RightToeBase"}};
    float low = 1e9f;
    for (int side = 0; side < 2; side++) {
        uint32_t toe = find_joint(rig, names[side][1]);
        float ankle = globals[find_joint(rig, names[side][0])].m[7] + rig->skeleton.rest[toe].translation[1];
        low = fminf(low, fminf(ankle, globals[toe].m[7]));
    }
    return low;
}

static void walks(const pelt_model *rig) {
    uint32_t left = find_joint(rig, "LeftFoot"), right = find_joint(rig, "RightFoot"), hips = find_joint(rig, "Hips");
    uint32_t frames = rig->motions[0].tracks[0].key_count, steps = 0;
    float low = 1e9f, high = -1e9f, first = 0, last = 0;
    pelt_affine globals[64];
    for (uint32_t k = 1, ahead = 0; k < frames; k++) { /* frame 0 is a T-pose */
        find_places(rig, k, globals);
        float stride = globals[left].m[11] - globals[right].m[11], foot = foot_height(rig, globals);
        uint32_t now = stride > 0.1f ? 1 : stride < -0.1f ? 2 : ahead;
        steps += now != ahead;
        ahead = now;
        low = fminf(low, foot);
        high = fmaxf(high, foot);
        last = globals[hips].m[11];
        first = k == 1 ? last : first;
        assert_true(globals[hips].m[7] - foot > 0.7f && globals[hips].m[7] - foot < 1.1f); /* upright */
    }
    print_message("%u steps over %.2f m; the lower foot is within %.3f m\n", steps, (double)(last - first),
                  (double)(high - low));
    assert_in_range(steps, 6, 10); /* in 4.3 seconds */
    assert_true(last - first > 3 && last - first < 7);
    assert_true(high - low < 0.15f); /* one foot is always on the ground, which rises by 6 cm in the capture */
}

static void a_human_walks(void **state) {
    (void)state;
    char human_path[1024], bvh_path[1024];
    test_data(human_path, "char-makehuman/human_cmu.glb");
    test_data(bvh_path, "mocap-cmu-bvh/007/07_05.bvh");
    test_context test;
    test_begin(&test, 1);
    pelt_model *human = load(&test, human_path), *bvh = load(&test, bvh_path);
    pelt_joint_match matches[64];
    pelt_retarget_report report;
    test_ok(&test, pelt_match_joints(test.context, &human->skeleton, &bvh->skeleton, NULL, matches));
    test_ok(&test, pelt_retarget(test.context, bvh, &bvh->motions[0], matches, NULL, human, &report));
    test_ok(&test, pelt_model_validate(test.context, human));
    assert_int_equal(report.matched, 29);
    assert_int_equal(report.frame_count, 518);
    walks(human);
    pelt_model_destroy(human);
    pelt_model_destroy(bvh);
    test_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(walk), cmocka_unit_test(run), cmocka_unit_test(dance),
                                       cmocka_unit_test(rigs_as_bvh), cmocka_unit_test(a_human_walks)};
    char path[1024];
    if (!test_has_data(path, ""))
        return TEST_SKIP;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
