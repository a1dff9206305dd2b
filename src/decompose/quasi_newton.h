/* Quasi-Newton steps of affine bones. See quasi_newton.c. */
#ifndef PELT_DECOMPOSE_QUASI_NEWTON_H
#define PELT_DECOMPOSE_QUASI_NEWTON_H

#include "decompose/fit.h"

#define PX_PAIRS 6 /* pairs of steps and gradient changes; more gain little, because sets of bones change */

/* Vectors have the shape of the transforms, state.reduced. */
typedef struct px_quasi_newton {
    size_t pair_count;
    double *steps[PX_PAIRS];   /* changes of the transforms, oldest first */
    double *changes[PX_PAIRS]; /* changes of the gradient */
    double *last, *gradient;   /* transforms and gradient of the last iteration */
    bool started;              /* these are set */
    double *direction;
} px_quasi_newton;

/* Allocates the vectors; px_quasi_newton_advance does so too. */
pelt_result px_quasi_newton_make(px_quasi_newton *q, px_fit *fit);
/* Forgets all pairs. */
void px_quasi_newton_restart(px_quasi_newton *q);
/* Adds a pair for the current transforms and takes a quasi-Newton step in place of px_fit_transforms. *advanced: whether it
 * did so; if not, the transforms are unchanged. Needs the moments. */
pelt_result px_quasi_newton_advance(px_quasi_newton *q, px_fit *fit, bool *advanced);

#endif
