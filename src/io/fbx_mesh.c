/* Geometries of FBX files, merged to one mesh with a part for each material of each node: see fbx.h.
 *
 * Vertices of a part are in the space of its node. A skinned vertex has the bones of its clusters, whose matrix Transform maps from the node
 * of the mesh to the link; other vertices have their node as the only bone.
 */
#include "io/fbx.h"

#include "core/classes.h"
#include "io/polygons.h"

#define MAX_BONES 65535u

typedef struct bone {
    uint32_t joint;
    pelt_affine inverse_bind;
} bone;

typedef struct influence {
    uint32_t point;
    uint16_t bone;
    double weight;
} influence;

typedef struct morph_shape {
    pelt_morph morph;
    px_fbx_shape shape;
} morph_shape;

/* Everything read so far, over all geometries. */
typedef struct gathered {
    px_fbx *fbx;
    px_buffer positions, normals, uvs;  /* float, of the vertices */
    px_buffer points;                   /* uint32_t [vertex] */
    px_buffer triangles, polygons;      /* uint32_t [triangle][3], [triangle] */
    px_buffer parts;                    /* pelt_part */
    px_buffer bones;                    /* bone */
    px_buffer skin_bones, skin_weights; /* uint16_t, float [vertex][PELT_MAX_INFLUENCES] */
    px_buffer morphs;                   /* morph_shape */
    uint32_t *morph_counts;             /* [joint] */
    uint32_t vertex_count, point_count, triangle_count, polygon_count, influence_count;
    uint32_t odd_count; /* indices of layers and clusters that do not exist */
    bool normals_used, uvs_used;
} gathered;

/* One geometry at a node. */
typedef struct geometry {
    px_fbx_object *node, *object;
    pelt_affine place; /* geometric offsets */
    pelt_affine turn;  /* the same for normals */
    px_polygons content;
    px_list vertices; /* px_corner */
    pelt_model *built;
    uint32_t *part_sizes; /* [material_count] polygons */
    uint32_t material_count;
} geometry;

/* ---- Layers ---------------------------------------------------------------------------------------------------- */

typedef enum mapping { BY_CORNER, BY_POINT, BY_POLYGON, ALL_SAME } mapping;

/* Values of corners, points or polygons. */
typedef struct layer {
    mapping mapping;
    double *values;
    size_t value_count; /* numbers */
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
    return at < l->value_count / width ? (uint32_t)at + 1 : 0;
}

/* ---- Polygons -------------------------------------------------------------------------------------------------- */

static void *add(px_fbx *fbx, px_list *list, size_t count, size_t size) {
    void *room = px_list_room(fbx->context, list, count, size);
    list->count += room ? count : 0;
    return room;
}

/* The geometric offsets of a node: they move its mesh, not its children. */
static void read_place(geometry *g) {
    px_fbx_frame none = {.before = px_rotation_identity(), .after = px_rotation_identity()};
    double translation[3] = {0}, turn[3] = {0}, scale[3] = {1, 1, 1};
    px_fbx_property(g->node, "GeometricTranslation", translation, 3);
    px_fbx_property(g->node, "GeometricRotation", turn, 3);
    px_fbx_property(g->node, "GeometricScaling", scale, 3);
    pelt_transform local = px_fbx_local(&none, translation, turn, scale, NULL);
    g->place = px_affine_from_transform(&local);
    for (int c = 0; c < 3; c++) {
        local.translation[c] = 0;
        local.scale[c] = local.scale[c] != 0 ? 1 / local.scale[c] : 1;
    }
    g->turn = px_affine_from_transform(&local);
}

static pelt_result read_positions(gathered *all, geometry *g) {
    double *numbers;
    size_t count;
    PX_TRY(px_fbx_numbers(all->fbx, px_fbx_child(g->object->node, "Vertices"), &numbers, &count));
    count /= 3;
    if (count >= PELT_NONE - all->point_count)
        return px_fail(all->fbx->context, PELT_ERROR_UNSUPPORTED, "has too many points");
    float *out = add(all->fbx, &g->content.positions, 3 * count, sizeof *out);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        float p[3] = {(float)numbers[3 * i], (float)numbers[3 * i + 1], (float)numbers[3 * i + 2]};
        px_affine_point(&g->place, p, out + 3 * i);
    }
    return PELT_OK;
}

