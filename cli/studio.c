/* pelt studio: the studio page (web/, docs/studio.md) with files embedded. */
#include "cli.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct studio_settings {
    const char *output;
    const char *page;
    bool open;
} studio_settings;

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(studio_settings, output), "studio.html", 0, 0, NULL, "PAGE",
     "the page (.html)"},
    {"open", 0, PELT_OPTION_FLAG, PELT_FIELD(studio_settings, open), NULL, 0, 0, NULL, NULL,
     "open the page in the browser"},
    {"page", 0, PELT_OPTION_TEXT, PELT_FIELD(studio_settings, page), NULL, 0, 0, NULL, "FILE",
     "studio.html of 'make studio'; without this the one that is installed with pelt"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {{"Options", own_table, 0}};

/* Where the page is, from the folder of the program: installed, in the folder that an archive was unpacked to, in the build tree. */
static const char *const places[] = {"../share/pelt/studio.html", "share/pelt/studio.html", "../../studio/studio.html"};

/* Finds the page; NULL: there is none. Freed by the caller. */
static char *find_page(void) {
    char program[PX_PATH_SIZE];
    if (!px_program_path(program))
        return NULL;
    int folder = (int)(px_path_name(program) - program);
    for (size_t n = 0; n < COUNT(places); n++) {
        char *path = must_format("%.*s%s", folder, program, places[n]);
        uint64_t size;
        if (px_path_look(path, &size) == PX_PATH_FILE)
            return path;
        free(path);
    }
    return NULL;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const studio_settings *settings = given;
    double start = px_seconds();
    if (session->common.page_path)
        return usage_error(session, "--report %s: studio itself writes a page, with -o", session->common.page_path);
    size_t length = strlen(settings->output);
    if (strncmp(settings->output, "/dev/", 5) != 0 &&
        (length <= 5 || strcmp(settings->output + length - 5, ".html") != 0))
        return usage_error(session, "-o %s: a page's name must end in .html", settings->output);
    char *page = settings->page ? must_format("%s", settings->page) : find_page();
    if (!page) {
        say(session, MESSAGE_ERROR,
            "the studio page is not installed with this program: run 'make studio' in Pelt's source folder, which "
            "needs "
            "emscripten, and name build/studio/studio.html with --page");
        return session_exit_code(PELT_ERROR_UNSUPPORTED);
    }
    pelt_result result = pelt_studio_save(session->context, page, args, arg_count, settings->output);
    free(page);
    if (result != PELT_OK)
        return session_fail(session, result);
    page_report(session, settings->output, px_seconds() - start);
    if (settings->open)
        page_open(session, settings->output);
    return EXIT_DONE;
}

static const example examples[] = {
    {"pelt studio --open", "write studio.html and open it in the browser"},
    {"pelt studio flag.obj flag.pc2 -o flag.html", "a page that opens with an animation, to send by mail"},
};

const cli_verb verb_studio = {
    .name = "studio",
    .summary = "write the studio: all of Pelt as one HTML page, with files in it",
    .usage = "pelt studio [FILE…] [-o PAGE] [options]",
    .about =
        "The studio is the page of 'pelt view' with the engine as WebAssembly: it opens models, decomposes, binds, "
        "corrects, simulates, simplifies and retargets them in the browser, without server and network. Files that "
        "are given here are embedded, and open with the page: one model with its caches, buffers and pictures.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(studio_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
