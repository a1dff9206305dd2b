/* Steps that use the adjacency of vertices on the surface. */
#ifndef PELT_DECOMPOSE_NEIGHBOURS_H
#define PELT_DECOMPOSE_NEIGHBOURS_H

#include "core/mesh.h"
#include "decompose/fit.h"

/* Seeds of FESAM: distant seeds, then region growing over the surface in the order of prediction error. A connected
 * component without a seed joins the bone that predicts it best. Sets bone_count. */
/* Surface on which regions grow. */
typedef struct px_seed_surface {
    const px_neighbours *neighbours;
    const uint32_t *triangles; /* [triangle_count][3] vertices of the mesh */
    uint32_t triangle_count;
    const pelt_vertex_classes *classes; /* mesh vertices as vertices of the fit; not used without triangles */
} px_seed_surface;
/* Initial clusters as px_fit_seed, grown over the surface from distant seeds. */
pelt_result px_fit_seed_regions(px_fit *fit, const px_seed_surface *surface, uint32_t count);

/* Penalty on the weights in the vertex step: strength · ‖w_i − mean of the neighbours' weights in `from`‖². */
typedef struct px_smoothing {
    const px_neighbours *neighbours;
    const px_fit_state *from;
    double strength;
} px_smoothing;

/* Smooths the weights of a finished fit: a difference of 1 from the neighbours' weights costs like an E_rms of
 * `smooth`. The transforms are fitted to the smooth weights, and now.objective is updated. `spare` is a scratch state
 * of the fit's size. */
pelt_result px_fit_smooth(px_fit *fit, const px_neighbours *neighbours, px_fit_state *spare, double smooth);

#endif
