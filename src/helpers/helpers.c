/* Helper bones: settings, order of steps, measures; see helpers.h. */
#include "helpers/helpers.h"
#include "core/math3.h"

#include <pelt/measure.h>

#define FIELD(name) PELT_FIELD(pelt_helper_bones_desc, name)
static const pelt_option options[] = {
    {"add", 0, PELT_OPTION_UINT, FIELD(add), "0", 0, 4000, NULL, "N",
     "helper bones at most; dual quaternions: two for each pair of bones, those between which skinning differs most; "
     "0: all that matter, for delta mush 16"},
    {"influences", 0, PELT_OPTION_UINT, FIELD(influences), "0", 0, PELT_MAX_INFLUENCES, NULL, "K",
     "bones per vertex at most; 0: as many as the rig has, at least 4"},
    {"transforms", 0, PELT_OPTION_CHOICE, FIELD(transforms), "affine", 0, 0, "affine|rigid", NULL,
     "affine: two nested joints per helper bone, with scales; rigid: one without scales, less close"},
    {"fps", 0, PELT_OPTION_REAL, FIELD(fps), "30", 0.001, 100000, NULL, "N", "frames per second"},
};
PX_DESC(helper_bones, options)

static pelt_result check(pelt_context *context, const pelt_model *model, const pelt_helper_bones_desc *desc) {
    if (model->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "the mesh has no skin: there are no bones to add helper bones to");
    if (model->motion_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there is no motion: helper bones are fitted to motions");
    if (desc->add == 1 && !desc->mush)
        return px_fail(context, PELT_ERROR_USAGE,
                       "pelt_helper_bones_desc.add is 1; a pair of bones has two helper bones: at least 2, or 0");
    return PELT_OK;
}

/* Clips of all motions of the model, at the frames of desc.fps: skinned, or as the deformer shows them. */
static pelt_result make_clips(const px_helper_plan *plan, pelt_skinning skinning, pelt_clip *clips) {
    pelt_model *model = plan->model;
    for (uint32_t m = 0; m < model->motion_count; m++)
        PX_TRY(pelt_clip_from_motion(plan->context, model, &model->motions[m], plan->desc.fps, skinning, &clips[m]));
    return PELT_OK;
}

static pelt_result make_targets(const px_helper_plan *plan, pelt_clip *clips) {
    pelt_model *model = plan->model;
    if (!plan->desc.mush)
        return make_clips(plan, PELT_SKINNING_DUAL_QUATERNION, clips);
    for (uint32_t m = 0; m < model->motion_count; m++)
        PX_TRY(
            pelt_clip_delta_mush(plan->context, model, &model->motions[m], plan->desc.fps, plan->desc.mush, &clips[m]));
    return PELT_OK;
}

/* Adds up the differences of clips [motion]. */
static pelt_result measure(const px_helper_plan *plan, const pelt_clip *reference, const pelt_clip *clips,
                           pelt_helper_error *error) {
    double square = 0, frames = 0;
    for (uint32_t m = 0; m < plan->model->motion_count; m++) {
        pelt_difference d;
        PX_TRY(pelt_compare_clips(plan->context, &reference[m], &clips[m], NULL, &d, NULL));
        /* E_rms = 1000 ‖A − B‖ / √(3NF) in units of the radius */
        double rms = d.error_rms / 1000 * sqrt(3) / 2;
        square += rms * rms * d.frame_count;
        frames += d.frame_count;
        error->max = px_fmax(error->max, d.error_max);
    }
    error->rms = sqrt(square / frames);
    return PELT_OK;
}

static pelt_result add_pairs(px_helper_plan *plan, pelt_helper_bones_report *report) {
    PX_TRY(px_classes_by_weights(plan->arena, &plan->model->mesh, &plan->model->skin, &plan->classes));
    PX_TRY(px_helper_poses(plan));
    PX_TRY(px_helper_pairs(plan));
    return px_helper_build(plan, report);
}

static pelt_result add(px_helper_plan *plan, pelt_helper_bones_report *report) {
    pelt_model *model = plan->model;
    pelt_clip *clips = PX_NEW(plan->arena, pelt_clip, 3 * (size_t)model->motion_count);
    if (!clips)
        return PELT_ERROR_MEMORY;
    pelt_clip *targets = clips, *before = clips + model->motion_count, *after = before + model->motion_count;
    PX_TRY(pelt_model_weld(plan->context, model));
    PX_TRY(make_targets(plan, targets));
    PX_TRY(make_clips(plan, PELT_SKINNING_LINEAR, before));
    PX_TRY(plan->desc.mush ? px_helper_mush(plan, targets, report) : add_pairs(plan, report));
    PX_TRY(make_clips(plan, PELT_SKINNING_LINEAR, after));
    PX_TRY(measure(plan, targets, before, &report->before));
    return measure(plan, targets, after, &report->after);
}

pelt_result pelt_helper_bones_add(pelt_context *context, pelt_model *model, const pelt_helper_bones_desc *desc,
                                  pelt_helper_bones_report *report) {
    pelt_helper_bones_report own;
    report = report ? report : &own;
    *report = (pelt_helper_bones_report){0};
    PX_TAKE_DESC(context, helper_bones, desc, settings);
    PX_TRY(check(context, model, &settings));
    double start = px_seconds();
    px_operation operation = px_operation_begin(model);
    px_helper_plan plan = {.context = context, .model = model, .desc = settings, .arena = px_arena_create(context)};
    pelt_result result = plan.arena ? add(&plan, report) : PELT_ERROR_MEMORY;
    px_arena_destroy(plan.arena);
    if (result != PELT_OK)
        *report = (pelt_helper_bones_report){0};
    report->seconds = px_seconds() - start;
    return px_operation_end(&operation, result);
}
