/* Internals of crowd: data prepared per character, and scratch memory per thread.
 *
 * Instances of one level are skinned in batches, one in each lane of a vector: they share bones, weights and rest
 * vertices, so these are loaded once for all, and every vertex takes the same steps in all lanes, however its bones
 * differ from its neighbour's. Nothing is gathered, and the order of vertices does not matter.
 */
#ifndef PELT_CROWD_CROWD_H
#define PELT_CROWD_CROWD_H

#include "core/core.h"

#include <pelt/crowd.h>

#include <stdatomic.h>

#define PX_CROWD_LANES 8u /* at most */

/* A motion at regular times, its start and its end among them. */
typedef struct px_crowd_motion {
    double start, duration; /* seconds */
    uint32_t sample_count;  /* at least 1; 1 when the duration is 0 */
    pelt_transform *locals; /* [sample][joint] neighbouring rotations have the same sign */
    float *weights;         /* [sample][morph] */
} px_crowd_motion;

typedef struct px_crowd_influence {
    float weight;
    uint32_t bone;
} px_crowd_influence;

/* A vertex at rest. Coordinates begin with the axis along which the normal is longest: a, b, c are x, y, z in a circle.
 * The normal is n_a (1, u, v), so the cofactors of a matrix with columns A, B, C turn it to n_a (B − u A) × (C − v A):
 * less than half of what they cost in full. */
typedef struct px_crowd_vertex {
    uint32_t axis;     /* 0 to 2 */
    float position[3]; /* a, b, c */
    float normal[3];   /* n_a, u, v; u and v are NaN where there is none */
} px_crowd_vertex;

/* Four vertices at a time. The last quad has the last vertex several times where the count is no multiple of 4. */
typedef struct px_crowd_quads {
    uint32_t count;                 /* 0: the level is not skinned in batches */
    size_t *first;                  /* [count + 1] where a quad's influences begin */
    px_crowd_influence *influences; /* of a quad: [4][K], K the most that one of its vertices has */
    px_crowd_vertex *vertices;      /* [count][4] */
} px_crowd_quads;

typedef struct px_crowd_level {
    pelt_model model;          /* copy: arrays as they were when the crowd was created */
    px_crowd_quads quads;      /* vertices for batches */
    pelt_packed_morphs morphs; /* vertex_count 0: it has none */
    pelt_affine **palettes;    /* [motion] [sample][bone]; levels with the same bones share them */
} px_crowd_level;

typedef struct px_crowd_character {
    px_crowd_level *levels; /* [level_count] skeleton, morphs and drivers of the first speak for all */
    uint32_t level_count;
    uint32_t first_key;       /* its levels have keys from here on, all different */
    px_crowd_motion *motions; /* [motion_count], and one of a single sample behind them: the rest pose */
    uint32_t motion_count;
} px_crowd_character;

/* Vertices of the output that belong to an instance. */
typedef struct px_crowd_range {
    size_t first;
    uint32_t count, instance;
} px_crowd_range;

/* Scratch memory of one thread; arrays are sized for the largest character. */
typedef struct px_crowd_slot {
    atomic_flag taken;
    pelt_transform *locals;             /* [joint] */
    pelt_affine *globals;               /* [joint] */
    pelt_affine *posed[PX_CROWD_LANES]; /* [bone] palettes of poses that are no samples, one for each lane */
    float *palette;                     /* [bone][12][lane] in the world; with one lane it is a pelt_affine [bone] */
    pelt_dual_quaternion *dual_quaternions; /* [bone] */
    pelt_affine *stretches;                 /* [bone] */
    float *weights;                         /* [morph] */
} px_crowd_slot;

struct pelt_crowd {
    pelt_context *context;
    px_arena *memory;
    pelt_skinning skinning;
    px_crowd_character *characters; /* [character_count] */
    uint32_t character_count;
    px_crowd_slot *slots; /* [slot_count] one per thread of the context */
    uint32_t slot_count;
    /* The frame: instances sorted by key, and cut into batches. */
    uint32_t key_count;
    uint32_t *first_instance, *first_batch; /* [key_count + 1] */
    size_t *first_vertex;                   /* [key_count + 1] while places are given */
    uint32_t *order;                        /* [capacity] instances, by key; a block of its own, for it may grow */
    px_crowd_range *ranges;                 /* [2][capacity] while overlaps are looked for; a block of its own too */
    uint32_t capacity;
};

