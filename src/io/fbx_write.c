/* FBX writer: binary files of version 7.4, in centimetres and y up.
 *
 * Joints become nodes: limbs, or nulls where no skin reaches them. Consecutive parts with the same name and joint become one mesh with several
 * materials. A mesh that follows a joint rigidly belongs to a node below that joint; a skinned one to a node of the scene without a
 * transform, so that the matrix Transform of a cluster is the inverse bind matrix; their own joint serves where it can. Morph targets become blend shape channels. Motions become stacks;
 * joints are sampled at their keys and between, as Euler angles about x, then y, then z.
 */
#include "io/fbx_emit.h"

#include "core/libm.h"
#include "core/math3.h"
#include "core/rotation.h"
#include "io/fbx.h"

#include <stdio.h>

#define CENTIMETRES 100.0
#define TICKS       46186158000.0 /* a second */
#define MAX_TURN    3.0           /* degrees between two samples */
#define MAX_STEPS   64u           /* between two keys */
#define MIN_RATE    30.0          /* samples a second of cubic pieces */
#define KEY_FLAGS   24836         /* linear, as other programs write it */

/* ---- Plan ------------------------------------------------------------------------------------------------------ */

/* Sorts of objects. */
typedef enum sort { MODEL, ATTRIBUTE, GEOMETRY, MATERIAL, DEFORMER, POSE, ANIMATION, SORTS } sort;

/* A mesh of the file: parts [first, end). */
typedef struct mesh_group {
    uint32_t first, end;
    bool skinned;
    bool own_node;      /* the joint of its parts is its node; else it gets one */
    uint32_t *vertices; /* [point_count] a vertex of each of its points */
    uint32_t point_count;
} mesh_group;

typedef struct writer {
    const px_write *write;
    const pelt_model *model;
    px_arena *arena;
    px_fbx_out out;
    px_buffer links; /* connection */
    mesh_group *groups;
    uint32_t group_count;
    uint32_t *local_points; /* [point of the model] its number in the group that is written + 1, or 0 */
    pelt_affine *globals;   /* [joint] rest pose */
    bool *limbs;            /* [joint] a bone of a skinned mesh, or above one */
    bool *nodes;            /* [joint] the node of a mesh */
    const char **names;     /* [joint] unique */
    const char **materials; /* [material_count] */
    uint32_t material_count;
    int64_t last_id;
    uint32_t counts[SORTS]; /* objects of each sort */
} writer;

typedef struct connection {
    int64_t child, parent;
    const char *property; /* NULL: none */
} connection;

/* Ids: joints, their attributes and materials have numbers that follow from their index; others are counted. */
#define JOINT_ID(j)    (INT64_C(1000000000) + (j))
#define MATERIAL_ID(m) (INT64_C(2000000000) + (m))
#define FIRST_ID       INT64_C(3000000000)
/* Morphs are referred to by motions. */
#define CHANNEL_ID(w, g, m) (INT64_C(8000000000) + (int64_t)(g) * (w)->model->morphs.morph_count + (m))

/* A name, which may be missing. */
static const char *text_or(const char *text) {
    return text && *text ? text : "unnamed";
}

/* Points of a group, in the order of the model: those that its triangles, or its own range of vertices, use. */
static pelt_result plan_points(writer *w, mesh_group *g) {
    const pelt_mesh *mesh = &w->model->mesh;
    uint32_t *list = PX_NEW(w->arena, uint32_t, mesh->points.count);
    if (!list)
        return PELT_ERROR_MEMORY;
    memset(w->local_points, 0, (size_t)mesh->points.count * sizeof *w->local_points);
    for (uint32_t p = g->first; p < g->end; p++) {
        const pelt_part *part = &mesh->parts[p];
        size_t first = (size_t)3 * part->first_triangle, end = first + (size_t)3 * part->triangle_count;
        for (uint32_t i = 0; i < part->vertex_count; i++)
            w->local_points[pelt_vertex_class(&mesh->points, part->first_vertex + i)] = 1;
        for (size_t c = first; c < end; c++)
            w->local_points[pelt_vertex_class(&mesh->points, mesh->triangles[c])] = 1;
    }
    for (uint32_t point = 0; point < mesh->points.count; point++)
        if (w->local_points[point]) {
            list[g->point_count++] = pelt_class_vertex(&mesh->points, point);
            w->local_points[point] = g->point_count;
        }
    g->vertices = list;
    return PELT_OK;
}

static bool same_group(const pelt_part *a, const pelt_part *b) {
    return strcmp(a->name, b->name) == 0 && a->joint == b->joint && a->skinned == b->skinned;
}

/* Joints of the bones of a skinned mesh, and those above them. */
static void plan_limbs(writer *w, const mesh_group *g) {
    const pelt_mesh *mesh = &w->model->mesh;
    const pelt_skin *skin = &w->model->skin;
    const pelt_part *last = &mesh->parts[g->end - 1];
    size_t first = (size_t)3 * mesh->parts[g->first].first_triangle,
           end = (size_t)3 * (last->first_triangle + last->triangle_count);
    for (size_t c = first; c < end; c++)
        for (uint32_t k = 0; k < skin->influence_count; k++) {
            size_t at = (size_t)mesh->triangles[c] * skin->influence_count + k;
            uint32_t j = skin->weights[at] > 0 ? skin->bone_joints[skin->bones[at]] : PELT_NONE;
            for (; j != PELT_NONE && !w->limbs[j]; j = w->model->skeleton.parents[j])
                w->limbs[j] = true;
        }
}

/* A rigid mesh follows the bone of its vertices: the transform from its space to the joint. */
static pelt_transform rigid_place(const writer *w, const mesh_group *g) {
    pelt_transform place = px_transform_identity();
    const pelt_part *part = &w->model->mesh.parts[g->first];
    if (w->model->skin.bone_count && !g->skinned && part->triangle_count) {
        uint32_t vertex = w->model->mesh.triangles[(size_t)3 * part->first_triangle];
        uint32_t bone = w->model->skin.bones[(size_t)vertex * w->model->skin.influence_count];
        px_transform_from_affine(&w->model->skin.inverse_binds[bone], &place);
    }
    return place;
}

/* Readers find joints by name: those without one, or with that of an earlier joint, get their number behind it. */
static pelt_result plan_names(writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const char *name = text_or(skeleton->names[j]);
        w->names[j] = name;
        if (*skeleton->names[j] && px_joint_named(skeleton, name, strlen(name), 0) == j)
            continue;
        size_t size = strlen(name) + 12;
        char *text = px_arena_alloc(w->arena, size, 1);
        if (!text)
            return PELT_ERROR_MEMORY;
        snprintf(text, size, "%s_%u", name, j);
        w->names[j] = text;
    }
    return PELT_OK;
}

