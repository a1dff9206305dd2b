/* pelt batch: runs a list of pelt commands, several at a time, also on several machines (mpirun).
 *
 * Every command is a process of its own: one that fails, dies or hangs costs only itself. Results are files in a folder: NAME.json the report
 * of a command, NAME.log its messages, NAME.done its exit code with a digest of the command, its inputs and the program. A command whose
 * digest is unchanged is not run again.
 *
 * Processes of a group take commands one by one: the first to make the file of a claim has it.
 */
#include "batch.h"

#include "core/child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POLL  0.0005 /* seconds between looks at the commands that run */
#define GRACE 3.0    /* seconds that a command has to end in order */

/* Variables of the starter of MPI: a command is no process of the group. */
static const char *const not_inherited[] = {"OMPI_", "PMIX_", "PMI_", "ORTE_", NULL};

static const pelt_option own_options[] = {
    {"output", 'o', PELT_OPTION_TEXT, PELT_FIELD(batch_settings, output), NULL, 0, 0, NULL, "FOLDER",
     "folder for logs, reports and index.html; default: the name of the list without its extension"},
    {"jobs", 'j', PELT_OPTION_UINT, PELT_FIELD(batch_settings, jobs), "0", 0, 1024, NULL, "N",
     "commands that run at once in this process; 0: one per core, or one with mpirun"},
    {"time-limit", 0, PELT_OPTION_REAL, PELT_FIELD(batch_settings, time_limit), "0", 0, 1e9, NULL, "S",
     "seconds for commands that the list gives no time limit; 0: no limit"},
    {"again", 0, PELT_OPTION_FLAG, PELT_FIELD(batch_settings, again), NULL, 0, 0, NULL, NULL,
     "run all commands, also those that are done"},
};
static OPTION_TABLE(own_table, own_options)

    static const option_group groups[] = {{"Options", own_table, 0}};

/* ---- Commands --------------------------------------------------------------------------------------------- */

/* Options whose value is a file that is written. */
static bool names_output(const char *option) {
    static const char *const names[] = {"-o", "--output", "--json", "--report", "--mesh", "--csv", "--svg", "--png"};
    for (size_t n = 0; n < COUNT(names); n++)
        if (strcmp(option, names[n]) == 0)
            return true;
    return false;
}

static bool has_argument(const pelt_job *job, const char *name) {
    for (uint32_t a = 0; a < job->argument_count; a++)
        if (strncmp(job->arguments[a], name, strlen(name)) == 0 && strchr("=", job->arguments[a][strlen(name)]))
            return true;
    return false;
}

char *batch_path(const batch_work *w, const pelt_job *job, const char *extension) {
    return must_format("%s/%s.%s", w->folder, job->name, extension);
}

/* FNV-1a over the texts. */
static void add_text(uint64_t key[2], const char *text) {
    for (size_t n = 0, size = strlen(text) + 1; n < size; n++) {
        key[0] = (key[0] ^ (unsigned char)text[n]) * UINT64_C(0x100000001B3);
        key[1] = (key[1] + (unsigned char)text[n]) * UINT64_C(0xD6E8FEB86659FD93);
    }
}

/* Digest of the program, the command and the content of all arguments that are inputs. */
static void make_key(const batch_work *w, const pelt_job *job, uint64_t key[2]) {
    key[0] = UINT64_C(0xCBF29CE484222325);
    key[1] = 1;
    add_text(key, pelt_version());
    for (uint32_t a = 0; a < job->argument_count; a++) {
        uint64_t digest[2];
        const char *argument = job->arguments[a];
        add_text(key, argument);
        if (a == 0 || names_output(job->arguments[a - 1]) || argument[0] == '-' ||
            pelt_input_digest(w->session->context, argument, digest) != PELT_OK)
            continue;
        key[0] = (key[0] ^ digest[0]) * UINT64_C(0x100000001B3);
        key[1] = (key[1] + digest[1]) * UINT64_C(0xD6E8FEB86659FD93);
    }
}

