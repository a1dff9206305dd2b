/* The representations of an animation that pelt study compares. */
#include "study.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows ------------------------------------------------------------------------------------------------- */

/* Bytes of a bone or cluster index: 1 up to 256 of them, else 2. */
static double number_bytes(uint32_t count) {
    return count <= 256 ? 1 : 2;
}

/* Writes the animation of a row as FOLDER/METHOD-NUMBER.pc2, or METHOD-NUMBER-corrected.pc2. */
static pelt_result write_row(study_work *w, const study_row *row, const pelt_clip *result) {
    pelt_model *model;
    pelt_result done = pelt_model_borrow(w->session->context, w->source, &model);
    if (done != PELT_OK)
        return done;
    char *path =
        must_format("%s/%s-%u%s.pc2", w->settings->write, row->method->name,
                    row->components ? row->bones * row->components : row->bones, row->corrections ? "-corrected" : "");
    pelt_clip clip = *result;
    model->clips = &clip;
    model->clip_count = 1;
    pelt_save_desc save = pelt_save_desc_default();
    save.fps = w->settings->fps;
    done = pelt_save(w->session->context, model, path, &save);
    model->clip_count = 0;
    pelt_model_destroy(model);
    free(path);
    return done;
}

/* Takes over row.rank_errors. */
static pelt_result add_row(study_work *w, study_row row, const pelt_clip *result) {
    double points = w->whole.point_count, frames = w->whole.frame_count;
    const pelt_mesh *mesh = w->source->mesh.triangle_count > 0 ? &w->source->mesh : NULL;
    pelt_result compared = pelt_compare_clips(w->session->context, &w->whole, result, mesh, &row.error, NULL);
    if (compared == PELT_OK && w->settings->write)
        compared = write_row(w, &row, result);
    if (compared != PELT_OK) {
        free(row.rank_errors);
        return compared;
    }
    row.ratio = 12 * points * frames / (points * row.vertex_bytes + frames * row.frame_bytes);
    w->rows = must_resize(w->rows, w->row_count + 1, sizeof *w->rows);
    w->rows[w->row_count++] = row;
    say(w->session, MESSAGE_DETAIL, "%s: E_rms %.4g after %.2f s", row.method->title, row.error.error_rms, row.seconds);
    return PELT_OK;
}

/* ---- Skins ------------------------------------------------------------------------------------------------ */

