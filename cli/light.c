/* pelt light: bakes the lighting of a moving rig into vertex colours with morph targets. */
#include "cli.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct light_settings {
    const char *output;
    pelt_light_desc desc;
    pelt_load_desc load;
} light_settings;

#define FIELD(name) PELT_FIELD(light_settings, name)
static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, FIELD(output), NULL, 0, 0, NULL, "FILE",
     "the rig (.glb, .gltf); may be the input"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {{"Options", own_table, 0},
                                          {"Light", pelt_light_options, offsetof(light_settings, desc)},
                                          {"Reading", pelt_load_options, offsetof(light_settings, load)}};

/* One run. */
typedef struct work {
    cli_session *session;
    const light_settings *settings;
    pelt_light_desc desc;
    pelt_model *rig;
    bool painted; /* the file has vertex colours */
    pelt_light_report report;
    uint64_t bytes;
} work;

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static exit_code check(work *w) {
    const light_settings *settings = w->settings;
    exit_code code = output_rig(w->session, settings->output);
    const idle_options rules[] = {
        {settings->desc.kind == PELT_LIGHT_AMBIENT, "sky ground", "without --kind sky or transfer"},
        {settings->desc.kind != PELT_LIGHT_TRANSFER, "sun sun-color bands transfer-rank", "without --kind transfer"}};
    return code == EXIT_DONE ? options_check(w->session, rules, COUNT(rules)) : code;
}

static exit_code light_and_write(work *w, const char *path) {
    pelt_context *context = w->session->context;
    pelt_result result = pelt_load(context, &path, 1, &w->settings->load, &w->rig);
    if (result == PELT_OK)
        w->painted = vertex_colors(w->session, w->rig);
    if (result == PELT_OK)
        result = pelt_light(context, w->rig, &w->desc, &w->report);
    if (result == PELT_OK)
        result = pelt_save(context, w->rig, w->settings->output, NULL);
    if (result != PELT_OK)
        return session_fail(w->session, result);
    w->bytes = written_size(w->settings->output, 0);
    report_page(w->session, w->rig, NULL, 0, w->report.fps);
    return EXIT_DONE;
}

/* ---- Report ----------------------------------------------------------------------------------------------- */

static void report_json(const work *w, double seconds) {
    const pelt_light_report *r = &w->report;
    cli_json *json = &w->session->report;
    json_text(json, "output", w->settings->output);
    json_count(json, "frames", r->frame_count);
    json_real(json, "fps", r->fps);
    json_count(json, "vertices", r->vertex_count);
    json_count(json, "rays", r->ray_count);
    json_count(json, "rank", r->rank);
    json_real(json, "mean", r->mean);
    json_real(json, "change_rms", r->change_rms);
    json_real(json, "error_rms", r->error_rms);
    json_real(json, "error_max", r->error_max);
    json_reals(json, "svd_errors", r->bounds, (size_t)r->rank + 1);
    if (r->transfer_rank > 0) {
        json_count(json, "coefficients", r->coefficient_count);
        json_count(json, "transfer_rank", r->transfer_rank);
        json_reals(json, "transfer_errors", r->transfer_bounds, (size_t)r->transfer_rank + 1);
    }
    json_count(json, "bytes", w->bytes);
    json_real(json, "seconds", seconds);
    w->session->report_done = true;
}

static void report_table(const work *w, double seconds) {
    const pelt_light_report *r = &w->report;
    cli_table table = {0};
    table_row(&table, "light", "of %s frames (%.3g a second) at %s welded vertices, %s rays", grouped(r->frame_count),
              r->fps, grouped(r->vertex_count), grouped(r->ray_count));
    table_row(&table, "colours", "%.3f on average, E_rms %.4f from their means over time", r->mean, r->change_rms);
    table_row(&table, "patterns", "%u, E_rms %.4f, at most %.3f", r->rank, r->error_rms, r->error_max);
    table_row(&table, "", "%u patterns cannot come nearer than %.4f", r->rank, r->bounds[r->rank]);
    if (r->transfer_rank > 0)
        table_row(&table, "transfer", "%u coefficients in %u patterns, E_rms %.5f of %.5f", r->coefficient_count,
                  r->transfer_rank, r->transfer_bounds[r->transfer_rank], r->transfer_bounds[0]);
    table_row(&table, "size", "%s", bytes_text(w->bytes));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, w->session->common.quiet ? NULL : w->session->out, w->settings->output);
}

static void warn_all(const work *w) {
    if (w->rig->motion_count == 0)
        warn(w->session, "the rig has no motion: its colours are the light of the rest pose, and nothing morphs");
    if (w->painted)
        warn(w->session, "the file has vertex colours: the light falls on them; their alpha is not kept");
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const light_settings *settings = given;
    work w = {.session = session, .settings = settings, .desc = settings->desc};
    double start = px_seconds();
    exit_code code = check(&w);
    if (code == EXIT_DONE && arg_count != 1)
        code = usage_error(session, "light needs one input, a rig; %zu are given", arg_count);
    if (code != EXIT_DONE)
        return code;
    session->hold_warnings = true; /* until the table is printed */
    code = light_and_write(&w, args[0]);
    if (code == EXIT_DONE) {
        double seconds = px_seconds() - start;
        report_json(&w, seconds);
        report_table(&w, seconds);
        warn_all(&w);
    }
    show_warnings(session);
    session->hold_warnings = false;
    keep_model(session, w.rig);
    return code;
}

static const example examples[] = {
    {"pelt light hero.glb -o lit.glb", "ambient occlusion of all motions, in 4 patterns"},
    {"pelt light hero.glb -o lit.glb --rank 8 --fps 15", "more patterns, of fewer frames"},
    {"pelt light hero.glb -o lit.glb --kind sky --sky 0.6,0.8,1 --ground 0.3,0.2,0.1", "a blue sky over brown earth"},
    {"pelt light hero.glb -o lit.glb --kind transfer --bounce 0.5 --floor", "for a light that the page can turn"},
};

const cli_verb verb_light = {
    .name = "light",
    .summary = "bake ambient occlusion, sky light or radiance transfer of a moving rig",
    .usage = "pelt light RIG -o FILE [options]",
    .about = "For every frame of every motion, rays measure how much light reaches each vertex past the rest of the "
             "rig. The colours of all frames are factored into a few patterns: vertex colours (COLOR_0) hold the mean, "
             "a morph target holds the colours of each pattern, and an animation channel its weights.\n\nPlayers that "
             "do not morph colours show the mean.\n\n--kind transfer measures how each vertex responds to light from "
             "anywhere "
             "(precomputed radiance transfer, in spherical harmonics). The page of --report, or of pelt view -o, "
             "relights such a file; "
             "other players show vertex colours in the light of --sun, --sky and --ground.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(light_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
