/* Internals of collide: trees of bounding spheres, bounds of skinned nodes, bodies, exact triangle tests. */
#ifndef PELT_COLLIDE_COLLIDE_H
#define PELT_COLLIDE_COLLIDE_H

#include "core/core.h"

#include <pelt/collide.h>

/* A leaf holds as many triangles as so many vertices have: one step of the widest skinning kernel. */
#define PX_LEAF_VERTICES 8u

/* Bones that a node may have: those of a leaf are never more. */
#define PX_MOST_SHARES (PX_LEAF_VERTICES * PELT_MAX_INFLUENCES)

/* A point and an unused fourth number. */
typedef float px_quad __attribute__((vector_size(16)));
typedef int32_t px_quad_mask __attribute__((vector_size(16)));

static inline px_quad px_quad_load(const float *p) {
    px_quad out;
    memcpy(&out, p, sizeof out);
    return out;
}
/* ---- Trees ------------------------------------------------------------------------------------------------ */

/* Weights of one bone in the vertices of a node. */
typedef struct px_bone_share {
    uint32_t bone;
    float mean, spread; /* weight; the most that one differs from it */
} px_bone_share;

/* How one morph displaces the vertices of a node. */
typedef struct px_mode {
    uint32_t morph;
    float mean[3], spread; /* displacement; the most that one differs from it */
    float size;            /* |mean| + spread */
} px_mode;

/* A ball at rest, and how far its vertices may come from each other in a pose: see bounds.c. */
typedef struct px_node {
    float center[3], radius;
    float size;                  /* no vertex is farther from the origin, at rest */
    float total;                 /* largest Σ |weight| of a vertex */
    float uneven;                /* how far Σ weight may differ from 1, and from that of the means */
    float grain;                 /* what rounding may add, relative to the largest terms */
    uint32_t share, share_count; /* 0: too many bones, use the ball around the children's */
    uint32_t mode, mode_count;
    uint32_t second; /* the second child; the first child follows the node; 0: a leaf */
    uint32_t leaf;   /* a leaf's number */
} px_node;

typedef struct px_leaf {
    uint32_t first, count;               /* places in `order` */
    uint32_t vertices[PX_LEAF_VERTICES]; /* all different; the last is repeated as padding */
    uint32_t welds[PX_LEAF_VERTICES];    /* equal where vertices are one */
} px_leaf;

struct pelt_bdtree {
    px_arena *memory;
    pelt_model model;         /* copy: arrays as they were when the tree was created */
    uint32_t influence_count; /* K; 1 without a skin, when bone 0 stays where it is */
    uint32_t bone_count;      /* at least 1 */
    uint32_t node_count;      /* 0: no triangles */
    uint32_t leaf_count;
    px_node *nodes;
    px_leaf *leaves;
    uint32_t *order;       /* triangles, leaf by leaf */
    uint8_t (*corners)[3]; /* of these: places in their leaf's vertices */
    px_bone_share *shares;
    px_mode *modes;
    float *positions; /* [leaf][8][3] at rest */
    uint16_t *bones;  /* [leaf][8][K] */
    float *weights;   /* [leaf][8][K] */
};

/* Fills node.center … mode_count of every node of a tree that has its leaves. */
pelt_result px_tree_bounds(pelt_context *context, pelt_bdtree *tree);

/* ---- Bodies ----------------------------------------------------------------------------------------------- */

typedef struct px_ball {
    float center[3], radius; /* radius INFINITY: unbounded */
} px_ball;

/* The ball of a node, cached when a query reaches it. */
typedef struct px_found {
    px_ball ball;
    uint32_t pose; /* number of the pose it is valid for */
} px_found;

typedef struct px_quad_box {
    px_quad low, high; /* the last of each is unused */
} px_quad_box;

/* The vertices of a leaf, cached when a query needs them. */
typedef struct px_opened {
    float posed[PX_LEAF_VERTICES][3];
    uint32_t finite; /* a bit for every vertex; behind `posed`, of which four floats at a time are read */
    uint32_t pose;   /* number of the pose they are valid for */
    px_quad_box box; /* around all vertices; around everything when one is not finite */
} px_opened;

/* A bone matrix with bounds for balls. */
typedef struct px_bone {
    _Alignas(16) float columns[4][4]; /* the last of each is 0 */
    float stretch;                    /* no direction becomes longer */
    float shift;                      /* length of the translation */
} px_bone;

struct pelt_body {
    px_arena *memory;
    const pelt_bdtree *tree;
    const float *positions; /* [vertex][3] or NULL: skinned */
    pelt_transform *locals; /* [joint] */
    pelt_affine *globals;   /* [joint] */
    pelt_affine *palette;   /* [bone] */
    px_bone *bones;         /* [bone] */
    float *weights;         /* [morph] */
    bool morphed;           /* one of them is not 0 */
    uint32_t pose;          /* its number, from 1 on */
    px_found *found;        /* [node] */
    px_opened *opened;      /* [leaf] */
    pelt_body_stats work;
};

/* The ball around a node's triangles in the body's pose. */
const px_ball *px_body_ball(pelt_body *body, uint32_t node);
/* The same from matrices, weights and what the node knows alone. */
px_ball px_deformed_ball(const pelt_body *body, const px_node *node);
/* Around two others. */
px_ball px_ball_around(const px_ball *a, const px_ball *b);
/* Around points [count], finite and at least one. `steps` make it smaller: 16 come within some percent of the smallest. */
px_ball px_ball_of_points(const float (*points)[3], size_t count, int steps);

/* The vertices of a leaf in the body's pose. */
const px_opened *px_body_leaf(pelt_body *body, uint32_t leaf);
/* The corners of one of its triangles, by their places in the leaf; false when one is not finite. */
static inline bool px_leaf_corners(const px_opened *leaf, const uint8_t of_leaf[3], const float *corners[3]) {
    for (int c = 0; c < 3; c++)
        corners[c] = leaf->posed[of_leaf[c]];
    return leaf->finite >> of_leaf[0] & leaf->finite >> of_leaf[1] & leaf->finite >> of_leaf[2] & 1;
}

/* ---- Exact tests ------------------------------------------------------------------------------------------ */

/* The sign of det(b − a, c − a, d − a): −1, 0 or 1, exact for all finite floats. */
int px_orient(const float a[3], const float b[3], const float c[3], const float d[3]);
/* The sign of det(u, a − o, b − o): how a line through o along u passes the edge from a to b. */
int px_orient_line(const float o[3], const float u[3], const float a[3], const float b[3]);
/* The side of c from a to b in the plane of axes x and y. */
int px_orient_plane(const float a[3], const float b[3], const float c[3], int x, int y);

bool px_triangles_meet(const float *const a[3], const float *const b[3]);
/* Whether the ray meets the triangle, and where. */
bool px_ray_meets(const pelt_ray *ray, const float *const corners[3], double *distance, double share[3]);

#endif
