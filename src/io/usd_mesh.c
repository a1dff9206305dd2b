/* Meshes of USD files, with their parts, weights and blend shapes: see usd.h. */
#include "core/math3.h"
#include "io/usd.h"

#include <stdio.h>

/* ---- Meshes ----------------------------------------------------------------------------------------------------- */

/* One mesh. */
typedef struct geometry {
    const px_usd_prim *prim;
    const px_usd_skeleton *skeleton; /* that it is bound to by weights; NULL: by none */
    px_scene_matrix place;           /* from its points to the model */
    px_polygons content;
    px_list vertices; /* px_corner */
    pelt_model *built;
    px_usd_primvar uvs, normals, further[PX_MAX_LAYERS];
    px_layers layers; /* of its vertices */
    uint32_t *counts; /* [polygon] corners */
    uint32_t *firsts; /* [polygon] its first corner */
    uint32_t *points; /* [corner] */
    uint32_t polygon_count, corner_count, part_count;
    const px_usd_prim **part_prims; /* [part] GeomSubset, or the mesh */
    uint32_t *part_of;              /* [polygon] */
    uint32_t *part_sizes;           /* [part] polygons */
    uint32_t joint;                 /* that its part belongs to; PELT_NONE: none */
    bool rigid, left_handed;
} geometry;

/* Whole numbers of a property, each below `limit`. */
static pelt_result read_indices(px_usd *usd, const px_usd_prim *prim, const char *name, double limit, uint32_t **out,
                                uint32_t *out_count) {
    const double *numbers;
    size_t count;
    PX_TRY(px_usd_numbers(usd, px_usd_value(prim, name), &numbers, &count));
    if (count >= PELT_NONE)
        return px_fail(usd->context, PELT_ERROR_UNSUPPORTED, "has too many values of %s", name);
    if (!(*out = PX_NEW(usd->arena, uint32_t, count)))
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!(numbers[i] >= 0 && numbers[i] < limit))
            return px_fail(usd->context, PELT_ERROR_INPUT, "%s of '%.*s' has the value %g; it must be below %g", name,
                           (int)px_min_size(prim->name.size, 100), prim->name.data, numbers[i], limit);
        (*out)[i] = (uint32_t)numbers[i];
    }
    *out_count = (uint32_t)count;
    return PELT_OK;
}

/* Points: the value, else the first sample. Animated ones are remembered. */
static pelt_result read_points(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    px_text value = px_usd_value(g->prim, "points");
    const px_usd_property *samples = px_usd_find(g->prim, "points", PX_USD_SAMPLES);
    const double *numbers;
    size_t count;
    if (samples && !value.data) {
        const char *at = NULL;
        double time;
        bool found;
        PX_TRY(px_usd_next_sample(usd, samples->value, &at, &time, &value, &found));
    }
    PX_TRY(px_usd_numbers(usd, value, &numbers, &count));
    count /= 3;
    if (count >= PELT_NONE - all->merge.point_count)
        return px_fail(usd->context, PELT_ERROR_UNSUPPORTED, "has too many points");
    pelt_affine place = px_usd_affine(&g->place);
    float *out = px_list_room(usd->context, &g->content.positions, 3 * count, sizeof *out);
    if (!out)
        return PELT_ERROR_MEMORY;
    g->content.positions.count = 3 * count;
    for (size_t i = 0; i < count; i++) {
        float p[3] = {(float)numbers[3 * i], (float)numbers[3 * i + 1], (float)numbers[3 * i + 2]};
        px_affine_point(&place, p, out + 3 * i);
        if (!isfinite(out[3 * i]) || !isfinite(out[3 * i + 1]) || !isfinite(out[3 * i + 2]))
            return px_fail(usd->context, PELT_ERROR_INPUT, "point %zu of '%.*s' is not finite", i,
                           (int)px_min_size(g->prim->name.size, 100), g->prim->name.data);
    }
    px_usd_moving m = {samples ? samples->value : (px_text){0}, all->merge.point_count, (uint32_t)count, g->place};
    if (!g->skeleton)
        px_buffer_add(&all->moving, &m, sizeof m);
    return PELT_OK;
}

