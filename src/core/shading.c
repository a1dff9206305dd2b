/* Reference normals and tangents of a deforming mesh: see shading.h. */
#include "core/shading.h"
#include "core/math3.h"
#include "core/mesh.h"

#define SAME_NORMAL_COSINE 0.99985f /* cosine of one degree: files round normals in their own ways */

/* ---- Pieces ------------------------------------------------------------------------------------------------ */

static bool same_normal(const void *user, uint32_t a, uint32_t b) {
    if (!user)
        return true;
    const float *x = (const float *)user + 3 * (size_t)a, *y = (const float *)user + 3 * (size_t)b;
    return memcmp(x, y, 3 * sizeof *x) == 0 || x[0] * y[0] + x[1] * y[1] + x[2] * y[2] >= SAME_NORMAL_COSINE;
}

static const pelt_vertex_classes each_vertex = {0};

/* Both edges of a vertex's triangle; false: it has none, and they are 0. `positions` [class][3]. */
static bool edges_of(const px_shading *s, const pelt_vertex_classes *classes, const float *positions, uint32_t vertex,
                     double edges[2][3]) {
    const uint32_t *others = s->corners + 2 * (size_t)vertex;
    memset(edges, 0, 6 * sizeof(double));
    if (others[0] == PELT_NONE)
        return false;
    const float *from = positions + 3 * (size_t)pelt_vertex_class(classes, vertex);
    for (int e = 0; e < 2; e++) {
        const float *to = positions + 3 * (size_t)pelt_vertex_class(classes, others[e]);
        for (int c = 0; c < 3; c++)
            edges[e][c] = (double)to[c] - (double)from[c];
    }
    return true;
}

static pelt_result choose_triangles(px_arena *arena, const pelt_mesh *mesh, px_shading *s) {
    double *areas = PX_ALLOC(px_arena_context(arena), double, mesh->vertex_count);
    s->corners = PX_NEW(arena, uint32_t, 2 * (size_t)mesh->vertex_count);
    if (areas && s->corners)
        memset(s->corners, 0xFF, 2 * (size_t)mesh->vertex_count * sizeof *s->corners);
    for (size_t e = 0; areas && s->corners && e < 3 * (size_t)mesh->triangle_count; e++) {
        const uint32_t *t = mesh->triangles + e / 3 * 3;
        uint32_t vertex = t[e % 3], *own = s->corners + 2 * (size_t)vertex, was[2] = {own[0], own[1]};
        double edges[2][3], normal[3];
        own[0] = t[(e + 1) % 3], own[1] = t[(e + 2) % 3];
        edges_of(s, &each_vertex, mesh->positions, vertex, edges);
        px_cross3d(edges[0], edges[1], normal);
        double area = px_dot3d(normal, normal);
        if (area > areas[vertex])
            areas[vertex] = area;
        else
            own[0] = was[0], own[1] = was[1];
    }
    bool ready = areas && s->corners;
    px_free(px_arena_context(arena), areas);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Three unit vectors: the normal of the piece, the edge across it, and their cross product. */
static bool frame_of(const px_shading *s, const pelt_vertex_classes *classes, const float *positions, uint32_t vertex,
                     const double normal[3], double axes[3][3]) {
    double edges[2][3];
    if (!edges_of(s, classes, positions, vertex, edges))
        return false;
    double along = px_dot3d(edges[0], normal);
    for (int c = 0; c < 3; c++) {
        axes[0][c] = normal[c];
        axes[1][c] = edges[0][c] - along * normal[c];
    }
    bool known = px_normalize3(axes[1]) > 0;
    px_cross3d(axes[0], axes[1], axes[2]);
    return known;
}

/* ---- What vertices keep ------------------------------------------------------------------------------------ */

static void keep_normal(const px_shading *s, uint32_t vertex, const double piece[3], float out[3]) {
    const float *own = s->mesh->normals + 3 * (size_t)vertex;
    double axes[3][3], n[3] = {(double)own[0], (double)own[1], (double)own[2]};
    bool known = px_normalize3(n) > 0 && frame_of(s, &each_vertex, s->mesh->positions, vertex, piece, axes);
    for (int c = 0; c < 3; c++)
        out[c] = known ? (float)px_dot3d(n, axes[c]) : (float)(c == 0);
}

/* Least-squares coordinates of the tangent along both edges, normalised. */
static void keep_tangent(const px_shading *s, uint32_t vertex, float out[2]) {
    const float *own = s->mesh->tangents + 4 * (size_t)vertex;
    double e[2][3], t[3] = {(double)own[0], (double)own[1], (double)own[2]};
    if (!edges_of(s, &each_vertex, s->mesh->positions, vertex, e))
        return;
    double aa = px_dot3d(e[0], e[0]), ab = px_dot3d(e[0], e[1]), bb = px_dot3d(e[1], e[1]), ta = px_dot3d(t, e[0]),
           tb = px_dot3d(t, e[1]);
    double area2 = aa * bb - ab * ab; /* in a sliver 0 or less by rounding: no coordinates, a tangent of 0 */
    if (!(area2 > 0))
        return;
    double x = (ta * bb - tb * ab) / sqrt(area2), y = (tb * aa - ta * ab) / sqrt(area2), length = px_hypot(x, y);
    out[0] = length > 0 ? (float)(x / length) : 0;
    out[1] = length > 0 ? (float)(y / length) : 0;
}

pelt_result px_shading_make(px_arena *arena, const pelt_mesh *mesh, px_shading *out) {
    px_shading s = {.mesh = mesh};
    size_t count = mesh->vertex_count;
    PX_TRY(px_classes_refine(arena, mesh->vertex_count, &mesh->weld, same_normal, mesh->normals, &s.pieces));
    PX_TRY(choose_triangles(arena, mesh, &s));
    if (mesh->normals && !(s.normals = PX_NEW(arena, float, 3 * count)))
        return PELT_ERROR_MEMORY;
    if (mesh->tangents && !(s.tangents = PX_NEW(arena, float, 2 * count)))
        return PELT_ERROR_MEMORY;
    double *sums = PX_ALLOC(px_arena_context(arena), double, 3 * (size_t)s.pieces.count);
    if (!sums)
        return PELT_ERROR_MEMORY;
    px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, s.pieces.of, mesh->positions, sums);
    for (uint32_t i = 0; i < count; i++) {
        double piece[3];
        px_normal_unit(sums + 3 * (size_t)s.pieces.of[i], piece);
        if (s.normals)
            keep_normal(&s, i, piece, s.normals + 3 * (size_t)i);
        if (s.tangents)
            keep_tangent(&s, i, s.tangents + 2 * (size_t)i);
    }
    px_free(px_arena_context(arena), sums);
    *out = s;
    return PELT_OK;
}

