/* Converts all meshes to one mesh: every primitive of every node with a mesh becomes a part with its own vertices.
 * Unskinned parts are moved to the rest position of their node. */
#include "io/gltf_document.h"

/* Tolerance of the squared length of unit vectors, for rounding in files. Vectors outside it are normalized. */
#define UNIT_TOLERANCE 1e-5f
/* Bytes charged per part, an upper bound without its vertices. Limits files with millions of tiny instances. */
#define PART_COST 256u

enum { POINTS = 0, TRIANGLES = 4, STRIP = 5, FAN = 6 };

/* ---- Transforms ------------------------------------------------------------------------------------------- */

typedef struct matrix3 {
    float m[9];
} matrix3;

static void move(const matrix3 *a, float *v) {
    float x = v[0], y = v[1], z = v[2];
    for (int r = 0; r < 3; r++)
        v[r] = a->m[3 * r] * x + a->m[3 * r + 1] * y + a->m[3 * r + 2] * z;
}

static void make_unit(float *v, const float fallback[3]) {
    double length = sqrt((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2]);
    bool good = length > 1e-30 && isfinite(length);
    for (int c = 0; c < 3; c++)
        v[c] = good ? (float)(v[c] / length) : fallback[c];
}

static const float up[3] = {0, 0, 1}, along[3] = {1, 0, 0};

/* The 3×3 part of `a`, times `scale`. cofactors_of: its cofactor matrix, times `scale` and the sign of the determinant,
 * so that normals of mirrored meshes still point outwards. */
static matrix3 linear_of(const pelt_affine *a, double scale) {
    matrix3 out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out.m[3 * r + c] = (float)(a->m[4 * r + c] * scale);
    return out;
}

static matrix3 cofactors_of(const pelt_affine *a, double scale) {
    const float *m = a->m;
    matrix3 out;
    if (px_affine_determinant(a) < 0)
        scale = -scale;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            out.m[3 * r + c] =
                (float)(((double)m[4 * r1 + c1] * m[4 * r2 + c2] - (double)m[4 * r1 + c2] * m[4 * r2 + c1]) * scale);
        }
    return out;
}

void px_gltf_move_points(const pelt_affine *a, float *points, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float p[3];
        memcpy(p, points + 3 * i, sizeof p);
        px_affine_point(a, p, points + 3 * i);
    }
}

/* Cube root of the volume scale; 1 if singular. Matrices of normals and tangents are normalized by it: the lengths of
 * the results do not matter, but must stay in the range of floats. */
static double mean_scale(const pelt_affine *a) {
    double scale = px_cbrt(fabs(px_affine_determinant(a)));
    return scale > 0 ? scale : 1;
}

void px_gltf_move_normals(const pelt_affine *a, float *normals, size_t count) {
    double scale = mean_scale(a);
    matrix3 m = cofactors_of(a, 1 / (scale * scale));
    for (size_t i = 0; i < count; i++) {
        move(&m, normals + 3 * i);
        make_unit(normals + 3 * i, up);
    }
}

void px_gltf_move_tangents(const pelt_affine *a, float *tangents, size_t count) {
    matrix3 m = linear_of(a, 1 / mean_scale(a));
    bool mirrors = px_affine_determinant(a) < 0;
    for (size_t i = 0; i < count; i++) {
        move(&m, tangents + 4 * i);
        make_unit(tangents + 4 * i, along);
        if (mirrors)
            tangents[4 * i + 3] = -tangents[4 * i + 3];
    }
}

static void move_all(const matrix3 *m, float *vectors, size_t count) {
    for (size_t i = 0; i < count; i++)
        move(m, vectors + 3 * i);
}

void px_gltf_move_offsets(const pelt_affine *a, float *offsets, size_t count) {
    matrix3 m = linear_of(a, 1);
    move_all(&m, offsets, count);
}

void px_gltf_move_normal_offsets(const pelt_affine *a, float *offsets, size_t count) {
    double scale = mean_scale(a);
    matrix3 m = cofactors_of(a, 1 / (scale * scale));
    move_all(&m, offsets, count);
}

void px_gltf_move_tangent_offsets(const pelt_affine *a, float *offsets, size_t count) {
    matrix3 m = linear_of(a, 1 / mean_scale(a));
    move_all(&m, offsets, count);
}

bool px_gltf_moves_part(const px_gltf *doc, uint32_t joint, pelt_affine *inverse) {
    *inverse = px_affine_identity();
    return px_affine_inverse(&doc->globals[joint], inverse);
}

