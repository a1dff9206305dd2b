/* Lattice shape matching from inside. */
#ifndef PELT_JIGGLE_MATCH_H
#define PELT_JIGGLE_MATCH_H

#include "jiggle/kernels.h"

#include <pelt/jiggle.h>

/* Regions of half-widths 0, 1 … */
#define PX_MATCH_LEVELS (PELT_JIGGLE_MAX_STIFFNESS + 1)

/* Around every particle there is a region of each half-width w, of which some count: all that chains reach by w along z,
 * from there along y, from there along x. A particle that is reached in two ways is in it twice. */
typedef struct px_match {
    const px_lattice *lattice;
    const px_jiggle_kernels *kernels;
    size_t padded;                /* particles and fill */
    uint8_t *again[3];            /* [axis][item of its chains] the particle was in an item before */
    bool active[PX_MATCH_LEVELS]; /* some region of this half-width counts */
    float *shares;                /* [half-width][particle] how much its region counts */
    float *masses;                /* [particle] 1 / Σ shares of regions that it is in */
    float *rotations;             /* [half-width][particle][4] of its region: warm starts */
    float *rows[3];               /* [particle][PX_MATCH_UP] scratch */
    float *goals;                 /* [particle][PX_MATCH_DOWN] what regions want of it */
} px_match;

pelt_result px_match_make(px_arena *arena, const px_lattice *lattice, const px_jiggle_kernels *kernels, px_match *out);
/* Rotations become identities. */
void px_match_reset(px_match *match);
/* Half-width [particle] of regions, 0 to 8; between whole numbers both count in proportion. */
void px_match_set_stiffness(px_match *match, const float *stiffness);
/* A substep: `pass` has skin, displacements, velocities and how they change; the rest is filled in. */
void px_match_run(px_match *match, px_swing_pass *pass);

/* Sums over regions of rows[0] to rows[1]; sums over the regions that a particle is in of rows[2] to goals. */
void px_match_sum_up(px_match *match, uint32_t half);
void px_match_sum_down(px_match *match, uint32_t half, bool add);

#endif
