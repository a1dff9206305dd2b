/* Mesh helpers: area-weighted normals, bounding box, vertex adjacency, marking parts. */
#ifndef PELT_CORE_MESH_H
#define PELT_CORE_MESH_H

#include "core/classes.h"

/* Adds each triangle's area-weighted normal to the sums of its three corners, in triangle order. Corner c reads
 * positions[position_of_corner[c]] and adds to sums[sum_of_corner[c]]; a NULL map is the identity. `sums` [..][3].
 * Triangles whose normal is not finite are skipped. */
void px_normals_sum(const uint32_t *triangles, uint32_t triangle_count, const uint32_t *position_of_corner,
                    const uint32_t *sum_of_corner, const float *positions, double *sums);
/* Normalises a sum; (0, 0, 1) when its length is 0 or not finite. */
void px_normal_unit(const double sum[3], double out[3]);

/* Bounding box of the finite coordinates of `positions` [count][3]; 0 along an axis without any. Returns its
 * diagonal. */
double px_box(const float *positions, size_t count, float low[3], float high[3]);

/* A side of a triangle, with sorted ends. */
typedef struct px_side {
    uint32_t low, high; /* classes of vertices at its ends */
    uint32_t corner;    /* 3 · triangle + k: the corner at which it starts */
} px_side;
/* Sorts by ends, then by corner: the sides at one edge become consecutive. */
void px_sides_sort(px_side *sides, size_t count);

/* Adjacency lists: the classes that share an edge with class c are items[offsets[c] .. offsets[c + 1]), ascending,
 * without duplicates. */
typedef struct px_neighbours {
    size_t *offsets; /* [class + 1] */
    uint32_t *items;
} px_neighbours;
pelt_result px_neighbours_make(px_arena *arena, const pelt_mesh *mesh, const pelt_vertex_classes *classes,
                               px_neighbours *out);

/* The classes of coincident vertices, at rest, in all frames of the clips (of mesh->points) and in all morphs, in the
 * arena. Ignores mesh->weld. */
pelt_result px_weld(px_arena *arena, const pelt_mesh *mesh, const pelt_morph_set *morphs, const pelt_clip *clips,
                    uint32_t clip_count, pelt_vertex_classes *out);

/* Sets marks[i] = 1 for every vertex i of a part. */
void px_mark_part(const pelt_mesh *mesh, const pelt_part *part, uint8_t *marks);

#endif
