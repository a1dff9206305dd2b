/* Skin one character: sample a motion, compute the palette, run the kernel. Nothing allocates after set-up. */
#include "arm.h"

int main(void) {
    static float positions[3 * ARM_VERTICES], normals[3 * ARM_VERTICES];
    pelt_context *context = NULL;
    pelt_model *arm = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || !(arm = arm_create(context)))
        return arm_fail(context);

    pelt_transform locals[2];
    pelt_affine globals[2], palette[2];
    const pelt_skin *skin = &arm->skin;
    const pelt_skin_job job = {.vertex_count = arm->mesh.vertex_count,
                               .influence_count = skin->influence_count,
                               .bones = skin->bones,
                               .weights = skin->weights,
                               .palette = palette,
                               .skinning = PELT_SKINNING_LINEAR,
                               .positions = arm->mesh.positions,
                               .normals = arm->mesh.normals,
                               .out_positions = positions,
                               .out_normals = normals};
    for (int frame = 0; frame <= 30; frame++) {
        pelt_motion_sample(arm, &arm->motions[0], (float)frame / 60, locals, NULL);
        pelt_skeleton_globals(&arm->skeleton, locals, globals);
        pelt_skin_palette(skin, globals, palette);
        pelt_skin_run(&job);
    }
    const float *tip = positions + 3 * (ARM_VERTICES - 1); /* bent by 90°: it points along −x */
    printf("tip at %.3f %.3f %.3f\n", (double)tip[0], (double)tip[1], (double)tip[2]);
    bool right = fabsf(tip[0] + 2) < 1e-3f && fabsf(tip[1] - 2) < 1e-3f && fabsf(tip[2]) < 1e-3f;
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !right;
}
