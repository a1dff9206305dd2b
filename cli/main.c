/* Entry point of pelt: exit codes, dispatch to verbs. The table of verbs is in cli.h. */
#include "group.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Verbs ------------------------------------------------------------------------------------------------ */

const cli_verb *verb_at(size_t index) {
    static const cli_verb *const table[] = {
#define VERB_ROW(name) &verb_##name,
        VERBS(VERB_ROW)
#undef VERB_ROW
    };
    return index < COUNT(table) ? table[index] : NULL;
}

const cli_verb *verb_find(const char *name) {
    for (size_t v = 0; verb_at(v); v++)
        if (strcmp(verb_at(v)->name, name) == 0)
            return verb_at(v);
    return NULL;
}

exit_code verb_require(cli_session *session, const char *name, const cli_verb **out) {
    *out = verb_find(name);
    if (*out)
        return EXIT_DONE;
    const char *names[OPTION_MAX];
    size_t count = 0;
    for (size_t v = 0; verb_at(v) && count < OPTION_MAX; v++)
        names[count++] = verb_at(v)->name;
    const char *near = pelt_nearest_name(name, names, count);
    return near ? usage_error(session, "there is no verb '%s'; did you mean '%s'?", name, near)
                : usage_error(session, "there is no verb '%s'", name);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

_Noreturn void end_without_memory(void) {
    fputs("pelt: out of memory\n", stderr);
    exit(EXIT_INPUT);
}

void *must_resize(void *pointer, size_t count, size_t size) {
    size_t bytes;
    void *grown = __builtin_mul_overflow(count, size, &bytes) ? NULL : realloc(pointer, bytes ? bytes : 1);
    if (!grown)
        end_without_memory();
    return grown;
}

void *must_alloc(size_t count, size_t size) {
    void *block = must_resize(NULL, count, size);
    return memset(block, 0, count * size);
}

char *must_format_list(const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    char *text = must_alloc((size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *must_format(const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = must_format_list(format, list);
    va_end(list);
    return text;
}

char *next_item(char **list) {
    char *item = *list, *comma = item ? strchr(item, ',') : NULL;
    if (comma)
        *comma++ = 0;
    *list = comma;
    return item;
}

void text_add(cli_text *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    size_t needed = text->size + (size_t)vsnprintf(NULL, 0, format, list) + 1;
    va_end(list);
    if (needed > text->capacity)
        text->data = must_resize(text->data, text->capacity = 2 * needed, 1);
    va_start(list, format);
    text->size += (size_t)vsnprintf(text->data + text->size, text->capacity - text->size, format, list);
    va_end(list);
}

/* ---- Exit codes ------------------------------------------------------------------------------------------- */

const exit_text exit_texts[6] = {
    {EXIT_DONE, "done"},
    {EXIT_USAGE, "invalid command line"},
    {EXIT_INPUT, "an input is missing, damaged or does not fit"},
    {EXIT_OUTPUT, "an output could not be written"},
    {EXIT_QUALITY, "done, but a quality target was missed"},
    {EXIT_INTERRUPTED, "interrupted"},
};

exit_code session_exit_code(pelt_result result) {
    switch (result) {
    case PELT_OK:
        return EXIT_DONE;
    case PELT_ERROR_USAGE:
        return EXIT_USAGE;
    case PELT_ERROR_OUTPUT:
        return EXIT_OUTPUT;
    case PELT_ERROR_CANCELLED:
        return EXIT_INTERRUPTED;
    case PELT_ERROR_INPUT:
    case PELT_ERROR_UNSUPPORTED:
    case PELT_ERROR_MEMORY:
        break;
    }
    return EXIT_INPUT;
}

/* Whether a text contains `word` as a whole word: no letter, digit or '_' before or after it. */
static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word)) {
        bool begins = p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (begins && !isalnum((unsigned char)p[length]) && p[length] != '_')
            return true;
    }
    return false;
}

/* The library's messages name desc fields. Lists the options of the fields in a message: " (--bones, --error)". Freed
 * by the caller. */
static char *flags_named(const cli_session *session, const char *text) {
    char *list = must_format("%s", "");
    for (size_t g = 0; session->verb && g < session->verb->group_count; g++) {
        const pelt_option_table *table = session->verb->groups[g].table();
        for (size_t o = 0; table->desc && o < table->count; o++) {
            if (!has_word(text, table->rows[o].field))
                continue;
            char *longer = must_format("%s%s--%s", list, *list ? ", " : " (", table->rows[o].name);
            free(list);
            list = longer;
        }
    }
    char *closed = must_format("%s%s", list, *list ? ")" : "");
    free(list);
    return closed;
}

exit_code session_fail(cli_session *session, pelt_result result) {
    const char *text = pelt_error_text(session->context);
    if (!*text)
        text = pelt_result_text(result);
    if (result == PELT_ERROR_CANCELLED)
        say(session, MESSAGE_ERROR, "interrupted");
    else if (result == PELT_ERROR_USAGE) {
        char *flags = flags_named(session, text);
        exit_code code = usage_error(session, "%s%s", text, flags);
        free(flags);
        return code;
    } else
        say(session, MESSAGE_ERROR, "%s", text);
    return session_exit_code(result);
}

/* ---- A run ------------------------------------------------------------------------------------------------ */

static bool cancel(void *user) {
    (void)user;
    return px_program_interrupted();
}

/* Creates the verb's context by the parsed options; it replaces the context used for parsing. */
static exit_code make_context(cli_session *session) {
    pelt_context_destroy(session->context);
    pelt_context_desc desc = pelt_context_desc_default();
    desc.thread_count = session->common.thread_count;
    desc.memory_limit = session->common.memory_limit;
    desc.log = terminal_log;
    desc.log_user = session;
    desc.progress = terminal_progress;
    desc.progress_user = session;
    desc.cancel = cancel;
    desc.group = session->group;
    pelt_result result = pelt_context_create(&desc, &session->context);
    if (result == PELT_OK)
        return EXIT_DONE;
    say(session, MESSAGE_ERROR, "%s", pelt_result_text(result));
    return session_exit_code(result);
}

static exit_code check_page(const cli_session *session) {
    if (session->common.page_path && session->verb->utility)
        return usage_error(session, "--report: %s has nothing to show on a page", session->verb->name);
    return session->common.page_path ? page_check(session, "--report", session->common.page_path) : EXIT_DONE;
}

static exit_code run_verb(cli_session *session, const char *const *args, size_t count, void *settings, arg_list *rest) {
    args_default(session->verb, settings);
    exit_code code = args_parse(session, args, count, false, settings, rest);
    if (code != EXIT_DONE)
        return code;
    if (session->common.help) {
        help_verb(session->verb, stdout);
        return EXIT_DONE;
    }
    terminal_start(session);
    if (session->group && !session->verb->grouped && !session->verb->utility)
        return usage_error(
            session,
            "%s does not run as several processes; start it without mpirun, or several of them by 'pelt batch'",
            session->verb->name);
    if ((code = check_files(session, rest)) != EXIT_DONE || (code = check_page(session)) != EXIT_DONE ||
        (code = make_context(session)) != EXIT_DONE)
        return code;
    const char *json_path = session->common.json_path;
    session->out = json_path && strcmp(json_path, "-") == 0 ? NULL : stdout;
    json_open(&session->report, NULL, '{');
    json_text(&session->report, "pelt", pelt_version());
    json_text(&session->report, "verb", session->verb->name);
    code = session->verb->run(session, settings, rest->items, rest->count);
    terminal_clear();
    return report_finish(session, settings, code);
}

/* Parses the options before the verb, then runs the verb. */
static exit_code run(cli_session *session, const char *const *args, size_t count) {
    arg_list rest = {0};
    if (count > 0 && strcmp(args[0], "--version") == 0)
        return verb_version.run(session, NULL, args + 1, count - 1);
    exit_code code = args_parse(session, args, count, true, NULL, &rest);
    if (code == EXIT_DONE && rest.count == 0) {
        help_overview(session->common.help ? stdout : stderr);
        code = session->common.help ? EXIT_DONE : EXIT_USAGE;
    } else if (code == EXIT_DONE) {
        const char *name = rest.items[0];
        code = verb_require(session, name, &session->verb);
        if (code == EXIT_DONE) {
            arg_list positional = {0};
            void *settings = must_alloc(1, session->verb->settings_size + 1);
            code = run_verb(session, rest.items + 1, rest.count - 1, settings, &positional);
            free(settings);
            free(positional.items);
        }
    }
    free(rest.items);
    return code;
}

/* Flushes stdout. A failed write makes a successful run fail. */
static exit_code close_stdout(const cli_session *session, exit_code code) {
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed)
        return code;
    if (errno != EPIPE) /* no message if the reader closed the pipe */
        say(session, MESSAGE_ERROR, "standard output: %s", strerror(errno ? errno : EIO));
    return code == EXIT_DONE ? EXIT_OUTPUT : code;
}

int main(int argc, char **argv) {
    cli_session session = {.out = stdout};
    px_program_begin(&argc, &argv);
    session.group = group_begin(&argc, &argv);
    /* The first signal requests an orderly end, which removes unfinished files. */
    px_program_signals(EXIT_INTERRUPTED, EXIT_INPUT,
                       "pelt: an input became shorter while it was read; run again when it is complete\n");
    terminal_start(&session);
    if (pelt_context_create(NULL, &session.context) != PELT_OK)
        end_without_memory();
    exit_code code = run(&session, (const char *const *)argv + (argc > 0), argc > 0 ? (size_t)argc - 1 : 0);
    code = close_stdout(&session, code);
    pelt_context_destroy(session.context);
    free(session.report.data);
    for (size_t w = 0; w < session.warning_count; w++)
        free(session.warnings[w]);
    free(session.warnings);
    free(session.given);
    for (size_t t = 0; t < session.text_count; t++)
        free(session.texts[t]);
    free(session.texts);
    return (int)group_end(code);
}
