/* Geometries of FBX files, merged to one mesh with a part for each material of each node: see fbx.h.
 *
 * Vertices of a part are in the space of its node. A skinned vertex has the bones of its clusters, whose matrix Transform maps from the node
 * of the mesh to the link; other vertices have their node as the only bone.
 */
#include "io/fbx.h"

#include "io/merge.h"

typedef struct morph_shape {
    pelt_morph morph;
    px_fbx_shape shape;
} morph_shape;

/* Everything read so far, over all geometries. */
typedef struct gathered {
    px_fbx *fbx;
    px_merge merge;
    px_buffer morphs;       /* morph_shape */
    uint32_t *morph_counts; /* [joint] */
    uint32_t odd_count;     /* indices of layers and clusters that do not exist */
} gathered;

/* ---- Parts ----------------------------------------------------------------------------------------------------- */

static pelt_result add_parts(gathered *all, px_fbx_geometry *g) {
    const pelt_mesh *mesh = &g->built->mesh;
    px_fbx_object *material = NULL;
    uint32_t triangle = 0, polygon = 0, used = 0, vertex = all->merge.vertex_count;
    for (uint32_t m = 0; m < g->material_count; m++)
        used += g->part_sizes[m] > 0;
    for (uint32_t m = 0; m < g->material_count; m++) {
        material = px_fbx_next_child(all->fbx, g->node, "Material", NULL, material);
        if (g->part_sizes[m] == 0 && used > 0)
            continue;
        pelt_part part = {.name = px_fbx_name(all->fbx, g->node->name),
                          .first_triangle = all->merge.triangle_count + triangle,
                          .joint = g->node->joint};
        part.material = material ? px_fbx_name(all->fbx, material->name) : NULL;
        if (!part.name || (material && !part.material))
            return PELT_ERROR_MEMORY;
        polygon += g->part_sizes[m];
        while (triangle < mesh->triangle_count &&
               (mesh->triangle_polygons ? mesh->triangle_polygons[triangle] : triangle) < polygon)
            triangle++;
        part.triangle_count = all->merge.triangle_count + triangle - part.first_triangle;
        part.first_vertex = vertex;
        part.vertex_count = g->part_vertices[m];
        vertex += part.vertex_count;
        part.skinned = px_fbx_next_child(all->fbx, g->object, "Deformer", "Skin", NULL) != NULL;
        px_buffer_add(&all->merge.parts, &part, sizeof part);
        if (used == 0)
            break;
    }
    return PELT_OK;
}

/* ---- Skin ------------------------------------------------------------------------------------------------------ */

