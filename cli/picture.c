/* Images of pelt view: one frame, a sequence of frames, or a contact sheet. */
#include "cli.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SHEET_FRAMES 12u /* without --frames */

static const pelt_option picture_options[] = {
    {"png", 0, PELT_OPTION_TEXT, PELT_FIELD(picture_settings, png), NULL, 0, 0, NULL, "FILE",
     "picture to write; with a pattern ('f_%03d.png') one picture per frame"},
    {"size", 0, PELT_OPTION_TEXT, PELT_FIELD(picture_settings, size), NULL, 0, 0, NULL, "WIDTHxHEIGHT",
     "width and height, such as 1280x720"},
    {"frames", 0, PELT_OPTION_TEXT, PELT_FIELD(picture_settings, frames), NULL, 0, 0, NULL, "FIRST:END:STEP",
     "frames of a pattern or a sheet, END excluded; 0:48:4 is 0, 4 … 44; ::2 is every other frame"},
    {"sheet", 0, PELT_OPTION_FLAG, PELT_FIELD(picture_settings, sheet), NULL, 0, 0, NULL, NULL,
     "draw many frames, with numbers, in one picture; --columns and --rows set the layout"},
};

OPTION_TABLE(picture_table, picture_options)

/* ---- What is asked for ------------------------------------------------------------------------------------ */

/* Parses "1280x720" into width and height; the option table checks their ranges. */
static exit_code set_size(cli_session *session, const char *text, pelt_picture_desc *picture) {
    const char *cross = strchr(text, 'x');
    if (!cross || cross == text || !cross[1])
        return usage_error(session, "--size %s: give two numbers with an x between, as in 1280x720", text);
    const pelt_option_table *options = pelt_picture_options();
    char *left = must_format("%.*s", (int)(cross - text), text);
    pelt_result result = pelt_options_set(session->context, options, picture, "width", left);
    if (result == PELT_OK)
        result = pelt_options_set(session->context, options, picture, "height", cross + 1);
    free(left);
    return result == PELT_OK ? EXIT_DONE
                             : usage_error(session, "--size %s: %s", text, pelt_error_text(session->context));
}

exit_code picture_check(cli_session *session, picture_settings *settings) {
    const char *png = settings->png;
    size_t length = strlen(png);
    if (strncmp(png, "/dev/", 5) != 0 && (length < 4 || strcmp(png + length - 4, ".png") != 0))
        return usage_error(session, "--png %s: the name must end in .png", png);
    bool many = settings->sheet || settings->frames || is_pattern(png);
    if (many && (option_given(session, "frame") || option_given(session, "time") || settings->picture.rest))
        return usage_error(session, "--frame, --time and --rest are one moment; --frames says which of many");
    if (settings->sheet && is_pattern(png))
        return usage_error(session, "--png %s: a sheet is one picture, a pattern names many", png);
    if (settings->frames && !settings->sheet && !is_pattern(png))
        return usage_error(session, "--frames needs a pattern, as in --png 'f_%%03d.png', or --sheet");
    return settings->size ? set_size(session, settings->size, &settings->picture) : EXIT_DONE;
}

/* Every `step`th frame of the half-open range [first, end). */
typedef struct frame_range {
    uint32_t first, end, step;
} frame_range;

/* Reads a part of FIRST:END:STEP, which may be empty, and the colon after it. Returns false on a syntax error. */
static bool read_part(const char **text, uint32_t *value) {
    size_t length = strspn(*text, "0123456789");
    if (length > 9)
        return false;
    if (length > 0)
        *value = (uint32_t)strtoul(*text, NULL, 10);
    *text += length;
    if (**text == ':')
        ++*text;
    return true;
}

