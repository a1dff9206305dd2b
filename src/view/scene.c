/* Makes the scene: the posed surface with a colour per vertex, and the skeleton. */
#include "view/view.h"

#include <stdlib.h>

/* ---- Skeleton --------------------------------------------------------------------------------------------- */

/* Selects the joints to draw: the bones of the skin, or all joints if there is no skin. */
static void choose_joints(const pelt_model *model, px_scene *scene) {
    const pelt_skin *skin = &model->skin;
    for (uint32_t j = 0; j < scene->joint_count; j++)
        scene->joint_numbers[j] = skin->bone_count > 0 ? PELT_NONE : 0;
    for (uint32_t b = 0; b < skin->bone_count; b++)
        scene->joint_numbers[skin->bone_joints[b]] = 0;
    uint32_t number = 0;
    for (uint32_t j = 0; j < scene->joint_count; j++) {
        if (scene->joint_numbers[j] == 0)
            scene->joint_numbers[j] = number++;
        uint32_t parent = model->skeleton.parents[j]; /* parents precede children, so the parent's entry is final */
        bool shown = parent != PELT_NONE && scene->joint_numbers[parent] != PELT_NONE;
        scene->joint_parents[j] = parent == PELT_NONE || shown ? parent : scene->joint_parents[parent];
    }
}

static pelt_result make_skeleton(px_arena *arena, const pelt_model *model, const px_animation *animation, double time,
                                 const px_frame *frame, px_scene *scene) {
    scene->joint_count = model->skeleton.joint_count;
    scene->joints = PX_NEW(arena, float, px_mul_size(3, scene->joint_count));
    scene->joint_parents = PX_NEW(arena, uint32_t, scene->joint_count);
    scene->joint_numbers = PX_NEW(arena, uint32_t, scene->joint_count);
    if (!scene->joints || !scene->joint_parents || !scene->joint_numbers)
        return PELT_ERROR_MEMORY;
    choose_joints(model, scene);
    PX_TRY(px_animation_joints(px_arena_context(arena), model, animation, time, scene->joints));
    for (uint32_t j = 0; j < scene->joint_count; j++)
        px_frame_apply(frame, scene->joints + (size_t)3 * j, scene->joints + (size_t)3 * j);
    return PELT_OK;
}

/* ---- Colours ---------------------------------------------------------------------------------------------- */

void px_scene_color(float *colors, size_t index, px_color color) {
    colors[3 * index] = color.r;
    colors[3 * index + 1] = color.g;
    colors[3 * index + 2] = color.b;
}

static pelt_result need_skin(pelt_context *context, const pelt_model *model, const char *mode) {
    if (model->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "has no skin, so mode %s has nothing to show; use mode shaded", mode);
    return PELT_OK;
}

static pelt_result color_bones(const pelt_model *model, px_scene *scene) {
    const pelt_skin *skin = &model->skin;
    for (uint32_t i = 0; i < scene->vertex_count; i++) {
        px_color sum = {0, 0, 0};
        for (uint32_t k = 0; k < skin->influence_count; k++) {
            size_t slot = (size_t)i * skin->influence_count + k;
            uint32_t joint = skin->bone_joints[skin->bones[slot]];
            px_color c = px_color_category(scene->joint_numbers[joint]);
            float w = skin->weights[slot];
            sum = (px_color){sum.r + w * c.r, sum.g + w * c.g, sum.b + w * c.b};
        }
        px_scene_color(scene->colors, i, sum);
    }
    return PELT_OK;
}

pelt_result px_view_joint(pelt_context *context, const pelt_model *model, const char *text, uint32_t *joint) {
    *joint = model->skin.bone_joints[0];
    if (!text)
        return PELT_OK;
    *joint = px_joint_named(&model->skeleton, text, strlen(text), 0);
    if (*joint != PELT_NONE)
        return PELT_OK;
    char *end;
    unsigned long long number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : UINT64_MAX;
    if (number >= model->skeleton.joint_count || *end != 0)
        return px_fail(context, PELT_ERROR_USAGE, "there is no joint '%s': give a name, or an index below %u", text,
                       model->skeleton.joint_count);
    *joint = (uint32_t)number;
    return PELT_OK;
}

static pelt_result color_weights(pelt_context *context, const pelt_model *model, const char *name, px_scene *scene) {
    const pelt_skin *skin = &model->skin;
    uint32_t joint;
    PX_TRY(px_view_joint(context, model, name, &joint));
    for (uint32_t i = 0; i < scene->vertex_count; i++) {
        float weight = 0;
        for (uint32_t k = 0; k < skin->influence_count; k++) {
            size_t slot = (size_t)i * skin->influence_count + k;
            if (skin->bone_joints[skin->bones[slot]] == joint)
                weight += skin->weights[slot];
        }
        px_scene_color(scene->colors, i, px_color_heat(weight));
    }
    return PELT_OK;
}

