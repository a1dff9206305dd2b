/* Regions of a mesh by name, shape or index: see regions.h. */
#include "weights/regions.h"

#include <math.h>

static const struct {
    const char *name;
    uint32_t kind, numbers;
} kinds[] = {{"box", PX_REGION_BOX, 6},
             {"sphere", PX_REGION_SPHERE, 4},
             {"vertices", PX_REGION_VERTICES, 0},
             {"attribute", PX_REGION_ATTRIBUTE, 0}};

static pelt_result read_numbers(pelt_context *context, const char *field, px_region *region, uint32_t count) {
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
    return sound
               ? PELT_OK
               : px_fail(context, PELT_ERROR_USAGE, "%s: (%.*s) should be %s", field, (int)region->length, region->text,
                         region->kind == PX_REGION_BOX ? "the lower and the upper corner of a box, six numbers"
                                                       : "centre and radius of a sphere, four numbers");
}

pelt_result px_region_parse(pelt_context *context, const char *field, const char *text, size_t length,
                            px_region *region) {
    *region = (px_region){.kind = PX_REGION_NAME, .text = text, .length = length};
    for (size_t n = 0; n < PX_COUNT(kinds); n++) {
        size_t head = strlen(kinds[n].name);
        if (length < head + 2 || memcmp(text, kinds[n].name, head) != 0 || text[head] != '(' || text[length - 1] != ')')
            continue;
        *region = (px_region){.kind = kinds[n].kind, .text = text + head + 1, .length = length - head - 2};
        return kinds[n].numbers ? read_numbers(context, field, region, kinds[n].numbers) : PELT_OK;
    }
    return PELT_OK;
}

bool px_region_contains(const px_region *region, const float p[3]) {
    const double *n = region->numbers;
    if (region->kind == PX_REGION_SPHERE) {
        double x = p[0] - n[0], y = p[1] - n[1], z = p[2] - n[2];
        return x * x + y * y + z * z <= n[3] * n[3];
    }
    return p[0] >= n[0] && p[1] >= n[1] && p[2] >= n[2] && p[0] <= n[3] && p[1] <= n[4] && p[2] <= n[5];
}

static pelt_result mark_vertices(pelt_context *context, const char *field, const px_region *region,
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
            return px_fail(context, PELT_ERROR_INPUT, "%s: vertices(%.*s) should be indices and ranges below %u", field,
                           (int)region->length, region->text, vertex_count);
        memset(marks + (size_t)ends[0], 1, (size_t)(ends[1] - ends[0]) + 1);
        at = next;
    }
}

static pelt_result mark_named(pelt_context *context, const char *field, const px_region *region, const pelt_mesh *mesh,
                              uint8_t *marks) {
    bool found = false;
    for (uint32_t p = 0; p < mesh->part_count; p++)
        if (px_is_name(mesh->parts[p].name, region->text, region->length) ||
            px_is_name(mesh->parts[p].material, region->text, region->length)) {
            px_mark_part(mesh, &mesh->parts[p], marks);
            found = true;
        }
    return found ? PELT_OK
                 : px_fail(context, PELT_ERROR_INPUT, "%s: there is no part or material '%.*s'", field,
                           (int)region->length, region->text);
}

pelt_result px_region_mark(pelt_context *context, const char *field, const px_region *region, const pelt_mesh *mesh,
                           uint8_t *marks) {
    assert(region->kind != PX_REGION_ATTRIBUTE);
    if (region->kind == PX_REGION_NAME)
        return mark_named(context, field, region, mesh, marks);
    if (region->kind == PX_REGION_VERTICES)
        return mark_vertices(context, field, region, mesh->vertex_count, marks);
    for (size_t i = 0; i < mesh->vertex_count; i++)
        marks[i] |= px_region_contains(region, mesh->positions + 3 * i);
    return PELT_OK;
}

pelt_result px_regions_mark(pelt_context *context, const pelt_mesh *mesh, const char *field, const char *list,
                            uint8_t *marks) {
    const char *text;
    size_t length;
    while (px_next_name(&list, &text, &length)) {
        px_region region;
        PX_TRY(px_region_parse(context, field, text, length, &region));
        if (region.kind == PX_REGION_ATTRIBUTE)
            region = (px_region){.kind = PX_REGION_NAME, .text = text, .length = length};
        PX_TRY(px_region_mark(context, field, &region, mesh, marks));
    }
    return PELT_OK;
}
