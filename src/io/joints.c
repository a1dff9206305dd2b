/* Builds the skeleton of a model joint by joint: see joints.h. */
#include "io/joints.h"

#include "core/math3.h"

pelt_result px_joints_begin(pelt_model *model, uint32_t most) {
    pelt_skeleton *skeleton = &model->skeleton;
    skeleton->names = PX_NEW(model->memory, const char *, most);
    skeleton->parents = PX_NEW(model->memory, uint32_t, most);
    skeleton->rest = PX_NEW(model->memory, pelt_transform, most);
    return skeleton->names && skeleton->parents && skeleton->rest ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_joints_add(pelt_model *model, px_word name, const char *suffix, uint32_t parent, const double place[3]) {
    pelt_skeleton *skeleton = &model->skeleton;
    uint32_t j = skeleton->joint_count;
    char *text = PX_NEW(model->memory, char, name.length + strlen(suffix) + 1);
    if (!text)
        return PELT_ERROR_MEMORY;
    if (name.length)
        memcpy(text, name.text, name.length);
    memcpy(text + name.length, suffix, strlen(suffix));
    skeleton->names[j] = text;
    skeleton->parents[j] = parent;
    skeleton->rest[j] = px_transform_identity();
    for (int c = 0; c < 3; c++)
        skeleton->rest[j].translation[c] = (float)place[c];
    skeleton->joint_count++;
    return PELT_OK;
}