static pelt_result color_influences(const pelt_model *model, px_scene *scene) {
    const pelt_skin *skin = &model->skin;
    for (uint32_t i = 0; i < scene->vertex_count; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < skin->influence_count; k++)
            count += skin->weights[(size_t)i * skin->influence_count + k] > 0;
        px_scene_color(scene->colors, i, px_color_count(((float)count - 1) / (PELT_MAX_INFLUENCES - 1)));
    }
    return PELT_OK;
}

/* Colours are per triangle, since parts may share vertices. */
static pelt_result color_parts(px_arena *arena, const pelt_model *model, px_scene *scene) {
    scene->triangle_colors = PX_NEW(arena, float, px_mul_size(3, scene->triangle_count));
    if (!scene->triangle_colors)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < scene->triangle_count; t++)
        px_scene_color(scene->triangle_colors, t, px_color_clay());
    for (uint32_t p = 0; p < model->mesh.part_count; p++) {
        const pelt_part *part = &model->mesh.parts[p];
        for (uint32_t t = 0; t < part->triangle_count; t++)
            px_scene_color(scene->triangle_colors, part->first_triangle + t, px_color_category(p));
    }
    return PELT_OK;
}

/* Vertex colours of the mesh plus the weighted colour displacements of the morphs. */
static pelt_result color_vertices(px_arena *arena, const px_shot *shot, double time, px_scene *scene) {
    const pelt_model *model = shot->model;
    float *weights = PX_NEW(arena, float, model->morphs.morph_count);
    if (!weights)
        return PELT_ERROR_MEMORY;
    if (!model->mesh.colors)
        return px_fail(px_arena_context(arena), PELT_ERROR_INPUT,
                       "mode colors needs vertex colours, and there are none");
    memcpy(scene->colors, model->mesh.colors, 3 * (size_t)scene->vertex_count * sizeof *scene->colors);
    pelt_motion_sample(model, shot->animation.motion, (float)time, NULL, weights);
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        const pelt_morph *morph = &model->morphs.morphs[m];
        for (size_t e = 0; morph->colors && e < 3 * (size_t)morph->vertex_count; e++)
            scene->colors[3 * (size_t)morph->first_vertex + e] += weights[m] * morph->colors[e];
    }
    for (size_t e = 0; e < 3 * (size_t)scene->vertex_count; e++)
        scene->colors[e] = px_fminf(px_fmaxf(scene->colors[e], 0), 1);
    return PELT_OK;
}

/* The displacement of a morph target: the largest component of all is full red, green or blue, or none of it. */
static pelt_result color_morph(pelt_context *context, const pelt_model *model, const char *text, px_scene *scene) {
    uint32_t count = model->morphs.morph_count, chosen = 0;
    if (count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "mode morph needs morph targets, and there are none");
    if (text) {
        char *end;
        while (chosen < count && strcmp(model->morphs.morphs[chosen].name, text) != 0)
            chosen++;
        unsigned long long number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : UINT64_MAX;
        if (chosen == count && (number >= count || *end != 0))
            return px_fail(context, PELT_ERROR_USAGE,
                           "there is no morph target '%s': give a name, or an index below %u", text, count);
        chosen = chosen == count ? (uint32_t)number : chosen;
    }
    const pelt_morph *morph = &model->morphs.morphs[chosen];
    size_t floats = morph->positions ? 3 * (size_t)morph->vertex_count : 0;
    float most = 0;
    for (size_t e = 0; e < floats; e++)
        most = px_fmaxf(most, fabsf(morph->positions[e]));
    for (uint32_t i = 0; i < scene->vertex_count; i++)
        px_scene_color(scene->colors, i, (px_color){0.5f, 0.5f, 0.5f});
    for (size_t e = 0; most > 0 && e < floats; e++)
        scene->colors[3 * (size_t)morph->first_vertex + e] = 0.5f + 0.5f * morph->positions[e] / most;
    return PELT_OK;
}

static pelt_result color_support(pelt_context *context, const pelt_model *model, const char *name, px_scene *scene) {
    uint32_t joint;
    PX_TRY(px_view_joint(context, model, name, &joint));
    for (uint32_t d = 0; d < model->driver_count; d++)
        for (uint32_t m = 0; model->drivers[d].joint == joint && m < model->drivers[d].morph_count; m++) {
            const pelt_morph *morph = &model->morphs.morphs[model->drivers[d].morphs[m]];
            for (uint32_t i = 0; morph->positions && i < morph->vertex_count; i++) {
                const float *p = morph->positions + 3 * (size_t)i;
                if (p[0] != 0 || p[1] != 0 || p[2] != 0)
                    px_scene_color(scene->colors, morph->first_vertex + i, px_color_heat(0.6f));
            }
        }
    return PELT_OK;
}

static pelt_result color_distances(pelt_context *context, const px_shot *shot, const px_reference *reference,
                                   double time, px_scene *scene) {
    float *distances = PX_ALLOC(context, float, scene->vertex_count);
    pelt_result result = distances ? px_reference_distances(context, shot, reference, time, scene->positions, distances)
                                   : PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < scene->vertex_count && result == PELT_OK; i++)
        if (isfinite(distances[i]))
            px_scene_color(scene->colors, i,
                           px_color_heat(reference->max > 0 ? (float)(distances[i] / reference->max) : 0));
    px_free(context, distances);
    return result;
}

