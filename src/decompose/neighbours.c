/* Smoothing of weights: alternates the vertex step with a penalty towards the neighbours' weights and the transform
 * step. */
#include "decompose/neighbours.h"

#define ROUNDS 8 /* each round propagates the penalty by one edge */

pelt_result px_fit_smooth(px_fit *fit, const px_neighbours *neighbours, px_fit_state *spare, double smooth) {
    px_smoothing pull = {neighbours, spare, smooth * smooth * 1e-6 * (double)fit->row_count};
    pelt_result result = PELT_OK;
    for (int round = 0; round <= ROUNDS && result == PELT_OK; round++) {
        if (round > 0) {
            px_fit_state_copy(fit, &fit->now, spare);
            fit->smoothing = &pull;
            result = px_fit_vertices(fit, false);
            fit->smoothing = NULL;
        }
        if (result == PELT_OK)
            result = px_fit_moments(fit);
        if (result == PELT_OK)
            result = px_fit_transforms(fit);
        px_fit_gram(fit);
    }
    return result == PELT_OK ? px_fit_measure(fit) : result;
}
