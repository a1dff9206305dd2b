/* Makes a mesh from lists of polygons: see polygons.h.
 *
 * Vertices of the mesh are the distinct combinations of point, texture coordinate and normal. Vertex i < point_count is
 * point i with its first combination; further combinations follow in the order of the corners. A hash table finds
 * these, so that the cost per corner is constant however often a point is split (the pole of a sphere has hundreds of
 * texture coordinates).
 */
#include "io/polygons.h"
#include "core/classes.h"

#include <math.h>

/* ---- Lists ------------------------------------------------------------------------------------------------ */

void *px_list_room(pelt_context *context, px_list *list, size_t more, size_t size) {
    if (!list->data || more > list->capacity - list->count) {
        size_t wanted = more < SIZE_MAX - list->count ? list->count + more : SIZE_MAX;
        size_t capacity = px_max_size(2 * list->capacity, px_max_size(wanted, 4096 / size + 1));
        void *data = px_resize(context, list->data, capacity, size);
        if (!data)
            return NULL;
        list->data = data;
        list->capacity = capacity;
    }
    return (char *)list->data + list->count * size;
}

typedef struct builder {
    pelt_context *context;
    pelt_model *model;
    px_polygons *content;
    px_list *vertices;   /* px_corner; point 0: no corner uses it */
    uint32_t *table;     /* hash table of vertices from point_count on; PELT_NONE: empty. NULL: none yet */
    uint32_t table_size; /* a power of 2, more than twice its entries */
    bool has_uvs, has_normals;
} builder;

/* ---- Vertices --------------------------------------------------------------------------------------------- */

static inline uint64_t hash_corner(px_corner c) {
    uint64_t h = (c.point | (uint64_t)c.uv << 32) * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ h >> 32 ^ c.normal ^ (uint64_t)c.combination << 32) * UINT64_C(0xD6E8FEB86659FD93);
    return h ^ h >> 32;
}

static inline bool same_corner(px_corner a, px_corner b) {
    return a.point == b.point && a.uv == b.uv && a.normal == b.normal && a.combination == b.combination;
}

/* The slot of a corner, or the empty slot where it belongs. */
static inline uint32_t *find_slot(const builder *b, px_corner corner) {
    const px_corner *vertices = b->vertices->data;
    uint32_t mask = b->table_size - 1, at = (uint32_t)hash_corner(corner) & mask;
    while (b->table[at] != PELT_NONE && !same_corner(vertices[b->table[at]], corner))
        at = (at + 1) & mask;
    return &b->table[at];
}

static pelt_result grow_table(builder *b, size_t first) {
    size_t size = b->table_size ? (size_t)2 * b->table_size : 1024;
    if (size > UINT32_MAX)
        return px_fail(b->context, PELT_ERROR_UNSUPPORTED, "is split into more vertices than can be counted");
    px_free(b->context, b->table);
    b->table = PX_ALLOC(b->context, uint32_t, size);
    if (!b->table)
        return PELT_ERROR_MEMORY;
    memset(b->table, 0xFF, size * sizeof *b->table);
    b->table_size = (uint32_t)size;
    const px_corner *vertices = b->vertices->data;
    for (size_t i = first; i < b->vertices->count; i++)
        *find_slot(b, vertices[i]) = (uint32_t)i;
    return PELT_OK;
}

/* Finds or adds the vertex of a corner that differs from the first combination of its point. */
static pelt_result split_vertex(builder *b, px_corner corner, size_t point_count, uint32_t *vertex) {
    if (2 * (b->vertices->count - point_count) >= b->table_size)
        PX_TRY(grow_table(b, point_count));
    uint32_t *slot = find_slot(b, corner);
    if (*slot == PELT_NONE) {
        px_corner *added = px_list_room(b->context, b->vertices, 1, sizeof *added);
        if (!added)
            return PELT_ERROR_MEMORY;
        *added = corner;
        *slot = (uint32_t)b->vertices->count++;
    }
    *vertex = *slot;
    return PELT_OK;
}

