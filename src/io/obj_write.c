/* OBJ writer: points in their order, distinct texture coordinates and normals, polygons reassembled from their triangle
 * fans. With the document of an OBJ file, restores its libraries, object and group names and corners without texture
 * coordinate or normal. On request all parts are written as one object, so that importers keep the point order and
 * point caches still match. */
#include "io/obj.h"

#include <math.h>

/* Text is buffered and written in pieces of about this size. */
#define PIECE_SIZE ((size_t)1 << 16)

typedef struct writer {
    pelt_context *context;
    const pelt_mesh *mesh;
    const obj_document *document; /* NULL: none, or it does not fit the mesh */
    bool one_object;              /* no `o`; parts are groups; `l` elements for points without faces */
    px_output_file *file;
    px_buffer text;
    uint32_t *uv_numbers;     /* [vertex] index of its `vt`, counted from 1; 0: none. NULL: the mesh has none */
    uint32_t *normal_numbers; /* [vertex] index of its `vn`, counted from 1; 0: none. NULL: the mesh has none */
} writer;

static pelt_result hand_on(writer *w) {
    pelt_result result = w->text.failed ? PELT_ERROR_MEMORY : px_output_write(w->file, w->text.data, w->text.size);
    w->text.size = 0;
    return result;
}

static inline pelt_result line_end(writer *w) {
    px_buffer_add(&w->text, "\n", 1);
    return w->text.size >= PIECE_SIZE || w->text.failed ? hand_on(w) : PELT_OK;
}

/* Writes a line such as "v 1 2 3". `number` is the vertex, for messages. */
static pelt_result write_values(writer *w, const char *keyword, const float *values, int count, size_t number) {
    px_buffer_text(&w->text, keyword);
    for (int i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return px_fail(w->context, PELT_ERROR_OUTPUT, "the %s of vertex %zu is not finite, OBJ cannot hold it",
                           keyword[1] == ' '   ? "position"
                           : keyword[1] == 't' ? "texture coordinate"
                                               : "normal",
                           number);
        px_buffer_add(&w->text, " ", i > 0);
        px_buffer_float(&w->text, values[i]);
    }
    return line_end(w);
}

/* ---- Points ----------------------------------------------------------------------------------------------- */

static pelt_result write_points(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    for (uint32_t p = 0; p < mesh->points.count; p++) {
        size_t i = pelt_class_vertex(&mesh->points, p);
        PX_TRY(write_values(w, "v ", mesh->positions + 3 * i, 3, i));
    }
    return PELT_OK;
}

/* ---- Texture coordinates and normals ---------------------------------------------------------------------- */

static inline uint64_t hash_values(const float *values, int count) {
    uint64_t h = 0;
    for (int i = 0; i < count; i++)
        h = (h ^ px_float_bits(values[i])) * UINT64_C(0x9E3779B97F4A7C15) ^ h >> 29;
    return h ^ h >> 32;
}

typedef struct attribute {
    const char *keyword;
    const float *values;     /* [vertex][width], or NULL */
    int width;               /* numbers per vertex */
    const uint32_t *sources; /* [vertex] its index in the file, counted from 1; 0: none. NULL: no document */
    uint32_t *table;         /* first vertex with a value + 1; 0: empty. By index in the file, else by hash */
    size_t table_size;       /* number of entries; by hash: a power of 2, at least twice the vertices */
} attribute;

static inline bool same_values(const attribute *a, size_t i, size_t j) {
    size_t width = (size_t)a->width;
    return memcmp(a->values + i * width, a->values + j * width, width * sizeof(float)) == 0;
}

/* The table entry of a vertex's value. */
static inline uint32_t *find_slot(const attribute *a, size_t vertex) {
    if (a->sources)
        return &a->table[a->sources[vertex] - 1];
    size_t mask = a->table_size - 1, at = hash_values(a->values + vertex * (size_t)a->width, a->width) & mask;
    while (a->table[at] && !same_values(a, a->table[at] - 1, vertex))
        at = (at + 1) & mask;
    return &a->table[at];
}

/* Writes each distinct value once and stores its index in `numbers` [vertex]. If vertices shared an index in the file
 * but their values differ now, those that differ from the first vertex are written for each vertex. */
