/* Any bytes as poses of a small skeleton: accepted poses are transforms of finite numbers and unit rotations. */
#include "chain.h"

#include <math.h>

/* hips > elbow > wrist */
static pelt_model *make_rig(pelt_context *context) {
    static const char *const names[] = {"hips", "elbow", "wrist"};
    pelt_model *model;
    FUZZ_REQUIRE(pelt_model_create(context, &model) == PELT_OK);
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->joint_count = 3;
    skeleton->names = pelt_model_alloc(context, model, 3, sizeof *skeleton->names);
    skeleton->parents = pelt_model_alloc(context, model, 3, sizeof *skeleton->parents);
    skeleton->rest = pelt_model_alloc(context, model, 3, sizeof *skeleton->rest);
    FUZZ_REQUIRE(skeleton->names && skeleton->parents && skeleton->rest);
    for (uint32_t j = 0; j < 3; j++) {
        skeleton->names[j] = names[j];
        skeleton->parents[j] = j ? j - 1 : PELT_NONE;
        skeleton->rest[j] = (pelt_transform){.translation = {0, 1, 0}, .rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    }
    return model;
}

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
    pelt_model *model = make_rig(context);
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
    read_poses(context, data, size);
    pelt_context_destroy(context);
    return 0;
}