/* ---- Parts ------------------------------------------------------------------------------------------------ */

pelt_result px_gltf_attribute(px_gltf *doc, const px_json *attributes, const char *name, uint32_t count, uint32_t width,
                              uint32_t allowed, px_gltf_accessor *accessor) {
    uint32_t index;
    accessor->index = PELT_NONE;
    PX_TRY(px_gltf_index(doc, attributes, name, doc->accessors.count, &index));
    if (index == PELT_NONE)
        return PELT_OK;
    PX_TRY(px_gltf_accessor_get(doc, index, name, width, allowed, accessor));
    if (accessor->count != count)
        return px_gltf_fail(doc, "%s: accessor %u has %u elements, POSITION has %u", name, index, accessor->count,
                            count);
    return PELT_OK;
}

static uint32_t triangle_count_of(uint64_t mode, uint32_t index_count) {
    if (mode == TRIANGLES)
        return index_count / 3;
    return (mode == STRIP || mode == FAN) && index_count > 2 ? index_count - 2 : 0;
}

/* Counts a primitive's vertices and triangles. *known is false if it has no positions: it is left out. */
static pelt_result measure(px_gltf *doc, const px_json *json, pelt_part *part, bool *known) {
    const px_json *attributes = px_json_get(json, "attributes");
    uint32_t position, indices, index_count;
    px_gltf_accessor a;
    PX_TRY(px_gltf_index(doc, attributes, "POSITION", doc->accessors.count, &position));
    *known = position != PELT_NONE;
    if (!*known) {
        px_log(doc->context, PELT_LOG_WARNING, "%s: has no POSITION; left out", doc->place);
        return PELT_OK;
    }
    PX_TRY(px_gltf_accessor_get(doc, position, "POSITION", 3, PX_GLTF_FLOAT | PX_GLTF_ANY, &a));
    part->vertex_count = index_count = a.count;
    PX_TRY(px_gltf_index(doc, json, "indices", doc->accessors.count, &indices));
    if (indices != PELT_NONE) {
        PX_TRY(px_gltf_accessor_get(doc, indices, "indices", 1, PX_GLTF_INTEGER | PX_GLTF_INTEGER32, &a));
        index_count = a.count;
    }
    uint64_t mode = px_json_uint(px_json_get(json, "mode"), FAN, px_json_get(json, "mode") ? FAN + 1 : TRIANGLES);
    if (mode > FAN)
        return px_gltf_fail(doc, "\"mode\" must be from 0 to 6");
    part->triangle_count = triangle_count_of(mode, index_count);
    return PELT_OK;
}