/* Finds the vertices; afterwards each corner's `point` is its vertex, counted from 0. */
static pelt_result find_vertices(builder *b) {
    size_t point_count = b->content->positions.count / 3;
    px_corner *corners = b->content->corners.data;
    px_corner *vertices = px_list_room(b->context, b->vertices, point_count, sizeof *vertices);
    if (!vertices)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < point_count; i++)
        vertices[i] =
            (px_corner){.uv = b->has_uvs ? (uint32_t)i + 1 : 0, .normal = b->has_normals ? (uint32_t)i + 1 : 0};
    b->vertices->count = point_count;
    for (size_t c = 0; c < b->content->corners.count; c++) {
        px_corner corner = corners[c], *first = (px_corner *)b->vertices->data + corner.point - 1;
        if (b->content->normals_by_point)
            corner.normal = corner.point;
        if (b->content->uvs_by_point)
            corner.uv = corner.point;
        b->has_uvs |= corner.uv != 0;
        b->has_normals |= corner.normal != 0;
        if (first->point == 0)
            *first = corner;
        if (same_corner(*first, corner))
            corners[c].point = corner.point - 1;
        else
            PX_TRY(split_vertex(b, corner, point_count, &corners[c].point));
    }
    return PELT_OK;
}

static pelt_result fill_vertices(builder *b) {
    pelt_mesh *mesh = &b->model->mesh;
    px_arena *memory = b->model->memory;
    size_t count = b->vertices->count, point_count = b->content->positions.count / 3;
    const float *positions = b->content->positions.data, *uvs = b->content->uvs.data;
    const px_corner *vertices = b->vertices->data;
    bool split = count > point_count;
    mesh->positions = PX_NEW(memory, float, px_mul_size(3, count));
    mesh->uvs = b->has_uvs ? PX_NEW(memory, float, px_mul_size(2, count)) : NULL;
    uint32_t *of = split ? PX_NEW(memory, uint32_t, count) : NULL;
    if (!mesh->positions || (b->has_uvs && !mesh->uvs) || (split && !of))
        return PELT_ERROR_MEMORY;
    mesh->vertex_count = (uint32_t)count;
    memcpy(mesh->positions, positions, point_count * 3 * sizeof(float));
    for (size_t i = point_count; i < count; i++)
        memcpy(mesh->positions + 3 * i, positions + (size_t)3 * (vertices[i].point - 1), 3 * sizeof(float));
    for (size_t i = 0; split && i < count; i++)
        of[i] = i < point_count ? (uint32_t)i : vertices[i].point - 1;
    if (split)
        PX_TRY(px_classes_make(memory, mesh->vertex_count, (uint32_t)point_count, of, &mesh->points));
    else
        mesh->points.count = (uint32_t)count;
    for (size_t i = 0; mesh->uvs && i < count; i++)
        if (vertices[i].uv)
            memcpy(mesh->uvs + 2 * i, uvs + (size_t)2 * (vertices[i].uv - 1), 2 * sizeof(float));
    return PELT_OK;
}

/* ---- Further layers --------------------------------------------------------------------------------------- */

pelt_result px_polygons_add_layer(px_arena *arena, px_polygons *content, const px_layer *layer) {
    px_layers *all = &content->layers;
    if (!all->layers && !(all->layers = PX_NEW(arena, px_layer, PX_MAX_LAYERS)))
        return PELT_ERROR_MEMORY;
    if (all->layer_count < PX_MAX_LAYERS)
        all->layers[all->layer_count++] = *layer;
    return PELT_OK;
}

/* The slot of a combination, or the empty slot where it belongs. */
static uint32_t *find_combination(const px_polygons *content, px_combination wanted) {
    const px_combination *all = content->combinations.data;
    uint64_t h = (wanted.before | (uint64_t)wanted.value << 32) * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t mask = content->table_size - 1, at = (uint32_t)(h >> 32 ^ h) & mask;
    while (content->table[at] && memcmp(&all[content->table[at] - 1], &wanted, sizeof wanted) != 0)
        at = (at + 1) & mask;
    return &content->table[at];
}

static pelt_result grow_combinations(pelt_context *context, px_polygons *content) {
    const px_combination *all = content->combinations.data;
    size_t size = content->table_size ? (size_t)2 * content->table_size : 1024;
    if (size > UINT32_MAX)
        return px_fail(context, PELT_ERROR_UNSUPPORTED, "has more corners than can be counted");
    px_free(context, content->table);
    content->table = PX_ALLOC(context, uint32_t, size);
    content->table_size = (uint32_t)size;
    if (!content->table)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < content->combinations.count; n++)
        *find_combination(content, all[n]) = (uint32_t)n + 1;
    return PELT_OK;
}

