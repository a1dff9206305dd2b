/* Meshes of scenes: arrays, normals, and the mesh of a closed surface. */
#include "build.h"

pelt_result scene_mesh_alloc(pelt_context *context, pelt_model *model, uint32_t vertex_count, uint32_t triangle_count,
                             uint32_t part_count) {
    pelt_mesh *mesh = &model->mesh;
    mesh->vertex_count = mesh->points.count = vertex_count;
    mesh->triangle_count = mesh->polygon_count = triangle_count;
    mesh->part_count = part_count;
    mesh->positions = SCENE_NEW(context, model, float, 3 * (size_t)vertex_count);
    mesh->normals = SCENE_NEW(context, model, float, 3 * (size_t)vertex_count);
    mesh->uvs = SCENE_NEW(context, model, float, 2 * (size_t)vertex_count);
    mesh->triangles = SCENE_NEW(context, model, uint32_t, 3 * (size_t)triangle_count);
    mesh->parts = SCENE_NEW(context, model, pelt_part, part_count);
    if (!mesh->positions || !mesh->normals || !mesh->uvs || !mesh->triangles || !mesh->parts)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < part_count; p++)
        mesh->parts[p].joint = PELT_NONE;
    return PELT_OK;
}

pelt_result scene_normals(pelt_context *context, pelt_mesh *mesh) {
    pelt_model *scratch;
    SCENE_TRY(pelt_model_create(context, &scratch));
    vec *sums = SCENE_NEW(context, scratch, vec, mesh->vertex_count);
    for (size_t t = 0; sums && t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->triangles + 3 * t;
        vec p[3];
        for (int c = 0; c < 3; c++)
            p[c] = vec_load(mesh->positions + 3 * (size_t)corner[c]);
        vec area = vec_cross(vec_sub(p[1], p[0]), vec_sub(p[2], p[0]));
        for (int c = 0; c < 3; c++)
            sums[corner[c]] = vec_add(sums[corner[c]], area);
    }
    for (size_t i = 0; sums && i < mesh->vertex_count; i++)
        vec_store(mesh->normals + 3 * i, vec_unit(sums[i]));
    pelt_model_destroy(scratch);
    return sums ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- From a surface --------------------------------------------------------------------------------------- */

/* 1 when a quad lies on the left, x > 0, and 0 on the right. */
static int quad_side(const scene_surface *surface, uint32_t quad) {
    double sum = 0;
    for (int c = 0; c < 4; c++)
        sum += surface->positions[3 * (size_t)surface->quads[4 * (size_t)quad + c]];
    return sum > 0;
}

/* Both sides seen from outside, one above the other in the unit square. */
static void side_uvs(pelt_mesh *mesh, const uint8_t *side) {
    double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30};
    for (size_t e = 0; e < 3 * (size_t)mesh->vertex_count; e++) {
        low[e % 3] = fmin(low[e % 3], mesh->positions[e]);
        high[e % 3] = fmax(high[e % 3], mesh->positions[e]);
    }
    double size = fmax(high[2] - low[2], 2.1 * (high[1] - low[1])) * 1.02 + 1e-9;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        const float *p = mesh->positions + 3 * (size_t)i;
        double across = (p[2] - (low[2] + high[2]) / 2) / size;
        mesh->uvs[2 * (size_t)i] = (float)(0.5 + (side[i] ? -across : across));
        mesh->uvs[2 * (size_t)i + 1] = (float)((p[1] - (low[1] + high[1]) / 2) / size + (side[i] ? 0.75 : 0.25));
    }
}

/* vertex_of [side][point] for the corners in use, numbered by point so that both of a pair are neighbours. */
static uint32_t number_vertices(const scene_surface *surface, uint32_t *const vertex_of[2]) {
    for (uint32_t q = 0; q < surface->quad_count; q++)
        for (int c = 0; c < 4; c++)
            vertex_of[quad_side(surface, q)][surface->quads[4 * (size_t)q + c]] = 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < surface->point_count; i++)
        for (int s = 0; s < 2; s++)
            if (vertex_of[s][i])
                vertex_of[s][i] = count++;
            else
                vertex_of[s][i] = PELT_NONE;
    return count;
}

