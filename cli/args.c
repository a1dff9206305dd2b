/* Command-line parser, driven by the option tables of the verb: --name value, --name=value, -n value, -nvalue, grouped
 * one-letter flags, and -- before arguments that begin with a dash. Options may follow positional arguments. Options of a file
 * (--settings) come first: those of the command line take precedence.
 */
#include "cli.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const pelt_option common_options[] = {
    {"quiet", 'q', PELT_OPTION_FLAG, PELT_FIELD(common_settings, quiet), NULL, 0, 0, NULL, NULL,
     "print errors only: no warnings, progress or summary"},
    {"verbose", 'v', PELT_OPTION_FLAG, PELT_FIELD(common_settings, verbose), NULL, 0, 0, NULL, NULL,
     "print more detail"},
    {"progress", 0, PELT_OPTION_FLAG, PELT_FIELD(common_settings, progress), NULL, 0, 0, NULL, NULL,
     "print progress as lines on standard error, for other programs: 'progress 0.25 solve'"},
    {"json", 0, PELT_OPTION_TEXT, PELT_FIELD(common_settings, json_path), NULL, 0, 0, NULL, "FILE",
     "write the results as JSON; -: to standard output, without the table"},
    {"report", 0, PELT_OPTION_TEXT, PELT_FIELD(common_settings, page_path), NULL, 0, 0, NULL, "PAGE",
     "write an HTML page with the result, figures, settings and warnings"},
    {"settings", 0, PELT_OPTION_TEXT, PELT_FIELD(common_settings, settings_path), NULL, 0, 0, NULL, "FILE",
     "take options from a JSON file: a report of --json, or what the studio saved; those given here take precedence"},
    {"threads", 0, PELT_OPTION_UINT, PELT_FIELD(common_settings, thread_count), NULL, 0, 256, NULL, "N",
     "number of threads; 0: one per core; results do not depend on it"},
    {"max-memory", 0, PELT_OPTION_SIZE, PELT_FIELD(common_settings, memory_limit), NULL, 0, 0, NULL, "SIZE",
     "fail instead of allocating more than this, such as 512M or 4G"},
    {"help", 'h', PELT_OPTION_FLAG, PELT_FIELD(common_settings, help), NULL, 0, 0, NULL, NULL, "show this help"},
};
static OPTION_TABLE(common_table, common_options)

    const option_group common_group = {"Options of every verb", common_table, 0};

const option_group *verb_group(const cli_verb *verb, size_t index) {
    size_t own = verb ? verb->group_count : 0;
    return index < own ? &verb->groups[index] : index == own ? &common_group : NULL;
}

void args_default(const cli_verb *verb, void *settings) {
    for (size_t g = 0; g < verb->group_count; g++)
        pelt_options_default(verb->groups[g].table(), (char *)settings + verb->groups[g].offset);
}

bool option_given(const cli_session *session, const char *name) {
    for (size_t o = 0; o < session->given_count; o++)
        if (strcmp(session->given[o].option->name, name) == 0)
            return true;
    return false;
}

exit_code options_check(const cli_session *session, const idle_options *rules, size_t rule_count) {
    for (size_t r = 0; r < rule_count; r++)
        for (const char *name = rules[r].names; rules[r].idle && *name;) {
            size_t length = strcspn(name, " ");
            for (size_t o = 0; o < session->given_count; o++) {
                const char *given = session->given[o].option->name;
                if (strlen(given) == length && memcmp(given, name, length) == 0)
                    return usage_error(session, "--%s means nothing %s", given, rules[r].why);
            }
            name += length + strspn(name + length, " ");
        }
    return EXIT_DONE;
}

arg_list option_values(const cli_session *session, const char *name) {
    arg_list values = {must_alloc(session->given_count, sizeof *values.items), 0};
    for (size_t o = 0; o < session->given_count; o++)
        if (strcmp(session->given[o].option->name, name) == 0)
            values.items[values.count++] = session->given[o].value;
    return values;
}

/* ---- Parsing ---------------------------------------------------------------------------------------------- */

