/* Fit of bones whose matrices are linear in sliders: v = Σ_j w_j (I + Σ_s c_s N_js) v0.
 *
 * "Compressed Skinning for Facial Blendshapes" (Kavan et al. 2024) states the problem: sparse convex weights w, and N
 * sparse in pairs (j, s), so that a slider moves few bones. Everything is linear in the sliders c, so the errors of the
 * shapes at slider 1 determine those of all poses, and the objective is a sum over the sliders:
 *
 *   Σ_i a_i Σ_s ‖d_is − Σ_j w_ij N_js p_i‖²,   p_i = (v_i, 1)
 *
 * The same rule N_js n_i for the normal n_i is how engines skin normals; each vertex has a second row for it, so that
 * thin patches of surface, which leave N undetermined along their normals, get an N that shades well.
 *
 *   paper   here      shape
 *   w       weights   [vertex][K], for bones [vertex][K]
 *   N       changes   [slider][bone][4][3]: transposed, row c is column c of the 3×4 matrix
 *   d       entries   of each vertex, those that are not zero
 *
 * Bone 0 is the host: all its N are 0. It holds vertices back. Coordinates are normalised to a unit sphere.
 */
#ifndef PELT_SLIDERS_FIT_H
#define PELT_SLIDERS_FIT_H

#include "core/core.h"

#define PX_SLIDER_ROWS 2u /* of a vertex: position and normal */

/* How a slider at 1 moves one vertex. */
typedef struct px_slider_entry {
    uint32_t slider;
    float rows[PX_SLIDER_ROWS][3]; /* displacement of the position, change of the scaled normal */
} px_slider_entry;

typedef struct px_slider_fit {
    pelt_context *context;
    px_arena *arena;
    uint32_t vertex_count, slider_count;
    uint32_t bone_count;       /* with the host, bone 0 */
    uint32_t influence_count;  /* K */
    uint32_t nonzero_count;    /* pairs of slider and bone that may be non-zero */
    const double *points;      /* [vertex][row][4] (v, 1) and (n, 0) times the weight of normals */
    const double *importance;  /* [vertex] a_i */
    const uint8_t *capacities; /* [vertex] bones that it may have, 1 to K */
    size_t *offsets;           /* [vertex + 1] first entry of each vertex */
    px_slider_entry *entries;  /* sorted by slider within a vertex */
    const double
        *metric;   /* [slider][slider] Q of the objective Σ Q_st e_s·e_t, symmetric, positive definite; NULL: I */
    double energy; /* Σ a ‖d‖², by the metric */

    uint16_t *bones; /* [vertex][K] */
    double *weights; /* [vertex][K] sum 1 */
    double *changes; /* [slider][bone][4][3] */
    bool *active;    /* [slider][bone] N may be non-zero */
    double objective;
} px_slider_fit;

static inline double *px_slider_change(const px_slider_fit *fit, size_t slider, size_t bone) {
    return fit->changes + 12 * (slider * fit->bone_count + bone);
}

/* Allocates the unknowns for bone_count bones. Weights: all vertices follow the host. */
pelt_result px_slider_fit_make(px_slider_fit *fit);
/* Alternates between transforms and weights, starting from the current weights: the number of non-zero transforms falls
 * to nonzero_count in the first half. */
pelt_result px_slider_fit_run(px_slider_fit *fit, uint32_t iterations);
/* Adds the squared residuals of each slider, Σ a_i ‖e_is‖², to squares [slider]. */
void px_slider_fit_squares(const px_slider_fit *fit, double *squares);

#endif
