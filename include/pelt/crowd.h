/* Pelt: CPU skinning of many characters at once, each with its own pose, place and level of detail.
 *
 * Create a crowd once from a few characters; that samples their motions. In every frame pass any number of instances:
 * pelt_crowd_frame writes their vertices into the caller's buffers, on the context's threads. A frame allocates nothing, and
 * its output does not depend on the number of threads.
 *
 *   one layer       palettes of the two samples around the time, blended as matrices or dual quaternions
 *   several layers  local transforms of the samples, blended joint by joint; then the skeleton
 *   `locals`        a pose of the caller
 */
#ifndef PELT_CROWD_H
#define PELT_CROWD_H

#include <pelt/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One character at several levels of detail. Each level is a model with a mesh and a skin; motions and drivers are those of
 * the first level. All levels have the same joints, and the same morphs or none; bones may differ. */
typedef struct pelt_crowd_character {
    const pelt_model *const *levels; /* [level_count] at least one; borrowed: they must outlive the crowd */
    uint32_t level_count;            /* 1 or more */
} pelt_crowd_character;

typedef struct pelt_crowd_desc {
    uint32_t cookie; /* set by pelt_crowd_desc_default; do not change */
    /* samples of motions per second, at least, the first at their start and the last at their end; more than 0,
     * default 30 */
    double fps;
    uint32_t skinning;       /* pelt_skinning; default LINEAR. Dual quaternions blend in the space of the character */
    uint32_t instance_count; /* most instances in a frame, so that no frame allocates; 0 (default): grow when needed */
} pelt_crowd_desc;
PELT_API const pelt_option_table *pelt_crowd_options(void);
PELT_API pelt_crowd_desc pelt_crowd_desc_default(void);

/* Characters with their sampled motions, prepared for drawing many instances. */
typedef struct pelt_crowd pelt_crowd;

/* Samples every motion of every character. `desc` may be NULL. On failure *crowd is NULL. The context must outlive the
 * crowd; arrays replaced in the models later do not change it. */
PELT_API pelt_result pelt_crowd_create(pelt_context *context, const pelt_crowd_character *characters,
                                       uint32_t character_count, const pelt_crowd_desc *desc, pelt_crowd **crowd);
/* NULL is allowed. */
PELT_API void pelt_crowd_destroy(pelt_crowd *crowd);

#define PELT_CROWD_LAYERS 4u
#define PELT_CROWD_ALIGN  16u

/* A motion that an instance plays. */
typedef struct pelt_crowd_layer {
    uint32_t motion; /* of the character */
    float time;      /* seconds */
    float weight;    /* ≥ 0; need not sum to 1 over the layers, but not all may be 0 */
    bool loop;       /* repeat the motion before its start and after its end; false: hold the first and last pose */
} pelt_crowd_layer;

/* One drawn character. */
typedef struct pelt_crowd_instance {
    uint32_t character, level; /* indices into the characters of the crowd and the levels of that character */
    uint32_t layer_count;      /* 0: the rest pose */
    pelt_crowd_layer layers[PELT_CROWD_LAYERS]; /* [layer_count] */
    const pelt_transform *locals; /* [joint] a pose of the caller that replaces layers; NULL: use layers */
    pelt_affine world;            /* from the character's space to the world */
    size_t first_vertex;          /* index of its first vertex in the output; see pelt_crowd_place */
} pelt_crowd_instance;

/* Vertex count of an instance of this level: the vertices of its model, in the same order. 0 when there is no such level. */
PELT_API uint32_t pelt_crowd_vertex_count(const pelt_crowd *crowd, uint32_t character, uint32_t level);
/* Sets first_vertex of every instance: instances of one level are consecutive, in their order, each at a multiple of
 * PELT_CROWD_ALIGN. In a buffer aligned to 64 bytes every instance then starts at a cache line, for any stride, and large
 * frames are written several times faster. *vertex_count is the number of vertices that the output must hold. */
PELT_API pelt_result pelt_crowd_place(pelt_crowd *crowd, pelt_crowd_instance *instances, uint32_t instance_count,
                                      size_t *vertex_count);

/* Output buffers. Two separate arrays: stride 0. Interleaved vertices: pointers to the position and the normal of the first
 * vertex, and the size of a vertex as stride. Bytes in between are not written. */
typedef struct pelt_crowd_output {
    float *positions;    /* of vertex 0 */
    float *normals;      /* of vertex 0; NULL: no normals. All levels in use must have normals */
    size_t stride;       /* bytes from one vertex to the next, in both; a multiple of 4; 0: 12 */
    size_t vertex_count; /* capacity of the buffers */
} pelt_crowd_output;

/* Writes the vertices of all instances, in world space. Instances must not overlap in the output: PELT_ERROR_USAGE names two
 * that do. Morphs have the weights of the motion's tracks; driven morphs follow the pose instead, unless the pose is that of one
 * motion with such tracks. Writes nothing when an instance is invalid. Allocates only when there are more instances than in
 * any frame before; the first frame may start the threads of the context. */
PELT_API pelt_result pelt_crowd_frame(pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t instance_count,
                                      const pelt_crowd_output *output);

#ifdef __cplusplus
}
#endif

#endif