static pelt_result read_normals(gathered *all, geometry *g, const layer *l) {
    size_t count = l->value_count / 3;
    bool none = count == 0; /* computed from the faces, since other geometries have normals */
    if (none)
        count = all->normals_used ? g->content.positions.count / 3 : 0;
    g->content.normals_by_point = none && all->normals_used;
    float *out = add(all->fbx, &g->content.normals, 3 * count, sizeof *out);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        float n[3] = {0};
        for (int c = 0; c < 3 && !none; c++)
            n[c] = (float)l->values[3 * i + (size_t)c];
        px_affine_point(&g->turn, n, out + 3 * i);
        px_unit_normal(out + 3 * i);
    }
    return PELT_OK;
}

static pelt_result read_uvs(gathered *all, geometry *g, const layer *l) {
    size_t count = l->value_count / 2;
    float *out = add(all->fbx, &g->content.uvs, 2 * count, sizeof *out);
    if (!out)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < 2 * count; i++)
        out[i] = isfinite((float)l->values[i]) ? (float)l->values[i] : 0;
    return PELT_OK;
}

/* Corners of the polygons of one material. Polygons are runs of indices, the last of each is −index − 1. */
static pelt_result read_corners(gathered *all, geometry *g, const int32_t *indices, size_t count, const layer layers[3],
                                uint32_t material) {
    const layer *uvs = &layers[0], *normals = &layers[1], *materials = &layers[2];
    size_t point_count = g->content.positions.count / 3, polygon = 0;
    for (size_t first = 0, end; first < count; first = end, polygon++) {
        for (end = first; end < count && indices[end] >= 0;)
            end++;
        if (end == count)
            break; /* the last polygon has no end */
        end++;
        uint32_t found = layer_at(materials, 1, first, 0, polygon);
        double own = found ? materials->values[found - 1] : 0;
        if ((own >= 0 && own < g->material_count ? (uint32_t)own : 0) != material || end - first < 3)
            continue;
        px_corner *corners = px_list_room(all->fbx->context, &g->content.corners, end - first, sizeof *corners);
        uint32_t *size = px_list_room(all->fbx->context, &g->content.polygons, 1, sizeof *size);
        if (!corners || !size)
            return PELT_ERROR_MEMORY;
        for (size_t c = first; c < end; c++) {
            size_t point = (size_t)(indices[c] < 0 ? ~indices[c] : indices[c]);
            if (point >= point_count)
                return px_fail(all->fbx->context, PELT_ERROR_INPUT, "a polygon of '%.*s' refers to point %zu of %zu",
                               (int)g->object->name.size, g->object->name.data, point, point_count);
            corners[c - first] = (px_corner){.point = (uint32_t)point + 1,
                                             .uv = layer_at(uvs, 2, c, point, polygon),
                                             .normal = layer_at(normals, 3, c, point, polygon)};
        }
        g->content.corners.count += end - first;
        g->content.polygons.count++;
        *size = (uint32_t)(end - first);
        g->part_sizes[material]++;
    }
    return PELT_OK;
}

static pelt_result read_polygons(gathered *all, geometry *g) {
    px_fbx *fbx = all->fbx;
    const px_fbx_node *node = g->object->node;
    layer layers[3];
    int32_t *indices;
    size_t count;
    PX_TRY(read_positions(all, g));
    PX_TRY(read_layer(fbx, px_fbx_child(node, "LayerElementUV"), "UV", "UVIndex", &layers[0]));
    PX_TRY(read_layer(fbx, px_fbx_child(node, "LayerElementNormal"), "Normals", "NormalsIndex", &layers[1]));
    PX_TRY(read_layer(fbx, px_fbx_child(node, "LayerElementMaterial"), "Materials", NULL, &layers[2]));
    PX_TRY(read_uvs(all, g, &layers[0]));
    PX_TRY(read_normals(all, g, &layers[1]));
    PX_TRY(px_fbx_indices(fbx, px_fbx_child(node, "PolygonVertexIndex"), &indices, &count));
    if (count >= PELT_NONE)
        return px_fail(fbx->context, PELT_ERROR_UNSUPPORTED, "has too many corners");
    for (uint32_t m = 0; m < g->material_count; m++)
        PX_TRY(read_corners(all, g, indices, count, layers, m));
    return PELT_OK;
}

