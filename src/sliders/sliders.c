/* Sliders as bones: settings and entry points. */
#include "sliders/plan.h"

#include <math.h>

#define DEFAULT_BONES 40u

#define FIELD(name) PELT_FIELD(pelt_sliders_desc, name)
static const pelt_option options[] = {
    {"bones", 'b', PELT_OPTION_UINT, FIELD(bones), "0", 0, 4000, NULL, "P",
     "number of bones, with the one that the others are children of; 0: 40"},
    {"influences", 'k', PELT_OPTION_UINT, FIELD(influences), "4", 1, 8, NULL, "K", "bones per vertex at most"},
    {"moves", 0, PELT_OPTION_UINT, FIELD(moves), "0", 0, 10000000, NULL, "N",
     "transforms in all: pairs of slider and bone that it moves; 0: 19 per slider"},
    {"morphs", 0, PELT_OPTION_UINT, FIELD(morphs), "0", 0, 10000, NULL, "N",
     "sliders that stay morph targets at most: those that bones show worst"},
    {"keep", 0, PELT_OPTION_TEXT, FIELD(keep), NULL, 0, 0, NULL, "NAMES",
     "sliders that stay morph targets besides, separated by commas"},
    {"normal-weight", 0, PELT_OPTION_REAL, FIELD(normals), "0.01", 0, 1, NULL, "X",
     "how much normals count against positions; 0: not at all"},
    {"iterations", 0, PELT_OPTION_UINT, FIELD(iterations), "24", 0, 100000, NULL, "N", "iterations of the fit"},
    {"no-clips", 0, PELT_OPTION_FLAG, FIELD(no_clips), NULL, 0, 0, NULL, NULL, "no animation per slider"},
    {"fit-motions", 0, PELT_OPTION_FLAG, FIELD(fit_motions), NULL, 0, 0, NULL, NULL,
     "weigh combinations of sliders as the animations use them"},
};
PX_DESC(sliders, options)

/* ---- Metric ----------------------------------------------------------------------------------------------- */

/* Adds weight · c cᵀ to the metric. */
static void add_pose(const px_slider_plan *plan, const float *values, double weight, double *metric) {
    size_t S = plan->slider_count;
    for (size_t e = 0; e < S * S; e++)
        metric[e] += weight * (double)values[e / S] * (double)values[e % S];
}

/* Frames of motions at which their combinations of sliders count. */
#define MOTION_SAMPLES 64u

/* Every pose counts like a slider at 1; the motions together like all of them. */
static pelt_result make_metric(px_slider_plan *plan) {
    const pelt_model *model = plan->model;
    size_t S = plan->slider_count;
    bool motions = plan->desc.fit_motions && model->motion_count > 0;
    if (plan->desc.pose_count == 0 && !motions)
        return PELT_OK;
    double *metric = PX_NEW(plan->arena, double, S *S);
    float *weights = PX_NEW(plan->arena, float, model->morphs.morph_count), *values = PX_NEW(plan->arena, float, S);
    if (!metric || !weights || !values)
        return PELT_ERROR_MEMORY;
    for (size_t s = 0; s < S; s++)
        metric[s * (S + 1)] = 1;
    for (size_t p = 0; p < plan->desc.pose_count; p++)
        for (size_t s = 0; s < S; s++)
            if (!isfinite(plan->desc.poses[p * S + s]))
                return px_fail(plan->context, PELT_ERROR_USAGE,
                               "pelt_sliders_desc.poses: value %zu of pose %zu is not finite", s, p);
    for (size_t p = 0; p < plan->desc.pose_count; p++)
        add_pose(plan, plan->desc.poses + p * S, 1, metric);
    for (uint32_t n = 0; motions && n < model->motion_count; n++) {
        const pelt_motion *motion = &model->motions[n];
        for (uint32_t k = 0; k < MOTION_SAMPLES; k++) {
            double u = (k + 0.5) / MOTION_SAMPLES;
            pelt_motion_sample(model, motion, (float)((1 - u) * (double)motion->start + u * (double)motion->end), NULL,
                               weights);
            for (uint32_t m = 0; m < model->morphs.morph_count; m++)
                values[plan->morph_sliders[m]] = weights[m];
            add_pose(plan, values, (double)S / (MOTION_SAMPLES * (double)model->motion_count), metric);
        }
    }
    plan->metric = metric;
    return PELT_OK;
}

