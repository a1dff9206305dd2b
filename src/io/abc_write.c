/* Alembic writer (Ogawa): each object of the model becomes a PolyMesh below the transforms that its path names, with
 * faces, texture coordinates, normals and one sample per frame; materials become sets of faces. Positions are in world
 * space, transforms are the identity.
 *
 * A file begins with the offset of its root, so the whole layout is computed before the first byte is written, and pipes
 * can be written too. The clip is read twice: first to find the frames in which an object does not move, which refer to
 * the sample before; then to write. The samples of all frames come first, each as key, positions, normals and box of one
 * object, then everything that refers to them. Memory holds one frame and what does not move.
 */
#include "io/abc_write.h"

#include <float.h>
#include <math.h>

/* Period that marks samplings in which each sample has its own time. */
#define ACYCLIC (DBL_MAX / 32)
/* Limit on the depth of the tree of objects, below that of the reader. */
#define MAX_DEPTH 200

/* One PolyMesh: a range of triangles and of points. */
typedef struct object {
    uint32_t node;
    uint32_t first_part, part_count; /* part_count 0: all triangles, of no part */
    uint32_t first_triangle, triangle_count;
    uint32_t first_point, point_count;
    uint32_t first_vertex, vertex_count; /* range of writer.order */
    uint32_t first, last;                /* frames of the first and last change; both 0: it does not move */
    uint8_t key[PX_OGAWA_KEY];           /* hash of all its frames */
} object;

typedef struct writer {
    const px_write *write;
    pelt_context *context;
    const pelt_mesh *mesh;
    const pelt_clip *clip; /* NULL: the mesh does not move */
    uint32_t frame_count;  /* at least 1 */
    px_arena *memory;
    abc_out out;
    uint32_t object_count;
    object *objects;
    uint32_t *order;       /* vertices of the objects' faces, in the order of their first use */
    uint32_t *local;       /* [vertex] its index in the object's part of `order` */
    uint64_t *places;      /* [frame][object] offset of the samples that show the object in this frame */
    float *points;         /* [point][3] one frame */
    float *vertex_normals; /* [vertex][3] one frame; NULL: the mesh has none */
    px_frame_normals normals;
    uint8_t *sample; /* scratch: the largest sample with its size and key */
} writer;

/* ---- Objects ---------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Makes an object of each run of parts with the same name. Returns false if triangles are in no part. */
static bool group_parts(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    uint32_t done = 0;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        if (part->triangle_count == 0)
            continue;
        if (part->first_triangle != done)
            return false;
        object *last = w->object_count ? &w->objects[w->object_count - 1] : NULL;
        if (!last || !same_text(mesh->parts[last->first_part].name, part->name)) {
            last = &w->objects[w->object_count++];
            *last = (object){.first_part = p, .first_triangle = done};
        }
        done += part->triangle_count;
        last->part_count = p + 1 - last->first_part;
        last->triangle_count = done - last->first_triangle;
    }
    return w->object_count > 0 && done == mesh->triangle_count;
}

/* Divides the points among the objects. Returns false unless each object has points of its own, in the order of the
 * objects; points without faces go to the object before them. */
static bool divide_points(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    uint32_t end = 0;
    for (uint32_t o = 0; o < w->object_count; o++) {
        object *own = &w->objects[o];
        uint32_t low = PELT_NONE, high = 0;
        for (size_t c = (size_t)3 * own->first_triangle; c < (size_t)3 * (own->first_triangle + own->triangle_count);
             c++) {
            uint32_t point = pelt_vertex_class(&mesh->points, mesh->triangles[c]);
            low = point < low ? point : low;
            high = point > high ? point : high;
        }
        if (low < end)
            return false;
        own->first_point = o ? low : 0;
        end = high + 1;
    }
    for (uint32_t o = 0; o < w->object_count; o++)
        w->objects[o].point_count =
            (o + 1 < w->object_count ? w->objects[o + 1].first_point : mesh->points.count) - w->objects[o].first_point;
    return true;
}