/* Requires positions in model space. */
static pelt_result color_scene(px_arena *arena, const px_shot *shot, pelt_picture_mode mode, double time,
                               px_scene *scene) {
    pelt_context *context = px_arena_context(arena);
    const pelt_model *model = shot->model;
    for (uint32_t i = 0; i < scene->vertex_count; i++)
        px_scene_color(scene->colors, i, px_color_clay());
    switch (mode) {
    case PELT_PICTURE_BONES:
        PX_TRY(need_skin(context, model, "bones"));
        return color_bones(model, scene);
    case PELT_PICTURE_WEIGHTS:
        PX_TRY(need_skin(context, model, "weights"));
        return color_weights(context, model, shot->desc->joint, scene);
    case PELT_PICTURE_INFLUENCES:
        PX_TRY(need_skin(context, model, "influences"));
        return color_influences(model, scene);
    case PELT_PICTURE_PARTS:
        return color_parts(arena, model, scene);
    case PELT_PICTURE_ERROR:
    case PELT_PICTURE_DISPLACEMENT:
        return color_distances(context, shot, px_shot_reference(shot, mode), time, scene);
    case PELT_PICTURE_COLORS:
        return color_vertices(arena, shot, time, scene);
    case PELT_PICTURE_MORPH:
        return color_morph(context, model, shot->desc->morph, scene);
    case PELT_PICTURE_SUPPORT:
        PX_TRY(need_skin(context, model, "support"));
        return color_support(context, model, shot->desc->joint, scene);
    case PELT_PICTURE_SHADED:
    case PELT_PICTURE_MODE_COUNT:
        break;
    }
    return PELT_OK;
}

/* ---- Surface ---------------------------------------------------------------------------------------------- */

/* A polygon is a triangle fan around its first vertex. Edges between triangles of the same polygon are not marked. */
static void mark_edges(const pelt_mesh *mesh, uint8_t *edges) {
    const uint32_t *polygons = mesh->triangle_polygons;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        bool before = polygons && t > 0 && polygons[t - 1] == polygons[t];
        bool after = polygons && t + 1 < mesh->triangle_count && polygons[t + 1] == polygons[t];
        edges[t] = (uint8_t)((before ? 0 : 1) | 2 | (after ? 0 : 4));
    }
}

void px_scene_bounds(px_scene *scene) {
    bool any = false;
    for (uint32_t i = 0; i < scene->vertex_count; i++) {
        const float *p = scene->positions + (size_t)3 * i;
        if (!px_finite3(p))
            continue;
        for (int c = 0; c < 3; c++) {
            scene->low[c] = any ? px_fminf(scene->low[c], p[c]) : p[c];
            scene->high[c] = any ? px_fmaxf(scene->high[c], p[c]) : p[c];
        }
        any = true;
    }
}

static void into_frame(const px_frame *frame, px_scene *scene) {
    for (uint32_t i = 0; i < scene->vertex_count; i++) {
        float *p = scene->positions + (size_t)3 * i;
        px_frame_apply(frame, p, p);
    }
    px_scene_bounds(scene);
}

static pelt_result make_surface(px_arena *arena, const px_shot *shot, double time, pelt_picture_mode mode,
                                const px_frame *frame, px_scene *scene) {
    const pelt_mesh *mesh = &shot->model->mesh;
    scene->vertex_count = mesh->vertex_count;
    scene->triangle_count = mesh->triangle_count;
    scene->triangles = mesh->triangles;
    scene->positions = PX_NEW(arena, float, px_mul_size(3, mesh->vertex_count));
    scene->normals = PX_NEW(arena, float, px_mul_size(3, mesh->vertex_count));
    scene->colors = PX_NEW(arena, float, px_mul_size(3, mesh->vertex_count));
    scene->light = px_arena_alloc(arena, mesh->vertex_count, sizeof(float[3]));
    scene->edges = PX_NEW(arena, uint8_t, mesh->triangle_count);
    if (!scene->positions || !scene->normals || !scene->colors || !scene->light || !scene->edges)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_animation_pose(px_arena_context(arena), shot->model, &shot->animation, time, scene->positions,
                             scene->normals));
    PX_TRY(color_scene(arena, shot, mode, time, scene));
    into_frame(frame, scene);
    mark_edges(mesh, scene->edges);
    return PELT_OK;
}

pelt_result px_scene_make(px_arena *arena, const px_shot *shot, double time, pelt_picture_mode mode,
                          const px_frame *frame, px_scene *scene) {
    *scene = (px_scene){0};
    PX_TRY(make_skeleton(arena, shot->model, &shot->animation, time, frame, scene));
    return px_is_skeleton(shot->model) ? px_scene_bones(arena, mode, scene)
                                       : make_surface(arena, shot, time, mode, frame, scene);
}
