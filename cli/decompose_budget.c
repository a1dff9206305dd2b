/* pelt decompose --budget and --max-error: limits are parsed, the library chooses, trials are reported. */
#include "decompose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double parse_length(const char *text, double size) {
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1}, {"mm", 1e-3}, {"cm", 1e-2}, {"m", 1}};
    char *end;
    double value = strtod(text, &end);
    while (*end == ' ')
        end++;
    if (end == text || !(value > 0) || !(value < 1e30))
        return NAN;
    if (strcmp(end, "%") == 0)
        return value / 100 * size;
    for (size_t u = 0; u < COUNT(units); u++)
        if (strcmp(end, units[u].name) == 0)
            return value * units[u].factor;
    return NAN;
}

/* Sets the limits of a list "bones 64, bytes 2M". On failure *bad [*length] is the entry that was not understood. */
static bool parse_limits(const cli_session *session, const char *text, pelt_budget_desc *desc, const char **bad,
                         size_t *length) {
    static const char *const names[] = {"bones", "influences", "morphs", "bytes"};
    while (*text) {
        char name[16], value[32], option[32];
        int used = 0;
        bool known = false;
        *bad = text;
        *length = strcspn(text, ",");
        if (sscanf(text, " %15[a-z] %31[0-9.kKmMgG] %n", name, value, &used) != 2 || (text[used] && text[used] != ','))
            return false;
        for (size_t n = 0; n < COUNT(names); n++)
            known |= strcmp(name, names[n]) == 0;
        snprintf(option, sizeof option, "budget-%s", name);
        if (!known || pelt_options_set(session->context, pelt_budget_options(), desc, option, value) != PELT_OK)
            return false;
        text += used + (text[used] == ',');
    }
    return true;
}

exit_code budget_check(const cli_session *session, const decompose_settings *settings) {
    pelt_budget_desc desc = pelt_budget_desc_default();
    const char *bad;
    size_t length;
    if (settings->budget && !parse_limits(session, settings->budget, &desc, &bad, &length))
        return usage_error(
            session,
            "--budget: '%.*s' is no limit; there are bones N, influences K, morphs R and bytes SIZE, with "
            "commas between",
            (int)length, bad);
    if (settings->max_error && isnan(parse_length(settings->max_error, 1)))
        return usage_error(session, "--max-error %s: it takes a length such as 0.01, 1mm, 0.5cm or 1%%",
                           settings->max_error);
    if (settings->max_error && desc.bytes > 0)
        return usage_error(session, "--max-error asks for the smallest file: --budget may not have bytes then");
    return EXIT_DONE;
}

pelt_result decompose_in_budget(decompose_work *w) {
    pelt_context *context = w->session->context;
    pelt_budget_desc desc = pelt_budget_desc_default();
    pelt_difference still = {0};
    const char *bad;
    size_t length;
    pelt_result result = PELT_OK;
    desc.influences =
        target_of(&w->settings->written)->influences < 4 ? target_of(&w->settings->written)->influences : 4;
    if (w->settings->budget)
        parse_limits(w->session, w->settings->budget, &desc, &bad, &length);
    desc.one_kind = option_given(w->session, "transforms");
    desc.smallest = w->settings->smallest;
    for (uint32_t c = 0; w->settings->max_error && c < w->model->clip_count && result == PELT_OK; c++)
        if (w->model->clips[c].frame_count > 0 && still.frame_count == 0)
            result = pelt_compare_clips(context, &w->model->clips[c], &w->model->clips[c], NULL, &still, NULL);
    if (w->settings->max_error)
        desc.max_error = parse_length(w->settings->max_error, 2 * still.ball.radius);
    double start = px_seconds();
    if (result == PELT_OK)
        result = pelt_decompose_budget(context, w->model, &w->desc, &desc, w->settings->output, &w->budget);
    pelt_decompose_report *r = &w->report.decompose;
    r->bone_count = w->budget.chosen.bones;
    r->influence_count = desc.influences;
    r->seconds_solve = px_seconds() - start;
    w->bytes_out = written_size(w->settings->output, 0);
    return result;
}

static const char *kind_name(uint32_t transforms) {
    static const char *const names[] = {"affine", "trs", "rigid", "similarity"};
    return transforms < COUNT(names) ? names[transforms] : "";
}

void budget_json(cli_json *json, const pelt_budget_report *report) {
    json_open(json, "budget", '{');
    json_flag(json, "met", report->met);
    json_text(json, "transforms", kind_name(report->chosen.transforms));
    json_count(json, "morphs", report->chosen.morphs);
    json_count(json, "key_frames", report->chosen.key_count);
    json_real(json, "error_max_units", report->chosen.error_max_units);
    json_count(json, "numbers_bytes", report->numbers_bytes);
    json_open(json, "trials", '[');
    for (uint32_t t = 0; t < report->trial_count; t++) {
        const pelt_budget_trial *trial = &report->trials[t];
        json_open(json, NULL, '{');
        json_count(json, "bones", trial->bones);
        json_text(json, "transforms", kind_name(trial->transforms));
        json_count(json, "morphs", trial->morphs);
        json_count(json, "key_frames", trial->key_count);
        json_real(json, "error_rms", trial->error_rms);
        json_real(json, "error_max_units", trial->error_max_units);
        json_count(json, "bytes", trial->bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void budget_rows(cli_table *table, const decompose_work *w) {
    const pelt_budget_report *r = &w->budget;
    table_row(table, "kind", "%s", kind_name(r->chosen.transforms));
    if (r->chosen.morphs > 0)
        table_row(table, "morphs", "%u", r->chosen.morphs);
    table_row(table, "keys", "at %s of %s frames", grouped(r->chosen.key_count), grouped(w->frame_count));
    for (uint32_t t = 0; t < r->trial_count; t++) {
        const pelt_budget_trial *trial = &r->trials[t];
        table_row(table, t == 0 ? "tried" : "", "%u %s bones, %u morphs, %u keys: %.4g off, E_rms %.4g, %s%s",
                  trial->bones, kind_name(trial->transforms), trial->morphs, trial->key_count, trial->error_max_units,
                  trial->error_rms, trial->bytes ? bytes_text(trial->bytes) : "too far off",
                  memcmp(trial, &r->chosen, sizeof *trial) == 0 ? " (chosen)" : "");
    }
}
