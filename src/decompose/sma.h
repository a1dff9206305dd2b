/* Method sma: bones from clusters of triangles with similar rotations.
 *
 * D. L. James, C. D. Twigg, "Skinning Mesh Animations", SIGGRAPH 2005 (SMA).
 *
 * The rotations of a triangle over all frames are a point in 9F dimensions. Mean shift finds the modes of the density
 * of these points: each mode is a bone, and the triangles at it are the bone's core. The core determines the bone's
 * motion; then each vertex gets bones that predict it well, and weights. There is no iteration, and the rest pose does
 * not change.
 *
 *   paper   here              shape
 *   z_j     points            [triangle][9 · frame], in at most 96 frames that are evenly spread over the animation:
 *                             the mean difference of two rotations over many frames hardly depends on which ones
 *   h       bandwidth         9Fε, in the L1 norm; F: the number of those frames
 *   T_b     (of `bones`)      triangles whose shifted point ends within h/4 of the mode of bone b
 *   a_i     masses            area at rest; unless desc->published, times the triangle's kernel weight at its mode
 *   η       member_count / triangle_count
 */
#ifndef PELT_DECOMPOSE_SMA_H
#define PELT_DECOMPOSE_SMA_H

#include "decompose/gather.h"

typedef struct px_sma {
    uint32_t triangle_count; /* triangles with an area at rest */
    uint32_t flat_count;     /* triangles without: their rotation is undetermined */
    uint32_t member_count;   /* triangles that belong to a bone */
    uint32_t core_count;     /* triangles within one bandwidth of their bone's mode */
    uint32_t bone_count;
    uint32_t (*corners)[3]; /* [triangle] fit vertices */
    double *masses;         /* [triangle] weight in the fit of its bone's motion */
    uint32_t *bones;        /* [triangle] its bone; PELT_NONE: outlier */
    double *rotations;      /* [bone][frame][9] sums of the rotations of its triangles, weighted by `masses` */
} px_sma;

/* Finds triangles, their rotations and the bones. Allocates from the fit's arena and uses only the fit's counts and
 * context. */
pelt_result px_sma_find(px_sma *sma, px_fit *fit, const pelt_model *model, const px_gathered *plan,
                        const pelt_decompose_desc *desc);

/* After the reduction: sets the transforms of the bones. */
pelt_result px_sma_bones(const px_sma *sma, px_fit *fit);
/* Sets bones and weights of the vertices, residuals and the objective. Needs the current H. */
pelt_result px_sma_weights(px_fit *fit, const pelt_decompose_desc *desc);
/* Number of vertices with negative weights. */
uint32_t px_sma_negative(const px_fit *fit);
/* Replaces negative weights, which files cannot hold, by the best non-negative weights for the same bones of the
 * vertex. */
pelt_result px_sma_convex(px_fit *fit);

/* Colours of the mesh's vertices [vertex][3], allocated in the model: the mean over the triangles at a vertex, each in
 * the colour of its bone, outliers black. NULL: out of memory. */
float *px_sma_colors(const px_sma *sma, const px_fit *fit, const pelt_vertex_classes *classes, const pelt_model *model);

/* ---- Mean shift ------------------------------------------------------------------------------------------- */

#define PX_SHIFT_LANES 8u /* pitches of floats are multiples of this */

/* Points in a high-dimensional space with the L1 norm. */
typedef struct px_shift_points {
    const float *values; /* [point][pitch] */
    size_t count, dimension;
    size_t pitch; /* ≥ `dimension`, a multiple of PX_SHIFT_LANES; padded with zeros */
} px_shift_points;

/* Mean shift: each point moves repeatedly to the mean of the points within `bandwidth` of its position, weighted by (1
 * − distance / bandwidth)². Positions where at least `least` points end (if there are none, the one where most end) are
 * modes. `modes` [point]: the mode within a quarter of the bandwidth of the point's final position; PELT_NONE: none.
 * Modes are numbered by descending number of points. `offsets` [point]: distance of the original point from its mode,
 * in bandwidths; 0 without a mode. */
