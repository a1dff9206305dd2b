/* tool_pose FILE [--join HOW] [MOTION TIME]…: vertex positions in world space, for tests that compare them with others' (three).
 * Writes to stdout the vertex count (u32), then float32 [vertex][3]: first the rest pose, then each MOTION (its number)
 * at TIME (seconds). Motions are numbered as the animations of the file, since none are joined; --join auto or names:
 * as pelt_load_desc.join says. Host byte order. */
#include <pelt/pelt.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pelt_result write_pose(pelt_context *context, const pelt_model *model, const pelt_motion *motion, float time,
                              float *positions) {
    pelt_result result = pelt_model_pose(context, model, motion, time, PELT_SKINNING_LINEAR, positions, NULL);
    if (result == PELT_OK)
        fwrite(positions, 3 * sizeof(float), model->mesh.vertex_count, stdout);
    return result;
}

static pelt_result write_poses(pelt_context *context, const pelt_model *model, int count, char **moments) {
    float *positions = (float *)calloc((size_t)model->mesh.vertex_count + 1, 3 * sizeof(float));
    if (!positions)
        return PELT_ERROR_MEMORY;
    fwrite(&model->mesh.vertex_count, sizeof(uint32_t), 1, stdout);
    pelt_result result = write_pose(context, model, NULL, 0.0f, positions);
    for (int i = 0; i + 1 < count && result == PELT_OK; i += 2) {
        unsigned long motion = strtoul(moments[i], NULL, 10);
        float time = strtof(moments[i + 1], NULL);
        result = motion < model->motion_count ? write_pose(context, model, &model->motions[motion], time, positions)
                                              : PELT_ERROR_USAGE;
    }
    free(positions);
    return result;
}

int main(int argc, char **argv) {
    pelt_context *context = NULL;
    pelt_model *model = NULL;
    if (argc < 2 || pelt_context_create(NULL, &context) != PELT_OK)
        return 1;
    const char *path = argv[1];
    pelt_load_desc desc = pelt_load_desc_default();
    bool joined = argc > 3 && strcmp(argv[2], "--join") == 0;
    desc.join = joined ? argv[3] : "none";
    int first = joined ? 4 : 2;
    pelt_result result = pelt_load(context, &path, 1, &desc, &model);
    if (result == PELT_OK)
        result = write_poses(context, model, argc - first, argv + first);
    if (result != PELT_OK)
        fprintf(stderr, "%s (%s)\n", pelt_result_text(result), pelt_error_text(context));
    pelt_model_destroy(model);
    pelt_context_destroy(context);
    return result == PELT_OK ? 0 : 2;
}
