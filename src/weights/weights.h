/* Sparse weight tables, one row per welded vertex (class of mesh.weld), shared by editing, transfer and binding.
 *
 * All arithmetic uses a px_weight_sum: add rows to it, cut it to the limits of a skin, store it as a row.
 */
#ifndef PELT_WEIGHTS_INTERNAL_H
#define PELT_WEIGHTS_INTERNAL_H

#include "core/mesh.h"

/* Capacity of rows during editing: more influences than a skin usually keeps, so that little is lost before the final
 * cut. */
#define PX_WEIGHT_CAPACITY 16u

/* The influences of a row are sorted by descending weight; unused entries have bone 0 and weight 0. */
typedef struct px_weight_table {
    uint32_t row_count; /* classes of mesh.weld */
    uint32_t capacity;  /* influences a row can hold, at most PX_WEIGHT_CAPACITY */
    uint16_t *bones;    /* [row][capacity] */
    float *weights;     /* [row][capacity] ≥ 0; sum 1 once cut */
} px_weight_table;

/* Allocates a table with empty rows. */
pelt_result px_weight_table_make(px_arena *arena, uint32_t row_count, uint32_t capacity, px_weight_table *out);

/* ---- One row ---------------------------------------------------------------------------------------------- */

#define PX_WEIGHT_SUM_MOST 128u

/* Accumulator: weights of distinct bones. When full, a new bone replaces the smallest weight if it is larger. */
typedef struct px_weight_sum {
    uint32_t count;
    uint16_t bones[PX_WEIGHT_SUM_MOST];
    double weights[PX_WEIGHT_SUM_MOST];
} px_weight_sum;

/* Limits of a row. */
typedef struct px_weight_limits {
    uint32_t influences; /* K: maximum number of influences */
    double threshold;    /* smaller weights are removed, except the largest that is not locked */
    const bool *locked;  /* [bone] keep its weights; the other bones are scaled to share the rest. NULL: none */
} px_weight_limits;

/* Adds a weight; weights ≤ 0 or NaN are ignored. */
void px_weight_sum_add(px_weight_sum *sum, uint32_t bone, double weight);
/* Adds factor · row. */
void px_weight_sum_add_row(px_weight_sum *sum, const px_weight_table *table, size_t row, double factor);
double px_weight_sum_of(const px_weight_sum *sum, uint32_t bone);
/* Replaces the sum's weights of locked bones (NULL: none) by those of a row. If the sum has no other bones, the row's
 * other weights are added too. */
void px_weight_sum_lock(px_weight_sum *sum, const px_weight_table *table, size_t row, const bool *locked);
/* Keeps the K largest weights (locked bones first), normalises their sum to 1 and sorts them by descending weight; ties
 * by ascending bone. */
void px_weight_sum_cut(px_weight_sum *sum, const px_weight_limits *limits);
/* Replaces a row by the largest weights of a sum; sorts the sum. */
void px_weight_sum_store(px_weight_sum *sum, px_weight_table *table, size_t row);

/* ---- All rows --------------------------------------------------------------------------------------------- */

/* Reads the model's weights: row r is the mean over the vertices of class r. Vertices marked `frozen` [vertex] (NULL:
 * none) are ignored; rows with only frozen vertices are empty. Needs a skin. */
pelt_result px_weight_table_read(px_arena *arena, const pelt_model *model, const pelt_vertex_classes *classes,
                                 const uint8_t *frozen, px_weight_table *out);
/* The weight of a bone in a row. */
double px_weight_table_of(const px_weight_table *table, size_t row, uint32_t bone);
/* Applies px_weight_sum_cut to every row. */
void px_weight_table_cut(px_weight_table *table, const px_weight_limits *limits);

/* Laplacian smoothing: `iterations` times, every row becomes (1 − strength) · row + strength · mean of its non-empty
 * neighbours, cut to the table's capacity. Rows marked `fixed`, empty rows and rows without such neighbours stay. */
typedef struct px_weight_smoothing {
    double strength;
    uint32_t iterations;
    const bool *locked;   /* [bone], as in px_weight_limits; NULL: none */
    const uint8_t *fixed; /* [row] 1: unchanged; NULL: none */
} px_weight_smoothing;
pelt_result px_weight_table_smooth(pelt_context *context, px_weight_table *table, const px_neighbours *neighbours,
                                   const px_weight_smoothing *how);

/* Distance between two rows of positions [row][3]; 0 if it is not finite. */
double px_row_distance(const float *positions, size_t a, size_t b);
/* Fills the rows that are not `known` [row] with harmonic weights (boundary values: the known rows) and marks them
 * known. Rows with a length ℓ > 0 in `lengths` [row] (NULL: none), in units of the positions, are attracted to the
 * weights that they have: the result averages these over about ℓ. Rows that are connected to neither are unchanged.
 * `positions` [row][3]. */
pelt_result px_fill(pelt_context *context, px_weight_table *table, const px_neighbours *neighbours,
                    const float *positions, const double *lengths, uint32_t bone_count, uint8_t *known);

/* Copies cut rows to the vertices of their classes: sets bones, weights and influence_count of `skin`, allocated in the
 * model's memory; the model's own skin is unchanged. Frozen vertices (NULL: none) get their weights from the model's
 * skin; empty rows get bone 0 with weight 1. */
pelt_result px_weight_table_spread(const px_weight_table *table, const pelt_model *model,
                                   const pelt_vertex_classes *classes, const uint8_t *frozen, uint32_t influences,
                                   pelt_skin *skin);

/* ---- Left and right --------------------------------------------------------------------------------------- */

/* A plane perpendicular to a coordinate axis. */
typedef struct px_mirror_plane {
    uint32_t axis; /* 0 to 2 */
    double at;     /* coordinate along the axis, in the mesh's units */
} px_mirror_plane;

typedef enum px_joint_side { PX_SIDE_NONE, PX_SIDE_LEFT, PX_SIDE_RIGHT } px_joint_side;

/* pairs [joint]: out, the counterpart across the plane, the joint itself when it lies on the plane, or PELT_NONE.
 * Joints are paired by name (Left/Right, L_/_R, .l/.r, armL …, ignoring case); joints without such a name by mirrored
 * `positions` [joint][3], if their parents are paired. `sides` [joint], out, or NULL: the side that the name of a
 * paired joint says. */
pelt_result px_mirror_joints(pelt_context *context, const pelt_skeleton *skeleton, const float *positions,
                             px_mirror_plane plane, uint32_t *pairs, px_joint_side *sides);

/* ---- Merging skeletons ------------------------------------------------------------------------------------ */

/* The joints and motions of a model, followed by those of a rig. */
typedef struct px_joined_rig {
    pelt_skeleton skeleton;
    uint32_t motion_count;
    pelt_motion *motions;
    uint32_t *joints; /* [joint of the rig] joint of the result; PELT_NONE for nodes that only hold meshes of the rig */
} px_joined_rig;
/* `to` may have no joints. All data of `from` is copied to the arena (usually the memory of `to`); data of `to` is
 * shared. */
pelt_result px_rig_join(px_arena *arena, const pelt_model *to, const pelt_model *from, px_joined_rig *out);

#endif
