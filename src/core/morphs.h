/* Morphs of a model from inside: whose weights drive those of a vertex, their order, their tracks. */
#ifndef PELT_CORE_MORPHS_H
#define PELT_CORE_MORPHS_H

#include "core/core.h"

/* A run of vertices whose morphs one joint drives: those of a node with a mesh. */
typedef struct px_morph_group {
    uint32_t joint, first_vertex, vertex_count;
    uint32_t old_count; /* morphs of the joint that are there already */
} px_morph_group;
/* groups [group_count] of all vertices. Parts without a joint go to whoever drives the morphs they have, else to the
 * first bone. */
pelt_result px_morph_groups_find(px_arena *arena, const pelt_model *model, px_morph_group **groups,
                                 uint32_t *group_count);

/* The displacements of a group's vertices, from an array [unit][3][pitch] that begins at those wanted; those no longer
 * than `nothing` become exactly 0, which needs no bytes in files. `units` [vertex]. NULL when there is no memory. */
float *px_morph_spread(px_arena *arena, const px_morph_group *group, const uint32_t *units, const double *array,
                       size_t pitch, double nothing);

/* A model's morphs with others among them, sorted; in the model's memory. */
pelt_result px_morphs_with(const pelt_model *model, const pelt_morph *added, uint32_t added_count, pelt_morph_set *set);
/* The place of a joint's morph in the set, or PELT_NONE. */
uint32_t px_morph_find(const pelt_morph_set *set, uint32_t joint, uint32_t index);

/* Rescales the morphs that are not in `kept` so that every motion gives them weights in [0, 1]: programs clamp others
 * (Blender's sliders, Unity) or cannot store them (unsigned bytes). Where weights are negative, each node with a mesh gets
 * one more morph of this name, the offset, with weight 1 in the motions that use the others; one of an earlier call is
 * extended instead where it has that weight in these motions. Displacements in every motion
 * and at rest stay the same to rounding; drivers follow. Rest weights of those morphs must be 0. Replaces morphs, drivers
 * and track values of the model, whose tracks and whose arrays of those morphs must not be shared with another model. */
pelt_result px_morphs_fit_range(px_arena *scratch, const pelt_morph_set *kept, const char *name, pelt_model *model);

/* ---- Tracks of weights ------------------------------------------------------------------------------------ */

/* The track of a joint's morph weights, or NULL. */
pelt_track *px_weights_track(const pelt_motion *motion, uint32_t joint);
/* Gives it `width` weights; those behind the ones that were there stay at 0. */
pelt_result px_weights_widen(px_arena *arena, uint32_t width, pelt_track *track);
/* A linear track of a joint's weights with keys at times [count] and wherever the motion (NULL: none) has them: what the
 * old morphs have there, and 0 for the others of `width`, which the caller fills in at values [key][width]. `sampled`
 * [the model's morphs] is scratch. */
pelt_result px_weights_rekey(const pelt_model *model, const pelt_motion *motion, uint32_t joint, uint32_t width,
                             const float *times, uint32_t count, float *sampled, pelt_track *track, float **values);
/* A motion's tracks with room for `more`, and its start and end as they are; `from` NULL: a motion without tracks. */
pelt_result px_motion_extend(px_arena *arena, const pelt_motion *from, uint32_t more, pelt_motion *motion);
/* The motion's track of a joint's weights becomes this one, or gets it; its start and end reach as far. */
void px_motion_set_weights(pelt_motion *motion, const pelt_track *track);

#endif
