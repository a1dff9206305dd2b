/* pelt man: manual pages (troff, man macros), generated from the tables of verbs and options. */
#include "cli.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct man_settings {
    const char *all;
} man_settings;

static const pelt_option own_options[] = {
    {"all", 0, PELT_OPTION_TEXT, PELT_FIELD(man_settings, all), NULL, 0, 0, NULL, "FOLDER",
     "write pelt.1 and a page for each verb into a folder"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {{"Options", own_table, 0}};

/* ---- troff ------------------------------------------------------------------------------------------------ */

/* Prints text with troff's special characters escaped. A dot or quote at the start of a line would be a request. */
static void print_text(cli_text *out, const char *text) {
    bool line_start = true;
    for (; *text; text++) {
        if (text[0] == '\n' && text[1] == '\n') {
            text_add(out, "\n.PP\n");
            text++;
            line_start = true;
            continue;
        }
        if (line_start && (*text == '.' || *text == '\''))
            text_add(out, "\\&");
        if (*text == '\\')
            text_add(out, "\\e");
        else if (*text == '-')
            text_add(out, "\\-");
        else if (*text == '\'')
            text_add(out, "\\(aq");
        else
            text_add(out, "%c", *text);
        line_start = *text == '\n';
    }
}

static void print_macro(cli_text *out, const char *macro, const char *text) {
    text_add(out, ".%s ", macro);
    print_text(out, text);
    text_add(out, "\n");
}

static void print_option(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    (void)verb;
    cli_text *out = user;
    if (title && strcmp(title, "Options") != 0)
        print_macro(out, "SS", title);
    text_add(out, ".TP\n\\fB");
    if (option->letter)
        text_add(out, "\\-%c\\fR, \\fB", option->letter);
    text_add(out, "\\-\\-");
    print_text(out, option->name);
    text_add(out, "\\fR");
    if (option_value_name(option)) {
        text_add(out, " \\fI");
        print_text(out, option_value_name(option));
        text_add(out, "\\fR");
    }
    text_add(out, "\n");
    print_text(out, option->help);
    if (option->initial && option->kind != PELT_OPTION_FLAG) {
        text_add(out, " (default ");
        print_text(out, option->initial);
        text_add(out, ")");
    }
    text_add(out, "\n");
}

static void print_exit_codes(cli_text *out) {
    text_add(out, ".SH EXIT STATUS\n");
    for (size_t e = 0; e < COUNT(exit_texts); e++)
        text_add(out, ".TP\n%d\n%s\n", exit_texts[e].code, exit_texts[e].text);
}

/* ---- Pages ------------------------------------------------------------------------------------------------ */

static void print_verb_page(cli_text *out, const cli_verb *verb) {
    text_add(out, ".TH PELT\\-%s 1 \"\" \"pelt %s\" \"Pelt\"\n.SH NAME\npelt\\-%s \\- ", verb->name, pelt_version(),
             verb->name);
    print_text(out, verb->summary);
    text_add(out, "\n.SH SYNOPSIS\n");
    print_macro(out, "B", verb->usage);
    if (verb->about) {
        text_add(out, ".SH DESCRIPTION\n");
        print_text(out, verb->about);
        text_add(out, "\n");
    }
    text_add(out, ".SH OPTIONS\n");
    each_option(verb, print_option, out);
    if (verb->example_count)
        text_add(out, ".SH EXAMPLES\n");
    for (size_t e = 0; e < verb->example_count; e++) {
        print_macro(out, "TP\n.B", verb->examples[e].command);
        print_text(out, verb->examples[e].meaning);
        text_add(out, "\n");
    }
    print_exit_codes(out);
    text_add(out, ".SH SEE ALSO\n.BR pelt (1)\n");
}

static void print_main_page(cli_text *out) {
    text_add(out,
             ".TH PELT 1 \"\" \"pelt %s\" \"Pelt\"\n.SH NAME\npelt \\- turns anything that deforms into a skin any "
             "engine can play\n.SH SYNOPSIS\n.B pelt\n\\fIVERB\\fR [\\fIoptions\\fR] ...\n.SH VERBS\n",
             pelt_version());
    for (size_t v = 0; verb_at(v); v++) {
        text_add(out, ".TP\n.BR pelt\\-%s (1)\n", verb_at(v)->name);
        print_text(out, verb_at(v)->summary);
        text_add(out, "\n");
    }
    text_add(out, ".SH INPUTS\nEverywhere an input is one of\n");
    static const char *const inputs[][2] = {
        {"rig.glb", "a file"},
        {"mesh.obj cache.pc2", "a mesh and its cache"},
        {"frames/", "a folder that holds a sequence, in natural order"},
        {"'f_*.obj'", "a sequence by a glob"},
        {"'f_%04d.obj'", "a sequence by a pattern"},
    };
    for (size_t n = 0; n < COUNT(inputs); n++) {
        print_macro(out, "TP\n.B", inputs[n][0]);
        text_add(out, "%s\n", inputs[n][1]);
    }
    text_add(out, ".SH FORMATS\n");
    const pelt_format_info *format;
    for (uint32_t f = 0; (format = pelt_format_at(f)); f++) {
        print_macro(out, "TP\n.B", format->extensions);
        print_text(out, format->summary);
        text_add(out, "\n");
    }
    print_exit_codes(out);
    text_add(out, ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours, even on a terminal\n");
}

/* The page of a verb; `verb` NULL: the main page. Freed by the caller. */
static cli_text page_of(const cli_verb *verb) {
    cli_text page = {0};
    if (verb)
        print_verb_page(&page, verb);
    else
        print_main_page(&page);
    return page;
}

static exit_code write_page(cli_session *session, const char *folder, const cli_verb *verb) {
    char *path = must_format("%s/pelt%s%s.1", folder, verb ? "-" : "", verb ? verb->name : "");
    cli_text page = page_of(verb);
    pelt_result result = pelt_file_write(session->context, path, page.data, page.size);
    free(page.data);
    free(path);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    const man_settings *settings = given;
    if (arg_count > 1)
        return usage_error(session, "man takes one verb");
    if (settings->all) {
        exit_code code = write_page(session, settings->all, NULL);
        for (size_t v = 0; verb_at(v) && code == EXIT_DONE; v++)
            code = write_page(session, settings->all, verb_at(v));
        return code;
    }
    const cli_verb *verb = NULL;
    exit_code code = arg_count ? verb_require(session, args[0], &verb) : EXIT_DONE;
    if (code == EXIT_DONE) {
        cli_text page = page_of(verb);
        fputs(page.data, stdout);
        free(page.data);
    }
    return code;
}

static const example examples[] = {
    {"pelt man bake | man -l -", "read a page without installing it"},
};

const cli_verb verb_man = {
    .name = "man",
    .summary = "print a manual page",
    .usage = "pelt man [VERB]",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(man_settings),
    .examples = examples,
    .example_count = COUNT(examples),
    .utility = true,
    .run = run,
};
