/* Regions of a mesh by name, shape or index: see regions.h. */
#include "weights/regions.h"

#include <math.h>

/* What stands between "NAME(" and ")"; false if the text is none. */
static bool inside(const char *text, size_t length, const char *name, const char **first, const char **end) {
    size_t head = strlen(name);
    *first = text + head + 1;
    *end = text + length - 1;
    return length >= head + 2 && memcmp(text, name, head) == 0 && text[head] == '(' && text[length - 1] == ')';
}

/* Reads exactly `count` finite numbers, divided by spaces. */
static bool read_numbers(const char *at, const char *end, size_t count, double *numbers) {
    for (size_t n = 0; n < count; n++) {
        while (at < end && *at == ' ')
            at++;
        const char *next = px_parse_double(at, end, &numbers[n]);
        if (next == at || !isfinite(numbers[n]))
            return false;
        at = next;
    }
    while (at < end && *at == ' ')
        at++;
    return at == end;
}

static bool mark_box(const pelt_mesh *mesh, const char *at, const char *end, uint8_t *marks) {
    double n[6];
    if (!read_numbers(at, end, 6, n) || n[0] > n[3] || n[1] > n[4] || n[2] > n[5])
        return false;
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        bool in = true;
        for (size_t c = 0; c < 3; c++)
            in = in && mesh->positions[3 * i + c] >= n[c] && mesh->positions[3 * i + c] <= n[3 + c];
        marks[i] |= in;
    }
    return true;
}

static bool mark_sphere(const pelt_mesh *mesh, const char *at, const char *end, uint8_t *marks) {
    double n[4];
    if (!read_numbers(at, end, 4, n) || n[3] < 0)
        return false;
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        double square = 0;
        for (size_t c = 0; c < 3; c++)
            square += (mesh->positions[3 * i + c] - n[c]) * (mesh->positions[3 * i + c] - n[c]);
        marks[i] |= square <= n[3] * n[3];
    }
    return true;
}

static bool is_index(double value, uint32_t count) {
    return value >= 0 && value < count && value == floor(value);
}

static bool mark_vertices(const pelt_mesh *mesh, const char *at, const char *end, uint8_t *marks) {
    while (at < end && *at == ' ')
        at++;
    while (at < end) {
        double first, last;
        const char *next = px_parse_double(at, end, &first);
        if (next == at)
            return false;
        last = first;
        if (next < end && *next == '-') {
            at = next + 1;
            next = px_parse_double(at, end, &last);
            if (next == at)
                return false;
        }
        if (!is_index(first, mesh->vertex_count) || !is_index(last, mesh->vertex_count) || first > last)
            return false;
        memset(marks + (size_t)first, 1, (size_t)(last - first) + 1);
        for (at = next; at < end && *at == ' ';)
            at++;
    }
    return true;
}

static bool mark_named(const pelt_mesh *mesh, const char *name, size_t length, uint8_t *marks) {
    bool found = false;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (px_is_name(mesh->parts[p].name, name, length) || px_is_name(mesh->parts[p].material, name, length)) {
            px_mark_part(mesh, &mesh->parts[p], marks);
            found = true;
        }
    return found;
}

static const struct {
    const char *name, *content;
    bool (*mark)(const pelt_mesh *mesh, const char *at, const char *end, uint8_t *marks);
} kinds[] = {{"box", "the lower and the upper corner of a box, six numbers", mark_box},
             {"sphere", "centre and radius of a sphere, four numbers", mark_sphere},
             {"vertices", "indices and ranges of vertices", mark_vertices}};

pelt_result px_regions_mark(pelt_context *context, const pelt_model *model, const char *field, const char *list,
                            uint8_t *marks) {
    const char *text, *first, *end;
    size_t length;
    while (px_next_name(&list, &text, &length)) {
        if (mark_named(&model->mesh, text, length, marks))
            continue;
        size_t kind = 0;
        while (kind < PX_COUNT(kinds) && !inside(text, length, kinds[kind].name, &first, &end))
            kind++;
        if (kind == PX_COUNT(kinds))
            return px_fail(context, PELT_ERROR_INPUT, "%s: the mesh has no part or material '%.*s'", model->path,
                           (int)length, text);
        if (!kinds[kind].mark(&model->mesh, first, end, marks))
            return px_fail(context, PELT_ERROR_INPUT, "%s: '%.*s' should have %s of this mesh", field, (int)length,
                           text, kinds[kind].content);
    }
    return PELT_OK;
}
