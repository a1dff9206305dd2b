/* Simplification: see pelt/simplify.h. Classes → poses → mesh → quadrics → collapses → levels. */
#include "simplify/simplify.h"

#include <math.h>
#include <stddef.h>

#define FIELD(name) PELT_FIELD(pelt_simplify_desc, name)
static const pelt_option options[] = {
    {"ratio", 0, PELT_OPTION_REAL, FIELD(ratio), "0.5", 0, 1, NULL, "R",
     "triangles to keep, as a part of those there are"},
    {"error", 0, PELT_OPTION_REAL, FIELD(error), "0", 0, 1, NULL, "E",
     "go on while the surface moves by no more than this part of the model's size in any pose"},
    {"poses", 0, PELT_OPTION_UINT, FIELD(poses), "16", 1, PELT_SIMPLIFY_POSES_MAX, NULL, "N",
     "poses that stand for the motion, at most; 1: the rest pose alone"},
    {"keep-positions", 0, PELT_OPTION_FLAG, FIELD(keep_positions), NULL, 0, 0, NULL, NULL,
     "vertices that stay do not move"},
};

PX_DESC(simplify, options)

static pelt_result check(pelt_context *context, const pelt_model *model, const double *ratios, uint32_t level_count) {
    for (uint32_t n = 0; n < level_count; n++)
        if (!(ratios[n] >= 0 && ratios[n] <= (n ? ratios[n - 1] : 1)))
            return px_fail(context, PELT_ERROR_USAGE, "ratios must descend, from 1 at most to 0 at least");
    if (model->mesh.triangle_count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there are no triangles in it to simplify");
    if (model->mesh.triangle_count > UINT32_MAX / 3)
        return px_fail(context, PELT_ERROR_UNSUPPORTED, "there are more than %u triangles in it", UINT32_MAX / 3);
    return PELT_OK;
}

/* Welded vertices are one class unless their weights differ by more than this, as a sum of absolute differences. */
#define WEIGHT_TOLERANCE 0.01

static double weight_of(const pelt_skin *skin, uint32_t vertex, uint32_t bone) {
    size_t row = (size_t)vertex * skin->influence_count;
    double weight = 0;
    for (size_t n = row; n < row + skin->influence_count; n++)
        weight += skin->bones[n] == bone ? (double)skin->weights[n] : 0;
    return weight;
}

static bool same_weights(const void *user, uint32_t a, uint32_t b) {
    const pelt_skin *skin = user;
    double difference = 0;
    for (uint32_t k = 0; k < skin->influence_count; k++) {
        size_t at = (size_t)a * skin->influence_count + k;
        difference += fabs((double)skin->weights[at] - weight_of(skin, b, skin->bones[at]));
    }
    return difference <= WEIGHT_TOLERANCE / 2; /* both rows sum to 1: bones of b that a lacks differ by as much again */
}

static void add_quadrics(const px_simplify *s, float *positions) {
    size_t n = s->pose_count;
    for (uint32_t k = 0; k < s->pose_count; k++) {
        for (size_t e = 0; e < 3 * (size_t)s->classes.count; e++)
            positions[e] = s->places[e * n + k];
        px_quadrics_add(s, positions, NULL, s->weights[k], s->quadrics, s->pose_count, k);
    }
}

static pelt_result prepare(px_simplify *s) {
    PX_TRY(pelt_model_weld(s->context, s->model));
    PX_TRY(px_classes_refine(s->arena, s->model->mesh.vertex_count, &s->model->mesh.weld, same_weights, &s->model->skin,
                             &s->classes));
    PX_TRY(px_simplify_poses(s));
    PX_TRY(px_simplify_mesh(s));
    size_t count = s->classes.count;
    s->quadrics = px_arena_alloc(s->arena, px_mul_size(count, s->pose_count), PX_QUADRIC * sizeof *s->quadrics);
    s->moves = px_arena_alloc(s->arena, count, sizeof *s->moves);
    float *positions = PX_ALLOC(s->context, float, 3 * count);
    if (s->quadrics && s->moves && positions)
        add_quadrics(s, positions);
    px_free(s->context, positions);
    return s->quadrics && s->moves && positions ? PELT_OK : PELT_ERROR_MEMORY;
}

static void report_level(const px_simplify *s, const pelt_mesh *mesh, uint32_t wanted, pelt_simplify_report *report) {
    *report = (pelt_simplify_report){.triangles_before = s->model->mesh.triangle_count,
                                     .triangle_count = mesh->triangle_count,
                                     .vertices_before = s->model->mesh.vertex_count,
                                     .vertex_count = mesh->vertex_count,
                                     .wanted_count = wanted,
                                     .pose_count = s->pose_count,
                                     .harm = s->harm};
}

static uint32_t wanted_count(const px_simplify *s, double ratio) {
    return (uint32_t)llround(ratio * s->model->mesh.triangle_count);
}

/* A model that shares all data with the source, except what a level replaces. */
static pelt_result create_level(px_simplify *s, pelt_model **out) {
    PX_TRY(pelt_model_borrow(s->context, s->model, out));
    pelt_result result = px_simplify_build(s, *out);
    if (result == PELT_OK)
        return PELT_OK;
    pelt_model_destroy(*out);
    *out = NULL;
    return result;
}

/* ---- In place --------------------------------------------------------------------------------------------- */

static pelt_result simplify(px_simplify *s, pelt_simplify_report *report) {
    px_queue *queue;
    PX_TRY(prepare(s));
    PX_TRY(px_queue_create(s, &queue));
    uint32_t wanted = wanted_count(s, s->desc.ratio);
    pelt_model *built;
    PX_TRY(px_queue_run(queue, wanted));
    PX_TRY(create_level(s, &built));
    report_level(s, &built->mesh, wanted, report);
    px_model_adopt(s->model, built);
    return PELT_OK;
}

pelt_result pelt_simplify(pelt_context *context, pelt_model *model, const pelt_simplify_desc *desc,
                          pelt_simplify_report *report) {
    pelt_simplify_report own;
    report = report ? report : &own;
    *report = (pelt_simplify_report){0};
    PX_TAKE_DESC(context, simplify, desc, settings);
    px_simplify s = {.context = context, .model = model, .desc = settings};
    PX_TRY(check(context, model, &s.desc.ratio, 1));
    if (!(s.arena = px_arena_create(context)))
        return PELT_ERROR_MEMORY;
    px_operation operation = px_operation_begin(model);
    pelt_result result = px_operation_end(&operation, simplify(&s, report));
    px_arena_destroy(s.arena);
    return result;
}

/* ---- Levels ----------------------------------------------------------------------------------------------- */

static pelt_result make_levels(px_simplify *s, const double *ratios, uint32_t level_count, pelt_model **levels,
                               pelt_simplify_report *reports) {
    px_queue *queue;
    PX_TRY(prepare(s));
    PX_TRY(px_queue_create(s, &queue));
    for (uint32_t n = 0; n < level_count; n++) {
        uint32_t wanted = wanted_count(s, ratios[n]);
        PX_TRY(px_queue_run(queue, wanted));
        PX_TRY(create_level(s, &levels[n]));
        if (reports)
            report_level(s, &levels[n]->mesh, wanted, &reports[n]);
    }
    return PELT_OK;
}

pelt_result pelt_simplify_levels(pelt_context *context, pelt_model *model, const pelt_simplify_desc *desc,
                                 const double *ratios, uint32_t level_count, pelt_model **levels,
                                 pelt_simplify_report *reports) {
    memset(levels, 0, level_count * sizeof *levels);
    PX_TAKE_DESC(context, simplify, desc, settings);
    px_simplify s = {.context = context, .model = model, .desc = settings};
    PX_TRY(check(context, model, ratios, level_count));
    if (!(s.arena = px_arena_create(context)))
        return PELT_ERROR_MEMORY;
    px_arena_keep(model->memory);
    pelt_result result = make_levels(&s, ratios, level_count, levels, reports);
    px_arena_destroy(s.arena);
    for (uint32_t n = 0; n < level_count && result != PELT_OK; n++) {
        pelt_model_destroy(levels[n]);
        levels[n] = NULL;
    }
    return result;
}
