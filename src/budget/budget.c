/* Decomposition within a budget: what is asked for and what is given back; search.c looks for the best file. The animation is reduced once.
 * With desc.smallest, bones fitted to the largest distance come first (tight_search.c); where none keep the error, others follow. */
#include "budget/search.h"
#include "io/meshopt.h"

#include <pelt/measure.h>

#define FIELD(name) PELT_FIELD(pelt_budget_desc, name)
static const pelt_option options[] = {
    {"budget-bones", 0, PELT_OPTION_UINT, FIELD(bones), "128", 1, 4000, NULL, "N", "bones at most"},
    {"budget-influences", 0, PELT_OPTION_UINT, FIELD(influences), "4", 1, PELT_MAX_INFLUENCES, NULL, "K",
     "bones per vertex at most"},
    {"budget-morphs", 0, PELT_OPTION_UINT, FIELD(morphs), "0", 0, PELT_CORRECT_RANK_MAX, NULL, "R",
     "corrective morph targets at most"},
    {"budget-bytes", 0, PELT_OPTION_SIZE, FIELD(bytes), "0", 0, 0, NULL, "SIZE", "size of the file at most; 0: any"},
    {"max-error", 0, PELT_OPTION_REAL, FIELD(max_error), "0", 0, 1e30, NULL, "X",
     "largest distance of a vertex, in units of the file: the smallest file that keeps it; 0: the smallest error"},
    {"one-kind", 0, PELT_OPTION_FLAG, FIELD(one_kind), NULL, 0, 0, NULL, NULL, "use bones of one kind only"},
    {"smallest", 0, PELT_OPTION_FLAG, FIELD(smallest), NULL, 0, 0, NULL, NULL,
     "with max-error: fewer bytes, an uneven surface, and normals only where the source has some"},
};

PX_DESC(budget, options)

static pelt_result check(const px_budget *b, const char *path) {
    const pelt_decompose_desc *bones = &b->bones;
    size_t length = path ? strlen(path) : 0;
    if (path && (length < 4 || strcasecmp(path + length - 4, ".glb") != 0))
        return px_fail(b->context, PELT_ERROR_USAGE, "%s: a budget is for one file: write a .glb", path);
    if (bones->rig || bones->add > 0 || bones->method != PELT_DECOMPOSE_FESAM)
        return px_fail(b->context, PELT_ERROR_USAGE, "a budget is for bones that are all solved for: no rig, no sma");
    if (b->desc.max_error > 0 && b->desc.bytes > 0)
        return px_fail(b->context, PELT_ERROR_USAGE, "set max_error or bytes: the other one is what is minimised");
    if (!px_meshopt_encodes())
        return px_fail(b->context, PELT_ERROR_UNSUPPORTED,
                       "this build has no meshoptimizer support: it cannot compress glTF files");
    return PELT_OK;
}

/* Bytes that trials leave out: images of the source document. */
static pelt_result measure_images(px_budget *b) {
    px_buffer whole = {.context = b->context}, trial = {.context = b->context};
    px_write write = {.context = b->context, .model = b->model, .mesh = &b->model->mesh, .desc = &b->save};
    pelt_result result = px_save_memory(b->context, b->model, "whole.glb", &b->save, &whole);
    if (result == PELT_OK)
        result = px_precision_write(&write, NULL, &trial);
    b->images = whole.size > trial.size ? whole.size - trial.size : 0;
    px_buffer_free(&whole);
    px_buffer_free(&trial);
    return result;
}

