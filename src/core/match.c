/* Vertex correspondence between two files of the same mesh. Files split and number vertices differently (GLB at UV
 * seams, OBJ not at all), but usually have the same triangles in the same order: match corner by corner. If another
 * program triangulated polygons or sorted faces differently, match by vertex number, provided that enough edges
 * agree. */
#include "core/mesh.h"

/* Matching by number is accepted when this fraction of the edges exists in both meshes: other diagonals of polygons
 * keep four of five edges, another order of vertices almost none. */
#define EDGES_IN_COMMON 0.5

/* Matches by triangles; PELT_NONE for vertices that no triangle uses. False when the triangles differ; *bad: first
 * corner that does. */
static bool by_triangles(const pelt_mesh *mesh, const pelt_mesh *other, uint32_t *vertices, size_t *bad) {
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        vertices[i] = PELT_NONE;
    *bad = 0;
    if (mesh->triangle_count != other->triangle_count)
        return false;
    for (size_t c = 0; c < 3 * (size_t)mesh->triangle_count; c++) {
        uint32_t *vertex = &vertices[mesh->triangles[c]], found = other->triangles[c];
        if (*vertex == PELT_NONE)
            *vertex = found;
        const float *a = other->positions + 3 * (size_t)*vertex, *b = other->positions + 3 * (size_t)found;
        *bad = c;
        if (a[0] != b[0] || a[1] != b[1] || a[2] != b[2])
            return false;
    }
    return true;
}

/* Matches the remaining vertices by number: points of `other` to vertices or points of the mesh, or vertices of `other`
 * to vertices of the mesh, repeated per part (parts that shared vertices are written with all of them each). False when
 * the counts do not fit. */
static bool by_numbers(const pelt_mesh *mesh, const pelt_mesh *other, uint32_t *vertices) {
    bool by_vertex = other->points.count == mesh->vertex_count;
    uint32_t copies = other->vertex_count ? mesh->vertex_count / other->vertex_count : 0;
    if (by_vertex || other->points.count == mesh->points.count) {
        for (uint32_t i = 0; i < mesh->vertex_count; i++)
            if (vertices[i] == PELT_NONE)
                vertices[i] = pelt_class_vertex(&other->points, by_vertex ? i : pelt_vertex_class(&mesh->points, i));
        return true;
    }
    if (copies == 0 || copies * other->vertex_count != mesh->vertex_count || copies > mesh->part_count)
        return false;
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        if (vertices[i] == PELT_NONE)
            vertices[i] = i % other->vertex_count;
    return true;
}

static bool is_edge(const px_neighbours *n, uint32_t a, uint32_t b) {
    for (size_t e = n->offsets[a]; e < n->offsets[a + 1]; e++)
        if (n->items[e] == b)
            return true;
    return false;
}

/* *agree: true when enough edges of the mesh are edges of `other` too. */
static pelt_result surfaces_agree(px_arena *scratch, const pelt_mesh *mesh, const pelt_mesh *other,
                                  const uint32_t *vertices, bool *agree) {
    px_neighbours edges;
    PX_TRY(px_neighbours_make(scratch, other, &other->points, &edges));
    size_t common = 0, count = 3 * (size_t)mesh->triangle_count;
    for (size_t e = 0; e < count; e++)
        common += is_edge(&edges, pelt_vertex_class(&other->points, vertices[mesh->triangles[e]]),
                          pelt_vertex_class(&other->points, vertices[mesh->triangles[e % 3 == 2 ? e - 2 : e + 1]]));
    *agree = (double)common >= EDGES_IN_COMMON * (double)count;
    return PELT_OK;
}

static pelt_result match(pelt_context *context, px_arena *scratch, const pelt_model *model, const pelt_model *other,
                         uint32_t *vertices) {
    const pelt_mesh *mesh = &model->mesh, *from = &other->mesh;
    size_t bad;
    if (by_triangles(mesh, from, vertices, &bad)) {
        bool known = by_numbers(mesh, from, vertices) || mesh->triangle_count;
        return known ? PELT_OK
                     : px_fail(context, PELT_ERROR_INPUT, "%s has %u vertices, %s has %u: they must be the same mesh",
                               model->path, mesh->vertex_count, other->path, from->vertex_count);
    }
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        vertices[i] = PELT_NONE;
    bool agree = false;
    if (by_numbers(mesh, from, vertices))
        PX_TRY(surfaces_agree(scratch, mesh, from, vertices, &agree));
    if (agree)
        return PELT_OK;
    if (mesh->triangle_count != from->triangle_count)
        return px_fail(context, PELT_ERROR_INPUT,
                       "%s has %u triangles and %u vertices, %s has %u and %u: they must be the same mesh", model->path,
                       mesh->triangle_count, mesh->vertex_count, other->path, from->triangle_count, from->vertex_count);
    return px_fail(context, PELT_ERROR_INPUT,
                   "%s: triangle %zu has other corners than that of %s, whose vertex %u it would tear apart: keep "
                   "faces or vertices as they are, and in their order",
                   other->path, bad / 3, model->path, mesh->triangles[bad]);
}

pelt_result pelt_model_match(pelt_context *context, const pelt_model *model, const pelt_model *other,
                             uint32_t *vertices) {
    px_arena *scratch = px_arena_create(context);
    pelt_result result = scratch ? match(context, scratch, model, other, vertices) : PELT_ERROR_MEMORY;
    px_arena_destroy(scratch);
    return result;
}

pelt_result pelt_model_take_points(pelt_context *context, pelt_model *model, const pelt_model *source) {
    pelt_mesh *mesh = &model->mesh;
    uint32_t *points = pelt_model_alloc(context, model, mesh->vertex_count, sizeof *points);
    if (!points)
        return PELT_ERROR_MEMORY;
    PX_TRY(pelt_model_match(context, model, source, points));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        if (points[i] == PELT_NONE)
            return px_fail(context, PELT_ERROR_INPUT,
                           "%s has no vertex for vertex %u of %s, which no triangle uses: remove it there",
                           source->path, i, model->path);
        points[i] = pelt_vertex_class(&source->mesh.points, points[i]);
    }
    return pelt_model_set_points(context, model, source->mesh.points.count, points);
}