/* ---- Parts ----------------------------------------------------------------------------------------------------- */

static pelt_result add_parts(gathered *all, geometry *g) {
    const pelt_mesh *mesh = &g->built->mesh;
    px_fbx_object *material = NULL;
    uint32_t triangle = 0, polygon = 0, used = 0;
    for (uint32_t m = 0; m < g->material_count; m++)
        used += g->part_sizes[m] > 0;
    for (uint32_t m = 0; m < g->material_count; m++) {
        material = px_fbx_next_child(all->fbx, g->node, "Material", NULL, material);
        if (g->part_sizes[m] == 0 && used > 0)
            continue;
        pelt_part part = {.name = px_fbx_name(all->fbx, g->node->name),
                          .first_triangle = all->triangle_count + triangle,
                          .joint = g->node->joint};
        part.material = material ? px_fbx_name(all->fbx, material->name) : NULL;
        if (!part.name || (material && !part.material))
            return PELT_ERROR_MEMORY;
        polygon += g->part_sizes[m];
        while (triangle < mesh->triangle_count &&
               (mesh->triangle_polygons ? mesh->triangle_polygons[triangle] : triangle) < polygon)
            triangle++;
        part.triangle_count = all->triangle_count + triangle - part.first_triangle;
        if (used <= 1) {
            part.first_vertex = all->vertex_count;
            part.vertex_count = mesh->vertex_count;
        }
        part.skinned = px_fbx_next_child(all->fbx, g->object, "Deformer", "Skin", NULL) != NULL;
        px_buffer_add(&all->parts, &part, sizeof part);
        if (used == 0)
            break;
    }
    return PELT_OK;
}

static void add_vertices(gathered *all, const geometry *g) {
    const pelt_mesh *mesh = &g->built->mesh;
    static const float zero[3] = {0};
    px_buffer_add(&all->positions, mesh->positions, (size_t)3 * mesh->vertex_count * sizeof(float));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint32_t point = all->point_count + pelt_vertex_class(&mesh->points, i);
        px_buffer_add(&all->points, &point, sizeof point);
        px_buffer_add(&all->normals, mesh->normals ? mesh->normals + (size_t)3 * i : (const float[3]){0, 0, 1},
                      sizeof zero);
        px_buffer_add(&all->uvs, mesh->uvs ? mesh->uvs + (size_t)2 * i : zero, 2 * sizeof(float));
    }
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t polygon = all->polygon_count + (mesh->triangle_polygons ? mesh->triangle_polygons[t] : t);
        px_buffer_add(&all->polygons, &polygon, sizeof polygon);
        for (int c = 0; c < 3; c++) {
            uint32_t vertex = all->vertex_count + mesh->triangles[(size_t)3 * t + (size_t)c];
            px_buffer_add(&all->triangles, &vertex, sizeof vertex);
        }
    }
}

/* ---- Skin ------------------------------------------------------------------------------------------------------ */

