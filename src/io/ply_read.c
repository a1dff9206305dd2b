/* Reads the body of a PLY file: one element after the other, each a number of records of its properties.
 *
 * Numbers in ASCII files are separated by any white space, since files break lines at any place. Every count is checked
 * against the remaining bytes before it is used for an allocation or a loop.
 */
#include "core/classes.h"
#include "io/ply.h"

#include <math.h>

/* Number of records between two progress reports. */
#define REPORT_COUNT ((uint64_t)1 << 17)

typedef struct reader {
    pelt_context *context;
    const uint8_t *p, *end;
    ply_header header;
    const ply_element *element; /* current element */
    uint64_t record;            /* index of its current record */
    uint64_t vertex_count;
    px_polygons content;
    px_list points;                           /* uint32_t, PLY_POINT of each vertex; empty: none */
    bool face_uvs;                            /* texture coordinates come from the faces, not from the vertices */
    size_t short_faces, odd_uvs, odd_normals; /* counts for px_polygons_tell */
} reader;

/* ---- Values ----------------------------------------------------------------------------------------------- */

/* Fails with the place: "vertex 12: …". */
static pelt_result fail(const reader *r, const char *what) {
    int size = (int)px_min_size(r->element->name.size, 40);
    return px_fail(r->context, PELT_ERROR_INPUT, "%.*s %llu: %s", size, r->element->name.data,
                   (unsigned long long)r->record, what);
}

static pelt_result fail_cut(const reader *r) {
    return fail(r, "the file ends here, before all of it was read");
}

static bool is_blank(uint8_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static double decode(const uint8_t *p, ply_type type, bool big) {
    size_t size = px_ply_size(type);
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)p[big ? size - 1 - i : i] << 8 * i;
    switch (type) {
    case PLY_I8:
        return (int8_t)bits;
    case PLY_I16:
        return (int16_t)bits;
    case PLY_I32:
        return (int32_t)bits;
    case PLY_F32:
        return (double)px_float_from_bits((uint32_t)bits);
    case PLY_F64:
        return px_double_from_bits(bits);
    default:
        return (double)bits;
    }
}

static pelt_result read_word(reader *r, double *value) {
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    const char *start = (const char *)r->p, *end = (const char *)r->end;
    if (r->p == r->end)
        return fail_cut(r);
    const char *next = px_parse_double(start, end, value);
    while (r->p < r->end && !is_blank(*r->p))
        r->p++;
    if (px_is_not_finite(start, end))
        *value = NAN;
    else if (next == start || next != (const char *)r->p)
        return fail(r, "there is something else where a number should be");
    return PELT_OK;
}

static inline pelt_result read_value(reader *r, ply_type type, double *value) {
    if (r->header.encoding == PLY_ASCII)
        return read_word(r, value);
    size_t size = px_ply_size(type);
    if ((size_t)(r->end - r->p) < size)
        return fail_cut(r);
    *value = decode(r->p, type, r->header.encoding == PLY_BIG);
    r->p += size;
    return PELT_OK;
}

/* Whether the rest of the file can hold `count` values of `size` bytes. In ASCII, a value takes at least two bytes: a
 * digit and a separator. */
static bool has_room(const reader *r, uint64_t count, size_t size) {
    size_t left = (size_t)(r->end - r->p);
    return r->header.encoding == PLY_ASCII ? count <= (left + 1) / 2 : count <= left / size;
}

static pelt_result read_length(reader *r, const ply_property *list, uint64_t *length) {
    double value;
    PX_TRY(read_value(r, list->count_type, &value));
    if (!(value >= 0) || value != floor(value))
        return fail(r, "the length of a list is no number from 0 up");
    if (value > 0x1p53 || !has_room(r, (uint64_t)value, px_ply_size(list->type)))
        return fail(r, "a list is longer than the rest of the file");
    *length = (uint64_t)value;
    return PELT_OK;
}

static pelt_result skip_property(reader *r, const ply_property *property) {
    uint64_t length = 1;
    if (property->count_type != PLY_NONE)
        PX_TRY(read_length(r, property, &length));
    double value;
    if (r->header.encoding != PLY_ASCII && property->count_type != PLY_NONE)
        r->p += length * px_ply_size(property->type);
    else
        for (; length; length--)
            PX_TRY(read_value(r, property->type, &value));
    return PELT_OK;
}

/* ---- Vertices --------------------------------------------------------------------------------------------- */

/* Bit set of the slots that the element's properties fill. */
static uint32_t filled_slots(const reader *r, const ply_property *properties) {
    uint32_t slots = 0;
    for (size_t i = 0; i < r->element->property_count; i++)
        slots |= properties[i].slot < PLY_SLOT_COUNT ? 1u << properties[i].slot : 0;
    return slots;
}

