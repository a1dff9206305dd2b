/* Classes of vertices (pelt_vertex_classes): building, refining, using them. */
#ifndef PELT_CORE_CLASSES_H
#define PELT_CORE_CLASSES_H

#include "core/core.h"

/* `count` classes from a map `of` [vertex], which is borrowed; `first` is allocated. Fails where a class has no vertex;
 * messages speak of points. */
pelt_result px_classes_make(px_arena *arena, uint32_t vertex_count, uint32_t count, uint32_t *of,
                            pelt_vertex_classes *out);

/* Whether two vertices of one class stay together. */
typedef bool px_same_fn(const void *user, uint32_t a, uint32_t b);
/* Splits classes: a vertex joins the first of the new classes within its old one whose first vertex is the same by
 * `same`. Numbered by first appearance. Vertices of old class PELT_NONE are of none, new PELT_NONE. */
pelt_result px_classes_refine(px_arena *arena, uint32_t vertex_count, const pelt_vertex_classes *old, px_same_fn *same,
                              const void *user, pelt_vertex_classes *out);
/* The weld, split by weights: vertices of one class coincide and are skinned alike. Needs mesh.weld. */
pelt_result px_classes_by_weights(px_arena *arena, const pelt_mesh *mesh, const pelt_skin *skin,
                                  pelt_vertex_classes *out);

/* The classes of the triangles' corners, [triangle][3]; NULL without memory. */
uint32_t *px_class_triangles(px_arena *arena, const pelt_mesh *mesh, const pelt_vertex_classes *classes);
/* Positions [class][3] from [vertex][3]; NULL without memory. */
float *px_class_positions(px_arena *arena, const pelt_vertex_classes *classes, const float *positions);

#endif
