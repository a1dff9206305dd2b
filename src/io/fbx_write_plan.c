/* Which objects an FBX file has: see fbx_write.h.
 *
 * Joints become nodes: limbs, or nulls where no skin reaches them. Consecutive parts with the same name and joint become one mesh with several
 * materials. A mesh that follows a joint rigidly belongs to a node below that joint; a skinned one to a node of the scene without a
 * transform, so that the matrix Transform of a cluster is the inverse bind matrix; their own joint serves where it can.
 */
#include "core/math3.h"
#include "io/fbx_write.h"

#include <stdio.h>

/* Joints of the bones of a skinned mesh, and those above them. */
static void plan_limbs(px_fbx_writer *w, const px_mesh_group *g) {
    const pelt_mesh *mesh = &w->mesh;
    const pelt_skin *skin = &w->model->skin;
    const pelt_part *last = &mesh->parts[g->end - 1];
    size_t first = (size_t)3 * mesh->parts[g->first].first_triangle,
           end = (size_t)3 * (last->first_triangle + last->triangle_count);
    for (size_t c = first; c < end; c++)
        for (uint32_t k = 0; k < skin->influence_count; k++) {
            size_t at = (size_t)mesh->triangles[c] * skin->influence_count + k;
            uint32_t j = skin->weights[at] > 0 ? skin->bone_joints[skin->bones[at]] : PELT_NONE;
            for (; j != PELT_NONE && !w->limbs[j]; j = w->model->skeleton.parents[j])
                w->limbs[j] = true;
        }
}

/* A rigid mesh follows the bone of its vertices: the transform from its space to the joint. */
pelt_transform px_fbx_rigid_place(const px_fbx_writer *w, const px_mesh_group *g) {
    pelt_transform place = px_transform_identity();
    const pelt_part *part = &w->mesh.parts[g->first];
    if (w->model->skin.bone_count && !g->skinned && part->triangle_count) {
        uint32_t vertex = w->mesh.triangles[(size_t)3 * part->first_triangle];
        uint32_t bone = w->model->skin.bones[(size_t)vertex * w->model->skin.influence_count];
        px_transform_from_affine(&w->model->skin.inverse_binds[bone], &place);
    }
    return place;
}

/* Readers find joints by name: those without one, or with that of an earlier joint, get their number behind it. */
static pelt_result plan_names(px_fbx_writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const char *name = px_fbx_text_or(skeleton->names[j]);
        w->names[j] = name;
        if (*skeleton->names[j] && px_joint_named(skeleton, name, strlen(name), 0) == j)
            continue;
        size_t size = strlen(name) + 12;
        char *text = px_arena_alloc(w->arena, size, 1);
        if (!text)
            return PELT_ERROR_MEMORY;
        snprintf(text, size, "%s_%u", name, j);
        w->names[j] = text;
    }
    return PELT_OK;
}

/* The joint that parts follow is the node of their mesh where nothing else needs it: it is no bone and no other mesh has it. A skinned mesh
 * needs a node of the scene that stays without a transform. */
static void plan_node(px_fbx_writer *w, uint32_t group) {
    const px_mesh_group *g = &w->groups[group];
    uint32_t joint = w->mesh.parts[g->first].joint;
    if (joint == PELT_NONE || w->limbs[joint] || w->nodes[joint])
        return;
    static const pelt_transform still = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    bool free = !w->target->z_up && w->model->skeleton.parents[joint] == PELT_NONE &&
                memcmp(&w->model->skeleton.rest[joint], &still, sizeof still) == 0;
    for (uint32_t m = 0; m < w->model->motion_count; m++)
        for (uint32_t t = 0; t < w->model->motions[m].track_count; t++)
            free &= w->model->motions[m].tracks[t].joint != joint ||
                    w->model->motions[m].tracks[t].path == PELT_PATH_WEIGHTS;
    pelt_transform place = px_fbx_rigid_place(w, g);
    w->own_nodes[group] = w->nodes[joint] = g->skinned ? free : memcmp(&place, &still, sizeof still) == 0;
}

pelt_result px_fbx_plan(px_fbx_writer *w) {
    const pelt_mesh *mesh = &w->mesh;
    const pelt_skeleton *skeleton = &w->model->skeleton;
    w->mesh = px_mesh_with_parts(&w->model->mesh, &w->whole);
    PX_TRY(px_layers_get(w->arena, w->model, &w->layers));
    PX_TRY(px_mesh_groups_make(w->arena, mesh, w->model->skin.bone_count > 0, &w->groups, &w->group_count));
    w->own_nodes = PX_NEW(w->arena, bool, w->group_count);
    w->local_points = PX_NEW(w->arena, uint32_t, mesh->points.count);
    w->globals = PX_NEW(w->arena, pelt_affine, skeleton->joint_count);
    w->limbs = PX_NEW(w->arena, bool, skeleton->joint_count);
    w->nodes = PX_NEW(w->arena, bool, skeleton->joint_count);
    w->names = PX_NEW(w->arena, const char *, skeleton->joint_count);
    w->materials = PX_NEW(w->arena, const char *, mesh->part_count);
    if (!w->own_nodes || !w->local_points || !w->globals || !w->limbs || !w->nodes || !w->names || !w->materials)
        return PELT_ERROR_MEMORY;
    PX_TRY(plan_names(w));
    pelt_skeleton_globals(skeleton, skeleton->rest, w->globals);
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        uint32_t m = 0;
        while (part->material && m < w->material_count && strcmp(w->materials[m], part->material) != 0)
            m++;
        if (part->material && m == w->material_count)
            w->materials[w->material_count++] = part->material;
    }
    for (uint32_t g = 0; g < w->group_count; g++)
        if (w->groups[g].skinned)
            plan_limbs(w, &w->groups[g]);
    for (uint32_t g = 0; g < w->group_count; g++)
        plan_node(w, g);
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        w->root_count += w->limbs[j] && skeleton->parents[j] == PELT_NONE;
    w->new_root = w->target->one_root && w->root_count > 1;
    w->rate = w->target->rates[0] > 0 && w->model->motion_count ? px_fbx_target_rate(w->target, w->model) : 0;
    return PELT_OK;
}
