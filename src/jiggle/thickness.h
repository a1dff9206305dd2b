/* Thickness of the tissue around joints, and limits derived from it. */
#ifndef PELT_JIGGLE_THICKNESS_H
#define PELT_JIGGLE_THICKNESS_H

#include "jiggle/jiggle.h"

typedef struct px_thickness {
    float *joints;   /* [joint] mean distance of its vertices from its bone, units; 0: no vertices */
    float *softness; /* [joint] factor on δ, 0 to 1 */
    float *swings;   /* [joint] bound on secondary motion, units; INFINITY: unbounded */
    float *holds;    /* [joint] share of the rig's skinning in its vertices, 0 to 1 (h of hold.c) */
} px_thickness;

/* Without a skin, softness is 1 and motion unbounded for all joints. Arrays live in the arena. */
pelt_result px_thickness_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                              const px_weight_table *weights, px_thickness *out);
/* Blends values of joints [joint] by particle weights: out [particle]. */
void px_thickness_blend(const px_weight_table *weights, const float *joints, uint32_t particle_count, float *out);

#endif
