/* Results of pelt batch: a table, the report, a page. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 20u /* failed commands that the table lists */

typedef struct totals {
    uint32_t done, skipped, missed, failed, limited, stopped, left;
    double cpu;
    double busy; /* seconds of all commands that ran, as a fraction of the time for which they could */
} totals;

static uint32_t at_once(const batch_work *w) {
    return w->slot_count * (w->session->group ? w->session->group->size : 1);
}

/* "done", "failed: exit code 2" …; *mark: a word for machines. */
static const char *outcome(const batch_result *r, const char **mark) {
    static char text[64];
    int code = (int)r->code, state = (int)r->state;
    *mark = state == BATCH_NONE      ? "not run"
            : state == BATCH_STOPPED ? "stopped"
            : code == BATCH_LIMITED  ? "time limit"
            : code == EXIT_QUALITY   ? "missed"
            : code != EXIT_DONE      ? "failed"
            : state == BATCH_SKIPPED ? "skipped"
                                     : "done";
    if (code >= 1000)
        snprintf(text, sizeof text, "failed: ended by signal %d", code - 1000);
    else if (strcmp(*mark, "failed") == 0)
        snprintf(text, sizeof text, "failed: exit code %d", code);
    else
        snprintf(text, sizeof text, "%s",
                 strcmp(*mark, "missed") == 0       ? "done, but a quality target was missed"
                 : strcmp(*mark, "time limit") == 0 ? "stopped: over its time limit"
                 : strcmp(*mark, "stopped") == 0    ? "stopped: interrupted"
                 : strcmp(*mark, "skipped") == 0    ? "done before"
                                                    : *mark);
    return text;
}

static totals add_up(const batch_work *w) {
    totals t = {0};
    for (uint32_t n = 0; n < w->list.job_count; n++) {
        const batch_result *r = &w->results[n];
        int code = (int)r->code, state = (int)r->state;
        t.cpu += r->cpu;
        if (state == BATCH_RUN && w->seconds > 0)
            t.busy += r->seconds / (w->seconds * at_once(w));
        t.left += state == BATCH_NONE;
        t.stopped += state == BATCH_STOPPED;
        t.skipped += state == BATCH_SKIPPED;
        if (state != BATCH_RUN)
            continue;
        t.done += code == EXIT_DONE || code == EXIT_QUALITY;
        t.missed += code == EXIT_QUALITY;
        t.limited += code == BATCH_LIMITED;
        t.failed += code != EXIT_DONE && code != EXIT_QUALITY && code != BATCH_LIMITED;
    }
    return t;
}

/* The last line of a log that is not empty, without control characters; freed by the caller. */
static char *last_line(const batch_work *w, const pelt_job *job) {
    char *path = batch_path(w, job, "log"), *text = file_text(path), *line = NULL;
    for (char *next = text; next;) {
        char *end = strchr(next, '\n');
        if (end)
            *end = 0;
        if (strncmp(next, "pelt: ", 6) == 0)
            line = next + 6;
        next = end ? end + 1 : NULL;
    }
    char *copy = must_format("%s", line ? line : "");
    make_printable(copy);
    free(text);
    free(path);
    return copy;
}

static void add_json(const batch_work *w, const totals *t) {
    cli_json *json = &w->session->report;
    json_text(json, "folder", w->folder);
    json_count(json, "done", t->done);
    json_count(json, "skipped", t->skipped);
    json_count(json, "missed", t->missed);
    json_count(json, "failed", t->failed);
    json_count(json, "time_limit", t->limited);
    json_count(json, "stopped", t->stopped);
    json_count(json, "not_run", t->left);
    json_count(json, "at_once", at_once(w));
    json_real(json, "busy", t->busy);
    json_real(json, "seconds", w->seconds);
    json_real(json, "cpu_seconds", t->cpu);
    json_open(json, "jobs", '[');
    for (uint32_t n = 0; n < w->list.job_count; n++) {
        const batch_result *r = &w->results[n];
        const char *mark;
        outcome(r, &mark);
        json_open(json, NULL, '{');
        json_text(json, "name", w->list.jobs[n].name);
        json_text(json, "result", mark);
        if (r->state != BATCH_NONE && (int)r->code < BATCH_LIMITED)
            json_count(json, "exit_code", (uint64_t)r->code);
        if ((int)r->code >= 1000)
            json_count(json, "signal", (uint64_t)r->code - 1000);
        json_real(json, "started", r->started);
        json_real(json, "seconds", r->seconds);
        json_real(json, "cpu_seconds", r->cpu);
        json_count(json, "process", (uint64_t)r->process);
        json_close(json, '}');
    }
    json_close(json, ']');
    w->session->report_done = true;
}

