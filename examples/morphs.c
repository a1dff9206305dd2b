/* Morph targets whose weights drivers compute from the pose: sample, drive, then morph and skin in one pass. */
#include "arm.h"

int main(void) {
    static float positions[3 * ARM_VERTICES];
    pelt_context *context = NULL;
    pelt_model *arm = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || !(arm = arm_create(context)))
        return arm_fail(context);
    pelt_packed_morphs packed;
    if (pelt_morph_pack(context, arm, &packed) != PELT_OK) /* once */
        return arm_fail(context);

    float weights[1], widest[2];
    for (int frame = 0; frame < 2; frame++) { /* straight, then bent */
        pelt_transform locals[2];
        pelt_affine globals[2], palette[2];
        pelt_motion_sample(arm, &arm->motions[0], 0.5f * (float)frame, locals, weights);
        pelt_pose_weights(arm, locals, weights);
        pelt_skeleton_globals(&arm->skeleton, locals, globals);
        pelt_skin_palette(&arm->skin, globals, palette);
        const pelt_skin_job job = {.vertex_count = ARM_VERTICES,
                                   .influence_count = arm->skin.influence_count,
                                   .bones = arm->skin.bones,
                                   .weights = arm->skin.weights,
                                   .palette = palette,
                                   .positions = arm->mesh.positions,
                                   .out_positions = positions,
                                   .morphs = packed,
                                   .morph_weights = weights};
        pelt_skin_run(&job);
        widest[frame] = 0;
        for (uint32_t i = 0; i < ARM_VERTICES; i++)
            if (positions[3 * i + 1] > 0.8f && positions[3 * i + 1] < 1.4f)
                widest[frame] = fmaxf(widest[frame], -positions[3 * i]);
        printf("bulge %.3f, upper arm reaches to x = %.3f\n", (double)weights[0], -(double)widest[frame]);
    }
    bool right = fabsf(widest[1] - widest[0] - 0.2f) < 1e-3f;
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !right;
}
