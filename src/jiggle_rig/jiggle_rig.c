/* Operations that combine the simulation with retargeting, helper bones and morph targets; see jiggle_rig.h. */
#include "core/core.h"

#include <pelt/jiggle_rig.h>
#include <pelt/run.h>
#include <pelt/weights.h>

#define HELPER_BONES           16u
#define HELPER_BONE_ITERATIONS 8u
#define MORPH_TARGETS          20u

static const pelt_option options[] = {
    {"from", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_simulate_desc, from), "0", 0, 1e9, NULL, "SECONDS",
     "start of the part of the motion to simulate: past the T-pose of a capture"},
    {"to", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_jiggle_simulate_desc, to), "0", 0, 1e9, NULL, "SECONDS",
     "end of that part, from the motion's start; 0: its end"},
};

PX_DESC(jiggle_simulate, options)

/* ---- Simulation ------------------------------------------------------------------------------------------- */

/* Adds the source motion to the model and moves it to the front: pelt_decompose pairs clips with motions by name,
 * the first of equal names first. */
static pelt_result retarget(pelt_context *context, pelt_model *model, const pelt_jiggle_simulate_desc *desc,
                            pelt_retarget_report *report) {
    pelt_joint_match *found = NULL;
    if (!desc->source)
        return px_fail(context, PELT_ERROR_USAGE, "pelt_jiggle_simulate_desc.source is NULL, with a source_motion");
    if (!desc->matches) {
        if (!(found = PX_ALLOC(context, pelt_joint_match, model->skeleton.joint_count)))
            return PELT_ERROR_MEMORY;
        pelt_result result =
            pelt_match_joints(context, &model->skeleton, &desc->source->skeleton, desc->retarget, found);
        if (result != PELT_OK) {
            px_free(context, found);
            return result;
        }
    }
    pelt_result result = pelt_retarget(context, desc->source, desc->source_motion, found ? found : desc->matches,
                                       desc->retarget, model, report);
    px_free(context, found);
    if (result != PELT_OK)
        return result;
    pelt_motion made = model->motions[model->motion_count - 1];
    memmove(model->motions + 1, model->motions, (model->motion_count - 1) * sizeof made);
    model->motions[0] = made;
    return PELT_OK;
}

/* Replaces a motion by its part between `from` and `to`, closed to a cycle if `loop`. */
static pelt_result trim(pelt_context *context, pelt_model *model, const pelt_jiggle_simulate_desc *desc, bool loop,
                        pelt_motion *motion, double *added) {
    pelt_motion part;
    double duration = (double)motion->end - (double)motion->start, to = desc->to > 0 ? desc->to : duration;
    PX_TRY(pelt_motion_part(context, model, motion, desc->from, to, &part));
    if (loop) {
        pelt_motion whole = part;
        PX_TRY(pelt_motion_close(context, model, &whole, &part, added));
    }
    if (part.tracks != motion->tracks)
        model->changed |= PELT_CHANGED_MOTIONS;
    *motion = part;
    return PELT_OK;
}

