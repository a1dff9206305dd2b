/* Progressive corrections, rank by rank; see correct.h.
 *
 * Each rank has two initial guesses and continues with the better one: the modes of the previous rank plus one, and the
 * leading singular vectors of the displacements at rest. The first guarantees that no rank is worse than the previous
 * one, the second that none is worse than the paper's basis, and that displacements of exactly this rank are found at
 * once. */
#include "correct/correct.h"

#include <math.h>

#define SWEEP_MIN_GAIN 1e-3 /* stop when a sweep reduces the error by less than this fraction */

#define FIELD(name) PELT_FIELD(pelt_correct_desc, name)
static const pelt_option options[] = {
    {"rank", 0, PELT_OPTION_UINT, FIELD(rank), "10", 0, PELT_CORRECT_RANK_MAX, NULL, "R",
     "morph targets to add, at most"},
    {"error", 0, PELT_OPTION_REAL, FIELD(error), "0", 0, 1e6, NULL, "E",
     "as few as reach this E_rms; up to 100 unless a rank is given"},
    {"basis", 0, PELT_OPTION_CHOICE, FIELD(basis), "skinned", 0, 0, "skinned|rest", NULL,
     "what is nearest: the skinned result, or displacements at rest (James and Twigg 2005)"},
    {"sweeps", 0, PELT_OPTION_UINT, FIELD(sweeps), "4", 0, 100, NULL, "N",
     "alternations between displacements and weights for each rank, at most"},
    {"normals", 0, PELT_OPTION_FLAG, FIELD(normals), NULL, 0, 0, NULL, NULL,
     "the targets correct normals too, with the same weights"},
    {"normal-rank", 0, PELT_OPTION_UINT, FIELD(normal_rank), "0", 0, PELT_CORRECT_RANK_MAX, NULL, "R",
     "further morph targets, at most, that correct normals alone, with weights of their own"},
    {"normal-rule", 0, PELT_OPTION_CHOICE, FIELD(normal_rule), "matrix", 0, 0, "matrix|inverse", NULL,
     "how players skin the corrected normals: by the blended matrix, as most engines do, or by its inverse transpose"},
};

PX_DESC(correct, options)

/* ---- Validation ------------------------------------------------------------------------------------------- */

static pelt_result check(px_correction *c) {
    const pelt_model *model = c->model;
    if (c->pair_count == 0)
        return px_fail(c->context, PELT_ERROR_USAGE, "there is no clip to correct by");
    if (model->mesh.vertex_count == 0 || model->skin.bone_count == 0)
        return px_fail(c->context, PELT_ERROR_INPUT, "there is no skin in it to correct; bind or decompose it first");
    if (px_correct_has_normals(c) && !model->mesh.normals)
        return px_fail(c->context, PELT_ERROR_INPUT, "the mesh has no normals to correct");
    if (!(c->pair_frames = PX_NEW(c->scratch, uint32_t, (size_t)c->pair_count + 1)))
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < c->pair_count; p++) {
        uint32_t motion = c->pairs[p].motion;
        const pelt_clip *clip = c->pairs[p].clip;
        if (motion != PELT_NONE && motion >= model->motion_count)
            return px_fail(c->context, PELT_ERROR_USAGE, "there is no motion %u; the model has %u", motion,
                           model->motion_count);
        for (uint32_t q = 0; q < p; q++)
            if (motion != PELT_NONE && c->pairs[q].motion == motion)
                return px_fail(c->context, PELT_ERROR_USAGE, "motion %u is corrected twice", motion);
        if (clip->point_count != model->mesh.points.count)
            return px_fail(c->context, PELT_ERROR_INPUT,
                           "clip '%s' has %u points, the rig has %u; give the mesh that the clip belongs to",
                           clip->name, clip->point_count, model->mesh.points.count);
        if (clip->frame_count == 0)
            return px_fail(c->context, PELT_ERROR_INPUT, "clip '%s' has no frames", clip->name);
        if (clip->frame_count > INT32_MAX - c->frame_count)
            return px_fail(c->context, PELT_ERROR_INPUT, "all clips together have too many frames");
        c->pair_frames[p + 1] = c->frame_count += clip->frame_count;
    }
    return PELT_OK;
}