/* The joint that parts follow is the node of their mesh where nothing else needs it: it is no bone and no other mesh has it. A skinned mesh
 * needs a node of the scene that stays without a transform. */
static void plan_node(writer *w, mesh_group *g) {
    uint32_t joint = w->model->mesh.parts[g->first].joint;
    if (joint == PELT_NONE || w->limbs[joint] || w->nodes[joint])
        return;
    static const pelt_transform still = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    bool free = w->model->skeleton.parents[joint] == PELT_NONE &&
                memcmp(&w->model->skeleton.rest[joint], &still, sizeof still) == 0;
    for (uint32_t m = 0; m < w->model->motion_count; m++)
        for (uint32_t t = 0; t < w->model->motions[m].track_count; t++)
            free &= w->model->motions[m].tracks[t].joint != joint ||
                    w->model->motions[m].tracks[t].path == PELT_PATH_WEIGHTS;
    pelt_transform place = rigid_place(w, g);
    g->own_node = w->nodes[joint] = g->skinned ? free : memcmp(&place, &still, sizeof still) == 0;
}

static pelt_result plan(writer *w) {
    const pelt_mesh *mesh = &w->model->mesh;
    const pelt_skeleton *skeleton = &w->model->skeleton;
    w->groups = PX_NEW(w->arena, mesh_group, mesh->part_count);
    w->local_points = PX_NEW(w->arena, uint32_t, mesh->points.count);
    w->globals = PX_NEW(w->arena, pelt_affine, skeleton->joint_count);
    w->limbs = PX_NEW(w->arena, bool, skeleton->joint_count);
    w->nodes = PX_NEW(w->arena, bool, skeleton->joint_count);
    w->names = PX_NEW(w->arena, const char *, skeleton->joint_count);
    w->materials = PX_NEW(w->arena, const char *, mesh->part_count);
    if (!w->groups || !w->local_points || !w->globals || !w->limbs || !w->nodes || !w->names || !w->materials)
        return PELT_ERROR_MEMORY;
    PX_TRY(plan_names(w));
    pelt_skeleton_globals(skeleton, skeleton->rest, w->globals);
    bool skin = w->model->skin.bone_count > 0;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (w->group_count == 0 || !same_group(part, &mesh->parts[p - 1])) {
            /* Without a joint of its own a part moves with the skin. */
            w->groups[w->group_count++] =
                (mesh_group){.first = p, .skinned = skin && (part->skinned || part->joint == PELT_NONE)};
        }
        w->groups[w->group_count - 1].end = p + 1;
        uint32_t m = 0;
        while (part->material && m < w->material_count && strcmp(w->materials[m], part->material) != 0)
            m++;
        if (part->material && m == w->material_count)
            w->materials[w->material_count++] = part->material;
    }
    for (uint32_t g = 0; g < w->group_count; g++)
        if (w->groups[g].skinned)
            plan_limbs(w, &w->groups[g]);
    for (uint32_t g = 0; g < w->group_count; g++)
        plan_node(w, &w->groups[g]);
    return PELT_OK;
}

/* ---- Parts of records ------------------------------------------------------------------------------------------ */

static void begin_object(writer *w, sort which, const char *record, int64_t id, const char *name, const char *type,
                         const char *kind) {
    w->counts[which]++;
    px_fbx_begin(&w->out, record);
    px_fbx_i64(&w->out, id);
    px_fbx_object_name(&w->out, text_or(name), type);
    px_fbx_text(&w->out, kind);
}

static void link(writer *w, int64_t child, int64_t parent, const char *property) {
    connection c = {child, parent, property};
    px_buffer_add(&w->links, &c, sizeof c);
}

static void begin_property(px_fbx_out *out, const char *name, const char *type, const char *label, const char *flags) {
    px_fbx_begin(out, "P");
    px_fbx_text(out, name);
    px_fbx_text(out, type);
    px_fbx_text(out, label);
    px_fbx_text(out, flags);
}

static void property_i32(px_fbx_out *out, const char *name, const char *type, const char *label, int32_t value) {
    begin_property(out, name, type, label, "");
    px_fbx_i32(out, value);
    px_fbx_end(out);
}

static void property_vector(px_fbx_out *out, const char *name, const double v[3]) {
    begin_property(out, name, name, "", "A");
    for (int c = 0; c < 3; c++)
        px_fbx_f64(out, v[c]);
    px_fbx_end(out);
}

static void property_number(px_fbx_out *out, const char *name, const char *type, const char *label, const char *flags,
                            double value) {
    begin_property(out, name, type, label, flags);
    px_fbx_f64(out, value);
    px_fbx_end(out);
}

/* A matrix as files store it: transposed, translations in centimetres. */
static void matrix_record(px_fbx_out *out, const char *name, const pelt_affine *a) {
    double m[16] = {0};
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 4; column++)
            m[4 * column + row] = a->m[4 * row + column] * (column == 3 ? CENTIMETRES : 1);
    m[15] = 1;
    px_fbx_record_array(out, name, 'd', m, 16);
}

/* Euler angles in degrees, R = Rz · Ry · Rx; of the two solutions and all turns the one nearest to `angles`, which holds the angles before. */
static void euler_angles(const float rotation[4], double angles[3]) {
    pelt_transform turn = px_transform_identity();
    memcpy(turn.rotation, rotation, sizeof turn.rotation);
    pelt_affine a = px_affine_from_transform(&turn);
    double sine = -(double)a.m[8], found[2][3];
    sine = sine > 1 ? 1 : sine < -1 ? -1 : sine;
    if (fabs(sine) > 1 - 1e-7) { /* x and z turn about one axis */
        found[0][0] = 0;
        found[0][1] = sine > 0 ? 90 : -90;
        found[0][2] = px_atan2(-(double)a.m[1], (double)a.m[5]) / PX_DEGREE;
        memcpy(found[1], found[0], sizeof found[0]);
    } else {
        found[0][0] = px_atan2((double)a.m[9], (double)a.m[10]) / PX_DEGREE;
        found[0][1] = px_asin(sine) / PX_DEGREE;
        found[0][2] = px_atan2((double)a.m[4], (double)a.m[0]) / PX_DEGREE;
        found[1][0] = found[0][0] + 180;
        found[1][1] = 180 - found[0][1];
        found[1][2] = found[0][2] + 180;
    }
    double distance[2] = {0};
    for (int s = 0; s < 2; s++)
        for (int c = 0; c < 3; c++) {
            found[s][c] -= 360 * floor((found[s][c] - angles[c]) / 360 + 0.5);
            distance[s] += fabs(found[s][c] - angles[c]);
        }
    memcpy(angles, found[distance[1] < distance[0]], sizeof found[0]);
}

