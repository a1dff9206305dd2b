/* Weight transfer between meshes.
 *
 *   transfer.c   entry point; closest-point matching of vertices with the source surface
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