pelt_result px_polygons_combine(pelt_context *context, px_polygons *content, uint32_t value, uint32_t *combination) {
    px_combination wanted = {*combination, value};
    if (2 * content->combinations.count >= content->table_size)
        PX_TRY(grow_combinations(context, content));
    uint32_t *slot = find_combination(content, wanted);
    if (*slot == 0) {
        px_combination *added = px_list_room(context, &content->combinations, 1, sizeof *added);
        if (!added)
            return PELT_ERROR_MEMORY;
        *added = wanted;
        *slot = (uint32_t)++content->combinations.count;
    }
    *combination = *slot;
    return PELT_OK;
}

pelt_result px_polygons_layers(px_arena *arena, const px_polygons *content, const px_list *vertices, px_layers *out) {
    const px_corner *corners = vertices->data;
    const px_combination *all = content->combinations.data;
    *out = (px_layers){.vertex_count = (uint32_t)vertices->count};
    if (!(out->layers = PX_NEW(arena, px_layer, content->layers.layer_count)))
        return PELT_ERROR_MEMORY;
    for (; out->layer_count < content->layers.layer_count; out->layer_count++) {
        px_layer *layer = &out->layers[out->layer_count];
        *layer = content->layers.layers[out->layer_count];
        if (!(layer->values = px_layer_alloc(arena, layer, vertices->count)))
            return PELT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < vertices->count; i++) {
        uint32_t combination = corners[i].combination;
        for (uint32_t n = out->layer_count; n-- > 0 && combination; combination = all[combination - 1].before) {
            uint32_t width = out->layers[n].width, value = all[combination - 1].value;
            if (value)
                memcpy(out->layers[n].values + width * i,
                       content->layers.layers[n].values + (size_t)width * (value - 1), width * sizeof(float));
        }
    }
    return PELT_OK;
}

/* ---- Triangles -------------------------------------------------------------------------------------------- */

static pelt_result fill_triangles(builder *b) {
    pelt_mesh *mesh = &b->model->mesh;
    const px_corner *corners = b->content->corners.data;
    const uint32_t *polygons = b->content->polygons.data;
    size_t polygon_count = b->content->polygons.count, count = b->content->corners.count - 2 * polygon_count;
    bool fans = count > polygon_count;
    mesh->triangles = PX_NEW(b->model->memory, uint32_t, px_mul_size(3, count));
    mesh->triangle_polygons = fans ? PX_NEW(b->model->memory, uint32_t, count) : NULL;
    if (!mesh->triangles || (fans && !mesh->triangle_polygons))
        return PELT_ERROR_MEMORY;
    mesh->triangle_count = (uint32_t)count;
    mesh->polygon_count = (uint32_t)polygon_count;
    uint32_t *out = mesh->triangles;
    for (size_t polygon = 0, triangle = 0; polygon < polygon_count; corners += polygons[polygon++])
        for (uint32_t c = 2; c < polygons[polygon]; c++, triangle++) {
            *out++ = corners[0].point;
            *out++ = corners[c - 1].point;
            *out++ = corners[c].point;
            if (fans)
                mesh->triangle_polygons[triangle] = (uint32_t)polygon;
        }
    return PELT_OK;
}

/* ---- Normals ---------------------------------------------------------------------------------------------- */

/* Files store few digits: with 4 decimals the squared length is within 2e-4 of 1. Normals within twice that tolerance
 * stay unchanged, others are normalized. A normal without a direction becomes 0 and counts as missing. */
bool px_unit_normal(float *n) {
    double square = (double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2];
    if (fabs(square - 1) <= 4e-4)
        return true;
    bool good = square > 0 && isfinite(square);
    double scale = good ? 1 / sqrt(square) : 0;
    for (int i = 0; i < 3; i++)
        n[i] = good ? (float)(n[i] * scale) : 0;
    return good;
}

static bool has_normal(const builder *b, size_t vertex) {
    uint32_t normal = ((const px_corner *)b->vertices->data)[vertex].normal;
    const float *n = normal ? (const float *)b->content->normals.data + (size_t)3 * (normal - 1) : NULL;
    return n && (n[0] != 0 || n[1] != 0 || n[2] != 0);
}

