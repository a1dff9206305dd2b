/* Pelt: collision detection for skinned meshes. Bounded deformation trees: D. L. James, D. K. Pai, "BD-Tree: Output-Sensitive Collision
 * Detection for Reduced Deformable Models", ACM Trans. Graph. 23(3), 2004, over skins with morphs.
 *
 * A tree of bounding spheres around the triangles of a model is built once. A new pose updates no vertex: when a query
 * reaches a node, its sphere is computed from the matrices of its bones and the weights of its morphs, and vertices are
 * skinned only in leaves that a query reaches. Spheres are conservative, rounding included, so every query gives the result
 * of testing all triangles.
 *
 * Triangles include their boundary: touching counts as meeting. Their corners are those of pelt_model_pose, bit for bit.
 * A triangle with a corner that is not finite meets nothing. Points in queries must be finite.
 */
#ifndef PELT_COLLIDE_H
#define PELT_COLLIDE_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Trees and bodies ------------------------------------------------------------------------------------- */

/* The tree of a model, for all poses. Any number of bodies on any threads may share it. */
typedef struct pelt_bdtree pelt_bdtree;

/* The model must outlive the tree; arrays replaced in the model later do not change the tree. Skins may have any weights and
 * matrices, morphs any displacements. Without a skin only morphs move the mesh. */
PELT_API pelt_result pelt_bdtree_create(pelt_context *context, const pelt_model *model, pelt_bdtree **tree);
/* NULL is allowed. */
PELT_API void pelt_bdtree_destroy(pelt_bdtree *tree);

/* A model in one pose: create one for every instance. Queries cache spheres and vertices of the pose, so only one thread may
 * use a body at a time. */
typedef struct pelt_body pelt_body;

/* A body in the rest pose. The tree must outlive it. The functions below never allocate. */
PELT_API pelt_result pelt_body_create(pelt_context *context, const pelt_bdtree *tree, pelt_body **body);
/* NULL is allowed. */
PELT_API void pelt_body_destroy(pelt_body *body);

/* Set the pose to a time of a motion (NULL: the rest pose), with linear blend skinning, as pelt_model_pose. */
PELT_API void pelt_body_motion(pelt_body *body, const pelt_motion *motion, float time);
/* Set the pose by local transforms [joint] and morph weights [morph], as pelt_model_pose_locals. */
PELT_API void pelt_body_locals(pelt_body *body, const pelt_transform *locals, const float *weights);
/* Set the pose by palette [bone] (world · global · inverse bind) and weights [morph]. */
PELT_API void pelt_body_palette(pelt_body *body, const pelt_affine *palette, const float *weights);
/* Set the pose by positions [vertex][3], for vertex animations and dual quaternions. The array must stay valid until the next
 * pose. Spheres are then refitted to the vertices. */
PELT_API void pelt_body_positions(pelt_body *body, const float *positions);

/* Work of the queries on a body since its last pose. */
typedef struct pelt_body_stats {
    uint32_t ball_count; /* nodes whose sphere was computed */
    uint32_t node_count; /* nodes of the tree */
    uint32_t open_count; /* leaves whose vertices (up to 8) were skinned */
    uint32_t leaf_count; /* leaves of the tree */
} pelt_body_stats;
/* Counters since the last pose. */
PELT_API pelt_body_stats pelt_body_query_stats(const pelt_body *body);

/* ---- Queries ---------------------------------------------------------------------------------------------- */

/* A ray: origin + t · direction, 0 ≤ t ≤ most. */
typedef struct pelt_ray {
    float origin[3];    /* start of the ray, world space */
    float direction[3]; /* any length but 0 */
    double most;        /* how far, in lengths of `direction`; may be INFINITY */
} pelt_ray;

/* A point on a body. */
typedef struct pelt_body_point {
    uint32_t triangle; /* index into mesh.triangles */
    double corners[3]; /* its barycentric coordinates: ≥ 0, sum 1 */
    double distance;   /* from the query point; of rays in lengths of `direction` */
} pelt_body_point;

/* The first triangle that a ray hits; of several at the same distance the one with the lowest index. Returns false when there
 * is none. The hit test is exact, so no ray passes between two neighbouring triangles; the distance is rounded. A ray in the
 * plane of a triangle does not hit that triangle, but may hit its neighbours. */
PELT_API bool pelt_body_ray(pelt_body *body, const pelt_ray *ray, pelt_body_point *out);
/* The point of the body nearest to p, at most `most` (INFINITY: any) away; of several triangles at that distance the one with
 * the lowest index. Returns false when there is none. */
PELT_API bool pelt_body_nearest(pelt_body *body, const float p[3], double most, pelt_body_point *out);

/* Called for each triangle found. Return false to stop the query. */
typedef bool pelt_triangle_fn(void *user, uint32_t triangle);
/* Every triangle at most `radius` from a point, in unspecified order. */
PELT_API void pelt_body_sphere(pelt_body *body, const float center[3], double radius, pelt_triangle_fn *found,
                               void *user);

/* Called for each pair: a triangle of the first body and one of the second. Return false to stop the query. */
typedef bool pelt_pair_fn(void *user, uint32_t a, uint32_t b);
/* Every pair of triangles of two bodies that intersect, tested exactly, in unspecified order. With a = b it finds
 * self-intersections: pairs a < b that share no vertex (nor a welded vertex, if the model was welded before its tree was
 * created). Surfaces are tested, not volumes: a body inside another without a common point is not found. */
PELT_API void pelt_body_pairs(pelt_body *a, pelt_body *b, pelt_pair_fn *found, void *user);

/* ---- All frames ------------------------------------------------------------------------------------------- */

/* A moving model: with a motion, or with a clip. */
typedef struct pelt_mover {
    const pelt_model *model;   /* borrowed */
    uint32_t frame_count;      /* at least 1; later frames repeat the last */
    const float *times;        /* [frame] seconds */
    const pelt_motion *motion; /* linear blend skinning at these times; NULL: the rest pose */
    const pelt_clip *clip;     /* not NULL: its frames, and no motion */
    float offset[3];           /* is added to every position */
} pelt_mover;

/* Intersections in one frame. */
typedef struct pelt_contacts {
    uint64_t pair_count;        /* pairs of triangles that intersect */
    uint32_t triangle_count[2]; /* triangles of each mover in any pair; of self-intersections only the first is set */
    uint32_t listed_count;      /* pairs in `pairs` */
    uint32_t (*pairs)[2];       /* [most] array of the caller, or NULL; receives the first pairs found */
    double opened;              /* share of the leaves whose vertices were skinned, 0 to 1 */
} pelt_contacts;

/* Finds intersections of a and b in every frame of the longer one; `b` NULL: self-intersections of a. frames [larger
 * frame_count]; `pairs` of each is NULL or has space for `most` pairs. */
PELT_API pelt_result pelt_collide(pelt_context *context, const pelt_mover *a, const pelt_mover *b, uint32_t most,
                                  pelt_contacts *frames);

#ifdef __cplusplus
}
#endif

#endif
