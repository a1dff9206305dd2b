/* Reports of pelt study: text table, CSV, JSON, and curves. */
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ------------------------------------------------------------------------------------------------- */

/* "FESAM + 10"; freed by the caller. */
static char *row_title(const study_row *row) {
    return row->corrections ? must_format("%s + %u", row->method->title, row->corrections)
                            : must_format("%s", row->method->title);
}

static char *row_contents(const study_row *row) {
    if (row->components)
        return row->bones > 1 ? must_format("%u clusters of %u components", row->bones, row->components)
                              : must_format("%u components", row->components);
    const char *kind = row->method->transforms == PELT_TRANSFORMS_RIGID ? "rigid" : "affine",
               *s = row->bones == 1 ? "" : "s";
    return row->corrections ? must_format("%u %s bone%s, %u morphs", row->bones, kind, s, row->corrections)
                            : must_format("%u %s bone%s", row->bones, kind, s);
}

static const char *const headings[] = {"method",       "stored",      "E_rms",  "E_kg %", "ratio",    "seconds",
                                       "bytes/vertex", "bytes/frame", "init s", "step s", "normals °"};

static void print_table(const study_work *w) {
    size_t columns = COUNT(headings), count = columns * (w->row_count + 1);
    char **cells = must_alloc(count, sizeof *cells), **cell = cells;
    for (size_t c = 0; c < columns; c++)
        *cell++ = must_format("%s", headings[c]);
    for (const study_row *row = w->rows; row < w->rows + w->row_count; row++) {
        *cell++ = row_title(row);
        *cell++ = row_contents(row);
        *cell++ = must_format("%.4g", row->error.error_rms);
        *cell++ = must_format("%.4g", row->error.error_kg);
        *cell++ = must_format("%.1f", row->ratio);
        *cell++ = must_format("%.2f", row->seconds);
        *cell++ = must_format("%s", grouped((uint64_t)row->vertex_bytes));
        *cell++ = must_format("%s", grouped((uint64_t)row->frame_bytes));
        *cell++ = must_format("%.3f", row->seconds_init);
        *cell++ = row->seconds_step > 0 ? must_format("%.3f", row->seconds_step) : must_format("–");
        *cell++ = isnan(row->error.normal_degrees) ? must_format("–") : must_format("%.2f", row->error.normal_degrees);
    }
    terminal_clear();
    fprintf(w->session->out, "%s vertices, %s frames\n", grouped(w->whole.point_count), grouped(w->whole.frame_count));
    columns_print(w->session->out, cells, w->row_count + 1, columns, 2);
    for (size_t c = 0; c < count; c++)
        free(cells[c]);
    free(cells);
}

/* Titles need no quoting: none contains a comma or a quote. */
static char *csv_text(const study_work *w) {
    char *text = must_format(
        "method,bones,components,corrections,E_rms,E_kg,E_max,ratio,seconds,bytes_per_vertex,bytes_per_frame,"
        "seconds_init,seconds_step,normal_degrees\n");
    for (const study_row *row = w->rows; row < w->rows + w->row_count; row++) {
        char *longer =
            must_format("%s%s,%u,%u,%u,%.9g,%.9g,%.9g,%.9g,%.3f,%.0f,%.0f,%.3f,%.4f,%.9g\n", text, row->method->title,
                        row->bones, row->components, row->corrections, row->error.error_rms, row->error.error_kg,
                        row->error.error_max, row->ratio, row->seconds, row->vertex_bytes, row->frame_bytes,
                        row->seconds_init, row->seconds_step, row->error.normal_degrees);
        free(text);
        text = longer;
    }
    return text;
}

/* ---- Curves ----------------------------------------------------------------------------------------------- */

static plot_series *add_series(plot *p, char *name, uint32_t colour, bool dashed, size_t most) {
    p->series = must_resize(p->series, p->count + 1, sizeof *p->series);
    p->series[p->count] = (plot_series){name, colour, dashed, must_alloc(most, sizeof(double[2])), 0};
    return &p->series[p->count++];
}

static void add_point(plot_series *s, double x, double y) {
    s->points[s->count][0] = x;
    s->points[s->count++][1] = y;
}

/* Two series per method: without and with corrections. A principal component counts as a quarter of a bone, because it
 * stores a quarter of the data per frame. */
static plot bones_plot(const study_work *w) {
    plot p = {.title = "error against bones", .x = "bones (clusters; components / 4)"};
    for (size_t m = 0; m < study_method_count; m++)
        for (int corrected = 0; corrected < 2; corrected++) {
            plot_series *series = NULL;
            for (const study_row *row = w->rows; row < w->rows + w->row_count; row++) {
                if (row->method != &study_methods[m] || (row->corrections > 0) != corrected)
                    continue;
                if (!series)
                    series = add_series(&p, row_title(row), (uint32_t)m, corrected, w->row_count);
                add_point(series, row->components ? row->bones * row->components / 4.0 : row->bones,
                          row->error.error_rms);
            }
        }
    return p;
}