/* ---- Decomposition ---------------------------------------------------------------------------------------- */

static pelt_result fit_groups(px_slider_plan *plan) {
    PX_TRY(px_slider_plan_gather(plan));
    for (uint32_t g = 0; g < plan->group_count; g++) {
        PX_TRY(px_slider_fit_make(&plan->groups[g].fit));
        PX_TRY(px_slider_seed(plan, &plan->groups[g]));
        PX_TRY(px_slider_fit_run(&plan->groups[g].fit, plan->desc.iterations));
    }
    return PELT_OK;
}

/* Keeps as morph targets the sliders with the largest residuals. */
static pelt_result keep_worst(px_slider_plan *plan) {
    double *squares = PX_NEW(plan->arena, double, plan->slider_count);
    if (!squares)
        return PELT_ERROR_MEMORY;
    for (uint32_t g = 0; g < plan->group_count; g++) {
        double size = plan->groups[g].radius * plan->groups[g].radius,
               *own = PX_NEW(plan->arena, double, plan->slider_count);
        if (!own)
            return PELT_ERROR_MEMORY;
        px_slider_fit_squares(&plan->groups[g].fit, own);
        for (uint32_t s = 0; s < plan->slider_count; s++)
            squares[s] += size * own[s];
    }
    for (uint32_t n = 0; n < plan->desc.morphs; n++) {
        uint32_t worst = PELT_NONE;
        for (uint32_t s = 0; s < plan->slider_count; s++)
            if (!plan->kept[s] && squares[s] > 0 && (worst == PELT_NONE || squares[s] > squares[worst]))
                worst = s;
        if (worst == PELT_NONE)
            break;
        plan->kept[worst] = true;
    }
    return PELT_OK;
}

static pelt_result decompose(px_slider_plan *plan, pelt_sliders_report *report) {
    PX_TRY(px_slider_plan_make(plan));
    PX_TRY(make_metric(plan));
    PX_TRY(fit_groups(plan));
    if (plan->desc.morphs > 0) {
        PX_TRY(keep_worst(plan));
        PX_TRY(fit_groups(plan));
    }
    return px_slider_build(plan, report);
}

pelt_result pelt_decompose_sliders(pelt_context *context, pelt_model *model, const pelt_sliders_desc *desc,
                                   pelt_sliders_report *report) {
    pelt_sliders_report own;
    report = report ? report : &own;
    *report = (pelt_sliders_report){0};
    PX_TAKE_DESC(context, sliders, desc, settings);
    if (settings.pose_count > 0 && !settings.poses)
        return px_fail(context, PELT_ERROR_USAGE, "pelt_sliders_desc.poses is NULL, but pose_count is %u",
                       settings.pose_count);
    settings.bones = settings.bones > 0 ? settings.bones : DEFAULT_BONES;
    settings.iterations = settings.iterations > 0 ? settings.iterations : 1;
    double start = px_seconds();
    px_operation operation = px_operation_begin(model);
    px_slider_plan plan = {.context = context, .model = model, .desc = settings, .arena = px_arena_create(context)};
    pelt_result result = plan.arena ? decompose(&plan, report) : PELT_ERROR_MEMORY;
    px_arena_destroy(plan.arena);
    if (result != PELT_OK)
        *report = (pelt_sliders_report){0};
    report->seconds = px_seconds() - start;
    return px_operation_end(&operation, result);
}

pelt_result pelt_sliders_find(pelt_context *context, pelt_model *model, const char *const **names, uint32_t *count) {
    (void)context; /* the arena knows its own */
    const char **found;
    *names = NULL;
    *count = 0;
    PX_TRY(px_sliders_name(model->memory, model, &found, count, NULL));
    *names = found;
    return PELT_OK;
}