static pelt_result find_bone(gathered *all, uint32_t joint, const pelt_affine *inverse_bind, uint16_t *out) {
    bone wanted = {joint, *inverse_bind};
    const bone *bones = (const bone *)(const void *)all->bones.data;
    size_t count = all->bones.size / sizeof *bones, b = 0;
    while (b < count && memcmp(&bones[b], &wanted, sizeof wanted) != 0)
        b++;
    if (b == MAX_BONES)
        return px_fail(all->fbx->context, PELT_ERROR_UNSUPPORTED, "needs more than %u bones", MAX_BONES);
    if (b == count)
        px_buffer_add(&all->bones, &wanted, sizeof wanted);
    *out = (uint16_t)b;
    return all->bones.failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* The matrix from the mesh's node to the link: Transform, else that of the rest pose. */
static pelt_result cluster_matrix(gathered *all, const geometry *g, const px_fbx_object *cluster,
                                  const px_fbx_object *link, pelt_affine *out) {
    double *numbers;
    size_t count;
    PX_TRY(px_fbx_numbers(all->fbx, px_fbx_child(cluster->node, "Transform"), &numbers, &count));
    if (count == 16 && px_fbx_matrix(numbers, out))
        return PELT_OK;
    const pelt_skeleton *skeleton = &all->fbx->read->model->skeleton;
    pelt_affine *globals = PX_ALLOC(all->fbx->context, pelt_affine, skeleton->joint_count), inverse;
    if (!globals)
        return PELT_ERROR_MEMORY;
    pelt_skeleton_globals(skeleton, skeleton->rest, globals);
    *out = px_affine_inverse(&globals[link->joint], &inverse) ? px_affine_mul(&inverse, &globals[g->node->joint])
                                                              : px_affine_identity();
    px_free(all->fbx->context, globals);
    return PELT_OK;
}

static pelt_result read_cluster(gathered *all, const geometry *g, const px_fbx_object *cluster, px_buffer *influences) {
    const px_fbx_object *link = px_fbx_next_child(all->fbx, cluster, "Model", NULL, NULL);
    int32_t *points;
    double *weights;
    size_t count, weight_count, point_count = g->content.positions.count / 3;
    if (!link || link->joint == PELT_NONE)
        return PELT_OK;
    PX_TRY(px_fbx_indices(all->fbx, px_fbx_child(cluster->node, "Indexes"), &points, &count));
    PX_TRY(px_fbx_numbers(all->fbx, px_fbx_child(cluster->node, "Weights"), &weights, &weight_count));
    if (count == 0)
        return PELT_OK;
    pelt_affine matrix;
    influence row;
    PX_TRY(cluster_matrix(all, g, cluster, link, &matrix));
    PX_TRY(find_bone(all, link->joint, &matrix, &row.bone));
    for (size_t i = 0; i < count; i++) {
        bool good = points[i] >= 0 && (size_t)points[i] < point_count && i < weight_count;
        all->odd_count += !good;
        if (good && weights[i] > 0 && isfinite(weights[i])) {
            row.point = (uint32_t)points[i];
            row.weight = weights[i];
            px_buffer_add(influences, &row, sizeof row);
        }
    }
    return influences->failed ? PELT_ERROR_MEMORY : PELT_OK;
}

/* Adds an influence to the largest ones of a vertex, sorted. */
static void keep_largest(uint16_t *bones, double *weights, uint32_t *count, const influence *row) {
    for (uint32_t k = 0; k < *count; k++)
        if (bones[k] == row->bone) { /* two clusters of one link: one bone */
            influence sum = {.bone = row->bone, .weight = weights[k] + row->weight};
            memmove(bones + k, bones + k + 1, (*count - k - 1) * sizeof *bones);
            memmove(weights + k, weights + k + 1, (*count - k - 1) * sizeof *weights);
            --*count;
            keep_largest(bones, weights, count, &sum);
            return;
        }
    uint32_t at = *count;
    while (at > 0 && weights[at - 1] < row->weight)
        at--;
    if (at == PELT_MAX_INFLUENCES)
        return;
    uint32_t moved = (*count < PELT_MAX_INFLUENCES ? *count : PELT_MAX_INFLUENCES - 1) - at;
    memmove(bones + at + 1, bones + at, moved * sizeof *bones);
    memmove(weights + at + 1, weights + at, moved * sizeof *weights);
    bones[at] = row->bone;
    weights[at] = row->weight;
    *count += *count < PELT_MAX_INFLUENCES;
}

/* Influences sorted by point: those of point p are rows[firsts[p] … firsts[p + 1]], in the order of the clusters. */
static pelt_result sort_influences(px_fbx *fbx, const px_buffer *list, size_t point_count, const influence ***rows,
                                   uint32_t **firsts) {
    const influence *all = (const influence *)(const void *)list->data;
    size_t count = list->size / sizeof *all;
    uint32_t *next = PX_NEW(fbx->arena, uint32_t, point_count + 3);
    *rows = PX_NEW(fbx->arena, const influence *, count);
    if (!next || !*rows)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        next[all[i].point + 2]++;
    for (size_t p = 2; p < point_count + 3; p++)
        next[p] += next[p - 1];
    for (size_t i = 0; i < count; i++) /* next[p + 1] moves from the first row of p to that of p + 1 */
        (*rows)[next[all[i].point + 1]++] = &all[i];
    *firsts = next;
    return PELT_OK;
}

static pelt_result add_skin(gathered *all, const geometry *g, const px_buffer *influences) {
    const pelt_mesh *mesh = &g->built->mesh;
    const influence **rows;
    uint32_t *firsts;
    uint16_t own;
    pelt_affine identity = px_affine_identity();
    bool needs_own = influences->size == 0;
    PX_TRY(sort_influences(all->fbx, influences, mesh->points.count, &rows, &firsts));
    for (uint32_t p = 0; p < mesh->points.count; p++)
        needs_own |= firsts[p] == firsts[p + 1];
    if (needs_own)
        PX_TRY(find_bone(all, g->node->joint, &identity, &own));
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        uint16_t bones[PELT_MAX_INFLUENCES] = {0};
        double weights[PELT_MAX_INFLUENCES] = {0}, sum = 0;
        float out[PELT_MAX_INFLUENCES];
        uint32_t count = 0, point = pelt_vertex_class(&mesh->points, i);
        for (uint32_t r = firsts[point]; r < firsts[point + 1]; r++)
            keep_largest(bones, weights, &count, rows[r]);
        if (count == 0) {
            bones[0] = own;
            weights[count++] = 1;
        }
        for (uint32_t k = 0; k < count; k++)
            sum += weights[k];
        for (uint32_t k = 0; k < PELT_MAX_INFLUENCES; k++) {
            out[k] = k < count ? (float)(weights[k] / sum) : 0;
            if (k >= count)
                bones[k] = 0;
        }
        px_buffer_add(&all->skin_bones, bones, sizeof bones);
        px_buffer_add(&all->skin_weights, out, sizeof out);
        if (count > all->influence_count)
            all->influence_count = count;
    }
    return PELT_OK;
}