static bool is_good(int code) {
    return code == EXIT_DONE || code == EXIT_QUALITY;
}

/* Whether a command was run before with the same key, with success, and its outputs are still there. */
static bool is_done(const batch_work *w, const pelt_job *job, const uint64_t key[2], batch_result *result) {
    char *path = batch_path(w, job, "done"), *text = file_text(path);
    unsigned long long found[2] = {0};
    int code = -1;
    bool done = text && sscanf(text, "%llx %llx %d %lf", &found[0], &found[1], &code, &result->seconds) == 4 &&
                found[0] == key[0] && found[1] == key[1] && is_good(code);
    for (uint32_t a = 1; done && a < job->argument_count; a++) {
        uint64_t size;
        if (names_output(job->arguments[a - 1]) && !is_pattern(job->arguments[a]))
            done = px_path_look(job->arguments[a], &size) != PX_PATH_NONE;
    }
    free(text);
    free(path);
    if (done) {
        result->state = BATCH_SKIPPED;
        result->code = code;
    }
    return done;
}

static bool keep_result(const batch_work *w, const pelt_job *job, const uint64_t key[2], const batch_result *result) {
    char *path = batch_path(w, job, "done");
    char *text = must_format("%016llx %016llx %.0f %.3f\n", (unsigned long long)key[0], (unsigned long long)key[1],
                             result->code, result->seconds);
    pelt_result written = pelt_file_write(w->session->context, path, text, strlen(text));
    if (written != PELT_OK)
        warn(w->session, "%s; the next run will repeat '%s'", pelt_error_text(w->session->context), job->name);
    free(text);
    free(path);
    return written == PELT_OK;
}

/* ---- Running ---------------------------------------------------------------------------------------------- */

typedef struct slot {
    px_child child;
    uint32_t job;
    uint64_t key[2];
    double start, stopped; /* seconds; stopped 0: not yet */
    bool limited;          /* stopped by its time limit */
} slot;

static bool start_job(batch_work *w, slot *s, uint32_t number) {
    const pelt_job *job = &w->list.jobs[number];
    char *report = batch_path(w, job, "json"), *log = batch_path(w, job, "log"), threads[16];
    const char **arguments = must_alloc(job->argument_count + (size_t)7, sizeof *arguments);
    size_t count = 0;
    snprintf(threads, sizeof threads, "%u", w->threads);
    arguments[count++] = w->program;
    for (uint32_t a = 0; a < job->argument_count; a++)
        arguments[count++] = job->arguments[a];
    if (!has_argument(job, "--json")) {
        arguments[count++] = "--json";
        arguments[count++] = report;
    }
    if (!has_argument(job, "--threads")) {
        arguments[count++] = "--threads";
        arguments[count++] = threads;
    }
    px_path_remove(report); /* a report of an earlier run is not that of this one */
    s->job = number;
    s->start = px_seconds();
    s->stopped = 0;
    s->limited = false;
    bool started = px_child_start(&s->child, arguments, log, not_inherited);
    if (!started) {
        warn(w->session, "'%s' cannot be started: %s", job->name, strerror(errno));
        w->results[number] = (batch_result){.state = BATCH_RUN, .code = EXIT_OUTPUT};
    }
    free(arguments);
    free(report);
    free(log);
    return started;
}

/* The next command for this process; false: there is none. */
static bool take_job(batch_work *w, uint32_t *number) {
    while (w->next < w->list.job_count) {
        *number = w->next++;
        if (!w->session->group)
            return true;
        char *path = must_format("%s/.claim-%llx-%u", w->folder, (unsigned long long)w->token, *number);
        int claim = px_open(path, PX_OPEN_NEW);
        free(path);
        if (claim >= 0) {
            px_descriptor_close(claim);
            return true;
        }
        if (errno != EEXIST) {
            warn(w->session, "%s: a command cannot be claimed: %s", w->folder, strerror(errno));
            w->results[*number] = (batch_result){.state = BATCH_RUN, .code = EXIT_OUTPUT};
        }
    }
    return false;
}

