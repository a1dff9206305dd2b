/* Occlusion of parallel rays from many origins, for a mesh that moves.
 *
 * All rays of a direction are traced together, in coordinates x, y across the direction and z along it. There a ray is
 * a point: it meets a triangle where the point is in the triangle's projection and below it. The tree of core/surface.h
 * is built for the first pose. Its leaves have up to eight neighbouring triangles, its groups up to eight leaves. For
 * each direction they are turned and the groups put into a grid over x and y; a ray tests the boxes of a group at once,
 * and the triangles of a leaf, one SIMD lane each. The answers are those of testing every triangle, with every
 * instruction set. */
#ifndef PELT_LIGHT_RAYS_H
#define PELT_LIGHT_RAYS_H

#include "core/surface.h"

#include <pelt/run.h>

#define PX_LEAF 8u /* triangles of a leaf, leaves of a group */

/* Up to eight triangles: a corner a, and the edges u and v to the next ones. Unused lanes repeat the first triangle. */
typedef struct px_ray_leaf {
    float a[3][PX_LEAF], u[3][PX_LEAF], v[3][PX_LEAF];
    uint32_t triangles[PX_LEAF], count;
} px_ray_leaf;

typedef struct px_ray_group {
    uint32_t first, count; /* of leaves */
} px_ray_group;

typedef struct px_ray_mesh {
    px_surface surface;
    uint32_t triangle_count, leaf_count, group_count;
    px_ray_group *groups;
    px_ray_leaf *leaves;
    double cost; /* when it was built: Σ areas of boxes / area of the root */
} px_ray_mesh;

/* Builds the tree of a pose in the arena. Positions, which must be finite, and triangles are borrowed. */
pelt_result px_ray_mesh_make(px_arena *arena, const float *positions, const uint32_t *triangles,
                             uint32_t triangle_count, px_ray_mesh *out);
/* Moves it to another pose: refits the boxes, and builds the tree again where it has become bad. */
pelt_result px_ray_mesh_move(pelt_context *context, px_ray_mesh *mesh, const float *positions);

/* ---- A direction ------------------------------------------------------------------------------------------ */

typedef struct px_view_box { /* x and y from low to high, z up to `top` */
    float low[2], high[2], top;
} px_view_box;

typedef struct px_view_group { /* boxes of its leaves; those of unused lanes are empty */
    float low[2][PX_LEAF], high[2][PX_LEAF], top[PX_LEAF];
} px_view_group;

typedef struct px_view_leaf {
    float a[3][PX_LEAF], u[2][PX_LEAF], v[2][PX_LEAF]; /* counter-clockwise in x and y */
    float slope[2][PX_LEAF];                           /* dz/dx and dz/dy of the triangle */
    float det[PX_LEAF];                                /* twice its area in x and y */
    float top[PX_LEAF];                                /* largest z */
} px_view_leaf;

/* A hit: the nearest triangle (PELT_NONE: none), its barycentric coordinates, and whether the ray comes from outside. */
typedef struct px_ray_hit {
    uint32_t triangle;
    float shares[3];
    bool front;
} px_ray_hit;

/* Scratch for a direction. */
typedef struct px_view {
    px_view_leaf *leaves;
    px_view_group *groups;
    px_view_box *boxes;      /* [group] */
    uint32_t side[2];        /* of the grid, in cells */
    float corner[2], per[2]; /* cell of x: (x − corner) · per */
    uint32_t *first;         /* [cell + 1] of `entries` */
    float *tops;             /* [cell] largest z */
    uint32_t *entries;       /* groups, cell by cell */
    size_t entry_most;
} px_view;

/* Leaves that no ray from an origin can meet, because they are below its tangent plane: bits of one group. */
typedef struct px_ray_own {
    uint32_t group, leaves;
} px_ray_own;
/* Sets own->leaves for rays from a point whose angle to the normal is less than 90°. */
void px_ray_mesh_below(const px_ray_mesh *mesh, const float from[3], const float normal[3], px_ray_own *own);

/* Rays of one direction. */
typedef struct px_ray_job {
    const px_ray_mesh *mesh;
    px_view *view;         /* scratch */
    size_t count;          /* of origins */
    const float *from;     /* [origin][3] */
    const float *normals;  /* [origin][3] */
    const px_ray_own *own; /* [origin], or NULL */
    float way[3];          /* unit length */
    float cosine;          /* only rays with normal · way > cosine are cast */
    float far;             /* length of rays; INFINITY: unlimited */
    uint8_t *open;         /* result [origin]: 1 for each ray that was cast and met nothing */
    px_ray_hit *hits;      /* result [origin], or NULL: rays end at any hit */
} px_ray_job;

/* Allocates scratch for a mesh; freed by px_view_free. */
pelt_result px_view_make(pelt_context *context, const px_ray_mesh *mesh, px_view *view);
void px_view_free(pelt_context *context, px_view *view);

/* The column or row of a coordinate. */
static inline uint32_t px_view_cell(const px_view *view, int axis, float at) {
    float cell = (at - view->corner[axis]) * view->per[axis];
    return !(cell > 0) ? 0 : cell >= (float)view->side[axis] ? view->side[axis] - 1 : (uint32_t)cell;
}
/* Puts the groups into the grid by their boxes. */
void px_view_fill(px_view *view, uint32_t group_count);

/* Thread-safe, with separate scratch and results. */
typedef void px_ray_fn(const px_ray_job *job);
px_ray_fn px_rays_scalar, px_rays_sse2, px_rays_avx2, px_rays_neon, px_rays_wasm;
px_ray_fn *px_rays_of(pelt_simd simd);

#endif