static void write_transform(px_fbx_out *out, const pelt_transform *t) {
    double translation[3], angles[3] = {0}, scale[3];
    for (int c = 0; c < 3; c++) {
        translation[c] = t->translation[c] * CENTIMETRES;
        scale[c] = t->scale[c];
    }
    euler_angles(t->rotation, angles);
    property_i32(out, "RotationActive", "bool", "", 1);
    property_i32(out, "InheritType", "enum", "", 1);
    property_vector(out, "Lcl Translation", translation);
    property_vector(out, "Lcl Rotation", angles);
    property_vector(out, "Lcl Scaling", scale);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

static void write_model(writer *w, int64_t id, const char *name, const char *kind, const pelt_transform *local,
                        int64_t parent) {
    begin_object(w, MODEL, "Model", id, name, "Model", kind);
    px_fbx_record_i32(&w->out, "Version", 232);
    px_fbx_begin(&w->out, "Properties70");
    write_transform(&w->out, local);
    property_i32(&w->out, "DefaultAttributeIndex", "int", "Integer", 0);
    px_fbx_end(&w->out);
    px_fbx_end(&w->out);
    link(w, id, parent, NULL);
}

static void write_joints(writer *w) {
    const pelt_skeleton *skeleton = &w->model->skeleton;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t parent = skeleton->parents[j];
        write_model(w, JOINT_ID(j), w->names[j],
                    w->limbs[j]   ? "LimbNode"
                    : w->nodes[j] ? "Mesh"
                                  : "Null",
                    &skeleton->rest[j], parent == PELT_NONE ? 0 : JOINT_ID(parent));
        if (!w->limbs[j])
            continue;
        int64_t id = ++w->last_id;
        begin_object(w, ATTRIBUTE, "NodeAttribute", id, w->names[j], "NodeAttribute", "LimbNode");
        px_fbx_record_text(&w->out, "TypeFlags", "Skeleton");
        px_fbx_end(&w->out);
        link(w, id, JOINT_ID(j), NULL);
    }
}

static void write_materials(writer *w) {
    static const double grey[3] = {0.8, 0.8, 0.8};
    for (uint32_t m = 0; m < w->material_count; m++) {
        begin_object(w, MATERIAL, "Material", MATERIAL_ID(m), w->materials[m], "Material", "");
        px_fbx_record_i32(&w->out, "Version", 102);
        px_fbx_record_text(&w->out, "ShadingModel", "lambert");
        px_fbx_begin(&w->out, "Properties70");
        begin_property(&w->out, "DiffuseColor", "Color", "", "A");
        for (int c = 0; c < 3; c++)
            px_fbx_f64(&w->out, grey[c]);
        px_fbx_end(&w->out);
        px_fbx_end(&w->out);
        px_fbx_end(&w->out);
    }
}

/* ---- Geometry --------------------------------------------------------------------------------------------------- */

/* Arrays of a geometry, in the order of its corners. */
typedef struct corners {
    px_buffer indices, normals, uvs, uv_indices, materials;
} corners;

static void add_corner(const writer *w, corners *c, uint32_t vertex, bool last) {
    const pelt_mesh *mesh = &w->model->mesh;
    int32_t point = (int32_t)w->local_points[pelt_vertex_class(&mesh->points, vertex)] - 1,
            index = last ? ~point : point;
    px_buffer_add(&c->indices, &index, sizeof index);
    for (int i = 0; mesh->normals && i < 3; i++) {
        double n = mesh->normals[(size_t)3 * vertex + (size_t)i];
        px_buffer_add(&c->normals, &n, sizeof n);
    }
    int32_t uv = (int32_t)(c->uvs.size / (2 * sizeof(double)));
    for (int i = 0; mesh->uvs && i < 2; i++) {
        double value = mesh->uvs[(size_t)2 * vertex + (size_t)i];
        px_buffer_add(&c->uvs, &value, sizeof value);
    }
    if (mesh->uvs)
        px_buffer_add(&c->uv_indices, &uv, sizeof uv);
}

/* Triangles of one polygon are a fan around its first vertex. */
static void add_polygons(const writer *w, const mesh_group *g, corners *c) {
    const pelt_mesh *mesh = &w->model->mesh;
    int32_t material = -1;
    const char *last = NULL;
    for (uint32_t p = g->first; p < g->end; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (material < 0 || strcmp(text_or(last), text_or(part->material)) != 0)
            material++;
        last = part->material;
        uint32_t end = part->first_triangle + part->triangle_count;
        for (uint32_t t = part->first_triangle, next; t < end; t = next) {
            for (next = t + 1;
                 mesh->triangle_polygons && next < end && mesh->triangle_polygons[next] == mesh->triangle_polygons[t];)
                next++;
            add_corner(w, c, mesh->triangles[(size_t)3 * t], false);
            add_corner(w, c, mesh->triangles[(size_t)3 * t + 1], false);
            for (uint32_t k = t; k < next; k++)
                add_corner(w, c, mesh->triangles[(size_t)3 * k + 2], k + 1 == next);
            px_buffer_add(&c->materials, &material, sizeof material);
        }
    }
}

static void begin_layer(px_fbx_out *out, const char *name, const char *mapping, const char *reference) {
    px_fbx_begin(out, name);
    px_fbx_i32(out, 0);
    px_fbx_record_i32(out, "Version", 101);
    px_fbx_record_text(out, "Name", "");
    px_fbx_record_text(out, "MappingInformationType", mapping);
    px_fbx_record_text(out, "ReferenceInformationType", reference);
}

static void layer_element(px_fbx_out *out, const char *type) {
    px_fbx_begin(out, "LayerElement");
    px_fbx_record_text(out, "Type", type);
    px_fbx_record_i32(out, "TypedIndex", 0);
    px_fbx_end(out);
}

