/* Pelt: what touches what. Bounded deformation trees: D. L. James, D. K. Pai, "BD-Tree: Output-Sensitive Collision
 * Detection for Reduced Deformable Models", ACM Trans. Graph. 23(3), 2004, over skins with morphs.
 *
 * A tree of balls around the triangles of a model is made once. In a new pose no vertex is touched: the ball of a node
 * follows from the matrices of its bones and the weights of its morphs, when a question reaches it, and vertices are
 * skinned only in the leaves that a question reaches. No ball is ever too small, rounding included, so answers are those
 * of looking at every triangle.
 *
 * Triangles are sets with their borders: what touches, meets. Their corners are those of pelt_model_pose to the last bit.
 * A triangle with a corner that is not finite meets nothing. Places in questions must be finite.
 */
#ifndef PELT_COLLIDE_H
#define PELT_COLLIDE_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Trees and bodies ------------------------------------------------------------------------------------- */

/* Of a model, whatever its pose. Shared by any number of bodies on any threads. */
typedef struct pelt_bdtree pelt_bdtree;

/* The model must stay; nouns that are replaced in it later do not change the tree. Skins may have any weights and
 * matrices, morphs any displacements. Without a skin morphs alone move the mesh. */
PELT_API pelt_result pelt_bdtree_create(pelt_context *context, const pelt_model *model, pelt_bdtree **tree);
/* NULL is allowed. */
PELT_API void pelt_bdtree_destroy(pelt_bdtree *tree);

/* A model in one pose: what a tree needs for every character that moves. Questions remember what they found out about the
 * pose, so a body is used by one thread at a time. */
typedef struct pelt_body pelt_body;

/* In the rest pose. The tree must stay. Nothing below allocates. */
PELT_API pelt_result pelt_body_create(pelt_context *context, const pelt_bdtree *tree, pelt_body **body);
/* NULL is allowed. */
PELT_API void pelt_body_destroy(pelt_body *body);

/* A new pose, linear blend skinning: at a time of a motion (NULL: the rest pose), as pelt_model_pose. */
PELT_API void pelt_body_motion(pelt_body *body, const pelt_motion *motion, float time);
/* By local transforms [joint] and morph weights [morph], as pelt_model_pose_locals. */
PELT_API void pelt_body_locals(pelt_body *body, const pelt_transform *locals, const float *weights);
/* By palette [bone] (global · inverse bind, and before that what places the character in a world) and weights [morph]. */
PELT_API void pelt_body_palette(pelt_body *body, const pelt_affine *palette, const float *weights);
/* By positions [vertex][3], whatever made them: vertex animations, dual quaternions. They must stay until the next pose.
 * All balls are found anew from them, the plain way. */
PELT_API void pelt_body_positions(pelt_body *body, const float *positions);

/* What questions have cost since the last pose. */
typedef struct pelt_body_work {
    uint32_t ball_count; /* of node_count: found */
    uint32_t node_count; /* nodes of the tree */
    uint32_t open_count; /* of leaf_count: whose vertices, up to 8 of them, were needed */
    uint32_t leaf_count; /* leaves of the tree */
} pelt_body_work;
/* Counters of the queries on this body since its last pose. */
PELT_API pelt_body_work pelt_body_cost(const pelt_body *body);

/* ---- Questions -------------------------------------------------------------------------------------------- */

/* A ray: origin + t · direction, 0 ≤ t ≤ most. */
typedef struct pelt_ray {
    float origin[3];    /* start of the ray, world space */
    float direction[3]; /* any length but 0 */
    double most;        /* how far, in lengths of `direction`; may be INFINITY */
} pelt_ray;

/* A place on a body. */
typedef struct pelt_body_point {
    uint32_t triangle; /* index into mesh.triangles */
    double corners[3]; /* its barycentric coordinates: ≥ 0, sum 1 */
    double distance;   /* from the place that was asked for; of rays in lengths of `direction` */
} pelt_body_point;

/* The first triangle that a ray meets, the lowest of those at the same distance; false when there is none. Whether a
 * triangle is met is decided exactly, so no ray slips through between two; the distance is rounded. Rays in the plane of a
 * triangle do not meet it, but its neighbours. */
PELT_API bool pelt_body_ray(pelt_body *body, const pelt_ray *ray, pelt_body_point *out);
/* The place nearest to p, at most `most` (INFINITY: any) away, on the lowest triangle of those at that distance. */
PELT_API bool pelt_body_nearest(pelt_body *body, const float p[3], double most, pelt_body_point *out);

/* False: enough. */
typedef bool pelt_triangle_fn(void *user, uint32_t triangle);
/* Every triangle at most `radius` from a place, in no order that means anything. */
PELT_API void pelt_body_sphere(pelt_body *body, const float center[3], double radius, pelt_triangle_fn *found,
                               void *user);

/* A triangle of one and one of the other; false: enough. */
typedef bool pelt_pair_fn(void *user, uint32_t a, uint32_t b);
/* Every triangle of a body that meets one of another, decided exactly, in no order that means anything. With a = b the
 * body meets itself: pairs a < b that share no vertex (nor a welded one, where the model was welded before its tree was
 * made). A body inside another without a common point is not found: surfaces meet, not volumes. */
PELT_API void pelt_body_pairs(pelt_body *a, pelt_body *b, pelt_pair_fn *found, void *user);

/* ---- All frames ------------------------------------------------------------------------------------------- */

/* What moves: a model with its motion, or with a clip. */
typedef struct pelt_mover {
    const pelt_model *model;   /* borrowed */
    uint32_t frame_count;      /* at least 1; beyond them it stays in its last */
    const float *times;        /* [frame] seconds */
    const pelt_motion *motion; /* linear blend skinning at these times; NULL: the rest pose */
    const pelt_clip *clip;     /* not NULL: its frames, and no motion */
    float offset[3];           /* is added to every position */
} pelt_mover;

/* What meets in a frame. */
typedef struct pelt_contacts {
    uint64_t pair_count;        /* of triangles that meet */
    uint32_t triangle_count[2]; /* triangles of either that meet any; of one body with itself the first alone */
    uint32_t listed_count;      /* pairs in `pairs` */
    uint32_t (*pairs)[2];       /* [most] the caller's own or NULL: the first that are found */
    double opened;              /* share of the leaves whose vertices were needed, 0 to 1 */
} pelt_contacts;

/* Looks at every frame of the longer one; `b` NULL: a with itself. frames [larger frame_count]; of each, `pairs` may hold
 * pairs [most]. */
PELT_API pelt_result pelt_collide(pelt_context *context, const pelt_mover *a, const pelt_mover *b, uint32_t most,
                                  pelt_contacts *frames);

#ifdef __cplusplus
}
#endif

#endif
