/* The decomposer: reads and reduces the clips, runs a decomposition method, builds the model. */
#include "core/ball.h"
#include "core/classes.h"
#include "core/skin_parts.h"
#include "decompose/build.h"
#include "decompose/decomposer.h"
#include "decompose/divide.h"
#include "decompose/kinds.h"
#include "decompose/neighbours.h"

#include <math.h>

#define CHOICE(name) "|" #name /* the first bar is skipped below */
static const pelt_option options[] = {
    {"bones", 'b', PELT_OPTION_UINT, PELT_FIELD(pelt_decompose_desc, bones), "0", 0, 4000, NULL, "P",
     "number of bones; 0: the fewest that reach --error, or where the error curve flattens"},
    {"error", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_decompose_desc, error), "0", 0, 1e6, NULL, "E",
     "E_rms to reach with as few bones as possible"},
    {"influences", 'k', PELT_OPTION_UINT, PELT_FIELD(pelt_decompose_desc, influences), "4", 1, 8, NULL, "K",
     "bones per vertex at most"},
    {"transforms", 't', PELT_OPTION_CHOICE, PELT_FIELD(pelt_decompose_desc, transforms), "affine", 0, 0,
     &("" PX_BONE_KINDS(CHOICE))[1], NULL,
     "matrices of a bone: any; rotation and scale along fixed axes; rotation; rotation and one scale"},
    {"effort", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_decompose_desc, effort), "default", 0, 0, "fast|default|best",
     NULL,
     "fast: a third of the iterations; best: more starts, iterations and exchanges of bones, in up to ten times the "
     "time"},
    {"iterations", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_decompose_desc, iterations), "100", 0, 100000, NULL, "N",
     "iterations at most; 0: the initial segmentation, one bone per vertex"},
    {"tolerance", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_decompose_desc, tolerance), "0.003", 0, 1, NULL, "X",
     "stop when ten iterations lower the error by less than this fraction"},
    {"epsilon", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_decompose_desc, epsilon), "0", 0, 1e6, NULL, "E",
     "E_rms that the reduction may lose; 0: negligible for this number of bones"},
    {"reduce", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_decompose_desc, reduce), "svd", 0, 0,
     "svd|max|gram-schmidt|power1|power2|max-plain", NULL, "how the animation is reduced to a subspace"},
    {"memory", 0, PELT_OPTION_SIZE, PELT_FIELD(pelt_decompose_desc, memory), "0", 0, 0, NULL, "SIZE",
     "memory to use at most beside the model; 0: no limit"},
    {"key-tolerance", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_decompose_desc, key_tolerance), "0.01", 0, 1, NULL, "X",
     "remove keys while the error rises by at most this fraction; 0: keep all"},
    {"seed-method", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_decompose_desc, seed_method), "split", 0, 0, "split|regions",
     NULL, "first bones: clusters split where their error is largest, or regions grown from distant seeds"},
    {"smooth", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_decompose_desc, smooth), "0", 0, 1000, NULL, "S",
     "smoothness of weights: a difference from the neighbours' costs like an E_rms of S"},
    {"fixed-rest", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_decompose_desc, fixed_rest), NULL, 0, 0, NULL, NULL,
     "keep the rest pose"},
    {"free-rest", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_decompose_desc, free_rest), NULL, 0, 0, NULL, NULL,
     "change the rest pose even where a rig would keep it"},
    {"free-bones", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_decompose_desc, free_bones), NULL, 0, 0, NULL, NULL,
     "affine bones may mirror thin surfaces: the least error, but engines shade those wrongly"},
    {"refine", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_decompose_desc, refine), NULL, 0, 0, NULL, NULL,
     "use what a rig gives as initial values only"},
    {"add", 0, PELT_OPTION_UINT, PELT_FIELD(pelt_decompose_desc, add), "0", 0, 1000, NULL, "N",
     "add this many helper bones to a rig and keep the rest of it"},
    {"lock-bones", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_decompose_desc, lock_bones), NULL, 0, 0, NULL, "NAMES",
     "bones of a rig that keep motion and weights, separated by commas"},
    {"lock-vertices", 0, PELT_OPTION_TEXT, PELT_FIELD(pelt_decompose_desc, lock_vertices), NULL, 0, 0, NULL, "PARTS",
     "parts or materials whose vertices keep their weights, separated by commas"},
    {"hierarchy", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_decompose_desc, hierarchy), NULL, 0, 0, NULL, NULL,
     "join rigid bones to a skeleton; default: all are children of one root"},
    {"published", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_decompose_desc, published), NULL, 0, 0, NULL, NULL,
     "only the steps of the method's paper, without extensions"},
    {"method", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_decompose_desc, method), "fesam", 0, 0,
     &("" PX_DECOMPOSE_METHODS(CHOICE))[1], NULL,
     "iterations from seeds, or clusters of triangles with similar rotations"},
    {"rotation-tolerance", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_decompose_desc, rotation_tolerance), "0.05", 1e-4, 1,
     NULL, "X", "sma: difference of rotations within a bone; larger: fewer bones"},
    {"weight-solver", 0, PELT_OPTION_CHOICE, PELT_FIELD(pelt_decompose_desc, weight_solver), "nnls", 0, 0,
     "nnls|tsvd|bounded", NULL, "sma: non-negative weights, any weights, or at least --min-weight"},
    {"min-weight", 0, PELT_OPTION_REAL, PELT_FIELD(pelt_decompose_desc, min_weight), "-0.1", -1000, 0, NULL, "W",
     "sma: lower bound of --weight-solver bounded"},
    {"color-clusters", 0, PELT_OPTION_FLAG, PELT_FIELD(pelt_decompose_desc, color_clusters), NULL, 0, 0, NULL, NULL,
     "sma: vertex colours show the triangles that belong to each bone, outliers in black"},
};

