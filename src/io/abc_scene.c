/* Traversal of the objects of an Alembic file: finds the requested meshes and the transforms above them. */
#include "io/abc.h"

/* Limit on the depth of the object tree. */
#define MAX_DEPTH 256
/* Limit on the bytes of object names in a message. */
#define NAMES_SIZE 200

typedef struct walker {
    abc_archive *archive;
    px_arena *memory;
    const char *wanted; /* without a leading '/'; NULL: all objects */
    px_list xforms;     /* abc_xform */
    px_list meshes;     /* abc_mesh */
    px_text path[MAX_DEPTH];
    uint32_t depth;  /* number of entries in `path` */
    px_buffer names; /* names of meshes that were not requested, for a message */
    size_t others;   /* number of objects of unsupported kinds */
    size_t surfaces; /* number of subdivision surfaces */
    size_t empty;    /* number of meshes without positions */
} walker;

/* ---- Names ------------------------------------------------------------------------------------------------ */

/* Appends the current path, "a/b/c". */
static void add_path(const walker *w, px_buffer *text) {
    for (uint32_t d = 0; d < w->depth; d++) {
        px_buffer_add(text, "/", d > 0);
        px_buffer_add(text, w->path[d].data, w->path[d].size);
    }
}

/* Copies the current path to the model's memory. NULL: out of memory. */
static const char *copy_path(walker *w) {
    px_buffer text = {.context = w->archive->context};
    add_path(w, &text);
    const char *copy = text.failed ? NULL : px_arena_text(w->memory, text.data ? text.data : "", text.size);
    px_buffer_free(&text);
    return copy;
}

/* Whether the object at the end of the current path is requested, by its name or by its full path. */
static bool is_wanted(const walker *w) {
    if (!w->wanted || px_text_is(w->path[w->depth - 1], w->wanted))
        return true;
    const char *p = w->wanted;
    for (uint32_t d = 0; d < w->depth; d++) {
        if (strncmp(p, w->path[d].data, w->path[d].size) != 0)
            return false;
        p += w->path[d].size;
        if (*p != (d + 1 < w->depth ? '/' : 0))
            return false;
        p++;
    }
    return true;
}

static bool has_schema(const abc_object *object, const char *name) {
    px_text schema = px_abc_metadata(object->metadata, "schema");
    size_t size = strlen(name);
    return schema.data && schema.size >= size && memcmp(schema.data, name, size) == 0;
}

/* ---- Meshes ----------------------------------------------------------------------------------------------- */

/* Checks that all samples have the same number of points, since a model has one topology. */
static pelt_result count_points(walker *w, abc_mesh *mesh) {
    abc_archive *archive = w->archive;
    const abc_property *positions = &mesh->positions;
    bool numbers = positions->pod == ABC_F32 || positions->pod == ABC_F64;
    if (positions->kind != ABC_ARRAY || !numbers || positions->extent != 3)
        return px_fail(archive->context, PELT_ERROR_UNSUPPORTED,
                       "object '%s': its positions are no three floats or doubles", mesh->name);
    size_t size = positions->pod == ABC_F32 ? 12 : 24, first = 0;
    PX_TRY(px_abc_spend(archive, px_mul_size(8, px_abc_stored_count(positions))));
    for (uint32_t s = 0; s < px_abc_stored_count(positions); s++) {
        ogawa_data data;
        PX_TRY(px_abc_stored(&archive->file, positions, s, &data));
        if (s == 0)
            first = data.size;
        if (data.size != first)
            return px_fail(archive->context, PELT_ERROR_UNSUPPORTED,
                           "object '%s' changes its topology: it has %zu points at first and %zu later (sample %u); "
                           "export it with the same points and faces in all frames",
                           mesh->name, first / size, data.size / size, positions->first + s - 1);
    }
    if (first % size || first / size >= PELT_NONE)
        return px_fail(archive->context, PELT_ERROR_INPUT, "object '%s': its positions are damaged", mesh->name);
    mesh->point_count = (uint32_t)(first / size);
    return px_abc_claim(archive, mesh->point_count);
}

static pelt_result add_mesh(walker *w, const abc_object *object, uint32_t xform) {
    abc_archive *archive = w->archive;
    abc_mesh *mesh = px_list_room(archive->context, &w->meshes, 1, sizeof *mesh);
    size_t path_size = w->depth;
    for (uint32_t d = 0; d < w->depth; d++)
        path_size += w->path[d].size;
    PX_TRY(px_abc_spend(archive, path_size));
    if (!mesh)
        return PELT_ERROR_MEMORY;
    *mesh = (abc_mesh){.name = copy_path(w), .xform = xform};
    if (!mesh->name)
        return PELT_ERROR_MEMORY;
    abc_compound properties, geometry;
    abc_property compound;
    bool found;
    PX_TRY(px_abc_properties(archive, object->place, &properties));
    PX_TRY(px_abc_find(archive, &properties, ".geom", &compound, &found));
    if (found && compound.kind == ABC_COMPOUND) {
        mesh->geometry = compound.place;
        PX_TRY(px_abc_compound(archive, &compound, &geometry));
        PX_TRY(px_abc_find(archive, &geometry, "P", &mesh->positions, &found));
    }
    if (found && mesh->positions.sample_count)
        PX_TRY(count_points(w, mesh));
    if (mesh->point_count == 0)
        w->empty++;
    else
        w->meshes.count++;
    return PELT_OK;
}

/* ---- Traversal -------------------------------------------------------------------------------------------- */

