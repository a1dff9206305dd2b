/* Sequences of files: folders, globs and printf patterns, in natural order. */
#include "io/io.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- Natural order ---------------------------------------------------------------------------------------- */

int px_natural_compare(const char *a, const char *b) {
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t digits_a = strspn(a, "0123456789"), digits_b = strspn(b, "0123456789");
            if (digits_a != digits_b)
                return digits_a < digits_b ? -1 : 1;
            int order = strncmp(a, b, digits_a);
            if (order != 0)
                return order;
            a += digits_a;
            b += digits_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != 0) - (*b != 0);
}

/* Equal numbers with other zeros ("1" and "01") stay in a fixed order. */
static int compare_paths(const void *a, const void *b) {
    const char *const *left = a, *const *right = b;
    int order = px_natural_compare(*left, *right);
    return order ? order : strcmp(*left, *right);
}

/* ---- Lists of paths --------------------------------------------------------------------------------------- */

typedef struct path_list {
    px_arena *arena;
    const char **paths;
    size_t count, capacity;
} path_list;

static pelt_result add_path(path_list *list, const char *folder, const char *name) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 16;
        const char **grown = PX_NEW(list->arena, const char *, capacity);
        if (!grown)
            return PELT_ERROR_MEMORY;
        if (list->count)
            memcpy(grown, list->paths, list->count * sizeof *grown);
        list->paths = grown;
        list->capacity = capacity;
    }
    size_t folder_length = strlen(folder), name_length = strlen(name);
    bool slash = folder_length && folder[folder_length - 1] != '/';
    char *path = px_arena_alloc(list->arena, folder_length + slash + name_length + 1, 1);
    if (!path)
        return PELT_ERROR_MEMORY;
    memcpy(path, folder, folder_length);
    if (slash)
        path[folder_length] = '/';
    memcpy(path + folder_length + slash, name, name_length + 1);
    list->paths[list->count++] = path;
    return PELT_OK;
}

static pelt_result list_format(path_list *list, const char *folder, const pelt_format_info *wanted) {
    DIR *directory = opendir(folder);
    if (!directory)
        return px_fail(px_arena_context(list->arena), PELT_ERROR_INPUT, "the folder cannot be read: %s",
                       strerror(errno));
    pelt_result result = PELT_OK;
    for (struct dirent *entry; result == PELT_OK && (entry = readdir(directory)) != NULL;) {
        const px_format *format = entry->d_name[0] == '.' ? NULL : px_format_by_extension(entry->d_name);
        if (format && &format->info == wanted)
            result = add_path(list, folder, entry->d_name);
    }
    closedir(directory);
    return result;
}

/* The files of a folder in the first sequence format of the table that it holds any of. */
static pelt_result list_folder(path_list *list, const char *folder) {
    const pelt_format_info *format;
    for (uint32_t f = 0; list->count == 0 && (format = pelt_format_at(f)); f++)
        if (format->flags & PELT_FORMAT_SEQUENCE)
            PX_TRY(list_format(list, folder, format));
    if (list->count == 0)
        return px_fail_format(px_arena_context(list->arena), PELT_ERROR_INPUT, PELT_FORMAT_READ | PELT_FORMAT_SEQUENCE,
                              "the folder holds no file of a format that makes sequences");
    return PELT_OK;
}

static pelt_result list_glob(path_list *list, const char *pattern) {
    glob_t found = {0};
    int status = glob(pattern, 0, NULL, &found);
    pelt_result result = PELT_OK;
    for (size_t p = 0; status == 0 && result == PELT_OK && p < found.gl_pathc; p++)
        result = add_path(list, "", found.gl_pathv[p]);
    globfree(&found);
    if (result == PELT_OK && list->count == 0)
        result = px_fail(px_arena_context(list->arena), PELT_ERROR_INPUT, "no file matches");
    return result;
}

/* ---- printf patterns -------------------------------------------------------------------------------------- */

/* Finds the only %d, %4d or %04d. `width` 0 without one. */
static bool find_number(const char *path, const char **start, const char **end, int *width) {
    const char *percent = strchr(path, '%');
    if (!percent)
        return false;
    char *rest;
    long value = strtol(percent + 1, &rest, 10);
    if (!isdigit((unsigned char)percent[1]))
        rest = (char *)(uintptr_t)(percent + 1), value = 0;
    if (*rest != 'd' || value > 32 || strchr(rest, '%'))
        return false;
    *start = percent;
    *end = rest + 1;
    *width = (int)value;
    return true;
}

const char *px_sequence_path(px_arena *arena, const char *path, uint32_t number) {
    const char *start, *end;
    int width;
    if (!find_number(path, &start, &end, &width))
        return NULL;
    px_buffer text = {.context = px_arena_context(arena)};
    px_buffer_format(&text, "%.*s%0*u%s", (int)(start - path), path, width, number, end);
    const char *copy = text.failed ? NULL : px_arena_text(arena, text.data, text.size);
    px_buffer_free(&text);
    return copy;
}

bool px_sequence_is_pattern(const char *path) {
    const char *start, *end;
    int width;
    return find_number(path, &start, &end, &width);
}

/* Every file whose name is the pattern with some number in it. Gaps are fine. */
static pelt_result list_pattern(path_list *list, const char *pattern) {
    const char *start, *end;
    int width;
    find_number(pattern, &start, &end, &width);
    const char *slash = strrchr(pattern, '/');
    pelt_context *context = px_arena_context(list->arena);
    if (slash && slash >= start)
        return px_fail(context, PELT_ERROR_INPUT, "the number of a pattern belongs in the file name, not in a folder");
    const char *name = slash ? slash + 1 : pattern;
    const char *folder = slash ? px_arena_text(list->arena, pattern, (size_t)(name - pattern)) : "";
    if (!folder)
        return PELT_ERROR_MEMORY;
    DIR *directory = opendir(*folder ? folder : ".");
    if (!directory)
        return px_fail(context, PELT_ERROR_INPUT, "the folder cannot be read: %s", strerror(errno));
    pelt_result result = PELT_OK;
    size_t before = (size_t)(start - name), after = strlen(end);
    for (struct dirent *entry; result == PELT_OK && (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length <= before + after || strncmp(entry->d_name, name, before) != 0 ||
            strcmp(entry->d_name + length - after, end) != 0)
            continue;
        const char *digits = entry->d_name + before;
        size_t digit_count = length - before - after;
        if (strspn(digits, "0123456789") >= digit_count && digit_count >= (size_t)width)
            result = add_path(list, folder, entry->d_name);
    }
    closedir(directory);
    if (result == PELT_OK && list->count == 0)
        result = px_fail(context, PELT_ERROR_INPUT, "no file matches");
    return result;
}

/* ---- The door --------------------------------------------------------------------------------------------- */

pelt_result px_sequence_expand(px_arena *arena, const char *path, const char ***paths, size_t *count) {
    path_list list = {.arena = arena};
    struct stat status;
    bool exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        PX_TRY(list_folder(&list, path));
    else if (!exists && px_sequence_is_pattern(path))
        PX_TRY(list_pattern(&list, path));
    else if (!exists && strpbrk(path, "*?["))
        PX_TRY(list_glob(&list, path));
    else
        PX_TRY(add_path(&list, "", path));
    qsort(list.paths, list.count, sizeof *list.paths, compare_paths);
    *paths = list.paths;
    *count = list.count;
    return PELT_OK;
}
