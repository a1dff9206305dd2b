/* The subject of a picture and the reference for its vertex distances: the source animation in mode ERROR, the rest
 * pose in mode DISPLACEMENT. */
#include "view/view.h"

bool px_picture_has(const pelt_picture_desc *desc, pelt_picture_mode mode) {
    bool second = desc->second_mode > 0 && desc->columns * desc->rows > 1;
    return desc->mode == (uint32_t)mode || (second && desc->second_mode - 1 == (uint32_t)mode);
}

/* ---- The source ------------------------------------------------------------------------------------------- */

/* Finds the source animation that matches the drawn one: the same name, else the same index, else the first. Uses clips
 * if the source has any, else motions. */
static px_animation matching_animation(const px_shot *shot, const pelt_model *source) {
    const px_animation *drawn = &shot->animation;
    uint32_t count = source->clip_count ? source->clip_count : source->motion_count;
    const char *name = drawn->clip ? drawn->clip->name : drawn->motion->name;
    for (uint32_t n = 0; n < count; n++)
        if (strcmp(source->clip_count ? source->clips[n].name : source->motions[n].name, name) == 0)
            return px_animation_at(source, n);
    size_t place = (size_t)(drawn->clip ? drawn->clip - shot->model->clips : drawn->motion - shot->model->motions);
    return px_animation_at(source, place < count ? (uint32_t)place : 0);
}

static pelt_result match_vertices(px_arena *arena, const pelt_mesh *mesh, const pelt_mesh *source,
                                  const uint32_t **out) {
    if (mesh->vertex_count == source->vertex_count)
        return PELT_OK;
    uint32_t *vertices = PX_NEW(arena, uint32_t, mesh->vertex_count);
    if (!vertices)
        return PELT_ERROR_MEMORY;
    *out = vertices;
    if (mesh->points.count == source->points.count) { /* same points, but split into vertices differently */
        for (uint32_t i = 0; i < mesh->vertex_count; i++)
            vertices[i] = pelt_class_vertex(&source->points, pelt_vertex_class(&mesh->points, i));
        return PELT_OK;
    }
    if (source->vertex_count == 0 || mesh->vertex_count % source->vertex_count != 0)
        return px_fail(px_arena_context(arena), PELT_ERROR_INPUT,
                       "has %u vertices, its source %u: errors can be shown between the same vertices only",
                       mesh->vertex_count, source->vertex_count);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        vertices[i] = i % source->vertex_count;
    return PELT_OK;
}

static pelt_result check_source(pelt_context *context, const px_shot *shot, const pelt_model *source) {
    const px_animation *drawn = &shot->animation;
    bool moves = drawn->clip || drawn->motion;
    if (!shot->desc->source && (!drawn->motion || source->clip_count == 0))
        return px_fail(context, PELT_ERROR_INPUT,
                       "mode error needs a source to measure against, or a motion and a clip in one model");
    if (moves && source->clip_count == 0 && source->motion_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "is animated, its source is not: there are no frames to compare");
    return PELT_OK;
}

