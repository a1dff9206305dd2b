/* The driver: gather, seed, then transforms and vertices in turn, stepping ahead where that pays, until little changes.
 *
 * Alternating steps converge slowly along valleys. Before each iteration rest positions and weights are therefore
 * carried on by `ahead` times their last change; when the objective then rises, the iteration is taken back and done
 * plainly. The accepted objectives never rise.
 */
#include "decompose/build.h"
#include "decompose/gather.h"
#include <pelt/measure.h>

#include <math.h>
#include <time.h>

static const pelt_option options[] = {
    {"bones", 'b', PELT_OPTION_UINT, offsetof(pelt_decompose_desc, bones), "0", 0, 4000, NULL, "P",
     "number of bones; 0: by --error, or by itself"},
    {"error", 0, PELT_OPTION_REAL, offsetof(pelt_decompose_desc, error), "0", 0, 1e6, NULL, "E",
     "reach this E_rms with as few bones as possible"},
    {"influences", 'k', PELT_OPTION_UINT, offsetof(pelt_decompose_desc, influences), "4", 1, 8, NULL, "K",
     "bones per vertex at most"},
    {"transforms", 't', PELT_OPTION_CHOICE, offsetof(pelt_decompose_desc, transforms), "affine", 0, 0,
     "affine|trs|rigid", NULL, "what a bone can do"},
    {"iterations", 0, PELT_OPTION_UINT, offsetof(pelt_decompose_desc, iterations), "60", 1, 100000, NULL, "N",
     "iterations at most"},
    {"tolerance", 0, PELT_OPTION_REAL, offsetof(pelt_decompose_desc, tolerance), "0.005", 0, 1, NULL, "X",
     "stop when ten iterations lower the error by less than this fraction"},
    {"epsilon", 0, PELT_OPTION_REAL, offsetof(pelt_decompose_desc, epsilon), "0", 0, 1e6, NULL, "E",
     "E_rms that the reduction may lose; 0: by itself"},
    {"reduce", 0, PELT_OPTION_CHOICE, offsetof(pelt_decompose_desc, reduce), "svd", 0, 0,
     "svd|max|gram-schmidt|power1|power2", NULL, "how the animation is reduced to a subspace"},
    {"memory", 0, PELT_OPTION_SIZE, offsetof(pelt_decompose_desc, memory), "0", 0, 0, NULL, "SIZE",
     "memory that the work may take beside the model; 0: no bound"},
    {"fixed-rest", 0, PELT_OPTION_FLAG, offsetof(pelt_decompose_desc, fixed_rest), NULL, 0, 0, NULL, NULL,
     "keep the rest pose as it is"},
};

const pelt_option *pelt_decompose_options(size_t *option_count) {
    *option_count = PX_COUNT(options);
    return options;
}

pelt_decompose_desc pelt_decompose_desc_default(void) {
    pelt_decompose_desc desc;
    pelt_options_default(options, PX_COUNT(options), &desc);
    return desc;
}

/* ---- States ----------------------------------------------------------------------------------------------- */

static pelt_result make_state(px_fit *fit, px_fit_state *s) {
    size_t N = fit->vertex_count, K = fit->influence_count, n = 4 * (size_t)fit->bone_capacity;
    s->rest = PX_NEW(fit->arena, double, 3 * N);
    s->weights = PX_NEW(fit->arena, double, N *K);
    s->bones = PX_NEW(fit->arena, uint16_t, N * K);
    s->counts = PX_NEW(fit->arena, uint8_t, N);
    s->reduced = PX_NEW(fit->arena, double, px_mul_size(n, fit->row_count)); /* the dimension is not known yet */
    bool full = fit->kind != PELT_TRANSFORMS_AFFINE;
    s->full = full ? PX_NEW(fit->arena, double, px_mul_size(n, fit->row_count)) : NULL;
    bool axes = fit->kind == PELT_TRANSFORMS_TRS;
    s->axes = axes ? PX_NEW(fit->arena, double, (size_t)9 * fit->bone_capacity) : NULL;
    bool ready = s->rest && s->weights && s->bones && s->counts && s->reduced;
    return ready && (!full || s->full) && (!axes || s->axes) ? PELT_OK : PELT_ERROR_MEMORY;
}

static void copy_state(const px_fit *fit, const px_fit_state *from, px_fit_state *to) {
    size_t N = fit->vertex_count, K = fit->influence_count, n = 4 * (size_t)fit->bone_count;
    memcpy(to->rest, from->rest, 3 * N * sizeof *to->rest);
    memcpy(to->weights, from->weights, N * K * sizeof *to->weights);
    memcpy(to->bones, from->bones, N * K * sizeof *to->bones);
    memcpy(to->counts, from->counts, N * sizeof *to->counts);
    memcpy(to->reduced, from->reduced, n * fit->dimension * sizeof *to->reduced);
    if (from->full)
        memcpy(to->full, from->full, n * fit->row_count * sizeof *to->full);
    if (from->axes)
        memcpy(to->axes, from->axes, 9 * (size_t)fit->bone_count * sizeof *to->axes);
    to->objective = from->objective;
}