/* Finds the objects. Parts that share points stay one object, and become sets of its faces. */
static pelt_result find_objects(writer *w) {
    w->objects = PX_NEW(w->memory, object, px_max_size(w->mesh->part_count, 1));
    if (!w->objects)
        return PELT_ERROR_MEMORY;
    if (group_parts(w) && divide_points(w))
        return PELT_OK;
    w->object_count = 1;
    w->objects[0] = (object){.part_count = w->mesh->part_count,
                             .triangle_count = w->mesh->triangle_count,
                             .point_count = w->mesh->points.count};
    return PELT_OK;
}

/* Numbers the vertices of each object by their first use. */
static pelt_result order_vertices(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    w->order = PX_NEW(w->memory, uint32_t, mesh->vertex_count);
    w->local = PX_NEW(w->memory, uint32_t, mesh->vertex_count);
    if (!w->order || !w->local)
        return PELT_ERROR_MEMORY;
    memset(w->local, 0xFF, (size_t)mesh->vertex_count * sizeof *w->local);
    uint32_t count = 0;
    for (uint32_t o = 0; o < w->object_count; o++) {
        object *own = &w->objects[o];
        own->first_vertex = count;
        const uint32_t *corners = mesh->triangles + (size_t)3 * own->first_triangle;
        for (size_t c = 0; c < (size_t)3 * own->triangle_count; c++) {
            if (w->local[corners[c]] != PELT_NONE)
                continue;
            w->local[corners[c]] = count - own->first_vertex;
            w->order[count++] = corners[c];
        }
        own->vertex_count = count - own->first_vertex;
    }
    return PELT_OK;
}

/* ---- Names ------------------------------------------------------------------------------------------------ */

/* The name of the file without folder and extension. */
static px_text file_name(const char *path) {
    const char *name = px_path_name(path), *dot = strrchr(name, '.');
    return (px_text){name, dot && dot > name ? (size_t)(dot - name) : strlen(name)};
}

/* Adds the objects of a path, "body/bodyShape", as Alembic files name their meshes. */
static pelt_result add_path(writer *w, const char *path, uint32_t *node) {
    uint32_t parent = PELT_NONE;
    for (uint32_t depth = 0;; depth++) {
        size_t size = depth < MAX_DEPTH ? strcspn(path, "/") : strlen(path);
        bool last = path[size] == 0;
        PX_TRY(px_abc_add_node(&w->out, parent, path, size, !last, node));
        if (last)
            return PELT_OK;
        parent = *node;
        path += size + 1;
    }
}

/* Adds a transform `name` and below it the node of a mesh, `name`Shape, as other programs do. */
static pelt_result add_pair(writer *w, px_text name, uint32_t *node) {
    uint32_t parent;
    char *shape = PX_NEW(w->memory, char, name.size + 6);
    if (!shape)
        return PELT_ERROR_MEMORY;
    memcpy(shape, name.data, name.size);
    memcpy(shape + name.size, "Shape", 5);
    PX_TRY(px_abc_add_node(&w->out, PELT_NONE, name.data, name.size, false, &parent));
    return px_abc_add_node(&w->out, parent, shape, name.size + 5, false, node);
}

static pelt_result name_objects(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    const char *format = w->write->model->format;
    bool paths = format && strcmp(format, px_format_abc.info.name) == 0;
    for (uint32_t o = 0; o < w->object_count; o++) {
        object *own = &w->objects[o];
        bool whole = own->part_count == 0 ||
                     (w->object_count == 1 && !same_text(mesh->parts[0].name, mesh->parts[own->part_count - 1].name));
        const char *name = whole ? "" : mesh->parts[own->first_part].name;
        if (*name && paths)
            PX_TRY(add_path(w, name, &own->node));
        else
            PX_TRY(add_pair(w, *name ? (px_text){name, strlen(name)} : file_name(w->write->path), &own->node));
    }
    return PELT_OK;
}

/* ---- Frames ----------------------------------------------------------------------------------------------- */

/* Size of a sample of `size` bytes of values. */
static size_t stored_size(size_t size) {
    return 8 + PX_OGAWA_KEY + size;
}

#define BOX_SIZE ((size_t)48)

static size_t positions_size(const object *own) {
    return (size_t)12 * own->point_count;
}

static size_t normals_size(const writer *w, const object *own) {
    return w->vertex_normals ? (size_t)12 * own->vertex_count : 0;
}

