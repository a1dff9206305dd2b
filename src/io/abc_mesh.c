/* Builds the model's mesh from Alembic faces, texture coordinates and normals of the first sample. Alembic lists faces
 * clockwise; their winding is reversed here. */
#include "io/abc.h"

#include <math.h>

/* A vertex attribute of a mesh's first sample, optionally indexed. */
typedef struct attribute {
    const uint8_t *values; /* NULL: the attribute is missing */
    size_t value_count;
    const uint8_t *indices; /* NULL: element i has value i */
    bool by_corner;         /* one element per corner; false: one per point */
    size_t first;           /* index of its first value in the list of all objects' values */
} attribute;

/* The contribution of one object to the mesh. */
typedef struct mesh_piece {
    const abc_mesh *mesh;
    const uint8_t *indices, *counts; /* i32 each, point into the file */
    size_t corner_count, face_count;
    attribute uvs, normals;
    bool turned; /* reverse the winding of the faces */
} mesh_piece;

typedef struct builder {
    abc_archive *archive;
    const abc_scene *scene;
    pelt_model *model;
    mesh_piece *pieces; /* [mesh] */
    px_polygons content;
    size_t short_faces, odd_uvs, odd_normals; /* counts for px_polygons_tell */
} builder;

/* ---- Finding arrays --------------------------------------------------------------------------------------- */

/* Whether two stored samples are equal. Compares their 16-byte keys, which are hashes of the content. */
static bool same_sample(ogawa_data a, ogawa_data b) {
    return a.size == b.size && (a.bytes == b.bytes || a.size == 0 || memcmp(a.bytes - 16, b.bytes - 16, 16) == 0);
}

/* Finds an array of 32-bit integers that must be the same in all samples. */
static pelt_result find_topology(builder *b, const abc_mesh *mesh, const abc_compound *geometry, const char *name,
                                 const uint8_t **values, size_t *count) {
    abc_archive *archive = b->archive;
    abc_property property;
    bool found;
    *count = 0;
    PX_TRY(px_abc_find(archive, geometry, name, &property, &found));
    if (!found)
        return PELT_OK;
    if (property.kind != ABC_ARRAY || (property.pod != ABC_I32 && property.pod != ABC_U32) || property.extent != 1)
        return px_fail(archive->context, PELT_ERROR_INPUT, "object '%s': %s is no array of whole numbers", mesh->name,
                       name);
    ogawa_data first, data;
    PX_TRY(px_abc_stored(&archive->file, &property, 0, &first));
    PX_TRY(px_abc_spend(archive, px_mul_size(8, px_abc_stored_count(&property))));
    for (uint32_t s = 1; s < px_abc_stored_count(&property); s++) {
        PX_TRY(px_abc_stored(&archive->file, &property, s, &data));
        if (!same_sample(first, data))
            return px_fail(archive->context, PELT_ERROR_UNSUPPORTED,
                           "object '%s' changes its topology: its faces are others in sample %u than in the first; "
                           "export it with the same points and faces in all frames",
                           mesh->name, property.first + s - 1);
    }
    *values = first.bytes;
    *count = first.size / 4;
    return px_abc_claim(archive, *count);
}

/* Finds "uv" or "N": an array of floats, or a compound of .vals and .indices. Unsuitable attributes are ignored. */
static pelt_result find_attribute(builder *b, const mesh_piece *piece, const abc_compound *geometry, const char *name,
                                  uint32_t width, attribute *out) {
    abc_archive *archive = b->archive;
    const abc_mesh *mesh = piece->mesh;
    abc_property property, values, indices = {0};
    bool found, indexed = false;
    PX_TRY(px_abc_find(archive, geometry, name, &property, &found));
    if (!found)
        return PELT_OK;
    values = property;
    if (property.kind == ABC_COMPOUND) {
        abc_compound compound;
        PX_TRY(px_abc_compound(archive, &property, &compound));
        PX_TRY(px_abc_find(archive, &compound, ".vals", &values, &found));
        PX_TRY(px_abc_find(archive, &compound, ".indices", &indices, &indexed));
    }
    if (!found || values.kind != ABC_ARRAY || values.pod != ABC_F32 || values.extent != width ||
        (indexed && (indices.kind != ABC_ARRAY || (indices.pod != ABC_U32 && indices.pod != ABC_I32))))
        return PELT_OK;
    ogawa_data data, index_data = {0};
    PX_TRY(px_abc_sample(&archive->file, &values, 0, &data));
    if (indexed)
        PX_TRY(px_abc_sample(&archive->file, &indices, 0, &index_data));
    size_t value_count = data.size / (4 * (size_t)width), count = indexed ? index_data.size / 4 : value_count;
    bool by_corner = count == piece->corner_count &&
                     (count != mesh->point_count || px_text_is(px_abc_metadata(property.metadata, "geoScope"), "fvr"));
    if (value_count == 0 || value_count >= PELT_NONE || (!by_corner && count != mesh->point_count)) {
        px_log(archive->context, PELT_LOG_WARNING, "object '%s': %s fits neither corners nor points, left out",
               mesh->name, name);
        return PELT_OK;
    }
    *out = (attribute){data.bytes, value_count, indexed ? index_data.bytes : NULL, by_corner, 0};
    return px_abc_claim(archive, value_count);
}

