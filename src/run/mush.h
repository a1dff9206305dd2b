/* Delta mush of one pose after the other; see mush.c. */
#ifndef PELT_RUN_MUSH_H
#define PELT_RUN_MUSH_H

#include "core/mesh.h"

#include <pelt/delta_mush.h>

/* A model prepared for delta mush. Borrows the model, which must have a skin and stay as it is. */
typedef struct px_mush {
    const pelt_model *model;
    pelt_delta_mush_desc desc;
    pelt_vertex_classes classes; /* coincident vertices with a common joint */
    px_neighbours ring;          /* of classes */
    double *smooth;              /* [class][3] the smoothed rest pose, without morph targets */
    double *deltas;              /* [class][3] rest pose − smooth */
} px_mush;

/* Prepares a model in the arena. The model must be welded. */
pelt_result px_mush_make(pelt_context *context, px_arena *arena, const pelt_model *model,
                         const pelt_delta_mush_desc *desc, px_mush *out);
/* The deformed positions [class][3] of a pose: `palette` [bone]; `weights` [morph], NULL: no morph target is active; `skinned`
 * [vertex][3] by linear blending. Allocates scratch memory; safe from any thread. */
pelt_result px_mush_pose(pelt_context *context, const px_mush *mush, const pelt_affine *palette, const float *weights,
                         const float *skinned, float *out);

#endif