/* Size of all samples of one object in one frame. */
static size_t record_size(const writer *w, const object *own) {
    size_t normals = normals_size(w, own);
    return stored_size(positions_size(own)) + (normals ? stored_size(normals) : 0) + stored_size(BOX_SIZE);
}

/* Reads the positions of a frame. */
static pelt_result read_points(writer *w, uint32_t frame) {
    const pelt_mesh *mesh = w->mesh;
    if (w->clip) {
        PX_TRY(pelt_clip_read(w->context, w->clip, frame, 0, mesh->points.count, w->points));
        px_clip_release(w->clip, mesh->points.count);
        return PELT_OK;
    }
    for (size_t p = 0; p < mesh->points.count; p++)
        memcpy(w->points + 3 * p, mesh->positions + (size_t)3 * pelt_class_vertex(&mesh->points, p),
               3 * sizeof *w->points);
    return PELT_OK;
}

/* Finds the frames in which objects change, and assigns places to their samples. *end: offset after the last. */
static pelt_result plan_frames(writer *w, uint64_t *end) {
    w->places = PX_NEW(w->memory, uint64_t, px_mul_size(w->frame_count, w->object_count));
    if (!w->places)
        return PELT_ERROR_MEMORY;
    uint8_t *chain = PX_NEW(w->memory, uint8_t, 2 * PX_OGAWA_KEY * w->object_count); /* the last key, the hash so far */
    if (!chain)
        return PELT_ERROR_MEMORY;
    uint64_t place = PX_OGAWA_HEADER;
    for (uint32_t k = 0; k < w->frame_count; k++) {
        PX_TRY(px_progress(w->context, "plan", k, w->frame_count));
        PX_TRY(read_points(w, k));
        for (uint32_t o = 0; o < w->object_count; o++) {
            object *own = &w->objects[o];
            uint64_t *at = &w->places[(size_t)k * w->object_count + o];
            uint8_t key[PX_OGAWA_KEY], *last = chain + 2 * PX_OGAWA_KEY * o;
            px_ogawa_words(w->sample, w->points + (size_t)3 * own->first_point, (size_t)3 * own->point_count);
            px_ogawa_key(w->sample, positions_size(own), key);
            if (k > 0 && memcmp(key, last, sizeof key) == 0) {
                *at = at[-(ptrdiff_t)w->object_count];
                continue;
            }
            memcpy(last, key, sizeof key);
            px_ogawa_key(last, 2 * PX_OGAWA_KEY, own->key);
            memcpy(last + PX_OGAWA_KEY, own->key, PX_OGAWA_KEY);
            if (k > 0) {
                own->first = own->first ? own->first : k;
                own->last = k;
            }
            *at = place;
            place += record_size(w, own);
        }
    }
    *end = place;
    return PELT_OK;
}

/* Writes the values in w->sample after their size and key. */
static pelt_result write_sample(writer *w, px_output_file *file, size_t size) {
    uint8_t *values = w->sample + stored_size(0);
    px_ogawa_store(w->sample, PX_OGAWA_KEY + size, 8);
    px_ogawa_key(values, size, w->sample + 8);
    return px_output_write(file, w->sample, stored_size(size));
}

/* Smallest and largest coordinates of count points, doubles. Coordinates that are not finite do not count. */
static void store_box(const float *points, size_t count, uint8_t out[BOX_SIZE]) {
    for (size_t c = 0; c < 3; c++) {
        float low = FLT_MAX, high = -FLT_MAX;
        for (size_t i = 0; i < count; i++) {
            float x = points[3 * i + c];
            low = x < low && x >= -FLT_MAX ? x : low;
            high = x > high && x <= FLT_MAX ? x : high;
        }
        px_ogawa_store(out + 8 * c, px_double_bits(low <= high ? (double)low : 0), 8);
        px_ogawa_store(out + 8 * (c + 3), px_double_bits(low <= high ? (double)high : 0), 8);
    }
}

