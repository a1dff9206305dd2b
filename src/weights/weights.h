/* Weights as they are worked on: a sparse row for every welded vertex, and what editing, transfer and binding share.
 *
 * All arithmetic goes through a px_weight_sum: rows are added to one, it is cut to what a skin may hold, and stored.
 */
#ifndef PELT_WEIGHTS_INTERNAL_H
#define PELT_WEIGHTS_INTERNAL_H

#include "core/mesh.h"

/* Influences that rows have room for while they are worked on: more than any skin, so that little is lost. */
#define PX_WEIGHT_CAPACITY 16u

/* Row r has its influences first, largest first; the rest is bone 0, weight 0. */
typedef struct px_weight_table {
    uint32_t row_count; /* welded vertices */
    uint32_t capacity;  /* influences a row can hold, at most PX_WEIGHT_CAPACITY */
    uint16_t *bones;    /* [row][capacity] */
    float *weights;     /* [row][capacity] ≥ 0; sum 1 once cut */
} px_weight_table;

/* All rows empty. */
pelt_result px_weight_table_make(px_arena *arena, uint32_t row_count, uint32_t capacity, px_weight_table *out);

/* ---- One row ---------------------------------------------------------------------------------------------- */

#define PX_WEIGHT_SUM_MOST 128u

/* Weights of distinct bones. When there are more than fit, the smallest give way. */
typedef struct px_weight_sum {
    uint32_t count;
    uint16_t bones[PX_WEIGHT_SUM_MOST];
    double weights[PX_WEIGHT_SUM_MOST];
} px_weight_sum;

/* What a row may hold. */
typedef struct px_weight_limits {
    uint32_t influences; /* K */
    double threshold;    /* smaller weights go, as long as one is left */
    const bool *locked;  /* [bone] its weights stay as they are and the others share the rest; NULL: none */
} px_weight_limits;

/* Weights that are not above 0 count nothing. */
void px_weight_sum_add(px_weight_sum *sum, uint32_t bone, double weight);
/* factor · a row. */
void px_weight_sum_add_row(px_weight_sum *sum, const px_weight_table *table, size_t row, double factor);
double px_weight_sum_of(const px_weight_sum *sum, uint32_t bone);
/* Puts a row's own weights of locked bones (NULL: none) in place of the sum's. Where the sum has nothing else, the
 * row's other weights come too. */
void px_weight_sum_lock(px_weight_sum *sum, const px_weight_table *table, size_t row, const bool *locked);
/* Keeps the K largest (locked ones before others) and makes them sum to 1, largest first; the smaller bone on a tie. */
void px_weight_sum_cut(px_weight_sum *sum, const px_weight_limits *limits);
/* Replaces a row by the largest weights of a sum, which becomes sorted. */
void px_weight_sum_store(px_weight_sum *sum, px_weight_table *table, size_t row);

/* ---- All rows --------------------------------------------------------------------------------------------- */

/* The model's weights: the mean over the vertices of each welded vertex. Vertices that are marked `frozen` [vertex]
 * (NULL: none) count nothing; rows of such alone are empty. Needs mesh.weld and a skin. */
pelt_result px_weight_table_read(px_arena *arena, const pelt_model *model, const uint8_t *frozen, px_weight_table *out);
/* Cuts every row. */
void px_weight_table_cut(px_weight_table *table, const px_weight_limits *limits);

/* `iterations` times: every row becomes (1 − strength) · itself + strength · the mean of its neighbours, cut to the
 * table's capacity. Rows marked `fixed` [row] (NULL: none), lone and empty ones stay. */
typedef struct px_weight_smoothing {
    double strength;
    uint32_t iterations;
    const bool *locked;   /* [bone] or NULL, as in px_weight_limits */
    const uint8_t *fixed; /* [row] or NULL */
} px_weight_smoothing;
pelt_result px_weight_table_smooth(pelt_context *context, px_weight_table *table, const px_neighbours *neighbours,
                                   const px_weight_smoothing *how);

/* Fills the rows that are not `known`: the harmonic weights that the known ones around give. Rows that no known one is
 * connected to stay as they are, and unknown. */
pelt_result px_fill(pelt_context *context, px_weight_table *table, const px_neighbours *neighbours,
                    const float *positions, uint32_t bone_count, uint8_t *known);

/* Spreads cut rows to the vertices: sets bones, weights and influence_count of `skin`, in the model's memory; the model
 * stays as it is. Frozen vertices (NULL: none) get what they have in the model's skin; rows without weights bone 0. */
pelt_result px_weight_table_spread(const px_weight_table *table, const pelt_model *model, const uint8_t *frozen,
                                   uint32_t influences, pelt_skin *skin);

/* ---- Left and right --------------------------------------------------------------------------------------- */

/* A plane across an axis (0 to 2) of the model. */
typedef struct px_mirror_plane {
    uint32_t axis;
    double at;
} px_mirror_plane;

typedef enum px_joint_side { PX_SIDE_NONE, PX_SIDE_LEFT, PX_SIDE_RIGHT } px_joint_side;

/* pairs [joint]: the joint on the other side of the plane, the joint itself when it is its own, or PELT_NONE. Joints
 * are paired by their names (Left/Right, L_/_R, .l/.r, armL … in any case), and where names say nothing by mirrored
 * `positions` [joint][3] below paired parents. `sides` [joint], or NULL: what the names of pairs say. */
pelt_result px_mirror_joints(pelt_context *context, const pelt_skeleton *skeleton, const float *positions,
                             px_mirror_plane plane, uint32_t *pairs, px_joint_side *sides);

/* ---- A skeleton from elsewhere ---------------------------------------------------------------------------- */

/* The joints and motions of a model, and behind them those of a rig. */
typedef struct px_joined_rig {
    pelt_skeleton skeleton;
    uint32_t motion_count;
    pelt_motion *motions;
    uint32_t *joints; /* [the rig's joint] its number; PELT_NONE for nodes that only show the rig's own parts */
} px_joined_rig;
/* `to` may have no joints. Everything that is `from`'s is copied to the arena, usually the memory of `to`. */
pelt_result px_rig_join(px_arena *arena, const pelt_model *to, const pelt_model *from, px_joined_rig *out);

#endif
