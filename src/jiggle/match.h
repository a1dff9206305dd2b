/* Lattice shape matching (FastLSM). */
#ifndef PELT_JIGGLE_MATCH_H
#define PELT_JIGGLE_MATCH_H

#include "jiggle/kernels.h"

#include <pelt/jiggle.h>

/* Regions of half-widths 0, 1 … */
#define PX_MATCH_LEVELS (PELT_JIGGLE_MAX_STIFFNESS + 1)

/* Every particle has a region of each half-width w: all particles reached by w steps along the chains of z, then y, then x. A
 * particle that is reached on two paths counts twice. Regions have weights; those of weight 0 are not evaluated. */
typedef struct px_match {
    const px_lattice *lattice;
    const px_jiggle_kernels *kernels;
    size_t padded;                /* particles, padded to whole blocks */
    uint8_t *again[3];            /* [axis][item of its chains] an earlier item is the same particle */
    bool active[PX_MATCH_LEVELS]; /* some region of this half-width has a weight */
    float *shares;                /* [half-width][particle] weight of its region */
    float *masses;                /* [particle] 1 / Σ shares of regions that it is in */
    float *rotations; /* [half-width][particle][4] quaternion of its region, the start of the next iteration */
    float *rows[3];   /* [particle][PX_MATCH_UP] scratch */
    float *goals;     /* [particle][PX_MATCH_DOWN] sums of the goals of its regions */
} px_match;

pelt_result px_match_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels, px_match *out);
/* Resets rotations to the identity. */
void px_match_reset(px_match *match);
/* Sets the half-width [particle] of regions, 0 to 8; fractions weight the two nearest half-widths. */
void px_match_set_stiffness(px_match *match, const float *stiffness);
/* Runs one substep. `pass` holds skin, displacements, velocities and settings; the other fields are set here. */
void px_match_run(px_match *match, px_swing_pass *pass);

/* Sums over regions of rows[0] to rows[1]; sums over the regions that a particle is in of rows[2] to goals. */
void px_match_sum_up(px_match *match, uint32_t half);
void px_match_sum_down(px_match *match, uint32_t half, bool add);

#endif