/* ---- A frame ----------------------------------------------------------------------------------------------- */

static void place_normal(const px_shading *s, const float *points, uint32_t vertex, const double piece[3],
                         float out[3]) {
    const float *own = s->normals ? s->normals + 3 * (size_t)vertex : NULL;
    double axes[3][3], n[3] = {piece[0], piece[1], piece[2]};
    if (own && frame_of(s, &s->mesh->points, points, vertex, piece, axes))
        for (int c = 0; c < 3; c++)
            n[c] = (double)own[0] * axes[0][c] + (double)own[1] * axes[1][c] + (double)own[2] * axes[2][c];
    for (int c = 0; c < 3; c++)
        out[c] = (float)n[c];
}

/* The tangent in the frame, made perpendicular to the normal. */
static void place_tangent(const px_shading *s, const float *points, uint32_t vertex, const float normal[3],
                          float out[3]) {
    const float *own = s->tangents + 2 * (size_t)vertex;
    double e[2][3] = {{0}}, t[3], n[3] = {(double)normal[0], (double)normal[1], (double)normal[2]};
    edges_of(s, &s->mesh->points, points, vertex, e);
    for (int c = 0; c < 3; c++)
        t[c] = (double)own[0] * e[0][c] + (double)own[1] * e[1][c];
    double along = px_dot3d(t, n);
    for (int c = 0; c < 3; c++)
        t[c] -= along * n[c];
    px_normalize3(t);
    for (int c = 0; c < 3; c++)
        out[c] = (float)t[c];
}

void px_shading_frame(const px_shading *s, const float *points, double *sums, float *normals, float *tangents) {
    const pelt_mesh *mesh = s->mesh;
    memset(sums, 0, 3 * (size_t)s->pieces.count * sizeof *sums);
    px_normals_sum(mesh->triangles, mesh->triangle_count, mesh->points.of, s->pieces.of, points, sums);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        double piece[3];
        px_normal_unit(sums + 3 * (size_t)s->pieces.of[i], piece);
        place_normal(s, points, i, piece, normals + 3 * (size_t)i);
        if (tangents)
            place_tangent(s, points, i, normals + 3 * (size_t)i, tangents + 3 * (size_t)i);
    }
}

/* ---- Entry point ------------------------------------------------------------------------------------------- */

pelt_result pelt_mesh_edged_normals(pelt_context *context, const pelt_mesh *mesh, const float *positions,
                                    float *normals) {
    if (!mesh->weld.of)
        return px_fail(context, PELT_ERROR_USAGE, "normals need welded vertices; call pelt_model_weld first");
    px_arena *scratch = px_arena_create(context);
    if (!scratch)
        return PELT_ERROR_MEMORY;
    pelt_vertex_classes pieces;
    pelt_result result =
        px_classes_refine(scratch, mesh->vertex_count, &mesh->weld, same_normal, mesh->normals, &pieces);
    double *sums = result == PELT_OK ? PX_NEW(scratch, double, 3 * (size_t)pieces.count) : NULL;
    if (sums)
        px_normals_sum(mesh->triangles, mesh->triangle_count, NULL, pieces.of, positions ? positions : mesh->positions,
                       sums);
    for (uint32_t i = 0; sums && i < mesh->vertex_count; i++) {
        double unit[3];
        px_normal_unit(sums + 3 * (size_t)pieces.of[i], unit);
        for (int c = 0; c < 3; c++)
            normals[3 * (size_t)i + c] = (float)unit[c];
    }
    px_arena_destroy(scratch);
    return sums ? PELT_OK : PELT_ERROR_MEMORY;
}