typedef struct parser {
    cli_session *session;
    void *settings;
    const char *const *args;
    size_t count, next;
} parser;

/* Finds an option by long name, or by letter if `name` is NULL. */
static const pelt_option *find_option(const cli_verb *verb, const char *name, size_t length, char letter) {
    for (size_t g = 0; verb_group(verb, g); g++) {
        const pelt_option_table *table = verb_group(verb, g)->table();
        for (const pelt_option *row = table->rows; row < table->rows + table->count; row++) {
            bool same = name ? strlen(row->name) == length && memcmp(row->name, name, length) == 0
                             : letter && row->letter == letter;
            if (same)
                return row;
        }
    }
    return NULL;
}

bool table_has(const pelt_option_table *table, const char *name) {
    for (size_t o = 0; o < table->count; o++)
        if (strcmp(table->rows[o].name, name) == 0)
            return true;
    return false;
}

/* The option whose name is nearest; NULL: none is near. */
static const char *nearest_option(const cli_verb *verb, const char *name) {
    const char *names[OPTION_MAX];
    size_t count = 0;
    for (size_t g = 0; verb_group(verb, g); g++) {
        const pelt_option_table *table = verb_group(verb, g)->table();
        for (size_t o = 0; o < table->count && count < OPTION_MAX; o++)
            names[count++] = table->rows[o].name;
    }
    return pelt_nearest_name(name, names, count);
}

/* Sets the option in every group that has it. */
static exit_code store_option(parser *p, const pelt_option *option, const char *value) {
    cli_session *session = p->session;
    for (size_t g = 0; verb_group(session->verb, g); g++) {
        const option_group *group = verb_group(session->verb, g);
        if (!table_has(group->table(), option->name))
            continue;
        char *desc = group == &common_group ? (char *)&session->common : (char *)p->settings + group->offset;
        if (pelt_options_set(session->context, group->table(), desc, option->name, value) != PELT_OK)
            return usage_error(session, "--%s", pelt_error_text(session->context));
    }
    return EXIT_DONE;
}

static bool has_preset(const pelt_option_table *table, const char *name) {
    for (size_t v = 0; v < table->preset_count; v++)
        if (strcmp(table->presets[v].preset, name) == 0)
            return true;
    return false;
}

/* Applies the last preset among options to every table that has it, then the options again: they take precedence, in any
 * order. */
static exit_code apply_options(parser *p, const given_option *options, size_t count) {
    cli_session *session = p->session;
    const char *preset = NULL;
    exit_code code = EXIT_DONE;
    for (size_t o = 0; o < count; o++)
        if (strcmp(options[o].option->name, "preset") == 0)
            preset = options[o].value;
    for (size_t g = 0; preset && g < session->verb->group_count; g++) {
        const option_group *group = &session->verb->groups[g];
        if (has_preset(group->table(), preset) &&
            pelt_options_preset(session->context, group->table(), (char *)p->settings + group->offset, preset) !=
                PELT_OK)
            return usage_error(session, "--preset %s: %s", preset, pelt_error_text(session->context));
    }
    for (size_t o = 0; code == EXIT_DONE && o < count; o++)
        code = store_option(p, options[o].option, options[o].value);
    return code;
}

/* ---- Settings files --------------------------------------------------------------------------------------- */

typedef struct settings_file {
    parser *p;
    given_option *options; /* [count] */
    size_t count;
    char *problem; /* why the file does not fit; NULL: it does */
} settings_file;

