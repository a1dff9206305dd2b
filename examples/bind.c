/* Bind a mesh to a skeleton: skin weights from geometry alone, saved as glTF. Needs the whole library. */
#include "arm.h"

#include <pelt/pelt.h>

int main(void) {
    pelt_context *context = NULL;
    pelt_model *arm = NULL;
    if (pelt_context_create(NULL, &context) != PELT_OK || !(arm = arm_create(context)))
        return arm_fail(context);
    arm->skin = (pelt_skin){0}; /* keeps only the mesh and the skeleton */

    pelt_bind_desc desc = pelt_bind_desc_default();
    pelt_bind_report report;
    if (pelt_bind(context, arm, &desc, &report) != PELT_OK || pelt_save(context, arm, "bound.glb", NULL) != PELT_OK)
        return arm_fail(context);

    const pelt_skin *skin = &arm->skin;
    uint32_t own = 0; /* vertices far from the elbow whose first bone is the nearest one */
    for (size_t i = 0; i < ARM_VERTICES; i++) {
        float y = arm->mesh.positions[3 * i + 1];
        own += skin->bone_joints[skin->bones[i * skin->influence_count]] == (y > ARM_LENGTH / 2);
    }
    printf("%u bones; %u of %u vertices follow the nearer one: bound.glb\n", skin->bone_count, own,
           (unsigned)ARM_VERTICES);
    bool right = skin->bone_count == 2 && own > ARM_VERTICES * 9 / 10;
    pelt_model_destroy(arm);
    pelt_context_destroy(context);
    return !right;
}