static pelt_result read_skin(gathered *all, const geometry *g) {
    px_buffer influences = {.context = all->fbx->context};
    pelt_result result = PELT_OK;
    for (px_fbx_object *skin = NULL;
         result == PELT_OK && (skin = px_fbx_next_child(all->fbx, g->object, "Deformer", "Skin", skin));)
        for (px_fbx_object *c = NULL;
             result == PELT_OK && (c = px_fbx_next_child(all->fbx, skin, "Deformer", "Cluster", c));)
            result = read_cluster(all, g, c, &influences);
    if (result == PELT_OK)
        result = add_skin(all, g, &influences);
    px_buffer_free(&influences);
    return result;
}

/* ---- Blend shapes ---------------------------------------------------------------------------------------------- */

double px_fbx_shape_weight(const px_fbx_shape *shape, double percent) {
    bool falls = percent > shape->full && shape->after > shape->full;
    double weight = falls ? (shape->after - percent) / (shape->after - shape->full)
                          : (percent - shape->before) / (shape->full - shape->before);
    return weight < 0 && (falls || shape->before > 0) ? 0 : weight; /* only the first shape goes below 0 */
}

/* Displacements [vertex][3] of sparse rows [count]; NULL: out of memory. */
static float *spread(gathered *all, const geometry *g, const pelt_affine *matrix, const int32_t *points,
                     const double *rows, size_t count) {
    const pelt_mesh *mesh = &g->built->mesh;
    float *out = PX_NEW(all->fbx->read->model->memory, float, (size_t)3 * mesh->vertex_count);
    uint32_t *row_of = PX_ALLOC(all->fbx->context, uint32_t, (size_t)mesh->points.count + 1);
    for (size_t i = 0; out && row_of && i < count; i++)
        if (points[i] >= 0 && (uint32_t)points[i] < mesh->points.count)
            row_of[points[i]] = (uint32_t)i + 1;
    for (uint32_t v = 0; out && row_of && v < mesh->vertex_count; v++) {
        uint32_t row = row_of[pelt_vertex_class(&mesh->points, v)];
        for (int r = 0; row && r < 3; r++)
            for (int c = 0; c < 3; c++)
                out[(size_t)3 * v + (size_t)r] +=
                    (float)(matrix->m[4 * r + c] * rows[(size_t)3 * (row - 1) + (size_t)c]);
    }
    bool ready = out && row_of;
    px_free(all->fbx->context, row_of);
    return ready ? out : NULL;
}

