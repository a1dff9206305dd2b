/* File sequences: folders, globs and printf patterns, in natural order. */
#include "io/io.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Natural order. Names that differ only in leading zeros ("1" and "01") get a fixed order. */
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
    bool slash = folder_length && *px_path_name(folder); /* "folder", neither "" nor "folder/" */
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

/* Opens a folder, "" being the current one. */
static pelt_result open_folder(pelt_context *context, px_folder *folder, const char *path) {
    if (px_folder_open(folder, *path ? path : "."))
        return PELT_OK;
    return px_fail(context, PELT_ERROR_INPUT, "the folder cannot be read: %s", strerror(errno));
}

static pelt_result list_format(path_list *list, const char *path, const pelt_format_info *wanted) {
    px_folder folder;
    PX_TRY(open_folder(px_arena_context(list->arena), &folder, path));
    pelt_result result = PELT_OK;
    for (const char *name; result == PELT_OK && (name = px_folder_next(&folder)) != NULL;) {
        const px_format *format = name[0] == '.' ? NULL : px_format_by_extension(name);
        if (format && &format->info == wanted)
            result = add_path(list, path, name);
    }
    px_folder_close(&folder);
    return result;
}

/* Lists the files of one format in a folder: the first sequence format of the table that has any file there. */
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

/* ---- Globs ------------------------------------------------------------------------------------------------ */

/* Adds the paths that match folder + pattern, one folder of the pattern at a time. Names that begin with a dot match only patterns
 * that do. Folders that cannot be read have no matches. */
static pelt_result list_glob(path_list *list, const char *folder, const char *pattern) {
    size_t length = strcspn(pattern, px_path_separators);
    const char *rest = pattern + length + strspn(pattern + length, px_path_separators);
    px_folder entries;
    if (!px_folder_open(&entries, *folder ? folder : "."))
        return PELT_OK;
    pelt_result result = PELT_OK;
    for (const char *name; result == PELT_OK && (name = px_folder_next(&entries)) != NULL;) {
        if ((name[0] == '.' && pattern[0] != '.') ||
            !px_glob_matches(pattern, length, name, strlen(name), px_path_separators))
            continue;
        result = add_path(list, folder, name);
        if (result == PELT_OK && *rest)
            result = list_glob(list, list->paths[--list->count], rest);
    }
    px_folder_close(&entries);
    return result;
}

/* The part of the pattern before its first wildcard is a folder that is not searched. */
static pelt_result list_matches(path_list *list, const char *pattern) {
    size_t known = strcspn(pattern, "*?[");
    const char *folder = px_arena_text(list->arena, pattern, known);
    folder = folder ? px_arena_text(list->arena, pattern, (size_t)(px_path_name(folder) - folder)) : NULL;
    if (!folder)
        return PELT_ERROR_MEMORY;
    PX_TRY(list_glob(list, folder, pattern + strlen(folder)));
    return list->count ? PELT_OK : px_fail(px_arena_context(list->arena), PELT_ERROR_INPUT, "no file matches");
}

/* ---- printf patterns -------------------------------------------------------------------------------------- */

/* Finds %d, %4d or %04d, which must be the only one. *width is 0 for %d. */
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

/* Lists every file whose name is the pattern with any number. The numbers may have gaps. */
static pelt_result list_pattern(path_list *list, const char *pattern) {
    const char *start = pattern, *end = pattern;
    int width = 0;
    find_number(pattern, &start, &end, &width);
    pelt_context *context = px_arena_context(list->arena);
    const char *name = px_path_name(pattern), *folder = px_arena_text(list->arena, pattern, (size_t)(name - pattern));
    if (name > start)
        return px_fail(context, PELT_ERROR_INPUT, "the number of a pattern belongs in the file name, not in a folder");
    if (!folder)
        return PELT_ERROR_MEMORY;
    px_folder entries;
    PX_TRY(open_folder(context, &entries, folder));
    pelt_result result = PELT_OK;
    size_t before = (size_t)(start - name), after = strlen(end);
    for (const char *entry; result == PELT_OK && (entry = px_folder_next(&entries)) != NULL;) {
        size_t length = strlen(entry);
        if (length <= before + after || strncmp(entry, name, before) != 0 || strcmp(entry + length - after, end) != 0)
            continue;
        size_t digits = length - before - after;
        if (strspn(entry + before, "0123456789") >= digits && digits >= (size_t)width)
            result = add_path(list, folder, entry);
    }
    px_folder_close(&entries);
    if (result == PELT_OK && list->count == 0)
        result = px_fail(context, PELT_ERROR_INPUT, "no file matches");
    return result;
}

/* ---- Expansion -------------------------------------------------------------------------------------------- */