/* A slot that no other thread uses. There is always one. */
px_crowd_slot *px_crowd_take(pelt_crowd *crowd);
void px_crowd_give(px_crowd_slot *slot);

/* Reserves memory for this many instances in a frame. */
pelt_result px_crowd_reserve(pelt_crowd *crowd, uint32_t instance_count);

/* Fails when two instances, all of them correct and in order, would write the same bytes. */
pelt_result px_crowd_check_overlap(const pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t count,
                                   const pelt_crowd_output *output);

/* Samples all motions of all characters; slots are there already. */
pelt_result px_crowd_sample(pelt_crowd *crowd, double fps);

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* The palette of an instance is world · (share[0] · palette[0] + share[1] · palette[1]). */
typedef struct px_crowd_pose {
    const pelt_affine *palette[2]; /* [bone] */
    float share[2];
    const pelt_affine *world;
} px_crowd_pose;

/* The pose of an instance; what samples do not hold is made in `posed` [bone]. slot->weights [morph] are set where the
 * level has morphs. */
px_crowd_pose px_crowd_pose_of(const px_crowd_character *character, const pelt_crowd_instance *instance,
                               px_crowd_slot *slot, pelt_affine *posed);

/* ---- Vertices --------------------------------------------------------------------------------------------- */

typedef enum px_crowd_layout { PX_CROWD_POSITIONS, PX_CROWD_PLANAR, PX_CROWD_INTERLEAVED } px_crowd_layout;

/* The caller's buffers. */
typedef struct px_crowd_target {
    float *positions, *normals; /* of vertex 0; normals may be NULL */
    size_t stride;              /* floats */
    px_crowd_layout layout;     /* that batches are made in; INTERLEAVED: a vertex is six floats and nothing else */
    bool streams;               /* written around the caches */
} px_crowd_target;

/* Planar arrays [count][3] go to vertices `at` and following, whatever the stride. */
void px_crowd_spread(const px_crowd_target *target, const float *positions, const float *normals, size_t at,
                     size_t count);

void px_crowd_single(const pelt_crowd *crowd, const pelt_crowd_instance *instance, px_crowd_slot *slot,
                     const px_crowd_target *target);

/* ---- Batches ---------------------------------------------------------------------------------------------- */

#define PX_CROWD_STAGE 64u /* vertices, a multiple of 4: two stages of eight lanes and a palette are 36 KB */

/* One source for several numbers of lanes, as in run. */
typedef struct px_crowd_body {
    uint32_t lanes;
    /* palette [bone][12][lane] from poses [lane]. */
    void (*gather)(const px_crowd_pose *poses, uint32_t bone_count, float *palette);
    /* Quad first + place goes to stage [lane][6 · PX_CROWD_STAGE], at vertex 4 · place: INTERLEAVED [vertex][6], else
     * [PX_CROWD_STAGE][3] positions, and as many normals behind them. */
    void (*skin)(const px_crowd_quads *quads, uint32_t first, uint32_t place, const float *palette,
                 px_crowd_layout layout, float *stage);
    /* memcpy of floats with non-temporal stores, for buffers that are not read soon. */
    void (*stream)(float *to, const float *from, size_t count);
} px_crowd_body;
extern const px_crowd_body px_crowd_one, px_crowd_four, px_crowd_eight;
/* The body for an instruction set, which must be available. */
const px_crowd_body *px_crowd_body_of(pelt_simd simd);

pelt_result px_crowd_quads_make(px_arena *memory, const pelt_model *model, px_crowd_quads *quads);

/* Vertices to be written: while one stage is filled, the other is written, lane by lane, so that the load on memory is even. */
typedef struct px_crowd_writer {
    _Alignas(64) float stages[2][PX_CROWD_LANES][6 * PX_CROWD_STAGE];
    const px_crowd_body *body;
    const px_crowd_target *target;
    uint32_t filling;             /* stage; the other one is full: */
    uint32_t written, lane_count; /* of its lanes */
    size_t vertex_count;          /* of each lane */
    size_t first[PX_CROWD_LANES]; /* where they go */
} px_crowd_writer;
void px_crowd_writer_begin(px_crowd_writer *w, const px_crowd_body *body, const px_crowd_target *target);
void px_crowd_writer_end(px_crowd_writer *w);

/* Instances order[0] … order[count - 1], all of one level, which has quads. */
void px_crowd_batch(const pelt_crowd *crowd, const pelt_crowd_instance *instances, const uint32_t *order,
                    uint32_t count, px_crowd_slot *slot, px_crowd_writer *w);

#endif
