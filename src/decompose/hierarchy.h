/* Joint hierarchy over independently fitted bones. */
#ifndef PELT_DECOMPOSE_HIERARCHY_H
#define PELT_DECOMPOSE_HIERARCHY_H

#include "decompose/fit.h"

typedef struct px_hierarchy {
    uint32_t *parents; /* [bone] parent bone; PELT_NONE: child of the root node */
    uint32_t *order;   /* [bone] topological order: parents before their children */
    double *pivots;    /* [bone][3] rest position of its joint, normalised */
    double *drifts; /* [bone] RMS over frames of the distance between bone and parent at the joint, normalised; ∞ at
                     * roots */
} px_hierarchy;

/* Makes every bone a child of the root node. Takes over `pivots` [bone][3]. */
pelt_result px_hierarchy_flat(px_fit *fit, double *pivots, px_hierarchy *hierarchy);
/* Joins bones where they move most alike and moves the pivots to the joints. The root is the bone in the middle of the
 * tree; its pivot does not change. Overwrites S and H of the fit. */
pelt_result px_hierarchy_find(px_fit *fit, px_hierarchy *hierarchy);

#endif