/* One option of the file. Its value is kept until the program ends. */
static pelt_result take_setting(void *user, const char *name, const char *value) {
    settings_file *file = user;
    cli_session *session = file->p->session;
    const cli_verb *verb = session->verb;
    if (!name) {
        if (strcmp(value, verb->name) != 0)
            file->problem = must_format("has settings of 'pelt %s', not of 'pelt %s'", value, verb->name);
        return file->problem ? PELT_ERROR_INPUT : PELT_OK;
    }
    const pelt_option *option = find_option(verb, name, strlen(name), 0);
    if (!option || table_has(common_table(), name)) {
        const char *near = nearest_option(verb, name);
        file->problem = near
                            ? must_format("'%s' is no setting of 'pelt %s'; did you mean '%s'?", name, verb->name, near)
                            : must_format("'%s' is no setting of 'pelt %s'", name, verb->name);
        return PELT_ERROR_INPUT;
    }
    const char *kept = NULL;
    if (value) {
        session->texts = must_resize(session->texts, session->text_count + 1, sizeof *session->texts);
        kept = session->texts[session->text_count++] = must_format("%s", value);
    }
    for (size_t g = 0; g < verb->group_count; g++) {
        const option_group *group = &verb->groups[g];
        if (table_has(group->table(), name) &&
            pelt_options_set(session->context, group->table(), (char *)file->p->settings + group->offset, name, kept) !=
                PELT_OK) {
            file->problem = must_format("%s", pelt_error_text(session->context));
            return PELT_ERROR_INPUT;
        }
    }
    file->options = must_resize(file->options, file->count + 1, sizeof *file->options);
    file->options[file->count++] = (given_option){option, kept};
    return PELT_OK;
}

/* Whether a field differs from its default. Options of a file that do not are as if they were not given: reports have all of them. */
static bool is_changed(const parser *p, const pelt_option *option, const char *defaults) {
    const cli_verb *verb = p->session->verb;
    for (size_t g = 0; g < verb->group_count; g++) {
        const pelt_option_table *table = verb->groups[g].table();
        if (option < table->rows || option >= table->rows + table->count)
            continue;
        size_t at = verb->groups[g].offset + option->offset;
        const char *now = (const char *)p->settings + at, *then = defaults + at;
        const char *a, *b;
        switch (option->kind) {
        case PELT_OPTION_FLAG:
            return *(const bool *)now != *(const bool *)then;
        case PELT_OPTION_UINT:
        case PELT_OPTION_CHOICE:
            return *(const uint32_t *)now != *(const uint32_t *)then;
        case PELT_OPTION_REAL:
            return *(const double *)now != *(const double *)then;
        case PELT_OPTION_SIZE:
            return *(const size_t *)now != *(const size_t *)then;
        case PELT_OPTION_VECTOR:
            return memcmp(now, then, 3 * sizeof(double)) != 0;
        case PELT_OPTION_TEXT:
            a = *(const char *const *)now;
            b = *(const char *const *)then;
            return a && b ? strcmp(a, b) != 0 : a != b;
        }
    }
    return true;
}

/* Reads the file of --settings into the verb's settings. Its options come before those of the command line, unless they are given there or
 * have their default. */
static exit_code apply_file(parser *p, const char *path) {
    cli_session *session = p->session;
    char *defaults = must_alloc(1, session->verb->settings_size + 1);
    settings_file file = {.p = p};
    args_default(session->verb, defaults);
    args_default(session->verb, p->settings);
    pelt_result result = pelt_settings_load(session->context, path, take_setting, &file);
    exit_code code = EXIT_DONE;
    if (file.problem)
        say(session, MESSAGE_ERROR, "%s: %s", path, file.problem);
    else if (result != PELT_OK)
        say(session, MESSAGE_ERROR, "%s", pelt_error_text(session->context));
    if (result != PELT_OK)
        code = EXIT_INPUT;
    if (code == EXIT_DONE)
        code = apply_options(p, file.options, file.count);
    size_t kept = 0;
    for (size_t o = 0; o < file.count; o++)
        if (!option_given(session, file.options[o].option->name) && is_changed(p, file.options[o].option, defaults))
            file.options[kept++] = file.options[o];
    if (kept > 0) {
        session->given = must_resize(session->given, session->given_count + kept, sizeof *session->given);
        memmove(session->given + kept, session->given, session->given_count * sizeof *session->given);
        memcpy(session->given, file.options, kept * sizeof *session->given);
        session->given_count += kept;
    }
    free(file.options);
    free(file.problem);
    free(defaults);
    return code;
}

