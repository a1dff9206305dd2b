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
static void print_text(FILE *out, const char *text) {
    bool line_start = true;
    for (; *text; text++) {
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", out);
            text++;
            line_start = true;
            continue;
        }
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\'')
            fputs("\\(aq", out);
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
}

static void print_macro(FILE *out, const char *macro, const char *text) {
    fprintf(out, ".%s ", macro);
    print_text(out, text);
    fputc('\n', out);
}

static void print_option(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    (void)verb;
    FILE *out = user;
    if (title && strcmp(title, "Options") != 0)
        print_macro(out, "SS", title);
    fputs(".TP\n\\fB", out);
    if (option->letter)
        fprintf(out, "\\-%c\\fR, \\fB", option->letter);
    fputs("\\-\\-", out);
    print_text(out, option->name);
    fputs("\\fR", out);
    if (option_value_name(option)) {
        fputs(" \\fI", out);
        print_text(out, option_value_name(option));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    print_text(out, option->help);
    if (option->initial && option->kind != PELT_OPTION_FLAG) {
        fputs(" (default ", out);
        print_text(out, option->initial);
        fputc(')', out);
    }
    fputc('\n', out);
}

static void print_exit_codes(FILE *out) {
    fputs(".SH EXIT STATUS\n", out);
    for (size_t e = 0; e < COUNT(exit_texts); e++)
        fprintf(out, ".TP\n%d\n%s\n", exit_texts[e].code, exit_texts[e].text);
}

/* ---- Pages ------------------------------------------------------------------------------------------------ */

static void print_verb_page(FILE *out, const cli_verb *verb) {
    fprintf(out, ".TH PELT\\-%s 1 \"\" \"pelt %s\" \"Pelt\"\n.SH NAME\npelt\\-%s \\- ", verb->name, pelt_version(),
            verb->name);
    print_text(out, verb->summary);
    fputs("\n.SH SYNOPSIS\n", out);
    print_macro(out, "B", verb->usage);
    if (verb->about) {
        fputs(".SH DESCRIPTION\n", out);
        print_text(out, verb->about);
        fputc('\n', out);
    }
    fputs(".SH OPTIONS\n", out);
    each_option(verb, print_option, out);
    if (verb->example_count)
        fputs(".SH EXAMPLES\n", out);
    for (size_t e = 0; e < verb->example_count; e++) {
        print_macro(out, "TP\n.B", verb->examples[e].command);
        print_text(out, verb->examples[e].meaning);
        fputc('\n', out);
    }
    print_exit_codes(out);
    fputs(".SH SEE ALSO\n.BR pelt (1)\n", out);
}

static void print_main_page(FILE *out) {
    fprintf(out,
            ".TH PELT 1 \"\" \"pelt %s\" \"Pelt\"\n.SH NAME\npelt \\- turns anything that deforms into a skin any "
            "engine can play\n.SH SYNOPSIS\n.B pelt\n\\fIVERB\\fR [\\fIoptions\\fR] ...\n.SH VERBS\n",
            pelt_version());
    for (size_t v = 0; verb_at(v); v++) {
        fprintf(out, ".TP\n.BR pelt\\-%s (1)\n", verb_at(v)->name);
        print_text(out, verb_at(v)->summary);
        fputc('\n', out);
    }
    fputs(".SH INPUTS\nEverywhere an input is one of\n", out);
    static const char *const inputs[][2] = {
        {"rig.glb", "a file"},
        {"mesh.obj cache.pc2", "a mesh and its cache"},
        {"frames/", "a folder that holds a sequence, in natural order"},
        {"'f_*.obj'", "a sequence by a glob"},
        {"'f_%04d.obj'", "a sequence by a pattern"},
    };
    for (size_t n = 0; n < COUNT(inputs); n++) {
        print_macro(out, "TP\n.B", inputs[n][0]);
        fprintf(out, "%s\n", inputs[n][1]);
    }
    fputs(".SH FORMATS\n", out);
    const pelt_format_info *format;
    for (uint32_t f = 0; (format = pelt_format_at(f)); f++) {
        print_macro(out, "TP\n.B", format->extensions);
        print_text(out, format->summary);
        fputc('\n', out);
    }
    print_exit_codes(out);
    fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours, even on a terminal\n", out);
}

#define PAGE_SIZE_MAX ((size_t)1 << 20) /* bytes; the longest page has 12 kB */

/* Writes one page to a file; `verb` NULL: the main page. Not with open_memstream: glibc's drops data silently when out
 * of memory. */
static exit_code write_page(cli_session *session, const char *folder, const cli_verb *verb) {
    char *path = must_format("%s/pelt%s%s.1", folder, verb ? "-" : "", verb ? verb->name : "");
    char *text = must_alloc(PAGE_SIZE_MAX, 1);
    FILE *out = fmemopen(text, PAGE_SIZE_MAX, "w");
    if (out && verb)
        print_verb_page(out, verb);
    else if (out)
        print_main_page(out);
    long size = out ? ftell(out) : -1;
    bool good = size > 0 && !ferror(out);
    if (out && fclose(out) != 0)
        good = false;
    pelt_result result = good ? pelt_file_write(session->context, path, text, (size_t)size) : PELT_ERROR_MEMORY;
    free(text);
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
    if (arg_count == 0) {
        print_main_page(stdout);
        return EXIT_DONE;
    }
    const cli_verb *verb;
    exit_code code = verb_require(session, args[0], &verb);
    if (code == EXIT_DONE)
        print_verb_page(stdout, verb);
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
