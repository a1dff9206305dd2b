/* A tree of boxes over triangles: the nearest place on a surface. */
#ifndef PELT_CORE_SURFACE_H
#define PELT_CORE_SURFACE_H

#include "core/core.h"

typedef struct px_surface_node {
    float low[3], high[3];
    uint32_t first; /* leaf: its first place in `order`; else the second child, the first one stands behind the node */
    uint32_t count; /* triangles of a leaf; 0: it has children */
} px_surface_node;

typedef struct px_surface {
    const float *positions;    /* [vertex][3] */
    const uint32_t *triangles; /* [triangle][3] */
    uint32_t node_count;       /* 0: no triangle */
    px_surface_node *nodes;
    uint32_t *order; /* triangles, leaf by leaf */
} px_surface;

/* Triangles that are not finite are left out. Positions and triangles must stay; the tree lives in the arena. */
pelt_result px_surface_make(px_arena *arena, const float *positions, const uint32_t *triangles, uint32_t triangle_count,
                            px_surface *out);

/* A place on the surface. */
typedef struct px_surface_point {
    uint32_t triangle;
    double corners[3]; /* its barycentric coordinates: ≥ 0, sum 1 */
    double distance;   /* from the place that was asked for */
} px_surface_point;

/* Whether a triangle's nearest point will do. */
typedef bool px_surface_accept_fn(const void *user, const px_surface_point *candidate);

/* The place nearest to `p` within `distance` (INFINITY: any) that `accept` (NULL: all) takes; false when there is none.
 * From any thread. */
bool px_surface_nearest(const px_surface *surface, const double p[3], double distance, px_surface_accept_fn *accept,
                        const void *user, px_surface_point *out);

/* Partial sorting of an order by keys[3 · element] (Hoare's selection): what stands at `place` is then not before any in
 * front of it, and not behind any after it. No key may be NaN. */
void px_select(uint32_t *order, uint32_t count, uint32_t place, const float *keys);

/* Whether a triangle is met on the way from `from` along `way`, which is gone from 0 to `far` (INFINITY: on and on).
 * From any thread. */
bool px_surface_blocks(const px_surface *surface, const float from[3], const float way[3], float far);

/* The nearest point of a triangle, also of one without area, which is nothing but edges: distance², and what the point
 * has of the corners, sum 1. */
double px_triangle_nearest(const double p[3], double corners[3][3], double share[3]);

#endif