/* Kavan, Sloan, O'Sullivan 2010, §3 to §5; James, Twigg 2005, §4 and §5 with their recommended weights. */
static const pelt_preset_value presets[] = {
    {"fesam2010", "method", "fesam"},
    {"fesam2010", "published", NULL},
    {"fesam2010", "reduce", "max"},
    {"fesam2010", "epsilon", "0.5"},
    {"fesam2010", "iterations", "15"},
    {"fesam2010", "tolerance", "0"},
    {"fesam2010", "seed-method", "regions"},
    {"fesam2010", "influences", "4"},
    {"sma2005", "method", "sma"},
    {"sma2005", "published", NULL},
    {"sma2005", "influences", "4"},
    {"sma2005", "weight-solver", "nnls"},
    {"sma2005", "rotation-tolerance", "0.05"},
};

PX_DESC_PRESETS(decompose, options, presets)

#define ENTRY(name) &px_method_##name,
static const px_decompose_method *const methods[] = {PX_DECOMPOSE_METHODS(ENTRY)};

/* ---- Input -------------------------------------------------------------------------------------------------- */

/* Whether the processes of a group divide the vertices. What is not divided is done by every process, with the same result: rigs, method sma,
 * regions and smoothing follow neighbours; reductions other than svd hold all frames. */
static bool can_divide(const px_fit *fit, const pelt_decompose_desc *desc) {
    return px_grouped(fit->context) && desc->method == PELT_DECOMPOSE_FESAM && !desc->rig && desc->smooth == 0 &&
           desc->seed_method != PELT_SEED_REGIONS && desc->reduce == PELT_REDUCE_SVD;
}

/* Sets plan->classes and plan->points. */
static pelt_result plan_classes(px_fit *fit, const pelt_mesh *mesh, const pelt_decompose_desc *desc,
                                px_gathered *plan) {
    plan->points = PX_NEW(fit->arena, uint32_t, mesh->weld.count);
    uint32_t *of = PX_NEW(fit->arena, uint32_t, mesh->vertex_count);
    uint32_t *numbers = PX_ALLOC(fit->context, uint32_t, mesh->weld.count); /* [class of the weld] its number here */
    bool ready = plan->points && of && numbers;
    if (ready)
        memset(numbers, 0xFF, mesh->weld.count * sizeof *numbers);
    uint32_t count = 0;
    for (uint32_t p = 0; ready && p < mesh->points.count; p++) {
        uint32_t *number = &numbers[pelt_vertex_class(&mesh->weld, pelt_class_vertex(&mesh->points, p))];
        if (*number == PELT_NONE) {
            *number = count;
            plan->points[count++] = p;
        }
    }
    for (uint32_t i = 0; ready && i < mesh->vertex_count; i++)
        of[i] = numbers[pelt_vertex_class(&mesh->weld, i)];
    px_free(fit->context, numbers);
    if (!ready)
        return PELT_ERROR_MEMORY;
    px_fit_divide(fit, count, can_divide(fit, desc) && count > fit->row_count);
    return px_classes_make(fit->arena, mesh->vertex_count, count, of, &plan->classes);
}

