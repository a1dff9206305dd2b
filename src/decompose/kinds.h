/* Kinds of bone: better transforms for the moments fit->scatter and fit->cross; never worse ones. */
#ifndef PELT_DECOMPOSE_KINDS_H
#define PELT_DECOMPOSE_KINDS_H

#include "decompose/fit.h"

pelt_result px_fit_affine(px_fit *fit);
pelt_result px_fit_rigid(px_fit *fit);
pelt_result px_fit_trs(px_fit *fit);

#endif