static void swap_states(px_fit *fit) {
    px_fit_state s = fit->now;
    fit->now = fit->before;
    fit->before = s;
}

static pelt_result make_moments(px_fit *fit) {
    size_t n = 4 * (size_t)fit->bone_capacity, d = fit->dimension,
           blocks = px_block_count(fit->vertex_count, px_fit_block(fit));
    fit->residuals = PX_NEW(fit->arena, double, fit->vertex_count);
    fit->scatter = PX_NEW(fit->arena, double, n *n);
    fit->cross = PX_NEW(fit->arena, double, n *d);
    fit->gram = PX_NEW(fit->arena, double, n *n);
    fit->pairs = PX_NEW(fit->arena, double, (size_t)10 * fit->bone_capacity * fit->bone_capacity);
    fit->slots = PX_NEW(fit->arena, double, px_mul_size(blocks, n * (n + d)));
    fit->block_objective = PX_NEW(fit->arena, double, blocks);
    return fit->residuals && fit->scatter && fit->cross && fit->gram && fit->pairs && fit->slots && fit->block_objective
               ? PELT_OK
               : PELT_ERROR_MEMORY;
}

/* ---- Iterations ------------------------------------------------------------------------------------------- */

/* Carries rest positions on, and weights where the bones are the same, by `ahead` times their change since `before`;
 * then `before` becomes what was. */
static void step_ahead(px_fit *fit, double ahead) {
    size_t N = fit->vertex_count, K = fit->influence_count;
    px_fit_state *now = &fit->now, *old = &fit->before;
    for (size_t e = 0; e < 3 * N; e++) {
        double value = now->rest[e];
        now->rest[e] += ahead * (value - old->rest[e]);
        old->rest[e] = value;
    }
    for (size_t i = 0; i < N; i++) {
        double *w = now->weights + i * K, *old_w = old->weights + i * K, sum = 0;
        bool same = now->counts[i] == old->counts[i] &&
                    memcmp(now->bones + i * K, old->bones + i * K, now->counts[i] * sizeof *now->bones) == 0;
        for (size_t a = 0; a < now->counts[i]; a++) {
            double value = w[a];
            if (same)
                w[a] = fmax(value + ahead * (value - old_w[a]), 0);
            old_w[a] = value;
            sum += w[a];
        }
        for (size_t a = 0; a < now->counts[i]; a++)
            w[a] /= sum;
        memcpy(old->bones + i * K, now->bones + i * K, K * sizeof *now->bones);
        old->counts[i] = now->counts[i];
    }
    size_t n = 4 * (size_t)fit->bone_count;
    memcpy(old->reduced, now->reduced, n * fit->dimension * sizeof *now->reduced);
    if (now->full)
        memcpy(old->full, now->full, n * fit->row_count * sizeof *now->full);
    if (now->axes)
        memcpy(old->axes, now->axes, 9 * (size_t)fit->bone_count * sizeof *now->axes);
    old->objective = now->objective;
}

static pelt_result iterate(px_fit *fit) {
    PX_TRY(px_fit_moments(fit));
    PX_TRY(px_fit_transforms(fit));
    px_fit_gram(fit);
    return px_fit_vertices(fit, true);
}

#define AHEAD_MAX 4.0

static pelt_result solve(px_fit *fit, const pelt_decompose_desc *desc, float *errors, uint32_t *iteration_count) {
    double ahead = 0;
    copy_state(fit, &fit->now, &fit->before);
    for (uint32_t n = 0; n < desc->iterations; n++) {
        PX_TRY(px_progress(fit->context, "solve", n, desc->iterations));
        step_ahead(fit, n < 4 ? 0 : ahead);
        PX_TRY(iterate(fit));
        bool worse = fit->now.objective > fit->before.objective;
        if (worse) {
            swap_states(fit); /* the weights kept there are those before stepping ahead */
            copy_state(fit, &fit->now, &fit->before);
        }
        ahead = worse ? ahead * 0.5 : fmin(fmax(ahead, 0.5) * 1.2, AHEAD_MAX);
        errors[n] = (float)px_fit_error(fit, fit->now.objective);
        *iteration_count = n + 1;
        if (n >= 10 && errors[n] > (float)((1 - desc->tolerance) * (double)errors[n - 10]))
            break;
    }
    return PELT_OK;
}

