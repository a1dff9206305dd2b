/* Time of the kernels: morph targets against the bones that replace them. */
#include "sliders/plan.h"

#include <math.h>
#include <pelt/run.h>

#define ROUNDS        9u
#define ROUND_SECONDS 2e-3 /* a round repeats a kernel for at least so long */
#define BLOCK         256u /* vertices per call of the packed kernel: they stay in the cache */

typedef struct stopwatch {
    pelt_model *source, *result; /* borrowed, cut to the vertices that morphs may move */
    float *source_weights, *result_weights, *values;
    pelt_packed_morphs packed, kept;
    pelt_prepared_skin prepared;
    pelt_affine *globals, *palette;
    float *positions, *normals; /* [vertex][3] output */
} stopwatch;

typedef void pass(const stopwatch *w);

static void run_morphs(const stopwatch *w) {
    pelt_morph_run(&w->source->mesh, &w->source->morphs, w->source_weights, w->positions, w->normals, NULL);
}

static void run_packed(const stopwatch *w) {
    for (uint32_t first = 0; first < w->source->mesh.vertex_count; first += BLOCK) {
        uint32_t left = w->source->mesh.vertex_count - first, count = left < BLOCK ? left : BLOCK;
        pelt_morph_run_packed(&w->source->mesh, &w->packed, w->source_weights, first, count,
                              w->positions + 3 * (size_t)first, w->normals ? w->normals + 3 * (size_t)first : NULL);
    }
}

static void run_bones(const stopwatch *w) {
    const pelt_model *model = w->result;
    pelt_skeleton_globals(&model->skeleton, model->skeleton.rest, w->globals);
    pelt_slider_globals(&model->sliders, w->values, w->globals);
    pelt_skin_palette(&model->skin, w->globals, w->palette);
    pelt_prepared_job job = {.prepared = &w->prepared,
                             .group_count = PELT_NONE,
                             .palette = w->palette,
                             .out_positions = w->positions,
                             .out_normals = w->normals,
                             .morph_weights = w->result_weights};
    if (model->morphs.morph_count > 0)
        job.morphs = w->kept;
    pelt_prepared_run(&job);
}

/* Seconds of one pass, averaged over a round. */
static double time_round(pass *run, const stopwatch *w) {
    uint32_t count = 0;
    double start = px_seconds(), now;
    do {
        run(w);
        count++;
        now = px_seconds();
    } while (now - start < ROUND_SECONDS);
    return (now - start) / count;
}

/* Cuts a borrowed model to vertices [first, first + count). */
static pelt_result cut(pelt_model *model, uint32_t first, uint32_t count) {
    pelt_mesh *mesh = &model->mesh;
    pelt_morph *morphs = PX_NEW(model->memory, pelt_morph, model->morphs.morph_count);
    if (!morphs)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < model->morphs.morph_count; m++) {
        morphs[m] = model->morphs.morphs[m];
        morphs[m].first_vertex -= first;
    }
    model->morphs.morphs = morphs;
    mesh->vertex_count = count;
    mesh->positions += 3 * (size_t)first;
    mesh->normals = mesh->normals ? mesh->normals + 3 * (size_t)first : NULL;
    mesh->tangents = NULL;
    mesh->triangle_count = mesh->part_count = 0;
    mesh->points = mesh->weld = (pelt_vertex_classes){0};
    model->skin.bones += (size_t)first * model->skin.influence_count;
    model->skin.weights += (size_t)first * model->skin.influence_count;
    return PELT_OK;
}

static pelt_result prepare(stopwatch *w, pelt_context *context, px_arena *arena, pelt_sliders_cost *cost) {
    const pelt_morph_set *morphs = &w->source->morphs;
    uint32_t first = UINT32_MAX, end = 0;
    for (uint32_t m = 0; m < morphs->morph_count; m++) {
        uint32_t last = morphs->morphs[m].first_vertex + morphs->morphs[m].vertex_count;
        first = morphs->morphs[m].first_vertex < first ? morphs->morphs[m].first_vertex : first;
        end = last > end ? last : end;
    }
    if (end <= first)
        return px_fail(context, PELT_ERROR_INPUT, "the source has no morph targets");
    cost->vertex_count = end - first;
    PX_TRY(cut(w->source, first, end - first));
    PX_TRY(cut(w->result, first, end - first));
    bool normals = w->source->mesh.normals && w->result->mesh.normals;
    w->source_weights = PX_NEW(arena, float, morphs->morph_count);
    w->result_weights = PX_NEW(arena, float, w->result->morphs.morph_count);
    w->values = PX_NEW(arena, float, w->result->sliders.slider_count);
    w->globals = PX_NEW(arena, pelt_affine, w->result->skeleton.joint_count);
    w->palette = PX_NEW(arena, pelt_affine, w->result->skin.bone_count);
    w->positions = PX_NEW(arena, float, 3 * (size_t)cost->vertex_count);
    w->normals = normals ? PX_NEW(arena, float, 3 * (size_t)cost->vertex_count) : NULL;
    if (!w->source_weights || !w->result_weights || !w->values || !w->globals || !w->palette || !w->positions ||
        (normals && !w->normals))
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < morphs->morph_count; m++)
        w->source_weights[m] = 0.5f;
    for (uint32_t m = 0; m < w->result->morphs.morph_count; m++)
        w->result_weights[m] = 0.5f;
    for (uint32_t s = 0; s < w->result->sliders.slider_count; s++)
        w->values[s] = 0.5f;
    PX_TRY(pelt_morph_pack(context, w->source, &w->packed));
    PX_TRY(pelt_skin_prepare(context, w->result, &w->prepared));
    return pelt_morph_pack_prepared(context, w->result, &w->prepared, &w->kept);
}

pelt_result pelt_sliders_time(pelt_context *context, const pelt_model *source, const pelt_model *result,
                              pelt_sliders_cost *cost) {
    *cost = (pelt_sliders_cost){0};
    if (source->mesh.vertex_count != result->mesh.vertex_count || result->skin.bone_count == 0 ||
        source->skin.bone_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "the models must have the same mesh, and both a skin");
    stopwatch w = {0};
    px_arena *arena = px_arena_create(context);
    pelt_result outcome = arena ? pelt_model_borrow(context, source, &w.source) : PELT_ERROR_MEMORY;
    if (outcome == PELT_OK)
        outcome = pelt_model_borrow(context, result, &w.result);
    if (outcome == PELT_OK)
        outcome = prepare(&w, context, arena, cost);
    double least[3] = {INFINITY, INFINITY, INFINITY};
    static pass *const passes[] = {run_morphs, run_packed, run_bones};
    for (uint32_t round = 0; outcome == PELT_OK && round < ROUNDS; round++)
        for (size_t p = 0; p < PX_COUNT(passes); p++)
            least[p] = px_fmin(least[p], time_round(passes[p], &w));
    if (outcome == PELT_OK) {
        cost->morph_seconds = least[0];
        cost->packed_seconds = least[1];
        cost->bone_seconds = least[2];
    }
    pelt_model_destroy(w.source);
    pelt_model_destroy(w.result);
    px_arena_destroy(arena);
    return outcome;
}
