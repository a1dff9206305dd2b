/* Detection of meshes that a retargeted motion tears. */
#ifndef PELT_RETARGET_TEAR_H
#define PELT_RETARGET_TEAR_H

#include "retarget/retarget.h"

#define PX_TEAR                                                                                                        \
    0.15 /* of the rig's size. Correct results on CMU captures reach 0.12 (skirts), torn ones start at 0.16 */
#define PX_TEAR_FRAMES 24u /* frames that are measured, evenly spread */

typedef struct px_tear {
    const pelt_model *rig;
    const px_rig_pose *rest_pose;
    pelt_affine *palette; /* [bone] */
    float *rest, *posed;  /* [vertex][3] */
    bool *weighted;       /* [joint] has weights */
    bool *torn;           /* [joint] at an end of an edge or bone that grew by more than PX_TEAR */
    double size;          /* diagonal of the mesh at rest; 0: no skin, nothing is measured */
    double growth;        /* largest growth, as a fraction of the size */
    uint32_t joints[2];   /* joints that it lies between */
    uint32_t frame;       /* its frame */
} px_tear;

/* `rest` must outlive it. */
pelt_result px_tear_create(px_arena *arena, const px_rig_pose *rest, px_tear *tear);
void px_tear_measure(px_tear *tear, const px_rig_pose *pose, uint32_t frame);
/* Warns where the mesh is torn, and names the joints without partners there. */
void px_tear_warn(const px_tear *tear, pelt_context *context, const px_bridge *bridge);

#endif
