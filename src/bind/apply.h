/* Applying from inside: settings and fields to rows of weights, and those to the model's skin.
 *
 *   settings.c  names and numbers that people gave
 *   apply.c     the way from fields to rows
 *   rigid.c     shells that are plainly accessories
 *   mirror.c    both sides alike
 *   skin.c      rows into the model
 *
 * Rows are of joints: px_weight_table.bones are joints of the rig. */
#ifndef PELT_BIND_APPLY_H
#define PELT_BIND_APPLY_H

#include "bind/bind.h"
#include "weights/weights.h"

typedef struct px_bind_settings {
    const pelt_bind_desc *desc;
    bool *out;            /* [target] it may get nothing */
    uint32_t *heirs;      /* [target] itself, or where it may get nothing the target that stands in for it */
    float *falloffs;      /* [class] α; NULL: desc->falloff */
    bool *locked;         /* [joint] its weights stay; NULL: none */
    px_weight_table kept; /* rows as the model has them, where joints are locked */
    uint32_t *follows;    /* [class] the joint that it wholly follows, or PELT_NONE */
    uint8_t *regions;     /* [class] … because a region of its name does, whatever else is asked for */
} px_bind_settings;

/* Checks and looks up everything; arrays live in the arena. */
pelt_result px_bind_settings_make(px_arena *arena, const pelt_binding *binding, const pelt_bind_desc *desc,
                                  px_bind_settings *settings);

/* Rows of shells that are plainly accessories get a joint to follow, unless they have one. */
pelt_result px_bind_rigid_shells(px_arena *arena, const pelt_binding *binding, const px_bind_settings *settings,
                                 const px_weight_table *table);

/* Rows that lie across the plane from each other get the same weights, mirrored, cut to `limits`. unmatched [row]:
 * there is no such row, or it has weights of joints that may not be mirrored. */
pelt_result px_bind_mirror(px_arena *arena, const pelt_binding *binding, const px_bind_settings *settings,
                           const px_weight_limits *limits, px_weight_table *table, uint8_t *unmatched);

/* Puts the rows into the model. Nothing changes when it fails. */
pelt_result px_bind_put_skin(px_arena *arena, pelt_binding *binding, const px_weight_table *table, uint32_t influences);

#endif