static pelt_result find_piece(builder *b, mesh_piece *piece) {
    const abc_mesh *mesh = piece->mesh;
    abc_property compound = {.place = mesh->geometry};
    abc_compound geometry;
    PX_TRY(px_abc_compound(b->archive, &compound, &geometry));
    PX_TRY(find_topology(b, mesh, &geometry, ".faceIndices", &piece->indices, &piece->corner_count));
    PX_TRY(find_topology(b, mesh, &geometry, ".faceCounts", &piece->counts, &piece->face_count));
    uint64_t sum = 0;
    for (size_t f = 0; f < piece->face_count; f++)
        sum += px_load_u32(piece->counts + 4 * f);
    if (sum != piece->corner_count)
        return px_fail(b->archive->context, PELT_ERROR_INPUT,
                       "object '%s': its faces have %llu corners, but it lists %zu", mesh->name,
                       (unsigned long long)sum, piece->corner_count);
    PX_TRY(find_attribute(b, piece, &geometry, "uv", 2, &piece->uvs));
    return find_attribute(b, piece, &geometry, "N", 3, &piece->normals);
}

/* ---- Filling the lists ------------------------------------------------------------------------------------ */

/* Reserves the full capacity, so that the lists are never reallocated. */
static pelt_result reserve(builder *b) {
    pelt_context *context = b->archive->context;
    uint64_t points = 0, corners = 0, faces = 0, uvs = 0, normals = 0;
    for (uint32_t m = 0; m < b->scene->mesh_count; m++) {
        points += b->scene->meshes[m].point_count;
        corners += b->pieces[m].corner_count;
        faces += b->pieces[m].face_count;
        uvs += b->pieces[m].uvs.value_count;
        normals += b->pieces[m].normals.value_count;
    }
    if (corners >= PELT_NONE || faces >= PELT_NONE || uvs >= PELT_NONE || normals >= PELT_NONE)
        return px_fail(context, PELT_ERROR_UNSUPPORTED, "holds more than %u corners", PELT_NONE - 1);
    px_polygons *c = &b->content;
    bool ready = px_list_room(context, &c->positions, px_size(3 * points), sizeof(float)) &&
                 px_list_room(context, &c->corners, px_size(corners), sizeof(px_corner)) &&
                 px_list_room(context, &c->polygons, px_size(faces), sizeof(uint32_t)) &&
                 px_list_room(context, &c->uvs, px_size(2 * uvs), sizeof(float)) &&
                 px_list_room(context, &c->normals, px_size(3 * normals), sizeof(float));
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Appends the values of an attribute to those of the previous objects. */
static void append_values(px_list *list, attribute *a, size_t width) {
    float *out = (float *)list->data + list->count;
    for (size_t i = 0; i < a->value_count * width; i++)
        out[i] = px_float_from_bits(px_load_u32(a->values + 4 * i));
    a->first = list->count / width;
    list->count += a->value_count * width;
}

static void mend_uvs(builder *b, size_t first) {
    float *uvs = b->content.uvs.data;
    for (size_t i = 2 * first; i < b->content.uvs.count; i += 2)
        if (!isfinite(uvs[i]) || !isfinite(uvs[i + 1])) {
            uvs[i] = uvs[i + 1] = 0;
            b->odd_uvs++;
        }
}

/* Transforms normals by the inverse transpose: the cofactor matrix with the sign of the determinant. */
static void turn_normals(builder *b, size_t first, const px_scene_matrix *world, double determinant) {
    for (size_t i = 3 * first; i < b->content.normals.count; i += 3) {
        float *n = (float *)b->content.normals.data + i;
        double out[3] = {0};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
                double cofactor =
                    world->m[4 * r1 + c1] * world->m[4 * r2 + c2] - world->m[4 * r1 + c2] * world->m[4 * r2 + c1];
                out[r] += (determinant < 0 ? -cofactor : cofactor) * (double)n[c];
            }
        for (int c = 0; c < 3; c++)
            n[c] = (float)out[c];
        b->odd_normals += !px_unit_normal(n);
    }
}

