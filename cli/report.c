/* End of a run: appends settings and warnings to the report, and writes it to --json and to the page of --report. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What verbs have to show ------------------------------------------------------------------------------ */

pelt_page_desc *report_page(cli_session *session, const pelt_model *model, const pelt_clip *clips, uint32_t clip_count,
                            double fps) {
    session->page_model = model;
    session->page = pelt_page_desc_default();
    session->page.clips = clips;
    session->page.clip_count = clip_count;
    session->page.fps = fps;
    return &session->page;
}

void keep_model(cli_session *session, pelt_model *model) {
    session->kept = must_resize(session->kept, session->kept_count + 1, sizeof *session->kept);
    session->kept[session->kept_count++] = model;
}

void report_curve(cli_json *json, const char *title, const char *x, const char *y, const double (*points)[2],
                  size_t count) {
    json_open(json, NULL, '{');
    json_text(json, "title", title);
    json_text(json, "x", x);
    json_text(json, "y", y);
    json_open(json, "points", '[');
    for (size_t n = 0; n < count; n++)
        json_reals(json, NULL, points[n], 2);
    json_close(json, ']');
    json_close(json, '}');
}

void report_normals(cli_json *json, const pelt_difference *d) {
    if (isnan(d->normal_rms))
        return;
    json_real(json, "normal_rms", d->normal_rms);
    json_real(json, "normal_degrees", d->normal_degrees);
    if (isnan(d->skinned_normal_rms))
        return;
    json_real(json, "skinned_normal_rms", d->skinned_normal_rms);
    json_real(json, "skinned_normal_degrees", d->skinned_normal_degrees);
    json_real(json, "inverse_normal_rms", d->inverse_normal_rms);
    json_real(json, "inverse_normal_degrees", d->inverse_normal_degrees);
    json_real(json, "accurate_normal_rms", d->accurate_normal_rms);
    json_real(json, "accurate_normal_degrees", d->accurate_normal_degrees);
}

void normal_rows(cli_table *table, const pelt_difference *d) {
    if (!isnan(d->normal_rms))
        table_row(table, "normals", "%.4g, %.3g° (of the triangles)", d->normal_rms, d->normal_degrees);
    if (!isnan(d->skinned_normal_rms))
        table_row(table, "",
                  "%.4g, %.3g° (skinned by the blended matrix, as three.js, Babylon.js and Godot do; %.3g° by its "
                  "inverse transposed, %.3g° accurate)",
                  d->skinned_normal_rms, d->skinned_normal_degrees, d->inverse_normal_degrees,
                  d->accurate_normal_degrees);
}

void report_steps(cli_json *json, const char *title, const char *x, const char *y, const double *values, size_t count) {
    double(*points)[2] = must_alloc(count, sizeof *points);
    for (size_t n = 0; n < count; n++) {
        points[n][0] = (double)n;
        points[n][1] = values[n];
    }
    report_curve(json, title, x, y, (const double(*)[2])points, count);
    free(points);
}

/* ---- Settings --------------------------------------------------------------------------------------------- */

typedef struct settings_report {
    cli_json *json;
    const void *settings;
} settings_report;

/* The name of the choice at an index; it has `length` bytes and no terminator. */
static const char *choice_name(const char *choices, uint32_t index, int *length) {
    for (; index > 0 && strchr(choices, '|'); index--)
        choices = strchr(choices, '|') + 1;
    *length = (int)strcspn(choices, "|");
    return choices;
}

static void report_choice(cli_json *json, const pelt_option *option, uint32_t index) {
    int length;
    const char *name = choice_name(option->choices, index, &length);
    char *text = must_format("%.*s", length, name);
    json_text(json, option->name, text);
    free(text);
}

static void report_field(cli_json *json, const pelt_option *option, const void *field) {
    switch (option->kind) {
    case PELT_OPTION_FLAG:
        json_flag(json, option->name, *(const bool *)field);
        break;
    case PELT_OPTION_UINT:
        json_count(json, option->name, *(const uint32_t *)field);
        break;
    case PELT_OPTION_REAL:
        json_real(json, option->name, *(const double *)field);
        break;
    case PELT_OPTION_SIZE:
        json_count(json, option->name, *(const size_t *)field);
        break;
    case PELT_OPTION_TEXT:
        if (*(const char *const *)field)
            json_text(json, option->name, *(const char *const *)field);
        break;
    case PELT_OPTION_CHOICE:
        report_choice(json, option, *(const uint32_t *)field);
        break;
    case PELT_OPTION_VECTOR:
        json_reals(json, option->name, field, 3);
        break;
    }
}

/* Writes a setting of the verb's own groups. Common options (threads, messages) do not change the result. */
static void report_option(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    (void)title;
    const settings_report *r = user;
    for (size_t g = 0; g < verb->group_count; g++) {
        const pelt_option_table *table = verb->groups[g].table();
        if (option >= table->rows && option < table->rows + table->count)
            report_field(r->json, option, (const char *)r->settings + verb->groups[g].offset + option->offset);
    }
}

/* ---- The end ---------------------------------------------------------------------------------------------- */

static void close_report(cli_session *session, const void *settings) {
    cli_json *json = &session->report;
    settings_report r = {json, settings};
    json_count(json, "peak_memory_bytes", pelt_context_memory(session->context).peak);
    json_open(json, "settings", '{');
    each_option(session->verb, report_option, &r);
    json_close(json, '}');
    json_open(json, "warnings", '[');
    for (size_t w = 0; w < session->warning_count; w++)
        json_text(json, NULL, session->warnings[w]);
    json_close(json, ']');
    json_close(json, '}');
}

static exit_code write_page(cli_session *session) {
    if (!session->page_model) {
        say(session, MESSAGE_ERROR, "--report: %s has nothing to show on a page", session->verb->name);
        return EXIT_USAGE;
    }
    char *report = must_format("%.*s", (int)session->report.size, session->report.data);
    session->page.report = report;
    pelt_result result =
        pelt_page_save(session->context, session->page_model, &session->page, session->common.page_path);
    free(report);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

exit_code report_finish(cli_session *session, const void *settings, exit_code code) {
    const common_settings *common = &session->common;
    close_report(session, settings);
    exit_code written = EXIT_DONE;
    bool first = !session->group || session->group->rank == 0; /* of a group, one process writes */
    if (common->json_path && session->report_done && first)
        written = json_write(session, &session->report, common->json_path);
    bool good = code == EXIT_DONE || code == EXIT_QUALITY; /* a missed quality target gets a page too */
    if (common->page_path && good && written == EXIT_DONE && first)
        written = write_page(session);
    terminal_clear();
    while (session->kept_count > 0)
        pelt_model_destroy(session->kept[--session->kept_count]);
    free(session->kept);
    return code == EXIT_DONE ? written : code;
}
