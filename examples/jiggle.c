/* Soft tissue in a game loop: create once, then set the pose and step in every frame. Nothing allocates in the loop. */
#include "arm.h"

int main(void) {
    static float positions[3 * ARM_VERTICES], skinned[3 * ARM_VERTICES];
    pelt_context *context = NULL;
    pelt_model *arm = NULL;
    pelt_jiggle *jiggle = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || !(arm = arm_create(context)))
        return arm_fail(context);
    pelt_jiggle_desc desc = pelt_jiggle_desc_default();
    desc.softness = PELT_JIGGLE_SOFTNESS_EVEN;
    if (pelt_jiggle_create(context, arm, &desc, &jiggle) != PELT_OK)
        return arm_fail(context);

    float farthest = 0;
    uint64_t allocations = pelt_context_memory(context).count;
    for (int frame = 0; frame < 60; frame++) {
        pelt_transform locals[2];
        pelt_motion_sample(arm, &arm->motions[0], (float)frame / 60, locals, NULL);
        pelt_jiggle_set_pose(jiggle, locals);
        pelt_jiggle_step(jiggle, 1.0 / 60);
        pelt_jiggle_positions(jiggle, positions, NULL);
    }
    allocations = pelt_context_memory(context).count - allocations;
    if (pelt_model_pose(context, arm, &arm->motions[0], 59.0f / 60, PELT_SKINNING_LINEAR, skinned, NULL) != PELT_OK)
        return arm_fail(context);
    for (size_t i = 0; i < ARM_VERTICES; i++)
        farthest =
            fmaxf(farthest, hypotf(positions[3 * i] - skinned[3 * i], positions[3 * i + 1] - skinned[3 * i + 1]));
    printf("tissue up to %.3f from the skin, %llu allocations in the loop\n", (double)farthest,
           (unsigned long long)allocations);
    bool right = farthest > 0.01f && farthest < 1 && allocations == 0;
    pelt_jiggle_destroy(jiggle);
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !right;
}
