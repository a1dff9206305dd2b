/* Delta mush as helper bones.
 *
 *   1. Weights of the given bones. Smoothing skinned positions is close to skinning with weights smoothed by the same steps (as in
 *      Direct Delta Mush, Le and Lewis 2019, where the smoothed sums of weights are all that a pose is multiplied with): these
 *      weights are the start, and their bones the candidates, of a fit to poses.
 *      One bone fewer per vertex than wanted leaves room for a helper bone.
 *   2. Helper bones, by decomposition of what is left.
 *   3. Weights of all bones, from candidates of the vertex and its neighbours.
 */
#include "core/skin_parts.h"
#include "helpers/helpers.h"

#include <pelt/decompose.h>

#define DEFAULT_HELPERS 16u
#define MOST_HELPERS    1000u
#define MIN_INFLUENCES  4u
/* Factor on the weights of neighbours, which make their bones candidates. */
#define NEIGHBOUR_SHARE 0.1
/* Candidates per vertex at most. */
#define CANDIDATES PX_WEIGHT_CAPACITY

/* Fits weights with `influences` bones per vertex to the poses, from the candidates. */
static pelt_result fit_weights(px_helper_plan *plan, uint32_t influences) {
    pelt_model *model = plan->model;
    pelt_skin skin = model->skin;
    size_t size = px_mul_size(model->mesh.vertex_count, influences);
    skin.influence_count = influences;
    skin.bones = PX_NEW(model->memory, uint16_t, size);
    skin.weights = PX_NEW(model->memory, float, size);
    if (!skin.bones || !skin.weights)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_helper_weights(plan, &skin));
    model->skin = skin;
    return PELT_OK;
}

/* Adds bones that are fitted to `targets` [motion]. The clips of the model stay. */
static pelt_result decompose(px_helper_plan *plan, pelt_clip *targets, uint32_t influences) {
    pelt_model *model = plan->model;
    pelt_clip *clips = model->clips;
    uint32_t clip_count = model->clip_count, add = plan->desc.add ? plan->desc.add : DEFAULT_HELPERS;
    pelt_vertex_classes weld = model->mesh.weld;
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.rig = model;
    desc.add = add < MOST_HELPERS ? add : MOST_HELPERS;
    desc.influences = influences;
    desc.transforms = plan->desc.transforms == PELT_HELPERS_RIGID ? PELT_TRANSFORMS_RIGID : PELT_TRANSFORMS_AFFINE;
    model->clips = targets;
    model->clip_count = model->motion_count;
    model->mesh.weld = (pelt_vertex_classes){0}; /* welded vertices without a common joint may differ in the clips */
    pelt_result result = pelt_decompose(plan->context, model, &desc, NULL);
    model->clips = clips;
    model->clip_count = clip_count;
    model->mesh.weld = weld;
    return result;
}

/* Candidates: the bones of a vertex, and those of its neighbours. */
static pelt_result gather_candidates(px_helper_plan *plan) {
    px_weight_table own;
    const px_neighbours *ring = &plan->mush->ring;
    PX_TRY(px_weight_table_read(plan->arena, plan->model, &plan->classes, NULL, &own));
    PX_TRY(px_weight_table_make(plan->arena, plan->classes.count, CANDIDATES, &plan->candidates));
    for (size_t c = 0; c < plan->classes.count; c++) {
        px_weight_sum sum = {0};
        size_t first = ring->offsets[c], end = ring->offsets[c + 1];
        px_weight_sum_add_row(&sum, &own, c, 1);
        for (size_t n = first; n < end; n++)
            px_weight_sum_add_row(&sum, &own, ring->items[n], NEIGHBOUR_SHARE / (double)(end - first));
        px_weight_sum_cut(&sum, &(px_weight_limits){.influences = CANDIDATES});
        px_weight_sum_store(&sum, &plan->candidates, c);
    }
    return PELT_OK;
}

pelt_result px_helper_mush(px_helper_plan *plan, pelt_clip *targets, pelt_helper_bones_report *report) {
    pelt_model *model = plan->model;
    PX_TRY(px_skin_join_parts(model)); /* as pelt_decompose does; vertices of a part may move in bind space */
    PX_TRY(pelt_model_weld(plan->context, model));
    uint32_t bones = model->skin.bone_count, joints = model->skeleton.joint_count, K = plan->desc.influences;
    K = K ? K : model->skin.influence_count > MIN_INFLUENCES ? model->skin.influence_count : MIN_INFLUENCES;
    px_mush mush;
    PX_TRY(px_mush_make(plan->context, plan->arena, model, plan->desc.mush, &mush));
    plan->mush = &mush;
    plan->classes = mush.classes;
    PX_TRY(px_helper_poses(plan));

    px_weight_smoothing smoothing = {.strength = mush.desc.strength, .iterations = mush.desc.iterations};
    PX_TRY(px_weight_table_read(plan->arena, model, &plan->classes, NULL, &plan->candidates));
    PX_TRY(px_weight_table_smooth(plan->context, &plan->candidates, &mush.ring, &smoothing));
    PX_TRY(fit_weights(plan, K > 1 ? K - 1 : 1));
    PX_TRY(decompose(plan, targets, K));
    PX_TRY(px_helper_poses_again(plan));
    PX_TRY(gather_candidates(plan));
    PX_TRY(fit_weights(plan, K));
    plan->mush = NULL;

    report->bone_count = model->skin.bone_count - bones;
    report->joint_count = model->skeleton.joint_count - joints;
    report->influence_count = K;
    report->frame_count = plan->frame_count;
    model->changed |= PELT_CHANGED_SKIN;
    return PELT_OK;
}