static pelt_result begin(px_budget *b) {
    const pelt_clip *first = NULL;
    pelt_difference still;
    PX_TRY(pelt_model_weld(b->context, b->model));
    for (uint32_t n = 0; n < b->model->clip_count; n++) {
        b->frame_count += b->model->clips[n].frame_count;
        if (!first && b->model->clips[n].frame_count > 0)
            first = &b->model->clips[n];
    }
    if (!first)
        return px_fail(b->context, PELT_ERROR_INPUT, "there is no animation to decompose");
    PX_TRY(pelt_compare_clips(b->context, first, first, NULL, &still, NULL));
    b->radius = still.ball.radius > 0 ? still.ball.radius : 1;
    PX_TRY(px_precision_size(b->context, b->model, &b->size, &b->exponent));
    b->trials = PX_NEW(b->scratch, pelt_budget_trial, PX_TRIAL_MAX);
    b->frame_most = PX_NEW(b->scratch, double, b->frame_count);
    b->frame_sums = PX_NEW(b->scratch, double, b->frame_count);
    b->probed = PX_NEW(b->scratch, bool, b->frame_count);
    if (!b->trials || !b->frame_most || !b->frame_sums || !b->probed)
        return PELT_ERROR_MEMORY;
    PX_TRY(measure_images(b));
    return pelt_decompose_cache_create(b->context, &b->cache);
}

/* Bytes of the best file without its JSON, normals and tangents. */
static pelt_result count_numbers(px_budget *b, uint64_t *count) {
    px_buffer bytes = {.context = b->context};
    pelt_model *bare;
    PX_TRY(pelt_model_borrow(b->context, b->best, &bare));
    bare->mesh.normals = bare->mesh.tangents = NULL;
    px_write write = {.context = b->context, .model = bare, .mesh = &bare->mesh, .desc = &b->save};
    pelt_result result = px_precision_write(&write, &b->best_precision, &bytes);
    if (result == PELT_OK)
        *count = bytes.size - 28 - px_load_u32(bytes.data + 12); /* headers of a GLB, and its JSON */
    pelt_model_destroy(bare);
    px_buffer_free(&bytes);
    return result;
}

/* Writes the best file, then gives the model its data. */
static pelt_result finish(px_budget *b, const char *path, pelt_budget_report *report) {
    pelt_budget_trial *trials = PX_NEW_LASTING(b->model->memory, pelt_budget_trial, b->trial_count);
    uint64_t numbers = 0;
    if (!trials)
        return PELT_ERROR_MEMORY;
    PX_TRY(count_numbers(b, &numbers));
    if (path)
        PX_TRY(px_save_precise(b->context, b->best, path, &b->save, &b->best_precision));
    memcpy(trials, b->trials, b->trial_count * sizeof *trials);
    *report = (pelt_budget_report){.chosen = b->best_trial,
                                   .met = b->met,
                                   .numbers_bytes = numbers,
                                   .error_max = 0.5 * b->best_trial.error_max_units / b->radius,
                                   .trial_count = b->trial_count,
                                   .trials = trials};
    px_model_adopt(b->best_base, b->best);
    px_model_adopt(b->model, b->best_base);
    b->best = b->best_base = NULL;
    return PELT_OK;
}

pelt_result pelt_decompose_budget(pelt_context *context, pelt_model *model, const pelt_decompose_desc *bones,
                                  const pelt_budget_desc *desc, const char *path, pelt_budget_report *report) {
    if (report)
        *report = (pelt_budget_report){0};
    PX_TAKE_DESC(context, decompose, bones, settings);
    PX_TAKE_DESC(context, budget, desc, wanted);
    px_budget b = {.context = context, .model = model, .desc = wanted, .bones = settings};
    pelt_budget_report made = {0};
    PX_TRY(check(&b, path));
    b.bones.error = b.bones.key_tolerance = 0;
    b.bones.influences = wanted.influences;
    b.save = pelt_save_desc_default();
    b.save.skip_clips = true;
    b.save.player_influences = PELT_MAX_INFLUENCES;
    b.scratch = px_arena_create(context);
    px_operation operation = px_operation_begin(model);
    pelt_result result = b.scratch ? begin(&b) : PELT_ERROR_MEMORY;
    if (result == PELT_OK) {
        b.bones.cache = b.cache;
        result = px_budget_search(&b);
    }
    if (result == PELT_OK)
        result = finish(&b, path, &made);
    pelt_model_destroy(b.best);
    pelt_model_destroy(b.best_base);
    pelt_decompose_cache_destroy(b.cache);
    px_arena_destroy(b.scratch);
    if (report && result == PELT_OK)
        *report = made;
    return px_operation_end(&operation, result);
}
