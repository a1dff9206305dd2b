/* A skeleton over bones that were found side by side. */
#ifndef PELT_DECOMPOSE_HIERARCHY_H
#define PELT_DECOMPOSE_HIERARCHY_H

#include "decompose/fit.h"

typedef struct px_hierarchy {
    uint32_t *parents; /* [bone] or PELT_NONE: hangs from the root node */
    uint32_t *order;   /* [bone] bones so that parents come before their children */
    double *pivots;    /* [bone][3] where its joint rests, normalised */
    double *drifts; /* [bone] RMS over frames of how far bone and parent part at the joint, normalised; ∞ at roots */
} px_hierarchy;

/* Every bone under the root node, with these pivots [bone][3], which it takes over. */
pelt_result px_hierarchy_flat(px_fit *fit, double *pivots, px_hierarchy *hierarchy);
/* Joins bones where they move most alike. Changes the pivots to where the joints are; the root bone, the one in the
 * middle of the tree, keeps its own. Spends S and H of the fit. */
pelt_result px_hierarchy_find(px_fit *fit, px_hierarchy *hierarchy);

#endif