static void write_layers(writer *w, const corners *c) {
    px_fbx_out *out = &w->out;
    if (c->normals.size) {
        begin_layer(out, "LayerElementNormal", "ByPolygonVertex", "Direct");
        px_fbx_record_array(out, "Normals", 'd', c->normals.data, c->normals.size / sizeof(double));
        px_fbx_end(out);
    }
    if (c->uvs.size) {
        begin_layer(out, "LayerElementUV", "ByPolygonVertex", "IndexToDirect");
        px_fbx_record_array(out, "UV", 'd', c->uvs.data, c->uvs.size / sizeof(double));
        px_fbx_record_array(out, "UVIndex", 'i', c->uv_indices.data, c->uv_indices.size / sizeof(int32_t));
        px_fbx_end(out);
    }
    if (c->materials.size) {
        begin_layer(out, "LayerElementMaterial", "ByPolygon", "IndexToDirect");
        px_fbx_record_array(out, "Materials", 'i', c->materials.data, c->materials.size / sizeof(int32_t));
        px_fbx_end(out);
    }
    px_fbx_begin(out, "Layer");
    px_fbx_i32(out, 0);
    px_fbx_record_i32(out, "Version", 100);
    if (c->normals.size)
        layer_element(out, "LayerElementNormal");
    if (c->uvs.size)
        layer_element(out, "LayerElementUV");
    if (c->materials.size)
        layer_element(out, "LayerElementMaterial");
    px_fbx_end(out);
}

static pelt_result write_geometry(writer *w, const mesh_group *g, int64_t id) {
    const pelt_mesh *mesh = &w->model->mesh;
    pelt_context *context = w->write->context;
    corners c = {
        {.context = context}, {.context = context}, {.context = context}, {.context = context}, {.context = context}};
    double *positions = PX_ALLOC(context, double, (size_t)3 * g->point_count);
    for (size_t i = 0; positions && i < g->point_count; i++)
        for (size_t k = 0; k < 3; k++)
            positions[3 * i + k] = mesh->positions[3 * (size_t)g->vertices[i] + k] * CENTIMETRES;
    add_polygons(w, g, &c);
    begin_object(w, GEOMETRY, "Geometry", id, mesh->parts[g->first].name, "Geometry", "Mesh");
    px_fbx_record_i32(&w->out, "GeometryVersion", 124);
    if (positions)
        px_fbx_record_array(&w->out, "Vertices", 'd', positions, (size_t)3 * g->point_count);
    px_fbx_record_array(&w->out, "PolygonVertexIndex", 'i', c.indices.data, c.indices.size / sizeof(int32_t));
    write_layers(w, &c);
    px_fbx_end(&w->out);
    px_buffer *buffers[] = {&c.indices, &c.normals, &c.uvs, &c.uv_indices, &c.materials};
    bool ok = positions != NULL;
    for (size_t b = 0; b < PX_COUNT(buffers); b++) {
        ok &= !buffers[b]->failed;
        px_buffer_free(buffers[b]);
    }
    px_free(context, positions);
    return ok ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- Skin and shapes -------------------------------------------------------------------------------------------- */

/* The cluster of a bone: its points and weights in this mesh. */
static pelt_result write_cluster(writer *w, const mesh_group *g, uint32_t bone, int64_t skin_id, int32_t *indices,
                                 double *weights) {
    const pelt_skin *skin = &w->model->skin;
    size_t count = 0;
    for (uint32_t i = 0; i < g->point_count; i++)
        for (uint32_t k = 0; k < skin->influence_count; k++) {
            size_t at = (size_t)g->vertices[i] * skin->influence_count + k;
            if (skin->bones[at] == bone && skin->weights[at] > 0) {
                indices[count] = (int32_t)i;
                weights[count++] = skin->weights[at];
                break;
            }
        }
    if (count == 0)
        return PELT_OK;
    int64_t id = ++w->last_id;
    pelt_affine bind;
    if (!px_affine_inverse(&skin->inverse_binds[bone], &bind))
        bind = w->globals[skin->bone_joints[bone]];
    begin_object(w, DEFORMER, "Deformer", id, w->names[skin->bone_joints[bone]], "SubDeformer", "Cluster");
    px_fbx_record_i32(&w->out, "Version", 100);
    px_fbx_record_array(&w->out, "Indexes", 'i', indices, count);
    px_fbx_record_array(&w->out, "Weights", 'd', weights, count);
    matrix_record(&w->out, "Transform", &skin->inverse_binds[bone]);
    matrix_record(&w->out, "TransformLink", &bind);
    px_fbx_end(&w->out);
    link(w, id, skin_id, NULL);
    link(w, JOINT_ID(skin->bone_joints[bone]), id, NULL);
    return PELT_OK;
}

static pelt_result write_skin(writer *w, const mesh_group *g, int64_t geometry_id) {
    pelt_context *context = w->write->context;
    int64_t id = ++w->last_id;
    begin_object(w, DEFORMER, "Deformer", id, w->model->mesh.parts[g->first].name, "Deformer", "Skin");
    px_fbx_record_i32(&w->out, "Version", 101);
    px_fbx_end(&w->out);
    link(w, id, geometry_id, NULL);
    int32_t *indices = PX_ALLOC(context, int32_t, g->point_count);
    double *weights = PX_ALLOC(context, double, g->point_count);
    pelt_result result = indices && weights ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t b = 0; result == PELT_OK && b < w->model->skin.bone_count; b++)
        result = write_cluster(w, g, b, id, indices, weights);
    px_free(context, indices);
    px_free(context, weights);
    return result;
}

/* Rows of a morph that are not 0, for the points of the group. */
static pelt_result write_shape(writer *w, const mesh_group *g, const pelt_morph *morph, int64_t channel_id) {
    pelt_context *context = w->write->context;
    px_buffer indices = {.context = context}, positions = {.context = context}, normals = {.context = context};
    for (uint32_t i = 0; i < g->point_count; i++) {
        uint32_t row = g->vertices[i] - morph->first_vertex;
        if (g->vertices[i] < morph->first_vertex || row >= morph->vertex_count)
            continue;
        const float *p = morph->positions + (size_t)3 * row;
        if (p[0] == 0 && p[1] == 0 && p[2] == 0)
            continue;
        int32_t index = (int32_t)i;
        px_buffer_add(&indices, &index, sizeof index);
        for (int c = 0; c < 3; c++) {
            double value = p[c] * CENTIMETRES,
                   normal = morph->normals ? morph->normals[(size_t)3 * row + (size_t)c] : 0;
            px_buffer_add(&positions, &value, sizeof value);
            px_buffer_add(&normals, &normal, sizeof normal);
        }
    }
    int64_t id = ++w->last_id;
    begin_object(w, GEOMETRY, "Geometry", id, morph->name, "Geometry", "Shape");
    px_fbx_record_i32(&w->out, "Version", 100);
    px_fbx_record_array(&w->out, "Indexes", 'i', indices.data, indices.size / sizeof(int32_t));
    px_fbx_record_array(&w->out, "Vertices", 'd', positions.data, positions.size / sizeof(double));
    px_fbx_record_array(&w->out, "Normals", 'd', normals.data, normals.size / sizeof(double));
    px_fbx_end(&w->out);
    link(w, id, channel_id, NULL);
    bool failed = indices.failed || positions.failed || normals.failed;
    px_buffer_free(&indices);
    px_buffer_free(&positions);
    px_buffer_free(&normals);
    return failed ? PELT_ERROR_MEMORY : PELT_OK;
}