static pelt_result write_distinct(writer *w, const attribute *a, uint32_t *numbers) {
    uint32_t count = 0;
    for (size_t i = 0; i < w->mesh->vertex_count; i++) {
        if (a->sources && a->sources[i] == 0)
            continue;
        uint32_t *slot = find_slot(a, i);
        if (*slot && same_values(a, *slot - 1, i)) {
            numbers[i] = numbers[*slot - 1];
            continue;
        }
        if (!*slot)
            *slot = (uint32_t)i + 1;
        numbers[i] = ++count;
        PX_TRY(write_values(w, a->keyword, a->values + i * (size_t)a->width, a->width, i));
    }
    return PELT_OK;
}

/* Writes one attribute. `source_count`: upper bound of the indices in a.sources. */
static pelt_result write_attribute(writer *w, attribute a, uint32_t source_count, uint32_t **numbers) {
    if (!a.values)
        return PELT_OK;
    a.table_size = a.sources ? source_count : 64;
    while (!a.sources && a.table_size < (size_t)2 * w->mesh->vertex_count)
        a.table_size *= 2;
    *numbers = PX_ALLOC(w->context, uint32_t, w->mesh->vertex_count);
    a.table = PX_ALLOC(w->context, uint32_t, a.table_size);
    pelt_result result = *numbers && a.table ? write_distinct(w, &a, *numbers) : PELT_ERROR_MEMORY;
    px_free(w->context, a.table);
    return result;
}

/* ---- Polygons --------------------------------------------------------------------------------------------- */

static void write_corner(writer *w, uint32_t vertex) {
    const pelt_mesh *mesh = w->mesh;
    uint32_t uv = w->uv_numbers ? w->uv_numbers[vertex] : 0;
    uint32_t normal = w->normal_numbers ? w->normal_numbers[vertex] : 0;
    px_buffer_add(&w->text, " ", 1);
    px_buffer_uint(&w->text, (uint64_t)1 + pelt_vertex_class(&mesh->points, vertex));
    if (uv || normal)
        px_buffer_add(&w->text, "/", 1);
    if (uv)
        px_buffer_uint(&w->text, uv);
    if (normal) {
        px_buffer_add(&w->text, "/", 1);
        px_buffer_uint(&w->text, normal);
    }
}

/* Writes triangles [first, end) as polygons. All belong to one part, or none belongs to any. */
static pelt_result write_polygons(writer *w, uint32_t first, uint32_t end) {
    const pelt_mesh *mesh = w->mesh;
    for (uint32_t t = first; t < end;) {
        const uint32_t *v = mesh->triangles + (size_t)3 * t;
        px_buffer_add(&w->text, "f", 1);
        for (int c = 0; c < 3; c++)
            write_corner(w, v[c]);
        uint32_t next = px_polygon_end(mesh, t, end);
        for (t++, v += 3; t < next; t++, v += 3)
            write_corner(w, v[2]);
        PX_TRY(line_end(w));
    }
    return PELT_OK;
}

/* Names may come from any format: characters that would end or continue the line become '_'. */
static pelt_result write_name(writer *w, const char *keyword, const char *name) {
    px_buffer_text(&w->text, keyword);
    for (const char *c = name ? name : ""; *c; c++) {
        bool bad = (unsigned char)*c < 32 || (*c == '\\' && c[1] == 0);
        px_buffer_add(&w->text, c == name ? " " : "", c == name);
        px_buffer_add(&w->text, bad ? "_" : c, 1);
    }
    return line_end(w);
}

