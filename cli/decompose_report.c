/* Measures the file written by pelt decompose, and reports the results. */
#include "decompose.h"

#include <stdlib.h>
#include <string.h>

/* ---- Measuring what was written --------------------------------------------------------------------------- */

static pelt_result compare(decompose_work *w) {
    pelt_context *context = w->session->context;
    const pelt_model *model = w->model;
    const pelt_mesh *mesh = w->shape.triangle_count ? &w->shape : NULL;
    w->frame_rms = must_alloc(w->frame_count, sizeof *w->frame_rms);
    if (model->clip_count == 1)
        return pelt_compare_clips(context, model->clips, w->played, mesh, &w->whole, w->frame_rms);
    pelt_clip clips[2] = {join_clips(model->clips, model->clip_count), join_clips(w->played, model->clip_count)};
    pelt_result result = pelt_compare_clips(context, &clips[0], &clips[1], mesh, &w->whole, NULL);
    double *frame_rms = w->frame_rms;
    for (uint32_t c = 0; result == PELT_OK && c < model->clip_count; c++) {
        const pelt_clip *clip = &model->clips[c];
        if (clip->frame_count > 0)
            result = pelt_compare_clips(context, clip, &w->played[c], NULL, &w->clip_error[c], frame_rms);
        frame_rms += clip->frame_count;
    }
    return result;
}

/* Index in the file of a clip's motion, or PELT_NONE. Motions are in the order of the clips; in the file of a rig they
 * may be in another order and are found by name. `next`: index of the first unused motion. */
static uint32_t motion_of(const decompose_work *w, const pelt_model *file, uint32_t clip, uint32_t *next) {
    const char *name = w->model->clips[clip].name;
    uint32_t m = w->model->clips[clip].frame_count ? (*next)++ : file->motion_count;
    if (w->desc.rig && m < file->motion_count && strcmp(file->motions[m].name, name) != 0)
        for (uint32_t other = 0; other < file->motion_count; other++)
            if (strcmp(file->motions[other].name, name) == 0)
                return other;
    return m < file->motion_count ? m : PELT_NONE;
}

/* Reads the written file back with the input's points; motions [clip] receives the index of each clip's motion. */
static pelt_result read_back(decompose_work *w, pelt_model **model, uint32_t *motions) {
    pelt_result result = load_written(w->session, w->model, w->settings->output, model);
    if (result == PELT_OK)
        result = pelt_model_take_points(w->session->context, *model, w->model);
    uint32_t next = 0; /* clips without frames have no motion */
    for (uint32_t c = 0; result == PELT_OK && c < w->model->clip_count; c++)
        motions[c] = motion_of(w, *model, c, &next);
    return result;
}

