/* Internals of collide: trees of bounding spheres (balls), bounds of skinned nodes, bodies, exact triangle tests. */
#ifndef PELT_COLLIDE_COLLIDE_H
#define PELT_COLLIDE_COLLIDE_H

#include "core/core.h"

#include <pelt/collide.h>

/* Capacity of a leaf in vertices: one step of the widest skinning kernel. A leaf holds the triangles that fit. */
#define PX_LEAF_VERTICES 8u

/* Upper bound on the bones of a node: a leaf never has more. */
#define PX_MOST_SHARES (PX_LEAF_VERTICES * PELT_MAX_INFLUENCES)

/* A point and an unused fourth component. */
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
    float mean, spread; /* mean weight; largest deviation of a vertex from it */
} px_bone_share;

/* Displacements of the vertices of a node by one morph. */
typedef struct px_mode {
    float mean[3], spread; /* mean displacement; largest deviation of a vertex from it, units; read as one px_quad */
    float size;            /* |mean| + spread */
    uint32_t morph;
} px_mode;

/* Bounding sphere at rest, and bounds on how it deforms in a pose: see bounds.c. */
typedef struct px_node {
    float center[3], radius;
    float size;                  /* largest distance of a vertex from the origin, at rest */
    float total;                 /* largest Σ |weight| of a vertex */
    float uneven;                /* bound on |Σ weight − Σ means| + |1 − Σ means| (ρ of bounds.c) */
    float grain;                 /* bound on rounding errors, relative to the largest terms */
    uint32_t share, share_count; /* range in `shares`; share_count 0: too many bones, enclose the children's spheres */
    uint32_t mode, mode_count;   /* range in `modes`, sorted by morph */
    uint32_t second;             /* index of the second child; the first child is the next node; 0: a leaf */
    uint32_t leaf;               /* index of the first leaf under it; of a leaf, its own */
    uint32_t leaf_count;
} px_node;

typedef struct px_leaf {
    uint32_t first, count;               /* range in `order` */
    uint32_t vertices[PX_LEAF_VERTICES]; /* distinct; padded by repeating the last one */
    uint32_t welds[PX_LEAF_VERTICES];    /* weld class of each vertex: equal for welded vertices */
    uint32_t slots[PX_LEAF_VERTICES];    /* place of each vertex in the blocks; set if the model has morphs */
} px_leaf;

/* Vertices of a model with morphs that are evaluated together. Leaves share vertices, and morphs are many, so they are
 * evaluated by blocks of distinct vertices, in the order in which leaves use them. */
typedef struct px_block {
    float rest[PX_LEAF_VERTICES][3];
    uint32_t morph,
        morph_count; /* range in `block_morphs` and `shifts`: morphs that move a vertex of the block, ascending */
} px_block;

struct pelt_bdtree {
    px_arena *memory;
    pelt_model *model;        /* borrowed: arrays as they were when the tree was created */
    uint32_t influence_count; /* K; without a skin 1, with bone 0 the identity */
    uint32_t bone_count;      /* at least 1 */
    uint32_t node_count;      /* 0: no triangles */
    uint32_t leaf_count;
    px_node *nodes;
    px_leaf *leaves;
    uint32_t *order;       /* triangles, sorted by leaf */
    uint8_t (*corners)[3]; /* [order] corners of each triangle, as indices into its leaf's vertices */
    px_bone_share *shares;
    px_mode *modes;
    float *positions;     /* [leaf][8][3] at rest */
    uint16_t *bones;      /* [leaf][8][K] */
    float *weights;       /* [leaf][8][K] */
    uint32_t block_count; /* 0: no morphs */
    px_block *blocks;
    uint32_t *block_morphs;               /* [shift] */
    float (*shifts)[PX_LEAF_VERTICES][3]; /* displacements of the vertices of a block by one morph */
    uint16_t *block_bones;                /* [block][8][K] */
    float *block_weights;                 /* [block][8][K] */
};

/* Fills node.center … mode_count of every node. The leaves must be complete. */
pelt_result px_tree_bounds(pelt_context *context, pelt_bdtree *tree);
/* Makes the blocks, if the model has morphs. The leaves must be complete. */
pelt_result px_tree_blocks(pelt_context *context, pelt_bdtree *tree);

/* ---- Bodies ----------------------------------------------------------------------------------------------- */

typedef struct px_ball {
    float center[3], radius; /* radius INFINITY: unbounded */
} px_ball;