static pelt_result add_shape(gathered *all, const geometry *g, const px_fbx_object *shape, const px_fbx_shape *place,
                             px_text name) {
    int32_t *points;
    double *positions, *normals, percent = 0;
    size_t count, position_count, normal_count;
    PX_TRY(px_fbx_indices(all->fbx, px_fbx_child(shape->node, "Indexes"), &points, &count));
    PX_TRY(px_fbx_numbers(all->fbx, px_fbx_child(shape->node, "Vertices"), &positions, &position_count));
    PX_TRY(px_fbx_numbers(all->fbx, px_fbx_child(shape->node, "Normals"), &normals, &normal_count));
    count = px_min_size(count, position_count / 3);
    px_fbx_property(place->channel, "DeformPercent", &percent, 1);
    pelt_morph morph = {.name = px_fbx_name(all->fbx, name),
                        .joint = g->node->joint,
                        .index = all->morph_counts[g->node->joint]++,
                        .first_vertex = all->vertex_count,
                        .vertex_count = g->built->mesh.vertex_count,
                        .weight = (float)px_fbx_shape_weight(place, percent),
                        .positions = spread(all, g, &g->place, points, positions, count)};
    if (!morph.name || !morph.positions)
        return PELT_ERROR_MEMORY;
    if (all->normals_used && normal_count >= 3 * count &&
        !(morph.normals = spread(all, g, &g->turn, points, normals, count)))
        return PELT_ERROR_MEMORY;
    morph_shape both = {morph, *place};
    px_buffer_add(&all->morphs, &both, sizeof both);
    return PELT_OK;
}

/* Shapes of a channel are full at the percentages FullWeights; between two of them their weights go from one to the next. */
static pelt_result read_channel(gathered *all, const geometry *g, const px_fbx_object *channel) {
    double *full;
    size_t full_count, count = 0;
    PX_TRY(px_fbx_numbers(all->fbx, px_fbx_child(channel->node, "FullWeights"), &full, &full_count));
    for (px_fbx_object *s = NULL; (s = px_fbx_next_child(all->fbx, channel, "Geometry", "Shape", s));)
        count++;
    size_t n = 0;
    for (px_fbx_object *s = NULL; (s = px_fbx_next_child(all->fbx, channel, "Geometry", "Shape", s)); n++) {
        px_fbx_shape place = {.channel = channel,
                              .full = n < full_count && full[n] > (n ? full[n - 1] : 0) ? full[n] : 100};
        if (n > 0 && n <= full_count && full[n - 1] < place.full)
            place.before = full[n - 1];
        if (n + 1 < count && n + 1 < full_count)
            place.after = full[n + 1];
        PX_TRY(add_shape(all, g, s, &place, count == 1 ? channel->name : s->name));
    }
    return PELT_OK;
}

static pelt_result read_shapes(gathered *all, const geometry *g) {
    px_fbx *fbx = all->fbx;
    for (px_fbx_object *d = NULL; (d = px_fbx_next_child(fbx, g->object, "Deformer", "BlendShape", d));)
        for (px_fbx_object *c = NULL; (c = px_fbx_next_child(fbx, d, "Deformer", "BlendShapeChannel", c));)
            PX_TRY(read_channel(all, g, c));
    return PELT_OK;
}

/* ---- Geometries ------------------------------------------------------------------------------------------------ */