static int compare_floats(const void *a, const void *b) {
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void find_quantiles(const pelt_model *model, double quantiles[STUDY_QUANTILES]) {
    static const double shares[STUDY_QUANTILES] = {0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
    size_t count = (size_t)model->mesh.vertex_count * model->skin.influence_count;
    float *sorted = must_alloc(count + 1, sizeof *sorted);
    memcpy(sorted, model->skin.weights, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_floats);
    for (size_t q = 0; q < STUDY_QUANTILES && count > 0; q++)
        quantiles[q] = sorted[(size_t)(shares[q] * (double)(count - 1))];
    free(sorted);
}

/* Adds the row of a skin. Stored per vertex: rest position, all weights but the last, bone indices, and displacements
 * of morph targets. Stored per frame: morph weights and bone transforms, 7 numbers each if rigid, else 12. */
static pelt_result add_skin(study_work *w, study_row row, pelt_model *model) {
    uint32_t K = model->skin.influence_count, clip_count = w->source->clip_count;
    pelt_clip *played = must_alloc(clip_count, sizeof *played);
    pelt_result result = PELT_OK;
    for (uint32_t c = 0; result == PELT_OK && c < clip_count; c++)
        result = pelt_clip_from_motion_at(w->session->context, model, &model->motions[c], w->source->clips[c].times,
                                          w->source->clips[c].frame_count, PELT_SKINNING_LINEAR, &played[c]);
    row.bones = model->skin.bone_count;
    find_quantiles(model, row.weights);
    K = K < row.bones ? K : row.bones;
    double targets = row.corrections + row.normal_corrections;
    row.vertex_bytes = 12 + 4.0 * (K - 1) + K * number_bytes(row.bones) + 12.0 * targets;
    row.frame_bytes = row.bones * (row.method->transforms == PELT_TRANSFORMS_RIGID ? 28.0 : 48.0) + 4.0 * targets;
    if (result == PELT_OK) {
        pelt_clip joined = join_clips(played, clip_count);
        result = add_row(w, row, &joined);
    } else
        free(row.rank_errors);
    free(played);
    return result;
}

static pelt_result correct(study_work *w, study_row row, pelt_model *model) {
    uint32_t count = 0;
    pelt_correct_pair *pairs = must_alloc(w->source->clip_count, sizeof *pairs);
    for (uint32_t c = 0; c < w->source->clip_count; c++)
        if (w->source->clips[c].frame_count > 0)
            pairs[count++] = (pelt_correct_pair){c, &w->source->clips[c]};
    pelt_correct_desc desc = pelt_correct_desc_default();
    desc.rank = w->settings->corrections;
    desc.basis = w->settings->basis;
    desc.normal_rank = model->mesh.normals ? w->settings->normal_rank : 0;
    pelt_correct_report report;
    double start = px_seconds();
    pelt_result result = pelt_correct(w->session->context, model, pairs, count, &desc, &report);
    free(pairs);
    if (result != PELT_OK || report.rank == 0) /* no residual to correct */
        return result;
    w->rows[w->row_count - 1].skinned_normal_rms = report.normals_before; /* the row without corrections */
    row.seconds += px_seconds() - start;
    row.corrections = report.rank;
    row.normal_corrections = report.normal_rank;
    row.skinned_normal_rms = report.normals_after;
    size_t size = (report.rank + (size_t)1) * sizeof *report.errors;
    row.rank_errors = must_alloc(1, size);
    memcpy(row.rank_errors, report.errors, size);
    return add_skin(w, row, model);
}

/* Keeps the model for the page if its error is the smallest so far; else destroys it. */
static void keep_best(study_work *w, pelt_model *model) {
    double error = w->rows[w->row_count - 1].error.error_rms;
    bool best = w->session->common.page_path && (!w->best || error < w->best_error);
    if (best) {
        pelt_model *old = w->best;
        w->best = model;
        w->best_error = error;
        model = old;
    }
    pelt_model_destroy(model);
}

static pelt_result find_skin(study_work *w, const study_method *method, pelt_decompose_desc *desc, pelt_model *model) {
    pelt_decompose_report report;
    double start = px_seconds();
    pelt_result result = PELT_OK;
    if (desc->given_weights)
        result = pelt_study_spread(w->session->context, model, desc->bones, desc->influences);
    if (result == PELT_OK)
        result = pelt_decompose(w->session->context, model, desc, &report);
    if (result != PELT_OK)
        return result;
    double total = px_seconds() - start, solve = report.iteration_count > 0 ? report.seconds_solve : 0;
    study_row row = {.method = method, .seconds = total, .negative = report.negative_count};
    row.seconds_init = report.seconds_reduce + report.seconds_seed;
    row.seconds_step = report.iteration_count > 0 ? solve / report.iteration_count : 0;
    row.near_rigid = report.near_rigid;
    row.skinned_normal_rms = NAN;
    result = add_skin(w, row, model);
    if (result == PELT_OK && w->settings->corrections > 0)
        result = correct(w, row, model);
    return result;
}

/* Runs a method on a model borrowed from the source, because methods change the model in place. */
static pelt_result run_skin(study_work *w, const study_method *method, pelt_decompose_desc *desc) {
    pelt_model *model;
    pelt_result result = pelt_model_borrow(w->session->context, w->source, &model);
    if (result != PELT_OK)
        return result;
    desc->rig = desc->given_weights ? model : NULL;
    desc->influences = w->settings->influences;
    desc->transforms = method->transforms;
    desc->key_tolerance = 0; /* every frame is stored */
    desc->cache = w->cache;
    result = find_skin(w, method, desc, model);
    if (result == PELT_OK)
        keep_best(w, model);
    else
        pelt_model_destroy(model);
    return result;
}

static pelt_result run_fesam(study_work *w, const study_method *method, uint32_t bones) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    pelt_result result = PELT_OK;
    if (w->settings->published)
        result = pelt_options_preset(w->session->context, pelt_decompose_options(), &desc, "fesam2010");
    desc.bones = bones;
    if (!w->settings->published || option_given(w->session, "iterations"))
        desc.iterations = w->settings->iterations;
    return result == PELT_OK ? run_skin(w, method, &desc) : result;
}

static pelt_result run_sma(study_work *w, const study_method *method, uint32_t millionths) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.method = PELT_DECOMPOSE_SMA;
    desc.weight_solver = method->solver;
    desc.published = w->settings->published;
    desc.rotation_tolerance = millionths / 1e6;
    return run_skin(w, method, &desc);
}

