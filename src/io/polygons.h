/* Polygons as files list them, with separate point, texture coordinate and normal indices per corner, and their
 * conversion to a mesh. Shared by OBJ, PLY and Alembic. */
#ifndef PELT_IO_POLYGONS_H
#define PELT_IO_POLYGONS_H

#include "io/layers.h"

/* A growable array of elements of one type; scratch memory of the context. */
typedef struct px_list {
    void *data;
    size_t count, capacity;
} px_list;

/* Grows the capacity by `more` elements; returns the address after the last element, or NULL if out of memory. Does not
 * change the count. */
void *px_list_room(pelt_context *context, px_list *list, size_t more, size_t size);

/* One corner of a polygon: indices of its point, texture coordinate and normal, and of its combination of values of further
 * layers, counted from 1. 0: none. */
typedef struct px_corner {
    uint32_t point, uv, normal, combination;
} px_corner;

/* The values of a corner in layers 0 … n: those in layers 0 … n − 1 are another combination. */
typedef struct px_combination {
    uint32_t before, value; /* numbers from 1; 0: none */
} px_combination;

typedef struct px_polygons {
    px_list positions;     /* float [point][3] */
    px_list uvs;           /* float [texture coordinate][2] */
    px_list normals;       /* float [normal][3]; a zero normal is replaced by one computed from the faces */
    px_list corners;       /* px_corner, polygon by polygon */
    px_list polygons;      /* uint32_t, number of corners of each polygon, at least 3 */
    px_layers layers;      /* further layers; values [value][width], which combinations refer to */
    px_list combinations;  /* px_combination */
    uint32_t *table;       /* hash table of combinations, their numbers; 0: empty */
    uint32_t table_size;   /* a power of 2, more than twice its entries */
    bool uvs_by_point;     /* uvs is [point]; the corners' uv indices are ignored */
    bool normals_by_point; /* normals is [point]; the corners' normal indices are ignored */
} px_polygons;

/* Makes the mesh without its parts. Points keep their order and number. Requires checked indices and counts below
 * PELT_NONE. Overwrites content->corners. `vertices` gets one px_corner per vertex; point 0: a point without a polygon.
 */
pelt_result px_polygons_build(pelt_context *context, pelt_model *model, px_polygons *content, px_list *vertices);
/* Adds a further layer with its values [value][width], which are not copied. */
pelt_result px_polygons_add_layer(px_arena *arena, px_polygons *content, const px_layer *layer);
/* Extends a corner's combination (0: none yet) by its value in the next layer. Call it for each layer in turn. */
pelt_result px_polygons_combine(pelt_context *context, px_polygons *content, uint32_t value, uint32_t *combination);
/* Further layers [vertex] of the vertices that px_polygons_build gave, in the arena. */
pelt_result px_polygons_layers(px_arena *arena, const px_polygons *content, const px_list *vertices, px_layers *out);
void px_polygons_free(pelt_context *context, px_polygons *content);

/* Warns, if any count is not zero, of elements that were dropped or replaced: faces of fewer than 3 corners, texture
 * coordinates that are not finite, normals without a direction. */
void px_polygons_tell(pelt_context *context, size_t short_faces, size_t odd_uvs, size_t odd_normals);
/* The triangle after the polygon that begins with triangle `first`; at most `end`. A polygon whose triangles are no fan
 * around its first vertex ends early. */
uint32_t px_polygon_end(const pelt_mesh *mesh, uint32_t first, uint32_t end);
/* Normalizes a normal. Returns false and sets it to zero if it has no direction. */
bool px_unit_normal(float *n);

#endif