/* A series per method, from its row with the most bones; and one for principal components alone. */
static plot ranks_plot(const study_work *w) {
    plot p = {.title = "error against corrections", .x = "morph targets (components)"};
    uint32_t most = 0;
    for (size_t m = 0; m < study_method_count; m++) {
        const study_row *largest = NULL;
        for (const study_row *row = w->rows; row < w->rows + w->row_count; row++)
            if (row->method == &study_methods[m] && row->rank_errors && (!largest || row->bones > largest->bones))
                largest = row;
        if (!largest)
            continue;
        most = largest->corrections > most ? largest->corrections : most;
        plot_series *series = add_series(
            &p, must_format("%s, %u bone%s", largest->method->title, largest->bones, largest->bones == 1 ? "" : "s"),
            (uint32_t)m, false, largest->corrections + (size_t)1);
        for (uint32_t r = 0; r <= largest->corrections; r++)
            add_point(series, r, largest->rank_errors[r]);
    }
    uint32_t count = 0;
    const double *errors = w->study ? pelt_study_errors(w->study, &count) : NULL;
    if (!errors || most == 0)
        return p;
    uint32_t svd = 0;
    while (svd + 1 < study_method_count && strcmp(study_methods[svd].name, "svd") != 0)
        svd++;
    plot_series *series = add_series(&p, must_format("SVD"), svd, false, most);
    for (uint32_t r = 1; r <= most && r < count; r++)
        add_point(series, r, errors[r]);
    return p;
}

static void free_plot(plot *p) {
    for (size_t n = 0; n < p->count; n++) {
        free(p->series[n].name);
        free(p->series[n].points);
    }
    free(p->series);
}

/* ---- Reports ---------------------------------------------------------------------------------------------- */

static void report_rows(const study_work *w, cli_json *json) {
    json_open(json, "input", '{');
    json_count(json, "vertices", w->whole.point_count);
    json_count(json, "frames", w->whole.frame_count);
    json_count(json, "triangles", w->source->mesh.triangle_count);
    json_close(json, '}');
    json_open(json, "rows", '[');
    for (const study_row *row = w->rows; row < w->rows + w->row_count; row++) {
        json_open(json, NULL, '{');
        json_text(json, "method", row->method->title);
        json_count(json, "bones", row->bones);
        json_count(json, "components", row->components);
        json_count(json, "corrections", row->corrections);
        json_real(json, "error_rms", row->error.error_rms);
        json_real(json, "error_kg", row->error.error_kg);
        json_real(json, "error_max", row->error.error_max);
        json_real(json, "ratio", row->ratio);
        json_real(json, "seconds", row->seconds);
        json_real(json, "bytes_per_vertex", row->vertex_bytes);
        json_real(json, "bytes_per_frame", row->frame_bytes);
        json_count(json, "negative_vertices", row->negative);
        json_real(json, "seconds_init", row->seconds_init);
        json_real(json, "seconds_step", row->seconds_step);
        json_real(json, "normal_degrees", row->error.normal_degrees);
        json_real(json, "normal_rms", row->error.normal_rms);
        json_real(json, "skinned_normal_rms", row->skinned_normal_rms);
        json_real(json, "near_rigid", row->near_rigid);
        if (row->components == 0)
            json_reals(json, "weight_quantiles", row->weights, STUDY_QUANTILES);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void report_curves(const plot *plots, size_t count, cli_json *json) {
    json_open(json, "curves", '[');
    for (size_t p = 0; p < count; p++)
        for (const plot_series *s = plots[p].series; s < plots[p].series + plots[p].count; s++) {
            char *title = must_format("%s: %s", s->name, plots[p].title);
            if (s->count > 1)
                report_curve(json, title, plots[p].x, "E_rms", (const double(*)[2])s->points, s->count);
            free(title);
        }
    json_close(json, ']');
}

static exit_code write_text(study_work *w, const char *path, char *text) {
    bool first = pelt_group_rank(w->session->context) == 0; /* of a group, one process writes */
    pelt_result result = first ? pelt_file_write(w->session->context, path, text, strlen(text)) : PELT_OK;
    free(text);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static pelt_result show_best(study_work *w) {
    uint32_t count = w->source->clip_count;
    uint32_t *motions = w->best ? pelt_model_alloc(w->session->context, w->best, count, sizeof *motions) : NULL;
    if (!motions)
        return w->best ? PELT_ERROR_MEMORY : PELT_OK;
    for (uint32_t c = 0; c < count; c++)
        motions[c] = c;
    report_page(w->session, w->best, w->source->clips, count, w->settings->fps)->motions = motions;
    return PELT_OK;
}

exit_code study_report(study_work *w) {
    plot plots[] = {bones_plot(w), ranks_plot(w)};
    size_t plot_count = plots[1].count > 0 ? 2 : 1;
    report_rows(w, &w->session->report);
    report_curves(plots, plot_count, &w->session->report);
    w->session->report_done = true;
    exit_code code = EXIT_DONE;
    if (w->settings->csv)
        code = write_text(w, w->settings->csv, csv_text(w));
    if (code == EXIT_DONE && w->settings->svg) {
        char *name = input_name(&(cli_input){(const char **)(uintptr_t)w->paths, w->path_count});
        code = write_text(w, w->settings->svg, plot_svg(name, plots, plot_count));
        free(name);
    }
    for (size_t p = 0; p < COUNT(plots); p++)
        free_plot(&plots[p]);
    if (w->session->out && !w->session->common.quiet)
        print_table(w);
    pelt_result shown = show_best(w);
    return code == EXIT_DONE && shown != PELT_OK ? session_fail(w->session, shown) : code;
}
