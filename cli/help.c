/* Help texts, generated from the tables of verbs and options. */
#include "cli.h"

#include <string.h>

#define LINE_WIDTH  100
#define HELP_COLUMN 30

/* ---- Text in lines ---------------------------------------------------------------------------------------- */

/* Prints word-wrapped text: the first line starts at `column`, further lines at `indent`. Empty lines separate
 * paragraphs. */
static void print_wrapped(FILE *out, const char *text, int column, int indent) {
    bool at_start = true;
    while (*text) {
        if (text[0] == '\n' && text[1] == '\n') {
            fprintf(out, "\n\n%*s", indent, "");
            column = indent, at_start = true;
            text += 2;
            continue;
        }
        if (*text == ' ' || *text == '\n') {
            text++;
            continue;
        }
        int length = (int)strcspn(text, " \n");
        if (!at_start && column + 1 + length > LINE_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent, at_start = true;
        }
        column += fprintf(out, "%s%.*s", at_start ? "" : " ", length, text);
        at_start = false;
        text += length;
    }
    fputc('\n', out);
}

static void print_heading(FILE *out, const char *title) {
    bool bold = terminal_colours(out);
    fprintf(out, "\n%s%s%s\n", bold ? "\033[1m" : "", title, bold ? "\033[0m" : "");
}

/* ---- Options ---------------------------------------------------------------------------------------------- */

const char *option_value_name(const pelt_option *option) {
    if (option->kind == PELT_OPTION_FLAG)
        return NULL;
    return option->kind == PELT_OPTION_CHOICE ? option->choices : option->value ? option->value : "VALUE";
}

/* Whether an earlier group of the verb has an option of this name. */
static bool is_repeated(const cli_verb *verb, size_t group, const char *name) {
    for (size_t g = 0; g < group; g++)
        if (table_has(verb_group(verb, g)->table(), name))
            return true;
    return false;
}

void each_option(const cli_verb *verb, option_fn *visit, void *user) {
    const char *title = NULL;
    for (size_t g = 0; verb_group(verb, g); g++) {
        const option_group *group = verb_group(verb, g);
        const pelt_option_table *table = group->table();
        for (size_t o = 0; o < table->count; o++) {
            if (is_repeated(verb, g, table->rows[o].name))
                continue;
            bool begins = !title || strcmp(title, group->title) != 0;
            title = group->title;
            visit(verb, begins ? title : NULL, &table->rows[o], user);
        }
    }
}

