/* HTML pages that show a model beside its source. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

exit_code page_check(const cli_session *session, const char *option, const char *path) {
    size_t length = strlen(path);
    bool device = strncmp(path, "/dev/", 5) == 0;
    if (!device && (length <= 5 || strcmp(path + length - 5, ".html") != 0))
        return usage_error(session, "%s %s: a page's name must end in .html", option, path);
    if (pelt_page_supported())
        return EXIT_DONE;
    say(session, MESSAGE_ERROR,
        "%s %s: this build makes no pages: node or its packages were missing. Install nodejs and npm, run npm ci in "
        "Pelt's source folder and build again",
        option, path);
    return session_exit_code(PELT_ERROR_UNSUPPORTED);
}

/* Sets the clips of the page: the clips of the source, or its motions as clips if it has none. */
static pelt_result source_clips(cli_session *session, pelt_model *source, double fps, pelt_page_desc *desc) {
    desc->clips = source->clips;
    desc->clip_count = source->clip_count;
    if (source->clip_count > 0 || source->motion_count == 0)
        return PELT_OK;
    pelt_clip *clips = pelt_model_alloc(session->context, source, source->motion_count, sizeof *clips);
    if (!clips)
        return PELT_ERROR_MEMORY;
    pelt_result result = PELT_OK;
    for (uint32_t m = 0; m < source->motion_count && result == PELT_OK; m++)
        result =
            pelt_clip_from_motion(session->context, source, &source->motions[m], fps, PELT_SKINNING_LINEAR, &clips[m]);
    desc->clips = clips;
    desc->clip_count = source->motion_count;
    return result;
}

exit_code page_write(cli_session *session, pelt_model *model, pelt_model *source, const pelt_page_desc *given,
                     const char *path) {
    pelt_page_desc desc = *given;
    pelt_result result = PELT_OK;
    if (source) {
        result = pelt_model_take_points(session->context, model, source);
        if (result == PELT_OK)
            result = source_clips(session, source, desc.fps, &desc);
    } else {
        desc.clips = model->clips;
        desc.clip_count = model->clip_count;
    }
    if (result == PELT_OK)
        result = pelt_page_save(session->context, model, &desc, path);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

void page_report(cli_session *session, const char *path, double seconds) {
    uint64_t bytes = written_size(path, 0);
    cli_json *json = &session->report;
    json_open(json, "page", '{');
    json_text(json, "output", path);
    json_count(json, "bytes", bytes);
    json_real(json, "seconds", seconds);
    json_close(json, '}');
    session->report_done = true;
    cli_table table = {0};
    table_row(&table, "written", "%s", bytes_text(bytes));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, session->common.quiet ? NULL : session->out, path);
}

void page_open(const cli_session *session, const char *path) {
    if (!px_page_open(path))
        say(session, MESSAGE_WARNING, "no program here opens pages; open %s in a browser", path);
}
