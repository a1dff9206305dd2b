/* pelt view: a picture of a model. */
#include "cli.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct view_settings {
    pelt_load_desc load;
    pelt_picture_desc picture;
    const char *png;
    const char *size;
    const char *sheet;
} view_settings;

static const pelt_option own_options[] = {
    {"png", 'o', PELT_OPTION_TEXT, offsetof(view_settings, png), NULL, 0, 0, NULL, "FILE", "the picture to write"},
    {"size", 0, PELT_OPTION_TEXT, offsetof(view_settings, size), NULL, 0, 0, NULL, "WIDTHxHEIGHT",
     "width and height at once, as in 1280x720"},
    {"sheet", 0, PELT_OPTION_TEXT, offsetof(view_settings, sheet), NULL, 0, 0, NULL, "COLUMNSxROWS",
     "columns and rows at once: several moments, evenly spread over the animation"},
};
OPTION_TABLE(own_table, own_options)

static const option_group groups[] = {
    {"Options", own_table, 0},
    {"Picture", pelt_picture_options, offsetof(view_settings, picture)},
    {"Input", pelt_load_options, offsetof(view_settings, load)},
};

/* "1280x720" as two options of the picture, checked by their table. */
static exit_code set_pair(cli_session *session, const char *name, const char *text, const char *first,
                          const char *second, pelt_picture_desc *picture) {
    const char *cross = strchr(text, 'x');
    if (!cross || cross == text || !cross[1])
        return usage_error(session, "--%s %s: give two numbers with an x between, as in 4x2", name, text);
    size_t option_count;
    const pelt_option *options = pelt_picture_options(&option_count);
    char *left = must_format("%.*s", (int)(cross - text), text);
    pelt_result result = pelt_options_set(session->context, options, option_count, picture, first, left);
    if (result == PELT_OK)
        result = pelt_options_set(session->context, options, option_count, picture, second, cross + 1);
    free(left);
    return result == PELT_OK ? EXIT_DONE
                             : usage_error(session, "--%s %s: %s", name, text, pelt_error_text(session->context));
}

/* What is wrong with the settings is told before any work. */
static exit_code check(cli_session *session, const view_settings *settings, pelt_picture_desc *picture) {
    if (!settings->png)
        return usage_error(session, "view needs an output: --png FILE");
    size_t length = strlen(settings->png);
    bool device = strncmp(settings->png, "/dev/", 5) == 0;
    if (!device && (length < 4 || strcmp(settings->png + length - 4, ".png") != 0))
        return usage_error(session, "--png %s: the name must end in .png", settings->png);
    exit_code code = EXIT_DONE;
    if (settings->size)
        code = set_pair(session, "size", settings->size, "width", "height", picture);
    if (code == EXIT_DONE && settings->sheet)
        code = set_pair(session, "sheet", settings->sheet, "columns", "rows", picture);
    return code;
}

static void report(cli_session *session, const char *path, const pelt_picture_desc *picture, double seconds) {
    uint64_t bytes = written_size(path, 0);
    cli_json *json = &session->report;
    json_text(json, "output", path);
    json_count(json, "width", picture->width);
    json_count(json, "height", picture->height);
    json_count(json, "panels", (uint64_t)picture->columns * picture->rows);
    json_count(json, "bytes", bytes);
    json_real(json, "seconds", seconds);
    session->report_done = true;
    cli_table table = {0};
    table_row(&table, "size", "%u × %u pixels", picture->width, picture->height);
    if (picture->columns * picture->rows > 1)
        table_row(&table, "sheet", "%u × %u moments", picture->columns, picture->rows);
    table_row(&table, "written", "%s", bytes_text(bytes));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, session->common.quiet ? NULL : session->out, path);
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const view_settings *settings = given;
    if (arg_count == 0)
        return usage_error(session, "view needs an input");
    pelt_picture_desc picture = settings->picture;
    exit_code code = check(session, settings, &picture);
    if (code != EXIT_DONE)
        return code;
    double start = now();
    pelt_model *model;
    pelt_result result = pelt_load(session->context, args, arg_count, &settings->load, &model);
    if (result != PELT_OK)
        return session_fail(session, result);
    result = pelt_picture_save(session->context, model, &picture, settings->png);
    pelt_model_destroy(model);
    if (result != PELT_OK)
        return session_fail(session, result);
    report(session, settings->png, &picture, now() - start);
    return EXIT_DONE;
}

static const example examples[] = {
    {"pelt view wolf.glb --png wolf.png", "the first frame of the first motion"},
    {"pelt view wolf.glb --png bones.png --mode bones --motion run --time 0.5", "a colour for every bone"},
    {"pelt view wolf.glb --png paw.png --mode weights --joint paw_l --wireframe", "where one joint pulls"},
    {"pelt view mesh.obj cache.pc2 --png sheet.png --sheet 4x2 --size 1600x600", "eight moments of a cache"},
};

const cli_verb verb_view = {
    .name = "view",
    .summary = "draw a picture of a model: shaded, bones, weights, parts",
    .usage = "pelt view INPUT --png FILE [options]",
    .about =
        "The camera holds everything the animation moves through, so that pictures of different moments match. "
        "Colours of mode weights go from pale (0) to deep plum (1), those of mode influences from pale (1 bone) to "
        "deep blue (8).",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(view_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