/* Normalisation by an enclosing sphere. Where px_clip_ball rejects the first frame as too small, the frame chosen in
 * its place is the default rest pose too. */
static pelt_result plan_space(pelt_decomposer *d) {
    pelt_ball ball;
    uint32_t frame;
    PX_TRY(px_clip_ball_shared(d->fit.context, &d->model->clips[0], &ball, &frame));
    memcpy(d->plan.center, ball.center, sizeof d->plan.center);
    d->plan.radius = ball.radius;
    if (d->desc.rest_frame == 0)
        d->desc.rest_frame = frame;
    d->plan.rest_row = 3 * (size_t)d->desc.rest_frame;
    return PELT_OK;
}

static pelt_result check_input(pelt_context *context, const pelt_model *model, uint32_t rest_frame,
                               uint32_t *frame_count) {
    uint64_t frames = 0;
    for (uint32_t c = 0; c < model->clip_count; c++)
        frames += model->clips[c].frame_count;
    if (model->mesh.vertex_count == 0 || frames == 0)
        return px_fail(context, PELT_ERROR_INPUT, "there is no vertex animation to decompose");
    if (frames > 100000)
        return px_fail(context, PELT_ERROR_INPUT, "%llu frames are more than can be decomposed at once (100,000)",
                       (unsigned long long)frames);
    if (rest_frame >= frames)
        return px_fail(context, PELT_ERROR_USAGE, "frame %u is to be the rest pose, but there are %u", rest_frame,
                       (uint32_t)frames);
    *frame_count = (uint32_t)frames;
    return PELT_OK;
}

/* ---- Decomposer --------------------------------------------------------------------------------------------- */

#define CHECKPOINT_EVERY 10u /* iterations, unless the settings say */

/* Copies the current rest pose as the target of the penalty on rest positions (pulls.h). */
static pelt_result keep_home(px_fit *fit) {
    if (fit->fixed_rest)
        return PELT_OK;
    size_t count = 3 * (size_t)fit->vertex_count;
    double *home = PX_NEW(fit->arena, double, count);
    if (!home)
        return PELT_ERROR_MEMORY;
    memcpy(home, fit->now.rest, count * sizeof *home);
    fit->home = home;
    return PELT_OK;
}

/* Reduces the clips, or loads what an earlier run found. */
static pelt_result reduce_clips(pelt_decomposer *d, bool *loaded) {
    px_fit *fit = &d->fit;
    *loaded = false;
    if (d->checkpoint)
        PX_TRY(px_checkpoint_load_reduced(d->checkpoint, fit, loaded));
    if (*loaded)
        return keep_home(fit);
    const pelt_clip *clips = d->model->clips;
    PX_TRY(px_given_unmorph(&d->given, fit, d->model, &clips));
    PX_TRY(px_fit_gather(fit, clips, &d->plan, &d->desc));
    PX_TRY(px_given_reduce(&d->given, fit, &d->plan, d->model, &d->desc));
    PX_TRY(keep_home(fit));
    return d->checkpoint ? px_checkpoint_save_reduced(d->checkpoint, fit) : PELT_OK;
}

/* Finds the first bones, or loads the state of an earlier run. */
static pelt_result start_bones(pelt_decomposer *d, bool reduced) {
    if (reduced)
        PX_TRY(px_checkpoint_load(d, &d->resumed));
    if (d->resumed)
        return PELT_OK;
    PX_TRY(d->method->start(d));
    return d->checkpoint ? px_checkpoint_save(d) : PELT_OK;
}