static bool moves_group(const pelt_morph *morph, const mesh_group *g) {
    for (uint32_t i = 0; i < g->point_count; i++)
        if (g->vertices[i] >= morph->first_vertex && g->vertices[i] - morph->first_vertex < morph->vertex_count)
            return true;
    return false;
}

/* A channel with one shape for each morph that moves the group. */
static pelt_result write_shapes(writer *w, const mesh_group *g, int64_t geometry_id) {
    static const double full = 100;
    int64_t shapes_id = 0, group = g - w->groups;
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++) {
        const pelt_morph *morph = &w->model->morphs.morphs[m];
        if (!moves_group(morph, g))
            continue;
        if (!shapes_id) {
            shapes_id = ++w->last_id;
            begin_object(w, DEFORMER, "Deformer", shapes_id, w->model->mesh.parts[g->first].name, "Deformer",
                         "BlendShape");
            px_fbx_record_i32(&w->out, "Version", 100);
            px_fbx_end(&w->out);
            link(w, shapes_id, geometry_id, NULL);
        }
        begin_object(w, DEFORMER, "Deformer", CHANNEL_ID(w, group, m), morph->name, "SubDeformer", "BlendShapeChannel");
        px_fbx_record_i32(&w->out, "Version", 100);
        px_fbx_begin(&w->out, "DeformPercent");
        px_fbx_f64(&w->out, morph->weight * 100.0);
        px_fbx_end(&w->out);
        px_fbx_record_array(&w->out, "FullWeights", 'd', &full, 1);
        px_fbx_begin(&w->out, "Properties70");
        property_number(&w->out, "DeformPercent", "Number", "", "A", morph->weight * 100.0);
        px_fbx_end(&w->out);
        px_fbx_end(&w->out);
        link(w, CHANNEL_ID(w, group, m), shapes_id, NULL);
        PX_TRY(write_shape(w, g, morph, CHANNEL_ID(w, group, m)));
    }
    return PELT_OK;
}

/* The pose that skins are bound in: bind matrices of bones. */
static void write_bind_pose(writer *w, const int64_t *mesh_ids, uint32_t mesh_count) {
    const pelt_skin *skin = &w->model->skin;
    begin_object(w, POSE, "Pose", ++w->last_id, "bind pose", "Pose", "BindPose");
    px_fbx_record_text(&w->out, "Type", "BindPose");
    px_fbx_record_i32(&w->out, "Version", 100);
    px_fbx_record_i32(&w->out, "NbPoseNodes", (int32_t)(mesh_count + skin->bone_count));
    for (uint32_t n = 0; n < mesh_count + skin->bone_count; n++) {
        uint32_t b = n - mesh_count;
        pelt_affine matrix = px_affine_identity();
        if (n >= mesh_count && !px_affine_inverse(&skin->inverse_binds[b], &matrix))
            matrix = w->globals[skin->bone_joints[b]];
        px_fbx_begin(&w->out, "PoseNode");
        px_fbx_begin(&w->out, "Node");
        px_fbx_i64(&w->out, n < mesh_count ? mesh_ids[n] : JOINT_ID(skin->bone_joints[b]));
        px_fbx_end(&w->out);
        matrix_record(&w->out, "Matrix", &matrix);
        px_fbx_end(&w->out);
    }
    px_fbx_end(&w->out);
}

/* The name of a node for a mesh: readers find nodes by name, so it is not that of a joint. */
static const char *mesh_name(const writer *w, const char *name) {
    if (px_joint_named(&w->model->skeleton, name, strlen(name), 0) == PELT_NONE)
        return name;
    size_t length = strlen(name);
    char *longer = px_arena_alloc(w->arena, length + sizeof "_mesh", 1);
    if (!longer)
        return name;
    memcpy(longer, name, length);
    memcpy(longer + length, "_mesh", sizeof "_mesh");
    return longer;
}

static pelt_result write_meshes(writer *w) {
    const pelt_mesh *mesh = &w->model->mesh;
    int64_t *skinned = PX_NEW(w->arena, int64_t, w->group_count);
    uint32_t skinned_count = 0;
    if (!skinned)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < w->group_count; n++) {
        mesh_group *g = &w->groups[n];
        const pelt_part *part = &mesh->parts[g->first];
        g->point_count = 0;
        PX_TRY(plan_points(w, g));
        int64_t model_id = g->own_node ? JOINT_ID(part->joint) : ++w->last_id, geometry_id = ++w->last_id;
        pelt_transform place = rigid_place(w, g);
        if (!g->own_node)
            write_model(w, model_id, mesh_name(w, part->name), "Mesh", &place,
                        g->skinned || part->joint == PELT_NONE ? 0 : JOINT_ID(part->joint));
        PX_TRY(write_geometry(w, g, geometry_id));
        link(w, geometry_id, model_id, NULL);
        const char *last = NULL;
        for (uint32_t p = g->first; p < g->end; p++) {
            if (p > g->first && strcmp(text_or(last), text_or(mesh->parts[p].material)) == 0)
                continue;
            last = mesh->parts[p].material;
            for (uint32_t m = 0; last && m < w->material_count; m++)
                if (strcmp(w->materials[m], last) == 0)
                    link(w, MATERIAL_ID(m), model_id, NULL);
        }
        if (g->skinned) {
            PX_TRY(write_skin(w, g, geometry_id));
            skinned[skinned_count++] = model_id;
        }
        PX_TRY(write_shapes(w, g, geometry_id));
    }
    if (skinned_count)
        write_bind_pose(w, skinned, skinned_count);
    return PELT_OK;
}

/* ---- Motions ---------------------------------------------------------------------------------------------------- */

/* A motion in evenly spaced frames. */
typedef struct sampled {
    const pelt_motion *motion;
    uint32_t frame_count;
    int64_t *ticks;         /* [frame] */
    pelt_transform *locals; /* [frame][joint] */
    float *weights;         /* [frame][morph] */
    int64_t layer_id;
} sampled;

