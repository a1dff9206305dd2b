/* Errors of sliders against the morph targets that they replace. */
#include "core/math3.h"
#include "sliders/plan.h"

#include <math.h>
#include <pelt/run.h>

typedef struct evaluation {
    const pelt_model *source, *result;
    const uint32_t *morph_sliders; /* [morph of source] slider */
    const bool *moved;             /* [vertex] some morph displaces it */
    float *weights, *values;       /* [morph of source], [slider] */
    float *wanted, *got;           /* [vertex][3] */
} evaluation;

/* Distances of vertices in one pose, added up over poses. */
typedef struct distances {
    size_t count;
    pelt_slider_error error; /* sums until finish_distances */
} distances;

static void add_distances(distances *d, const evaluation *e) {
    for (uint32_t i = 0; i < e->source->mesh.vertex_count; i++) {
        if (!e->moved[i])
            continue;
        double off[3];
        for (size_t a = 0; a < 3; a++)
            off[a] = (double)e->got[3 * (size_t)i + a] - (double)e->wanted[3 * (size_t)i + a];
        double length = px_length3(off);
        d->count++;
        d->error.mean += length;
        d->error.rms += length * length;
        if (length > d->error.largest)
            d->error.largest = length, d->error.vertex = i;
    }
}

static pelt_slider_error finish_distances(const distances *d) {
    double count = d->count > 0 ? (double)d->count : 1;
    pelt_slider_error error = d->error;
    error.mean /= count;
    error.rms = sqrt(error.rms / count);
    return error;
}

/* The error with slider s at 1. */
static pelt_result measure_slider(pelt_context *context, const evaluation *e, uint32_t s, pelt_slider_error *error) {
    for (uint32_t m = 0; m < e->source->morphs.morph_count; m++)
        e->weights[m] = e->morph_sliders[m] == s;
    for (uint32_t n = 0; n < e->result->sliders.slider_count; n++)
        e->values[n] = n == s;
    PX_TRY(pelt_model_pose_locals(context, e->source, e->source->skeleton.rest, e->weights, PELT_SKINNING_LINEAR,
                                  e->wanted, NULL));
    PX_TRY(pelt_model_pose_sliders(context, e->result, NULL, e->values, PELT_SKINNING_LINEAR, e->got, NULL));
    distances d = {0};
    add_distances(&d, e);
    *error = finish_distances(&d);
    return PELT_OK;
}

/* Marks the vertices that some morph displaces and, where `ranged` is not NULL, those that one may. */
static void mark_moved(const pelt_model *source, bool *moved, bool *ranged) {
    for (uint32_t m = 0; m < source->morphs.morph_count; m++) {
        const pelt_morph *morph = &source->morphs.morphs[m];
        for (size_t i = 0; i < morph->vertex_count; i++) {
            const float *d = morph->positions + 3 * i;
            moved[morph->first_vertex + i] |= d[0] != 0 || d[1] != 0 || d[2] != 0;
            if (ranged)
                ranged[morph->first_vertex + i] = true;
        }
    }
}

