/* The other way to bones: triangles that turn alike.
 *
 * D. L. James, C. D. Twigg, "Skinning Mesh Animations", SIGGRAPH 2005 (SMA).
 *
 * The rotations of a triangle over all frames are a point in 9F dimensions. Mean shift finds where such points are
 * dense: each such mode is a bone, and the triangles at it are its core. The core says how the bone moves; each vertex
 * then gets bones that predict it, and weights. Nothing is iterated; the rest pose stays.
 *
 *   paper   here              shape
 *   z_j     rotations         [triangle][pitch], entry e of the matrix in frame k at e·F + k
 *   h       bandwidth         9Fε, in the L1 norm
 *   T_b     (of `bones`)      triangles whose shifted point ends within h/4 of the mode of bone b
 *   a_i     masses            area at rest; here times what the triangle's own rotations counted at the mode
 *   η       core_count / triangle_count
 */
#ifndef PELT_DECOMPOSE_SMA_H
#define PELT_DECOMPOSE_SMA_H

#include "decompose/gather.h"

typedef struct px_sma {
    uint32_t triangle_count; /* with an area at rest */
    uint32_t flat_count;     /* without: they cannot tell how they turn */
    uint32_t core_count;     /* that turn as a bone does, to within the bandwidth */
    uint32_t bone_count;
    uint32_t (*corners)[3]; /* [triangle] vertices of the fit */
    double *masses;         /* [triangle] what it says about how its bone moves */
    uint32_t *bones;        /* [triangle], or PELT_NONE: an outlier */
    float *rotations;       /* [triangle][pitch] */
    size_t pitch;           /* 9F and zeros, a multiple of PX_SHIFT_LANES */
} px_sma;

/* Triangles, their rotations and the bones they make. Scratch of the fit's arena; nothing of the fit but its counts and
 * context is used. */
pelt_result px_sma_find(px_sma *sma, px_fit *fit, const pelt_model *model, const px_gathered *plan,
                        const pelt_decompose_desc *desc);
/* The same without the bones. */
pelt_result px_sma_rotations(px_sma *sma, px_fit *fit, const pelt_model *model, const px_gathered *plan,
                             const pelt_decompose_desc *desc);

/* Once the fit is reduced: the transforms of the bones. */
pelt_result px_sma_bones(const px_sma *sma, px_fit *fit);
/* And the vertices: their bones, weights, residuals and the objective. Needs the current H. */
pelt_result px_sma_weights(px_fit *fit, const pelt_decompose_desc *desc);
/* Vertices with negative weights, which no skin may have, get the best ones without, of the same bones. Returns how
 * many there were. */
pelt_result px_sma_convex(px_fit *fit, uint32_t *negative_count);

/* ---- Mean shift ------------------------------------------------------------------------------------------- */

#define PX_SHIFT_LANES  8u  /* floats that distances are summed in side by side */
#define PX_SHIFT_SKETCH 72u /* numbers of a sketch */

/* Points in many dimensions, the L1 norm. */
typedef struct px_shift_points {
    const float *values; /* [point][pitch] */
    size_t count, dimension;
    size_t pitch; /* at least `dimension`, a multiple of PX_SHIFT_LANES; the rest are zeros */
} px_shift_points;

/* Every point climbs to where points are dense: again and again to the mean of the points within `bandwidth` of where
 * it is, weighted by (1 − distance / bandwidth)². Places to which at least `least` points come (or, when there are
 * none, the one to which most do) are modes. `modes` [point]: the mode within a fourth of the bandwidth of where the
 * point ended, or PELT_NONE. Modes are numbered by the points they have, most first. `offsets` [point]: how far the point
 * itself is from its mode, in bandwidths; 0 where it has none. */
pelt_result px_mean_shift(pelt_context *context, const px_shift_points *points, double bandwidth, uint32_t least,
                          uint32_t *modes, float *offsets, uint32_t *mode_count);

/* A tree that finds points near a place. It works on sketches: sums over runs of coordinates, PX_SHIFT_SKETCH in all,
 * whose distance is never larger than that of the points. Nothing within the radius is ever missed. */
typedef struct px_shift_tree {
    pelt_context *context;
    size_t count;
    size_t levels;   /* of nodes; 2^levels − 1 of them, children of node n at 2n + 1 and 2n + 2 */
    uint32_t *order; /* [place] the point; each leaf has a run of places */
    float *sketches; /* [place][PX_SHIFT_SKETCH] */
    float *boxes;    /* [node][2][PX_SHIFT_SKETCH] least and largest */
} px_shift_tree;

/* Of the points `chosen` [count], or all when that is NULL. */
pelt_result px_shift_tree_create(pelt_context *context, const px_shift_points *points, const uint32_t *chosen,
                                 size_t count, px_shift_tree *tree);
void px_shift_tree_free(px_shift_tree *tree);
void px_shift_sketch(const float *point, size_t dimension, float sketch[static PX_SHIFT_SKETCH]);
/* Points whose sketches are within the radius of each of `count` places at once, for each in an order that depends on the
 * tree alone: a point is looked at by all places that it is near to while it is in the cache. */
#define PX_SHIFT_PLACES 8u
typedef void px_shift_near(void *user, size_t place, uint32_t point);
void px_shift_tree_find(const px_shift_tree *tree, const float *sketches, size_t count, double radius,
                        px_shift_near *near, void *user);

#endif
