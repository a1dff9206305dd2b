/* Shared by the files of the OBJ format. */
#ifndef PELT_IO_OBJ_H
#define PELT_IO_OBJ_H

#include "io/polygons.h"

/* ---- From the reader to the mesh: the file's statements as lists ------------------------------------------- */

/* Names that apply from polygon `first_polygon` on. */
typedef struct obj_section {
    uint32_t first_polygon;
    px_text object, group, material;
} obj_section;

typedef struct obj_content {
    px_polygons mesh;
    px_list sections;  /* obj_section */
    px_list libraries; /* px_text, the argument of each `mtllib` */
} obj_content;

/* Makes the mesh and the document. Requires checked indices. Overwrites content->mesh.corners. */
pelt_result px_obj_build(pelt_context *context, pelt_model *model, obj_content *content);

/* ---- From the mesh to the writer: data that the model does not hold ---------------------------------------- */

/* Names that apply to a part. NULL: none was given. */
typedef struct obj_names {
    const char *object; /* name of the last `o` */
    const char *group;  /* name of the last `g` after that `o` */
} obj_names;

typedef struct obj_document {
    uint32_t library_count; /* number of material libraries */
    const char **libraries; /* [library] file names of the `mtllib` statements */
    uint32_t part_count;    /* parts of the mesh when it was read */
    obj_names *part_names;  /* [part] */
    uint32_t vertex_count;  /* vertices of the mesh when it was read */
    uint32_t uv_count;      /* number of `vt` in the file */
    uint32_t normal_count;  /* number of `vn` in the file */
    uint32_t *uvs;          /* [vertex] index of its `vt`, counted from 1; 0: none. NULL: no vertex has one */
    uint32_t *normals;      /* [vertex] index of its `vn`, counted from 1; 0: none. NULL: no vertex has one */
} obj_document;

/* ---- Entry points ----------------------------------------------------------------------------------------- */

pelt_result px_obj_read(const px_read *read);
pelt_result px_obj_write(const px_write *write);

#endif
