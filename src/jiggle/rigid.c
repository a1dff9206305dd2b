/* Detection of rigid shells of the mesh: armour, tools, limbs of robots.
 *
 * A shell is a connected component under triangles and welded vertices. Shells may touch: vertices at the same position
 * are welded only if the same joint moves them. */
#include "jiggle/rigid.h"

#define RIGID_WEIGHT 0.999f /* a vertex with a weight of at least this belongs to one joint */

/* Returns the joint that alone moves a vertex, or PELT_NONE. */
static uint32_t only_joint(const pelt_skin *skin, size_t vertex) {
    for (size_t k = vertex * skin->influence_count; k < (vertex + 1) * skin->influence_count; k++)
        if (skin->weights[k] >= RIGID_WEIGHT)
            return skin->bone_joints[skin->bones[k]];
    return PELT_NONE;
}

/* Returns true if the settings give a δ for the joint. */
static bool is_soft(const pelt_jiggle_desc *desc, uint32_t joint) {
    for (uint32_t n = 0; n < desc->joint_count; n++)
        if (desc->joints[n].joint == joint && desc->joints[n].delta >= 0)
            return true;
    return false;
}

/* Joins vertices of the same class and joint. `latest` [class] and `before` [vertex] form linked lists of 1 + vertex,
 * one entry per joint of the class. */
static void join_welded(const px_jiggle_subject *subject, const uint32_t *joints, uint32_t *latest, uint32_t *before,
                        uint32_t *shells) {
    for (uint32_t i = 0; i < subject->model->mesh.vertex_count; i++) {
        uint32_t *first = &latest[pelt_vertex_class(&subject->classes, i)], at = *first;
        while (at && joints[at - 1] != joints[i])
            at = before[at - 1];
        if (at) {
            px_group_join(shells, at - 1, i);
            continue;
        }
        before[i] = *first;
        *first = i + 1;
    }
}

pelt_result px_rigid_find(px_arena *arena, const px_jiggle_subject *subject, const pelt_jiggle_desc *desc,
                          bool **rigid) {
    const pelt_mesh *mesh = &subject->model->mesh;
    uint32_t count = mesh->vertex_count;
    *rigid = NULL;
    if (desc->softness != PELT_JIGGLE_SOFTNESS_THICKNESS || desc->maps.delta)
        return PELT_OK;
    uint32_t *joints = PX_NEW(arena, uint32_t, count), *shells = PX_NEW(arena, uint32_t, count);
    uint32_t *latest = PX_NEW(arena, uint32_t, subject->classes.count), *before = PX_NEW(arena, uint32_t, count);
    bool *stiff = PX_NEW(arena, bool, count), *soft = PX_NEW(arena, bool, count), one_joint = true, any = false;
    if (!joints || !shells || !latest || !before || !stiff || !soft)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        shells[i] = i;
        joints[i] = only_joint(&subject->model->skin, i);
        one_joint = one_joint && joints[i] != PELT_NONE && joints[i] == joints[0];
    }
    if (one_joint)
        return PELT_OK;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (int c = 1; c < 3; c++)
            px_group_join(shells, mesh->triangles[3 * t], mesh->triangles[3 * t + (size_t)c]);
    join_welded(subject, joints, latest, before, shells);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t shell = px_group_of(shells, i);
        soft[shell] = soft[shell] || joints[i] == PELT_NONE || joints[i] != joints[shell] || is_soft(desc, joints[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        stiff[i] = !soft[px_group_of(shells, i)];
        any = any || stiff[i];
    }
    *rigid = any ? stiff : NULL;
    return PELT_OK;
}
