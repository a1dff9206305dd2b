/* Several meshes of a file merged to the mesh and the skin of a model. Shared by readers of scenes. */
#ifndef PELT_IO_MERGE_H
#define PELT_IO_MERGE_H

#include "io/layers.h"

/* Everything merged so far. */
typedef struct px_merge {
    pelt_context *context;
    pelt_model *model;
    px_buffer positions, normals, uvs;  /* float, of the vertices */
    px_buffer points;                   /* uint32_t [vertex] */
    px_buffer triangles, polygons;      /* uint32_t [triangle][3], [triangle] */
    px_buffer parts;                    /* pelt_part; the caller adds them */
    px_buffer bones;                    /* joint and inverse bind matrix */
    px_buffer skin_bones, skin_weights; /* uint16_t, float [vertex][PELT_MAX_INFLUENCES] */
    struct px_merged_layer *layers;     /* further layers, the first one first; in the model's memory */
    uint32_t layer_count;
    uint32_t vertex_count, point_count, triangle_count, polygon_count, influence_count;
    bool normals_used, uvs_used; /* set by the caller before the first mesh */
} px_merge;

/* A weight of a point of one mesh. */
typedef struct px_influence {
    uint32_t point;
    uint16_t bone;
    double weight;
} px_influence;

void px_merge_begin(px_merge *merge, pelt_context *context, pelt_model *model);
void px_merge_free(px_merge *merge);
/* The number of a bone, which is added if there is none. */
pelt_result px_merge_bone(px_merge *merge, uint32_t joint, const pelt_affine *inverse_bind, uint16_t *bone);
/* Adds the vertices and triangles of a mesh. */
pelt_result px_merge_vertices(px_merge *merge, const pelt_mesh *mesh);
/* Adds further layers of its vertices. Layers of one name and width are one; vertices of meshes that do not have it get the default. */
pelt_result px_merge_layers(px_merge *merge, const pelt_mesh *mesh, const px_layers *layers);
/* Adds the weights of its vertices, from a list of px_influence in any order: the largest, normalized. Points without one follow
 * `joint`, through a bone with the matrix `place`. */
pelt_result px_merge_skin(px_merge *merge, px_arena *scratch, const pelt_mesh *mesh, const px_buffer *influences,
                          uint32_t joint, const pelt_affine *place);
/* Ends a mesh: the next one begins behind it. */
void px_merge_next(px_merge *merge, const pelt_mesh *mesh);
/* Displacements [vertex][3] in the model's memory from rows [count] of points; `matrix` transforms them. NULL: out of memory. */
float *px_merge_spread(px_merge *merge, const pelt_mesh *mesh, const pelt_affine *matrix, const int32_t *points,
                       const double *rows, size_t count);
/* Sets mesh and, if there are bones, skin of the model. `layers` gets the further layers, in the model's memory. */
pelt_result px_merge_finish(px_merge *merge, px_layers *layers);

#endif