static pelt_result write_record(writer *w, px_output_file *file, const object *own) {
    const float *points = w->points + (size_t)3 * own->first_point;
    uint8_t *values = w->sample + stored_size(0);
    px_ogawa_words(values, points, (size_t)3 * own->point_count);
    PX_TRY(write_sample(w, file, positions_size(own)));
    if (normals_size(w, own)) {
        for (size_t i = 0; i < own->vertex_count; i++)
            px_ogawa_words(values + 12 * i, w->vertex_normals + (size_t)3 * w->order[own->first_vertex + i], 3);
        PX_TRY(write_sample(w, file, normals_size(w, own)));
    }
    store_box(points, own->point_count, values);
    return write_sample(w, file, BOX_SIZE);
}

static pelt_result write_frames(writer *w, px_output_file *file) {
    for (uint32_t k = 0; k < w->frame_count; k++) {
        PX_TRY(px_progress(w->context, "write", k, w->frame_count));
        const uint64_t *at = &w->places[(size_t)k * w->object_count];
        bool changes = k == 0;
        for (uint32_t o = 0; o < w->object_count && !changes; o++)
            changes = at[o] != at[o - (ptrdiff_t)w->object_count];
        if (!changes)
            continue;
        PX_TRY(read_points(w, k));
        if (w->vertex_normals)
            PX_TRY(px_frame_normals_read(w->context, &w->normals, k, w->points, w->vertex_normals));
        for (uint32_t o = 0; o < w->object_count; o++)
            if (k == 0 || at[o] != at[(ptrdiff_t)o - (ptrdiff_t)w->object_count])
                PX_TRY(write_record(w, file, &w->objects[o]));
    }
    return PELT_OK;
}

/* ---- Properties ------------------------------------------------------------------------------------------- */

/* Adds a property with a sample per change. `offset`: of the sample within the samples of a frame. */
static pelt_result add_animated(writer *w, abc_properties *to, abc_header header, const object *own, size_t offset) {
    header.sample_count = w->frame_count;
    header.first = own->first;
    header.last = own->last;
    header.sampling = w->clip != NULL;
    size_t stored = own->last ? (size_t)own->last - own->first + 2 : 1, width = header.kind == ABC_ARRAY ? 2 : 1;
    uint64_t *children = PX_ALLOC(w->context, uint64_t, stored * width);
    if (!children)
        return PELT_ERROR_MEMORY;
    for (size_t s = 0; s < stored; s++) {
        size_t frame = s ? own->first + s - 1 : 0, at = frame * w->object_count + (size_t)(own - w->objects);
        children[s * width] = px_ogawa_data_at(w->places[at] + offset);
        if (width == 2)
            children[s * width + 1] = px_ogawa_data_at(0);
    }
    px_abc_add_samples(&w->out, to, &header, children, stored * width, own->key);
    px_free(w->context, children);
    return PELT_OK;
}

static abc_header constant(const writer *w, const char *name, abc_pod pod, uint32_t extent, abc_text text) {
    return (abc_header){.name = name,
                        .kind = ABC_ARRAY,
                        .pod = pod,
                        .extent = extent,
                        .text = text,
                        .sample_count = w->frame_count,
                        .sampling = w->clip != NULL};
}

/* The faces of an object, clockwise as in Alembic. */
typedef struct faces {
    uint32_t face_count, corner_count;
    uint8_t *counts;   /* [face] u32 */
    uint8_t *points;   /* [corner] u32, counted from the object's first point */
    uint8_t *vertices; /* [corner] u32, counted from the object's first vertex */
    uint32_t *starts;  /* [triangle of the object] index of its face */
} faces;