static pelt_result name_material(px_gltf *doc, const px_json *json, pelt_part *part) {
    uint32_t material;
    PX_TRY(px_gltf_index(doc, json, "material", doc->materials.count, &material));
    if (material == PELT_NONE)
        return PELT_OK;
    part->material = px_json_string(px_json_get(doc->materials.items[material], "name"), NULL);
    if (part->material)
        return PELT_OK;
    px_buffer name = {.context = doc->context};
    px_buffer_format(&name, "material_%u", material);
    part->material = name.failed ? NULL : px_arena_text(doc->memory, name.data, name.size);
    px_buffer_free(&name);
    return part->material ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Finds the mesh of a joint's node. PELT_NONE: it has none, or the node is in no scene. */
static pelt_result shown_mesh(px_gltf *doc, uint32_t joint, uint32_t *mesh) {
    *mesh = PELT_NONE;
    px_gltf_place(doc, "node %u", doc->joint_nodes[joint]);
    return doc->shown[joint]
               ? px_gltf_index(doc, doc->nodes.items[doc->joint_nodes[joint]], "mesh", doc->meshes.count, mesh)
               : PELT_OK;
}

static pelt_result add_parts(px_gltf *doc, uint32_t joint, uint32_t mesh_index, pelt_mesh *mesh) {
    const px_json *node = doc->nodes.items[doc->joint_nodes[joint]], *json = doc->meshes.items[mesh_index];
    const px_json *primitives = px_json_get(json, "primitives");
    uint32_t skin, number = 0;
    PX_TRY(px_gltf_index(doc, node, "skin", doc->skins.count, &skin));
    for (const px_json *p = primitives ? primitives->first : NULL; p; p = p->next, number++) {
        pelt_part *part = &mesh->parts[mesh->part_count];
        const px_json *attributes = px_json_get(p, "attributes");
        bool known;
        px_gltf_place(doc, "mesh %u, primitive %u", mesh_index, number);
        PX_TRY(measure(doc, p, part, &known));
        if (!known)
            continue;
        const char *name = px_json_string(px_json_get(json, "name"), "");
        name = px_json_string(px_json_get(px_json_get(p, "extras"), "name"), name);
        part->name = name[0] ? name : px_json_string(px_json_get(node, "name"), "");
        PX_TRY(name_material(doc, p, part));
        part->joint = joint;
        part->skinned =
            skin != PELT_NONE && px_json_get(attributes, "JOINTS_0") && px_json_get(attributes, "WEIGHTS_0");
        part->first_vertex = mesh->vertex_count;
        part->first_triangle = mesh->triangle_count;
        PX_TRY(px_gltf_charge(doc, part->vertex_count, 12));
        PX_TRY(px_gltf_charge(doc, part->triangle_count, 12));
        if (UINT32_MAX - mesh->vertex_count <= part->vertex_count ||
            UINT32_MAX - mesh->triangle_count <= part->triangle_count)
            return px_gltf_fail(doc, "the file has more than 4 billion vertices or triangles");
        mesh->vertex_count += part->vertex_count;
        mesh->triangle_count += part->triangle_count;
        doc->sources[mesh->part_count++] = (px_gltf_source){.json = p,
                                                            .node = doc->joint_nodes[joint],
                                                            .mesh = mesh_index,
                                                            .primitive = number,
                                                            .first_vertex = part->first_vertex,
                                                            .vertex_count = part->vertex_count,
                                                            .skinned = part->skinned};
    }
    return PELT_OK;
}

static pelt_result list_parts(px_gltf *doc, uint32_t joint_count, pelt_mesh *mesh) {
    uint64_t count = 0;
    uint32_t index;
    for (uint32_t j = 0; j < joint_count; j++) {
        PX_TRY(shown_mesh(doc, j, &index));
        if (index != PELT_NONE)
            count += px_json_count(px_json_get(doc->meshes.items[index], "primitives"));
    }
    px_gltf_place(doc, "meshes");
    PX_TRY(px_gltf_charge(doc, px_size(count), PART_COST));
    mesh->parts = PX_NEW(doc->memory, pelt_part, px_size(count));
    doc->sources = PX_NEW(doc->memory, px_gltf_source, px_size(count));
    if (!mesh->parts || !doc->sources)
        return PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < joint_count; j++) {
        PX_TRY(shown_mesh(doc, j, &index));
        if (index != PELT_NONE)
            PX_TRY(add_parts(doc, j, index, mesh));
    }
    doc->source_count = mesh->part_count;
    doc->vertex_count = mesh->vertex_count;
    return PELT_OK;
}

/* ---- Vertices --------------------------------------------------------------------------------------------- */

static bool all_finite(const float *values, size_t count) {
    uint32_t bad = 0;
    for (size_t v = 0; v < count; v++) {
        uint32_t bits;
        memcpy(&bits, values + v, sizeof bits);
        bad |= (bits & 0x7F800000u) == 0x7F800000u;
    }
    return !bad;
}

static void mend_units(float *vectors, size_t count, uint32_t width, const float fallback[3]) {
    for (size_t i = 0; i < count; i++) {
        float *v = vectors + width * i;
        float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        if (!(fabsf(square - 1) <= UNIT_TOLERANCE))
            make_unit(v, fallback);
        if (width == 4)
            v[3] = v[3] < 0 ? -1.0f : 1.0f;
    }
}

static void turn_uvs(float *uvs, size_t count) {
    if (!all_finite(uvs, 2 * count))
        for (size_t v = 0; v < 2 * count; v++)
            uvs[v] = isfinite(uvs[v]) ? uvs[v] : 0;
    for (size_t i = 0; i < count; i++)
        uvs[2 * i + 1] = 1 - uvs[2 * i + 1];
}

