/* Pelt: many characters at once, each in its own pose, place and level of detail.
 *
 * A crowd is made once from a few characters; motions are sampled then. Every frame it is given a list of instances, as
 * many as wanted, and writes their vertices into buffers of the caller's, on the context's threads. A frame allocates
 * nothing, and what it writes does not depend on the number of threads.
 *
 *   one layer       palettes of the two samples around the time, blended as matrices: what skinning itself does
 *   several layers  local transforms of the samples, blended joint by joint; then the skeleton
 *   `locals`        a pose of the caller's
 */
#ifndef PELT_CROWD_H
#define PELT_CROWD_H

#include <pelt/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One kind of animal, at several levels of detail. Each level is a model with a mesh and a skin; motions and drivers are
 * those of the first. All have the same joints and, unless they have none, the same morphs; bones may differ. */
typedef struct pelt_crowd_character {
    const pelt_model *const *levels; /* [level_count] at least one; borrowed: they must outlive the crowd */
    uint32_t level_count;            /* 1 or more */
} pelt_crowd_character;

typedef struct pelt_crowd_desc {
    uint32_t cookie;         /* set by pelt_crowd_desc_default; do not change */
    double fps;              /* samples of motions per second, at least, the first at their start and the last at their
                              * end; more than 0, default 30 */
    uint32_t skinning;       /* pelt_skinning; default LINEAR */
    uint32_t instance_count; /* that frames have at most, so that none allocates; default 0: the largest frame so far */
} pelt_crowd_desc;
PELT_API const pelt_option_table *pelt_crowd_options(void);
PELT_API pelt_crowd_desc pelt_crowd_desc_default(void);

/* Characters with their sampled motions, prepared for drawing many instances. */
typedef struct pelt_crowd pelt_crowd;

/* Samples every motion of every character. `desc` may be NULL. On failure *crowd is NULL. The context must outlive the
 * crowd; nouns that are replaced in the models later do not change it. */
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
    float weight;    /* ≥ 0; those of an instance need not sum to 1, but not all may be 0 */
    bool loop;       /* the motion begins anew at its end (and ends before its start), else it stays there */
} pelt_crowd_layer;

/* One drawn character. */
typedef struct pelt_crowd_instance {
    uint32_t character, level; /* indices into the characters of the crowd and the levels of that character */
    uint32_t layer_count;      /* 0: the rest pose */
    pelt_crowd_layer layers[PELT_CROWD_LAYERS]; /* [layer_count] */
    const pelt_transform *locals;               /* [joint] a pose of the caller's instead of layers; NULL: none */
    pelt_affine world;                          /* from the character's space */
    size_t first_vertex;                        /* where its vertices go in the output; see pelt_crowd_place */
} pelt_crowd_instance;

/* How many vertices an instance of this level has: those of its model, in the same order. 0 when there is none. */
PELT_API uint32_t pelt_crowd_vertex_count(const pelt_crowd *crowd, uint32_t character, uint32_t level);
/* Sets first_vertex of every instance so that those of a level follow each other, in their order, and levels do, each at a
 * multiple of PELT_CROWD_ALIGN: in a buffer that is aligned to 64 bytes instances begin with a cache line of their own,
 * whatever the stride, and large frames are written several times faster. *vertex_count is what the output must hold. */
PELT_API pelt_result pelt_crowd_place(pelt_crowd *crowd, pelt_crowd_instance *instances, uint32_t instance_count,
                                      size_t *vertex_count);

/* Where vertices go. Two arrays: stride 0. Interleaved with whatever else the vertices have: a pointer to the first
 * vertex's position, one to its normal, and the size of a vertex. Bytes in between are left alone. */
typedef struct pelt_crowd_output {
    float *positions;    /* of vertex 0 */
    float *normals;      /* of vertex 0; NULL: none are wanted. All levels in use must have them */
    size_t stride;       /* bytes from one vertex to the next, in both; a multiple of 4; 0: 12 */
    size_t vertex_count; /* that there is room for */
} pelt_crowd_output;

/* Writes the vertices of all instances, in world space. No two may write the same bytes: an argument error names those that
 * would. Morphs have the weights of the motion's tracks; those that drivers drive follow the pose instead wherever it is
 * not that of one motion with such tracks. Nothing is written when an instance is wrong. Allocates nothing, unless there are more instances than
 * ever before; the threads of a context may start in its first frame. */
PELT_API pelt_result pelt_crowd_frame(pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t instance_count,
                                      const pelt_crowd_output *output);

#ifdef __cplusplus
}
#endif

#endif
