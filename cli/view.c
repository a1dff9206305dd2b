/* pelt view: an HTML page or images of a model. */
#include "cli.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct view_settings {
    pelt_load_desc load;
    picture_settings picture;
    const char *page;
    bool open;
    const char *source;
} view_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(view_settings, page), NULL, 0, 0, NULL, "PAGE", "HTML page to write"},
    {"open", 0, PELT_OPTION_FLAG, PELT_FIELD(view_settings, open), NULL, 0, 0, NULL, NULL,
     "open the page in a browser"},
    {"source", 0, PELT_OPTION_TEXT, PELT_FIELD(view_settings, source), NULL, 0, 0, NULL, "FILE",
     "source animation to compare with; repeat the option for a cache and its mesh"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {
        {"Options", own_table, 0},
        {"Options", picture_table, offsetof(view_settings, picture)},
        {"Picture", pelt_picture_options, offsetof(view_settings, picture.picture)},
        {"Input", pelt_load_options, offsetof(view_settings, load)},
};

static pelt_result load_source(cli_session *session, const view_settings *settings, pelt_model **source) {
    arg_list paths = option_values(session, "source");
    pelt_result result = PELT_OK;
    if (paths.count > 0)
        result = pelt_load(session->context, paths.items, paths.count, &settings->load, source);
    free(paths.items);
    return result;
}

/* Checks the settings before any work. */
static exit_code check(cli_session *session, view_settings *settings) {
    if (!settings->picture.png && !settings->page)
        return usage_error(session, "view needs an output: -o PAGE.html or --png FILE");
    if (session->common.page_path)
        return usage_error(session, "--report %s: view itself writes pages, with -o", session->common.page_path);
    if (settings->open && !settings->page)
        return usage_error(session, "--open needs a page: -o PAGE.html");
    const pelt_picture_desc *p = &settings->picture.picture;
    bool joint = p->mode == PELT_PICTURE_WEIGHTS || p->second_mode == PELT_PICTURE_WEIGHTS + 1 ||
                 p->mode == PELT_PICTURE_SUPPORT || p->second_mode == PELT_PICTURE_SUPPORT + 1;
    bool morph = p->mode == PELT_PICTURE_MORPH || p->second_mode == PELT_PICTURE_MORPH + 1;
    const idle_options rules[] = {
        {!settings->picture.png,
         "size width height frames sheet mode second-mode joint morph max motion rest frame time yaw pitch zoom "
         "fit-pose "
         "background skeleton wireframe floating no-legend labels columns rows samples",
         "without --png: a page has all of it at hand"},
        {!joint, "joint", "without --mode weights or support"},
        {!morph, "morph", "without --mode morph"},
    };
    exit_code code = options_check(session, rules, COUNT(rules));
    if (code == EXIT_DONE && settings->page)
        code = page_check(session, "-o", settings->page);
    return code == EXIT_DONE && settings->picture.png ? picture_check(session, &settings->picture) : code;
}

static exit_code write_page(cli_session *session, const view_settings *settings, pelt_model *model,
                            pelt_model *source) {
    double start = px_seconds();
    pelt_page_desc desc = pelt_page_desc_default();
    desc.fps = settings->picture.picture.fps;
    exit_code code = page_write(session, model, source, &desc, settings->page);
    if (code != EXIT_DONE)
        return code;
    page_report(session, settings->page, px_seconds() - start);
    if (settings->open)
        page_open(session, settings->page);
    return EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    view_settings settings = *(const view_settings *)given;
    if (arg_count == 0)
        return usage_error(session, "view needs an input");
    exit_code code = check(session, &settings);
    if (code != EXIT_DONE)
        return code;
    pelt_model *model = NULL, *source = NULL;
    pelt_result result = pelt_load(session->context, args, arg_count, &settings.load, &model);
    if (result == PELT_OK)
        result = load_source(session, &settings, &source);
    settings.picture.picture.source = source;
    if (result == PELT_OK && settings.picture.png)
        vertex_colors(session, model);
    if (result != PELT_OK)
        code = session_fail(session, result);
    if (code == EXIT_DONE && settings.picture.png)
        code = picture_draw(session, &settings.picture, model);
    if (code == EXIT_DONE && settings.page)
        code = write_page(session, &settings, model, source);
    pelt_model_destroy(source);
    pelt_model_destroy(model);
    return code;
}

static const example examples[] = {
    {"pelt view wolf.glb -o wolf.html --open", "write a page and open it in the browser"},
    {"pelt view horse.glb --source horse.obj --source horse.pc2 -o horse.html",
     "show a decomposed animation beside its source, with errors"},
    {"pelt view wolf.glb --png wolf.png", "draw the first frame of the first motion"},
    {"pelt view wolf.glb --png bones.png --mode bones --motion run --time 0.5",
     "draw every bone in a colour of its own"},
    {"pelt view wolf.glb --png paw.png --mode weights --joint paw_l --wireframe", "draw the weights of one joint"},
    {"pelt view horse.glb --source horse.obj --source horse.pc2 --png error.png --mode error --frame 12",
     "draw the distance of a decomposed animation from its source"},
    {"pelt view horse.obj horse.pc2 --png 'f_%03d.png' --frames 0:48:4", "draw f_000.png, f_004.png … f_044.png"},
    {"pelt view horse.obj horse.pc2 --png sheet.png --sheet --size 1600x900", "draw twelve frames in one picture"},
};

const cli_verb verb_view = {
    .name = "view",
    .summary = "show a model: an interactive HTML page, or PNG pictures",
    .usage = "pelt view INPUT… [-o PAGE] [--png FILE] [options]",
    .about =
        "The page is one HTML file that works without server and network. It plays and scrubs animations, shows the "
        "source beside the result, colours by bones, weights or errors, and lets you pick vertices and bones and pose "
        "joints.\n\n"
        "The camera of pictures frames the whole animation, so that pictures of different times match. A skeleton "
        "without a mesh is drawn as bones.\n\n"
        "Modes weights, error and displacement are coloured from pale to deep plum, mode influences from pale (1 bone) "
        "to deep blue (8); a colour bar shows the scale. Mode error shows the distance to --source at the same time, "
        "or, "
        "without a source, from a rig's motion to the cache given with it. Mode displacement shows the distance from "
        "the rest pose. Distances are in object units, up to --max.\n\n"
        "--sheet draws the frames of --frames in one picture, or twelve frames of the whole animation. --columns and "
        "--rows without --sheet spread cells evenly in time; --second-mode draws half of them in another mode.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(view_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
