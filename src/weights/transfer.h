/* Weight transfer between meshes.
 *
 *   transfer.c   entry point; closest-point matching of vertices with the source surface
 *   curve.c      weights between the vertices of the source
 *   fill.c       inpainting: harmonic weights for vertices without a match
 *   carry.c      joints and bones of the result
 */
#ifndef PELT_WEIGHTS_TRANSFER_H
#define PELT_WEIGHTS_TRANSFER_H

#include "core/surface.h"
#include "weights/edit.h"

/* The skin of the result, and the map from bones of `from` to its bones. */
typedef struct px_carried {
    bool own;             /* true: the result keeps the joints of `to`; false: it gets `joined` */
    px_joined_rig joined; /* unused when `own` */
    pelt_skin skin;       /* bones only; per-vertex bones and weights are not set */
    uint32_t *bones;      /* [bone of from] bone of the result, or PELT_NONE */
    uint8_t *frozen;      /* [vertex of to] 1: keeps its weights; NULL: none */
    uint32_t lost_count;
    uint32_t *lost; /* [lost_count] joints of `from` with weights, but without a joint of the same name in `to` */
} px_carried;

/* True when the result keeps the joints of `to`: as `wish` (pelt_transfer_skeleton) says, or by joint names for
 * PELT_SKELETON_AUTO. */
bool px_carry_keeps(const pelt_model *from, const pelt_model *to, uint32_t wish);
/* `own`: from px_carry_keeps. `posed`: the meshes coincide in the rest pose, not in the bind pose. Scratch buffers are
 * in the arena, results in the memory of `to`. */
pelt_result px_carry(px_arena *arena, const pelt_model *from, pelt_model *to, bool own, bool posed, px_carried *out);
/* Writes the table's rows, the skin and, unless `own`, skeleton and motions to the model. */
pelt_result px_carry_finish(px_arena *arena, const px_carried *carried, const px_weight_table *table,
                            uint32_t influences, pelt_model *to);

/* Interpolates weights on a mesh to second order: see curve.c. */
typedef struct px_curve {
    const float *positions;          /* [row][3] */
    const uint32_t *triangles;       /* [triangle][3] rows */
    const px_neighbours *neighbours; /* of rows */
    double (*slopes)[3]; /* [edge] of neighbours->items: the gradient at row i is Σ_j slopes·(w_j − w_i) */
} px_curve;
/* normals [row][3]. Borrows the arrays. */
pelt_result px_curve_make(px_arena *arena, const float *positions, const double *normals, const uint32_t *triangles,
                          const px_neighbours *neighbours, uint32_t row_count, px_curve *out);
/* Rows whose weights are added at a point of the mesh. */
#define PX_CURVE_MOST 96u
typedef struct px_curve_point {
    uint32_t count, rows[PX_CURVE_MOST];
    double shares[PX_CURVE_MOST]; /* sum 1 */
} px_curve_point;
/* Not `curved`, and where a vertex has too many neighbours: linear, only the corners of the triangle. */
void px_curve_at(const px_curve *curve, const px_surface_point *at, bool curved, px_curve_point *out);
/* Adds the rows and limits each bone to their range; the sum of the weights may differ from 1. */
void px_curve_weights(const px_curve_point *point, const px_weight_table *table, px_weight_sum *out);

/* A point of the target that should have the weights of a row of the source. */
typedef struct px_fit_sample {
    uint32_t rows[3];  /* corners of its triangle, rows of the target */
    double corners[3]; /* its barycentric coordinates */
    uint32_t source;   /* row of the source */
} px_fit_sample;
/* Changes the rows of `table` so that they reproduce the rows of `from` at the samples: see fit.c. */
pelt_result px_weight_fit(pelt_context *context, px_weight_table *table, const px_weight_table *from,
                          const px_fit_sample *samples, size_t sample_count, uint32_t bone_count, uint32_t influences);

#endif