static pelt_result copy_values(px_usd *usd, const px_usd_primvar *v, size_t width, px_list *out) {
    float *room = px_list_room(usd->context, out, width * v->value_count, sizeof *room);
    if (!room)
        return PELT_ERROR_MEMORY;
    if (v->value_count)
        memcpy(room, v->values, width * v->value_count * sizeof *room);
    out->count = width * v->value_count;
    return PELT_OK;
}

static pelt_result read_attributes(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    size_t point_count = g->content.positions.count / 3;
    char indices[256];
    const px_usd_property *uvs = px_usd_find_uvs(g->prim, indices, sizeof indices);
    PX_TRY(px_usd_read_primvar(usd, g->prim, uvs, indices, 2, PX_USD_CONSTANT, &g->uvs));
    PX_TRY(copy_values(usd, &g->uvs, 2, &g->content.uvs));
    g->content.uvs_by_point =
        g->uvs.mapping == PX_USD_BY_POINT && !g->uvs.indices && g->uvs.value_count == point_count && point_count > 0;
    const px_usd_property *normals = px_usd_find(g->prim, "primvars:normals", PX_USD_VALUE);
    px_usd_mapping fallback = normals ? PX_USD_CONSTANT : PX_USD_BY_POINT;
    if (!normals)
        normals = px_usd_find(g->prim, "normals", PX_USD_VALUE);
    PX_TRY(px_usd_read_primvar(usd, g->prim, normals, "primvars:normals:indices", 3, fallback, &g->normals));
    for (size_t n = 0; n < g->normals.value_count; n++) {
        float *normal = g->normals.values + 3 * n, turned[3] = {0};
        px_scene_matrix inverse; /* normals turn by the inverse transpose */
        if (px_usd_matrix_inverse(&g->place, &inverse))
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++)
                    turned[r] += (float)(inverse.m[4 * c + r] * normal[c]);
        memcpy(normal, turned, sizeof turned);
        px_unit_normal(normal);
    }
    if (g->normals.value_count == 0 &&
        all->merge.normals_used) { /* computed from the faces: other meshes have normals */
        g->normals = (px_usd_primvar){.mapping = PX_USD_BY_POINT, .value_count = point_count};
        if (!(g->normals.values = PX_NEW(usd->arena, float, 3 * point_count)))
            return PELT_ERROR_MEMORY;
    }
    g->content.normals_by_point = g->normals.mapping == PX_USD_BY_POINT && !g->normals.indices &&
                                  g->normals.value_count == point_count && point_count > 0;
    PX_TRY(copy_values(usd, &g->normals, 3, &g->content.normals));
    return px_usd_read_layers(usd, g->prim, &g->content, g->further);
}

/* GeomSubsets of faces, and the mesh itself for faces that belong to none; a face of several belongs to the first. */
static pelt_result read_subsets(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    uint32_t most = 1;
    for (const px_usd_prim *child = g->prim->first; child; child = child->next)
        most += px_usd_is(child, "GeomSubset");
    g->part_prims = PX_NEW(usd->arena, const px_usd_prim *, most);
    g->part_sizes = PX_NEW(usd->arena, uint32_t, most);
    g->part_of = PX_NEW(usd->arena, uint32_t, g->polygon_count);
    if (!g->part_prims || !g->part_sizes || !g->part_of)
        return PELT_ERROR_MEMORY;
    for (uint32_t f = 0; f < g->polygon_count; f++)
        g->part_of[f] = PELT_NONE;
    for (const px_usd_prim *child = g->prim->first; child; child = child->next) {
        px_text element = px_usd_first_text(px_usd_value(child, "elementType"));
        uint32_t *faces, count;
        if (!px_usd_is(child, "GeomSubset") || (element.data && !px_text_is(element, "face")))
            continue;
        PX_TRY(read_indices(usd, child, "indices", g->polygon_count, &faces, &count));
        for (uint32_t n = 0; n < count; n++)
            if (g->part_of[faces[n]] == PELT_NONE) {
                g->part_of[faces[n]] = g->part_count;
                g->part_sizes[g->part_count]++;
            }
        g->part_prims[g->part_count++] = child;
    }
    g->part_prims[g->part_count] = g->prim;
    for (uint32_t f = 0; f < g->polygon_count; f++)
        if (g->part_of[f] == PELT_NONE) {
            g->part_of[f] = g->part_count;
            g->part_sizes[g->part_count]++;
        }
    g->part_count += g->part_count == 0 || g->part_sizes[g->part_count] > 0;
    return PELT_OK;
}

