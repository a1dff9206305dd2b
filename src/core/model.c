/* Model memory: creation, borrowing, operations that free replaced arrays, copies. */
#include "core/core.h"

pelt_result pelt_model_create(pelt_context *context, pelt_model **out) {
    *out = NULL;
    px_arena *arena = px_arena_create(context);
    pelt_model *model = arena ? PX_NEW(arena, pelt_model, 1) : NULL;
    if (!model) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    model->memory = arena;
    model->path = model->format = "";
    *out = model;
    return PELT_OK;
}

void pelt_model_destroy(pelt_model *model) {
    if (model)
        px_arena_destroy(model->memory);
}

#define COPY(arena, items, count) copy_items(arena, items, count, sizeof *(items))
static void *copy_items(px_arena *arena, const void *items, size_t count, size_t size) {
    void *out = px_arena_alloc(arena, count, size);
    return out && count > 0 ? memcpy(out, items, count * size) : out;
}

pelt_result px_model_borrow(px_arena *memory, const pelt_model *source, pelt_model **out) {
    px_arena_keep(source->memory);
    pelt_model *model = PX_NEW(memory, pelt_model, 1);
    if (!model)
        return PELT_ERROR_MEMORY;
    *model = *source;
    model->memory = memory;
    model->mesh.parts = COPY(memory, source->mesh.parts, source->mesh.part_count);
    model->clips = COPY(memory, source->clips, source->clip_count);
    model->motions = COPY(memory, source->motions, source->motion_count);
    model->drivers = COPY(memory, source->drivers, source->driver_count);
    *out = model;
    return model->mesh.parts && model->clips && model->motions && model->drivers ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result pelt_model_borrow(pelt_context *context, const pelt_model *source, pelt_model **out) {
    *out = NULL;
    px_arena *memory = px_arena_create(context);
    pelt_result result = memory ? px_model_borrow(memory, source, out) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        return PELT_OK;
    px_arena_destroy(memory);
    *out = NULL;
    return result;
}

void px_model_adopt(pelt_model *model, const pelt_model *borrowed) {
    px_arena *memory = model->memory;
    *model = *borrowed;
    model->memory = memory;
    px_arena_adopt(memory, borrowed->memory);
}

void *pelt_model_alloc(pelt_context *context, pelt_model *model, size_t count, size_t size) {
    (void)context; /* the arena knows its own */
    size_t bytes = px_mul_size(count, size);
    return px_arena_alloc(model->memory, px_max_size(bytes, 64), 1); /* an arena aligns small blocks less */
}

const char *pelt_model_text(pelt_context *context, pelt_model *model, const char *text) {
    (void)context;
    return px_arena_text(model->memory, text, strlen(text));
}

/* ---- Operations ------------------------------------------------------------------------------------------- */

/* model_uses must know every array. */
_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(pelt_mesh) == 136 && sizeof(pelt_clip) == 64 && sizeof(pelt_skeleton) == 32 &&
                    sizeof(pelt_track) == 40 && sizeof(pelt_motion) == 32 && sizeof(pelt_skin) == 40 &&
                    sizeof(pelt_morph) == 64 && sizeof(pelt_driver) == 72 && sizeof(pelt_slider) == 40 &&
                    sizeof(pelt_slider_set) == 40 && sizeof(pelt_model) == 360),
               "list the pointers that were added in model_uses");

static bool holds_any(const px_arena *part, const void *const *pointers, size_t count) {
    for (size_t n = 0; n < count; n++)
        if (px_arena_holds(part, pointers[n]))
            return true;
    return false;
}
#define HOLDS(...) holds_any(part, (const void *const[]){__VA_ARGS__}, PX_COUNT(((const void *const[]){__VA_ARGS__})))

static bool motion_uses(const pelt_motion *motion, const px_arena *part) {
    for (uint32_t t = 0; t < motion->track_count; t++)
        if (HOLDS(motion->tracks[t].times, motion->tracks[t].values))
            return true;
    return HOLDS(motion->name, motion->tracks);
}