static pelt_result make_faces(const writer *w, const object *own, faces *f) {
    const pelt_mesh *mesh = w->mesh;
    size_t corners = (size_t)3 * own->triangle_count;
    f->counts = PX_ALLOC(w->context, uint8_t, (size_t)4 * own->triangle_count);
    f->points = PX_ALLOC(w->context, uint8_t, 4 * corners);
    f->vertices = PX_ALLOC(w->context, uint8_t, 4 * corners);
    f->starts = PX_ALLOC(w->context, uint32_t, own->triangle_count);
    if (!f->counts || !f->points || !f->vertices || !f->starts)
        return PELT_ERROR_MEMORY;
    uint32_t stop = own->first_triangle + own->triangle_count, part = own->first_part;
    for (uint32_t t = own->first_triangle; t < stop;) {
        while (part < own->first_part + own->part_count &&
               mesh->parts[part].first_triangle + mesh->parts[part].triangle_count <= t)
            part++;
        bool in_part = part < own->first_part + own->part_count && mesh->parts[part].first_triangle <= t;
        uint32_t limit = in_part ? mesh->parts[part].first_triangle + mesh->parts[part].triangle_count
                         : part < own->first_part + own->part_count ? mesh->parts[part].first_triangle
                                                                    : stop;
        uint32_t end = px_polygon_end(mesh, t, limit < stop ? limit : stop), count = end - t + 2;
        for (uint32_t c = 0; c < count; c++) { /* the first corner, then the others in reverse */
            uint32_t back = c ? count - c : 0;
            uint32_t vertex =
                back < 2 ? mesh->triangles[(size_t)3 * t + back] : mesh->triangles[(size_t)3 * (t + back - 2) + 2];
            size_t at = (size_t)4 * f->corner_count++;
            px_ogawa_store(f->points + at, pelt_vertex_class(&mesh->points, vertex) - own->first_point, 4);
            px_ogawa_store(f->vertices + at, w->local[vertex], 4);
        }
        for (; t < end; t++)
            f->starts[t - own->first_triangle] = f->face_count;
        px_ogawa_store(f->counts + (size_t)4 * f->face_count++, count, 4);
    }
    return PELT_OK;
}

static void free_faces(const writer *w, faces *f) {
    px_free(w->context, f->counts);
    px_free(w->context, f->points);
    px_free(w->context, f->vertices);
    px_free(w->context, f->starts);
}

/* Adds "uv" or "N": .vals that `values` has or that each frame has (offset), and .indices of the corners. */
static pelt_result add_attribute(writer *w, abc_properties *to, const object *own, const faces *f, const float *values,
                                 size_t offset, uint64_t *indices) {
    abc_properties compound = {0};
    abc_text text = values ? ABC_TEXT_UVS : ABC_TEXT_NORMALS;
    abc_header header = constant(w, ".vals", ABC_F32, values ? 2 : 3, text);
    pelt_result result = PELT_OK;
    if (values) {
        size_t size = (size_t)8 * own->vertex_count;
        uint8_t *stored = PX_ALLOC(w->context, uint8_t, size);
        result = stored ? PELT_OK : PELT_ERROR_MEMORY;
        for (size_t i = 0; stored && i < own->vertex_count; i++)
            px_ogawa_words(stored + 8 * i, values + (size_t)2 * w->order[own->first_vertex + i], 2);
        if (stored)
            px_abc_add_constant(&w->out, &compound, &header, stored, size, 0);
        px_free(w->context, stored);
    } else {
        result = add_animated(w, &compound, header, own, offset);
    }
    header = constant(w, ".indices", ABC_U32, 1, ABC_TEXT_NONE);
    if (result == PELT_OK) {
        *indices = px_abc_add_constant(&w->out, &compound, &header, f->vertices, (size_t)4 * f->corner_count, *indices);
        px_abc_add_compound(&w->out, to, values ? "uv" : "N", text, &compound);
    }
    px_abc_free_properties(&compound);
    return result;
}