static pelt_result fill_vertices(px_gltf *doc, pelt_mesh *mesh, const pelt_part *part, const px_json *attributes) {
    size_t first = part->first_vertex;
    uint32_t count = part->vertex_count, any = PX_GLTF_FLOAT | PX_GLTF_ANY;
    float *positions = mesh->positions + 3 * first;
    pelt_affine inverse, *global = &doc->globals[part->joint];
    bool moves = !part->skinned && px_gltf_moves_part(doc, part->joint, &inverse);
    px_gltf_accessor a;
    PX_TRY(px_gltf_attribute(doc, attributes, "POSITION", count, 3, any, &a));
    PX_TRY(px_gltf_floats(doc, &a, positions));
    pelt_affine identity = px_affine_identity();
    if (memcmp(global, &identity, sizeof identity) == 0)
        moves = false;
    if (moves)
        px_gltf_move_points(global, positions, count);
    if (!all_finite(positions, 3 * (size_t)count))
        return px_gltf_fail(doc, "accessor %u: a position is not finite", a.index);
    PX_TRY(px_gltf_attribute(doc, attributes, "NORMAL", count, 3, any, &a));
    if (a.index != PELT_NONE && mesh->normals) {
        PX_TRY(px_gltf_floats(doc, &a, mesh->normals + 3 * first));
        mend_units(mesh->normals + 3 * first, count, 3, up);
        if (moves)
            px_gltf_move_normals(global, mesh->normals + 3 * first, count);
    }
    PX_TRY(px_gltf_attribute(doc, attributes, "TANGENT", count, 4, any, &a));
    if (a.index != PELT_NONE && mesh->tangents) {
        PX_TRY(px_gltf_floats(doc, &a, mesh->tangents + 4 * first));
        mend_units(mesh->tangents + 4 * first, count, 4, along);
        if (moves)
            px_gltf_move_tangents(global, mesh->tangents + 4 * first, count);
    }
    PX_TRY(px_gltf_attribute(doc, attributes, "TEXCOORD_0", count, 2, any, &a));
    if (a.index != PELT_NONE && mesh->uvs) {
        PX_TRY(px_gltf_floats(doc, &a, mesh->uvs + 2 * first));
        turn_uvs(mesh->uvs + 2 * first, count);
    }
    return PELT_OK;
}

/* ---- Triangles -------------------------------------------------------------------------------------------- */

/* Converts strips and fans in `indices` to triangles (glTF 2.0 §3.7.2.1). */
static void expand(uint64_t mode, const uint32_t *indices, uint32_t triangle_count, uint32_t *out) {
    for (uint32_t t = 0; t < triangle_count; t++, out += 3) {
        out[0] = mode == FAN ? indices[t + 1] : indices[t];
        out[1] = mode == FAN ? indices[t + 2] : indices[t + 1 + t % 2];
        out[2] = mode == FAN ? indices[0] : indices[t + 2 - t % 2];
    }
}

/* Reads the primitive's indices (`a` NULL: 0, 1, 2 …), checks them and adds the index of the part's first vertex. */
static pelt_result fill_indices(px_gltf *doc, const px_gltf_accessor *a, const pelt_part *part, uint32_t count,
                                uint32_t *out) {
    uint32_t largest = 0, first = part->first_vertex;
    if (a)
        PX_TRY(px_gltf_uints(doc, a, out));
    for (uint32_t t = 0; t < count; t++) {
        uint32_t index = a ? out[t] : t;
        largest = index > largest ? index : largest;
        out[t] = index + first;
    }
    if (count > 0 && largest >= part->vertex_count)
        return px_gltf_fail(doc, "accessor %u: index %u is out of range, there are %u vertices", a ? a->index : 0,
                            largest, part->vertex_count);
    return PELT_OK;
}

static pelt_result fill_triangles(px_gltf *doc, pelt_mesh *mesh, const pelt_part *part, const px_json *json) {
    uint32_t index, count = part->vertex_count, *out = mesh->triangles + 3 * (size_t)part->first_triangle;
    px_gltf_accessor a = {0};
    PX_TRY(px_gltf_index(doc, json, "indices", doc->accessors.count, &index));
    if (index != PELT_NONE) {
        PX_TRY(px_gltf_accessor_get(doc, index, "indices", 1, PX_GLTF_INTEGER | PX_GLTF_INTEGER32, &a));
        count = a.count;
    }
    const px_gltf_accessor *used = index == PELT_NONE ? NULL : &a;
    uint64_t mode = px_json_uint(px_json_get(json, "mode"), FAN, TRIANGLES);
    if (mode == TRIANGLES && count % 3 == 0) {
        PX_TRY(fill_indices(doc, used, part, count, out));
    } else { /* uses scratch; indices of points and lines are checked, then dropped */
        PX_TRY(px_gltf_charge(doc, count, sizeof(uint32_t)));
        uint32_t *scratch = PX_ALLOC(doc->context, uint32_t, count);
        if (!scratch)
            return PELT_ERROR_MEMORY;
        pelt_result result = fill_indices(doc, used, part, count, scratch);
        if (result == PELT_OK && mode == TRIANGLES)
            memcpy(out, scratch, 12 * (size_t)part->triangle_count);
        else if (result == PELT_OK)
            expand(mode, scratch, part->triangle_count, out);
        px_free(doc->context, scratch);
        PX_TRY(result);
    }
    pelt_affine inverse;
    if (!part->skinned && px_gltf_moves_part(doc, part->joint, &inverse) && px_affine_determinant(&inverse) < 0)
        for (size_t t = 0; t < part->triangle_count; t++) { /* mirrored: reverse the winding */
            uint32_t second = out[3 * t + 1];
            out[3 * t + 1] = out[3 * t + 2];
            out[3 * t + 2] = second;
        }
    return PELT_OK;
}