/* A curve of one number; equal values are two keys. */
static void write_curve(writer *w, const sampled *s, const float *values, int64_t node_id, const char *component) {
    static const float attributes[4] = {0, 0, 9.419963346924634e-30f, 0};
    int64_t id = ++w->last_id;
    size_t count = s->frame_count;
    bool constant = true;
    for (size_t k = 1; k < count && constant; k++)
        constant = values[k] == values[0];
    int64_t ends[2] = {s->ticks[0], s->ticks[count - 1]};
    if (constant && count > 2)
        count = 2;
    int32_t flags = KEY_FLAGS, uses = (int32_t)count;
    begin_object(w, ANIMATION, "AnimationCurve", id, "", "AnimCurve", "");
    px_fbx_begin(&w->out, "Default");
    px_fbx_f64(&w->out, values[0]);
    px_fbx_end(&w->out);
    px_fbx_record_i32(&w->out, "KeyVer", 4008);
    px_fbx_record_array(&w->out, "KeyTime", 'l', constant ? ends : s->ticks, count);
    px_fbx_record_array(&w->out, "KeyValueFloat", 'f', values, count);
    px_fbx_record_array(&w->out, "KeyAttrFlags", 'i', &flags, 1);
    px_fbx_record_array(&w->out, "KeyAttrDataFloat", 'f', attributes, 4);
    px_fbx_record_array(&w->out, "KeyAttrRefCount", 'i', &uses, 1);
    px_fbx_end(&w->out);
    link(w, id, node_id, component);
}

/* A curve node with `width` components; values [component][frame]. */
static void write_curve_node(writer *w, const sampled *s, const char *name, const char *const components[], int width,
                             const float *values, int64_t target, const char *property) {
    int64_t id = ++w->last_id;
    begin_object(w, ANIMATION, "AnimationCurveNode", id, name, "AnimCurveNode", "");
    px_fbx_begin(&w->out, "Properties70");
    for (int c = 0; c < width; c++)
        property_number(&w->out, components[c], "Number", "", "A", values[(size_t)c * s->frame_count]);
    px_fbx_end(&w->out);
    px_fbx_end(&w->out);
    link(w, id, s->layer_id, NULL);
    link(w, id, target, property);
    for (int c = 0; c < width; c++)
        write_curve(w, s, values + (size_t)c * s->frame_count, id, components[c]);
}

static void write_joint_curves(writer *w, const sampled *s, uint32_t joint, float *values) {
    static const char *const axes[] = {"d|X", "d|Y", "d|Z"};
    uint32_t joint_count = w->model->skeleton.joint_count, moved = 0;
    for (uint32_t t = 0; t < s->motion->track_count; t++)
        if (s->motion->tracks[t].joint == joint && s->motion->tracks[t].path <= PELT_PATH_SCALE)
            moved |= 1u << s->motion->tracks[t].path;
    double angles[3] = {0};
    for (int path = 0; path < 3; path++) {
        static const char *const names[] = {"T", "R", "S"}, *const properties[] = {"Lcl Translation", "Lcl Rotation",
                                                                                   "Lcl Scaling"};
        if (!(moved & 1u << path))
            continue;
        for (uint32_t k = 0; k < s->frame_count; k++) {
            const pelt_transform *local = &s->locals[(size_t)k * joint_count + joint];
            if (path == PELT_PATH_ROTATION)
                euler_angles(local->rotation, angles);
            for (size_t c = 0; c < 3; c++)
                values[c * s->frame_count + k] = path == PELT_PATH_TRANSLATION
                                                     ? (float)(local->translation[c] * CENTIMETRES)
                                                 : path == PELT_PATH_ROTATION ? (float)angles[c]
                                                                              : local->scale[c];
        }
        write_curve_node(w, s, names[path], axes, 3, values, JOINT_ID(joint), properties[path]);
    }
}

