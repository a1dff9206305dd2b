/* pelt bind: what regions refer to outside of the mesh: vertex attributes and the file of --paint-file. */
#include "bind.h"

#include <stdlib.h>
#include <string.h>

/* Reads --paint-file: one stroke per line; a line that begins with # is a comment. */
static exit_code read_paint(bind_work *w) {
    exit_code code = read_text(w->session, w->settings->paint_file, "a list of regions", &w->paint);
    for (char *line = w->paint; line && *line; line += strcspn(line, "\n"), line += *line != 0)
        if (*line == '#')
            memset(line, ' ', strcspn(line, "\n"));
    w->desc.paint = w->paint;
    return code;
}

/* Reads the attributes that a list of regions names. */
static pelt_result read_attributes(bind_work *w, const char *text) {
    for (const char *at = text; at && (at = strstr(at, "attribute(")); at++) {
        const char *name = at + strlen("attribute("), *end = strchr(name, ')');
        if (!end || w->attribute_count == MAX_ATTRIBUTES)
            return PELT_OK; /* the library reports it */
        pelt_bind_attribute *out = &w->attributes[w->attribute_count++];
        float *values = must_alloc(w->model->mesh.vertex_count, sizeof *values);
        out->name = must_format("%.*s", (int)(end - name), name);
        out->values = values;
        pelt_result result = pelt_vertex_attribute(w->session->context, w->model, out->name, values);
        if (result != PELT_OK)
            return result;
    }
    return PELT_OK;
}

exit_code bind_read_regions(bind_work *w) {
    if (w->settings->paint_file) {
        exit_code code = read_paint(w);
        if (code != EXIT_DONE)
            return code;
    }
    const char *texts[] = {w->desc.rigid, w->desc.falloffs, w->desc.paint};
    for (size_t n = 0; n < COUNT(texts); n++) {
        pelt_result result = read_attributes(w, texts[n]);
        if (result != PELT_OK)
            return session_fail(w->session, result);
    }
    w->desc.attributes = w->attributes;
    w->desc.attribute_count = w->attribute_count;
    return EXIT_DONE;
}

void bind_free_regions(bind_work *w) {
    for (uint32_t n = 0; n < w->attribute_count; n++) {
        free((void *)(uintptr_t)w->attributes[n].name);
        free((void *)(uintptr_t)w->attributes[n].values);
    }
    free(w->paint);
}