static bool same_name(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Writes the names in which a part differs from the previous one. */
static pelt_result write_names(writer *w, uint32_t index, obj_names *last, const char **last_material) {
    const pelt_part *part = &w->mesh->parts[index];
    obj_names names = {.object = part->name};
    if (w->document)
        names = w->document->part_names[index];
    if (w->one_object)
        names = (obj_names){.object = last->object, .group = names.group ? names.group : names.object};
    bool new_object = !same_name(names.object, last->object) || (!names.group && last->group && !w->one_object);
    if (new_object)
        PX_TRY(write_name(w, "o", names.object));
    if ((names.group || w->one_object) && (new_object || !same_name(names.group, last->group)))
        PX_TRY(write_name(w, "g", names.group));
    if (!same_name(part->material, *last_material))
        PX_TRY(write_name(w, "usemtl", part->material));
    *last = names;
    *last_material = part->material;
    return PELT_OK;
}

/* Parts are in the order of their triangles; triangles outside of all parts keep their place. */
static pelt_result write_parts(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    obj_names last = {0};
    const char *last_material = NULL;
    uint32_t done = 0;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (part->triangle_count == 0 || part->first_triangle < done)
            continue;
        PX_TRY(write_polygons(w, done, part->first_triangle));
        PX_TRY(write_names(w, p, &last, &last_material));
        done = part->first_triangle + part->triangle_count;
        PX_TRY(write_polygons(w, part->first_triangle, done));
    }
    return write_polygons(w, done, mesh->triangle_count);
}

/* Writes lines ("l 7 9", "l 12 9") through points without faces. Importers drop unused points, and the later points
 * would no longer match a point cache. */
static pelt_result write_lines(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    bool *used = PX_ALLOC(w->context, bool, mesh->points.count);
    if (!used)
        return PELT_ERROR_MEMORY;
    for (size_t c = 0; c < (size_t)3 * mesh->triangle_count; c++)
        used[pelt_vertex_class(&mesh->points, mesh->triangles[c])] = true;
    pelt_result result = PELT_OK;
    uint32_t open = PELT_NONE, last = PELT_NONE; /* first point of the next line; second point of the last line */
    for (uint32_t p = 0; p <= mesh->points.count && result == PELT_OK; p++) {
        bool end = p == mesh->points.count;
        if (!end && used[p])
            continue;
        if (!end && open == PELT_NONE) {
            open = p;
            continue;
        }
        uint32_t other = !end ? p : last != PELT_NONE ? last : open == 0 ? 1 : 0;
        if (open == PELT_NONE || other >= mesh->points.count)
            continue;
        px_buffer_text(&w->text, "l ");
        px_buffer_uint(&w->text, (uint64_t)1 + open);
        px_buffer_text(&w->text, " ");
        px_buffer_uint(&w->text, (uint64_t)1 + other);
        result = line_end(w);
        last = other;
        open = PELT_NONE;
    }
    px_free(w->context, used);
    return result;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

/* The model's OBJ document. NULL: there is none, or the mesh has other counts of parts or vertices. */
static const obj_document *find_document(const pelt_model *model) {
    if (!model->document || strcmp(model->document->format, px_format_obj.info.name) != 0)
        return NULL;
    const obj_document *document = model->document->data;
    bool fits = document->part_count == model->mesh.part_count && document->vertex_count == model->mesh.vertex_count;
    return fits ? document : NULL;
}

static pelt_result write_all(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    for (uint32_t i = 0; w->document && i < w->document->library_count; i++)
        PX_TRY(write_name(w, "mtllib", w->document->libraries[i]));
    PX_TRY(write_points(w));
    const obj_document none = {0}, *document = w->document ? w->document : &none;
    attribute uvs = {.keyword = "vt ", .values = mesh->uvs, .width = 2, .sources = document->uvs};
    PX_TRY(write_attribute(w, uvs, document->uv_count, &w->uv_numbers));
    attribute normals = {.keyword = "vn ", .values = mesh->normals, .width = 3, .sources = document->normals};
    PX_TRY(write_attribute(w, normals, document->normal_count, &w->normal_numbers));
    PX_TRY(write_parts(w));
    if (w->one_object)
        PX_TRY(write_lines(w));
    return hand_on(w);
}

pelt_result px_obj_write(const px_write *write) {
    writer w = {.context = write->context,
                .mesh = write->mesh,
                /* A frame has its own normals, but the document shares indices by the normals of the rest pose. */
                .document =
                    write->mesh == &write->model->mesh || !write->mesh->normals ? find_document(write->model) : NULL,
                .one_object = write->desc->one_object};
    w.text.context = write->context;
    PX_TRY(px_output_open(write->output, write->path, &w.file));
    pelt_result result = write_all(&w);
    px_buffer_free(&w.text);
    px_free(w.context, w.uv_numbers);
    px_free(w.context, w.normal_numbers);
    return result;
}