static pelt_result add_xform(walker *w, const abc_object *object, uint32_t *xform) {
    abc_xform *added = px_list_room(w->archive->context, &w->xforms, 1, sizeof *added);
    if (!added)
        return PELT_ERROR_MEMORY;
    *added = (abc_xform){.parent = *xform};
    PX_TRY(px_abc_read_xform(w->archive, object, added));
    if (added->has_values || added->has_inherits)
        *xform = (uint32_t)w->xforms.count++;
    return PELT_OK;
}

static pelt_result walk(walker *w, uint64_t place, uint32_t xform, bool wanted);

static pelt_result visit(walker *w, const abc_object *object, uint32_t xform, bool wanted) {
    bool surface = has_schema(object, "AbcGeom_SubD_");
    wanted = wanted || is_wanted(w);
    if (has_schema(object, "AbcGeom_Xform_")) {
        PX_TRY(add_xform(w, object, &xform));
    } else if (surface || has_schema(object, "AbcGeom_PolyMesh_")) {
        w->surfaces += surface && wanted;
        if (wanted)
            PX_TRY(add_mesh(w, object, xform));
        else if (w->names.size < NAMES_SIZE) {
            px_buffer_text(&w->names, w->names.size ? ", " : "");
            add_path(w, &w->names);
        }
    } else {
        w->others += px_abc_metadata(object->metadata, "schema").data && !has_schema(object, "AbcGeom_FaceSet_");
    }
    return walk(w, object->place, xform, wanted);
}

static pelt_result walk(walker *w, uint64_t place, uint32_t xform, bool wanted) {
    abc_cursor cursor;
    abc_object child;
    bool found;
    if (w->depth == MAX_DEPTH)
        return px_fail(w->archive->context, PELT_ERROR_INPUT, "is damaged: its objects are more than %d deep",
                       MAX_DEPTH);
    PX_TRY(px_abc_children(w->archive, place, &cursor));
    for (;;) {
        PX_TRY(px_abc_next_child(w->archive, &cursor, &child, &found));
        if (!found)
            return PELT_OK;
        w->path[w->depth++] = child.name;
        PX_TRY(visit(w, &child, xform, wanted));
        w->depth--;
        PX_TRY(px_cancelled(w->archive->context));
    }
}

/* ---- Entry point ------------------------------------------------------------------------------------------- */

static pelt_result fail_nothing(walker *w) {
    if (!w->wanted)
        return px_fail(w->archive->context, PELT_ERROR_INPUT, "holds no mesh with positions");
    if (w->names.failed)
        return PELT_ERROR_MEMORY;
    return px_fail(w->archive->context, PELT_ERROR_INPUT, "has no mesh at or below an object '%s'; its meshes: %.*s%s",
                   w->wanted, (int)px_min_size(w->names.size, NAMES_SIZE), w->names.data ? w->names.data : "",
                   w->names.size > NAMES_SIZE ? " …" : "");
}

static void tell(const walker *w) {
    pelt_context *context = w->archive->context;
    if (w->others)
        px_log(context, PELT_LOG_INFO, "%zu objects that are no meshes or transforms left out", w->others);
    if (w->surfaces)
        px_log(context, PELT_LOG_INFO, "%zu subdivision surfaces read as the meshes that control them", w->surfaces);
    if (w->empty)
        px_log(context, PELT_LOG_WARNING, "%zu meshes without positions left out", w->empty);
}

/* Moves the lists to the model's memory and assigns ranges of points to the meshes. */
static pelt_result finish(walker *w, abc_scene *scene) {
    if (w->meshes.count == 0)
        return fail_nothing(w);
    scene->xforms = PX_NEW(w->memory, abc_xform, w->xforms.count);
    scene->meshes = PX_NEW(w->memory, abc_mesh, w->meshes.count);
    if (!scene->xforms || !scene->meshes)
        return PELT_ERROR_MEMORY;
    if (w->xforms.count)
        memcpy(scene->xforms, w->xforms.data, w->xforms.count * sizeof *scene->xforms);
    memcpy(scene->meshes, w->meshes.data, w->meshes.count * sizeof *scene->meshes);
    scene->xform_count = (uint32_t)w->xforms.count;
    scene->mesh_count = (uint32_t)w->meshes.count;
    uint64_t points = 0;
    for (uint32_t m = 0; m < scene->mesh_count; m++) {
        abc_mesh *mesh = &scene->meshes[m];
        mesh->first_point = (uint32_t)points;
        mesh->moves = px_abc_xform_moves(scene, mesh->xform);
        points += mesh->point_count;
        if (points >= PELT_NONE)
            return px_fail(w->archive->context, PELT_ERROR_UNSUPPORTED, "holds more than %u points", PELT_NONE - 1);
    }
    tell(w);
    return PELT_OK;
}

pelt_result px_abc_read_scene(abc_archive *archive, px_arena *memory, uint64_t top, const char *object,
                              abc_scene *scene) {
    walker *w = PX_ALLOC(archive->context, walker, 1);
    if (!w)
        return PELT_ERROR_MEMORY;
    w->archive = archive;
    w->memory = memory;
    w->wanted = object && *object == '/' ? object + 1 : object;
    w->names.context = archive->context;
    pelt_result result = walk(w, top, PELT_NONE, false);
    if (result == PELT_OK)
        result = finish(w, scene);
    px_free(archive->context, w->xforms.data);
    px_free(archive->context, w->meshes.data);
    px_buffer_free(&w->names);
    px_free(archive->context, w);
    return result;
}
