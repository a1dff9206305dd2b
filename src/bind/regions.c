/* Regions of the mesh in the options rigid, falloffs and paint: a part or material by name, or
 *
 *   box(X Y Z X Y Z)     two opposite corners, world space in the bind pose
 *   sphere(X Y Z R)      centre and radius
 *   vertices(A B-C …)    vertices by index
 *   attribute(NAME)      vertices whose value in desc.attributes is at least ½ */
#include "bind/regions.h"
#include "core/mesh.h"

#include <math.h>

static const struct {
    const char *name;
    uint32_t kind, numbers;
} kinds[] = {{"box", PX_REGION_BOX, 6},
             {"sphere", PX_REGION_SPHERE, 4},
             {"vertices", PX_REGION_VERTICES, 0},
             {"attribute", PX_REGION_ATTRIBUTE, 0}};

static pelt_result read_numbers(pelt_context *context, const char *option, px_bind_region *region, uint32_t count) {
    const char *at = region->text, *end = at + region->length;
    uint32_t found = 0;
    for (; found <= count; found++) {
        while (at < end && *at == ' ')
            at++;
        double value;
        const char *next = px_parse_double(at, end, &value);
        if (next == at)
            break;
        if (found < 6)
            region->numbers[found] = value;
        at = next;
    }
    bool sound = found == count && at == end;
    for (uint32_t n = 0; n < count && sound; n++)
        sound = isfinite(region->numbers[n]);
    for (int c = 0; c < 3 && sound && region->kind == PX_REGION_BOX; c++)
        sound = region->numbers[c] <= region->numbers[3 + c];
    if (sound && region->kind == PX_REGION_SPHERE)
        sound = region->numbers[3] >= 0;
    return sound ? PELT_OK
                 : px_fail(context, PELT_ERROR_USAGE, "%s: (%.*s) should be %s", option, (int)region->length,
                           region->text,
                           region->kind == PX_REGION_BOX ? "the lower and the upper corner of a box, six numbers"
                                                         : "centre and radius of a sphere, four numbers");
}

pelt_result px_bind_region_parse(pelt_context *context, const char *option, const char *text, size_t length,
                                 px_bind_region *region) {
    *region = (px_bind_region){.kind = PX_REGION_NAME, .text = text, .length = length};
    for (size_t n = 0; n < PX_COUNT(kinds); n++) {
        size_t head = strlen(kinds[n].name);
        if (length < head + 2 || memcmp(text, kinds[n].name, head) != 0 || text[head] != '(' || text[length - 1] != ')')
            continue;
        *region = (px_bind_region){.kind = kinds[n].kind, .text = text + head + 1, .length = length - head - 2};
        return kinds[n].numbers ? read_numbers(context, option, region, kinds[n].numbers) : PELT_OK;
    }
    return PELT_OK;
}

bool px_bind_region_contains(const px_bind_region *region, const float p[3]) {
    const double *n = region->numbers;
    if (region->kind == PX_REGION_SPHERE) {
        double x = p[0] - n[0], y = p[1] - n[1], z = p[2] - n[2];
        return x * x + y * y + z * z <= n[3] * n[3];
    }
    return p[0] >= n[0] && p[1] >= n[1] && p[2] >= n[2] && p[0] <= n[3] && p[1] <= n[4] && p[2] <= n[5];
}

/* ---- Selections -------------------------------------------------------------------------------------------------- */

static pelt_result mark_vertices(pelt_context *context, const char *option, const px_bind_region *region,
                                 uint32_t vertex_count, uint8_t *marks) {
    const char *at = region->text, *end = at + region->length;
    for (;;) {
        double ends[2];
        while (at < end && *at == ' ')
            at++;
        if (at == end)
            return PELT_OK;
        const char *next = px_parse_double(at, end, &ends[0]);
        ends[1] = ends[0];
        bool sound = next > at;
        if (sound && next < end && *next == '-') {
            at = next + 1;
            next = px_parse_double(at, end, &ends[1]);
            sound = next > at;
        }
        if (!sound || !(ends[0] >= 0 && ends[0] <= ends[1] && ends[1] < vertex_count) || ends[0] != floor(ends[0]) ||
            ends[1] != floor(ends[1]))
            return px_fail(context, PELT_ERROR_INPUT, "%s: vertices(%.*s) should be indices and ranges below %u",
                           option, (int)region->length, region->text, vertex_count);
        memset(marks + (size_t)ends[0], 1, (size_t)(ends[1] - ends[0]) + 1);
        at = next;
    }
}

static pelt_result mark_attribute(pelt_context *context, const char *option, const px_bind_region *region,
                                  const pelt_bind_desc *desc, uint32_t vertex_count, uint8_t *marks) {
    for (uint32_t a = 0; a < desc->attribute_count; a++) {
        const pelt_bind_attribute *attribute = &desc->attributes[a];
        if (!px_is_name(attribute->name, region->text, region->length))
            continue;
        for (uint32_t i = 0; i < vertex_count; i++)
            marks[i] = attribute->values[i] >= 0.5f;
        return PELT_OK;
    }
    return px_fail(context, PELT_ERROR_USAGE, "%s: attribute \"%.*s\" is not among pelt_bind_desc.attributes", option,
                   (int)region->length, region->text);
}

static pelt_result mark_named(pelt_context *context, const char *option, const px_bind_region *region,
                              const pelt_mesh *mesh, uint8_t *marks) {
    bool found = false;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (px_is_name(mesh->parts[p].name, region->text, region->length) ||
            px_is_name(mesh->parts[p].material, region->text, region->length)) {
            px_mark_part(mesh, &mesh->parts[p], marks);
            found = true;
        }
    return found ? PELT_OK
                 : px_fail(context, PELT_ERROR_INPUT, "%s: there is no part or material '%.*s'", option,
                           (int)region->length, region->text);
}

pelt_result px_bind_region_rows(px_arena *arena, pelt_context *context, const px_bind_subject *s,
                                const pelt_bind_desc *desc, const char *option, const px_bind_region *region,
                                uint8_t **rows, uint32_t *count) {
    const pelt_mesh *mesh = &s->model->mesh;
    *count = 0;
    *rows = PX_NEW(arena, uint8_t, s->classes.count);
    uint8_t *marks = PX_NEW(arena, uint8_t, mesh->vertex_count);
    if (!*rows || !marks)
        return PELT_ERROR_MEMORY;
    if (region->kind == PX_REGION_NAME)
        PX_TRY(mark_named(context, option, region, mesh, marks));
    else if (region->kind == PX_REGION_VERTICES)
        PX_TRY(mark_vertices(context, option, region, mesh->vertex_count, marks));
    else if (region->kind == PX_REGION_ATTRIBUTE)
        PX_TRY(mark_attribute(context, option, region, desc, mesh->vertex_count, marks));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t row = s->classes.of[i];
        if (row == PELT_NONE || (*rows)[row])
            continue;
        (*rows)[row] = region->kind == PX_REGION_BOX || region->kind == PX_REGION_SPHERE
                           ? px_bind_region_contains(region, s->positions + 3 * (size_t)row)
                           : marks[i];
        *count += (*rows)[row];
    }
    return PELT_OK;
}