/* Computes area-weighted normals of a part without normals, for files in which other parts have them. */
static void make_normals(pelt_mesh *mesh, const pelt_part *part) {
    float *normals = mesh->normals;
    for (size_t t = part->first_triangle; t < (size_t)part->first_triangle + part->triangle_count; t++) {
        const uint32_t *corner = mesh->triangles + 3 * t;
        float u[3], v[3], n[3];
        px_sub3(mesh->positions + 3 * (size_t)corner[1], mesh->positions + 3 * (size_t)corner[0], u);
        px_sub3(mesh->positions + 3 * (size_t)corner[2], mesh->positions + 3 * (size_t)corner[0], v);
        px_cross3(u, v, n);
        for (int c = 0; c < 3; c++)
            for (int d = 0; d < 3; d++)
                normals[3 * (size_t)corner[c] + d] += n[d];
    }
    for (size_t i = part->first_vertex; i < (size_t)part->first_vertex + part->vertex_count; i++)
        make_unit(normals + 3 * i, up);
}

/* ---- The mesh --------------------------------------------------------------------------------------------- */

static pelt_result alloc_mesh(px_gltf *doc, pelt_mesh *mesh) {
    bool normals = false, tangents = mesh->part_count > 0, uvs = false;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const px_json *attributes = px_json_get(doc->sources[p].json, "attributes");
        normals |= px_json_get(attributes, "NORMAL") != NULL;
        tangents &= px_json_get(attributes, "TANGENT") != NULL;
        uvs |= px_json_get(attributes, "TEXCOORD_0") != NULL;
    }
    px_gltf_place(doc, "meshes");
    if (!(mesh->positions = PX_GLTF_NEW(doc, float, 3 * (size_t)mesh->vertex_count)) ||
        (normals && !(mesh->normals = PX_GLTF_NEW(doc, float, 3 * (size_t)mesh->vertex_count))) ||
        (tangents && !(mesh->tangents = PX_GLTF_NEW(doc, float, 4 * (size_t)mesh->vertex_count))) ||
        (uvs && !(mesh->uvs = PX_GLTF_NEW(doc, float, 2 * (size_t)mesh->vertex_count))) ||
        !(mesh->triangles = PX_GLTF_NEW(doc, uint32_t, 3 * (size_t)mesh->triangle_count)))
        return doc->failure;
    return PELT_OK;
}

pelt_result px_gltf_read_mesh(px_gltf *doc, pelt_model *model) {
    pelt_mesh *mesh = &model->mesh;
    PX_TRY(list_parts(doc, model->skeleton.joint_count, mesh));
    PX_TRY(alloc_mesh(doc, mesh));
    mesh->points.count = mesh->vertex_count;
    mesh->polygon_count = mesh->triangle_count;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const px_gltf_source *source = &doc->sources[p];
        const px_json *attributes = px_json_get(source->json, "attributes");
        px_gltf_place(doc, "mesh %u, primitive %u", source->mesh, source->primitive);
        PX_TRY(fill_vertices(doc, mesh, &mesh->parts[p], attributes));
        PX_TRY(fill_triangles(doc, mesh, &mesh->parts[p], source->json));
        if (mesh->normals && !px_json_get(attributes, "NORMAL"))
            make_normals(mesh, &mesh->parts[p]);
        PX_TRY(px_progress(doc->context, "read", p + 1, mesh->part_count));
    }
    return PELT_OK;
}
