/* Poses of a scene as files. */
#include "build.h"

#include <stdio.h>
#include <string.h>

/* The ground-truth mesh of a pose, without skeleton, skin and motions. */
static pelt_result save_shape(pelt_context *context, const pelt_model *model, const scene_pose *pose,
                              const char *path) {
    pelt_model shape = {.mesh = model->mesh, .path = "", .format = ""};
    shape.mesh.positions = pose->positions;
    shape.mesh.normals = pose->normals;
    return pelt_save(context, &shape, path, NULL);
}

static pelt_result save_locals(pelt_context *context, const pelt_skeleton *skeleton, const scene_pose *pose,
                               const char *path) {
    char text[4096];
    size_t size = (size_t)snprintf(text, sizeof text, "{\"joints\": {");
    for (uint32_t j = 0; j < skeleton->joint_count && size < sizeof text; j++) {
        const float *q = pose->locals[j].rotation;
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%s\n  \"%s\": {\"rotation\": [%.9g, %.9g, %.9g, %.9g]}",
                             j ? "," : "", skeleton->names[j], q[0], q[1], q[2], q[3]);
    }
    if (size < sizeof text)
        size += (size_t)snprintf(text + size, sizeof text - size, "\n}}\n");
    return size < sizeof text ? pelt_file_write(context, path, text, size) : PELT_ERROR_USAGE;
}

pelt_result scene_poses_save(pelt_context *context, const pelt_model *model, const scene_pose *poses, uint32_t count,
                             const char *folder) {
    pelt_result result = PELT_OK;
    for (uint32_t k = 0; result == PELT_OK && k < count; k++) {
        char path[1024];
        int length = snprintf(path, sizeof path - 5, "%s/%s", folder, poses[k].name);
        if (length < 0 || (size_t)length >= sizeof path - 5)
            return PELT_ERROR_USAGE;
        strcpy(path + length, ".obj");
        result = save_shape(context, model, &poses[k], path);
        strcpy(path + length, ".json");
        if (result == PELT_OK)
            result = save_locals(context, &model->skeleton, &poses[k], path);
    }
    return result;
}