static pelt_result find_source(px_arena *arena, px_shot *shot) {
    pelt_context *context = px_arena_context(arena);
    const pelt_model *source = shot->desc->source ? shot->desc->source : shot->model;
    const px_animation *drawn = &shot->animation;
    PX_TRY(check_source(context, shot, source));
    shot->source.model = source;
    if (drawn->clip || drawn->motion)
        shot->source.animation = matching_animation(shot, source);
    double length = drawn->end - drawn->start, wanted = shot->source.animation.end - shot->source.animation.start;
    if (fabs(length - wanted) > 0.5 / shot->desc->fps + 0.01 * wanted)
        px_log(context, PELT_LOG_WARNING, "lasts %g s, its source %g s: frames are matched by time", length, wanted);
    return match_vertices(arena, &shot->model->mesh, &source->mesh, &shot->source.vertices);
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

static const px_animation *counted(const px_shot *shot) {
    return shot->source.model ? &shot->source.animation : &shot->animation;
}

uint32_t px_shot_frame_count(const px_shot *shot) {
    return px_animation_frames(counted(shot), shot->desc->fps);
}

double px_shot_time(const px_shot *shot, uint32_t frame) {
    const px_animation *animation = counted(shot);
    return px_animation_time(animation, shot->desc->fps, frame) - animation->start + shot->animation.start;
}

/* ---- Distances -------------------------------------------------------------------------------------------- */

const px_reference *px_shot_reference(const px_shot *shot, pelt_picture_mode mode) {
    return mode == PELT_PICTURE_ERROR ? &shot->source : mode == PELT_PICTURE_DISPLACEMENT ? &shot->rest : NULL;
}

pelt_result px_reference_distances(pelt_context *context, const px_shot *shot, const px_reference *reference,
                                   double time, const float *positions, float *distances) {
    float *wanted = PX_ALLOC(context, float, px_mul_size(3, reference->model->mesh.vertex_count));
    if (!wanted)
        return PELT_ERROR_MEMORY;
    double then = time - shot->animation.start + reference->animation.start;
    pelt_result result = px_animation_pose(context, reference->model, &reference->animation, then, wanted, NULL);
    for (uint32_t i = 0; i < shot->model->mesh.vertex_count && result == PELT_OK; i++) {
        const float *p = positions + (size_t)3 * i;
        const float *q = wanted + (size_t)3 * (reference->vertices ? reference->vertices[i] : i);
        double d[3] = {(double)p[0] - q[0], (double)p[1] - q[1], (double)p[2] - q[2]};
        double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        distances[i] = isfinite(length) ? (float)length : NAN;
    }
    px_free(context, wanted);
    return result;
}

/* Finds the largest distance over all frames. */
static pelt_result find_max(pelt_context *context, const px_shot *shot, px_reference *reference) {
    uint32_t vertex_count = shot->model->mesh.vertex_count, frame_count = px_shot_frame_count(shot);
    float *positions = PX_ALLOC(context, float, px_mul_size(3, vertex_count));
    float *distances = PX_ALLOC(context, float, vertex_count);
    pelt_result result = positions && distances ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < frame_count && result == PELT_OK; k++) {
        double time = px_shot_time(shot, k);
        result = px_animation_pose(context, shot->model, &shot->animation, time, positions, NULL);
        if (result == PELT_OK)
            result = px_reference_distances(context, shot, reference, time, positions, distances);
        for (uint32_t i = 0; i < vertex_count && result == PELT_OK; i++)
            reference->max = px_fmax(reference->max, (double)distances[i]); /* fmax ignores NaN */
        if (result == PELT_OK)
            result = px_progress(context, "distances", k + 1, frame_count);
    }
    px_free(context, distances);
    px_free(context, positions);
    return result;
}

pelt_result px_shot_make(px_arena *arena, const pelt_model *model, const pelt_picture_desc *desc, px_shot *shot) {
    pelt_context *context = px_arena_context(arena);
    bool error = px_picture_has(desc, PELT_PICTURE_ERROR), moved = px_picture_has(desc, PELT_PICTURE_DISPLACEMENT);
    *shot = (px_shot){.model = model, .desc = desc, .rest = {.model = model}};
    for (uint32_t m = 0; m < PELT_PICTURE_MODE_COUNT && px_is_skeleton(model); m++)
        if (m != PELT_PICTURE_SHADED && m != PELT_PICTURE_BONES && px_picture_has(desc, (pelt_picture_mode)m))
            return px_fail(context, PELT_ERROR_INPUT, "has joints and no surface; use mode shaded or bones");
    PX_TRY(px_animation_find(context, model, desc, error && !desc->source, &shot->animation));
    if (error)
        PX_TRY(find_source(arena, shot));
    shot->source.max = shot->rest.max = desc->max;
    if (error && desc->max == 0)
        PX_TRY(find_max(context, shot, &shot->source));
    return moved && desc->max == 0 ? find_max(context, shot, &shot->rest) : PELT_OK;
}
