/* Least squares on the simplex with few weights that are not zero: bones of a vertex. */
#ifndef PELT_NUMERIC_SPARSE_H
#define PELT_NUMERIC_SPARSE_H

#include "numeric/simplex.h"

#include <stdbool.h>
#include <stdint.h>

/* Minimise wᵀ gram w − 2 linearᵀ w over w ≥ 0, Σw = 1. */
typedef struct px_simplex_problem {
    size_t count;                                /* at most PX_SIMPLEX_MAX */
    uint32_t ids[PX_SIMPLEX_MAX];                /* what the weights are of: bones */
    double gram[PX_SIMPLEX_MAX][PX_SIMPLEX_MAX]; /* symmetric */
    double linear[PX_SIMPLEX_MAX];
    double weights[PX_SIMPLEX_MAX];
} px_simplex_problem;

/* Whether one of the ids is this one. */
bool px_simplex_has(const px_simplex_problem *p, uint32_t id);
/* Scales the weights to the sum 1; makes them equal where all are zero. */
void px_simplex_normalise(px_simplex_problem *p);
/* Solves from the present weights; removes those below `least`; then, while there are more than `most`, the one among the
 * smallest whose removal costs least. */
void px_simplex_sparse(px_simplex_problem *p, size_t most, double least);
/* Exchanges single ids of `p`, a solution with some of the ids of `all`, for others of `all`, while that lowers the error. */
void px_simplex_exchange(const px_simplex_problem *all, px_simplex_problem *p);
/* Writes ids and weights, largest first, to arrays of `room` ≥ count elements; the others become 0. */
void px_simplex_store(const px_simplex_problem *p, size_t room, uint16_t *ids, float *weights);

#endif