static void copy_vertices(pelt_mesh *mesh, const scene_surface *surface, uint32_t *const vertex_of[2], uint8_t *side,
                          uint32_t *points) {
    for (uint32_t i = 0; i < surface->point_count; i++)
        for (int s = 0; s < 2; s++) {
            uint32_t to = vertex_of[s][i];
            if (to == PELT_NONE)
                continue;
            for (int c = 0; c < 3; c++) {
                mesh->positions[3 * (size_t)to + c] = surface->positions[3 * (size_t)i + c];
                mesh->normals[3 * (size_t)to + c] = surface->normals[3 * (size_t)i + c];
            }
            side[to] = (uint8_t)s;
            if (points)
                points[to] = i;
        }
}

static void copy_quads(pelt_mesh *mesh, const scene_surface *surface, uint32_t *const vertex_of[2]) {
    static const int fan[6] = {0, 1, 2, 0, 2, 3};
    for (uint32_t q = 0; q < surface->quad_count; q++) {
        const uint32_t *of = vertex_of[quad_side(surface, q)];
        for (int c = 0; c < 6; c++) {
            mesh->triangles[6 * (size_t)q + c] = of[surface->quads[4 * (size_t)q + fan[c]]];
            mesh->triangle_polygons[2 * (size_t)q + c / 3] = q;
        }
    }
    mesh->polygon_count = surface->quad_count;
}

uint32_t scene_points_for(uint32_t vertex_count) {
    /* Seams grow with length, points with area: 3 fits round shapes, and is low for long ones. */
    return vertex_count - (uint32_t)fmin(3 * sqrt(vertex_count), vertex_count / 3.0);
}

static pelt_result build_mesh(pelt_context *context, pelt_model *model, pelt_model *scratch,
                              const scene_surface *surface, const char *name, bool shared_points) {
    uint32_t *vertex_of[2];
    for (int s = 0; s < 2; s++)
        if (!(vertex_of[s] = SCENE_NEW(context, scratch, uint32_t, surface->point_count)))
            return PELT_ERROR_MEMORY;
    uint32_t vertex_count = number_vertices(surface, vertex_of);
    uint8_t *side = SCENE_NEW(context, scratch, uint8_t, vertex_count);
    if (!side)
        return PELT_ERROR_MEMORY;
    SCENE_TRY(scene_mesh_alloc(context, model, vertex_count, 2 * surface->quad_count, 1));
    pelt_mesh *mesh = &model->mesh;
    mesh->triangle_polygons = SCENE_NEW(context, model, uint32_t, mesh->triangle_count);
    if (!mesh->triangle_polygons)
        return PELT_ERROR_MEMORY;
    uint32_t *points = shared_points ? SCENE_NEW(context, model, uint32_t, vertex_count) : NULL;
    if (shared_points && !points)
        return PELT_ERROR_MEMORY;
    copy_vertices(mesh, surface, vertex_of, side, points);
    if (points)
        SCENE_TRY(pelt_model_set_points(context, model, surface->point_count, points));
    copy_quads(mesh, surface, vertex_of);
    side_uvs(mesh, side);
    mesh->parts[0].name = name;
    mesh->parts[0].material = name;
    mesh->parts[0].triangle_count = mesh->triangle_count;
    mesh->parts[0].vertex_count = shared_points ? 0 : vertex_count;
    return PELT_OK;
}

pelt_result scene_mesh_from_surface(pelt_context *context, pelt_model *model, const scene_surface *surface,
                                    const char *name, bool shared_points) {
    pelt_model *scratch;
    SCENE_TRY(pelt_model_create(context, &scratch));
    pelt_result result = build_mesh(context, model, scratch, surface, name, shared_points);
    pelt_model_destroy(scratch);
    return result;
}
