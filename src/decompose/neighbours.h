/* Who is next to whom on the surface, and what needs to know. */
#ifndef PELT_DECOMPOSE_NEIGHBOURS_H
#define PELT_DECOMPOSE_NEIGHBOURS_H

#include "decompose/fit.h"

/* Neighbours of vertex i are items[offsets[i]] … items[offsets[i + 1] - 1]: ends of edges, ascending, each once. */
typedef struct px_neighbours {
    size_t *offsets; /* [vertex + 1] */
    uint32_t *items;
} px_neighbours;

/* `vertices` [the mesh's vertex]: the fit's vertex that it became. Lives in the fit's arena. */
pelt_result px_neighbours_make(px_fit *fit, const pelt_mesh *mesh, const uint32_t *vertices, px_neighbours *out);

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
