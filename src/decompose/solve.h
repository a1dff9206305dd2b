/* Iterating a fit. */
#ifndef PELT_DECOMPOSE_SOLVE_H
#define PELT_DECOMPOSE_SOLVE_H

#include "decompose/fit.h"

typedef struct px_solver {
    px_fit *fit;
    double ahead;   /* how far rest positions and weights are carried on */
    uint32_t steps; /* since the last restart */
    /* What px_grow tried; room for bone_capacity numbers. */
    uint32_t trial_count;
    uint32_t *trial_bones; /* [trial] */
    float *trial_errors;   /* [trial] E_rms */
} px_solver;

/* After the fit was changed from outside. */
void px_solver_restart(px_solver *solver);
/* One iteration; the objective never rises. */
pelt_result px_solver_step(px_solver *solver);
#define PX_TRIAL_STEPS 4 /* until a moved bone shows what it is worth */

/* Moves the bones that explain least to where the error is largest and iterates a little; keeps that only when the
 * objective falls below `expected`. `spare` is scratch of the fit's size. */
pelt_result px_solver_move_bones(px_solver *solver, px_fit_state *spare, double expected, bool *moved);

/* Adds bones where the error is largest, up to the capacity, and iterates a little. */
pelt_result px_solver_add_bones(px_solver *solver, uint32_t count);

enum { px_grow_start = 4, px_grow_limit = 256, px_grow_enough = 64 };
/* Adds bones, from px_grow_start, until the error reaches the target, and takes away those it can do without. Target 0:
 * until the error is below 1 (a thousandth of the size) or more bones hardly help, and no further than px_grow_enough.
 */
pelt_result px_grow(px_solver *solver, px_fit_state *spare, double target);

#endif