/* Reserves `width` floats per vertex if the element has all slots [slot, slot + width); *found: whether it has them. */
static pelt_result reserve(reader *r, px_list *list, uint32_t slots, uint32_t slot, uint32_t width, bool *found) {
    uint32_t wanted = ((1u << width) - 1) << slot;
    *found = (slots & wanted) == wanted;
    if (*found && !px_list_room(r->context, list, px_size(width * r->vertex_count), sizeof(float)))
        return PELT_ERROR_MEMORY;
    return PELT_OK;
}

/* Appends to a list of sufficient capacity. */
static float *append(px_list *list, const double *values, size_t width) {
    float *out = (float *)list->data + list->count;
    for (size_t i = 0; i < width; i++)
        out[i] = (float)values[i];
    list->count += width;
    return out;
}

static void append_uv(reader *r, const double *values) {
    float *uv = append(&r->content.uvs, values, 2);
    if (!isfinite(uv[0]) || !isfinite(uv[1])) {
        uv[0] = uv[1] = 0;
        r->odd_uvs++;
    }
}

static pelt_result keep_vertex(reader *r, const double *values, bool has_points) {
    const float *position = append(&r->content.positions, values + PLY_SLOT_POSITION, 3);
    if (!isfinite(position[0]) || !isfinite(position[1]) || !isfinite(position[2]))
        return fail(r, "the position is not finite");
    if (r->content.normals_by_point)
        r->odd_normals += !px_unit_normal(append(&r->content.normals, values + PLY_SLOT_NORMAL, 3));
    if (r->content.uvs_by_point)
        append_uv(r, values + PLY_SLOT_UV);
    if (!has_points)
        return PELT_OK;
    if (!(values[PLY_SLOT_POINT] >= 0 && values[PLY_SLOT_POINT] < (double)r->vertex_count))
        return fail(r, "there is no such " PLY_POINT);
    ((uint32_t *)r->points.data)[r->points.count++] = (uint32_t)values[PLY_SLOT_POINT];
    return PELT_OK;
}

static pelt_result read_vertices(reader *r, const ply_property *properties) {
    px_polygons *content = &r->content;
    uint32_t slots = filled_slots(r, properties);
    bool has_positions, has_points;
    PX_TRY(reserve(r, &content->positions, slots, PLY_SLOT_POSITION, 3, &has_positions));
    if (!has_positions)
        return px_fail(r->context, PELT_ERROR_INPUT, "its vertices have no x, y and z");
    PX_TRY(reserve(r, &content->normals, slots, PLY_SLOT_NORMAL, 3, &content->normals_by_point));
    PX_TRY(reserve(r, &content->uvs, r->face_uvs ? 0 : slots, PLY_SLOT_UV, 2, &content->uvs_by_point));
    PX_TRY(reserve(r, &r->points, slots, PLY_SLOT_POINT, 1, &has_points));
    for (r->record = 0; r->record < r->element->count; r->record++) {
        double values[PLY_SLOT_COUNT] = {0};
        for (size_t i = 0; i < r->element->property_count; i++)
            if (properties[i].slot < PLY_SLOT_COUNT)
                PX_TRY(read_value(r, properties[i].type, &values[properties[i].slot]));
            else
                PX_TRY(skip_property(r, &properties[i]));
        PX_TRY(keep_vertex(r, values, has_points));
        if (r->record % REPORT_COUNT == 0)
            PX_TRY(px_progress(r->context, "read", r->record, r->element->count));
    }
    return PELT_OK;
}

/* ---- Faces ------------------------------------------------------------------------------------------------ */

/* Reads a vertex index and converts it to count from 1. 0 stands for -1, which ends a strip. */
static pelt_result read_index(reader *r, ply_type type, uint32_t *index) {
    double value;
    PX_TRY(read_value(r, type, &value));
    if (!(value >= -1 && value < (double)r->vertex_count) || value != floor(value))
        return px_fail(r->context, PELT_ERROR_INPUT, "%.*s %llu: uses vertex %g, but the file holds %llu",
                       (int)px_min_size(r->element->name.size, 40), r->element->name.data,
                       (unsigned long long)r->record, value, (unsigned long long)r->vertex_count);
    *index = (uint32_t)(value + 1);
    return PELT_OK;
}

static pelt_result add_polygon(reader *r, size_t corner_count) {
    uint32_t *polygon = px_list_room(r->context, &r->content.polygons, 1, sizeof *polygon);
    if (!polygon)
        return PELT_ERROR_MEMORY;
    *polygon = (uint32_t)corner_count;
    r->content.polygons.count++;
    return PELT_OK;
}