static pelt_result measure(evaluation *e, px_arena *arena, pelt_slider_error *errors, double *height) {
    const pelt_model *source = e->source, *result = e->result;
    pelt_context *context = px_arena_context(arena);
    size_t N = source->mesh.vertex_count;
    uint32_t *sliders = PX_NEW(arena, uint32_t, source->morphs.morph_count), count;
    bool *moved = PX_NEW(arena, bool, N), *ranged = PX_NEW(arena, bool, N);
    e->weights = PX_NEW(arena, float, source->morphs.morph_count);
    e->values = PX_NEW(arena, float, result->sliders.slider_count);
    e->wanted = PX_NEW(arena, float, 3 * N);
    e->got = PX_NEW(arena, float, 3 * N);
    if (!sliders || !moved || !ranged || !e->weights || !e->values || !e->wanted || !e->got)
        return PELT_ERROR_MEMORY;
    const char **names;
    PX_TRY(px_sliders_name(arena, source, &names, &count, sliders));
    for (uint32_t s = 0; s < result->sliders.slider_count; s++)
        if (s >= count || strcmp(names[s], result->sliders.sliders[s].name) != 0)
            return px_fail(context, PELT_ERROR_INPUT, "the source has no morph target '%s' for slider %u",
                           result->sliders.sliders[s].name, s);
    mark_moved(source, moved, ranged);
    e->morph_sliders = sliders;
    e->moved = moved;
    PX_TRY(pelt_model_pose_locals(context, source, source->skeleton.rest, e->weights, PELT_SKINNING_LINEAR, e->wanted,
                                  NULL));
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < N; i++)
        if (ranged[i]) {
            low = px_fmin(low, (double)e->wanted[3 * i + 1]);
            high = px_fmax(high, (double)e->wanted[3 * i + 1]);
        }
    *height = high > low ? high - low : 0;
    for (uint32_t s = 0; s < result->sliders.slider_count; s++)
        PX_TRY(measure_slider(context, e, s, &errors[s]));
    return PELT_OK;
}

static pelt_result check_models(pelt_context *context, const pelt_model *source, const pelt_model *result) {
    if (source->mesh.vertex_count != result->mesh.vertex_count)
        return px_fail(context, PELT_ERROR_INPUT, "the meshes have %u and %u vertices; they must be the same",
                       source->mesh.vertex_count, result->mesh.vertex_count);
    if (source->skin.bone_count == 0 || result->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "both models need a skin or nodes");
    return PELT_OK;
}

pelt_result pelt_sliders_measure(pelt_context *context, const pelt_model *source, const pelt_model *result,
                                 pelt_slider_error *errors, double *height) {
    *height = 0;
    memset(errors, 0, result->sliders.slider_count * sizeof *errors);
    PX_TRY(check_models(context, source, result));
    px_arena *arena = px_arena_create(context);
    evaluation e = {.source = source, .result = result};
    pelt_result outcome = arena ? measure(&e, arena, errors, height) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    return outcome;
}

pelt_result pelt_sliders_measure_motion(pelt_context *context, const pelt_model *source,
                                        const pelt_motion *source_motion, const pelt_model *result,
                                        const pelt_motion *result_motion, double fps, pelt_slider_error *error) {
    *error = (pelt_slider_error){0};
    PX_TRY(check_models(context, source, result));
    size_t N = source->mesh.vertex_count;
    float *wanted = PX_ALLOC(context, float, 3 * N), *got = PX_ALLOC(context, float, 3 * N);
    bool *moved = PX_ALLOC(context, bool, N);
    pelt_result outcome = wanted && got && moved ? PELT_OK : PELT_ERROR_MEMORY;
    evaluation e = {.source = source, .result = result, .moved = moved, .wanted = wanted, .got = got};
    distances d = {0};
    double duration = (double)source_motion->end - (double)source_motion->start;
    uint32_t steps = (uint32_t)px_fmin(px_fmax(ceil(duration * fps - 1e-6), 1), 1e6);
    if (outcome == PELT_OK)
        mark_moved(source, moved, NULL);
    for (uint32_t k = 0; outcome == PELT_OK && k <= steps; k++) {
        float time = (float)((double)source_motion->start + duration * k / steps);
        outcome = px_progress(context, "comparing", k, steps);
        if (outcome == PELT_OK)
            outcome = pelt_model_pose(context, source, source_motion, time, PELT_SKINNING_LINEAR, wanted, NULL);
        if (outcome == PELT_OK)
            outcome = pelt_model_pose(context, result, result_motion, time, PELT_SKINNING_LINEAR, got, NULL);
        if (outcome == PELT_OK)
            add_distances(&d, &e);
    }
    *error = finish_distances(&d);
    px_free(context, wanted);
    px_free(context, got);
    px_free(context, moved);
    return outcome;
}