static void write_weight_curves(writer *w, const sampled *s, float *values) {
    static const char *const component[] = {"d|DeformPercent"};
    for (uint32_t m = 0; m < w->model->morphs.morph_count; m++) {
        bool animated = false;
        for (uint32_t t = 0; t < s->motion->track_count; t++)
            animated |= s->motion->tracks[t].path == PELT_PATH_WEIGHTS &&
                        s->motion->tracks[t].joint == w->model->morphs.morphs[m].joint;
        for (uint32_t k = 0; animated && k < s->frame_count; k++)
            values[k] = 100 * s->weights[(size_t)k * w->model->morphs.morph_count + m];
        for (uint32_t g = 0; animated && g < w->group_count; g++)
            if (moves_group(&w->model->morphs.morphs[m], &w->groups[g]))
                write_curve_node(w, s, "DeformPercent", component, 1, values, CHANNEL_ID(w, g, m), "DeformPercent");
    }
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The largest change of an Euler angle of a joint between two times, in degrees. */
static double largest_turn(const writer *w, const pelt_motion *motion, float from, float to,
                           pelt_transform *locals[2]) {
    double largest = 0;
    pelt_motion_sample(w->model, motion, from, locals[0], NULL);
    pelt_motion_sample(w->model, motion, to, locals[1], NULL);
    for (uint32_t j = 0; j < w->model->skeleton.joint_count; j++) {
        double before[3] = {0}, after[3];
        euler_angles(locals[0][j].rotation, before);
        memcpy(after, before, sizeof after);
        euler_angles(locals[1][j].rotation, after);
        for (int c = 0; c < 3; c++)
            largest = fabs(after[c] - before[c]) > largest ? fabs(after[c] - before[c]) : largest;
    }
    return largest;
}

/* Times to sample: those of all keys, and more between them, so that in no step an Euler angle changes by more than MAX_TURN (between keys, readers
 * interpolate Euler angles, and models quaternions) and cubic pieces have MIN_RATE samples a second. */
static pelt_result sample_times(const writer *w, const pelt_motion *motion, px_arena *arena, float **out,
                                uint32_t *out_count) {
    uint32_t joint_count = w->model->skeleton.joint_count;
    size_t key_count = 0, count = 0;
    bool curved = false;
    for (uint32_t t = 0; t < motion->track_count; t++) {
        key_count += motion->tracks[t].key_count;
        curved |= motion->tracks[t].interpolation != PELT_INTERPOLATION_LINEAR;
    }
    pelt_transform *locals[2] = {PX_NEW(arena, pelt_transform, joint_count),
                                 PX_NEW(arena, pelt_transform, joint_count)};
    float *keys = PX_NEW(arena, float, key_count + 1),
          *times = PX_NEW(arena, float, px_mul_size(key_count + 1, MAX_STEPS));
    if (!locals[0] || !locals[1] || !keys || !times)
        return PELT_ERROR_MEMORY;
    for (uint32_t t = 0; t < motion->track_count; t++)
        for (uint32_t k = 0; k < motion->tracks[t].key_count; k++)
            keys[count++] = motion->tracks[t].times[k];
    px_sort(keys, count, sizeof *keys, by_value);
    uint32_t found = 0;
    for (size_t k = 0; k < count; k++) {
        if (k + 1 < count && keys[k + 1] == keys[k])
            continue;
        times[found++] = keys[k];
        if (k + 1 == count)
            break;
        double length = (double)keys[k + 1] - keys[k];
        double steps = floor(largest_turn(w, motion, keys[k], keys[k + 1], locals) / MAX_TURN) + 1;
        steps = curved && length * MIN_RATE > steps ? floor(length * MIN_RATE) + 1 : steps;
        steps = steps > MAX_STEPS ? MAX_STEPS : steps;
        for (double n = 1; n < steps; n++) {
            float time = (float)(keys[k] + length * n / steps);
            if (time > times[found - 1] && time < keys[k + 1])
                times[found++] = time;
        }
    }
    *out = times;
    *out_count = found;
    return PELT_OK;
}

static pelt_result write_motion(writer *w, const pelt_motion *motion, px_arena *arena) {
    static const char *const ends[] = {"LocalStart", "LocalStop", "ReferenceStart", "ReferenceStop"};
    const pelt_model *model = w->model;
    sampled s = {.motion = motion};
    float *times;
    PX_TRY(sample_times(w, motion, arena, &times, &s.frame_count));
    if (s.frame_count == 0)
        return PELT_OK;
    s.ticks = PX_NEW(arena, int64_t, s.frame_count);
    s.locals = PX_NEW(arena, pelt_transform, px_mul_size(s.frame_count, model->skeleton.joint_count));
    s.weights = PX_NEW(arena, float, px_mul_size(s.frame_count, (size_t)model->morphs.morph_count + 1));
    float *values = PX_NEW(arena, float, px_mul_size(3, s.frame_count));
    if (!s.ticks || !s.locals || !s.weights || !values)
        return PELT_ERROR_MEMORY;
    for (uint32_t k = 0; k < s.frame_count; k++) {
        s.ticks[k] = (int64_t)floor((double)times[k] * TICKS + 0.5);
        pelt_motion_sample(model, motion, times[k], s.locals + (size_t)k * model->skeleton.joint_count,
                           s.weights + (size_t)k * model->morphs.morph_count);
    }
    int64_t stack_id = ++w->last_id;
    s.layer_id = ++w->last_id;
    begin_object(w, ANIMATION, "AnimationStack", stack_id, motion->name, "AnimStack", "");
    px_fbx_begin(&w->out, "Properties70");
    for (int e = 0; e < 4; e++) {
        begin_property(&w->out, ends[e], "KTime", "Time", "");
        px_fbx_i64(&w->out, s.ticks[e % 2 ? s.frame_count - 1 : 0]);
        px_fbx_end(&w->out);
    }
    px_fbx_end(&w->out);
    px_fbx_end(&w->out);
    begin_object(w, ANIMATION, "AnimationLayer", s.layer_id, "base", "AnimLayer", "");
    px_fbx_end(&w->out);
    link(w, s.layer_id, stack_id, NULL);
    for (uint32_t j = 0; j < model->skeleton.joint_count; j++)
        write_joint_curves(w, &s, j, values);
    write_weight_curves(w, &s, values);
    return PELT_OK;
}

static pelt_result write_motions(writer *w) {
    pelt_result result = PELT_OK;
    for (uint32_t m = 0; result == PELT_OK && m < w->model->motion_count; m++) {
        px_arena *arena = px_arena_create(w->write->context); /* frames of one motion at a time */
        result = arena ? write_motion(w, &w->model->motions[m], arena) : PELT_ERROR_MEMORY;
        px_arena_destroy(arena);
    }
    return result;
}

/* ---- The file --------------------------------------------------------------------------------------------------- */

static void write_header(px_fbx_out *out) {
    static const char *const names[] = {"Year", "Month", "Day", "Hour", "Minute", "Second", "Millisecond"};
    static const int32_t time[] = {1970, 1, 1, 10, 0, 0, 0}; /* constant: the same model gives the same bytes */
    static const uint8_t file_id[] = {0x28, 0xB3, 0x2A, 0xEB, 0xB6, 0x24, 0xCC, 0xC2,
                                      0xBF, 0xC8, 0xB0, 0x2A, 0xA9, 0x2B, 0xFC, 0xF1};
    px_fbx_begin(out, "FBXHeaderExtension");
    px_fbx_record_i32(out, "FBXHeaderVersion", 1003);
    px_fbx_record_i32(out, "FBXVersion", 7400);
    px_fbx_record_i32(out, "EncryptionType", 0);
    px_fbx_begin(out, "CreationTimeStamp");
    px_fbx_record_i32(out, "Version", 1000);
    for (size_t n = 0; n < PX_COUNT(names); n++)
        px_fbx_record_i32(out, names[n], time[n]);
    px_fbx_end(out);
    px_fbx_record_text(out, "Creator", "Pelt " PELT_VERSION);
    px_fbx_end(out);
    px_fbx_begin(out, "FileId");
    px_fbx_bytes(out, file_id, sizeof file_id);
    px_fbx_end(out);
    px_fbx_record_text(out, "CreationTime", "1970-01-01 10:00:00:000");
    px_fbx_record_text(out, "Creator", "Pelt " PELT_VERSION);
}

/* y up, z towards the viewer, centimetres, 30 frames per second. */
static void write_settings(px_fbx_out *out) {
    static const struct {
        const char *name;
        int32_t value;
    } axes[] = {{"UpAxis", 1},    {"UpAxisSign", 1},    {"FrontAxis", 2},      {"FrontAxisSign", 1},
                {"CoordAxis", 0}, {"CoordAxisSign", 1}, {"OriginalUpAxis", 1}, {"OriginalUpAxisSign", 1}};
    px_fbx_begin(out, "GlobalSettings");
    px_fbx_record_i32(out, "Version", 1000);
    px_fbx_begin(out, "Properties70");
    for (size_t a = 0; a < PX_COUNT(axes); a++)
        property_i32(out, axes[a].name, "int", "Integer", axes[a].value);
    property_number(out, "UnitScaleFactor", "double", "Number", "", 1);
    property_number(out, "OriginalUnitScaleFactor", "double", "Number", "", 1);
    property_i32(out, "TimeMode", "enum", "", 6);
    px_fbx_end(out);
    px_fbx_end(out);
}

/* Writes counts of 0; places [SORTS + 1] tells where they are, that of all objects last. */
static void write_definitions(px_fbx_out *out, size_t places[SORTS + 1]) {
    static const char *const names[SORTS] = {"Model",    "NodeAttribute", "Geometry",      "Material",
                                             "Deformer", "Pose",          "AnimationCurve"};
    px_fbx_begin(out, "Documents");
    px_fbx_record_i32(out, "Count", 1);
    px_fbx_begin(out, "Document");
    px_fbx_i64(out, 1);
    px_fbx_text(out, "");
    px_fbx_text(out, "Scene");
    px_fbx_begin(out, "RootNode");
    px_fbx_i64(out, 0);
    px_fbx_end(out);
    px_fbx_end(out);
    px_fbx_end(out);
    px_fbx_begin(out, "References");
    px_fbx_end(out);
    px_fbx_begin(out, "Definitions");
    px_fbx_record_i32(out, "Version", 100);
    px_fbx_record_i32(out, "Count", 0);
    places[SORTS] = out->bytes.size - sizeof(int32_t);
    px_fbx_begin(out, "ObjectType");
    px_fbx_text(out, "GlobalSettings");
    px_fbx_record_i32(out, "Count", 1);
    px_fbx_end(out);
    for (int s = 0; s < SORTS; s++) {
        px_fbx_begin(out, "ObjectType");
        px_fbx_text(out, names[s]);
        px_fbx_record_i32(out, "Count", 0);
        places[s] = out->bytes.size - sizeof(int32_t);
        px_fbx_end(out);
    }
    px_fbx_end(out);
}

static void set_counts(writer *w, const size_t places[SORTS + 1]) {
    uint32_t all = 1;
    for (int s = 0; s < SORTS; s++) {
        px_fbx_set_i32(&w->out, places[s], (int32_t)w->counts[s]);
        all += w->counts[s];
    }
    px_fbx_set_i32(&w->out, places[SORTS], (int32_t)all);
}

static void write_links(writer *w) {
    const connection *links = (const connection *)(const void *)w->links.data;
    px_fbx_begin(&w->out, "Connections");
    for (size_t l = 0; l < w->links.size / sizeof *links; l++) {
        px_fbx_begin(&w->out, "C");
        px_fbx_text(&w->out, links[l].property ? "OP" : "OO");
        px_fbx_i64(&w->out, links[l].child);
        px_fbx_i64(&w->out, links[l].parent);
        if (links[l].property)
            px_fbx_text(&w->out, links[l].property);
        px_fbx_end(&w->out);
    }
    px_fbx_end(&w->out);
}

static pelt_result write_objects(writer *w) {
    w->last_id = FIRST_ID;
    px_fbx_begin(&w->out, "Objects");
    write_joints(w);
    write_materials(w);
    PX_TRY(write_meshes(w));
    PX_TRY(write_motions(w));
    px_fbx_end(&w->out);
    return PELT_OK;
}

static pelt_result write_all(writer *w) {
    size_t places[SORTS + 1];
    px_output_file *file;
    PX_TRY(plan(w));
    px_fbx_start(&w->out, w->write->context);
    write_header(&w->out);
    write_settings(&w->out);
    write_definitions(&w->out, places);
    PX_TRY(write_objects(w));
    write_links(w);
    set_counts(w, places);
    PX_TRY(px_fbx_finish(&w->out));
    if (w->links.failed)
        return PELT_ERROR_MEMORY;
    PX_TRY(px_output_open(w->write->output, w->write->path, &file));
    return px_output_write(file, w->out.bytes.data, w->out.bytes.size);
}

static bool is_uneven(const float scale[3]) {
    float size = fabsf(scale[0]);
    return fabsf(fabsf(scale[1]) - size) > 1e-3f * size || fabsf(fabsf(scale[2]) - size) > 1e-3f * size;
}

/* Whether a joint is ever stretched unevenly. */
static bool is_stretched(const pelt_model *model, uint32_t joint) {
    bool found = is_uneven(model->skeleton.rest[joint].scale);
    for (uint32_t m = 0; m < model->motion_count; m++)
        for (uint32_t t = 0; t < model->motions[m].track_count; t++) {
            const pelt_track *track = &model->motions[m].tracks[t];
            size_t step = track->interpolation == PELT_INTERPOLATION_CUBIC ? 9 : 3, value = step / 9 * 3;
            if (track->joint == joint && track->path == PELT_PATH_SCALE)
                for (size_t k = 0; k < track->key_count && !found; k++)
                    found = is_uneven(track->values + k * step + value);
        }
    return found;
}

/* Whether a joint ever has a rotation. */
static bool is_turned(const pelt_model *model, uint32_t joint) {
    bool found = fabsf(model->skeleton.rest[joint].rotation[3]) < 1 - 1e-6f;
    for (uint32_t m = 0; m < model->motion_count; m++)
        for (uint32_t t = 0; t < model->motions[m].track_count; t++)
            found |=
                model->motions[m].tracks[t].joint == joint && model->motions[m].tracks[t].path == PELT_PATH_ROTATION;
    return found;
}

/* Says what FBX files cannot hold. A joint that turns below a stretched one is sheared: nodes of a scene can be, bones of most programs cannot. */
static void warn(const px_write *write) {
    const pelt_model *model = write->model;
    const pelt_skeleton *skeleton = &model->skeleton;
    uint32_t sheared = 0;
    if (model->driver_count)
        px_log(write->context, PELT_LOG_WARNING,
               "FBX holds no drivers: morph targets follow the motions of the file, not other poses; write .glb to "
               "keep them");
    if (model->sliders.slider_count)
        px_log(write->context, PELT_LOG_WARNING,
               "FBX holds no sliders: only the motions of the file move their joints; write .glb to keep them");
    if (model->mesh.colors)
        px_log(write->context, PELT_LOG_WARNING, "vertex colours are not written to FBX; write .glb to keep them");
    if (model->clip_count && !write->desc->skip_clips)
        px_log(write->context, PELT_LOG_WARNING, "FBX holds no vertex animations; those of the model are left out");
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        sheared += skeleton->parents[j] != PELT_NONE && is_turned(write->model, j) &&
                   is_stretched(write->model, skeleton->parents[j]);
    if (sheared && !write->trial)
        px_log(write->context, PELT_LOG_WARNING,
               "%u joints are sheared, which most programs drop from bones of FBX files; decompose with transforms trs "
               "or rigid for files that look the same",
               sheared);
}

pelt_result px_fbx_write(const px_write *write) {
    writer w = {.write = write,
                .model = write->model,
                .arena = px_arena_create(write->context),
                .links.context = write->context};
    warn(write);
    pelt_result result = w.arena ? write_all(&w) : PELT_ERROR_MEMORY;
    px_buffer_free(&w.out.bytes);
    px_buffer_free(&w.links);
    px_arena_destroy(w.arena);
    return result;
}