static pelt_result read_indices(reader *r, const ply_property *list) {
    uint64_t length;
    PX_TRY(read_length(r, list, &length));
    px_corner *corners = px_list_room(r->context, &r->content.corners, px_size(length), sizeof *corners);
    if (!corners)
        return PELT_ERROR_MEMORY;
    for (uint64_t c = 0; c < length; c++) {
        corners[c] = (px_corner){0};
        PX_TRY(read_index(r, list->type, &corners[c].point));
        if (corners[c].point == 0)
            return fail(r, "uses vertex -1");
    }
    r->content.corners.count += length;
    return PELT_OK;
}

static pelt_result read_texcoords(reader *r, const ply_property *list) {
    uint64_t length;
    PX_TRY(read_length(r, list, &length));
    if (!px_list_room(r->context, &r->content.uvs, px_size(length + length % 2), sizeof(float)))
        return PELT_ERROR_MEMORY;
    for (double uv[2]; length >= 2; length -= 2) {
        PX_TRY(read_value(r, list->type, &uv[0]));
        PX_TRY(read_value(r, list->type, &uv[1]));
        append_uv(r, uv);
    }
    double odd;
    return length ? read_value(r, list->type, &odd) : PELT_OK;
}

static pelt_result read_face(reader *r, const ply_property *properties) {
    px_list *corners = &r->content.corners, *uvs = &r->content.uvs;
    size_t first = corners->count, first_uv = uvs->count / 2;
    for (size_t i = 0; i < r->element->property_count; i++)
        if (properties[i].slot == PLY_SLOT_INDICES)
            PX_TRY(read_indices(r, &properties[i]));
        else if (properties[i].slot == PLY_SLOT_TEXCOORD)
            PX_TRY(read_texcoords(r, &properties[i]));
        else
            PX_TRY(skip_property(r, &properties[i]));
    size_t count = corners->count - first;
    bool fits = r->face_uvs && uvs->count / 2 - first_uv == count;
    for (size_t c = 0; fits && c < count; c++)
        ((px_corner *)corners->data)[first + c].uv = (uint32_t)(first_uv + c + 1);
    if (count >= 3)
        return add_polygon(r, count);
    corners->count = first;
    r->short_faces++;
    return PELT_OK;
}

/* Reads triangle strips. Each index forms a triangle with the previous two; every second triangle has reverse winding.
 * -1 begins a new strip. Degenerate triangles are dropped. */
static pelt_result read_strip(reader *r, const ply_property *list) {
    uint64_t length, run = 0;
    PX_TRY(read_length(r, list, &length));
    uint32_t last[3] = {0};
    for (; length; length--) {
        last[0] = last[1];
        last[1] = last[2];
        PX_TRY(read_index(r, list->type, &last[2]));
        run = last[2] ? run + 1 : 0;
        if (run < 3 || last[0] == last[1] || last[1] == last[2] || last[2] == last[0])
            continue;
        px_corner *corners = px_list_room(r->context, &r->content.corners, 3, sizeof *corners);
        if (!corners)
            return PELT_ERROR_MEMORY;
        for (size_t c = 0; c < 3; c++)
            corners[c] = (px_corner){.point = last[run % 2 || c == 0 ? c : 3 - c]};
        r->content.corners.count += 3;
        PX_TRY(add_polygon(r, 3));
    }
    return PELT_OK;
}

