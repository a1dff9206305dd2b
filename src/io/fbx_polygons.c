/* Polygons, normals and texture coordinates of one geometry of an FBX file: see fbx.h.
 *
 * Layers have values for corners, points, polygons or all. Vertices are the combinations of point, normal and texture coordinates that corners
 * have; each material has vertices of its own.
 */
#include "core/classes.h"
#include "io/fbx.h"

/* ---- Layers ---------------------------------------------------------------------------------------------------- */

typedef enum mapping { BY_CORNER, BY_POINT, BY_POLYGON, ALL_SAME } mapping;

/* Values of corners, points or polygons. */
typedef struct layer {
    mapping mapping;
    double *values;
    size_t value_count; /* numbers */
    uint32_t *equals;   /* [value] the first one that is equal; NULL: not known */
    int32_t *indices;   /* NULL: none */
    size_t index_count;
} layer;

static pelt_result read_layer(px_fbx *fbx, const px_fbx_node *node, const char *values, const char *indices,
                              layer *out) {
    *out = (layer){.mapping = BY_CORNER};
    if (!node)
        return PELT_OK;
    const px_fbx_value *by = px_fbx_at(px_fbx_child(node, "MappingInformationType"), 0);
    if (by && by->kind == PX_FBX_TEXT)
        out->mapping = px_text_is(by->text, "ByVertice") || px_text_is(by->text, "ByVertex") ? BY_POINT
                       : px_text_is(by->text, "ByPolygon")                                   ? BY_POLYGON
                       : px_text_is(by->text, "AllSame")                                     ? ALL_SAME
                                                                                             : BY_CORNER;
    PX_TRY(px_fbx_numbers(fbx, px_fbx_child(node, values), &out->values, &out->value_count));
    const px_fbx_value *reference = px_fbx_at(px_fbx_child(node, "ReferenceInformationType"), 0);
    if (indices && reference && reference->kind == PX_FBX_TEXT && !px_text_is(reference->text, "Direct"))
        PX_TRY(px_fbx_indices(fbx, px_fbx_child(node, indices), &out->indices, &out->index_count));
    return PELT_OK;
}

/* The number of a value, from 1; 0: it has none. */
static uint32_t layer_at(const layer *l, size_t width, size_t corner, size_t point, size_t polygon) {
    size_t at = l->mapping == BY_CORNER    ? corner
                : l->mapping == BY_POINT   ? point
                : l->mapping == BY_POLYGON ? polygon
                                           : 0;
    if (l->index_count) {
        if (at >= l->index_count || l->indices[at] < 0)
            return 0;
        at = (size_t)l->indices[at];
    }
    if (at >= l->value_count / width)
        return 0;
    return (l->equals ? l->equals[at] : (uint32_t)at) + 1;
}

/* A value with its number, to sort by. */
typedef struct numbered {
    float value[PX_COLOR_WIDTH];
    uint32_t number;
} numbered;

static int by_content(const void *a, const void *b) {
    const numbered *x = a, *y = b;
    int order = memcmp(x->value, y->value, sizeof x->value);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Most files store normals and texture coordinates for each corner: equal ones become one, else every corner would be a vertex. */
static pelt_result find_equals(px_fbx *fbx, layer *l, const float *values, size_t width) {
    size_t count = l->value_count / width;
    if (count >= PELT_NONE)
        return px_fail(fbx->context, PELT_ERROR_UNSUPPORTED, "has too many corners");
    l->equals = PX_NEW(fbx->arena, uint32_t, count);
    numbered *sorted = PX_ALLOC(fbx->context, numbered, count + 1);
    if (!l->equals || !sorted) {
        px_free(fbx->context, sorted);
        return PELT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i].number = (uint32_t)i;
        for (size_t c = 0; c < width; c++)
            sorted[i].value[c] = values[width * i + c] + 0.0f; /* −0 is 0 */
    }
    px_sort(sorted, count, sizeof *sorted, by_content);
    for (size_t i = 0; i < count; i++)
        l->equals[sorted[i].number] = i && memcmp(sorted[i].value, sorted[i - 1].value, sizeof sorted[i].value) == 0
                                          ? l->equals[sorted[i - 1].number]
                                          : sorted[i].number;
    px_free(fbx->context, sorted);
    return PELT_OK;
}

/* ---- Polygons -------------------------------------------------------------------------------------------------- */

static void *add(px_fbx *fbx, px_list *list, size_t count, size_t size) {
    void *room = px_list_room(fbx->context, list, count, size);
    list->count += room ? count : 0;
    return room;
}