/* Adds a child of the mesh: the faces of one part, named after its material. */
static pelt_result add_face_set(writer *w, const object *own, const faces *f, uint32_t p, bool by_name) {
    const pelt_part *part = &w->mesh->parts[p];
    const char *name = by_name ? part->name : part->material;
    if (!name || !*name || part->triangle_count == 0)
        return PELT_OK;
    uint32_t node, first = f->starts[part->first_triangle - own->first_triangle];
    uint32_t count = f->starts[part->first_triangle - own->first_triangle + part->triangle_count - 1] + 1 - first;
    PX_TRY(px_abc_add_node(&w->out, own->node, name, strlen(name), false, &node));
    uint8_t *numbers = PX_ALLOC(w->context, uint8_t, (size_t)4 * count), box[BOX_SIZE];
    if (!numbers)
        return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        px_ogawa_store(numbers + (size_t)4 * i, first + i, 4);
    store_box(w->points + (size_t)3 * own->first_point, own->point_count, box);
    abc_properties set = {0}, properties = {0};
    px_abc_add_constant(&w->out, &set,
                        &(abc_header){.name = ".selfBnds",
                                      .kind = ABC_SCALAR,
                                      .pod = ABC_F64,
                                      .extent = 6,
                                      .text = ABC_TEXT_BOX,
                                      .sample_count = 1},
                        box, sizeof box, 0);
    abc_header header = constant(w, ".faces", ABC_I32, 1, ABC_TEXT_NONE);
    header.sample_count = 1;
    header.sampling = 0;
    px_abc_add_constant(&w->out, &set, &header, numbers, (size_t)4 * count, 0);
    px_abc_add_compound(&w->out, &properties, ".faceset", ABC_TEXT_FACES, &set);
    px_abc_fill_node(&w->out, node, ABC_TEXT_FACES_OBJECT, &properties);
    px_free(w->context, numbers);
    return PELT_OK;
}

static pelt_result add_geometry(writer *w, const object *own, const faces *f, abc_properties *geometry) {
    const abc_header box = {.name = ".selfBnds", .kind = ABC_SCALAR, .pod = ABC_F64, .extent = 6, .text = ABC_TEXT_BOX};
    size_t normals_at = stored_size(positions_size(own));
    PX_TRY(add_animated(w, geometry, box, own, record_size(w, own) - stored_size(BOX_SIZE)));
    PX_TRY(add_animated(w, geometry, constant(w, "P", ABC_F32, 3, ABC_TEXT_POSITIONS), own, 0));
    abc_header header = constant(w, ".faceIndices", ABC_I32, 1, ABC_TEXT_NONE);
    px_abc_add_constant(&w->out, geometry, &header, f->points, (size_t)4 * f->corner_count, 0);
    header = constant(w, ".faceCounts", ABC_I32, 1, ABC_TEXT_NONE);
    px_abc_add_constant(&w->out, geometry, &header, f->counts, (size_t)4 * f->face_count, 0);
    uint64_t indices = 0;
    if (w->mesh->uvs && own->vertex_count)
        PX_TRY(add_attribute(w, geometry, own, f, w->mesh->uvs, 0, &indices));
    return normals_size(w, own) ? add_attribute(w, geometry, own, f, NULL, normals_at, &indices) : PELT_OK;
}

static pelt_result add_object(writer *w, const object *own) {
    abc_properties geometry = {0}, properties = {0};
    faces f = {0};
    pelt_result result = make_faces(w, own, &f);
    if (result == PELT_OK)
        result = add_geometry(w, own, &f, &geometry);
    if (result == PELT_OK) {
        px_abc_add_compound(&w->out, &properties, ".geom", ABC_TEXT_MESH, &geometry);
        px_abc_fill_node(&w->out, own->node, ABC_TEXT_MESH_OBJECT, &properties);
    }
    px_abc_free_properties(&geometry);
    bool by_name = own->part_count > 1 && !same_text(w->mesh->parts[own->first_part].name,
                                                     w->mesh->parts[own->first_part + own->part_count - 1].name);
    for (uint32_t p = 0; p < own->part_count && result == PELT_OK; p++)
        result = add_face_set(w, own, &f, own->first_part + p, by_name);
    free_faces(w, &f);
    return result;
}

/* ---- Times ------------------------------------------------------------------------------------------------ */

/* Finds the rate of evenly spaced frames. Times are floats: a rate within their precision of a whole number, or of one
 * divided by 1.001 as in television, is taken for it. Returns false if frames are not evenly spaced. */
