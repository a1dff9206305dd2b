/* Decompose a vertex animation into bones and weights, and save it as glTF. Needs the whole library. */
#include "arm.h"

#include <pelt/pelt.h>

int main(void) {
    pelt_context *context = NULL;
    pelt_model *arm = NULL, *cloth = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || !(arm = arm_create(context)) ||
        pelt_model_create(context, &cloth) != PELT_OK)
        return arm_fail(context);

    /* The input: a mesh and its positions in every frame, as from a cache file. */
    cloth->mesh = arm->mesh;
    cloth->clip_count = 1;
    cloth->clips = pelt_model_alloc(context, cloth, 1, sizeof *cloth->clips);
    if (!cloth->clips ||
        pelt_clip_from_motion(context, arm, &arm->motions[0], 30, PELT_SKINNING_LINEAR, &cloth->clips[0]) != PELT_OK)
        return arm_fail(context);

    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = 2;
    pelt_decompose_report report;
    if (pelt_decompose(context, cloth, &desc, &report) != PELT_OK ||
        pelt_save(context, cloth, "decomposed.glb", NULL) != PELT_OK)
        return arm_fail(context);
    printf("%u bones for %u frames of %u vertices, E_rms %.3f: decomposed.glb\n", report.bone_count, report.frame_count,
           report.vertex_count, report.error_fit);
    bool right = report.bone_count == 2 && report.error_fit < 1;
    pelt_model_destroy(cloth);
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !right;
}
