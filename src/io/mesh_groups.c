/* Groups of parts, and joints that are sheared: see mesh_groups.h. */
#include "io/mesh_groups.h"

/* ---- Groups ----------------------------------------------------------------------------------------------------- */

static bool same_group(const pelt_part *a, const pelt_part *b) {
    return strcmp(a->name, b->name) == 0 && a->joint == b->joint && a->skinned == b->skinned;
}

pelt_result px_mesh_groups_make(px_arena *arena, const pelt_mesh *mesh, bool skin, px_mesh_group **groups,
                                uint32_t *count) {
    *count = 0;
    if (!(*groups = PX_NEW(arena, px_mesh_group, mesh->part_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (*count == 0 || !same_group(part, &mesh->parts[p - 1])) /* without a joint a part moves with the skin */
            (*groups)[(*count)++] =
                (px_mesh_group){.first = p, .skinned = skin && (part->skinned || part->joint == PELT_NONE)};
        (*groups)[*count - 1].end = p + 1;
    }
    return PELT_OK;
}

pelt_result px_mesh_group_points(px_arena *arena, const pelt_mesh *mesh, px_mesh_group *group, uint32_t *numbers) {
    uint32_t *list = PX_NEW(arena, uint32_t, mesh->points.count);
    if (!list)
        return PELT_ERROR_MEMORY;
    memset(numbers, 0, (size_t)mesh->points.count * sizeof *numbers);
    group->point_count = 0;
    for (uint32_t p = group->first; p < group->end; p++) {
        const pelt_part *part = &mesh->parts[p];
        size_t first = (size_t)3 * part->first_triangle, end = first + (size_t)3 * part->triangle_count;
        for (uint32_t i = 0; i < part->vertex_count; i++)
            numbers[pelt_vertex_class(&mesh->points, part->first_vertex + i)] = 1;
        for (size_t c = first; c < end; c++)
            numbers[pelt_vertex_class(&mesh->points, mesh->triangles[c])] = 1;
    }
    for (uint32_t point = 0; point < mesh->points.count; point++)
        if (numbers[point]) {
            list[group->point_count++] = pelt_class_vertex(&mesh->points, point);
            numbers[point] = group->point_count;
        }
    group->vertices = list;
    return PELT_OK;
}

bool px_mesh_group_has_morph(const px_mesh_group *group, const pelt_morph *morph) {
    for (uint32_t i = 0; i < group->point_count; i++)
        if (group->vertices[i] >= morph->first_vertex && group->vertices[i] - morph->first_vertex < morph->vertex_count)
            return true;
    return false;
}

/* ---- Shear ------------------------------------------------------------------------------------------------------ */

static bool is_uneven(const float scale[3]) {
    float size = fabsf(scale[0]);
    return fabsf(fabsf(scale[1]) - size) > 1e-3f * size || fabsf(fabsf(scale[2]) - size) > 1e-3f * size;
}

/* Whether a joint is ever stretched unevenly. */
static bool is_stretched(const pelt_model *model, uint32_t joint) {
    bool found = is_uneven(model->skeleton.rest[joint].scale);
    for (uint32_t m = 0; m < model->motion_count; m++)
        for (uint32_t t = 0; t < model->motions[m].track_count; t++) {
            const pelt_track *track = &model->motions[m].tracks[t];
            size_t step = track->interpolation == PELT_INTERPOLATION_CUBIC ? 9 : 3, value = step / 9 * 3;
            if (track->joint == joint && track->path == PELT_PATH_SCALE)
                for (size_t k = 0; k < track->key_count && !found; k++)
                    found = is_uneven(track->values + k * step + value);
        }
    return found;
}

/* Whether a joint ever has a rotation. */
static bool is_turned(const pelt_model *model, uint32_t joint) {
    bool found = fabsf(model->skeleton.rest[joint].rotation[3]) < 1 - 1e-6f;
    for (uint32_t m = 0; m < model->motion_count; m++)
        for (uint32_t t = 0; t < model->motions[m].track_count; t++)
            found |=
                model->motions[m].tracks[t].joint == joint && model->motions[m].tracks[t].path == PELT_PATH_ROTATION;
    return found;
}

uint32_t px_sheared_joints(const pelt_model *model) {
    const pelt_skeleton *skeleton = &model->skeleton;
    uint32_t count = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        count += skeleton->parents[j] != PELT_NONE && is_turned(model, j) && is_stretched(model, skeleton->parents[j]);
    return count;
}

pelt_mesh px_mesh_with_parts(const pelt_mesh *mesh, pelt_part *whole) {
    pelt_mesh all = *mesh;
    if (mesh->part_count == 0 && mesh->vertex_count > 0) {
        *whole = (pelt_part){.name = "mesh",
                             .triangle_count = mesh->triangle_count,
                             .vertex_count = mesh->vertex_count,
                             .joint = PELT_NONE};
        all.parts = whole;
        all.part_count = 1;
    }
    return all;
}