/* Polygons sorted by part, in the order of the file. Those of fewer than 3 corners are left out. */
static pelt_result read_corners(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    uint32_t *order = PX_NEW(usd->arena, uint32_t, g->polygon_count),
             *next = PX_NEW(usd->arena, uint32_t, (size_t)g->part_count + 1);
    px_corner *corners = px_list_room(usd->context, &g->content.corners, g->corner_count, sizeof *corners);
    uint32_t *sizes = px_list_room(usd->context, &g->content.polygons, g->polygon_count, sizeof *sizes), used = 0;
    if (!order || !next || !corners || !sizes)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < g->part_count; p++)
        next[p + 1] = next[p] + g->part_sizes[p];
    for (uint32_t f = 0; f < g->polygon_count; f++)
        order[next[g->part_of[f]]++] = f;
    for (uint32_t n = 0; n < g->polygon_count; n++) {
        uint32_t f = order[n], count = g->counts[f];
        if (count < 3) {
            g->part_sizes[g->part_of[f]]--;
            continue;
        }
        for (uint32_t c = 0; c < count; c++) {
            uint32_t corner = g->firsts[f] + (g->left_handed ? count - 1 - c : c), point = g->points[corner];
            corners[used] = (px_corner){.point = point + 1,
                                        .uv = px_usd_primvar_at(&g->uvs, corner, point, f),
                                        .normal = px_usd_primvar_at(&g->normals, corner, point, f)};
            for (uint32_t l = 0; l < g->content.layers.layer_count; l++)
                PX_TRY(px_polygons_combine(usd->context, &g->content,
                                           px_usd_primvar_at(&g->further[l], corner, point, f),
                                           &corners[used].combination));
            used++;
        }
        sizes[g->content.polygons.count++] = count;
    }
    g->content.corners.count = used;
    return PELT_OK;
}

