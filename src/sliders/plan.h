/* The sliders of a model and, per group of vertices that can share bones, the problem to fit. */
#ifndef PELT_SLIDERS_PLAN_H
#define PELT_SLIDERS_PLAN_H

#include "sliders/fit.h"
#include <pelt/sliders.h>

/* Vertices that one node's morph targets move and that follow one bone most. Their new bones are children of it. */
typedef struct px_slider_group {
    uint32_t joint; /* of the morph targets: its weights drive the bones */
    uint32_t host;  /* bone */
    uint32_t vertex_count;
    uint32_t *vertices; /* [vertex of the fit] class */
    double center[3], radius;
    px_slider_fit fit;
} px_slider_group;

typedef struct px_slider_plan {
    pelt_context *context;
    px_arena *arena; /* scratch */
    pelt_model *model;
    pelt_sliders_desc desc;
    uint32_t slider_count;
    const char **names;          /* [slider] of the morphs */
    bool *kept;                  /* [slider] stays a morph target */
    uint32_t *morph_sliders;     /* [morph] */
    pelt_vertex_classes classes; /* coincident vertices with equal weights */
    uint32_t *class_groups;      /* [class] or PELT_NONE: no slider moves it */
    uint32_t *class_places;      /* [class] its number in the group */
    uint32_t group_count;
    px_slider_group *groups;
    const double *metric; /* [slider][slider] or NULL */
} px_slider_plan;

/* Names of the sliders, and which morph is of which. A morph joins the slider of its name, unless that already has a morph
 * of the same joint. */
pelt_result px_sliders_name(px_arena *arena, const pelt_model *model, const char ***names, uint32_t *count,
                            uint32_t *morph_sliders);
/* Fills plan from its context, arena, model and desc: sliders, classes, groups. */
pelt_result px_slider_plan_make(px_slider_plan *plan);
/* Fills the problems of the groups for the sliders that are not kept, with initial weights. */
pelt_result px_slider_plan_gather(px_slider_plan *plan);
/* Initial weights: skinning decomposition of the shapes (decompose.h). */
pelt_result px_slider_seed(const px_slider_plan *plan, px_slider_group *group);
/* Writes the fits to the model: joints, skin, motions, morphs, sliders. */
pelt_result px_slider_build(px_slider_plan *plan, pelt_sliders_report *report);

#endif
