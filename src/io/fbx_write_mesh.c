/* Geometries of FBX files: see fbx_write.h. */
#include "io/fbx_write.h"

#define NORMALS   "LayerElementNormal"
#define UVS       "LayerElementUV"
#define COLORS    "LayerElementColor"
#define MATERIALS "LayerElementMaterial"

/* ---- Geometry --------------------------------------------------------------------------------------------------- */

/* Arrays of a geometry, in the order of its corners. */
typedef struct corners {
    px_buffer indices, normals, materials;
    px_buffer vertices; /* uint32_t, vertices of the model */
} corners;

static void add_corner(const px_fbx_writer *w, const px_mesh_group *g, corners *c, uint32_t vertex, bool last) {
    const pelt_mesh *mesh = &w->mesh;
    int32_t point = (int32_t)w->local_points[pelt_vertex_class(&mesh->points, vertex)] - 1,
            index = last ? ~point : point;
    px_buffer_add(&c->indices, &index, sizeof index);
    if (mesh->normals) {
        const float *normal = mesh->normals + (size_t)3 * vertex;
        double n[3] = {normal[0], normal[1], normal[2]};
        if (px_fbx_is_free(w, g))
            px_fbx_turn_vector(w, n);
        px_buffer_add(&c->normals, n, sizeof n);
    }
    px_buffer_add(&c->vertices, &vertex, sizeof vertex);
}

/* Triangles of one polygon are a fan around its first vertex. */
static void add_polygons(const px_fbx_writer *w, const px_mesh_group *g, corners *c) {
    const pelt_mesh *mesh = &w->mesh;
    int32_t material = -1;
    const char *last = NULL;
    for (uint32_t p = g->first; p < g->end; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (material < 0 || strcmp(px_fbx_text_or(last), px_fbx_text_or(part->material)) != 0)
            material++;
        last = part->material;
        uint32_t end = part->first_triangle + part->triangle_count;
        for (uint32_t t = part->first_triangle, next; t < end; t = next) {
            for (next = t + 1;
                 mesh->triangle_polygons && next < end && mesh->triangle_polygons[next] == mesh->triangle_polygons[t];)
                next++;
            add_corner(w, g, c, mesh->triangles[(size_t)3 * t], false);
            add_corner(w, g, c, mesh->triangles[(size_t)3 * t + 1], false);
            for (uint32_t k = t; k < next; k++)
                add_corner(w, g, c, mesh->triangles[(size_t)3 * k + 2], k + 1 == next);
            px_buffer_add(&c->materials, &material, sizeof material);
        }
    }
}

static void begin_layer(px_fbx_out *out, const char *kind, uint32_t number, const char *name, const char *mapping,
                        const char *reference) {
    px_fbx_begin(out, kind);
    px_fbx_i32(out, (int32_t)number);
    px_fbx_record_i32(out, "Version", 101);
    px_fbx_record_text(out, "Name", name);
    px_fbx_record_text(out, "MappingInformationType", mapping);
    px_fbx_record_text(out, "ReferenceInformationType", reference);
}

static void layer_element(px_fbx_out *out, const char *type, uint32_t number) {
    px_fbx_begin(out, "LayerElement");
    px_fbx_record_text(out, "Type", type);
    px_fbx_record_i32(out, "TypedIndex", (int32_t)number);
    px_fbx_end(out);
}

/* Texture coordinates or colours [vertex][width], one for each corner. */
static void write_values(px_fbx_writer *w, const corners *c, uint32_t number, const px_layer *layer) {
    bool uvs = layer->width == PX_UV_WIDTH;
    const uint32_t *vertices = (const uint32_t *)(const void *)c->vertices.data;
    size_t count = c->vertices.size / sizeof *vertices;
    double *values = PX_ALLOC(w->write->context, double, px_mul_size(layer->width, count));
    int32_t *indices = PX_ALLOC(w->write->context, int32_t, count);
    for (size_t i = 0; values && indices && i < count; i++) {
        indices[i] = (int32_t)i;
        for (size_t n = 0; n < layer->width; n++)
            values[layer->width * i + n] = layer->values[(size_t)layer->width * vertices[i] + n];
    }
    if (values && indices) {
        begin_layer(&w->out, uvs ? UVS : COLORS, number, layer->name, "ByPolygonVertex", "IndexToDirect");
        px_fbx_record_array(&w->out, uvs ? "UV" : "Colors", 'd', values, layer->width * count);
        px_fbx_record_array(&w->out, uvs ? "UVIndex" : "ColorIndex", 'i', indices, count);
        px_fbx_end(&w->out);
    } else {
        w->out.bytes.failed = true;
    }
    px_free(w->write->context, values);
    px_free(w->write->context, indices);
}