/* True when any array or string of the model lies in that part of its memory. */
static bool model_uses(const void *user, const px_arena *part) {
    const pelt_model *model = user;
    const pelt_mesh *mesh = &model->mesh;
    const pelt_skeleton *skeleton = &model->skeleton;
    const pelt_skin *skin = &model->skin;
    if (HOLDS(mesh->positions, mesh->normals, mesh->tangents, mesh->uvs, mesh->colors, mesh->triangles,
              mesh->triangle_polygons, mesh->parts, mesh->origins, mesh->points.of, mesh->points.first, mesh->weld.of,
              mesh->weld.first) ||
        HOLDS(skeleton->names, skeleton->parents, skeleton->rest) ||
        HOLDS(skin->bone_joints, skin->inverse_binds, skin->bones, skin->weights) ||
        HOLDS(model->clips, model->motions, model->morphs.morphs, model->drivers, model->path, model->format,
              model->document))
        return true;
    const pelt_transfer *t = model->transfer;
    if (t && HOLDS(t, t->patterns, t->motions, t->times, t->weights, t->light))
        return true;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (HOLDS(mesh->parts[p].name, mesh->parts[p].material))
            return true;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (HOLDS(skeleton->names[j]))
            return true;
    for (uint32_t n = 0; n < model->clip_count; n++) {
        const pelt_clip *c = &model->clips[n];
        if (HOLDS(c->name, c->times, c->positions, c->source.user))
            return true;
    }
    for (uint32_t n = 0; n < model->morphs.morph_count; n++) {
        const pelt_morph *m = &model->morphs.morphs[n];
        if (HOLDS(m->name, m->positions, m->normals, m->tangents, m->colors))
            return true;
    }
    for (uint32_t n = 0; n < model->driver_count; n++) {
        const pelt_driver *d = &model->drivers[n];
        if (HOLDS(d->centres, d->morphs, d->coefficients))
            return true;
    }
    if (HOLDS(model->sliders.sliders, model->sliders.joints, model->sliders.bases, model->sliders.rests))
        return true;
    for (uint32_t n = 0; n < model->sliders.slider_count; n++) {
        const pelt_slider *s = &model->sliders.sliders[n];
        if (HOLDS(s->name, s->moves, s->morphs))
            return true;
    }
    for (uint32_t m = 0; m < model->motion_count; m++)
        if (motion_uses(&model->motions[m], part))
            return true;
    return false;
}

/* True for a copy of the struct that a caller made: its pointers do not tell which arrays the model itself uses. */
static bool is_copy(const pelt_model *model) {
    return !px_arena_holds(model->memory, model);
}

px_operation px_operation_begin(pelt_model *model) {
    if (!is_copy(model))
        px_arena_open(model->memory);
    return (px_operation){model, *model};
}

pelt_result px_operation_end(const px_operation *operation, pelt_result result) {
    pelt_model *model = operation->model;
    if (result != PELT_OK)
        *model = operation->before;
    if (!is_copy(model))
        px_arena_close(model->memory, model_uses, model);
    return result;
}

/* ---- Copies ----------------------------------------------------------------------------------------------- */

static const float *copy_floats(px_arena *arena, const float *floats, size_t count) {
    float *out = PX_NEW(arena, float, count);
    return out ? memcpy(out, floats, count * sizeof *out) : NULL;
}

pelt_result px_track_shorten(px_arena *arena, pelt_track *track, bool *constant) {
    *constant = true;
    for (size_t v = track->width; *constant && v < (size_t)track->key_count * track->width; v++)
        *constant = track->values[v] == track->values[v - track->width];
    if (!*constant || track->key_count <= 2)
        return PELT_OK;
    float *ends = PX_NEW(arena, float, 2);
    if (!ends)
        return PELT_ERROR_MEMORY;
    ends[0] = track->times[0];
    ends[1] = track->times[track->key_count - 1];
    track->times = ends;
    track->key_count = 2;
    return PELT_OK;
}

pelt_result px_track_copy(px_arena *arena, pelt_track *track) {
    size_t per_key = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 * (size_t)track->width : track->width;
    track->times = copy_floats(arena, track->times, track->key_count);
    track->values = copy_floats(arena, track->values, per_key * track->key_count);
    return track->times && track->values ? PELT_OK : PELT_ERROR_MEMORY;
}
