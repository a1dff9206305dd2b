/* Equivalence classes of vertices (pelt_vertex_classes): build, refine, gather and scatter. */
#ifndef PELT_CORE_CLASSES_H
#define PELT_CORE_CLASSES_H

#include "core/core.h"

/* Builds `count` classes from the map `of` [vertex] to class. `of` is borrowed; `first` is allocated in the arena.
 * Fails when an entry is out of range or a class has no vertex; the error messages call classes "points". */
pelt_result px_classes_make(px_arena *arena, uint32_t vertex_count, uint32_t count, uint32_t *of,
                            pelt_vertex_classes *out);

/* True when two vertices of one class stay in one class. */
typedef bool px_same_fn(const void *user, uint32_t a, uint32_t b);
/* Splits classes: a vertex joins the first new class within its old class whose first vertex compares equal by `same`.
 * New classes are numbered by first appearance. Vertices with old class PELT_NONE keep PELT_NONE. */
pelt_result px_classes_refine(px_arena *arena, uint32_t vertex_count, const pelt_vertex_classes *old, px_same_fn *same,
                              const void *user, pelt_vertex_classes *out);
/* The weld classes, split by weights: vertices of one class coincide and have identical bones and weights. Needs
 * mesh.weld. */
pelt_result px_classes_by_weights(px_arena *arena, const pelt_mesh *mesh, const pelt_skin *skin,
                                  pelt_vertex_classes *out);

/* The weld classes, split where vertices have no joint in common: instances of one mesh coincide before they are skinned.
 * Needs mesh.weld. */
pelt_result px_classes_by_joints(px_arena *arena, const pelt_mesh *mesh, const pelt_skin *skin,
                                 pelt_vertex_classes *out);

/* Triangle corners as class indices, [triangle][3]; NULL when out of memory. */
uint32_t *px_class_triangles(px_arena *arena, const pelt_mesh *mesh, const pelt_vertex_classes *classes);
/* Positions [class][3] gathered from `positions` [vertex][3]; NULL when out of memory. */
float *px_class_positions(px_arena *arena, const pelt_vertex_classes *classes, const float *positions);

#endif
