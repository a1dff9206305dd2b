/* The mesh from inside: normals, neighbours, parts. */
#ifndef PELT_CORE_MESH_H
#define PELT_CORE_MESH_H

#include "core/classes.h"

/* Adds every triangle's area-weighted normal to the sums of its corners, in order. Corner c has its position at
 * positions[position_of_corner[c]] and its sum at sums[sum_of_corner[c]]; NULL maps mean c itself. Triangles that are
 * not finite count nothing. */
void px_normals_sum(const uint32_t *triangles, uint32_t triangle_count, const uint32_t *position_of_corner,
                    const uint32_t *sum_of_corner, const float *positions, double *sums);
/* The sum made unit length; (0, 0, 1) when it has none. */
void px_normal_unit(const double sum[3], double out[3]);

/* The box around the finite ones of `positions` [count][3], 0 without any; returns its diagonal. */
double px_box(const float *positions, size_t count, float low[3], float high[3]);

/* Classes of vertices that share an edge with class c: items[offsets[c]] … items[offsets[c + 1] - 1], ascending, each
 * once. */
typedef struct px_neighbours {
    size_t *offsets; /* [class + 1] */
    uint32_t *items;
} px_neighbours;
pelt_result px_neighbours_make(px_arena *arena, const pelt_mesh *mesh, const pelt_vertex_classes *classes,
                               px_neighbours *out);

/* Sets the marks of a part's vertices, marks [vertices[i]] of vertex i; vertices NULL: marks [i]. */
void px_mark_part(const pelt_mesh *mesh, const pelt_part *part, const uint32_t *vertices, uint8_t *marks);

#endif
