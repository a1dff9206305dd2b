/* Morph target helpers: vertex ranges per node, sorted sets of morphs, weight tracks, weights in [0, 1]. */
#ifndef PELT_CORE_MORPHS_H
#define PELT_CORE_MORPHS_H

#include "core/core.h"

/* A range of vertices whose morph weights belong to one joint: the vertices of a node with a mesh. */
typedef struct px_morph_group {
    uint32_t joint, first_vertex, vertex_count;
    uint32_t old_count; /* existing morphs of the joint */
} px_morph_group;
/* Partitions all vertices into groups [group_count]. Parts without a joint use the joint of the first morph that covers
 * their first vertex, else the joint of the first bone. */
pelt_result px_morph_groups_find(px_arena *arena, const pelt_model *model, px_morph_group **groups,
                                 uint32_t *group_count);

/* The displacements [vertex][3] of a group's vertices, gathered from one column of an array [class][3][pitch] (`array`
 * points to the column's first element). Displacements with no component above `nothing` become exactly 0, which sparse
 * storage omits. NULL when out of memory. */
float *px_morph_spread(px_arena *arena, const px_morph_group *group, const pelt_vertex_classes *classes,
                       const double *array, size_t pitch, double nothing);

/* The model's morphs and `added` merged into one set, sorted by joint and index; in the model's memory. */
pelt_result px_morphs_with(const pelt_model *model, const pelt_morph *added, uint32_t added_count, pelt_morph_set *set);
/* A position in the set of the morph with this joint and index, or PELT_NONE. */
uint32_t px_morph_find(const pelt_morph_set *set, uint32_t joint, uint32_t index);

/* Rescales the morphs that are not in `kept` so that their weights lie in [0, 1] in every motion: programs clamp other
 * weights (Blender's sliders, Unity) or cannot store them (unsigned bytes). If weights are negative, each affected node
 * with a mesh gets one more morph called `name`, the offset, with weight 1 in the motions that use the rescaled morphs;
 * an offset of an earlier call is extended instead if it has weight 1 in these motions. Displacements in every motion
 * and at rest are unchanged up to rounding; drivers are adapted. Rest weights of the rescaled morphs must be 0.
 * Replaces morphs, drivers and track values of the model. Its tracks and the arrays of the rescaled morphs are modified
 * in place and must not be shared with another model. */
pelt_result px_morphs_fit_range(px_arena *scratch, const pelt_morph_set *kept, const char *name, pelt_model *model);

/* ---- Weight tracks ---------------------------------------------------------------------------------------- */

/* The motion's track of a joint's morph weights, or NULL. */
pelt_track *px_weights_track(const pelt_motion *motion, uint32_t joint);
/* Widens a weight track to `width` weights per key; new weights are 0. */
pelt_result px_weights_widen(px_arena *arena, uint32_t width, pelt_track *track);
/* Creates a linear track of a joint's weights with keys at `times` [count] and at the keys of the motion's own weight
 * track (`motion` NULL: none). Existing morphs get their sampled weights; the other columns are 0, and the caller
 * writes them to values [key][width]. `sampled` [morph] is a scratch buffer. */
pelt_result px_weights_rekey(const pelt_model *model, const pelt_motion *motion, uint32_t joint, uint32_t width,
                             const float *times, uint32_t count, float *sampled, pelt_track *track, float **values);
/* Copies a motion with capacity for `more` additional tracks; `from` NULL: an empty motion. */
pelt_result px_motion_extend(px_arena *arena, const pelt_motion *from, uint32_t more, pelt_motion *motion);
/* Replaces the motion's weight track of track->joint, or appends it (needs capacity), and extends start and end to
 * include its keys. */
void px_motion_set_weights(pelt_motion *motion, const pelt_track *track);

#endif
