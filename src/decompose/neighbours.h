/* What needs to know who is next to whom on the surface. */
#ifndef PELT_DECOMPOSE_NEIGHBOURS_H
#define PELT_DECOMPOSE_NEIGHBOURS_H

#include "core/mesh.h"
#include "decompose/fit.h"

/* FESAM's start: seeds far apart, regions grown over the surface in the order of how well the seed's motion predicts
 * the next vertex. Shells without a seed join the bone that predicts them best. Sets bone_count. */
pelt_result px_fit_seed_regions(px_fit *fit, const px_neighbours *neighbours, uint32_t count);

/* A pull on the weights of the pass over vertices: strength · ‖w_i − mean of the neighbours' weights in `from`‖². */
typedef struct px_smoothing {
    const px_neighbours *neighbours;
    const px_fit_state *from;
    double strength;
} px_smoothing;

/* Makes the weights of a finished fit smooth: a jump of all the weight counts like an error of `smooth`. The objective
 * becomes what the smooth weights reach with the transforms made for them. `spare` is scratch of the fit's size. */
pelt_result px_fit_smooth(px_fit *fit, const px_neighbours *neighbours, px_fit_state *spare, double smooth);

#endif