/* ---- Arguments -------------------------------------------------------------------------------------------- */

static exit_code set_option(parser *p, const pelt_option *option, const char *value) {
    cli_session *session = p->session;
    exit_code code = store_option(p, option, value);
    if (code != EXIT_DONE)
        return code;
    session->given = must_resize(session->given, session->given_count + 1, sizeof *session->given);
    session->given[session->given_count++] = (given_option){option, value};
    return EXIT_DONE;
}

/* Takes the next argument as the value of an option. If it is itself a known option, the value is missing. */
static exit_code take_value(parser *p, const pelt_option *option, const char **value) {
    if (option->kind == PELT_OPTION_FLAG)
        return EXIT_DONE;
    const char *next = p->next < p->count ? p->args[p->next] : NULL;
    bool forgotten = !next || (next[0] == '-' && next[1] == '-' &&
                               find_option(p->session->verb, next + 2, strcspn(next + 2, "="), 0));
    if (forgotten)
        return usage_error(p->session, "--%s needs a value: --%s %s", option->name, option->name,
                           option_value_name(option));
    *value = next;
    p->next++;
    return EXIT_DONE;
}

static exit_code unknown_option(parser *p, const char *name, size_t length) {
    char *wrong = must_format("%.*s", (int)length, name);
    const char *near = nearest_option(p->session->verb, wrong);
    exit_code code = near ? usage_error(p->session, "there is no option --%s; did you mean --%s?", wrong, near)
                          : usage_error(p->session, "there is no option --%s", wrong);
    free(wrong);
    return code;
}

static exit_code parse_long(parser *p, const char *name) {
    size_t length = strcspn(name, "=");
    const pelt_option *option = find_option(p->session->verb, name, length, 0);
    if (!option)
        return unknown_option(p, name, length);
    const char *value = NULL;
    if (name[length] == '=')
        value = name + length + 1;
    else {
        exit_code code = take_value(p, option, &value);
        if (code != EXIT_DONE)
            return code;
    }
    return set_option(p, option, value);
}

static exit_code parse_letters(parser *p, const char *letters) {
    for (; *letters; letters++) {
        const pelt_option *option = find_option(p->session->verb, NULL, 0, *letters);
        if (!option)
            return usage_error(p->session, "there is no option -%c", *letters);
        const char *value = NULL;
        bool attached = option->kind != PELT_OPTION_FLAG && letters[1];
        if (attached)
            value = letters + 1 + (letters[1] == '=');
        exit_code code = attached ? EXIT_DONE : take_value(p, option, &value);
        if (code == EXIT_DONE)
            code = set_option(p, option, value);
        if (code != EXIT_DONE || attached)
            return code;
    }
    return EXIT_DONE;
}

exit_code args_parse(cli_session *session, const char *const *args, size_t count, bool stop_at_first, void *settings,
                     arg_list *rest) {
    parser p = {session, settings, args, count, 0};
    bool only_positional = false;
    rest->items = must_alloc(count, sizeof *rest->items);
    rest->count = 0;
    while (p.next < count) {
        const char *arg = args[p.next++];
        exit_code code = EXIT_DONE;
        if (only_positional || arg[0] != '-' || arg[1] == 0) {
            rest->items[rest->count++] = arg;
            only_positional = only_positional || stop_at_first;
        } else if (strcmp(arg, "--") == 0)
            only_positional = true;
        else
            code = arg[1] == '-' ? parse_long(&p, arg + 2) : parse_letters(&p, arg + 1);
        if (code != EXIT_DONE)
            return code;
        /* --help takes precedence over errors in later arguments. */
        if (session->common.help && session->verb)
            break;
    }
    if (!session->verb || session->common.help)
        return EXIT_DONE;
    size_t own = session->given_count;
    exit_code code = session->common.settings_path ? apply_file(&p, session->common.settings_path) : EXIT_DONE;
    return code == EXIT_DONE && own > 0 ? apply_options(&p, session->given + (session->given_count - own), own) : code;
}
