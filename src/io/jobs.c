/* Lists of commands for pelt batch, and digests of their inputs. */
#include "core/digest.h"
#include "core/json.h"
#include "io/io.h"

#include <ctype.h>

/* ---- Lists ------------------------------------------------------------------------------------------------ */

static bool is_file_name(const char *name) {
    size_t length = strlen(name);
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return false;
    return length > 0 && length <= 100 && name[0] != '.';
}

static pelt_result read_job(px_arena *arena, const px_json *value, uint32_t number, double time_limit, pelt_job *job) {
    pelt_context *context = px_arena_context(arena);
    const px_json *command = px_json_get(value, "command"), *limit = px_json_get(value, "time_limit");
    const char **arguments = PX_NEW(arena, const char *, (size_t)px_json_count(command) + 1);
    char *name = PX_NEW(arena, char, 16);
    if (!arguments || !name)
        return PELT_ERROR_MEMORY;
    snprintf(name, 16, "%u", number + 1);
    *job = (pelt_job){.name = px_json_string(px_json_get(value, "name"), name), .arguments = arguments};
    if (!px_json_is(command, PX_JSON_ARRAY) || command->count == 0)
        return px_fail(context, PELT_ERROR_INPUT,
                       "job %u has no command: it should be an array, [\"decompose\", \"a.obj\", …]", number + 1);
    for (const px_json *item = command->first; item; item = item->next) {
        if (!px_json_is(item, PX_JSON_STRING))
            return px_fail(context, PELT_ERROR_INPUT, "job %u: argument %u of its command is no string", number + 1,
                           job->argument_count + 1);
        arguments[job->argument_count++] = item->text;
    }
    job->time_limit = px_json_double(limit, time_limit);
    if (!(job->time_limit >= 0 && job->time_limit < 1e9))
        return px_fail(context, PELT_ERROR_INPUT, "job %u: the time limit should be seconds, 0 for none", number + 1);
    if (!is_file_name(job->name))
        return px_fail(context, PELT_ERROR_INPUT,
                       "job %u: the name '%s' should have letters, digits, '.', '_' and '-' only: files get it",
                       number + 1, job->name);
    return PELT_OK;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static pelt_result check_names(px_arena *arena, const pelt_job *jobs, uint32_t count) {
    const char **names = PX_NEW(arena, const char *, count);
    if (!names)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < count; n++)
        names[n] = jobs[n].name;
    px_sort(names, count, sizeof *names, compare_names);
    for (uint32_t n = 1; n < count; n++)
        if (strcmp(names[n - 1], names[n]) == 0)
            return px_fail(px_arena_context(arena), PELT_ERROR_INPUT, "two jobs have the name '%s'", names[n]);
    return PELT_OK;
}

static pelt_result read_list(px_arena *arena, const char *path, pelt_job_list *list) {
    pelt_context *context = px_arena_context(arena);
    px_file file;
    px_json *root;
    PX_TRY(px_file_open(arena, path, &file));
    PX_TRY(px_json_read(arena, (const char *)file.data, file.size, &root));
    const px_json *values = px_json_get(root, "jobs");
    if (!px_json_is(values, PX_JSON_ARRAY) || values->count == 0)
        return px_fail(context, PELT_ERROR_INPUT, "has no jobs: {\"jobs\": [{\"command\": [\"info\", \"a.obj\"]}, …]}");
    pelt_job *jobs = PX_NEW(arena, pelt_job, values->count);
    uint32_t count = 0;
    double time_limit = px_json_double(px_json_get(root, "time_limit"), 0);
    for (const px_json *value = values->first; jobs && value; value = value->next, count++)
        PX_TRY(read_job(arena, value, count, time_limit, &jobs[count]));
    PX_TRY(jobs ? check_names(arena, jobs, count) : PELT_ERROR_MEMORY);
    *list = (pelt_job_list){jobs, count, arena};
    return PELT_OK;
}

pelt_result pelt_jobs_load(pelt_context *context, const char *path, pelt_job_list *list) {
    *list = (pelt_job_list){0};
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return PELT_ERROR_MEMORY;
    const char *previous = px_subject(context, path);
    pelt_result result = read_list(arena, path, list);
    px_subject(context, previous);
    if (result != PELT_OK)
        px_arena_destroy(arena);
    return result;
}

void pelt_jobs_free(pelt_job_list *list) {
    px_arena_destroy(list->memory);
    *list = (pelt_job_list){0};
}

/* ---- Digests ---------------------------------------------------------------------------------------------- */

static pelt_result digest_files(px_arena *arena, const char *path, px_digest *digest) {
    const char **paths;
    size_t count;
    PX_TRY(px_sequence_expand(arena, path, &paths, &count));
    for (size_t n = 0; n < count; n++) {
        uint64_t size;
        if (px_path_look(paths[n], &size) == PX_PATH_STREAM) /* may have no end */
            return px_fail(px_arena_context(arena), PELT_ERROR_INPUT, "%s: cannot be read twice", paths[n]);
        px_arena *part = px_arena_create(px_arena_context(arena)); /* a file at a time */
        px_file file;
        pelt_result result = part ? px_file_open(part, paths[n], &file) : PELT_ERROR_MEMORY;
        if (result == PELT_OK)
            px_digest_add(digest, file.data, file.size);
        px_arena_destroy(part);
        PX_TRY(result);
    }
    return PELT_OK;
}

pelt_result pelt_input_digest(pelt_context *context, const char *path, uint64_t digest[2]) {
    px_digest content = PX_DIGEST_START;
    px_arena *arena = px_arena_create(context);
    pelt_result result = arena ? digest_files(arena, path, &content) : PELT_ERROR_MEMORY;
    px_arena_destroy(arena);
    memcpy(digest, content.words, sizeof content.words);
    return result;
}
