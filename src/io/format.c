/* The table of formats, and format detection by content, then by extension. */
#include "io/io.h"

#include <strings.h>

static const px_format *const table[] = {
    &px_format_gltf, &px_format_obj, &px_format_ply, &px_format_abc, &px_format_fbx, &px_format_usd,
    &px_format_pc2,  &px_format_mdd, &px_format_vat, &px_format_bvh, &px_format_asf, &px_format_amc,
};

const pelt_format_info *pelt_format_at(uint32_t index) {
    return index < PX_COUNT(table) ? &table[index]->info : NULL;
}

static const char *extension_of(const char *path) {
    const char *dot = strrchr(px_path_name(path), '.');
    return dot ? dot + 1 : "";
}

/* Whether `word` is in a space-separated list; case-insensitive. */
static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *p = list; length && *p;) {
        size_t size = strcspn(p, " ");
        if (size == length && strncasecmp(p, word, size) == 0)
            return true;
        p += size + (p[size] == ' ');
    }
    return false;
}

const px_format *px_format_by_extension(const char *path) {
    for (size_t f = 0; f < PX_COUNT(table); f++)
        if (has_word(table[f]->info.extensions, extension_of(path)))
            return table[f];
    return NULL;
}

const pelt_format_info *pelt_format_for_output(const char *path) {
    const px_format *format = px_format_by_extension(path);
    return format && (format->info.flags & PELT_FORMAT_WRITE) ? &format->info : NULL;
}

/* Lists the formats that have all of these flags: "glTF, OBJ, PC2". */
static void list_formats(px_buffer *text, uint32_t flags) {
    for (size_t f = 0; f < PX_COUNT(table); f++)
        if ((table[f]->info.flags & flags) == flags)
            px_buffer_format(text, "%s%s", text->size ? ", " : "", table[f]->info.name);
    px_buffer_add(text, "", 1);
}

pelt_result px_fail_format(pelt_context *context, pelt_result result, uint32_t flags, const char *what) {
    px_buffer names = {.context = context};
    list_formats(&names, flags);
    if (names.failed)
        result = PELT_ERROR_MEMORY;
    else
        px_fail(context, result, "%s (%s)", what, names.data);
    px_buffer_free(&names);
    return result;
}

const px_format *px_format_detect(pelt_context *context, const px_file *file) {
    for (size_t f = 0; f < PX_COUNT(table); f++)
        if (table[f]->sniff && table[f]->sniff(file->data, file->size))
            return table[f];
    const px_format *format = px_format_by_extension(file->path);
    if (format && (format->info.flags & PELT_FORMAT_READ))
        return format;
    px_fail_format(context, PELT_ERROR_INPUT, PELT_FORMAT_READ, "is in none of the formats that can be read");
    return NULL;
}

/* The content of a pipe cannot be inspected without consuming it, so only its name is used. */
static const px_format *format_of_path(px_arena *arena, const char *path) {
    uint64_t size;
    if (px_path_look(path, &size) == PX_PATH_STREAM) {
        const px_format *format = px_format_by_extension(path);
        if (!format)
            px_fail(px_arena_context(arena), PELT_ERROR_INPUT, "is no file, and its name tells no format");
        return format;
    }
    px_file file;
    return px_file_open(arena, path, &file) == PELT_OK ? px_format_detect(px_arena_context(arena), &file) : NULL;
}

const pelt_format_info *pelt_format_of_file(pelt_context *context, const char *path) {
    px_arena *arena = px_arena_create(context);
    if (!arena)
        return NULL;
    const char *previous = px_subject(context, path);
    const px_format *format = NULL;
    const char **paths;
    size_t count;
    if (px_sequence_expand(arena, path, &paths, &count) == PELT_OK)
        format = format_of_path(arena, paths[0]);
    px_subject(context, previous);
    px_arena_destroy(arena);
    return format ? &format->info : NULL;
}