pelt_result px_sequence_expand(px_arena *arena, const char *path, const char ***paths, size_t *count) {
    path_list list = {.arena = arena};
    uint64_t size;
    px_path_kind kind = px_path_look(path, &size);
    if (kind == PX_PATH_FOLDER)
        PX_TRY(list_folder(&list, path));
    else if (kind == PX_PATH_NONE && px_sequence_is_pattern(path))
        PX_TRY(list_pattern(&list, path));
    else if (kind == PX_PATH_NONE && strpbrk(path, "*?["))
        PX_TRY(list_matches(&list, path));
    else
        PX_TRY(add_path(&list, "", path));
    px_sort(list.paths, list.count, sizeof *list.paths, compare_paths);
    *paths = list.paths;
    *count = list.count;
    return PELT_OK;
}

/* ---- Check for one sequence ------------------------------------------------------------------------------- */

static size_t digit_count(const char *text) {
    return strspn(text, "0123456789");
}

/* Whether two paths differ only in their numbers. Raises *changed to the position of the last number that differs,
 * counted from 1. */
static bool differ_by_numbers(const char *a, const char *b, size_t *changed) {
    for (size_t number = 1; *a && *b; number++) {
        size_t text = strcspn(a, "0123456789");
        if (strncmp(a, b, text) != 0 || strcspn(b, "0123456789") != text)
            return false;
        a += text, b += text;
        size_t digits_a = digit_count(a), digits_b = digit_count(b);
        if ((digits_a != digits_b || strncmp(a, b, digits_a) != 0) && number > *changed)
            *changed = number;
        a += digits_a, b += digits_b;
    }
    return *a == *b;
}

/* Finds number `wanted` of a path, counted from 1; SIZE_MAX: the last number of the file name. NULL: there is none. */
static const char *number_at(const char *path, size_t wanted) {
    const char *found = NULL;
    path = wanted == SIZE_MAX ? px_path_name(path) : path;
    for (size_t number = 1; number <= wanted && *(path += strcspn(path, "0123456789")); number++) {
        found = path;
        path += digit_count(path);
    }
    return found;
}

/* Replaces the frame number of a path by %d or %04d. A path without the number is returned as it is. */
static const char *pattern_of(px_arena *arena, const char *path, size_t number) {
    const char *digits = number_at(path, number);
    if (!digits)
        return path;
    size_t count = digit_count(digits);
    px_buffer text = {.context = px_arena_context(arena)};
    px_buffer_format(&text, "%.*s%%", (int)(digits - path), path);
    if (*digits == '0' && count > 1)
        px_buffer_format(&text, "0%zu", count);
    px_buffer_format(&text, "d%s", digits + count);
    const char *copy = text.failed ? NULL : px_arena_text(arena, text.data, text.size);
    px_buffer_free(&text);
    return copy;
}

static pelt_result fail_two(px_arena *arena, const char *first, const char *second, size_t number) {
    first = pattern_of(arena, first, number);
    second = pattern_of(arena, second, number);
    if (!first || !second)
        return PELT_ERROR_MEMORY;
    return px_fail(px_arena_context(arena), PELT_ERROR_INPUT,
                   "more than one sequence of files: '%s' and '%s'; give the pattern of one of them", first, second);
}

typedef struct frame_path {
    const char *number, *path;
} frame_path;

/* By value: leading zeros do not count. */
static int compare_numbers(const void *a, const void *b) {
    const frame_path *left = a, *right = b;
    const char *digits = left->number + strspn(left->number, "0"), *others = right->number + strspn(right->number, "0");
    size_t count = digit_count(digits), other = digit_count(others);
    return count != other ? (count < other ? -1 : 1) : strncmp(digits, others, count);
}

static int compare_frames(const void *a, const void *b) {
    const frame_path *left = a, *right = b;
    int order = compare_numbers(a, b);
    return order ? order : strcmp(left->path, right->path);
}

pelt_result px_sequence_check(px_arena *arena, const char *const *paths, size_t count) {
    size_t changed = 0, other = 0, unused = 0;
    bool alike = false; /* some file differs only in numbers from the first or the previous one */
    for (size_t p = 1; p < count; p++) {
        bool like_first = differ_by_numbers(paths[0], paths[p], &changed);
        alike = alike || like_first || differ_by_numbers(paths[p - 1], paths[p], &unused);
        if (!like_first && other == 0)
            other = p;
    }
    if (other > 0)
        return alike ? fail_two(arena, paths[0], paths[other], SIZE_MAX) : PELT_OK;
    frame_path *frames = changed > 0 ? PX_NEW(arena, frame_path, count) : NULL;
    if (!frames)
        return changed > 0 ? PELT_ERROR_MEMORY : PELT_OK;
    for (size_t p = 0; p < count; p++)
        frames[p] = (frame_path){number_at(paths[p], changed), paths[p]};
    px_sort(frames, count, sizeof *frames, compare_frames);
    for (size_t p = 1; p < count; p++)
        if (compare_numbers(&frames[p - 1], &frames[p]) == 0)
            return fail_two(arena, frames[p - 1].path, frames[p].path, changed);
    return PELT_OK;
}