/* The geometric offsets of a node: they move its mesh, not its children. */
static void read_place(px_fbx_geometry *g) {
    px_fbx_frame none = {.before = px_rotation_identity(), .after = px_rotation_identity()};
    double translation[3] = {0}, turn[3] = {0}, scale[3] = {1, 1, 1};
    px_fbx_property(g->node, "GeometricTranslation", translation, 3);
    px_fbx_property(g->node, "GeometricRotation", turn, 3);
    px_fbx_property(g->node, "GeometricScaling", scale, 3);
    pelt_transform local = px_fbx_local(&none, translation, px_fbx_turn(turn, 0), scale, NULL);
    g->place = px_affine_from_transform(&local);
    for (int c = 0; c < 3; c++) {
        local.translation[c] = 0;
        local.scale[c] = local.scale[c] != 0 ? 1 / local.scale[c] : 1;
    }
    g->turn = px_affine_from_transform(&local);
}

static pelt_result read_positions(px_fbx *fbx, px_fbx_geometry *g, uint32_t most) {
    double *numbers;
    size_t count;
    PX_TRY(px_fbx_numbers(fbx, px_fbx_child(g->object->node, "Vertices"), &numbers, &count));
    count /= 3;
    if (count >= most)
        return px_fail(fbx->context, PELT_ERROR_UNSUPPORTED, "has too many points");
    float *out = add(fbx, &g->content.positions, 3 * count, sizeof *out);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        float p[3] = {(float)numbers[3 * i], (float)numbers[3 * i + 1], (float)numbers[3 * i + 2]};
        px_affine_point(&g->place, p, out + 3 * i);
    }
    return PELT_OK;
}

/* Normals of the file, or, since other geometries have some, zeros, which are replaced by those of the faces. */
static pelt_result read_normals(px_fbx *fbx, px_fbx_geometry *g, layer *l, bool normals_used) {
    size_t count = l->value_count / 3;
    bool none = count == 0;
    if (none)
        count = normals_used ? g->content.positions.count / 3 : 0;
    g->content.normals_by_point = none && normals_used;
    float *out = add(fbx, &g->content.normals, 3 * count, sizeof *out);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        float n[3] = {0};
        for (int c = 0; c < 3 && !none; c++)
            n[c] = (float)l->values[3 * i + (size_t)c];
        px_affine_point(&g->turn, n, out + 3 * i);
        px_unit_normal(out + 3 * i);
    }
    return none ? PELT_OK : find_equals(fbx, l, out, 3);
}

static pelt_result read_uvs(px_fbx *fbx, px_fbx_geometry *g, layer *l) {
    float *out = add(fbx, &g->content.uvs, l->value_count / 2 * 2, sizeof *out);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < l->value_count / 2 * 2; i++)
        out[i] = isfinite((float)l->values[i]) ? (float)l->values[i] : 0;
    return find_equals(fbx, l, out, 2);
}

/* ---- Corners --------------------------------------------------------------------------------------------------- */

/* Layers of a geometry. */
typedef struct layers {
    layer uvs, normals, materials;
    layer further[PX_MAX_LAYERS]; /* [content.layers.layer_count] */
} layers;

/* Reads the sets of texture coordinates after the first, and all colours. */
static pelt_result read_further(px_fbx *fbx, px_fbx_geometry *g, layers *all) {
    bool first = true;
    for (const px_fbx_node *node = g->object->node->first; node; node = node->next) {
        bool uvs = px_text_is(node->name, "LayerElementUV"), colors = px_text_is(node->name, "LayerElementColor");
        if ((!uvs && !colors) || g->content.layers.layer_count == PX_MAX_LAYERS)
            continue;
        if (uvs && first) {
            first = false;
            continue;
        }
        layer *l = &all->further[g->content.layers.layer_count];
        PX_TRY(read_layer(fbx, node, uvs ? "UV" : "Colors", uvs ? "UVIndex" : "ColorIndex", l));
        px_layer out = {.width = uvs ? PX_UV_WIDTH : PX_COLOR_WIDTH};
        size_t count = l->value_count / out.width * out.width;
        const px_fbx_value *name = px_fbx_at(px_fbx_child(node, "Name"), 0);
        if (count == 0)
            continue;
        out.name = name && name->kind == PX_FBX_TEXT ? px_arena_text(fbx->arena, name->text.data, name->text.size) : "";
        out.values = PX_NEW(fbx->arena, float, count);
        if (!out.name || !out.values)
            return PELT_ERROR_MEMORY;
        for (size_t i = 0; i < count; i++)
            out.values[i] = isfinite((float)l->values[i]) ? (float)l->values[i] : px_layer_default(&out);
        PX_TRY(find_equals(fbx, l, out.values, out.width));
        PX_TRY(px_polygons_add_layer(fbx->arena, &g->content, &out));
    }
    return PELT_OK;
}