static pelt_result read_other(reader *r, const ply_property *properties) {
    bool faces = px_text_is(r->element->name, "face"), strips = px_text_is(r->element->name, "tristrips");
    for (r->record = 0; r->record < r->element->count; r->record++) {
        if (faces)
            PX_TRY(read_face(r, properties));
        for (size_t i = 0; !faces && i < r->element->property_count; i++)
            if (strips && properties[i].slot == PLY_SLOT_INDICES)
                PX_TRY(read_strip(r, &properties[i]));
            else
                PX_TRY(skip_property(r, &properties[i]));
        if (r->record % REPORT_COUNT == 0)
            PX_TRY(px_progress(r->context, "read", r->record, r->element->count));
    }
    return PELT_OK;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

/* Finds the number of vertices, since faces may precede them, and whether faces have texture coordinates. */
static pelt_result prepare(reader *r) {
    const ply_element *elements = r->header.elements.data;
    const ply_property *properties = r->header.properties.data;
    for (size_t e = 0; e < r->header.elements.count; e++) {
        if (px_text_is(elements[e].name, "vertex")) {
            if (r->vertex_count)
                return px_fail(r->context, PELT_ERROR_INPUT, "has two elements 'vertex'");
            r->vertex_count = elements[e].count;
        }
        for (size_t i = 0; i < elements[e].property_count; i++)
            r->face_uvs |= properties[elements[e].first_property + i].slot == PLY_SLOT_TEXCOORD &&
                           px_text_is(elements[e].name, "face");
    }
    if (r->vertex_count == 0)
        return px_fail(r->context, PELT_ERROR_INPUT, "holds no vertices");
    if (r->vertex_count >= PELT_NONE)
        return px_fail(r->context, PELT_ERROR_UNSUPPORTED, "holds more than %u vertices", PELT_NONE - 1);
    return PELT_OK;
}

/* Minimum size of a record: in bytes, or in words in an ASCII file. */
static size_t record_size(const reader *r, const ply_property *properties) {
    size_t size = 0;
    for (size_t i = 0; i < r->element->property_count; i++) {
        bool is_list = properties[i].count_type != PLY_NONE;
        size_t own = px_ply_size(is_list ? properties[i].count_type : properties[i].type);
        size += r->header.encoding == PLY_ASCII ? 1 : own;
    }
    return size;
}

static pelt_result read_elements(reader *r) {
    const ply_element *elements = r->header.elements.data;
    for (size_t e = 0; e < r->header.elements.count; e++) {
        r->element = &elements[e];
        r->record = 0;
        if (r->element->property_count == 0)
            continue;
        const ply_property *properties = (const ply_property *)r->header.properties.data + r->element->first_property;
        size_t size = record_size(r, properties);
        uint64_t count = r->element->count;
        if (count > UINT64_MAX / size || !has_room(r, count * size, 1))
            return px_fail(r->context, PELT_ERROR_INPUT, "is cut off: it promises %llu of '%.*s', more than follow",
                           (unsigned long long)count, (int)px_min_size(r->element->name.size, 40),
                           r->element->name.data);
        PX_TRY(px_text_is(r->element->name, "vertex") ? read_vertices(r, properties) : read_other(r, properties));
    }
    if (r->content.positions.count == 0)
        return px_fail(r->context, PELT_ERROR_INPUT, "its vertices have no x, y and z");
    if (r->content.corners.count >= PELT_NONE || r->content.uvs.count / 2 >= PELT_NONE)
        return px_fail(r->context, PELT_ERROR_UNSUPPORTED, "holds more than %u corners", PELT_NONE - 1);
    return PELT_OK;
}

/* Assigns vertices to points by PLY_POINT. */
static pelt_result join_points(reader *r, pelt_mesh *mesh, px_arena *memory) {
    const uint32_t *points = r->points.data;
    if (r->points.count == 0)
        return PELT_OK;
    uint32_t *of = PX_NEW(memory, uint32_t, mesh->vertex_count), last = 0;
    if (!of)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        of[i] = points[pelt_vertex_class(&mesh->points, i)];
        last = of[i] > last ? of[i] : last;
    }
    return px_classes_make(memory, mesh->vertex_count, last < PELT_NONE ? last + 1 : last, of, &mesh->points);
}

static pelt_result build(reader *r, pelt_model *model) {
    px_list vertices = {0};
    pelt_mesh *mesh = &model->mesh;
    pelt_result result = px_polygons_build(r->context, model, &r->content, &vertices);
    px_free(r->context, vertices.data);
    PX_TRY(result);
    PX_TRY(join_points(r, mesh, model->memory));
    if (mesh->triangle_count == 0)
        return PELT_OK;
    mesh->parts = PX_NEW(model->memory, pelt_part, 1);
    if (!mesh->parts)
        return PELT_ERROR_MEMORY;
    mesh->parts[0] = (pelt_part){.name = "", .triangle_count = mesh->triangle_count, .joint = PELT_NONE};
    mesh->part_count = 1;
    return PELT_OK;
}

pelt_result px_ply_read(const px_read *read) {
    reader r = {.context = read->context};
    pelt_result result = px_ply_read_header(read->context, &read->file, &r.header);
    r.p = read->file.data + r.header.size;
    r.end = read->file.data + read->file.size;
    if (result == PELT_OK)
        result = prepare(&r);
    if (result == PELT_OK)
        result = read_elements(&r);
    if (result == PELT_OK) {
        px_polygons_tell(r.context, r.short_faces, r.odd_uvs, r.odd_normals);
        result = build(&r, read->model);
    }
    px_polygons_free(r.context, &r.content);
    px_free(r.context, r.points.data);
    px_free(r.context, r.header.elements.data);
    px_free(r.context, r.header.properties.data);
    return result;
}