static exit_code read_range(cli_session *session, const char *text, uint32_t frame_count, frame_range *range) {
    *range = (frame_range){0, frame_count, 1};
    const char *p = text, *first = strchr(text, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    bool good = first && !(second && strchr(second + 1, ':')) && read_part(&p, &range->first) &&
                read_part(&p, &range->end) && read_part(&p, &range->step) && *p == 0;
    if (!good)
        return usage_error(session, "--frames %s: give FIRST:END:STEP, as in 0:48:4; each may be left out", text);
    if (range->step == 0 || range->first >= range->end)
        return usage_error(session, "--frames %s: there is no frame in it", text);
    if (range->end > frame_count)
        return usage_error(session, "--frames %s: the animation has %u frames, END is %u at most", text, frame_count,
                           frame_count);
    return EXIT_DONE;
}

static exit_code find_range(cli_session *session, const picture_settings *settings, uint32_t frame_count,
                            frame_range *range) {
    if (settings->frames)
        return read_range(session, settings->frames, frame_count, range);
    uint32_t step = settings->sheet ? (frame_count + SHEET_FRAMES - 1) / SHEET_FRAMES : 1;
    *range = (frame_range){0, frame_count, step};
    return EXIT_DONE;
}

static uint32_t range_count(const frame_range *range) {
    return (range->end - range->first + range->step - 1) / range->step;
}

/* ---- Sheets ----------------------------------------------------------------------------------------------- */

/* Number of columns that brings the aspect ratio of the cells near 5 : 4 and leaves few cells empty. */
static uint32_t best_columns(const pelt_picture_desc *picture, uint32_t count) {
    uint32_t best = 1;
    double least = INFINITY;
    for (uint32_t columns = 1; columns <= count && columns <= 64; columns++) {
        uint32_t rows = (count + columns - 1) / columns;
        double shape = (double)picture->width * rows / ((double)picture->height * columns);
        double score = fabs(log(shape / 1.25)) + (double)(rows * columns - count) / count;
        if (rows <= 64 && score < least) {
            least = score;
            best = columns;
        }
    }
    return best;
}

static exit_code lay_out(cli_session *session, const frame_range *range, pelt_picture_desc *picture) {
    uint32_t count = range_count(range);
    bool columns = option_given(session, "columns"), rows = option_given(session, "rows");
    if (!columns)
        picture->columns = rows ? (count + picture->rows - 1) / picture->rows : best_columns(picture, count);
    if (!rows)
        picture->rows = (count + picture->columns - 1) / picture->columns;
    if (picture->columns > 64 || picture->rows > 64 || picture->columns * picture->rows < count)
        return usage_error(session, "%s frames do not fit on a sheet of %u × %u; take fewer, as in --frames ::%u",
                           grouped(count), picture->columns, picture->rows, range->step * 4);
    picture->frame = range->first;
    picture->frame_step = range->step;
    picture->frame_count = count;
    picture->labels = true;
    return EXIT_DONE;
}

/* ---- Drawing ---------------------------------------------------------------------------------------------- */

/* Writes one image per frame. Each file is written completely or not at all. */
static pelt_result draw_sequence(cli_session *session, const picture_settings *settings, const frame_range *range,
                                 const pelt_model *model, uint64_t *bytes) {
    pelt_picture_desc picture = settings->picture;
    pelt_result result = PELT_OK;
    for (uint32_t n = 0; n < range_count(range) && result == PELT_OK; n++) {
        picture.frame = range->first + n * range->step;
        char *path = pattern_path(settings->png, picture.frame);
        result = pelt_picture_save(session->context, model, &picture, path);
        *bytes += written_size(path, 0);
        free(path);
    }
    return result;
}

static void report(cli_session *session, const picture_settings *settings, const frame_range *range, double max,
                   uint64_t bytes, double seconds) {
    const pelt_picture_desc *picture = &settings->picture;
    uint32_t count = range->step ? range_count(range) : 0, panels = picture->columns * picture->rows;
    cli_json *json = &session->report;
    json_text(json, "output", settings->png);
    json_count(json, "width", picture->width);
    json_count(json, "height", picture->height);
    json_count(json, "panels", panels);
    if (count) {
        double *frames = must_alloc(count, sizeof *frames);
        for (uint32_t n = 0; n < count; n++)
            frames[n] = range->first + n * range->step;
        json_reals(json, "frames", frames, count);
        free(frames);
    }
    if (max > 0)
        json_real(json, "max", max);
    json_count(json, "bytes", bytes);
    json_real(json, "seconds", seconds);
    session->report_done = true;
    cli_table table = {0};
    table_row(&table, "size", "%u × %u pixels", picture->width, picture->height);
    if (panels > 1)
        table_row(&table, "sheet", "%u × %u moments", picture->columns, picture->rows);
    if (count)
        table_row(&table, "frames", "%s", grouped(count));
    if (max > 0)
        table_row(&table, "scale", "0 to %.4g object units", max);
    table_row(&table, "written", "%s", bytes_text(bytes));
    table_row(&table, "time", "%.3f s", seconds);
    table_print(&table, session->common.quiet ? NULL : session->out, settings->png);
}

exit_code picture_draw(cli_session *session, const picture_settings *given, const pelt_model *model) {
    double start = px_seconds();
    picture_settings settings = *given;
    pelt_picture_desc *picture = &settings.picture;
    pelt_picture_facts facts;
    pelt_result result = pelt_picture_measure(session->context, model, picture, &facts);
    if (result != PELT_OK)
        return session_fail(session, result);
    if (picture->max == 0 && picture->second_mode == 0)
        picture->max = facts.max; /* computed once, not for every image */
    bool sequence = is_pattern(settings.png);
    frame_range range = {0};
    exit_code code = EXIT_DONE;
    if (sequence || settings.sheet)
        code = find_range(session, &settings, facts.frame_count, &range);
    if (code == EXIT_DONE && settings.sheet)
        code = lay_out(session, &range, picture);
    if (code != EXIT_DONE)
        return code;
    uint64_t bytes = 0;
    if (sequence)
        result = draw_sequence(session, &settings, &range, model, &bytes);
    else {
        result = pelt_picture_save(session->context, model, picture, settings.png);
        bytes = written_size(settings.png, 0);
    }
    if (result != PELT_OK)
        return session_fail(session, result);
    report(session, &settings, &range, facts.max > 0 ? picture->max : 0, bytes, px_seconds() - start);
    return EXIT_DONE;
}