/* Corners of the polygons of one material. Polygons are runs of indices, the last of each is −index − 1. */
static pelt_result read_corners(px_fbx *fbx, px_fbx_geometry *g, const int32_t *indices, size_t count,
                                const layers *all, uint32_t material) {
    size_t point_count = g->content.positions.count / 3, polygon = 0;
    for (size_t first = 0, end; first < count; first = end, polygon++) {
        for (end = first; end < count && indices[end] >= 0;)
            end++;
        if (end == count)
            break; /* the last polygon has no end */
        end++;
        uint32_t found = layer_at(&all->materials, 1, first, 0, polygon);
        double own = found ? all->materials.values[found - 1] : 0;
        if ((own >= 0 && own < g->material_count ? (uint32_t)own : 0) != material || end - first < 3)
            continue;
        px_corner *corners = px_list_room(fbx->context, &g->content.corners, end - first, sizeof *corners);
        uint32_t *size = px_list_room(fbx->context, &g->content.polygons, 1, sizeof *size);
        if (!corners || !size)
            return PELT_ERROR_MEMORY;
        for (size_t c = first; c < end; c++) {
            size_t point = (size_t)(indices[c] < 0 ? ~indices[c] : indices[c]);
            if (point >= point_count)
                return px_fail(fbx->context, PELT_ERROR_INPUT, "a polygon of '%.*s' refers to point %zu of %zu",
                               (int)g->object->name.size, g->object->name.data, point, point_count);
            corners[c - first] = (px_corner){.point = (uint32_t)point + 1,
                                             .uv = layer_at(&all->uvs, 2, c, point, polygon),
                                             .normal = layer_at(&all->normals, 3, c, point, polygon)};
            for (uint32_t n = 0; n < g->content.layers.layer_count; n++)
                PX_TRY(px_polygons_combine(
                    fbx->context, &g->content,
                    layer_at(&all->further[n], g->content.layers.layers[n].width, c, point, polygon),
                    &corners[c - first].combination));
        }
        g->content.corners.count += end - first;
        g->content.polygons.count++;
        *size = (uint32_t)(end - first);
        g->part_sizes[material]++;
    }
    return PELT_OK;
}

static pelt_result read_polygons(px_fbx *fbx, px_fbx_geometry *g, bool normals_used) {
    const px_fbx_node *node = g->object->node;
    layers all = {0};
    int32_t *indices;
    size_t count;
    PX_TRY(read_layer(fbx, px_fbx_child(node, "LayerElementUV"), "UV", "UVIndex", &all.uvs));
    PX_TRY(read_layer(fbx, px_fbx_child(node, "LayerElementNormal"), "Normals", "NormalsIndex", &all.normals));
    PX_TRY(read_layer(fbx, px_fbx_child(node, "LayerElementMaterial"), "Materials", NULL, &all.materials));
    PX_TRY(read_uvs(fbx, g, &all.uvs));
    PX_TRY(read_further(fbx, g, &all));
    PX_TRY(read_normals(fbx, g, &all.normals, normals_used));
    PX_TRY(px_fbx_indices(fbx, px_fbx_child(node, "PolygonVertexIndex"), &indices, &count));
    if (count >= PELT_NONE)
        return px_fail(fbx->context, PELT_ERROR_UNSUPPORTED, "has too many corners");
    for (uint32_t m = 0; m < g->material_count; m++)
        PX_TRY(read_corners(fbx, g, indices, count, &all, m));
    return PELT_OK;
}

/* ---- Vertices of parts ----------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Rows of an array in a new order; NULL where it is. */
static bool reorder(px_arena *arena, float **rows, size_t width, const uint32_t *sources, size_t count) {
    float *out = *rows ? PX_NEW(arena, float, px_mul_size(width, count)) : NULL;
    for (size_t i = 0; out && i < count; i++)
        memcpy(out + width * i, *rows + width * sources[i], width * sizeof *out);
    bool ready = out || !*rows;
    *rows = out;
    return ready;
}

/* Lists the vertices of each part, ascending: sources [result]. Those of no polygon belong to the first part with polygons; a vertex of
 * several parts is listed for each. Triangles get the new numbers. stamps and numbers are [vertex]. */