pelt_result decompose_measure(decompose_work *w) {
    pelt_context *context = w->session->context;
    const pelt_model *model = w->model;
    w->played = must_alloc(model->clip_count, sizeof *w->played);
    w->clip_error = must_alloc(model->clip_count, sizeof *w->clip_error);
    w->motions = pelt_model_alloc(context, w->model, model->clip_count, sizeof *w->motions);
    pelt_result result = w->motions ? read_back(w, &w->written, w->motions) : PELT_ERROR_MEMORY;
    for (uint32_t c = 0; result == PELT_OK && c < model->clip_count; c++) {
        const pelt_clip *clip = &model->clips[c];
        const pelt_motion *motion = w->motions[c] == PELT_NONE ? NULL : &w->written->motions[w->motions[c]];
        result = pelt_clip_from_motion_at(context, w->written, motion, clip->times, clip->frame_count,
                                          PELT_SKINNING_LINEAR, &w->played[c]);
        if (result == PELT_OK)
            result = pelt_clip_skin_normals(context, w->written, &w->played[c]);
    }
    return result == PELT_OK ? compare(w) : result;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static void report_errors(cli_json *json, const pelt_difference *d) {
    json_real(json, "error_rms", d->error_rms);
    if (d->error_kg <= 1e300) /* infinite if nothing moves */
        json_real(json, "error_kg", d->error_kg);
    json_real(json, "error_max", d->error_max);
    if (d->ball_frame > 0)
        json_count(json, "ball_frame", d->ball_frame);
}

/* Writes the error per frame, grouped by clip if there are several. */
static void report_clips(const decompose_work *w, cli_json *json) {
    const double *frame_rms = w->frame_rms;
    if (w->model->clip_count == 1) {
        json_reals(json, "frame_rms", frame_rms, w->frame_count);
        return;
    }
    json_open(json, "clips", '[');
    for (uint32_t c = 0; c < w->model->clip_count; c++) {
        uint32_t frame_count = w->model->clips[c].frame_count;
        json_open(json, NULL, '{');
        json_text(json, "name", w->model->clips[c].name);
        json_count(json, "frames", frame_count);
        report_errors(json, &w->clip_error[c]);
        json_reals(json, "frame_rms", frame_rms, frame_count);
        json_close(json, '}');
        frame_rms += frame_count;
    }
    json_close(json, ']');
}

/* Writes the curve of error against bone count, if the count was searched for (--error). */
static void report_search(const pelt_decompose_report *r, cli_json *json) {
    if (r->search_count == 0)
        return;
    double(*points)[2] = must_alloc(r->search_count, sizeof *points);
    for (uint32_t n = 0; n < r->search_count; n++) {
        points[n][0] = r->search_bones[n];
        points[n][1] = (double)r->search_errors[n];
    }
    json_open(json, "curves", '[');
    report_curve(json, "error against bones", "bones", "E_rms", (const double(*)[2])points, r->search_count);
    json_close(json, ']');
    free(points);
}

void decompose_json(cli_json *json, const decompose_work *w) {
    json_open(json, "input", '{');
    json_count(json, "vertices", w->model->mesh.points.count);
    json_count(json, "frames", w->frame_count);
    json_count(json, "triangles", w->model->mesh.triangle_count);
    json_close(json, '}');
    json_open(json, "result", '{');
    json_count(json, "bones", w->report.decompose.bone_count);
    json_count(json, "influences", w->report.decompose.influence_count);
    json_count(json, "dimension", w->report.decompose.dimension);
    if (w->desc.method == PELT_DECOMPOSE_SMA) {
        json_real(json, "near_rigid", w->report.decompose.near_rigid);
        json_real(json, "core_fraction", w->report.decompose.core_fraction);
        json_count(json, "flat_triangles", w->report.decompose.flat_count);
        json_real(json, "error_rms_weights", w->report.decompose.error_weights);
        json_count(json, "negative_vertices", w->report.decompose.negative_count);
        json_real(json, "error_rms_fit", w->report.decompose.error_fit);
    }
    if (w->session->group) {
        json_count(json, "processes", w->report.decompose.process_count);
        json_count(json, "bytes_per_iteration", w->report.decompose.iteration_bytes);
    }
    report_errors(json, &w->whole);
    report_normals(json, &w->whole);
    json_count(json, "bytes_in", w->bytes_in);
    json_count(json, "bytes_out", w->bytes_out);
    json_close(json, '}');
    if (w->settings->corrected.corrections > 0) {
        json_open(json, "corrections", '{');
        report_corrections(json, &w->report.correct);
        json_reals(json, "rounds", w->report.round_errors,
                   w->report.round_errors ? (size_t)w->report.round_count + 1 : 0);
        json_close(json, '}');
    }
    if (w->budget.trial_count > 0)
        budget_json(json, &w->budget);
    report_clips(w, json);
    json_open(json, "seconds", '{');
    json_real(json, "load", w->seconds_load);
    json_real(json, "reduce", w->report.decompose.seconds_reduce);
    json_real(json, "seed", w->report.decompose.seconds_seed);
    json_real(json, "solve", w->report.decompose.seconds_solve);
    json_real(json, "write", w->seconds_write);
    json_real(json, "correct", w->report.seconds_correct);
    json_real(json, "total", w->seconds_total);
    json_close(json, '}');
    json_floats(json, "iterations", w->report.decompose.iteration_errors, w->report.decompose.iteration_count);
    report_search(&w->report.decompose, json);
}

void decompose_rows(cli_table *table, const decompose_work *w) {
    const pelt_difference *d = &w->whole;
    const pelt_decompose_report *r = &w->report.decompose;
    table_row(table, "bones", "%s, at most %u a vertex", grouped(r->bone_count), r->influence_count);
    if (w->budget.trial_count > 0)
        budget_rows(table, w);
    else
        table_row(table, "dimension", "%s", grouped(r->dimension));
    if (r->near_rigid > 0)
        table_row(table, "near-rigid", "%.1f %% of the triangles; %.1f %% within the tolerance of their bone",
                  100 * r->near_rigid, 100 * r->core_fraction);
    if (r->negative_count > 0)
        table_row(table, "negative", "%s vertices had weights below 0, which no file holds; E_rms with them %.4g",
                  grouped(r->negative_count), r->error_weights);
    if (w->settings->corrected.corrections > 0)
        table_row(table, "corrections", "%u, which lower E_rms from %.4g", w->report.correct.rank,
                  w->report.correct.errors[0]);
    table_row(table, "E_rms", "%.4g", d->error_rms);
    for (uint32_t c = 0; w->model->clip_count > 1 && c < w->model->clip_count; c++)
        table_row(table, "", "%.4g in '%s'", w->clip_error[c].error_rms, w->model->clips[c].name);
    if (d->error_kg <= 1e300)
        table_row(table, "E_kg", "%.4g %%", d->error_kg);
    table_row(table, "E_max", "%.4g of the diameter, at frame %u, vertex %u", d->error_max, d->max_frame, d->max_point);
    normal_rows(table, d);
    table_row(table, "size", "%s to %s, 1 : %.1f", bytes_text(w->bytes_in), bytes_text(w->bytes_out),
              w->bytes_out ? (double)w->bytes_in / (double)w->bytes_out : 0);
}

static void report_table(const decompose_work *w) {
    const pelt_decompose_report *r = &w->report.decompose;
    cli_table table = {0};
    table_row(&table, "input", "%s vertices, %s frames, %s triangles", grouped(w->model->mesh.points.count),
              grouped(w->frame_count), grouped(w->model->mesh.triangle_count));
    decompose_rows(&table, w);
    table_row(&table, "time", "%.3f s: load %.3f, reduce %.3f, seed %.3f, solve %.3f (%u iterations), write %.3f",
              w->seconds_total, w->seconds_load, r->seconds_reduce, r->seconds_seed, r->seconds_solve,
              r->iteration_count, w->seconds_write);
    if (w->settings->corrected.corrections > 0)
        table_row(&table, "", "corrections %.3f (%u rounds)", w->report.seconds_correct, w->report.round_count);
    if (r->process_count > 1)
        table_row(&table, "processes", "%u, which send %s an iteration", r->process_count,
                  bytes_text(r->iteration_bytes));
    else if (w->session->group)
        table_row(&table, "processes", "every one of them did the whole work: see docs/cluster.md");
    table_row(&table, "memory", "%s", bytes_text(pelt_context_memory(w->session->context).peak));
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

void decompose_report(decompose_work *w) {
    cli_json *json = &w->session->report;
    json_text(json, "output", w->settings->output);
    decompose_json(json, w);
    w->session->report_done = true;
    report_table(w);
    report_page(w->session, w->written, w->model->clips, w->model->clip_count, w->settings->fps)->motions = w->motions;
}