/* ---- Modes ------------------------------------------------------------------------------------------------ */

static bool make_modes(const px_correction *c, px_modes *modes) {
    modes->places = PX_NEW(c->scratch, double, px_mul_size(3 * (size_t)c->classes.count, c->rank_most));
    modes->weights = PX_NEW(c->scratch, double, px_mul_size(c->rank_most, c->frame_count));
    return modes->places && modes->weights;
}

static void swap_modes(px_modes *a, px_modes *b) {
    px_modes old = *a;
    *a = *b;
    *b = old;
}

/* Component of a seed orthogonal to the first `rank` rows of the weights, which are orthonormal; returns its squared
 * norm. */
static double lacking(const px_correction *c, const px_modes *modes, uint32_t rank, uint32_t seed, double *out) {
    size_t frames = c->frame_count;
    double length2 = 0;
    memcpy(out, c->seeds + seed * frames, frames * sizeof *out);
    for (size_t r = 0; r < rank; r++) {
        const double *row = modes->weights + r * frames;
        double dot = 0;
        for (size_t k = 0; k < frames; k++)
            dot += row[k] * out[k];
        for (size_t k = 0; k < frames; k++)
            out[k] -= dot * row[k];
    }
    for (size_t k = 0; k < frames; k++)
        length2 += out[k] * out[k];
    return length2;
}

/* Sets row `rank` of the weights to the normalized seed component with the largest energy that the other rows lack. Its
 * displacements are still 0. */
static void grow(const px_correction *c, px_modes *modes, uint32_t rank) {
    double *row = modes->weights + (size_t)rank * c->frame_count, most = 0;
    uint32_t best = rank;
    for (uint32_t s = 0; s < c->rank_most; s++) {
        double gain = c->seed_values[s] * lacking(c, modes, rank, s, row);
        if (gain > most) {
            most = gain;
            best = s;
        }
    }
    double length = sqrt(lacking(c, modes, rank, best, row));
    for (uint32_t k = 0; k < c->frame_count; k++)
        row[k] = length > 1e-6 ? row[k] / length : 0;
}

/* Alternates between weights and displacements; `last` is the error before. */
static pelt_result alternate(px_correction *c, uint32_t rank, uint32_t sweeps, double last) {
    for (uint32_t s = 0; s < sweeps; s++) {
        double now;
        PX_TRY(px_correct_fit_weights(c, &c->modes, rank));
        PX_TRY(px_correct_orthonormal(c, &c->modes, rank));
        PX_TRY(px_correct_fit_places(c, &c->modes, rank, &now));
        if (!(now < (1 - SWEEP_MIN_GAIN) * last))
            break;
        last = now;
    }
    return PELT_OK;
}

pelt_result px_correct_settle(px_correction *c, uint32_t rank, uint32_t sweeps, double *error) {
    double start;
    PX_TRY(px_correct_fit_places(c, &c->modes, rank, &start));
    PX_TRY(alternate(c, rank, sweeps, start));
    return px_correct_measure(c, &c->modes, rank, error);
}

static bool is_reached(const px_correction *c, double error) {
    return c->desc.error > 0 && error <= c->desc.error;
}

