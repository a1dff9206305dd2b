/* Messages and a progress line, both on stderr. The progress line appears only on a terminal and is erased before other
 * output; --progress prints lines for other programs instead.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Global state: the process has one terminal. */
static struct {
    bool shows_progress;
    bool prints_lines; /* --progress */
    bool line_shown;
    const char *phase;
    double phase_start, last_drawn;
} terminal;

bool terminal_colours(FILE *stream) {
    const char *none = getenv("NO_COLOR");
    return !(none && *none) && px_terminal_draws(stream);
}

void terminal_start(const cli_session *session) {
    terminal.prints_lines = session->common.progress;
    terminal.shows_progress = !session->common.quiet && !session->common.progress && px_terminal_draws(stderr);
}

/* ---- Messages --------------------------------------------------------------------------------------------- */

void make_printable(char *text) {
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if ((*p < 0x20 && *p != '\t') || *p == 0x7f)
            *p = '?';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) /* U+0080 to U+009F: C1 control characters */
            p[0] = p[1] = '?';
    }
}

static void print_message(const cli_session *session, message_kind kind, const char *format, va_list list) {
    static const struct {
        const char *label, *colour;
    } styles[] = {{"", "\033[31m"}, {"warning: ", "\033[33m"}, {"", ""}, {"", "\033[2m"}};
    bool shown =
        kind == MESSAGE_ERROR || (!session->common.quiet && (kind != MESSAGE_DETAIL || session->common.verbose));
    if (!shown)
        return;
    char *text = must_format_list(format, list);
    make_printable(text);
    terminal_clear();
    bool coloured = *styles[kind].colour && terminal_colours(stderr);
    fprintf(stderr, "pelt: %s%s%s%s\n", coloured ? styles[kind].colour : "", styles[kind].label, text,
            coloured ? "\033[0m" : "");
    free(text);
}

void say(const cli_session *session, message_kind kind, const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_message(session, kind, format, list);
    va_end(list);
}

exit_code usage_error(const cli_session *session, const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_message(session, MESSAGE_ERROR, format, list);
    va_end(list);
    if (session->verb)
        fprintf(stderr, "try 'pelt %s --help'\n", session->verb->name);
    else
        fputs("try 'pelt --help'\n", stderr);
    return EXIT_USAGE;
}

void show_warnings(cli_session *session) {
    for (; session->warnings_shown < session->warning_count; session->warnings_shown++)
        say(session, MESSAGE_WARNING, "%s", session->warnings[session->warnings_shown]);
}

void warn(cli_session *session, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = must_format_list(format, list);
    va_end(list);
    for (size_t n = session->warnings_shown; n < session->warning_count; n++)
        if (strcmp(session->warnings[n], text) == 0) { /* a file that is written twice warns once */
            free(text);
            return;
        }
    session->warnings = must_resize(session->warnings, session->warning_count + 1, sizeof *session->warnings);
    session->warnings[session->warning_count++] = text;
    if (!session->hold_warnings)
        show_warnings(session);
}

void terminal_log(void *user, pelt_log_level level, const char *text) {
    cli_session *session = user;
    if (level == PELT_LOG_WARNING)
        warn(session, "%s", text);
    else
        say(session, MESSAGE_DETAIL, "%s", text);
}

/* ---- Progress --------------------------------------------------------------------------------------------- */

void terminal_clear(void) {
    if (terminal.line_shown)
        fputs("\r\033[K", stderr);
    terminal.line_shown = false;
}

static void draw_line(const char *phase, double fraction, double elapsed) {
    char left[48] = "";
    if (fraction > 0.01 && fraction < 1) {
        double seconds = ceil(elapsed * (1 - fraction) / fraction);
        if (seconds < 120)
            snprintf(left, sizeof left, "  %.0f s left", seconds);
        else if (seconds < 7200)
            snprintf(left, sizeof left, "  %.0f min left", ceil(seconds / 60));
        else
            snprintf(left, sizeof left, "  %.1f h left", seconds / 3600);
    }
    fprintf(stderr, "\r%.30s %3.0f %%%s\033[K", phase, floor(100 * fraction), left);
    terminal.line_shown = true;
}

/* Draws nothing for the first half second, then at most ten times a second. Lines: the start of every phase, then at most
 * ten a second. */
void terminal_progress(void *user, const char *phase, double fraction) {
    (void)user;
    if (!terminal.shows_progress && !terminal.prints_lines)
        return;
    double time = px_seconds();
    if (terminal.prints_lines) {
        bool begins = !terminal.phase || strcmp(terminal.phase, phase) != 0;
        if (begins || time - terminal.last_drawn >= 0.1) {
            fprintf(stderr, "progress %.3f %s\n", fraction, phase);
            terminal.phase = phase;
            terminal.last_drawn = time;
        }
        return;
    }
    if (!terminal.phase || strcmp(terminal.phase, phase) != 0) {
        terminal.phase = phase;
        terminal.phase_start = time;
    }
    if (fraction >= 1) {
        terminal_clear();
        terminal.phase = NULL;
        return;
    }
    double elapsed = time - terminal.phase_start;
    if (elapsed < 0.5 || time - terminal.last_drawn < 0.1)
        return;
    terminal.last_drawn = time;
    draw_line(phase, fraction, elapsed);
}
