/* How thick the flesh around joints is, and what follows from it. */
#ifndef PELT_JIGGLE_THICKNESS_H
#define PELT_JIGGLE_THICKNESS_H

#include "jiggle/jiggle.h"

typedef struct px_thickness {
    float *joints;   /* [joint] mean distance of its vertices from its bone, units; 0: it has none */
    float *softness; /* [joint] 0 to 1: how much of δ its flesh has */
    float *swings;   /* [joint] units: how far its flesh swings from the skin at most; INFINITY: any */
    float *holds; /* [joint] 0 to 1: how much its vertices keep the rig's own skin, where the lattice is too coarse */
} px_thickness;

/* Without a skin everything is soft and nothing is held. Arrays live in the arena. */
pelt_result px_thickness_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                              const px_weight_table *weights, px_thickness *out);
/* Values of particles from those of joints: out [particle]. */
void px_thickness_blend(const px_weight_table *weights, const float *joints, uint32_t particle_count, float *out);

#endif