/* Adds the area-weighted normals of the triangles to those of their vertices that have none of their own. */
static void add_face_normals(const builder *b, float *normals) {
    const pelt_mesh *mesh = &b->model->mesh;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *v = mesh->triangles + 3 * t;
        double d[2][3];
        for (int i = 0; i < 3; i++) {
            double origin = mesh->positions[(size_t)3 * v[0] + i];
            d[0][i] = mesh->positions[(size_t)3 * v[1] + i] - origin;
            d[1][i] = mesh->positions[(size_t)3 * v[2] + i] - origin;
        }
        for (int c = 0; c < 3; c++)
            if (!has_normal(b, v[c]))
                for (int i = 0, j = 1, k = 2; i < 3; i++, j = (j + 1) % 3, k = (k + 1) % 3)
                    normals[(size_t)3 * v[c] + i] += (float)(d[0][j] * d[1][k] - d[0][k] * d[1][j]);
    }
}

/* Gives every vertex a normal, since some corners have one: its own, else that of its faces, else +z. */
static pelt_result fill_normals(builder *b) {
    pelt_mesh *mesh = &b->model->mesh;
    const px_corner *vertices = b->vertices->data;
    const float *source = b->content->normals.data;
    float *normals = PX_NEW(b->model->memory, float, px_mul_size(3, mesh->vertex_count));
    if (!normals)
        return PELT_ERROR_MEMORY;
    bool missing = false;
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        bool own = has_normal(b, i);
        if (own)
            memcpy(normals + 3 * i, source + (size_t)3 * (vertices[i].normal - 1), 3 * sizeof(float));
        missing |= !own && vertices[i].point != 0;
    }
    if (missing)
        add_face_normals(b, normals);
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        float *n = normals + 3 * i;
        if (has_normal(b, i))
            continue;
        double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
        bool good = length > 0 && isfinite(length);
        for (int c = 0; c < 3; c++)
            n[c] = good ? (float)(n[c] / length) : c == 2;
    }
    mesh->normals = normals;
    return PELT_OK;
}

static pelt_result build(builder *b) {
    b->has_uvs = b->content->uvs_by_point;
    b->has_normals = b->content->normals_by_point;
    PX_TRY(find_vertices(b));
    if (b->vertices->count >= PELT_NONE)
        return px_fail(b->context, PELT_ERROR_UNSUPPORTED, "is split into more vertices than can be counted");
    PX_TRY(fill_vertices(b));
    PX_TRY(fill_triangles(b));
    return b->has_normals ? fill_normals(b) : PELT_OK;
}

pelt_result px_polygons_build(pelt_context *context, pelt_model *model, px_polygons *content, px_list *vertices) {
    builder b = {.context = context, .model = model, .content = content, .vertices = vertices};
    pelt_result result = build(&b);
    px_free(context, b.table);
    return result;
}

void px_polygons_free(pelt_context *context, px_polygons *content) {
    px_list *lists[] = {&content->positions, &content->uvs,      &content->normals,
                        &content->corners,   &content->polygons, &content->combinations};
    for (size_t i = 0; i < PX_COUNT(lists); i++)
        px_free(context, lists[i]->data);
    px_free(context, content->table);
}

void px_polygons_tell(pelt_context *context, size_t short_faces, size_t odd_uvs, size_t odd_normals) {
    static const char plural[] = "s";
    if (short_faces)
        px_log(context, PELT_LOG_WARNING, "%zu face%s of fewer than 3 corners left out", short_faces,
               plural + (short_faces == 1));
    if (odd_uvs)
        px_log(context, PELT_LOG_WARNING, "%zu texture coordinate%s not finite, replaced by 0", odd_uvs,
               plural + (odd_uvs == 1));
    if (odd_normals)
        px_log(context, PELT_LOG_WARNING, "%zu normal%s without direction, computed from the faces", odd_normals,
               plural + (odd_normals == 1));
}

uint32_t px_polygon_end(const pelt_mesh *mesh, uint32_t first, uint32_t end) {
    const uint32_t *v = mesh->triangles + (size_t)3 * first, *of = mesh->triangle_polygons;
    uint32_t t = first + 1, hub = v[0];
    for (v += 3; of && t < end && of[t] == of[first] && v[0] == hub && v[1] == v[-1]; v += 3)
        t++;
    return t;
}
