/* Parts of a model that become one mesh of a file: consecutive parts with the same name and joint. Shared by writers of scenes. */
#ifndef PELT_IO_MESH_GROUPS_H
#define PELT_IO_MESH_GROUPS_H

#include "io/io.h"

/* A mesh of the file: parts [first, end). */
typedef struct px_mesh_group {
    uint32_t first, end;
    bool skinned;       /* moves with the skin; false: follows the joint of its parts */
    uint32_t *vertices; /* [point_count] a vertex of each of its points; NULL until px_mesh_group_points */
    uint32_t point_count;
} px_mesh_group;

/* All groups of a mesh, in the order of its parts; without parts there is none. `skin`: the model has one. */
pelt_result px_mesh_groups_make(px_arena *arena, const pelt_mesh *mesh, bool skin, px_mesh_group **groups,
                                uint32_t *count);
/* Finds the points of a group: those that its triangles, or its own range of vertices, use, in the order of the model. `numbers`
 * [point of the model] gets their number in the group + 1; 0: it has another point. */
pelt_result px_mesh_group_points(px_arena *arena, const pelt_mesh *mesh, px_mesh_group *group, uint32_t *numbers);
/* Whether a morph target has a vertex of the group in its range. Needs its points. */
bool px_mesh_group_has_morph(const px_mesh_group *group, const pelt_morph *morph);

/* The number of joints that are sheared: they turn below a joint that is stretched unevenly. */
uint32_t px_sheared_joints(const pelt_model *model);

/* The mesh; where it has no parts, with all of it as one, `whole`. */
pelt_mesh px_mesh_with_parts(const pelt_mesh *mesh, pelt_part *whole);

#endif
