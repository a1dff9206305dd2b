/* Regions of the mesh in the options rigid, falloffs and paint (weights/regions.h). Boxes and spheres are in world space in the
 * bind pose; attribute(NAME) has the vertices whose value in desc.attributes is at least ½. */
#include "bind/regions.h"

static pelt_result mark_attribute(pelt_context *context, const char *option, const px_region *region,
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

pelt_result px_bind_region_rows(px_arena *arena, pelt_context *context, const px_bind_subject *s,
                                const pelt_bind_desc *desc, const char *option, const px_region *region, uint8_t **rows,
                                uint32_t *count) {
    const pelt_mesh *mesh = &s->model->mesh;
    *count = 0;
    *rows = PX_NEW(arena, uint8_t, s->classes.count);
    uint8_t *marks = PX_NEW(arena, uint8_t, mesh->vertex_count);
    if (!*rows || !marks)
        return PELT_ERROR_MEMORY;
    bool shape = region->kind == PX_REGION_BOX || region->kind == PX_REGION_SPHERE;
    if (region->kind == PX_REGION_ATTRIBUTE)
        PX_TRY(mark_attribute(context, option, region, desc, mesh->vertex_count, marks));
    else if (!shape)
        PX_TRY(px_region_mark(context, option, region, mesh, marks));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t row = s->classes.of[i];
        if (row == PELT_NONE || (*rows)[row])
            continue;
        (*rows)[row] = shape ? px_region_contains(region, s->positions + 3 * (size_t)row) : marks[i];
        *count += (*rows)[row];
    }
    return PELT_OK;
}
