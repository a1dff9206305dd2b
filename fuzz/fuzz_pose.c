/* Any bytes as poses of a small skeleton: accepted poses are transforms of finite numbers and unit rotations. */
#include "chain.h"

#include <math.h>

static const char skeleton[] = "HIERARCHY\nROOT hips\n{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
                               "JOINT elbow\n{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
                               "JOINT wrist\n{\nOFFSET 0 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
                               "End Site\n{\nOFFSET 0 1 0\n}\n}\n}\n}\nMOTION\nFrames: 1\nFrame Time: 0.1\n"
                               "0 0 0 0 0 0 0 0 0\n";

static void check_pose(const pelt_pose *pose, uint32_t joint_count) {
    FUZZ_REQUIRE(pose->name && pose->locals);
    for (uint32_t j = 0; j < joint_count; j++) {
        const pelt_transform *t = &pose->locals[j];
        double length = 0;
        for (int c = 0; c < 4; c++)
            length += (double)t->rotation[c] * t->rotation[c];
        FUZZ_REQUIRE(fabs(length - 1) < 2e-3); /* tolerance within which rotations of files are not normalised */
        for (int c = 0; c < 3; c++)
            FUZZ_REQUIRE(isfinite(t->translation[c]) && isfinite(t->scale[c]));
    }
}

static void read_poses(pelt_context *context, const void *data, size_t size) {
    pelt_model *model;
    FUZZ_REQUIRE(pelt_load_memory(context, skeleton, sizeof skeleton - 1, "rig.bvh", NULL, &model) == PELT_OK);
    pelt_pose *poses;
    uint32_t count;
    bool json = size > 0 && *(const char *)data != 'H'; /* else BVH */
    pelt_result result =
        pelt_load_poses_memory(context, model, data, size, json ? "pose.json" : "pose.bvh", NULL, &poses, &count);
    FUZZ_REQUIRE(fuzz_done(context, result) == (poses != NULL));
    for (uint32_t p = 0; p < count; p++)
        check_pose(&poses[p], model->skeleton.joint_count);
    pelt_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_context *context = fuzz_context();
    char *exact = malloc(size + (size == 0)); /* exact size, so that sanitizers detect overruns */
    FUZZ_REQUIRE(exact);
    if (size)
        memcpy(exact, data, size);
    read_poses(context, exact, size);
    free(exact);
    pelt_context_destroy(context);
    return 0;
}
