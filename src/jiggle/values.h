/* Stiffness, damping and δ per particle, from settings of joints and vertices and from pinning near bones. */
#ifndef PELT_JIGGLE_VALUES_H
#define PELT_JIGGLE_VALUES_H

#include "jiggle/thickness.h"

#include <pelt/jiggle.h>

typedef struct px_values {
    const px_lattice *lattice;
    const px_weight_table *weights; /* joint weights of particles */
    uint32_t joint_count;
    float standard_stiffness, standard_damping, standard_frequency, standard_delta;
    const px_thickness *thickness; /* NULL: softness 1 for all */
    uint8_t *pinned;               /* [particle] 1: inside a bone's cylinder */
    uint32_t inner_count;          /* particles without vertices nearby, sorted from the surface inwards */
    uint32_t *inner;               /* [inner_count] */
    uint32_t *layers;              /* [particle] graph distance from the particles with vertices */
    float *totals;                 /* [particle] Σ of the trilinear weights of vertices */
    float *sums, *shares;          /* [particle] scratch */
    float *joints;                 /* [joint] scratch */
    float *stiffness;              /* [particle] half-width of regions, cells */
    float *damping;                /* [particle] 1 / s */
    float *frequencies;            /* [particle] Hz; negative: of the settings, no joint has its own */
    float *deltas;                 /* [particle] δ, reduced near pinned particles */
    float *pins;                   /* [particle] */
    float max_distance;            /* units; 0: unbounded */
    float *limits; /* [particle] bound on the distance from the primary motion, units; 1e30: unbounded */
} px_values;

/* Pins particles in cylinders around bones (radius from `desc`, cells) if that bone has their largest weight.
 * `subject` is not used after the call. */
pelt_result px_values_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                           const px_weight_table *weights, const px_thickness *thickness, const pelt_jiggle_desc *desc,
                           px_values *out);
/* Recomputes all values. Never allocates. */
void px_values_set(px_values *values, const pelt_jiggle_joint *joints, uint32_t joint_count,
                   const pelt_jiggle_maps *maps);
/* Interpolates values [particle] at the vertices: out [vertex]. */
void px_values_at_vertices(const px_values *values, const float *particles, float *out);
uint32_t px_values_pinned(const px_values *values);

#endif
