/* Lattice shape matching: FastLSM, Rivers and James 2007 (see match_kernel.h). */
#ifndef PELT_JIGGLE_MATCH_H
#define PELT_JIGGLE_MATCH_H

#include "jiggle/kernels.h"

#include <pelt/jiggle.h>

/* Number of half-widths: 0 to PELT_JIGGLE_MAX_STIFFNESS. */
#define PX_MATCH_LEVELS (PELT_JIGGLE_MAX_STIFFNESS + 1)

/* Every particle has one region for each half-width w: all particles reached by up to w steps along the chains of z,
 * then y, then x. A particle that is reached on two paths counts twice. Regions have weights; regions of weight 0
 * are not evaluated. */
typedef struct px_match {
    const px_lattice *lattice;
    const px_jiggle_kernels *kernels;
    pelt_jiggle_regions regions;
    size_t padded;                /* particles, padded to whole blocks */
    uint8_t *again[3];            /* [axis][item of its chains] 1: an earlier item is the same particle */
    bool active[PX_MATCH_LEVELS]; /* a region of this half-width has a weight > 0 */
    float *shares;                /* [half-width][particle] weight of its region */
    float *masses;                /* [particle] 1 / Σ shares of the regions that contain it */
    float *rotations; /* [half-width][particle][4] quaternion of the region; initial guess of the next substep */
    float *rows[3];   /* [particle][PX_MATCH_UP] scratch */
    float *goals;     /* [particle][PX_MATCH_DOWN] sums of the goals of its regions */
} px_match;

pelt_result px_match_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels,
                          pelt_jiggle_regions regions, px_match *out);
/* Resets rotations: regions of the skin to the identity, those of the rest shape to `turns` [particle][4]; NULL: the
 * identity. */
void px_match_reset(px_match *match, const float *turns);
/* Sets the half-width [particle] of regions, 0 to 8; fractions weight the two nearest half-widths. */
void px_match_set_stiffness(px_match *match, const float *stiffness);
/* Runs one substep. `pass` holds skin, displacements, velocities and settings; the other fields are set here. */
void px_match_run(px_match *match, px_swing_pass *pass);

/* sum_up: rows[1] = sums of rows[0] over the particles of each region. sum_down: goals = sums of rows[2] over the
 * regions that contain each particle. */
void px_match_sum_up(px_match *match, uint32_t half);
void px_match_sum_down(px_match *match, uint32_t half, bool add);

#endif
