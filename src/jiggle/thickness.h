/* Thickness of the tissue around joints, and what depends on it. */
#ifndef PELT_JIGGLE_THICKNESS_H
#define PELT_JIGGLE_THICKNESS_H

#include "jiggle/jiggle.h"

typedef struct px_thickness {
    float *joints;   /* [joint] mean distance of its vertices from its bone, units; 0: it has none */
    float *softness; /* [joint] factor on δ, 0 to 1 */
    float *swings;   /* [joint] bound on secondary motion, units; INFINITY: none */
    float *holds;    /* [joint] share of the skin of the rig in its vertices, 0 to 1 (hold.c) */
} px_thickness;

/* A subject without a skin is soft everywhere. Arrays live in the arena. */
pelt_result px_thickness_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                              const px_weight_table *weights, px_thickness *out);
/* Values of particles from those of joints: out [particle]. */
void px_thickness_blend(const px_weight_table *weights, const float *joints, uint32_t particle_count, float *out);

#endif
