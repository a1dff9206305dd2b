/* Bounding volume hierarchy (axis-aligned boxes) over triangles: nearest point on a surface. light/rays.h traces
 * rays through it. */
#ifndef PELT_CORE_SURFACE_H
#define PELT_CORE_SURFACE_H

#include "core/core.h"

typedef struct px_surface_node {
    float low[3], high[3];
    uint32_t first; /* leaf: first index in `order`; inner node: index of the second child (the first is node + 1) */
    uint32_t count; /* leaf: number of triangles; inner node: 0 */
} px_surface_node;

typedef struct px_surface {
    const float *positions;    /* [vertex][3] */
    const uint32_t *triangles; /* [triangle][3] */
    uint32_t node_count;       /* 0: no finite triangle */
    px_surface_node *nodes;
    uint32_t *order; /* triangles, leaf by leaf */
} px_surface;

/* Builds the tree in the arena. Triangles that are not finite are skipped. Positions and triangles are borrowed. */
pelt_result px_surface_make(px_arena *arena, const float *positions, const uint32_t *triangles, uint32_t triangle_count,
                            px_surface *out);

/* Refits the boxes to other positions of the same vertices, which must be finite. The tree stays as it was built. */
void px_surface_move(px_surface *surface, const float *positions);
/* Builds the tree again, for the present positions. */
pelt_result px_surface_rebuild(pelt_context *context, px_surface *surface, uint32_t triangle_count);

/* A point on the surface. */
typedef struct px_surface_point {
    uint32_t triangle;
    double corners[3]; /* its barycentric coordinates: ≥ 0, sum 1 */
    double distance;   /* from the query point */
} px_surface_point;

/* Returns true to accept the nearest point of a triangle as a result. */
typedef bool px_surface_accept_fn(const void *user, const px_surface_point *candidate);

/* The point nearest to `p` within `distance` (INFINITY: unlimited) among those that `accept` (NULL: all) accepts; false
 * when there is none. Thread-safe. */
bool px_surface_nearest(const px_surface *surface, const double p[3], double distance, px_surface_accept_fn *accept,
                        const void *user, px_surface_point *out);

/* Quickselect (Hoare): partially sorts `order` [count] by keys[3 · element], so that no key before `place` is larger
 * and no key after it is smaller than the one at `place`. count ≥ 1; no key may be NaN. */
void px_select(uint32_t *order, uint32_t count, uint32_t place, const float *keys);

/* The point of a triangle nearest to p: returns the squared distance; `share`: its barycentric coordinates, sum 1.
 * Degenerate triangles are treated as their edges. */
double px_triangle_nearest(const double p[3], double corners[3][3], double share[3]);

#endif