static pelt_result fit_skinned(px_correction *c) {
    size_t places = 3 * (size_t)c->classes.count * c->rank_most * sizeof *c->modes.places;
    size_t weights = (size_t)c->rank_most * c->frame_count * sizeof *c->modes.weights;
    px_modes fresh, kept;
    if (!make_modes(c, &fresh) || !make_modes(c, &kept))
        return PELT_ERROR_MEMORY;
    for (; c->rank < c->rank_most && !is_reached(c, c->errors[c->rank]); c->rank++) {
        uint32_t rank = c->rank + 1;
        double fresh_error, error;
        PX_TRY(px_progress(c->context, "correcting", c->rank, c->rank_most));
        memcpy(kept.places, c->modes.places, places);
        memcpy(kept.weights, c->modes.weights, weights);
        memset(fresh.places, 0, places);
        memcpy(fresh.weights, c->seeds, (size_t)rank * c->frame_count * sizeof *c->seeds);
        PX_TRY(px_correct_fit_places(c, &fresh, rank, &fresh_error));
        grow(c, &c->modes, c->rank);
        PX_TRY(px_correct_fit_places(c, &c->modes, rank, &error));
        if (fresh_error < error)
            swap_modes(&c->modes, &fresh);
        PX_TRY(alternate(c, rank, c->desc.sweeps, fresh_error < error ? fresh_error : error));
        PX_TRY(px_correct_measure(c, &c->modes, rank, &c->errors[rank]));
        if (!(c->errors[rank] < c->errors[c->rank])) { /* only rounding errors remain */
            swap_modes(&c->modes, &kept);
            break;
        }
    }
    return PELT_OK;
}

static pelt_result fit_at_rest(px_correction *c) {
    PX_TRY(px_correct_project(c, &c->modes, c->rank_most));
    while (c->rank < c->rank_most && !is_reached(c, c->errors[c->rank])) {
        c->rank++;
        PX_TRY(px_correct_measure(c, &c->modes, c->rank, &c->errors[c->rank]));
    }
    return PELT_OK;
}

pelt_result px_correct_begin(px_correction *c) {
    PX_TRY(check(c));
    PX_TRY(px_correct_gather(c));
    c->rank_most = (uint32_t)px_min_size(px_min_size(c->desc.rank, c->frame_count), 3 * (size_t)c->classes.count);
    c->errors = PX_NEW_LASTING(c->model->memory, double, (size_t)c->rank_most + 1);
    if (!c->errors || !make_modes(c, &c->modes))
        return PELT_ERROR_MEMORY;
    return px_correct_measure(c, &c->modes, 0, &c->errors[0]);
}

static pelt_result correct(px_correction *c) {
    PX_TRY(px_correct_begin(c));
    PX_TRY(px_correct_seed(c));
    PX_TRY(c->desc.basis == PELT_CORRECT_REST ? fit_at_rest(c) : fit_skinned(c));
    PX_TRY(px_correct_order(c, &c->modes, c->rank));
    if (px_correct_has_normals(c))
        PX_TRY(px_correct_normals(c));
    return px_correct_apply(c);
}

pelt_result pelt_correct(pelt_context *context, pelt_model *model, const pelt_correct_pair *pairs, uint32_t pair_count,
                         const pelt_correct_desc *desc, pelt_correct_report *report) {
    if (report)
        *report = (pelt_correct_report){.normals_before = NAN, .normals_after = NAN};
    PX_TAKE_DESC(context, correct, desc, settings);
    px_correction c = {.context = context,
                       .model = model,
                       .pairs = pairs,
                       .pair_count = pair_count,
                       .desc = settings,
                       .normal_rms = {NAN, NAN},
                       .scratch = px_arena_create(context)};
    if (!c.scratch)
        return PELT_ERROR_MEMORY;
    px_operation operation = px_operation_begin(model);
    pelt_result result = px_operation_end(&operation, correct(&c));
    if (result == PELT_OK && report)
        *report = (pelt_correct_report){.rank = c.rank,
                                        .normal_rank = c.normal_rank - c.shared_count,
                                        .frame_count = c.frame_count,
                                        .vertex_count = c.classes.count,
                                        .ill_conditioned = c.ill_count,
                                        .errors = c.errors,
                                        .normals_before = c.normal_rms[0],
                                        .normals_after = c.normal_rms[1]};
    px_arena_destroy(c.scratch);
    return result;
}
