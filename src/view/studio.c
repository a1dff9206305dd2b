/* The studio page with embedded files. The page is studio.html, which web/build.mjs makes; its mark says where files go. Each file is a
 * block of base64 in a script element that browsers do not run: id pelt-file-0, 1 …, its name in data-file. */
#include "core/json.h"
#include "core/platform.h"
#include "io/io.h"
#include "view/page.h"
#include <pelt/view.h>

#include <stdio.h>

#define MARK            "<!-- files -->\n"
#define FILES_BYTES_MAX ((uint64_t)384 << 20) /* as base64 just below the longest string that browsers support */

typedef struct studio {
    pelt_context *context;
    px_arena *arena;
    px_output_file *out;
    uint32_t count;
    uint64_t bytes;
} studio;

/* Writes a text of an attribute. */
static pelt_result put_attribute(studio *s, const char *text) {
    for (; *text; text++) {
        const char *name = *text == '"' ? "&quot;" : *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : NULL;
        PX_TRY(px_output_write(s->out, name ? name : text, name ? strlen(name) : 1));
    }
    return PELT_OK;
}

static pelt_result put_file(studio *s, const char *name, const px_file *file) {
    char id[32];
    s->bytes += file->size;
    if (s->bytes > FILES_BYTES_MAX)
        return px_fail(s->context, PELT_ERROR_UNSUPPORTED,
                       "the files have more than %u MB, which is more than browsers read from one page; leave them "
                       "out and open them in the page",
                       (unsigned)(FILES_BYTES_MAX >> 20));
    snprintf(id, sizeof id, "file-%u", s->count++);
    PX_TRY(px_page_block_open(s->out, id, "data-file=\""));
    PX_TRY(put_attribute(s, name));
    PX_TRY(px_output_write(s->out, "\">", 2));
    PX_TRY(px_page_base64(s->out, file->data, file->size));
    return px_page_block_close(s->out);
}

/* Opens a file; messages name it. */
static pelt_result open_file(studio *s, const char *path, px_file *file) {
    const char *previous = px_subject(s->context, path);
    pelt_result result = px_file_open(s->arena, path, file);
    px_subject(s->context, previous);
    return result;
}

/* Embeds what a .gltf file refers to, by the same names. */
static pelt_result put_references(studio *s, const char *path, const px_file *file) {
    const char *previous = px_subject(s->context, path);
    px_json *root;
    pelt_result result = px_json_read(s->arena, (const char *)file->data, file->size, &root);
    px_subject(s->context, previous);
    size_t folder = (size_t)(px_path_name(path) - path);
    static const char *const lists[] = {"buffers", "images"};
    for (size_t l = 0; l < sizeof lists / sizeof *lists && result == PELT_OK; l++) {
        const px_json *list = px_json_get(root, lists[l]);
        for (const px_json *item = list ? list->first : NULL; item && result == PELT_OK; item = item->next) {
            const char *uri = px_json_string(px_json_get(item, "uri"), NULL);
            px_file part;
            if (!uri || strncmp(uri, "data:", 5) == 0)
                continue;
            char *beside = px_arena_alloc(s->arena, folder + strlen(uri) + 1, 1);
            if (!beside)
                return PELT_ERROR_MEMORY;
            memcpy(beside, path, folder);
            strcpy(beside + folder, uri);
            result = open_file(s, beside, &part);
            if (result == PELT_OK)
                result = put_file(s, uri, &part);
        }
    }
    return result;
}

static bool has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length > size && strcmp(path + length - size, ending) == 0;
}

/* One input: a file, or all files of a pattern or folder. */
static pelt_result put_input(studio *s, const char *path) {
    const char **paths;
    size_t count;
    const char *previous = px_subject(s->context, path);
    pelt_result result = px_sequence_expand(s->arena, path, &paths, &count);
    px_subject(s->context, previous);
    PX_TRY(result);
    for (size_t n = 0; n < count; n++) {
        px_file file;
        PX_TRY(open_file(s, paths[n], &file));
        PX_TRY(put_file(s, px_path_name(paths[n]), &file));
        if (has_ending(paths[n], ".gltf"))
            PX_TRY(put_references(s, paths[n], &file));
        PX_TRY(px_progress(s->context, "page", n + 1, count));
    }
    return PELT_OK;
}

static pelt_result write_studio(studio *s, const char *page, const char *const *files, size_t file_count) {
    px_file text;
    PX_TRY(open_file(s, page, &text));
    const uint8_t *mark = NULL;
    size_t size = strlen(MARK);
    for (size_t at = 0; at + size <= text.size && !mark; at++)
        mark = memcmp(text.data + at, MARK, size) == 0 ? text.data + at : NULL;
    if (!mark)
        return px_fail(s->context, PELT_ERROR_INPUT, "%s: is not a studio page without files; run make studio", page);
    PX_TRY(px_output_write(s->out, text.data, (size_t)(mark - text.data)));
    for (size_t n = 0; n < file_count; n++)
        PX_TRY(put_input(s, files[n]));
    const uint8_t *rest = mark + (file_count > 0 ? size : 0); /* a page without files stays one to embed files in */
    return px_output_write(s->out, rest, text.size - (size_t)(rest - text.data));
}

pelt_result pelt_studio_save(pelt_context *context, const char *page, const char *const *files, size_t file_count,
                             const char *path) {
    studio s = {.context = context, .arena = px_arena_create(context)};
    px_output *output = s.arena ? px_output_begin(context, true) : NULL;
    pelt_result result = output ? px_output_open(output, path, &s.out) : PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = write_studio(&s, page, files, file_count);
    px_arena_destroy(s.arena);
    if (result == PELT_OK)
        return px_output_commit(output);
    px_output_abort(output);
    return result;
}