static pelt_result simulate(pelt_context *context, pelt_model *model, const pelt_jiggle_simulate_desc *desc,
                            pelt_jiggle_simulate_report *report) {
    uint32_t first = desc->motion, count = desc->motion_count;
    if (desc->source_motion) {
        PX_TRY(retarget(context, model, desc, &report->retarget));
        first = 0;
        count = 1;
    }
    bool rest = model->motion_count == 0 && first == 0 && count == 0;
    if (rest)
        count = 1;
    else if (first >= model->motion_count || count > model->motion_count - first)
        return px_fail(context, PELT_ERROR_USAGE,
                       "pelt_jiggle_simulate_desc.motion is %u and its motion_count %u; the model has %u motions",
                       first, count, model->motion_count);
    else if (count == 0)
        count = model->motion_count - first;

    uint32_t *motions = PX_NEW_LASTING(model->memory, uint32_t, count);
    double *added = PX_NEW_LASTING(model->memory, double, count);
    pelt_jiggle_bake_report *bakes = PX_NEW_LASTING(model->memory, pelt_jiggle_bake_report, count);
    pelt_clip *clips = PX_NEW(model->memory, pelt_clip, count);
    pelt_motion *replaced = PX_NEW(model->memory, pelt_motion, model->motion_count);
    if (!motions || !added || !bakes || !clips || !replaced)
        return PELT_ERROR_MEMORY;
    if (!rest) {
        memcpy(replaced, model->motions, model->motion_count * sizeof *replaced);
        model->motions = replaced;
    }
    model->clips = NULL; /* weld by the rest pose only: vertices welded at rest may separate in a clip */
    model->clip_count = 0;
    for (uint32_t c = 0; c < count; c++) {
        pelt_motion *motion = rest ? NULL : &model->motions[first + c];
        motions[c] = rest ? PELT_NONE : first + c;
        if (motion)
            PX_TRY(trim(context, model, desc, desc->bake && desc->bake->loop, motion, &added[c]));
        PX_TRY(pelt_jiggle_bake(context, model, motion, desc->jiggle, desc->bake, &clips[c], &bakes[c]));
    }
    model->clips = clips;
    model->clip_count = count;
    model->mesh.weld = (pelt_vertex_classes){0}; /* welded vertices may differ in the new clips */
    report->clip_count = count;
    report->motions = motions;
    report->added = added;
    report->bakes = bakes;
    return PELT_OK;
}

pelt_result pelt_jiggle_simulate(pelt_context *context, pelt_model *model, const pelt_jiggle_simulate_desc *desc,
                                 pelt_jiggle_simulate_report *report) {
    pelt_jiggle_simulate_report unwanted;
    report = report ? report : &unwanted;
    *report = (pelt_jiggle_simulate_report){0};
    PX_TAKE_DESC(context, jiggle_simulate, desc, settings);
    px_operation operation = px_operation_begin(model);
    pelt_result result = simulate(context, model, &settings, report);
    if (result != PELT_OK)
        *report = (pelt_jiggle_simulate_report){0};
    return px_operation_end(&operation, result);
}

/* ---- Helper bones and morph targets ----------------------------------------------------------------------- */

pelt_decompose_desc pelt_jiggle_bones_default(void) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.add = HELPER_BONES;
    desc.iterations = HELPER_BONE_ITERATIONS;
    return desc;
}

pelt_result pelt_jiggle_add_bones(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                  const pelt_decompose_corrected_desc *corrected,
                                  pelt_decompose_corrected_report *report) {
    pelt_decompose_desc settings = desc ? *desc : pelt_jiggle_bones_default();
    if (report)
        *report = (pelt_decompose_corrected_report){0};
    PX_TRY(pelt_options_check(context, pelt_decompose_options(), &settings));
    settings.rig = settings.add ? model : NULL;
    pelt_weights_scope scope = pelt_weights_scope_default();
    scope.influences = settings.influences > 1 ? settings.influences / 2 : 1;
    pelt_prune_desc keep_small = pelt_prune_desc_default();
    keep_small.threshold = 0;
    pelt_result result = PELT_OK;
    px_operation operation = px_operation_begin(model);
    if (settings.add && model->skin.influence_count > scope.influences)
        result = pelt_weights_prune(context, model, &scope, &keep_small, NULL);
    if (result == PELT_OK)
        result = pelt_decompose_corrected(context, model, &settings, corrected, report);
    return px_operation_end(&operation, result);
}

pelt_correct_desc pelt_jiggle_morphs_default(void) {
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = MORPH_TARGETS;
    return desc;
}

pelt_result pelt_jiggle_add_morphs(pelt_context *context, pelt_model *model, const uint32_t *motions,
                                   const pelt_correct_desc *desc, pelt_correct_report *report) {
    pelt_correct_desc settings = desc ? *desc : pelt_jiggle_morphs_default();
    pelt_correct_pair *pairs = PX_ALLOC(context, pelt_correct_pair, model->clip_count);
    if (!pairs)
        return PELT_ERROR_MEMORY;
    for (uint32_t c = 0; c < model->clip_count; c++)
        pairs[c] = (pelt_correct_pair){motions[c], &model->clips[c]};
    pelt_result result = pelt_correct(context, model, pairs, model->clip_count, &settings, report);
    px_free(context, pairs);
    return result;
}
