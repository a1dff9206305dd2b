/* Which place in an edited mesh is that of which vertex. Triangle by triangle, corner by corner: files split and number
 * vertices as they like (a GLB at UV seams, an OBJ not at all), but "the same mesh" means the same triangles. */
#include "rest/rest.h"

#include <math.h>

static pelt_result match_numbers(pelt_context *context, const pelt_model *model, const pelt_model *edited,
                                 float *positions) {
    const pelt_mesh *to = &model->mesh, *from = &edited->mesh;
    bool by_point = from->vertex_points && from->vertex_count != to->vertex_count;
    if (to->vertex_count != (by_point ? from->point_count : from->vertex_count))
        return px_fail(context, PELT_ERROR_INPUT,
                       "%s has %u vertices, %s has %u: only the same mesh can say where they go", model->path,
                       to->vertex_count, edited->path, from->vertex_count);
    for (uint32_t i = 0; i < from->vertex_count; i++)
        memcpy(positions + 3 * (size_t)(by_point ? from->vertex_points[i] : i), from->positions + 3 * (size_t)i,
               3 * sizeof *positions);
    return PELT_OK;
}

pelt_result px_edit_match(pelt_context *context, const pelt_model *model, const pelt_model *edited, float *positions) {
    const pelt_mesh *to = &model->mesh, *from = &edited->mesh;
    if (to->triangle_count != from->triangle_count)
        return px_fail(context, PELT_ERROR_INPUT,
                       "%s has %u triangles, %s has %u: only a mesh of the same faces can say where they go",
                       model->path, to->triangle_count, edited->path, from->triangle_count);
    for (size_t e = 0; e < 3 * (size_t)to->vertex_count; e++)
        positions[e] = NAN;
    if (to->triangle_count == 0)
        return match_numbers(context, model, edited, positions);
    for (size_t c = 0; c < 3 * (size_t)to->triangle_count; c++) {
        float *place = positions + 3 * (size_t)to->triangles[c];
        const float *found = from->positions + 3 * (size_t)from->triangles[c];
        if (!isfinite(found[0]) || !isfinite(found[1]) || !isfinite(found[2]))
            return px_fail(context, PELT_ERROR_INPUT, "%s: vertex %u: its position is not finite", edited->path,
                           from->triangles[c]);
        if (isnan(place[0]))
            memcpy(place, found, 3 * sizeof *place);
        else if (place[0] != found[0] || place[1] != found[1] || place[2] != found[2])
            return px_fail(
                context, PELT_ERROR_INPUT,
                "%s: triangle %zu has other corners than that of %s, whose vertex %u it would tear apart: keep "
                "faces as they are, and in their order",
                edited->path, c / 3, model->path, to->triangles[c]);
    }
    return PELT_OK;
}
