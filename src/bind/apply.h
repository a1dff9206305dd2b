/* From fields and settings to rows of weights, and from rows to the model's skin (internal header).
 *
 *   settings.c  resolves the names and numbers of the description
 *   apply.c     pipeline from fields to rows
 *   rigid.c     shells that follow one joint: accessories, machine parts
 *   mirror.c    symmetric weights
 *   skin.c      stores the rows in the model
 *
 * Row c holds the weights of vertex class c. px_weight_table.bones are joint indices of the rig, not bones of a
 * skin. */
#ifndef PELT_BIND_APPLY_H
#define PELT_BIND_APPLY_H

#include "bind/bind.h"
#include "weights/weights.h"

typedef struct px_bind_settings {
    const pelt_bind_desc *desc;
    bool *out;            /* [target] excluded: it gets no weights */
    uint32_t *heirs;      /* [target] itself, or the target that replaces an excluded one */
    float *falloffs;      /* [class] α; NULL: desc->falloff */
    bool *locked;         /* [joint] its weights stay unchanged; NULL: no locked joints */
    px_weight_table kept; /* [class] rows of the model's present skin; only if joints are locked */
    uint32_t *follows;    /* [class] joint that the class follows rigidly, or PELT_NONE */
    uint8_t *regions;     /* [class] 1: `follows` was set by desc.rigid and overrides all other settings */
} px_bind_settings;

/* Equation 8 of Dionne and de Lasa 2013. `distance`: over the diagonal; curve: pelt_bind_curve. */
double px_bind_falloff(double distance, double alpha, uint32_t curve);

/* Validates the settings and resolves names; arrays are allocated in the arena. */
pelt_result px_bind_settings_make(px_arena *arena, const pelt_binding *binding, const pelt_bind_desc *desc,
                                  const pelt_transform *pose, px_bind_settings *settings);

/* Sets settings->follows for shells that are accessories or machine parts, except for rows that have a joint. Other small
 * or round shells get the same row throughout. */
pelt_result px_bind_rigid_shells(px_arena *arena, const pelt_binding *binding, const px_bind_settings *settings,
                                 px_weight_table *table);

/* Averages rows at mirrored positions, so that both sides get mirrored weights, cut to `limits`. unmatched [class]: 1
 * if there is no row at the mirrored position, or if one has weights of joints that cannot be mirrored. */
pelt_result px_bind_mirror(px_arena *arena, const pelt_binding *binding, const px_bind_settings *settings,
                           const px_weight_limits *limits, px_weight_table *table, uint8_t *unmatched);

/* Stores the rows as the model's skin. The model is unchanged on failure. *used [space][joint of the rig], in the arena: 1 for
 * joints with weights. */
pelt_result px_bind_put_skin(px_arena *arena, pelt_binding *binding, const px_weight_table *table, uint32_t influences,
                             uint8_t **used);

#endif