static pelt_result gather_and_seed(pelt_decomposer *d) {
    px_fit *fit = &d->fit;
    PX_TRY(plan_classes(fit, &d->model->mesh, &d->desc, &d->plan));
    PX_TRY(plan_space(d));
    double begin = px_seconds();
    uint32_t wanted = d->desc.bones;
    if (d->method->count_bones && !d->desc.rig)
        PX_TRY(d->method->count_bones(d, &wanted));
    fit->bone_target = wanted < fit->total_count ? wanted : fit->total_count;
    fit->bone_capacity = fit->bone_target + (d->method->extra_bones ? d->method->extra_bones(d) : 0);
    PX_TRY(px_given_plan(&d->given, fit, &d->plan, d->model, &d->desc));
    PX_TRY(px_fit_state_make(fit, &fit->now));
    PX_TRY(px_fit_state_make(fit, &fit->before));
    PX_TRY(px_fit_state_make(fit, &d->spare));
    if (!(d->errors = PX_NEW(fit->arena, float, d->desc.iterations + (size_t)1)))
        return PELT_ERROR_MEMORY;
    double start = px_seconds();
    bool reduced;
    PX_TRY(reduce_clips(d, &reduced));
    PX_TRY(px_fit_make_moments(fit));
    d->report.seconds_reduce = px_seconds() - start;
    if (d->desc.smooth > 0 || d->desc.seed_method == PELT_SEED_REGIONS)
        PX_TRY(px_neighbours_make(fit->arena, &d->model->mesh, &d->plan.classes, &d->neighbours));
    d->report.basis_error = fit->basis_error;
    PX_TRY(start_bones(d, reduced));
    d->report.seconds_seed = px_seconds() - begin - d->report.seconds_reduce - d->report.seconds_solve;
    return PELT_OK;
}

pelt_result pelt_decomposer_create(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                   pelt_decomposer **out) {
    return px_decomposer_create(context, model, desc, (px_shared){0}, out);
}

pelt_result px_decomposer_create(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                 px_shared shared, pelt_decomposer **out) {
    *out = NULL;
    PX_TAKE_DESC(context, decompose, desc, settings);
    const px_decompose_method *method = methods[settings.method];
    const px_bone_kind *kind = px_bone_kind_at(settings.transforms);
    uint32_t frame_count = 0;
    if (settings.hierarchy && !kind->joins)
        return px_fail(context, PELT_ERROR_USAGE, "only rigid bones can be joined into a hierarchy");
    if (method->count_bones && (settings.bones > 0 || settings.error > 0))
        return px_fail(context, PELT_ERROR_USAGE,
                       "the method %s finds the number of bones by itself: set %s, not bones or error", method->name,
                       method->count_setting);
    bool weights_only = settings.given_motion && !settings.given_weights && !settings.refine && settings.add == 0 &&
                        !settings.lock_bones && !settings.lock_vertices;
    if (method->count_bones && settings.rig && !weights_only)
        return px_fail(context, PELT_ERROR_USAGE,
                       "the method %s solves for weights only if a rig gives the bones; the default one does more",
                       method->name);
    PX_TRY(check_input(context, model, settings.rest_frame, &frame_count));
    if (settings.bones == 0 && !settings.rig && !method->count_bones)
        return px_search_bones(context, model, &settings, out);
    px_arena *arena = px_arena_create(context);
    pelt_decomposer *d = arena ? PX_NEW(arena, pelt_decomposer, 1) : NULL;
    if (!d) {
        px_arena_destroy(arena);
        return PELT_ERROR_MEMORY;
    }
    px_arena_keep(model->memory);
    d->desc = settings;
    if (settings.effort == PELT_EFFORT_FAST)
        d->desc.iterations = (settings.iterations + 2) / 3;
    if (settings.effort == PELT_EFFORT_BEST) {
        d->desc.iterations = PX_BEST_ITERATIONS(kind) * settings.iterations;
        d->desc.tolerance = PX_BEST_TOLERANCE * settings.tolerance;
    }
    d->cache = settings.rig || settings.memory > 0 ? NULL : settings.cache;
    d->plan.cache = shared.cache || !d->cache ? shared.cache : &d->cache->reduction;
    d->checkpoint = shared.checkpoint;
    d->method = method;
    if ((d->desc.rig || method->count_bones) && !(d->desc.epsilon > 0))
        d->desc.epsilon = 1e-3; /* a rig may fit exactly, and rigid bones do not lie in the subspace: lose little */
    d->model = d->target = model;
    d->fit = (px_fit){.context = context, .arena = arena, .kind = kind};
    d->fit.row_count = 3 * frame_count;
    d->fit.influence_count = d->desc.influences;
    d->fit.published = d->desc.published;
    d->fit.fixed_rest = d->desc.fixed_rest || method->keeps_rest;
    d->solver.fit = &d->fit;
    d->report.frame_count = frame_count;
    pelt_result result = PELT_OK;
    if (settings.rig == model && settings.add > 0) { /* helper bones may influence vertices of all parts */
        d->model = NULL;
        result = pelt_model_borrow(context, model, &d->model);
        d->desc.rig = d->model;
        if (result == PELT_OK)
            result = px_skin_join_parts(d->model);
    }
    if (result == PELT_OK)
        result = pelt_model_weld(context, d->model);
    if (result == PELT_OK && settings.checkpoint && !d->checkpoint) {
        d->checkpoint = PX_NEW(arena, px_checkpoint, 1);
        result = d->checkpoint ? px_checkpoint_open(context, d->model, &settings, d->checkpoint) : PELT_ERROR_MEMORY;
    }
    if (result == PELT_OK)
        result = gather_and_seed(d);
    if (result == PELT_OK)
        *out = d;
    else
        pelt_decomposer_destroy(d);
    return px_group_end(context, result);
}

