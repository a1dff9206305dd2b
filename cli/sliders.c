/* pelt decompose --sliders: morph targets become bones that follow the same sliders. Errors are measured on the written
 * file. */
#include "decompose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sliders_work {
    cli_session *session;
    const decompose_settings *settings;
    pelt_model *source;  /* the input */
    pelt_model *model;   /* borrowed from it: the result */
    pelt_model *written; /* the output, read back */
    pelt_sliders_desc desc;
    float *poses; /* [pose][slider] of --combination */
    pelt_sliders_report report;
    pelt_slider_error *errors;        /* [slider] */
    pelt_slider_error *motion_errors; /* [motion of the source] */
    double height;
    double mean, largest; /* over all sliders, object units */
    uint32_t worst;       /* slider of the largest error */
    pelt_sliders_cost cost;
    uint64_t bytes_in, bytes_out;
    double seconds_load, seconds_write, seconds_total;
} sliders_work;

/* Reads "jawOpen=1,mouthSmile_L=0.5" into values [slider]. */
static exit_code read_combination(sliders_work *w, const char *text, const char *const *names, uint32_t count,
                                  float *values) {
    while (*text) {
        size_t length = strcspn(text, ","), name = strcspn(text, "=,");
        char *end;
        double value = name < length ? strtod(text + name + 1, &end) : 0;
        if (name == length || end != text + length || !isfinite(value))
            return usage_error(w->session, "--combination %s: should be NAME=VALUE, separated by commas", text);
        uint32_t s = 0;
        while (s < count && (strlen(names[s]) != name || strncmp(names[s], text, name) != 0))
            s++;
        if (s == count) {
            char *wanted = must_format("%.*s", (int)name, text);
            const char *near = pelt_nearest_name(wanted, names, count);
            say(w->session, MESSAGE_ERROR, "%s: there is no slider '%s'%s%s%s", w->source->path, wanted,
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
            free(wanted);
            return EXIT_INPUT;
        }
        values[s] = (float)value;
        text += length + (text[length] == ',');
    }
    return EXIT_DONE;
}

static exit_code read_combinations(sliders_work *w) {
    arg_list given = option_values(w->session, "combination");
    const char *const *names;
    uint32_t count;
    pelt_result result = pelt_sliders_find(w->session->context, w->source, &names, &count);
    exit_code code = result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
    w->poses = must_alloc(given.count * (size_t)count + 1, sizeof *w->poses);
    for (size_t p = 0; code == EXIT_DONE && p < given.count; p++)
        code = read_combination(w, given.items[p], names, count, w->poses + p * count);
    w->desc.poses = w->poses;
    w->desc.pose_count = (uint32_t)given.count;
    free(given.items);
    return code;
}

static pelt_result measure(sliders_work *w) {
    pelt_context *context = w->session->context;
    pelt_result result = load_written(w->session, w->model, w->settings->output, &w->written);
    if (result != PELT_OK)
        return result;
    uint32_t count = w->written->sliders.slider_count;
    w->errors = must_alloc(count + (size_t)1, sizeof *w->errors);
    w->motion_errors = must_alloc(w->source->motion_count + (size_t)1, sizeof *w->motion_errors);
    result = pelt_sliders_measure(context, w->source, w->written, w->errors, &w->height);
    for (uint32_t s = 0; s < count; s++) {
        w->mean += w->errors[s].mean / count;
        if (w->errors[s].largest > w->largest)
            w->largest = w->errors[s].largest, w->worst = s;
    }
    for (uint32_t m = 0; result == PELT_OK && m < w->source->motion_count; m++) {
        /* a file without bones holds no motion of which no track is left */
        bool there =
            m < w->written->motion_count && strcmp(w->written->motions[m].name, w->source->motions[m].name) == 0;
        result =
            pelt_sliders_measure_motion(context, w->source, &w->source->motions[m], w->written,
                                        there ? &w->written->motions[m] : NULL, w->settings->fps, &w->motion_errors[m]);
    }
    return result == PELT_OK ? pelt_sliders_time(context, w->source, w->written, &w->cost) : result;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static double percent(const sliders_work *w, double units) {
    return w->height > 0 ? 100 * units / w->height : 0;
}

static void report_error(const sliders_work *w, cli_json *json, const pelt_slider_error *error) {
    json_real(json, "mean", error->mean);
    json_real(json, "rms", error->rms);
    json_real(json, "largest", error->largest);
    json_real(json, "mean_percent", percent(w, error->mean));
    json_real(json, "largest_percent", percent(w, error->largest));
    json_count(json, "vertex", error->vertex);
}

static void report_json(const sliders_work *w, cli_json *json) {
    const pelt_sliders_report *r = &w->report;
    json_text(json, "output", w->settings->output);
    json_open(json, "result", '{');
    json_count(json, "sliders", r->slider_count);
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "bones", r->bone_count);
    json_count(json, "influences", r->influence_count);
    json_count(json, "moves", r->move_count);
    json_real(json, "height", w->height);
    json_real(json, "mean", w->mean);
    json_real(json, "largest", w->largest);
    json_real(json, "mean_percent", percent(w, w->mean));
    json_real(json, "largest_percent", percent(w, w->largest));
    json_count(json, "bytes_in", w->bytes_in);
    json_count(json, "bytes_out", w->bytes_out);
    json_close(json, '}');
    json_open(json, "cost", '{');
    json_count(json, "vertices", w->cost.vertex_count);
    json_real(json, "morph_seconds", w->cost.morph_seconds);
    json_real(json, "packed_seconds", w->cost.packed_seconds);
    json_real(json, "bone_seconds", w->cost.bone_seconds);
    json_real(json, "ratio", w->cost.morph_seconds / w->cost.bone_seconds);
    json_close(json, '}');
    json_open(json, "sliders", '[');
    for (uint32_t s = 0; s < r->slider_count; s++) {
        json_open(json, NULL, '{');
        json_text(json, "name", r->names[s]);
        json_count(json, "bones", w->written->sliders.sliders[s].move_count);
        json_flag(json, "morph", r->kept[s]);
        report_error(w, json, &w->errors[s]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "motions", '[');
    for (uint32_t m = 0; m < w->source->motion_count; m++) {
        json_open(json, NULL, '{');
        json_text(json, "name", w->source->motions[m].name);
        report_error(w, json, &w->motion_errors[m]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "seconds", '{');
    json_real(json, "load", w->seconds_load);
    json_real(json, "fit", w->report.seconds);
    json_real(json, "write", w->seconds_write);
    json_real(json, "total", w->seconds_total);
    json_close(json, '}');
}

static void print_sliders(const sliders_work *w, FILE *out) {
    enum { COLUMNS = 6 };
    static const char *const heads[COLUMNS] = {"slider", "bones", "mean", "%", "largest", "%"};
    size_t rows = (size_t)w->report.slider_count + 1;
    char **cells = must_alloc(rows * COLUMNS, sizeof *cells);
    for (size_t c = 0; c < COLUMNS; c++)
        cells[c] = must_format("%s", heads[c]);
    for (uint32_t s = 0; s < w->report.slider_count; s++) {
        char **row = cells + COLUMNS * (s + (size_t)1);
        const pelt_slider_error *e = &w->errors[s];
        row[0] = must_format("%s", shown_name(w->report.names[s]));
        make_printable(row[0]);
        row[1] =
            w->report.kept[s] ? must_format("morph") : must_format("%u", w->written->sliders.sliders[s].move_count);
        row[2] = must_format("%.3g", e->mean);
        row[3] = must_format("%.3f", percent(w, e->mean));
        row[4] = must_format("%.3g", e->largest);
        row[5] = must_format("%.3f", percent(w, e->largest));
    }
    columns_print(out, cells, rows, COLUMNS, 1);
    for (size_t c = 0; c < rows * COLUMNS; c++)
        free(cells[c]);
    free(cells);
}

static void report(sliders_work *w) {
    const pelt_sliders_report *r = &w->report;
    report_json(w, &w->session->report);
    w->session->report_done = true;
    report_page(w->session, w->written, NULL, 0, w->settings->fps);
    FILE *out = w->session->common.quiet ? NULL : w->session->out;
    if (!out)
        return;
    uint32_t kept = 0;
    for (uint32_t s = 0; s < r->slider_count; s++)
        kept += r->kept[s];
    cli_table table = {0};
    table_row(&table, "sliders", "%u on %s vertices%s", r->slider_count, grouped(r->vertex_count),
              kept > 0 ? "" : "; no morph target stays");
    if (kept > 0)
        table_row(&table, "", "%u of them stay morph targets", kept);
    table_row(&table, "bones", "%s, at most %u a vertex, %s transforms", grouped(r->bone_count), r->influence_count,
              grouped(r->move_count));
    table_row(&table, "mean error", "%.3g, %.4f %% of the height", w->mean, percent(w, w->mean));
    table_row(&table, "largest", "%.3g, %.3f %% of the height, by '%s' at vertex %u", w->largest,
              percent(w, w->largest), r->slider_count > 0 ? r->names[w->worst] : "",
              r->slider_count > 0 ? w->errors[w->worst].vertex : 0);
    for (uint32_t m = 0; m < w->source->motion_count; m++)
        table_row(&table, m == 0 ? "motions" : "", "mean %.3g (%.4f %%), largest %.3g (%.3f %%) in '%s'",
                  w->motion_errors[m].mean, percent(w, w->motion_errors[m].mean), w->motion_errors[m].largest,
                  percent(w, w->motion_errors[m].largest), w->source->motions[m].name);
    table_row(&table, "run time", "%.1f times as fast: morph targets %.1f us, bones %.1f us a pose of %s vertices",
              w->cost.morph_seconds / w->cost.bone_seconds, 1e6 * w->cost.morph_seconds, 1e6 * w->cost.bone_seconds,
              grouped(w->cost.vertex_count));
    table_row(&table, "", "morph targets packed to 16 bits, only where they move vertices: %.1f us",
              1e6 * w->cost.packed_seconds);
    table_row(&table, "size", "%s to %s", bytes_text(w->bytes_in), bytes_text(w->bytes_out));
    table_row(&table, "time", "%.3f s: load %.3f, fit %.3f, write %.3f", w->seconds_total, w->seconds_load, r->seconds,
              w->seconds_write);
    table_print(&table, out, w->settings->output);
    print_sliders(w, out);
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static pelt_result solve_and_write(sliders_work *w) {
    pelt_context *context = w->session->context;
    pelt_result result = pelt_model_borrow(context, w->source, &w->model);
    if (result == PELT_OK)
        result = pelt_decompose_sliders(context, w->model, &w->desc, &w->report);
    if (result != PELT_OK)
        return result;
    double start = px_seconds();
    pelt_save_desc save = pelt_save_desc_default();
    save.weights = w->settings->corrected.weights;
    rig_save(&w->settings->written, &save);
    save.compress = w->settings->compress;
    save.keep_order = true; /* so that vertices can be compared */
    result = pelt_save(context, w->model, w->settings->output, &save);
    w->seconds_write = px_seconds() - start;
    return result == PELT_OK ? measure(w) : result;
}

exit_code decompose_sliders(cli_session *session, const decompose_settings *settings, const char *const *paths,
                            size_t path_count) {
    sliders_work w = {.session = session, .settings = settings, .desc = settings->sliders};
    double start = px_seconds();
    target_limit(session, &settings->written, &w.desc.influences);
    for (size_t p = 0; p < path_count; p++)
        w.bytes_in += written_size(paths[p], 0);
    pelt_result result = pelt_load(session->context, paths, path_count, &settings->load, &w.source);
    w.seconds_load = px_seconds() - start;
    exit_code code = result == PELT_OK ? EXIT_DONE : session_fail(session, result);
    if (code == EXIT_DONE && w.source->morphs.morph_count == 0) {
        say(session, MESSAGE_ERROR, "%s: there are no morph targets in it to make sliders of", w.source->path);
        code = EXIT_INPUT;
    }
    if (code == EXIT_DONE)
        code = read_combinations(&w);
    if (code == EXIT_DONE && (result = solve_and_write(&w)) != PELT_OK)
        code = session_fail(session, result);
    w.bytes_out = written_size(settings->output, 0);
    w.seconds_total = px_seconds() - start;
    if (code == EXIT_DONE)
        report(&w);
    free(w.poses);
    free(w.errors);
    free(w.motion_errors);
    keep_model(session, w.source);
    keep_model(session, w.model);
    keep_model(session, w.written);
    return code;
}