static bool find_rate(const pelt_clip *clip, double *start, double *period) {
    uint32_t count = clip->frame_count;
    double first = (double)clip->times[0], last = (double)clip->times[count - 1];
    double tolerance = 2 * (double)FLT_EPSILON * (fabs(first) + fabs(last));
    *start = first;
    *period = count > 1 ? (last - first) / (count - 1) : 1.0 / 24;
    if (!(*period > 0 && *period < FLT_MAX))
        return false;
    double rate = 1 / *period, slack = count > 1 ? rate * rate * tolerance / (count - 1) : 0;
    double whole = floor(rate + 0.5), tv = floor(rate * 1.001 + 0.5) / 1.001;
    double nice = whole >= 1 && fabs(rate - whole) <= slack ? whole : tv >= 0.5 && fabs(rate - tv) <= slack ? tv : 0;
    if (nice > 0) {
        *period = 1 / nice;
        double frame = floor(first * nice + 0.5);
        if (fabs(first - frame / nice) <= tolerance)
            *start = frame / nice;
    }
    for (uint32_t k = 0; k < count; k++)
        if (!(fabs(*start + k * *period - (double)clip->times[k]) <= tolerance))
            return false;
    return true;
}

/* ---- Entry point ------------------------------------------------------------------------------------------ */

static pelt_result prepare(writer *w) {
    const pelt_mesh *mesh = w->mesh;
    if (mesh->points.count == 0)
        return px_fail(w->context, PELT_ERROR_INPUT, "there is no mesh to write");
    PX_TRY(find_objects(w));
    PX_TRY(order_vertices(w));
    PX_TRY(name_objects(w));
    size_t largest = (size_t)12 * px_max_size(mesh->points.count, mesh->vertex_count);
    w->points = PX_NEW(w->memory, float, (size_t)3 * mesh->points.count);
    w->sample = PX_NEW(w->memory, uint8_t, stored_size(px_max_size(largest, BOX_SIZE)));
    if (!w->points || !w->sample)
        return PELT_ERROR_MEMORY;
    uint32_t rule = w->write->desc->normals;
    if (!px_frame_normals_exist(mesh, w->clip, rule))
        return PELT_OK;
    w->vertex_normals = PX_NEW(w->memory, float, (size_t)3 * mesh->vertex_count);
    return w->vertex_normals ? px_frame_normals_begin(w->context, w->memory, mesh, w->clip, rule, &w->normals)
                             : PELT_ERROR_MEMORY;
}

static pelt_result write_file(writer *w) {
    PX_TRY(prepare(w));
    PX_TRY(plan_frames(w, &w->out.file.base));
    for (uint32_t o = 0; o < w->object_count; o++)
        PX_TRY(add_object(w, &w->objects[o]));
    uint64_t root;
    double start = 0, period = 0, *times = &start;
    uint32_t time_count = w->clip != NULL;
    if (w->clip && !find_rate(w->clip, &start, &period)) {
        period = ACYCLIC;
        time_count = w->frame_count;
        times = PX_NEW(w->memory, double, time_count);
        if (!times)
            return PELT_ERROR_MEMORY;
        for (uint32_t k = 0; k < time_count; k++)
            times[k] = (double)w->clip->times[k];
    }
    PX_TRY(px_abc_end(&w->out, period, times, time_count, w->frame_count, &root));
    uint8_t header[PX_OGAWA_HEADER];
    px_ogawa_header(root, header);
    px_output_file *file;
    PX_TRY(px_output_open(w->write->output, w->write->path, &file));
    PX_TRY(px_output_write(file, header, sizeof header));
    PX_TRY(write_frames(w, file));
    return px_output_write(file, w->out.file.bytes.data, w->out.file.bytes.size);
}

pelt_result px_abc_write(const px_write *write) {
    const pelt_model *model = write->model;
    bool moves = model->clip_count > 0 && !write->desc->skip_clips;
    writer w = {.write = write,
                .context = write->context,
                .mesh = write->mesh,
                .clip = moves ? &model->clips[write->desc->clip] : NULL,
                .memory = px_arena_create(write->context)};
    if (!w.memory)
        return PELT_ERROR_MEMORY;
    w.frame_count = w.clip ? w.clip->frame_count : 1;
    w.out = (abc_out){.context = w.context, .memory = w.memory, .file.bytes.context = w.context};
    pelt_result result = w.frame_count
                             ? write_file(&w)
                             : px_fail(w.context, PELT_ERROR_INPUT, "the clip '%s' has no frames", w.clip->name);
    px_buffer_free(&w.out.file.bytes);
    px_free(w.context, w.out.nodes.data);
    px_free(w.context, w.out.table);
    px_arena_destroy(w.memory);
    return result;
}