void pelt_decomposer_destroy(pelt_decomposer *d) {
    if (!d)
        return;
    if (d->model != d->target)
        pelt_model_destroy(d->model);
    px_arena_destroy(d->fit.arena);
}

double pelt_decomposer_error(const pelt_decomposer *d) {
    return px_fit_error(&d->fit, d->fit.now.objective);
}

/* After a solution on a sample of the vertices, all of them need few iterations. With half as many the error is 0.4 % and the largest
 * error 3 % higher, with 1.5 times as many 0.2 % and 2 % lower, for 1 % of the time. */
#define SAMPLED_SHARE 6u

pelt_result pelt_decomposer_step(pelt_decomposer *d, bool *done) {
    uint32_t n = d->report.iteration_count, most = d->desc.iterations;
    if (d->coarse)
        most = (uint32_t)px_max_size(most / SAMPLED_SHARE, 1);
    bool ended = d->resumed && d->done;
    d->resumed = false;
    *done = true;
    if (d->searched || ended || n >= most || !d->method->step)
        return PELT_OK;
    double start = px_seconds();
    pelt_result result = px_progress(d->fit.context, "solve", n, most);
    if (result == PELT_OK)
        result = d->method->step(d);
    PX_TRY(px_group_end(d->fit.context, result));
    d->errors[n] = (float)pelt_decomposer_error(d);
    d->report.iteration_count = n + 1;
    d->report.seconds_solve += px_seconds() - start;
    /* Effort best: at least the usual number of iterations, among them some of its exchanges of bones. */
    uint32_t least = d->desc.effort == PELT_EFFORT_BEST ? d->desc.iterations / PX_BEST_ITERATIONS(d->fit.kind) : 0;
    bool settled = n >= 10 && n >= least && d->desc.tolerance > 0 &&
                   d->errors[n] > (float)((1 - d->desc.tolerance) * (double)d->errors[n - 10]);
    *done = d->done = settled || n + 1 >= most || (double)d->errors[n] < PX_FIT_EXACT;
    uint32_t every = d->desc.checkpoint_every ? d->desc.checkpoint_every : CHECKPOINT_EVERY;
    if (d->checkpoint && (*done || (n + 1) % every == 0))
        result = px_group_end(d->fit.context, px_checkpoint_save(d));
    return result;
}

pelt_result px_decomposer_settle(pelt_decomposer *d) {
    if (d->settled)
        return PELT_OK;
    d->settled = true;
    return d->method->settle && !d->desc.published && d->desc.iterations > 0 ? d->method->settle(d) : PELT_OK;
}

/* ---- Cache -------------------------------------------------------------------------------------------------- */