/* Layer n has set n of the texture coordinates and of the colours. */
static void write_layers(px_fbx_writer *w, const corners *c) {
    px_fbx_out *out = &w->out;
    float *own = w->mesh.uvs;
    uint32_t uv_count = own && c->vertices.size ? 1 : 0, color_count = 0;
    if (c->normals.size) {
        begin_layer(out, NORMALS, 0, "", "ByPolygonVertex", "Direct");
        px_fbx_record_array(out, "Normals", 'd', c->normals.data, c->normals.size / sizeof(double));
        px_fbx_end(out);
    }
    if (uv_count)
        write_values(w, c, 0, &(px_layer){PX_FBX_UV_SET, PX_UV_WIDTH, own});
    for (uint32_t n = 0; n < w->layers.layer_count && c->vertices.size; n++)
        write_values(w, c, w->layers.layers[n].width == PX_UV_WIDTH ? uv_count++ : color_count++, &w->layers.layers[n]);
    if (c->materials.size) {
        begin_layer(out, MATERIALS, 0, "", "ByPolygon", "IndexToDirect");
        px_fbx_record_array(out, "Materials", 'i', c->materials.data, c->materials.size / sizeof(int32_t));
        px_fbx_end(out);
    }
    for (uint32_t n = 0; n == 0 || n < uv_count || n < color_count; n++) {
        px_fbx_begin(out, "Layer");
        px_fbx_i32(out, (int32_t)n);
        px_fbx_record_i32(out, "Version", 100);
        if (n == 0 && c->normals.size)
            layer_element(out, NORMALS, 0);
        if (n < uv_count)
            layer_element(out, UVS, n);
        if (n < color_count)
            layer_element(out, COLORS, n);
        if (n == 0 && c->materials.size)
            layer_element(out, MATERIALS, 0);
        px_fbx_end(out);
    }
}

static pelt_result write_geometry(px_fbx_writer *w, const px_mesh_group *g, int64_t id) {
    const pelt_mesh *mesh = &w->mesh;
    pelt_context *context = w->write->context;
    corners c = {{.context = context}, {.context = context}, {.context = context}, {.context = context}};
    double *positions = PX_ALLOC(context, double, (size_t)3 * g->point_count);
    for (size_t i = 0; positions && i < g->point_count; i++) {
        for (size_t k = 0; k < 3; k++)
            positions[3 * i + k] = mesh->positions[3 * (size_t)g->vertices[i] + k] * w->target->unit;
        if (px_fbx_is_free(w, g))
            px_fbx_turn_vector(w, positions + 3 * i);
    }
    add_polygons(w, g, &c);
    px_fbx_begin_object(w, PX_FBX_GEOMETRY, "Geometry", id, mesh->parts[g->first].name, "Geometry", "Mesh");
    px_fbx_record_i32(&w->out, "GeometryVersion", 124);
    if (positions)
        px_fbx_record_array(&w->out, "Vertices", 'd', positions, (size_t)3 * g->point_count);
    px_fbx_record_array(&w->out, "PolygonVertexIndex", 'i', c.indices.data, c.indices.size / sizeof(int32_t));
    write_layers(w, &c);
    px_fbx_end(&w->out);
    px_buffer *buffers[] = {&c.indices, &c.normals, &c.vertices, &c.materials};
    bool ok = positions != NULL;
    for (size_t b = 0; b < PX_COUNT(buffers); b++) {
        ok &= !buffers[b]->failed;
        px_buffer_free(buffers[b]);
    }
    px_free(context, positions);
    return ok ? PELT_OK : PELT_ERROR_MEMORY;
}

/* ---- Meshes ----------------------------------------------------------------------------------------------------- */

/* The name of a node for a mesh: readers find nodes by name, so it is not that of a joint. */
static const char *mesh_name(const px_fbx_writer *w, const char *name) {
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

pelt_result px_fbx_write_meshes(px_fbx_writer *w) {
    const pelt_mesh *mesh = &w->mesh;
    int64_t *skinned = PX_NEW(w->arena, int64_t, w->group_count);
    uint32_t skinned_count = 0;
    if (!skinned)
        return PELT_ERROR_MEMORY;
    for (uint32_t n = 0; n < w->group_count; n++) {
        px_mesh_group *g = &w->groups[n];
        const pelt_part *part = &mesh->parts[g->first];
        PX_TRY(px_mesh_group_points(w->arena, mesh, g, w->local_points));
        int64_t model_id = w->own_nodes[n] ? PX_FBX_JOINT_ID(part->joint) : ++w->last_id, geometry_id = ++w->last_id;
        pelt_transform place = px_fbx_rigid_place(w, g);
        const char *name = mesh_name(w, part->name);
        if (!w->own_nodes[n])
            px_fbx_write_model(w, model_id, name, name, "Mesh", &place,
                               g->skinned || part->joint == PELT_NONE ? 0 : PX_FBX_JOINT_ID(part->joint));
        PX_TRY(write_geometry(w, g, geometry_id));
        px_fbx_connect(w, geometry_id, model_id, NULL);
        const char *last = NULL;
        for (uint32_t p = g->first; p < g->end; p++) {
            if (p > g->first && strcmp(px_fbx_text_or(last), px_fbx_text_or(mesh->parts[p].material)) == 0)
                continue;
            last = mesh->parts[p].material;
            for (uint32_t m = 0; last && m < w->material_count; m++)
                if (strcmp(w->materials[m], last) == 0)
                    px_fbx_connect(w, PX_FBX_MATERIAL_ID(m), model_id, NULL);
        }
        if (g->skinned) {
            PX_TRY(px_fbx_write_skin(w, g, geometry_id));
            skinned[skinned_count++] = model_id;
        }
        PX_TRY(px_fbx_write_shapes(w, g, geometry_id));
    }
    if (skinned_count)
        px_fbx_write_bind_pose(w, skinned, skinned_count);
    return PELT_OK;
}
