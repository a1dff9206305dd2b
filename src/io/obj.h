/* What the files of the OBJ format share. */
#ifndef PELT_IO_OBJ_H
#define PELT_IO_OBJ_H

#include "io/polygons.h"

/* ---- From the reader to the mesh: the file's statements as lists ------------------------------------------- */

/* From this polygon on, these names are in force. */
typedef struct obj_section {
    uint32_t first_polygon;
    px_text object, group, material;
} obj_section;

typedef struct obj_content {
    px_polygons mesh;
    px_list sections;  /* obj_section */
    px_list libraries; /* px_text, what stood behind each `mtllib` */
} obj_content;

/* Makes the mesh and the document from the content, whose indices are checked. Uses up content->mesh.corners. */
pelt_result px_obj_build(pelt_context *context, pelt_model *model, obj_content *content);

/* ---- From the mesh to the writer: what the model does not hold --------------------------------------------- */

/* The names in force for a part. NULL: none was given. */
typedef struct obj_names {
    const char *object; /* `o` */
    const char *group;  /* `g` since that object began */
} obj_names;

typedef struct obj_document {
    uint32_t library_count; /* number of material libraries */
    const char **libraries; /* [library] file names after `mtllib` */
    uint32_t part_count;    /* the mesh's when it was read */
    obj_names *part_names;  /* [part] */
    uint32_t vertex_count;  /* the mesh's when it was read */
    uint32_t uv_count;      /* `vt` in the file */
    uint32_t normal_count;  /* `vn` in the file */
    uint32_t *uvs;          /* [vertex] its `vt` in the file, counted from 1, 0: none; NULL: no vertex has one */
    uint32_t *normals;      /* [vertex] its `vn`, likewise */
} obj_document;

/* ---- Doors ------------------------------------------------------------------------------------------------ */

pelt_result px_obj_read(const px_read *read);
pelt_result px_obj_write(const px_write *write);

#endif