static pelt_result build_geometry(gathered *all, geometry *g) {
    g->material_count = 0;
    for (px_fbx_object *m = NULL; (m = px_fbx_next_child(all->fbx, g->node, "Material", NULL, m));)
        g->material_count++;
    if (g->material_count == 0)
        g->material_count = 1;
    if (!(g->part_sizes = PX_NEW(all->fbx->arena, uint32_t, g->material_count)))
        return PELT_ERROR_MEMORY;
    read_place(g);
    PX_TRY(read_polygons(all, g));
    if (g->content.positions.count == 0)
        return PELT_OK;
    PX_TRY(px_polygons_build(all->fbx->context, g->built, &g->content, &g->vertices));
    const pelt_mesh *mesh = &g->built->mesh;
    if ((uint64_t)all->vertex_count + mesh->vertex_count >= PELT_NONE ||
        (uint64_t)all->triangle_count + mesh->triangle_count >= PELT_NONE)
        return px_fail(all->fbx->context, PELT_ERROR_UNSUPPORTED, "has too many vertices");
    PX_TRY(add_parts(all, g));
    add_vertices(all, g);
    PX_TRY(read_skin(all, g));
    PX_TRY(read_shapes(all, g));
    all->vertex_count += mesh->vertex_count;
    all->point_count += mesh->points.count;
    all->triangle_count += mesh->triangle_count;
    all->polygon_count += mesh->polygon_count;
    return PELT_OK;
}

static pelt_result read_geometry(gathered *all, px_fbx_object *node, px_fbx_object *object) {
    geometry g = {.node = node, .object = object};
    pelt_result result = pelt_model_create(all->fbx->context, &g.built);
    if (result == PELT_OK)
        result = build_geometry(all, &g);
    pelt_model_destroy(g.built);
    px_polygons_free(all->fbx->context, &g.content);
    px_free(all->fbx->context, g.vertices.data);
    return result;
}