/* Starts the next command that is not done; false: no more. */
static bool fill(batch_work *w, slot *s) {
    uint32_t number;
    while (!px_program_interrupted() && take_job(w, &number)) {
        make_key(w, &w->list.jobs[number], s->key);
        if (!w->settings->again && is_done(w, &w->list.jobs[number], s->key, &w->results[number]))
            continue;
        if (start_job(w, s, number))
            return true;
    }
    return false;
}

static void finish(batch_work *w, slot *s, int code, double cpu) {
    const pelt_job *job = &w->list.jobs[s->job];
    batch_result *result = &w->results[s->job];
    *result = (batch_result){.state = px_program_interrupted() && !is_good(code) ? BATCH_STOPPED : BATCH_RUN,
                             .code = s->limited ? BATCH_LIMITED : code,
                             .seconds = px_seconds() - s->start,
                             .cpu = cpu,
                             .started = s->start - w->begin,
                             .process = w->session->group ? w->session->group->rank : 0};
    if (result->state == BATCH_RUN)
        keep_result(w, job, s->key, result);
}

/* Stops a command that is over its time limit, or all when the program is interrupted: first in order, then at once. */
static void watch(const batch_work *w, slot *s) {
    double now = px_seconds(), limit = w->list.jobs[s->job].time_limit;
    limit = limit > 0 ? limit : w->settings->time_limit;
    bool late = limit > 0 && now - s->start > limit;
    if (s->stopped == 0 && (late || px_program_interrupted())) {
        s->limited = late;
        s->stopped = now;
        px_child_stop(&s->child, false);
    } else if (s->stopped > 0 && now - s->stopped > GRACE)
        px_child_stop(&s->child, true);
}

static void run_jobs(batch_work *w) {
    slot *slots = must_alloc(w->slot_count, sizeof *slots);
    for (bool more = true, busy = true; more || busy;) {
        bool changed = false;
        busy = false;
        for (uint32_t n = 0; n < w->slot_count; n++) {
            slot *s = &slots[n];
            int code;
            double cpu;
            if (s->child.process && px_child_ended(&s->child, &code, &cpu)) {
                finish(w, s, code, cpu);
                w->done_count++;
                changed = true;
            }
            if (!s->child.process && more)
                more = fill(w, s);
            if (s->child.process)
                watch(w, s);
            busy |= s->child.process != 0;
        }
        if (changed)
            terminal_progress(w->session, "jobs", (double)w->done_count / w->list.job_count);
        else if (busy)
            px_program_sleep(POLL);
    }
    free(slots);
}

/* ---- Group ------------------------------------------------------------------------------------------------ */

static void remove_claims(const batch_work *w) {
    for (uint32_t n = 0; n < w->list.job_count; n++) {
        char *path = must_format("%s/.claim-%llx-%u", w->folder, (unsigned long long)w->token, n);
        px_path_remove(path);
        free(path);
    }
}

/* A number that no other run has, for the names of claims. */
static pelt_result agree_on_token(batch_work *w) {
    double now = px_seconds();
    uint64_t bits;
    memcpy(&bits, &now, sizeof bits);
    w->token = bits ^ (uint64_t)px_process_id() << 40;
    return pelt_group_broadcast(w->session->context, 0, &w->token, sizeof w->token);
}