/* ---- The door --------------------------------------------------------------------------------------------- */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Which points stand for the welded vertices: the first of each, in ascending order. */
static pelt_result plan_points(px_fit *fit, const pelt_model *model, px_gathered *plan) {
    const pelt_mesh *mesh = &model->mesh;
    plan->point_count = mesh->point_count;
    plan->points = PX_NEW(fit->arena, uint32_t, mesh->weld_count);
    uint8_t *taken = PX_ALLOC(fit->context, uint8_t, mesh->weld_count);
    uint32_t *vertex_of = PX_ALLOC(fit->context, uint32_t, mesh->point_count);
    bool ready = plan->points && taken && vertex_of;
    for (uint32_t i = mesh->vertex_count; ready && i-- > 0;)
        vertex_of[mesh->vertex_points ? mesh->vertex_points[i] : i] = i;
    uint32_t count = 0;
    for (uint32_t p = 0; ready && p < mesh->point_count; p++) {
        uint32_t weld = mesh->weld[vertex_of[p]];
        if (!taken[weld])
            plan->points[count++] = p;
        taken[weld] = 1;
    }
    fit->vertex_count = count;
    px_free(fit->context, vertex_of);
    px_free(fit->context, taken);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result plan_space(px_fit *fit, const pelt_model *model, px_gathered *plan) {
    const pelt_clip *clip = &model->clips[0];
    float *frame = PX_ALLOC(fit->context, float, 3 * (size_t)clip->point_count);
    pelt_ball ball = {.radius = 0};
    pelt_result result = frame ? pelt_clip_read(fit->context, clip, 0, 0, clip->point_count, frame) : PELT_ERROR_MEMORY;
    for (size_t e = 0; result == PELT_OK && e < 3 * (size_t)clip->point_count; e++)
        if (!isfinite(frame[e]))
            result = px_fail(fit->context, PELT_ERROR_INPUT,
                             "clip '%s', frame 0, vertex %zu: the position is not finite", clip->name, e / 3);
    if (result == PELT_OK)
        result = pelt_enclosing_ball(fit->context, frame, clip->point_count, &ball);
    memcpy(plan->center, ball.center, sizeof plan->center);
    plan->radius = ball.radius > 0 ? ball.radius : 1;
    px_free(fit->context, frame);
    return result;
}

static pelt_result check_input(pelt_context *context, const pelt_model *model, uint32_t *frame_count) {
    uint64_t frames = 0;
    for (uint32_t c = 0; c < model->clip_count; c++)
        frames += model->clips[c].frame_count;
    if (model->mesh.vertex_count == 0 || frames == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there is no vertex animation to decompose");
    if (frames > 100000)
        return px_fail(context, PELT_ERROR_INPUT, "%llu frames are more than can be decomposed at once (100,000)",
                       (unsigned long long)frames);
    *frame_count = (uint32_t)frames;
    return PELT_OK;
}

static pelt_result run(px_fit *fit, pelt_model *model, const pelt_decompose_desc *desc, pelt_decompose_report *report) {
    px_gathered plan = {0};
    PX_TRY(plan_points(fit, model, &plan));
    PX_TRY(plan_space(fit, model, &plan));
    fit->bone_capacity = desc->bones < fit->vertex_count ? desc->bones : fit->vertex_count;
    PX_TRY(make_state(fit, &fit->now));
    PX_TRY(make_state(fit, &fit->before));
    double t0 = seconds_now();
    PX_TRY(px_fit_gather(fit, model, &plan, desc));
    PX_TRY(make_moments(fit));
    double t1 = seconds_now();
    PX_TRY(px_fit_seed(fit));
    PX_TRY(px_fit_vertices(fit, false));
    double t2 = seconds_now();
    float *errors = PX_NEW(model->memory, float, desc->iterations);
    if (!errors)
        return PELT_ERROR_MEMORY;
    PX_TRY(solve(fit, desc, errors, &report->iteration_count));
    double t3 = seconds_now();
    report->vertex_count = fit->vertex_count;
    report->bone_count = fit->bone_count;
    report->influence_count = fit->influence_count;
    report->dimension = fit->dimension;
    report->error_fit = px_fit_error(fit, fit->now.objective);
    report->seconds_reduce = t1 - t0;
    report->seconds_seed = t2 - t1;
    report->seconds_solve = t3 - t2;
    report->iteration_errors = errors;
    return px_fit_build(fit, &plan, model);
}

pelt_result pelt_decompose(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                           pelt_decompose_report *report) {
    pelt_decompose_desc settings = desc ? *desc : pelt_decompose_desc_default();
    pelt_decompose_report unused;
    if (!report)
        report = &unused;
    *report = (pelt_decompose_report){0};
    PX_TRY(check_input(context, model, &report->frame_count));
    PX_TRY(pelt_model_weld(context, model));
    px_fit fit = {.context = context, .arena = px_arena_create(context), .kind = (pelt_transforms)settings.transforms};
    if (!fit.arena)
        return PELT_ERROR_MEMORY;
    fit.row_count = 3 * report->frame_count;
    fit.influence_count = settings.influences;
    fit.fixed_rest = settings.fixed_rest;
    if (!settings.bones)
        settings.bones = 30;
    pelt_result result = run(&fit, model, &settings, report);
    px_arena_destroy(fit.arena);
    return result;
}
