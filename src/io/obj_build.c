/* Makes a model from the lists of an OBJ file: the mesh, its parts, and the document of data that only OBJ has. */
#include "io/obj.h"

typedef struct builder {
    pelt_model *model;
    obj_content *content;
    px_list vertices; /* px_corner */
} builder;

/* Copies `text` to the model's memory; no text gives NULL. Returns false if out of memory. */
static bool copy_text(builder *b, px_text text, const char **copy) {
    *copy = text.data ? px_arena_text(b->model->memory, text.data, text.size) : NULL;
    return *copy || !text.data;
}

static pelt_result fill_parts(builder *b, obj_document *document) {
    pelt_mesh *mesh = &b->model->mesh;
    const obj_section *sections = b->content->sections.data;
    size_t count = b->content->sections.count;
    mesh->parts = PX_NEW(b->model->memory, pelt_part, count);
    document->part_names = PX_NEW(b->model->memory, obj_names, count);
    if (!mesh->parts || !document->part_names)
        return PELT_ERROR_MEMORY;
    mesh->part_count = document->part_count = (uint32_t)count;
    const uint32_t *polygons = b->content->mesh.polygons.data;
    uint32_t polygon = 0, triangle = 0;
    for (size_t s = 0; s < count; s++) {
        pelt_part *part = &mesh->parts[s];
        obj_names *names = &document->part_names[s];
        *part = (pelt_part){.first_triangle = triangle, .joint = PELT_NONE};
        size_t end = s + 1 < count ? sections[s + 1].first_polygon : b->content->mesh.polygons.count;
        for (; polygon < end; polygon++)
            triangle += polygons[polygon] - 2;
        part->triangle_count = triangle - part->first_triangle;
        if (!copy_text(b, sections[s].object, &names->object) || !copy_text(b, sections[s].group, &names->group) ||
            !copy_text(b, sections[s].material, &part->material))
            return PELT_ERROR_MEMORY;
        part->name = names->group ? names->group : names->object ? names->object : "";
    }
    return PELT_OK;
}

/* Stores the file's indices of texture coordinates and normals, so that the writer keeps equal values apart. */
static pelt_result fill_sources(builder *b, obj_document *document) {
    const px_corner *vertices = b->vertices.data;
    const pelt_mesh *mesh = &b->model->mesh;
    size_t count = document->vertex_count = mesh->vertex_count;
    document->uv_count = (uint32_t)(b->content->mesh.uvs.count / 2);
    document->normal_count = (uint32_t)(b->content->mesh.normals.count / 3);
    document->uvs = mesh->uvs ? PX_NEW(b->model->memory, uint32_t, count) : NULL;
    document->normals = mesh->normals ? PX_NEW(b->model->memory, uint32_t, count) : NULL;
    if ((mesh->uvs && !document->uvs) || (mesh->normals && !document->normals))
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; document->uvs && i < count; i++)
        document->uvs[i] = vertices[i].uv;
    for (size_t i = 0; document->normals && i < count; i++)
        document->normals[i] = vertices[i].normal;
    return PELT_OK;
}

static pelt_result fill_document(builder *b) {
    px_arena *memory = b->model->memory;
    px_document *outer = PX_NEW(memory, px_document, 1);
    obj_document *document = PX_NEW(memory, obj_document, 1);
    size_t count = b->content->libraries.count;
    const char **libraries = PX_NEW(memory, const char *, count);
    if (!outer || !document || !libraries)
        return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (!copy_text(b, ((const px_text *)b->content->libraries.data)[i], &libraries[i]))
            return PELT_ERROR_MEMORY;
    document->libraries = libraries;
    document->library_count = (uint32_t)count;
    PX_TRY(fill_parts(b, document));
    PX_TRY(fill_sources(b, document));
    *outer = (px_document){px_format_obj.info.name, document};
    b->model->document = outer;
    return PELT_OK;
}

pelt_result px_obj_build(pelt_context *context, pelt_model *model, obj_content *content) {
    builder b = {.model = model, .content = content};
    pelt_result result = px_polygons_build(context, model, &content->mesh, &b.vertices);
    if (result == PELT_OK)
        result = fill_document(&b);
    px_free(context, b.vertices.data);
    return result;
}