static void print_option(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    (void)verb;
    FILE *out = user;
    if (title)
        print_heading(out, title);
    int column = option->letter ? fprintf(out, "  -%c, --%s", option->letter, option->name)
                                : fprintf(out, "      --%s", option->name);
    if (option_value_name(option))
        column += fprintf(out, " %s", option_value_name(option));
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    char text[512];
    bool told = option->initial && option->kind != PELT_OPTION_FLAG;
    snprintf(text, sizeof text, told ? "%s (default %s)" : "%s", option->help, option->initial);
    print_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

void help_verb(const cli_verb *verb, FILE *out) {
    fprintf(out, "usage: %s\n\n", verb->usage);
    print_wrapped(out, verb->summary, 0, 0);
    if (verb->about) {
        fputc('\n', out);
        print_wrapped(out, verb->about, 0, 0);
    }
    each_option(verb, print_option, out);
    if (verb->example_count)
        print_heading(out, "Examples");
    for (size_t e = 0; e < verb->example_count; e++) {
        fprintf(out, "  %s\n      ", verb->examples[e].command);
        print_wrapped(out, verb->examples[e].meaning, 6, 6);
    }
}

/* ---- Overview --------------------------------------------------------------------------------------------- */

static void print_verbs(FILE *out, bool utility) {
    for (size_t v = 0; verb_at(v); v++)
        if (verb_at(v)->utility == utility)
            fprintf(out, "  %-12s %s\n", verb_at(v)->name, verb_at(v)->summary);
}

void help_overview(FILE *out) {
    fputs("usage: pelt VERB [options] …\n\nPelt turns anything that deforms into a skin any engine can play.\n", out);
    print_heading(out, "Verbs");
    print_verbs(out, false);
    print_heading(out, "About the program");
    print_verbs(out, true);
    print_heading(out, "Inputs");
    fputs("  rig.glb                a file\n"
          "  mesh.obj cache.pc2     a mesh and its cache\n"
          "  frames/  'f_*.obj'  'f_%04d.obj'\n"
          "                         a sequence: a folder, a glob or a pattern\n",
          out);
    print_heading(out, "Formats");
    const pelt_format_info *format;
    for (uint32_t f = 0; (format = pelt_format_at(f)); f++)
        fprintf(out, "  %-12s %s\n", format->extensions, format->summary);
    print_heading(out, "Exit codes");
    for (size_t e = 0; e < COUNT(exit_texts); e++)
        fprintf(out, "  %-12d %s\n", exit_texts[e].code, exit_texts[e].text);
    fputs("\nRun 'pelt VERB --help' for the options and examples of a verb.\n", out);
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void json_option(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    static const char *const kinds[] = {"flag", "uint", "real", "size", "text", "choice", "vector"};
    (void)verb;
    cli_json *json = user;
    json_open(json, NULL, '{');
    if (title)
        json_text(json, "group", title);
    json_text(json, "name", option->name);
    json_text(json, "kind", kinds[option->kind]);
    if (option->letter)
        json_text(json, "letter", (char[]){option->letter, 0});
    if (option->initial)
        json_text(json, "default", option->initial);
    if (option->min != 0 || option->max != 0) {
        json_real(json, "min", option->min); /* null: infinite */
        json_real(json, "max", option->max);
    }
    if (option_value_name(option))
        json_text(json, option->kind == PELT_OPTION_CHOICE ? "choices" : "value", option_value_name(option));
    json_text(json, "help", option->help);
    json_close(json, '}');
}

/* The tables of a verb, for programs that show its options. An option begins its group if it has a member "group". */
static void json_verb(cli_json *json, const cli_verb *verb) {
    json_open(json, verb->name, '{');
    json_text(json, "summary", verb->summary);
    json_text(json, "usage", verb->usage);
    if (verb->about)
        json_text(json, "about", verb->about);
    json_open(json, "options", '[');
    each_option(verb, json_option, json);
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- Verbs ------------------------------------------------------------------------------------------------ */

static exit_code run_help(cli_session *session, const void *settings, const char *const *args, size_t count) {
    (void)settings;
    FILE *out = session->out; /* NULL: --json - */
    json_open(&session->report, "verbs", '{');
    if (count == 0 && out)
        help_overview(out);
    for (size_t v = 0; count == 0 && verb_at(v); v++)
        json_verb(&session->report, verb_at(v));
    for (size_t a = 0; a < count; a++) {
        const cli_verb *found;
        exit_code code = verb_require(session, args[a], &found);
        if (code != EXIT_DONE)
            return code;
        if (a && out)
            fputc('\n', out);
        if (out)
            help_verb(found, out);
        json_verb(&session->report, found);
    }
    json_close(&session->report, '}');
    session->report_done = true;
    return EXIT_DONE;
}

static const example help_examples[] = {
    {"pelt help bind --json -", "names, ranges and defaults of its options, for other programs"},
};

const cli_verb verb_help = {
    .name = "help",
    .summary = "show the help of a verb",
    .usage = "pelt help [VERB…]",
    .examples = help_examples,
    .example_count = COUNT(help_examples),
    .utility = true,
    .run = run_help,
};

static exit_code run_version(cli_session *session, const void *settings, const char *const *args, size_t count) {
    (void)settings, (void)args;
    if (count)
        return usage_error(session, "version takes no arguments");
    if (session->out)
        fprintf(session->out, "pelt %s\n", pelt_version());
    return EXIT_DONE;
}

const cli_verb verb_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "pelt version",
    .utility = true,
    .run = run_version,
};