static pelt_result read_polygons(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    PX_TRY(read_points(all, g));
    PX_TRY(read_attributes(all, g));
    PX_TRY(read_indices(usd, g->prim, "faceVertexCounts", 4e9, &g->counts, &g->polygon_count));
    PX_TRY(read_indices(usd, g->prim, "faceVertexIndices", (double)(g->content.positions.count / 3), &g->points,
                        &g->corner_count));
    uint64_t corner_count = 0;
    if (!(g->firsts = PX_NEW(usd->arena, uint32_t, g->polygon_count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t f = 0; f < g->polygon_count; f++) {
        g->firsts[f] = (uint32_t)corner_count;
        corner_count += g->counts[f];
        if (corner_count > g->corner_count)
            break;
    }
    if (corner_count != g->corner_count)
        return px_fail(usd->context, PELT_ERROR_INPUT, "faces of '%.*s' have %s corners than its %u indices",
                       (int)px_min_size(g->prim->name.size, 100), g->prim->name.data,
                       corner_count > g->corner_count ? "more" : "fewer", g->corner_count);
    PX_TRY(read_subsets(all, g));
    return read_corners(all, g);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------ */

/* The material that a subset or its mesh is bound to. */
static const px_usd_prim *find_material(const px_usd *usd, const px_usd_prim *prim) {
    for (; prim; prim = prim->parent) {
        const px_usd_prim *found = px_usd_target(usd, prim, "material:binding", PX_USD_VALUE);
        if (found && px_usd_is(found, "Material"))
            return found;
    }
    return NULL;
}

/* Vertices of parts that are ranges, one behind the other, as those of glTF files. */
static void find_ranges(const pelt_mesh *mesh, pelt_part *parts, uint32_t count, uint32_t first_triangle,
                        uint32_t first_vertex) {
    uint32_t end = 0;
    bool ranges = true;
    for (uint32_t p = 0; p < count && ranges; p++) {
        size_t c = (size_t)3 * (parts[p].first_triangle - first_triangle),
               last = c + (size_t)3 * parts[p].triangle_count;
        uint32_t low = PELT_NONE, high = 0;
        for (; c < last; c++) {
            low = mesh->triangles[c] < low ? mesh->triangles[c] : low;
            high = mesh->triangles[c] > high ? mesh->triangles[c] : high;
        }
        ranges = parts[p].triangle_count > 0 && (p == 0 || low >= end);
        parts[p].first_vertex = p == 0 ? 0 : low;
        end = high + 1;
    }
    for (uint32_t p = 0; p < count; p++) {
        uint32_t next = p + 1 < count ? parts[p + 1].first_vertex : mesh->vertex_count;
        parts[p].vertex_count = ranges ? next - parts[p].first_vertex : 0;
    }
    for (uint32_t p = 0; p < count; p++)
        parts[p].first_vertex = ranges ? parts[p].first_vertex + first_vertex : 0;
}

static pelt_result add_parts(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    const pelt_mesh *mesh = &g->built->mesh;
    uint32_t triangle = 0, polygon = 0, used = 0;
    pelt_part *parts = PX_NEW(usd->arena, pelt_part, g->part_count);
    if (!parts)
        return PELT_ERROR_MEMORY;
    for (uint32_t p = 0; p < g->part_count; p++) {
        const px_usd_prim *material = find_material(usd, g->part_prims[p]);
        pelt_part part = {.name = px_usd_prim_name(usd, g->prim),
                          .material = material ? px_usd_prim_name(usd, material) : NULL,
                          .first_triangle = all->merge.triangle_count + triangle,
                          .joint = g->joint,
                          .skinned = g->skeleton && !g->rigid};
        if (!part.name || (material && !part.material))
            return PELT_ERROR_MEMORY;
        polygon += g->part_sizes[p];
        while (triangle < mesh->triangle_count &&
               (mesh->triangle_polygons ? mesh->triangle_polygons[triangle] : triangle) < polygon)
            triangle++;
        part.triangle_count = all->merge.triangle_count + triangle - part.first_triangle;
        parts[used++] = part;
    }
    if (used == 1) {
        parts[0].first_vertex = all->merge.vertex_count;
        parts[0].vertex_count = mesh->vertex_count;
    } else {
        find_ranges(mesh, parts, used, all->merge.triangle_count, all->merge.vertex_count);
    }
    px_buffer_add(&all->merge.parts, parts, used * sizeof *parts);
    return PELT_OK;
}

/* ---- Skin ------------------------------------------------------------------------------------------------------- */

/* Joints of the skeleton [count] that the weights of a mesh refer to: its own list, else all. */
static pelt_result read_mesh_joints(px_usd *usd, const geometry *g, uint32_t **out, uint32_t *count) {
    px_text *names;
    PX_TRY(px_usd_texts(usd, px_usd_value(g->prim, "skel:joints"), &names, count));
    bool own = *count > 0;
    *count = own ? *count : g->skeleton->joint_count;
    if (!(*out = PX_NEW(usd->arena, uint32_t, *count)))
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < *count; n++)
        (*out)[n] = own ? px_usd_joint(g->skeleton, names[n]) : n;
    return PELT_OK;
}

/* Bones of the joints of a mesh [count], made when they are used. */
static pelt_result bone_of(px_usd_gathered *all, const geometry *g, uint32_t joint, uint32_t *bones, uint16_t *out) {
    if (bones[joint] == 0) {
        px_scene_matrix bind = px_scene_matrix_mul(&g->skeleton->inverses[joint], &g->place);
        pelt_affine inverse_bind = px_usd_affine(&bind);
        for (int e = 0; e < 12; e++)
            if (!isfinite(inverse_bind.m[e]))
                return px_fail(all->usd->context, PELT_ERROR_INPUT, "a bind matrix is not finite");
        PX_TRY(px_merge_bone(&all->merge, g->skeleton->model_joints[joint], &inverse_bind, out));
        bones[joint] = (uint32_t)*out + 1;
    }
    *out = (uint16_t)(bones[joint] - 1);
    return PELT_OK;
}

/* Weights of all points; those of a mesh with constant weights are the same for all. */
static pelt_result read_influences(px_usd_gathered *all, geometry *g, px_buffer *influences) {
    px_usd *usd = all->usd;
    const px_usd_property *indices = px_usd_find(g->prim, "primvars:skel:jointIndices", PX_USD_VALUE),
                          *weights = px_usd_find(g->prim, "primvars:skel:jointWeights", PX_USD_VALUE);
    const double *numbers;
    size_t count, weight_count, point_count = g->content.positions.count / 3;
    double size = px_usd_number(px_usd_metadata(indices->metadata, "elementSize"), 1);
    bool constant = px_usd_read_mapping(indices, PX_USD_BY_POINT) == PX_USD_CONSTANT;
    uint32_t joint_count, *joints, *bones = PX_NEW(usd->arena, uint32_t, g->skeleton->joint_count);
    PX_TRY(read_mesh_joints(usd, g, &joints, &joint_count));
    PX_TRY(px_usd_numbers(usd, indices->value, &numbers, &count));
    double *kept = PX_NEW(usd->arena, double, count);
    if (!kept || !bones)
        return PELT_ERROR_MEMORY;
    if (count)
        memcpy(kept, numbers, count * sizeof *kept);
    PX_TRY(px_usd_numbers(usd, weights->value, &numbers, &weight_count));
    size_t width = constant ? count : size >= 1 && size <= (double)count ? (size_t)size : 1;
    if (weight_count != count || (!constant && count != width * point_count))
        return px_fail(usd->context, PELT_ERROR_INPUT,
                       "'%.*s' has %zu joint indices and %zu weights; %zu points with %zu each need %zu",
                       (int)px_min_size(g->prim->name.size, 100), g->prim->name.data, count, weight_count, point_count,
                       width, constant ? width : width * point_count);
    for (size_t i = 0; i < (constant ? width * point_count : count); i++) {
        size_t at = constant ? i % width : i;
        px_influence row = {.point = (uint32_t)(i / width), .weight = numbers[at]};
        uint32_t joint = kept[at] >= 0 && kept[at] < joint_count ? joints[(size_t)kept[at]] : PELT_NONE;
        bool good = joint != PELT_NONE && g->skeleton->model_joints[joint] != PELT_NONE;
        if (!(row.weight > 0) || !isfinite(row.weight))
            continue;
        all->odd_count += !good;
        if (!good)
            continue;
        PX_TRY(bone_of(all, g, joint, bones, &row.bone));
        px_buffer_add(influences, &row, sizeof row);
        if (influences->failed)
            return PELT_ERROR_MEMORY;
    }
    if (g->rigid && influences->size) /* it belongs to the joint that it follows */
        for (uint32_t j = 0; j < g->skeleton->joint_count; j++)
            g->joint = bones[j] ? g->skeleton->model_joints[j] : g->joint;
    return PELT_OK;
}

/* The joint of a mesh without weights, or with morph targets: the one that its file was written from, else a new one. */
static pelt_result find_mesh_joint(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    uint32_t known = usd->skeleton_count ? usd->skeletons[0].joint_count : 0;
    double given = px_usd_number(px_usd_value(g->prim, "pelt:joint"), -1);
    g->joint = PELT_NONE;
    if (given >= 0 && given < known)
        g->joint = usd->skeletons[0].model_joints[(size_t)given];
    if (g->joint == PELT_NONE && all->rigged &&
        (!g->skeleton || px_usd_find(g->prim, "skel:blendShapes", PX_USD_VALUE)))
        PX_TRY(px_usd_add_joint(usd->read->model, px_usd_prim_name(usd, g->prim), PELT_NONE, &px_scene_matrix_identity,
                                &g->joint));
    return PELT_OK;
}

/* ---- Blend shapes ----------------------------------------------------------------------------------------------- */

static pelt_result add_shape(px_usd_gathered *all, const geometry *g, const px_usd_prim *prim, px_text channel) {
    px_usd *usd = all->usd;
    pelt_affine place = px_usd_affine(&g->place);
    const double *numbers;
    size_t count, normal_count, point_count = g->content.positions.count / 3;
    uint32_t *points, index_count;
    bool sparse = px_usd_value(prim, "pointIndices").data != NULL;
    double given_joint = px_usd_number(px_usd_value(prim, "pelt:joint"), -1),
           given_index = px_usd_number(px_usd_value(prim, "pelt:index"), -1);
    uint32_t joint = g->joint;
    PX_TRY(read_indices(usd, prim, "pointIndices", (double)point_count, &points, &index_count));
    PX_TRY(px_usd_numbers(usd, px_usd_value(prim, "offsets"), &numbers, &count));
    count = px_min_size(count / 3, sparse ? index_count : point_count);
    if (usd->skeleton_count && given_joint >= 0 && given_joint < usd->skeletons[0].joint_count)
        joint = usd->skeletons[0].model_joints[(size_t)given_joint];
    if (joint == PELT_NONE)
        return PELT_OK;
    int32_t *rows = PX_NEW(usd->arena, int32_t, count);
    if (!rows)
        return PELT_ERROR_MEMORY;
    for (size_t n = 0; n < count; n++)
        rows[n] = (int32_t)(sparse ? points[n] : n);
    for (size_t n = 0; n < 3 * count; n++)
        if (!isfinite((float)numbers[n]))
            return px_fail(usd->context, PELT_ERROR_INPUT, "an offset of the blend shape '%.*s' is not finite",
                           (int)px_min_size(prim->name.size, 100), prim->name.data);
    px_usd_shape shape = {.channel = channel};
    shape.morph =
        (pelt_morph){.name = px_usd_prim_name(usd, prim),
                     .joint = joint,
                     .first_vertex = all->merge.vertex_count,
                     .vertex_count = g->built->mesh.vertex_count,
                     .weight = (float)px_usd_number(px_usd_value(prim, "pelt:weight"), 0),
                     .positions = px_merge_spread(&all->merge, &g->built->mesh, &place, rows, numbers, count)};
    if (!shape.morph.name || !shape.morph.positions)
        return PELT_ERROR_MEMORY;
    shape.morph.index =
        given_index >= 0 && given_index < all->shape_limit ? (uint32_t)given_index : all->shape_counts[joint];
    all->shape_counts[joint]++;
    PX_TRY(px_usd_numbers(usd, px_usd_value(prim, "normalOffsets"), &numbers, &normal_count));
    for (size_t n = 0; n < normal_count; n++)
        normal_count = isfinite((float)numbers[n]) ? normal_count : 0;
    if (all->merge.normals_used && normal_count && normal_count >= 3 * count &&
        !(shape.morph.normals = px_merge_spread(&all->merge, &g->built->mesh, &place, rows, numbers, count)))
        return PELT_ERROR_MEMORY;
    for (const px_usd_property *p = prim->properties; p; p = p->next)
        all->between_count += p->name.size > 11 && memcmp(p->name.data, "inbetweens:", 11) == 0;
    px_buffer_add(&all->shapes, &shape, sizeof shape);
    return PELT_OK;
}

static pelt_result read_shapes(px_usd_gathered *all, const geometry *g) {
    px_usd *usd = all->usd;
    px_text *channels, *targets;
    uint32_t channel_count, target_count;
    PX_TRY(px_usd_texts(usd, px_usd_value(g->prim, "skel:blendShapes"), &channels, &channel_count));
    PX_TRY(px_usd_texts(usd, px_usd_value(g->prim, "skel:blendShapeTargets"), &targets, &target_count));
    for (uint32_t n = 0; n < channel_count && n < target_count; n++) {
        const px_usd_prim *prim = px_usd_at(usd, targets[n]);
        if (prim && px_usd_is(prim, "BlendShape"))
            PX_TRY(add_shape(all, g, prim, channels[n]));
    }
    return PELT_OK;
}

/* ---- Geometries ------------------------------------------------------------------------------------------------- */

static pelt_result build_geometry(px_usd_gathered *all, geometry *g) {
    px_usd *usd = all->usd;
    bool moves = false, found;
    double matrix[16];
    if (px_usd_find(g->prim, "primvars:skel:jointIndices", PX_USD_VALUE) &&
        px_usd_find(g->prim, "primvars:skel:jointWeights", PX_USD_VALUE))
        g->skeleton = px_usd_find_skeleton(usd, g->prim);
    PX_TRY(px_usd_place(usd, g->prim, &moves, &g->place));
    if (g->skeleton) { /* points go to the space of the skeleton by a matrix of their own; in the bones, so that they stay as they are */
        g->place = px_scene_matrix_identity;
        PX_TRY(px_usd_tuple_of(usd, px_usd_value(g->prim, "primvars:skel:geomBindTransform"), matrix, 16, &found));
        g->rigid = px_usd_number(px_usd_value(g->prim, "pelt:rigid"), 0) != 0;
    }
    all->moves_count += moves && !g->skeleton;
    px_text hand = px_usd_first_text(px_usd_value(g->prim, "orientation"));
    g->left_handed = px_text_is(hand, "leftHanded");
    PX_TRY(find_mesh_joint(all, g));
    PX_TRY(read_polygons(all, g));
    if (g->content.positions.count == 0)
        return PELT_OK;
    PX_TRY(px_polygons_build(usd->context, g->built, &g->content, &g->vertices));
    PX_TRY(px_polygons_layers(usd->arena, &g->content, &g->vertices, &g->layers));
    const pelt_mesh *mesh = &g->built->mesh;
    px_buffer influences = {.context = usd->context};
    pelt_result result = px_merge_vertices(&all->merge, mesh);
    if (result == PELT_OK)
        result = px_merge_layers(&all->merge, mesh, &g->layers);
    if (result == PELT_OK && g->skeleton) {
        px_scene_matrix own = g->place;
        if (found)
            px_usd_matrices(matrix, &g->place, 1);
        result = read_influences(all, g, &influences);
        g->place = own;
    }
    if (result == PELT_OK && all->rigged) {
        uint32_t joint = g->joint;
        if (joint == PELT_NONE) /* weighted, and points without weights follow the first joint */
            joint = g->skeleton->model_joints[g->skeleton->model_joints[0] == PELT_NONE];
        pelt_affine still = px_affine_identity();
        result = px_merge_skin(&all->merge, usd->arena, mesh, &influences, joint, &still);
    }
    px_buffer_free(&influences);
    if (result == PELT_OK)
        result = add_parts(all, g);
    if (result == PELT_OK)
        result = read_shapes(all, g);
    px_merge_next(&all->merge, mesh);
    return result;
}

pelt_result px_usd_read_mesh(px_usd_gathered *all, const px_usd_prim *prim) {
    geometry g = {.prim = prim};
    pelt_result result = pelt_model_create(all->usd->context, &g.built);
    if (result == PELT_OK)
        result = build_geometry(all, &g);
    pelt_model_destroy(g.built);
    px_polygons_free(all->usd->context, &g.content);
    px_free(all->usd->context, g.vertices.data);
    return result;
}