/* Sphere of a node, computed and cached when a query reaches it. */
typedef struct px_found {
    px_ball ball;
    uint32_t pose;  /* serial number of the pose it is valid for */
    uint32_t tight; /* the same, if it was tightened */
} px_found;

typedef struct px_quad_box {
    px_quad low, high; /* the fourth component is unused */
} px_quad_box;

/* Vertices of a leaf, computed and cached when a query needs them. */
typedef struct px_opened {
    float posed[PX_LEAF_VERTICES][3];
    uint32_t finite; /* bit mask of finite vertices; pads `posed`, which is read four floats at a time */
    uint32_t pose;   /* serial number of the pose they are valid for */
    px_quad_box box; /* around all vertices; unbounded if one is not finite */
} px_opened;

/* A bone matrix, with the norms needed to bound deformed spheres. */
typedef struct px_bone {
    _Alignas(16) float columns[4][4]; /* fourth component 0 */
    float stretch;                    /* upper bound on the largest singular value */
    float shift;                      /* length of the translation */
} px_bone;

struct pelt_body {
    px_arena *memory;
    const pelt_bdtree *tree;
    const float *positions;              /* [vertex][3] or NULL: skinned */
    pelt_transform *locals;              /* [joint] */
    pelt_affine *globals;                /* [joint] */
    pelt_affine *palette;                /* [bone] */
    px_bone *bones;                      /* [bone] */
    float *weights;                      /* [morph] */
    bool morphed;                        /* a weight is not 0 */
    float (*posed)[PX_LEAF_VERTICES][3]; /* [block] vertices, computed when a leaf needs them; only with morphs */
    uint32_t *block_poses;               /* [block] serial number of the pose they are valid for */
    uint32_t pose;                       /* serial number of the current pose, ≥ 1 */
    px_found *found;                     /* [node] */
    px_opened *opened;                   /* [leaf] */
    pelt_body_stats work;
};

/* Returns the bounding sphere of a node's triangles in the body's pose. */
const px_ball *px_body_ball(pelt_body *body, uint32_t node);
/* Replaces that sphere by a smaller one from the vertices, if the bound may be loose: it adds the deviations of all
 * morphs, which hardly point the same way in one vertex. For nodes whose sphere meets what a query looks for. Returns
 * true if it may have changed. */
bool px_body_tighten(pelt_body *body, uint32_t node);
/* Computes that sphere from matrices, weights and the node's bounds only, without vertices. */
px_ball px_deformed_ball(const pelt_body *body, const px_node *node);
/* Returns the enclosing sphere of two spheres. */
px_ball px_ball_around(const px_ball *a, const px_ball *b);
/* Returns an enclosing sphere of points [count], finite, count ≥ 1. More `steps` make it smaller: with 16 it is
 * within a few percent of the smallest. */
px_ball px_ball_of_points(const float (*points)[3], size_t count, int steps);

/* Returns the vertices of a leaf in the body's pose. */
const px_opened *px_body_leaf(pelt_body *body, uint32_t leaf);
/* Gets the corners of a triangle from its indices into the leaf. Returns false if one is not finite. */
static inline bool px_leaf_corners(const px_opened *leaf, const uint8_t of_leaf[3], const float *corners[3]) {
    for (int c = 0; c < 3; c++)
        corners[c] = leaf->posed[of_leaf[c]];
    return leaf->finite >> of_leaf[0] & leaf->finite >> of_leaf[1] & leaf->finite >> of_leaf[2] & 1;
}

/* ---- Exact tests ------------------------------------------------------------------------------------------ */

/* Returns the sign of det(b − a, c − a, d − a): −1, 0 or 1, exact for all finite floats. */
int px_orient(const float a[3], const float b[3], const float c[3], const float d[3]);
/* Returns the sign of det(u, a − o, b − o): the side on which the line through o along u passes the edge from a to
 * b. Exact. */
int px_orient_line(const float o[3], const float u[3], const float a[3], const float b[3]);
/* Returns the side of c relative to the line from a to b, projected to axes x and y. Exact. */
int px_orient_plane(const float a[3], const float b[3], const float c[3], int x, int y);

bool px_triangles_meet(const float *const a[3], const float *const b[3]);
/* Returns true if the ray hits the triangle; *distance along the ray, share: barycentric coordinates. */
bool px_ray_meets(const pelt_ray *ray, const float *const corners[3], double *distance, double share[3]);

#endif