pelt_result pelt_decompose_cache_create(pelt_context *context, pelt_decompose_cache **cache) {
    *cache = PX_ALLOC(context, pelt_decompose_cache, 1);
    if (!*cache)
        return PELT_ERROR_MEMORY;
    (*cache)->context = context;
    return PELT_OK;
}

void pelt_decompose_cache_destroy(pelt_decompose_cache *cache) {
    if (!cache)
        return;
    px_reduction_cache_free(cache->context, &cache->reduction);
    px_arena_destroy(cache->memory);
    px_free(cache->context, cache);
}

/* ---- Result ------------------------------------------------------------------------------------------------- */

/* Copies an array into the model's memory. */
static const void *keep(pelt_model *model, const void *data, size_t count, size_t size) {
    void *copy = px_arena_alloc_lasting(model->memory, count, size);
    return copy && count > 0 ? memcpy(copy, data, count * size) : copy;
}

static pelt_result finish(pelt_decomposer *d, pelt_decompose_report *report) {
    PX_TRY(px_decomposer_settle(d));
    pelt_decompose_report r = d->report;
    r.vertex_count = d->fit.total_count;
    r.bone_count = d->fit.bone_count;
    r.influence_count = d->fit.influence_count;
    r.dimension = d->fit.dimension;
    r.error_fit = pelt_decomposer_error(d);
    r.iteration_errors = keep(d->target, d->errors, r.iteration_count, sizeof(float));
    r.search_bones = keep(d->target, r.search_bones, r.search_count, sizeof(uint32_t));
    r.search_errors = keep(d->target, r.search_errors, r.search_count, sizeof(float));
    uint32_t *motions = PX_NEW_LASTING(d->target->memory, uint32_t, d->model->clip_count);
    float *colors = NULL;
    if (d->desc.color_clusters && d->sma.bone_count > 0 &&
        !(colors = px_sma_colors(&d->sma, &d->fit, &d->plan.classes, d->model)))
        return PELT_ERROR_MEMORY;
    if (!r.iteration_errors || !r.search_bones || !r.search_errors || !motions)
        return PELT_ERROR_MEMORY;
    r.process_count = d->fit.leaves.divided ? pelt_group_size(d->fit.context) : 1;
    double sent = (double)d->sent;
    if (d->fit.leaves.divided)
        PX_TRY(pelt_group_sum(d->fit.context, &sent, 1));
    r.iteration_bytes = (uint64_t)sent;
    PX_TRY(px_fit_unite(&d->fit));
    PX_TRY(px_fit_build(&d->fit, &d->plan, &d->given, &d->desc, d->model));
    for (uint32_t c = 0; c < d->model->clip_count; c++) {
        uint32_t m = d->given.kept && d->given.motions ? d->given.motions[c] : c;
        motions[c] = m < d->model->motion_count ? m : PELT_NONE;
    }
    if (colors) {
        d->model->mesh.colors = colors;
        d->model->changed |= PELT_CHANGED_COLORS;
    }
    r.motions = motions;
    r.keeps_morphs = d->given.keeps_morphs;
    if (d->model != d->target) {
        d->model->clips = d->target->clips; /* callers may hold pointers to them */
        px_model_adopt(d->target, d->model);
    }
    d->model = d->target;
    if (report)
        *report = r;
    return PELT_OK;
}

pelt_result pelt_decomposer_finish(pelt_decomposer *d, pelt_decompose_report *report) {
    return px_group_end(d->fit.context, finish(d, report));
}

/* ---- Single call -------------------------------------------------------------------------------------------- */

static pelt_result decompose(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                             pelt_decompose_report *report) {
    pelt_decomposer *d;
    PX_TRY(pelt_decomposer_create(context, model, desc, &d));
    pelt_result result = PELT_OK;
    for (bool done = false; result == PELT_OK && !done;)
        result = pelt_decomposer_step(d, &done);
    if (result == PELT_OK)
        result = pelt_decomposer_finish(d, report);
    pelt_decomposer_destroy(d);
    return result;
}

pelt_result pelt_decompose(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                           pelt_decompose_report *report) {
    if (report)
        *report = (pelt_decompose_report){0};
    px_operation operation = px_operation_begin(model);
    return px_operation_end(&operation, decompose(context, model, desc, report));
}