/* The matrix from the mesh's node to the link: Transform, else that of the rest pose. */
static pelt_result cluster_matrix(gathered *all, const px_fbx_geometry *g, const px_fbx_object *cluster,
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

static pelt_result read_cluster(gathered *all, const px_fbx_geometry *g, const px_fbx_object *cluster,
                                px_buffer *influences) {
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
    px_influence row;
    PX_TRY(cluster_matrix(all, g, cluster, link, &matrix));
    PX_TRY(px_merge_bone(&all->merge, link->joint, &matrix, &row.bone));
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

static pelt_result read_skin(gathered *all, const px_fbx_geometry *g) {
    pelt_affine identity = px_affine_identity();
    px_buffer influences = {.context = all->fbx->context};
    pelt_result result = PELT_OK;
    for (px_fbx_object *skin = NULL;
         result == PELT_OK && (skin = px_fbx_next_child(all->fbx, g->object, "Deformer", "Skin", skin));)
        for (px_fbx_object *c = NULL;
             result == PELT_OK && (c = px_fbx_next_child(all->fbx, skin, "Deformer", "Cluster", c));)
            result = read_cluster(all, g, c, &influences);
    if (result == PELT_OK)
        result = px_merge_skin(&all->merge, all->fbx->arena, &g->built->mesh, &influences, g->node->joint, &identity);
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

static pelt_result add_shape(gathered *all, const px_fbx_geometry *g, const px_fbx_object *shape,
                             const px_fbx_shape *place, px_text name) {
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
                        .first_vertex = all->merge.vertex_count,
                        .vertex_count = g->built->mesh.vertex_count,
                        .weight = (float)px_fbx_shape_weight(place, percent),
                        .positions =
                            px_merge_spread(&all->merge, &g->built->mesh, &g->place, points, positions, count)};
    if (!morph.name || !morph.positions)
        return PELT_ERROR_MEMORY;
    if (all->merge.normals_used && normal_count >= 3 * count &&
        !(morph.normals = px_merge_spread(&all->merge, &g->built->mesh, &g->turn, points, normals, count)))
        return PELT_ERROR_MEMORY;
    morph_shape both = {morph, *place};
    px_buffer_add(&all->morphs, &both, sizeof both);
    return PELT_OK;
}

/* Shapes of a channel are full at the percentages FullWeights; between two of them their weights go from one to the next. */
static pelt_result read_channel(gathered *all, const px_fbx_geometry *g, const px_fbx_object *channel) {
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

static pelt_result read_shapes(gathered *all, const px_fbx_geometry *g) {
    px_fbx *fbx = all->fbx;
    for (px_fbx_object *d = NULL; (d = px_fbx_next_child(fbx, g->object, "Deformer", "BlendShape", d));)
        for (px_fbx_object *c = NULL; (c = px_fbx_next_child(fbx, d, "Deformer", "BlendShapeChannel", c));)
            PX_TRY(read_channel(all, g, c));
    return PELT_OK;
}

/* ---- Geometries ------------------------------------------------------------------------------------------------ */

static pelt_result build_geometry(gathered *all, px_fbx_geometry *g) {
    PX_TRY(px_fbx_build_geometry(all->fbx, g, all->merge.normals_used, PELT_NONE - all->merge.point_count));
    if (g->content.positions.count == 0)
        return PELT_OK;
    const pelt_mesh *mesh = &g->built->mesh;
    PX_TRY(add_parts(all, g));
    PX_TRY(px_merge_vertices(&all->merge, mesh));
    PX_TRY(px_merge_layers(&all->merge, mesh, &g->layers));
    PX_TRY(read_skin(all, g));
    PX_TRY(read_shapes(all, g));
    px_merge_next(&all->merge, mesh);
    return PELT_OK;
}

static pelt_result read_geometry(gathered *all, px_fbx_object *node, px_fbx_object *object) {
    px_fbx_geometry g = {.node = node, .object = object};
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
            all->merge.normals_used |= px_fbx_child(fbx->objects[o].node, "LayerElementNormal") != NULL;
            all->merge.uvs_used |= px_fbx_child(fbx->objects[o].node, "LayerElementUV") != NULL;
        }
    for (px_fbx_object *object = fbx->first_object; object; object = object->next) {
        if (!px_fbx_is(object, "Geometry", "Mesh"))
            continue;
        PX_TRY(px_progress(fbx->context, "read", all->merge.point_count, px_max_size(1, all->merge.point_count)));
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

static int by_joint(const void *a, const void *b) {
    const pelt_morph *x = &((const morph_shape *)a)->morph, *y = &((const morph_shape *)b)->morph;
    return x->joint != y->joint ? (x->joint > y->joint) - (x->joint < y->joint)
                                : (x->index > y->index) - (x->index < y->index);
}

static pelt_result make_model(gathered *all, px_fbx_shape **shapes) {
    pelt_model *model = all->fbx->read->model;
    if (all->merge.vertex_count == 0)
        return PELT_OK;
    PX_TRY(px_merge_finish(&all->merge, &all->fbx->layers));
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
    gathered all = {.fbx = fbx, .morphs.context = fbx->context};
    px_merge_begin(&all.merge, fbx->context, fbx->read->model);
    *shapes = NULL;
    pelt_result result = read_geometries(&all);
    if (result == PELT_OK && all.morphs.failed)
        result = PELT_ERROR_MEMORY;
    if (result == PELT_OK)
        result = make_model(&all, shapes);
    px_merge_free(&all.merge);
    px_buffer_free(&all.morphs);
    return result;
}
