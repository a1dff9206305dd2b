/* The model: its memory, and copies of what is in it. */
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

pelt_result pelt_model_borrow(pelt_context *context, const pelt_model *source, pelt_model **out) {
    PX_TRY(pelt_model_create(context, out));
    pelt_model *model = *out;
    px_arena *memory = model->memory;
    *model = *source;
    model->memory = memory;
    model->mesh.parts = COPY(memory, source->mesh.parts, source->mesh.part_count);
    model->clips = COPY(memory, source->clips, source->clip_count);
    model->motions = COPY(memory, source->motions, source->motion_count);
    model->drivers = COPY(memory, source->drivers, source->driver_count);
    if (model->mesh.parts && model->clips && model->motions && model->drivers)
        return PELT_OK;
    px_arena_destroy(memory);
    *out = NULL;
    return PELT_ERROR_MEMORY;
}

static void destroy_arena(void *arena) {
    px_arena_destroy(arena);
}

pelt_result px_model_adopt(pelt_model *model, const pelt_model *borrowed) {
    pelt_model adopted = *borrowed;
    adopted.memory = model->memory;
    adopted.clips = model->clips;
    adopted.clip_count = model->clip_count;
    PX_TRY(px_arena_defer(model->memory, destroy_arena, borrowed->memory));
    *model = adopted;
    return PELT_OK;
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

static const float *copy_floats(px_arena *arena, const float *floats, size_t count) {
    float *out = PX_NEW(arena, float, count);
    return out ? memcpy(out, floats, count * sizeof *out) : NULL;
}

pelt_result px_track_copy(px_arena *arena, pelt_track *track) {
    size_t per_key = track->interpolation == PELT_INTERPOLATION_CUBIC ? 3 * (size_t)track->width : track->width;
    track->times = copy_floats(arena, track->times, track->key_count);
    track->values = copy_floats(arena, track->values, per_key * track->key_count);
    return track->times && track->values ? PELT_OK : PELT_ERROR_MEMORY;
}
