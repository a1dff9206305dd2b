/* Solver: one iteration of alternating least squares on a px_fit, with extrapolation, bone relocation and final
 * regularisation. See solve.c. */
#ifndef PELT_DECOMPOSE_SOLVE_H
#define PELT_DECOMPOSE_SOLVE_H

#include "decompose/quasi_newton.h"

typedef struct px_solver {
    px_fit *fit;
    px_quasi_newton history;
    double ahead;   /* extrapolation factor: rest positions and weights advance by ahead · (last change) */
    uint32_t steps; /* iterations since px_solver_restart */
    uint32_t turn;  /* iterations since px_solver_start */
} px_solver;

/* Call after any change to fit->now that px_solver_step did not make: discards the history used for extrapolation. */
void px_solver_restart(px_solver *solver);
/* The same after a change of the bones: the next iterations search for better bones of all vertices. */
void px_solver_start(px_solver *solver);
/* One iteration; the objective never rises. */
pelt_result px_solver_step(px_solver *solver);
/* One iteration as in FESAM §4: transforms, rest positions, weights. The objective may rise. */
pelt_result px_solver_step_published(px_solver *solver);
/* px_fit_vertices_wide, then an iteration. */
pelt_result px_solver_search_wide(px_solver *solver);
/* Once, after the last iteration: for affine bones, penalises the distance to the nearest rotation in directions that
 * the data hardly determines. The RMS error rises by 1.5 % at most. Other bone kinds get a few plain iterations. */
pelt_result px_solver_firm(px_solver *solver);
/* The same for affine bones of thin surfaces: a much stronger penalty with no bound on the error. */
pelt_result px_solver_firm_thin(px_solver *solver);
#define PX_TRIAL_STEPS 4 /* iterations before a relocated bone is judged */

/* Relocates bones: removes those whose removal raises the objective least, adds as many where the residuals are
 * largest, and iterates PX_TRIAL_STEPS times. Restores the previous state unless the objective falls below `expected`.
 * `spare` is a scratch state of the fit's size. */
pelt_result px_solver_move_bones(px_solver *solver, px_fit_state *spare, double expected, bool *moved);

/* Exchanges bones: adds `extra` where the residuals are largest, iterates, removes as many whose removal raises the
 * objective least, and iterates `trial` times. Restores the previous state unless the objective falls below `expected`.
 * Leaves local minima that px_solver_move_bones does not, at several times the cost. Needs room for the bones in
 * fit->bone_capacity. */
pelt_result px_solver_exchange_bones(px_solver *solver, px_fit_state *spare, uint32_t extra, uint32_t trial,
                                     double expected);

#endif
