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

/* Morphs in the order of a morph set. */
void px_morphs_sort(pelt_morph *morphs, size_t count);

/* The place of a joint's morph in the set, or PELT_NONE. */
uint32_t px_morph_find(const pelt_morph_set *set, uint32_t joint, uint32_t index);

/* The track of a joint's morph weights, or NULL. */
pelt_track *px_weights_track(const pelt_motion *motion, uint32_t joint);

/* Two ascending runs of times as one, each time once. Returns how many; `out` has room for all. */
uint32_t px_times_merge(const float *a, uint32_t a_count, const float *b, uint32_t b_count, float *out);

#endif