pelt_result px_mean_shift(pelt_context *context, const px_shift_points *points, double bandwidth, uint32_t least,
                          uint32_t *modes, float *offsets, uint32_t *mode_count);

/* ---- Range queries ------------------------------------------------------------------------------------------ */

#define PX_SHIFT_BYTES  64u /* pitches of bytes are multiples of this */
#define PX_SHIFT_SKETCH 64u /* dimension of a sketch */
#define PX_SHIFT_PLACES 8u  /* positions of a query */

/* Bounding box tree over points of bytes. It works on sketches: sums over PX_SHIFT_SKETCH runs of coordinates, whose L1
 * distance is a lower bound of that of the points. A query therefore finds all points within its limit. */
typedef struct px_shift_tree {
    pelt_context *context;
    const uint8_t *bytes; /* [point][pitch] borrowed */
    size_t pitch;
    size_t count;
    size_t levels;     /* levels of nodes; 2^levels − 1 nodes, children of node n at 2n + 1 and 2n + 2 */
    uint32_t *order;   /* [place] the point; each leaf is a contiguous range of places */
    int16_t *sketches; /* [place][PX_SHIFT_SKETCH] */
    int16_t *boxes;    /* [node][2][PX_SHIFT_SKETCH] minimum and maximum */
} px_shift_tree;

/* Builds a tree over points of bytes [count][pitch]; pitch ≤ PX_SHIFT_PITCH_MOST. */
#define PX_SHIFT_PITCH_MOST 1024u /* sums of sketches fit in 16 bits */
pelt_result px_shift_tree_create(pelt_context *context, const uint8_t *bytes, size_t pitch, size_t count,
                                 px_shift_tree *tree);
void px_shift_tree_free(px_shift_tree *tree);

/* Receives a point of the tree and its distance from each position of the query; UINT32_MAX where it exceeds the
 * limit. */
typedef void px_shift_near(void *user, uint32_t point, const uint32_t distances[PX_SHIFT_PLACES]);

/* Inner loops (sma_kernels.h). */
#define PX_TURN_LANES 4u
typedef struct px_shift_kernels {
    /* Rotations of triangles, one per lane: `edges` has e21 and e31 (x, y, z each), `inverses` Õ⁻¹. Returns a bit for
     * each lane without a result: its deformation gradient is nearly singular or mirrors. */
    unsigned (*turn)(double edges[6][PX_TURN_LANES], const double inverses[9][PX_TURN_LANES],
                     double rotations[9][PX_TURN_LANES]);
    /* The sketch of a point of bytes [pitch]. */
    void (*sketch)(const uint8_t *bytes, size_t pitch, int16_t out[PX_SHIFT_SKETCH]);
    /* Calls `near` for each point of the tree whose L1 distance from one of `count` ≤ PX_SHIFT_PLACES positions, bytes
     * [count][pitch], is at most `limit`. The order of the points depends on the tree only. */
    void (*find)(const px_shift_tree *tree, const uint8_t *positions, size_t count, uint32_t limit, px_shift_near *near,
                 void *user);
    uint32_t (*byte_distance)(const uint8_t *a, const uint8_t *b, size_t pitch); /* the L1 distance */
    float (*distance)(const float *a, const float *b, size_t pitch);             /* the L1 distance */
    /* sums [PX_SHIFT_PLACES][pitch] += weights · point [pitch] */
    void (*add_weighted)(const uint16_t *point, size_t pitch, const float weights[PX_SHIFT_PLACES], float *sums);
    /* bytes [count] = floor((values − low) · scale + dithers), at most 255. */
    void (*round)(const float *values, size_t count, float low, float scale, const float *dithers, uint8_t *bytes);
    /* words [count] = (values − low) · scale, rounded. */
    void (*round_words)(const float *values, size_t count, float low, float scale, uint16_t *words);
} px_shift_kernels;
extern const px_shift_kernels px_shift_avx2;
const px_shift_kernels *px_shift_kernels_plain(void);
/* The fastest for this machine. */
const px_shift_kernels *px_shift_kernels_best(void);

#endif