static void add_html(cli_text *page, const char *text) {
    for (; *text; text++)
        if (strchr("<>&\"", *text))
            text_add(page, "&#%d;", *text);
        else
            text_add(page, "%c", *text);
}

/* One row per command, with links to its log and report. */
static exit_code write_page(const batch_work *w, const totals *t) {
    cli_text page = {0};
    text_add(&page, "<!doctype html><html lang=en><meta charset=utf-8><title>pelt batch</title>\n"
                    "<style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 12px;text-align:left}"
                    "tr.failed,tr.time{background:#fdd}tr.missed{background:#ffd}td.n{text-align:right}</style>\n");
    text_add(&page,
             "<h1>pelt batch</h1><p>%u done, %u done before, %u failed, %u over the time limit, %u not run; %.1f s\n"
             "<table><tr><th>job<th>result<th>seconds<th>CPU seconds<th>message<th>\n",
             t->done, t->skipped, t->failed, t->limited, t->left + t->stopped, w->seconds);
    for (uint32_t n = 0; n < w->list.job_count; n++) {
        const pelt_job *job = &w->list.jobs[n];
        const batch_result *r = &w->results[n];
        const char *mark, *text = outcome(r, &mark);
        bool failed = strcmp(mark, "failed") == 0 || strcmp(mark, "time limit") == 0;
        char *message = failed ? last_line(w, job) : must_format("%s", "");
        text_add(&page, "<tr class=%.*s><td>%s<td>%s<td class=n>%.2f<td class=n>%.2f<td>", (int)strcspn(mark, " "),
                 mark, job->name, text, r->seconds, r->cpu);
        add_html(&page, message);
        text_add(&page, "<td><a href=\"%s.log\">log</a> <a href=\"%s.json\">report</a>\n", job->name, job->name);
        free(message);
    }
    text_add(&page, "</table></html>\n");
    char *path = must_format("%s/index.html", w->folder);
    pelt_result result = pelt_file_write(w->session->context, path, page.data, page.size);
    free(path);
    free(page.data);
    return result == PELT_OK ? EXIT_DONE : session_fail(w->session, result);
}

static void print_table(const batch_work *w, const totals *t) {
    cli_table table = {0};
    uint32_t shown = 0;
    table_row(&table, "jobs", "%s: %u done, %u done before", grouped(w->list.job_count), t->done, t->skipped);
    if (t->missed)
        table_row(&table, "missed", "%u missed a quality target", t->missed);
    if (t->failed + t->limited)
        table_row(&table, "failed", "%u, and %u over the time limit", t->failed, t->limited);
    if (t->left + t->stopped)
        table_row(&table, "not run", "%u", t->left + t->stopped);
    table_row(&table, "time", "%.1f s; %u at once, for %.0f %% of the time; CPU time %.1f s", w->seconds, at_once(w),
              100 * t->busy, t->cpu);
    for (uint32_t n = 0; n < w->list.job_count; n++) {
        const char *mark, *text = outcome(&w->results[n], &mark);
        if ((strcmp(mark, "failed") != 0 && strcmp(mark, "time limit") != 0) || shown++ >= SHOWN)
            continue;
        char *message = last_line(w, &w->list.jobs[n]);
        table_row(&table, w->list.jobs[n].name, "%s%s%s", text, *message ? ": " : "", message);
        free(message);
    }
    if (shown > SHOWN)
        table_row(&table, "", "and %u more: see index.html", shown - SHOWN);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->folder);
}

exit_code batch_report(batch_work *w) {
    totals t = add_up(w);
    exit_code code = EXIT_DONE;
    add_json(w, &t);
    if (!w->session->group || w->session->group->rank == 0)
        code = write_page(w, &t);
    print_table(w, &t);
    if (px_program_interrupted()) {
        say(w->session, MESSAGE_ERROR, "interrupted");
        return EXIT_INTERRUPTED;
    }
    return code == EXIT_DONE && t.failed + t.limited + t.left + t.stopped > 0 ? EXIT_INPUT : code;
}
