/* Any bytes as a command line: lines are arguments, the first names a verb. Parsed only, never run: accepted values are
 * in the ranges of the option tables, and every rejection is a usage error. */
#include "chain.h"

#include "../cli/cli.h"

#define MAX_ARGUMENTS 64

/* Every field of every table; options that are not given have their defaults, which are in range too. */
static void check_settings(const cli_session *session, const void *settings) {
    for (size_t g = 0; verb_group(session->verb, g); g++) {
        const option_group *group = verb_group(session->verb, g);
        const char *desc =
            group == &common_group ? (const char *)&session->common : (const char *)settings + group->offset;
        FUZZ_REQUIRE(pelt_options_check(session->context, group->table(), desc) == PELT_OK);
    }
}

static void parse(cli_session *session, const char *const *args, size_t count) {
    void *settings = must_alloc(1, session->verb->settings_size + 1);
    arg_list rest;
    args_default(session->verb, settings);
    exit_code code = args_parse(session, args, count, false, settings, &rest);
    FUZZ_REQUIRE(code == EXIT_DONE || code == EXIT_USAGE);
    FUZZ_REQUIRE(rest.count <= count);
    if (code == EXIT_DONE) {
        check_settings(session, settings);
        code = check_files(session, &rest);
        FUZZ_REQUIRE(code == EXIT_DONE || code == EXIT_USAGE);
    }
    free(rest.items);
    free(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(size + 1, 1);
    FUZZ_REQUIRE(text);
    if (size)
        memcpy(text, data, size);
    const char *args[MAX_ARGUMENTS];
    size_t count = 0;
    for (char *line = text; line && count < MAX_ARGUMENTS;) {
        args[count++] = line;
        line = strchr(line, '\n');
        if (line)
            *line++ = 0;
    }
    cli_session session = {.out = stdout, .context = fuzz_context()};
    static FILE *nowhere; /* usage errors are printed there */
    if (!nowhere)
        FUZZ_REQUIRE((nowhere = fopen("/dev/null", "w")) != NULL);
    FILE *real = stderr;
    stderr = nowhere;
    exit_code code = verb_require(&session, args[0], &session.verb);
    if (code == EXIT_DONE)
        parse(&session, args + 1, count - 1);
    stderr = real;
    FUZZ_REQUIRE(code == EXIT_DONE || code == EXIT_USAGE);
    free(session.given);
    pelt_context_destroy(session.context);
    free(text);
    return 0;
}
