/* Per-vertex values from an image, a file of numbers or a vertex attribute; vertex colours. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)1 << 24) /* bytes of a text file */

/* Only regular files are checked for a PNG signature. Others can be read only once and are taken for numbers. */
bool is_picture(const char *path) {
    static const char signature[8] = "\x89PNG\r\n\x1a\n";
    char bytes[8];
    int file = written_size(path, 0) ? px_open(path, PX_OPEN_READ) : -1;
    bool picture = file >= 0 && px_descriptor_read(file, bytes, 8) == 8 && memcmp(bytes, signature, 8) == 0;
    if (file >= 0)
        px_descriptor_close(file);
    return picture;
}

exit_code vertex_values(cli_session *session, const pelt_model *model, const char *option, const char *path,
                        const char *attribute, float *out) {
    const pelt_mesh *mesh = &model->mesh;
    pelt_context *context = session->context;
    bool picture = path && is_picture(path);
    if (picture && !mesh->uvs) {
        say(session, MESSAGE_ERROR, "%s: --%s by a picture needs UVs, and the mesh has none", model->path, option);
        return EXIT_INPUT;
    }
    pelt_result result = picture ? pelt_image_luminance(context, path, mesh->uvs, mesh->vertex_count, out)
                         : path  ? pelt_vertex_numbers(context, model, path, out)
                                 : pelt_vertex_attribute(context, model, attribute, out);
    return result == PELT_OK ? EXIT_DONE : session_fail(session, result);
}

bool vertex_colors(cli_session *session, pelt_model *model) {
    static const char *const names[] = {"COLOR_0.r", "COLOR_0.g", "COLOR_0.b"};
    uint32_t count = model->mesh.vertex_count;
    float *values = must_alloc(count, sizeof *values);
    float *colors = pelt_model_alloc(session->context, model, count, 3 * sizeof *colors);
    bool found = colors != NULL;
    for (size_t c = 0; c < 3 && found; c++) {
        found = pelt_vertex_attribute(session->context, model, names[c], values) == PELT_OK;
        for (size_t i = 0; i < count && found; i++)
            colors[3 * i + c] = isfinite(values[i]) ? values[i] : 1;
    }
    free(values);
    if (found)
        model->mesh.colors = colors;
    return found;
}

char *file_text(const char *path) {
    int file = px_open(path, PX_OPEN_READ);
    if (file < 0)
        return NULL;
    size_t size = 0;
    int64_t got = 1;
    char *text = NULL;
    while (got > 0 && size < TEXT_MAX) {
        text = must_resize(text, size + 65537, 1);
        got = px_descriptor_read(file, text + size, 65536);
        size += got > 0 ? (size_t)got : 0;
    }
    text[size] = 0;
    if (got != 0) {
        errno = got > 0 ? EFBIG : errno;
        free(text);
        text = NULL;
    }
    px_descriptor_close(file);
    return text;
}

exit_code read_text(cli_session *session, const char *path, const char *what, char **text) {
    *text = file_text(path);
    if (*text)
        return EXIT_DONE;
    say(session, MESSAGE_ERROR, "%s: cannot be read as %s: %s", path, what,
        errno == EFBIG ? "it is too large" : strerror(errno));
    return EXIT_INPUT;
}
