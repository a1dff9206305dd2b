/* Normals that follow the faces of a clip, of a vertex animation. A clip has positions only; the normals of the mesh belong
 * to its rest pose. Vertices of one point with the same normal at rest (split by texture coordinates only) stay together:
 * each such group turns with the area-weighted mean of its faces' normals, by the smallest rotation that maps the mean at
 * rest to the mean in the frame. Smooth surfaces stay smooth, hard edges stay hard, edited normals keep their tilt. */
#include "io/frame_normals.h"

#include "io/polygons.h"

/* Orders vertices by point, then by the bits of their normals, then by index. */
typedef struct keyed_vertex {
    uint32_t point, bits[3], vertex;
} keyed_vertex;

static int compare_keys(const void *a, const void *b) {
    const uint32_t *left = (const uint32_t *)a, *right = (const uint32_t *)b;
    for (size_t i = 0; i < sizeof(keyed_vertex) / sizeof(uint32_t); i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* The normal of triangle t, as long as twice its area. positions [point][3]. */
static void face_normal(const pelt_mesh *mesh, size_t t, const float *positions, float n[3]) {
    const float *p[3];
    float a[3], b[3];
    for (size_t c = 0; c < 3; c++)
        p[c] = positions + (size_t)3 * pelt_vertex_class(&mesh->points, mesh->triangles[3 * t + c]);
    for (int c = 0; c < 3; c++) {
        a[c] = p[1][c] - p[0][c];
        b[c] = p[2][c] - p[0][c];
    }
    for (int c = 0; c < 3; c++)
        n[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
}

/* Sums the normals of faces, weighted by area, into sums [group][3], and normalizes them; 0: no direction.
 * positions [point][3]. */
static void sum_faces(const px_frame_normals *normals, const float *positions, float *sums) {
    const pelt_mesh *mesh = normals->mesh;
    memset(sums, 0, (size_t)3 * normals->group_count * sizeof *sums);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *v = mesh->triangles + 3 * t;
        float n[3];
        face_normal(mesh, t, positions, n);
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++)
                sums[(size_t)3 * normals->groups[v[k]] + (size_t)c] += n[c];
    }
    for (size_t g = 0; g < normals->group_count; g++)
        px_unit_normal(sums + 3 * g);
}

/* Rotates a normal by the smallest rotation that maps unit vector `from` to `to`. */
static void turn(const float *normal, const float *from, const float *to, float *out) {
    double n[3], a[3], b[3], cosine = 0, along = 0, v[3];
    for (int c = 0; c < 3; c++) {
        n[c] = (double)normal[c];
        a[c] = (double)from[c];
        b[c] = (double)to[c];
        cosine += a[c] * b[c];
    }
    for (int c = 0; c < 3; c++) {
        v[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
        along += v[c] * n[c];
    }
    bool whole = memcmp(from, to, 3 * sizeof *from) == 0 || (from[0] == 0 && from[1] == 0 && from[2] == 0) ||
                 (to[0] == 0 && to[1] == 0 && to[2] == 0);
    for (int c = 0; c < 3; c++) {
        double across = v[(c + 1) % 3] * n[(c + 2) % 3] - v[(c + 2) % 3] * n[(c + 1) % 3];
        double turned = cosine > -0.999999 ? n[c] * cosine + across + v[c] * along / (1 + cosine) : -n[c];
        out[c] = whole ? normal[c] : (float)turned;
    }
}

/* Finds the groups and their means at rest. */
static pelt_result find_groups(pelt_context *context, px_arena *memory, px_frame_normals *normals) {
    const pelt_mesh *mesh = normals->mesh;
    keyed_vertex *keys = PX_ALLOC(context, keyed_vertex, mesh->vertex_count);
    float *positions = PX_ALLOC(context, float, (size_t)3 * mesh->points.count);
    normals->groups = PX_NEW(memory, uint32_t, mesh->vertex_count);
    bool ready = keys && positions && normals->groups;
    for (uint32_t i = 0; ready && i < mesh->vertex_count; i++) {
        keys[i] = (keyed_vertex){.point = pelt_vertex_class(&mesh->points, i), .vertex = i};
        for (int c = 0; c < 3; c++)
            keys[i].bits[c] = px_float_bits(mesh->normals[(size_t)3 * i + (size_t)c]);
    }
    if (ready)
        px_sort(keys, mesh->vertex_count, sizeof *keys, compare_keys);
    for (uint32_t i = 0; ready && i < mesh->vertex_count; i++) {
        bool same = i > 0 && keys[i].point == keys[i - 1].point &&
                    memcmp(keys[i].bits, keys[i - 1].bits, sizeof keys[i].bits) == 0;
        normals->group_count += !same;
        normals->groups[keys[i].vertex] = normals->group_count - 1;
    }
    if (ready) {
        normals->rest = PX_NEW(memory, float, (size_t)3 * normals->group_count);
        normals->now = PX_NEW(memory, float, (size_t)3 * normals->group_count);
        ready = normals->rest && normals->now;
    }
    for (size_t p = 0; ready && p < mesh->points.count; p++)
        memcpy(positions + 3 * p, mesh->positions + (size_t)3 * pelt_class_vertex(&mesh->points, p),
               3 * sizeof *positions);
    if (ready)
        sum_faces(normals, positions, normals->rest);
    px_free(context, positions);
    px_free(context, keys);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- Entry points ----------------------------------------------------------------------------------------- */

pelt_result px_point_normals(pelt_context *context, const pelt_mesh *mesh, float *normals) {
    const float up[3] = {0, 0, 1};
    float *positions = PX_ALLOC(context, float, (size_t)3 * mesh->points.count);
    float *sums = PX_ALLOC(context, float, (size_t)3 * mesh->points.count);
    for (size_t p = 0; positions && p < mesh->points.count; p++)
        memcpy(positions + 3 * p, mesh->positions + (size_t)3 * pelt_class_vertex(&mesh->points, p), sizeof up);
    for (size_t t = 0; positions && sums && t < mesh->triangle_count; t++) {
        float n[3];
        face_normal(mesh, t, positions, n);
        for (size_t k = 0; k < 3; k++)
            for (size_t c = 0; c < 3; c++)
                sums[(size_t)3 * pelt_vertex_class(&mesh->points, mesh->triangles[3 * t + k]) + c] += n[c];
    }
    for (size_t p = 0; sums && p < mesh->points.count; p++)
        if (!px_unit_normal(sums + 3 * p))
            memcpy(sums + 3 * p, up, sizeof up);
    if (positions && sums)
        pelt_vertex_classes_spread(&mesh->points, mesh->vertex_count, sums, normals);
    pelt_result result = positions && sums ? PELT_OK : PELT_ERROR_MEMORY;
    px_free(context, sums);
    px_free(context, positions);
    return result;
}

bool px_frame_normals_exist(const pelt_mesh *mesh, const pelt_clip *clip, uint32_t rule) {
    return mesh->normals || (clip && rule && clip->source.read_normals);
}

pelt_result px_frame_normals_begin(pelt_context *context, px_arena *memory, const pelt_mesh *mesh,
                                   const pelt_clip *clip, uint32_t rule, px_frame_normals *normals) {
    *normals = (px_frame_normals){.mesh = mesh, .clip = clip};
    if (!clip)
        return PELT_OK;
    if (!rule || !clip->source.read_normals)
        return find_groups(context, memory, normals);
    normals->rule = rule;
    normals->rows = PX_NEW(memory, float, (size_t)3 * PELT_NORMAL_RULES * mesh->vertex_count);
    return normals->rows ? PELT_OK : PELT_ERROR_MEMORY;
}

pelt_result px_frame_normals_read(pelt_context *context, const px_frame_normals *normals, uint32_t frame,
                                  const float *positions, float *out) {
    const pelt_mesh *mesh = normals->mesh;
    if (!normals->clip) {
        memcpy(out, mesh->normals, (size_t)12 * mesh->vertex_count);
        return PELT_OK;
    }
    if (normals->rule) {
        const pelt_clip_source *source = &normals->clip->source;
        PX_TRY(source->read_normals(context, source->user, frame, true, 0, mesh->vertex_count, normals->rows));
        for (size_t i = 0; i < mesh->vertex_count; i++)
            memcpy(out + 3 * i, normals->rows + 3 * (PELT_NORMAL_RULES * i + normals->rule - 1), 3 * sizeof *out);
        return PELT_OK;
    }
    sum_faces(normals, positions, normals->now);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        size_t g = (size_t)3 * normals->groups[i];
        turn(mesh->normals + 3 * i, normals->rest + g, normals->now + g, out + 3 * i);
    }
    return PELT_OK;
}