/* Every command has a result in one process and zeros in the others. */
static pelt_result collect(batch_work *w) {
    pelt_context *context = w->session->context;
    size_t numbers = w->list.job_count * sizeof *w->results / sizeof(double);
    pelt_result result = pelt_group_sum(context, (double *)w->results, numbers);
    if (pelt_group_rank(context) == 0)
        remove_claims(w);
    return result;
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code prepare(batch_work *w, const char *path) {
    cli_session *session = w->session;
    pelt_result result = pelt_jobs_load(session->context, path, &w->list);
    if (result != PELT_OK)
        return session_fail(session, result);
    for (uint32_t n = 0; n < w->list.job_count; n++) {
        const char *verb = w->list.jobs[n].arguments[0];
        if (!verb_find(verb) || strcmp(verb, "batch") == 0) {
            say(session, MESSAGE_ERROR, "%s: job '%s': there is no verb '%s' for a list", path, w->list.jobs[n].name,
                verb);
            return EXIT_INPUT;
        }
    }
    const char *name = px_path_name(path), *dot = strrchr(name, '.');
    size_t length = dot && dot > name ? (size_t)(dot - path) : strlen(path);
    w->folder = w->settings->output ? must_format("%s", w->settings->output)
                                    : must_format("%.*s%s", (int)length, path, dot ? "" : ".batch");
    uint64_t size;
    if (px_path_look(w->folder, &size) != PX_PATH_FOLDER && !px_folder_make(w->folder) && errno != EEXIST) {
        say(session, MESSAGE_ERROR, "%s: the folder cannot be made: %s", w->folder, strerror(errno));
        return EXIT_OUTPUT;
    }
    if (!px_program_path(w->program)) {
        say(session, MESSAGE_ERROR, "the path of this program is not known: start it by its path");
        return EXIT_INPUT;
    }
    uint32_t cores = px_core_count();
    w->slot_count = w->settings->jobs ? w->settings->jobs : session->group ? 1 : cores;
    w->threads = session->common.thread_count ? session->common.thread_count
                 : session->group             ? 1
                                              : cores / w->slot_count;
    w->threads = w->threads ? w->threads : 1;
    w->results = must_alloc(w->list.job_count, sizeof *w->results);
    return EXIT_DONE;
}

static exit_code run(cli_session *session, const void *given, const char *const *args, size_t arg_count) {
    batch_work w = {.session = session, .settings = given};
    if (arg_count != 1)
        return usage_error(session, "batch needs one list of commands");
    exit_code code = prepare(&w, args[0]);
    if (code == EXIT_DONE) {
        pelt_result result = agree_on_token(&w);
        w.begin = px_seconds();
        if (result == PELT_OK) {
            run_jobs(&w);
            result = collect(&w);
        }
        w.seconds = px_seconds() - w.begin;
        code = result == PELT_OK ? batch_report(&w) : session_fail(session, result);
    }
    pelt_jobs_free(&w.list);
    free(w.results);
    free(w.folder);
    return code;
}

static const example examples[] = {
    {"pelt batch jobs.json", "run all commands of the list, one per core"},
    {"pelt batch jobs.json -j 4 --time-limit 600 -o night", "four at a time, ten minutes each, results in night/"},
};

const cli_verb verb_batch = {
    .name = "batch",
    .summary = "run a list of pelt commands, several at a time, and again only what changed",
    .usage = "pelt batch JOBS.json [options]",
    .about =
        "The list is {\"jobs\": [{\"name\": \"horse\", \"command\": [\"decompose\", \"horse.obj\", \"horse.pc2\", "
        "\"-o\", "
        "\"horse.glb\"], \"time_limit\": 60}, …]}. Names and time limits (seconds) may be left out; \"time_limit\" "
        "beside "
        "\"jobs\" is that of all. Paths are relative to the current folder.\n\n"
        "Every command is a process of its own, with its exit code, its messages in NAME.log and its report in "
        "NAME.json. "
        "One that fails, dies or is over its time limit costs only itself. A command that was done before is skipped "
        "if "
        "the program, the command and the content of its inputs are the same and its outputs are there. index.html "
        "shows all results.\n\n"
        "With mpirun, processes on all machines take commands from the list as they get free; the folders must be "
        "shared.\n\n"
        "The exit code is 2 when a command failed.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(batch_settings),
    .grouped = true,
    .examples = examples,
    .example_count = COUNT(examples),
    .run = run,
};