/* The index of an attribute's value at a corner, counted from 1. */
static pelt_result find_value(builder *b, const mesh_piece *piece, const attribute *a, size_t corner, uint32_t point,
                              uint32_t *number) {
    if (!a->values)
        return PELT_OK;
    size_t element = a->by_corner ? corner : point;
    uint32_t index = a->indices ? px_load_u32(a->indices + 4 * element) : (uint32_t)element;
    if (index >= a->value_count)
        return px_fail(b->archive->context, PELT_ERROR_INPUT,
                       "object '%s': corner %zu uses texture coordinate or normal %u of %zu", piece->mesh->name, corner,
                       index, a->value_count);
    *number = (uint32_t)(a->first + index + 1);
    return PELT_OK;
}

static pelt_result add_face(builder *b, const mesh_piece *piece, size_t first, uint32_t count) {
    const abc_mesh *mesh = piece->mesh;
    px_list *corners = &b->content.corners;
    for (uint32_t c = 0; c < count; c++) {
        size_t corner = first + (piece->turned && c ? count - c : c);
        uint32_t point = px_load_u32(piece->indices + 4 * corner);
        if (point >= mesh->point_count)
            return px_fail(b->archive->context, PELT_ERROR_INPUT, "object '%s': a face uses point %u of %u", mesh->name,
                           point, mesh->point_count);
        px_corner *out = (px_corner *)corners->data + corners->count++;
        *out = (px_corner){.point = mesh->first_point + point + 1};
        PX_TRY(find_value(b, piece, &piece->uvs, corner, point, &out->uv));
        PX_TRY(find_value(b, piece, &piece->normals, corner, point, &out->normal));
    }
    ((uint32_t *)b->content.polygons.data)[b->content.polygons.count++] = count;
    return PELT_OK;
}

static double determinant_of(const px_scene_matrix *a) {
    const double *m = a->m;
    return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
           m[2] * (m[4] * m[9] - m[5] * m[8]);
}

static pelt_result add_piece(builder *b, mesh_piece *piece, pelt_part *part) {
    const abc_mesh *mesh = piece->mesh;
    px_scene_matrix world;
    PX_TRY(px_abc_world(b->scene, mesh->xform, b->scene->times[0], &world));
    double determinant = determinant_of(&world);
    piece->turned = !(determinant < 0); /* a mirroring transform reverses the winding once more */
    append_values(&b->content.uvs, &piece->uvs, 2);
    mend_uvs(b, piece->uvs.first);
    append_values(&b->content.normals, &piece->normals, 3);
    turn_normals(b, piece->normals.first, &world, determinant);
    size_t first_corner = b->content.corners.count, first_polygon = b->content.polygons.count, corner = 0;
    for (size_t f = 0; f < piece->face_count; f++) {
        uint32_t count = px_load_u32(piece->counts + 4 * f);
        if (count >= 3)
            PX_TRY(add_face(b, piece, corner, count));
        else
            b->short_faces++;
        corner += count;
    }
    size_t polygons = b->content.polygons.count - first_polygon;
    part->name = mesh->name;
    part->joint = PELT_NONE;
    part->triangle_count = (uint32_t)(b->content.corners.count - first_corner - 2 * polygons);
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------- */

static pelt_result build(builder *b) {
    const abc_scene *scene = b->scene;
    pelt_context *context = b->archive->context;
    pelt_mesh *mesh = &b->model->mesh;
    b->pieces = PX_ALLOC(context, mesh_piece, scene->mesh_count);
    mesh->parts = PX_NEW(b->model->memory, pelt_part, scene->mesh_count);
    if (!b->pieces || !mesh->parts)
        return PELT_ERROR_MEMORY;
    for (uint32_t m = 0; m < scene->mesh_count; m++) {
        b->pieces[m].mesh = &scene->meshes[m];
        PX_TRY(find_piece(b, &b->pieces[m]));
    }
    PX_TRY(reserve(b));
    uint32_t triangle = 0;
    for (uint32_t m = 0; m < scene->mesh_count; m++) {
        PX_TRY(add_piece(b, &b->pieces[m], &mesh->parts[m]));
        mesh->parts[m].first_triangle = triangle;
        triangle += mesh->parts[m].triangle_count;
    }
    mesh->part_count = scene->mesh_count;
    const abc_mesh *last = &scene->meshes[scene->mesh_count - 1];
    uint32_t points = last->first_point + last->point_count;
    b->content.positions.count = (size_t)3 * points;
    PX_TRY(px_abc_read_points(context, scene, 0, 0, points, b->content.positions.data));
    px_polygons_tell(context, b->short_faces, b->odd_uvs, b->odd_normals);
    px_list vertices = {0};
    pelt_result result = px_polygons_build(context, b->model, &b->content, &vertices);
    px_free(context, vertices.data);
    return result;
}

pelt_result px_abc_build(abc_archive *archive, pelt_model *model, const abc_scene *scene) {
    builder b = {.archive = archive, .scene = scene, .model = model};
    pelt_result result = build(&b);
    px_free(archive->context, b.pieces);
    px_polygons_free(archive->context, &b.content);
    return result;
}
