/* Polygons whose corners have points, texture coordinates and normals of their own, as files list them, and the mesh
 * that they make. Shared by OBJ, PLY and Alembic.
 */
#ifndef PELT_IO_POLYGONS_H
#define PELT_IO_POLYGONS_H

#include "io/io.h"

/* Elements of one kind that grow; scratch of the context. */
typedef struct px_list {
    void *data;
    size_t count, capacity;
} px_list;

/* Room for `more` elements behind the last, NULL when there is none. The count stays. */
void *px_list_room(pelt_context *context, px_list *list, size_t more, size_t size);

/* One corner of a polygon: its point, texture coordinate and normal, counted from 1; 0: none. */
typedef struct px_corner {
    uint32_t point, uv, normal;
} px_corner;

typedef struct px_polygons {
    px_list positions;     /* float, 3 for each point */
    px_list uvs;           /* float, 2 for each texture coordinate */
    px_list normals;       /* float, 3 for each normal; 0: none, computed from the faces */
    px_list corners;       /* px_corner, polygon by polygon */
    px_list polygons;      /* uint32_t, the corners of each, at least 3 */
    bool uvs_by_point;     /* a texture coordinate for each point; those of the corners are not looked at */
    bool normals_by_point; /* likewise */
} px_polygons;

/* Makes the mesh without its parts; points keep their order and number. Indices are checked, counts below PELT_NONE.
 * Uses up content->corners. `vertices` gets a px_corner per vertex, point 0 for points without polygon. */
pelt_result px_polygons_build(pelt_context *context, pelt_model *model, px_polygons *content, px_list *vertices);
void px_polygons_free(pelt_context *context, px_polygons *content);

/* Warns of what was left out or replaced, if anything was: faces of fewer than 3 corners, texture coordinates that are
 * not finite, normals without direction. */
void px_polygons_tell(pelt_context *context, size_t short_faces, size_t odd_uvs, size_t odd_normals);
/* Makes a file's normal unit; false, and 0, when it has no direction. */
bool px_unit_normal(float *n);

#endif
