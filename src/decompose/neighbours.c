/* Smooth weights. */
#include "decompose/neighbours.h"

#define ROUNDS 8 /* each carries the pull one edge further */

/* The objective of the weights as they are: a pass in which every vertex is locked. */
static pelt_result measure(px_fit *fit) {
    uint8_t *all = PX_ALLOC(fit->context, uint8_t, fit->vertex_count);
    if (!all)
        return PELT_ERROR_MEMORY;
    memset(all, 1, fit->vertex_count);
    const uint8_t *locks = fit->lock_vertices;
    fit->lock_vertices = all;
    pelt_result result = px_fit_vertices(fit, false);
    fit->lock_vertices = locks;
    px_free(fit->context, all);
    return result;
}

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
    return result == PELT_OK ? measure(fit) : result;
}