static pelt_result run_sad(study_work *w, const study_method *method, uint32_t bones) {
    pelt_decompose_desc desc = pelt_decompose_desc_default();
    desc.bones = bones;
    desc.given_weights = desc.fixed_rest = true;
    return run_skin(w, method, &desc);
}

/* ---- Components ------------------------------------------------------------------------------------------- */

static pelt_result run_components(study_work *w, const study_method *method, uint32_t clusters, uint32_t components) {
    pelt_context *context = w->session->context;
    double start = px_seconds();
    pelt_result result = PELT_OK;
    if (!w->study) {
        result = pelt_study_create(context, w->source, &w->study);
        w->study_seconds = px_seconds() - start;
        start = px_seconds();
    }
    pelt_components_desc desc = pelt_components_desc_default();
    desc.clusters = clusters;
    desc.components = components;
    desc.rounds = w->settings->rounds;
    const pelt_components *stored;
    if (result == PELT_OK)
        result = pelt_study_components(w->study, &desc, &stored);
    if (result != PELT_OK)
        return result;
    study_row row = {.method = method,
                     .bones = stored->cluster_count,
                     .components = stored->component_count,
                     .vertex_bytes = 4.0 * stored->component_count,
                     .frame_bytes = 12.0 * stored->component_count * stored->cluster_count,
                     .skinned_normal_rms = NAN,
                     .seconds = w->study_seconds + px_seconds() - start};
    row.vertex_bytes += row.bones > 1 ? number_bytes(row.bones) : 0;
    return add_row(w, row, &stored->clip);
}

static pelt_result run_cpca(study_work *w, const study_method *method, uint32_t clusters) {
    return run_components(w, method, clusters, w->settings->components);
}

static pelt_result run_svd(study_work *w, const study_method *method, uint32_t rank) {
    return run_components(w, method, 1, rank);
}

/* ---- The table -------------------------------------------------------------------------------------------- */

#define LIST(name) offsetof(study_work, name)
const study_method study_methods[] = {
    {"fesam", "FESAM", run_fesam, LIST(bones), PELT_TRANSFORMS_AFFINE, 0},
    {"sma-rigid-tsvd", "SMA rigid TSVD", run_sma, LIST(tolerances), PELT_TRANSFORMS_RIGID, PELT_WEIGHT_SOLVER_TSVD},
    {"sma-rigid-nnls", "SMA rigid NNLS", run_sma, LIST(tolerances), PELT_TRANSFORMS_RIGID, PELT_WEIGHT_SOLVER_NNLS},
    {"sma-affine-tsvd", "SMA affine TSVD", run_sma, LIST(tolerances), PELT_TRANSFORMS_AFFINE, PELT_WEIGHT_SOLVER_TSVD},
    {"sma-affine-nnls", "SMA affine NNLS", run_sma, LIST(tolerances), PELT_TRANSFORMS_AFFINE, PELT_WEIGHT_SOLVER_NNLS},
    {"sad", "SAD", run_sad, LIST(bones), PELT_TRANSFORMS_AFFINE, 0},
    {"cpca", "CPCA", run_cpca, LIST(clusters), 0, 0},
    {"svd", "SVD", run_svd, LIST(ranks), 0, 0},
};
const size_t study_method_count = COUNT(study_methods);