/* In the order of the file; a geometry of several nodes is read for each. */
static pelt_result read_geometries(gathered *all) {
    px_fbx *fbx = all->fbx;
    if (!(all->morph_counts = PX_NEW(fbx->arena, uint32_t, fbx->read->model->skeleton.joint_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t o = 0; o < fbx->object_count; o++)
        if (px_fbx_is(&fbx->objects[o], "Geometry", "Mesh")) {
            all->normals_used |= px_fbx_child(fbx->objects[o].node, "LayerElementNormal") != NULL;
            all->uvs_used |= px_fbx_child(fbx->objects[o].node, "LayerElementUV") != NULL;
        }
    for (px_fbx_object *object = fbx->first_object; object; object = object->next) {
        if (!px_fbx_is(object, "Geometry", "Mesh"))
            continue;
        PX_TRY(px_progress(fbx->context, "read", all->point_count, px_max_size(1, all->point_count)));
        for (uint32_t l = 0; l < fbx->link_count; l++) {
            const px_fbx_link *link = &fbx->links[l];
            if (link->child == object && !link->property.data && px_fbx_is(link->parent, "Model", NULL) &&
                link->parent->joint != PELT_NONE)
                PX_TRY(read_geometry(all, link->parent, object));
        }
    }
    return PELT_OK;
}

/* ---- Result ---------------------------------------------------------------------------------------------------- */

/* A copy of a buffer in the model's memory. */
static void *keep(gathered *all, const px_buffer *buffer) {
    void *copy = px_arena_alloc(all->fbx->read->model->memory, px_max_size(1, buffer->size), 1);
    if (copy && buffer->size)
        memcpy(copy, buffer->data, buffer->size);
    return copy;
}

static pelt_result make_mesh(gathered *all) {
    pelt_model *model = all->fbx->read->model;
    pelt_mesh *mesh = &model->mesh;
    mesh->positions = keep(all, &all->positions);
    mesh->normals = all->normals_used ? keep(all, &all->normals) : NULL;
    mesh->uvs = all->uvs_used ? keep(all, &all->uvs) : NULL;
    mesh->triangles = keep(all, &all->triangles);
    mesh->parts = keep(all, &all->parts);
    bool fans = all->polygon_count != all->triangle_count;
    mesh->triangle_polygons = fans ? keep(all, &all->polygons) : NULL;
    uint32_t *of = keep(all, &all->points);
    if (!mesh->positions || (all->normals_used && !mesh->normals) || (all->uvs_used && !mesh->uvs) ||
        !mesh->triangles || !mesh->parts || (fans && !mesh->triangle_polygons) || !of)
        return PELT_ERROR_MEMORY;
    mesh->vertex_count = all->vertex_count;
    mesh->triangle_count = all->triangle_count;
    mesh->polygon_count = all->polygon_count;
    mesh->part_count = (uint32_t)(all->parts.size / sizeof(pelt_part));
    if (all->point_count == all->vertex_count) {
        mesh->points.count = all->point_count;
        return PELT_OK;
    }
    return px_classes_make(model->memory, mesh->vertex_count, all->point_count, of, &mesh->points);
}

static pelt_result make_skin(gathered *all) {
    pelt_model *model = all->fbx->read->model;
    pelt_skin *skin = &model->skin;
    const bone *bones = (const bone *)(const void *)all->bones.data;
    uint32_t bone_count = (uint32_t)(all->bones.size / sizeof *bones), k = all->influence_count;
    skin->bone_joints = PX_NEW(model->memory, uint32_t, bone_count);
    skin->inverse_binds = PX_NEW(model->memory, pelt_affine, bone_count);
    skin->bones = PX_NEW(model->memory, uint16_t, px_mul_size(k, all->vertex_count));
    skin->weights = PX_NEW(model->memory, float, px_mul_size(k, all->vertex_count));
    if (!skin->bone_joints || !skin->inverse_binds || !skin->bones || !skin->weights)
        return PELT_ERROR_MEMORY;
    for (uint32_t b = 0; b < bone_count; b++) {
        skin->bone_joints[b] = bones[b].joint;
        skin->inverse_binds[b] = bones[b].inverse_bind;
    }
    for (size_t i = 0; i < all->vertex_count; i++) {
        memcpy(skin->bones + i * k, (const uint16_t *)(const void *)all->skin_bones.data + i * PELT_MAX_INFLUENCES,
               k * sizeof *skin->bones);
        memcpy(skin->weights + i * k, (const float *)(const void *)all->skin_weights.data + i * PELT_MAX_INFLUENCES,
               k * sizeof *skin->weights);
    }
    skin->bone_count = bone_count;
    skin->influence_count = k;
    return PELT_OK;
}

static int by_joint(const void *a, const void *b) {
    const pelt_morph *x = &((const morph_shape *)a)->morph, *y = &((const morph_shape *)b)->morph;
    return x->joint != y->joint ? (x->joint > y->joint) - (x->joint < y->joint)
                                : (x->index > y->index) - (x->index < y->index);
}

static pelt_result make_model(gathered *all, px_fbx_shape **shapes) {
    pelt_model *model = all->fbx->read->model;
    if (all->vertex_count == 0)
        return PELT_OK;
    PX_TRY(make_mesh(all));
    PX_TRY(make_skin(all));
    morph_shape *both = (morph_shape *)(void *)all->morphs.data;
    size_t count = all->morphs.size / sizeof *both;
    model->morphs.morphs = PX_NEW(model->memory, pelt_morph, count);
    *shapes = PX_NEW(all->fbx->arena, px_fbx_shape, count);
    if (!model->morphs.morphs || !*shapes)
        return PELT_ERROR_MEMORY;
    if (count)
        px_sort(both, count, sizeof *both, by_joint);
    for (size_t m = 0; m < count; m++) {
        model->morphs.morphs[m] = both[m].morph;
        (*shapes)[m] = both[m].shape;
    }
    model->morphs.morph_count = (uint32_t)count;
    if (all->odd_count)
        px_log(all->fbx->context, PELT_LOG_WARNING, "%u skin weights of points that do not exist left out",
               all->odd_count);
    return PELT_OK;
}

pelt_result px_fbx_read_meshes(px_fbx *fbx, px_fbx_shape **shapes) {
    gathered all = {.fbx = fbx};
    px_buffer *buffers[] = {&all.positions,  &all.normals,      &all.uvs,   &all.points,
                            &all.triangles,  &all.polygons,     &all.parts, &all.bones,
                            &all.skin_bones, &all.skin_weights, &all.morphs};
    for (size_t b = 0; b < PX_COUNT(buffers); b++)
        buffers[b]->context = fbx->context;
    *shapes = NULL;
    pelt_result result = read_geometries(&all);
    for (size_t b = 0; b < PX_COUNT(buffers); b++)
        if (result == PELT_OK && buffers[b]->failed)
            result = PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = make_model(&all, shapes);
    for (size_t b = 0; b < PX_COUNT(buffers); b++)
        px_buffer_free(buffers[b]);
    return result;
}
