/* Iterating a fit. */
#ifndef PELT_DECOMPOSE_SOLVE_H
#define PELT_DECOMPOSE_SOLVE_H

#include "decompose/fit.h"

typedef struct px_solver {
    px_fit *fit;
    double ahead;   /* how far rest positions and weights are carried on */
    uint32_t steps; /* since the last restart */
} px_solver;

/* After the fit was changed from outside. */
void px_solver_restart(px_solver *solver);
/* One iteration; the objective never rises. */
pelt_result px_solver_step(px_solver *solver);
/* When all is done: affine bones that the error hardly determines become like rotations, at a small cost of error. */
pelt_result px_solver_firm(px_solver *solver);
/* The same for affine bones of thin surfaces, which are held much nearer to rotations, whatever the error. */
pelt_result px_solver_firm_thin(px_solver *solver);
#define PX_TRIAL_STEPS 4 /* until a moved bone shows what it is worth */

/* Moves the bones that explain least to where the error is largest and iterates a little; keeps that only when the
 * objective falls below `expected`. `spare` is scratch of the fit's size. */
pelt_result px_solver_move_bones(px_solver *solver, px_fit_state *spare, double expected, bool *moved);

/* Adds bones where the error is largest, up to the capacity, and iterates a little. */
pelt_result px_solver_add_bones(px_solver *solver, uint32_t count);

#endif