static uint32_t list_vertices(px_fbx_geometry *g, uint32_t *stamps, uint32_t *numbers, uint32_t *sources) {
    pelt_mesh *mesh = &g->built->mesh;
    size_t triangle = 0, polygon = 0;
    uint32_t total = 0;
    for (size_t c = 0; c < (size_t)3 * mesh->triangle_count; c++)
        stamps[mesh->triangles[c]] = 1;
    for (uint32_t m = 0; m < g->material_count; m++) {
        size_t first = 3 * triangle;
        uint32_t start = total;
        if (g->part_sizes[m] == 0)
            continue;
        polygon += g->part_sizes[m];
        while (triangle < mesh->triangle_count &&
               (mesh->triangle_polygons ? mesh->triangle_polygons[triangle] : triangle) < polygon)
            triangle++;
        for (uint32_t i = 0; start == 0 && i < mesh->vertex_count; i++)
            if (stamps[i] == 0)
                sources[total++] = i;
        for (size_t c = first; c < 3 * triangle; c++)
            if (stamps[mesh->triangles[c]] != m + 2) {
                stamps[mesh->triangles[c]] = m + 2;
                sources[total++] = mesh->triangles[c];
            }
        px_sort(sources + start, total - start, sizeof *sources, by_number);
        for (uint32_t i = start; i < total; i++)
            numbers[sources[i]] = i;
        for (size_t c = first; c < 3 * triangle; c++)
            mesh->triangles[c] = numbers[mesh->triangles[c]];
        g->part_vertices[m] = total - start;
    }
    return total;
}

/* Gives each part a range of vertices of its own. */
static pelt_result separate_parts(px_fbx *fbx, px_fbx_geometry *g) {
    pelt_mesh *mesh = &g->built->mesh;
    px_arena *memory = g->built->memory;
    uint32_t *stamps = PX_NEW(fbx->arena, uint32_t, mesh->vertex_count),
             *numbers = PX_NEW(fbx->arena, uint32_t, mesh->vertex_count),
             *sources = PX_NEW(fbx->arena, uint32_t, (size_t)3 * mesh->triangle_count + mesh->vertex_count);
    if (!stamps || !numbers || !sources)
        return PELT_ERROR_MEMORY;
    uint32_t count = list_vertices(g, stamps, numbers, sources);
    uint32_t *points = PX_NEW(memory, uint32_t, count);
    if (!points)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        points[i] = pelt_vertex_class(&mesh->points, sources[i]);
    bool ready = reorder(memory, &mesh->positions, 3, sources, count) &&
                 reorder(memory, &mesh->normals, 3, sources, count) && reorder(memory, &mesh->uvs, 2, sources, count);
    for (uint32_t n = 0; n < g->layers.layer_count && ready; n++)
        ready = reorder(memory, &g->layers.layers[n].values, g->layers.layers[n].width, sources, count);
    if (!ready)
        return PELT_ERROR_MEMORY;
    mesh->vertex_count = count;
    return px_classes_make(memory, count, mesh->points.count, points, &mesh->points);
}

pelt_result px_fbx_build_geometry(px_fbx *fbx, px_fbx_geometry *g, bool normals_used, uint32_t most_points) {
    uint32_t used = 0;
    for (px_fbx_object *m = NULL; (m = px_fbx_next_child(fbx, g->node, "Material", NULL, m));)
        g->material_count++;
    if (g->material_count == 0)
        g->material_count = 1;
    g->part_sizes = PX_NEW(fbx->arena, uint32_t, g->material_count);
    g->part_vertices = PX_NEW(fbx->arena, uint32_t, g->material_count);
    if (!g->part_sizes || !g->part_vertices)
        return PELT_ERROR_MEMORY;
    read_place(g);
    PX_TRY(read_positions(fbx, g, most_points));
    PX_TRY(read_polygons(fbx, g, normals_used));
    if (g->content.positions.count == 0)
        return PELT_OK;
    PX_TRY(px_polygons_build(fbx->context, g->built, &g->content, &g->vertices));
    PX_TRY(px_polygons_layers(g->built->memory, &g->content, &g->vertices, &g->layers));
    for (uint32_t m = 0; m < g->material_count; m++) {
        used += g->part_sizes[m] > 0;
        g->part_vertices[m] = g->part_sizes[m] > 0 ? g->built->mesh.vertex_count : 0;
    }
    if (used == 0)
        g->part_vertices[0] = g->built->mesh.vertex_count;
    return used > 1 ? separate_parts(fbx, g) : PELT_OK;
}
