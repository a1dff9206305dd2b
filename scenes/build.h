/* Building blocks of scenes: exact sines, random numbers, closed surfaces, shells, skeletons, weights, motions.
 *
 * Only additions, products, quotients and square roots are used, so a scene has the same bytes on every IEEE machine.
 * Scratch memory is a temporary model, because scenes include public headers only.
 */
#ifndef PELT_SCENES_BUILD_H
#define PELT_SCENES_BUILD_H

#include "scenes.h"

#include <math.h>

#define SCENE_PI 3.14159265358979323846

#define SCENE_TRY(step)                                                                                                \
    do {                                                                                                               \
        pelt_result scene_step_result = (step);                                                                        \
        if (scene_step_result != PELT_OK)                                                                              \
            return scene_step_result;                                                                                  \
    } while (0)

#define SCENE_COUNT(array)                     ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define SCENE_NEW(context, model, type, count) ((type *)pelt_model_alloc(context, model, count, sizeof(type)))

/* ---- Numbers ---------------------------------------------------------------------------------------------- */

typedef struct vec {
    double x, y, z;
} vec;

static inline vec vec_add(vec a, vec b) {
    return (vec){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline vec vec_sub(vec a, vec b) {
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline vec vec_scale(vec a, double s) {
    return (vec){a.x * s, a.y * s, a.z * s};
}
/* a + s·b */
static inline vec vec_mad(vec a, double s, vec b) {
    return (vec){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}
static inline double vec_dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline vec vec_cross(vec a, vec b) {
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline double vec_length(vec a) {
    return sqrt(vec_dot(a, a));
}
/* Unit length; (0, 0, 1) for no direction. */
static inline vec vec_unit(vec a) {
    double length = vec_length(a);
    return length > 1e-30 ? vec_scale(a, 1 / length) : (vec){0, 0, 1};
}
static inline vec vec_mix(vec a, vec b, double u) {
    return vec_mad(a, u, vec_sub(b, a));
}
static inline vec vec_load(const float *p) {
    return (vec){p[0], p[1], p[2]};
}
static inline void vec_store(float *p, vec a) {
    p[0] = (float)a.x, p[1] = (float)a.y, p[2] = (float)a.z;
}

static inline double scene_clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
/* Smooth step: 0 below 0, 1 above 1, with zero slope at both ends. */
static inline double scene_smooth(double x) {
    x = scene_clamp(x, 0, 1);
    return x * x * (3 - 2 * x);
}
/* The same bits on every platform, unlike those of the C library. Accurate to 1e-15 for |x| < 1e6. */
double scene_sin(double x);
double scene_cos(double x);

/* A rotation: unit quaternion. */
typedef struct quat {
    double x, y, z, w;
} quat;
quat quat_turn(vec axis, double angle);
quat quat_mul(quat a, quat b);
quat quat_conjugate(quat q);
quat quat_unit(quat q);
/* The shortest rotation from unit vector a to unit vector b. */
quat quat_between(vec a, vec b);
vec quat_apply(quat q, vec p);

/* splitmix64: full period, every seed is good. */
typedef struct scene_random {
    uint64_t state;
} scene_random;
uint64_t scene_random_bits(scene_random *random);
/* In [low, high). */
double scene_random_range(scene_random *random, double low, double high);

/* `wanted`, or `initial` if it is 0, clamped to [low, high]. */
uint32_t scene_count(uint32_t wanted, uint32_t initial, uint32_t low, uint32_t high);
#define SCENE_MAX_VERTICES 20000000u
#define SCENE_MAX_FRAMES   100000u
#define SCENE_FPS          30.0

/* Creates a model with `build`, which also gets a scratch model. On failure *model is NULL. */
typedef pelt_result scene_build_fn(pelt_context *context, pelt_model *scratch, const scene_desc *desc,
                                   pelt_model *model);
pelt_result scene_build(pelt_context *context, const scene_desc *desc, scene_build_fn *build, pelt_model **model);

/* ---- Closed surfaces -------------------------------------------------------------------------------------- */

/* A solid: spheres swept along segments, in groups. Within a group the union is sharp (neighbouring segments share
 * their end spheres, so it is smooth anyway), between groups it is rounded by `blend`. */
typedef struct scene_segment {
    vec a, b;
    double radius_a, radius_b;
    uint32_t group;
} scene_segment;

#define SCENE_MAX_SEGMENTS 320u
#define SCENE_MAX_GROUPS   64u

typedef struct scene_solid {
    uint32_t segment_count, group_count;
    scene_segment segments[SCENE_MAX_SEGMENTS]; /* ascending by group */
    double blend[SCENE_MAX_GROUPS];             /* blend radius with the groups before it; > 0 */
} scene_solid;

/* Starts a new group; later additions belong to it. */
void scene_solid_group(scene_solid *solid, double blend);
void scene_solid_segment(scene_solid *solid, vec a, vec b, double radius_a, double radius_b);
/* A smooth curve through `count` ≥ 2 points with their radii, `steps` segments between neighbours. */
void scene_solid_curve(scene_solid *solid, const vec *points, const double *radii, uint32_t count, uint32_t steps);
/* Signed distance bound: negative inside; Lipschitz constant 1. */
double scene_solid_distance(const scene_solid *solid, vec p);

/* The surface of a solid: quads with one vertex in every grid cell that the surface crosses. */
typedef struct scene_surface {
    uint32_t point_count, quad_count;
    float *positions; /* [point][3] */
    float *normals;   /* [point][3] */
    uint32_t *quads;  /* [quad][4] counter-clockwise from outside, the shorter diagonal from corner 0 */
} scene_surface;

/* About `point_count` points, within a tenth where the solid is not thinner than the grid; parts thinner than a cell
 * are fattened so that nothing falls off. Memory comes from `memory`. */
pelt_result scene_surface_make(pelt_context *context, pelt_model *memory, const scene_solid *solid,
                               uint32_t point_count, scene_surface *surface);

/* Number of surface points for this number of vertices: seams duplicate some. */
uint32_t scene_points_for(uint32_t vertex_count);

/* Makes the mesh of a model from a surface: one part, UVs seen from the side with a seam along x = 0, where vertices
 * are doubled. With `shared_points` both share a point, else they are points of their own. */
pelt_result scene_mesh_from_surface(pelt_context *context, pelt_model *model, const scene_surface *surface,
                                    const char *name, bool shared_points);

/* ---- Meshes ----------------------------------------------------------------------------------------------- */

/* Area-weighted normals of mesh.positions, not welded. */
pelt_result scene_normals(pelt_context *context, pelt_mesh *mesh);
/* Allocates arrays for the counts; polygons and points are left out. */
pelt_result scene_mesh_alloc(pelt_context *context, pelt_model *model, uint32_t vertex_count, uint32_t triangle_count,
                             uint32_t part_count);

/* ---- Rigs ------------------------------------------------------------------------------------------------- */

typedef struct scene_joint {
    const char *name;
    uint32_t parent; /* a smaller index or PELT_NONE */
    vec head, tail;  /* the bone, in object space; local y points along it */
    double radius;   /* of the body around it */
} scene_joint;

/* Skeleton and skin bones (bone j = joint j). Names must outlive the model or be literals. */
pelt_result scene_skeleton(pelt_context *context, pelt_model *model, const scene_joint *joints, uint32_t joint_count);

#define SCENE_INFLUENCES 4u
/* Allocates the skin's weights. */
pelt_result scene_skin_alloc(pelt_context *context, pelt_model *model);
/* Weights of one vertex from smooth falloffs around the bones whose bit is set in `mask` (joint < 64). They fade to 0
 * before a bone leaves the four, so that they are continuous over the surface. */
void scene_skin_weigh(const scene_joint *joints, uint32_t joint_count, uint64_t mask, vec p, uint16_t *bones,
                      float *weights);
/* A solid's surface as a mesh of about desc->vertex_count vertices, 6,000 by default, with a skeleton, and skinned to
 * all of it. */
pelt_result scene_skinned_solid(pelt_context *context, pelt_model *scratch, const scene_desc *desc,
                                const scene_solid *solid, const char *name, const scene_joint *joints,
                                uint32_t joint_count, pelt_model *model);

/* A head on one joint, not skinned, with room for morph targets (morph.c). */
pelt_result scene_head_make(pelt_context *context, pelt_model *scratch, scene_random *random, uint32_t vertex_count,
                            uint32_t morph_count, pelt_model *model);
/* Sets morph target `index` of a welded model: displacements `positions` [vertex][3], in its memory, and normals of the
 * displaced triangles. */
pelt_result scene_target(pelt_context *context, pelt_model *model, const char *name, uint32_t index, float *positions);

/* One sine wave of one joint: turns about an axis of object space through the joint's head (axis 0–2, radians), or
 * moves along one (3–5, object units). Waves of one joint follow each other in the order of the table. */
typedef struct scene_wave {
    uint32_t joint;
    uint32_t axis;
    double middle, amplitude;
    double cycles; /* per loop */
    double phase;  /* of the loop, 0 to 1 */
} scene_wave;
/* Its value at a time, in loops (1: the end of the first loop). */
double scene_wave_at(const scene_wave *wave, double time);

/* A motion with a key per frame, 30 a second, LINEAR; a loop lasts `loop` frames. */
pelt_result scene_motion(pelt_context *context, pelt_model *model, const char *name, const scene_wave *waves,
                         uint32_t wave_count, uint32_t frame_count, uint32_t loop);

/* Adds a clip with frames 1/30 s apart that `read` evaluates. */
pelt_result scene_clip(pelt_context *context, pelt_model *model, const char *name, uint32_t frame_count,
                       pelt_clip_source source);

#endif
