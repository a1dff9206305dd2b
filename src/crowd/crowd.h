/* Internals of crowd: data prepared per character, and scratch memory per thread.
 *
 * Instances of one level of detail are skinned in batches, one instance per SIMD lane: they share bone indices, weights
 * and rest vertices, so these are loaded once for all lanes, and every vertex does the same operations in all lanes,
 * whatever its bones. Nothing is gathered, and the order of vertices does not matter. What is done for an instance
 * depends on that instance alone, so that its result does not depend on the others in its batch.
 */
#ifndef PELT_CROWD_CROWD_H
#define PELT_CROWD_CROWD_H

#include "core/core.h"

#include <pelt/crowd.h>

#include <stdatomic.h>

#define PX_CROWD_LANES 16u /* largest number of lanes */

/* A motion sampled at regular times, including its start and its end. */
typedef struct px_crowd_motion {
    double start, duration; /* seconds */
    uint32_t sample_count;  /* ≥ 1; 1 if the duration is 0 */
    pelt_transform *locals; /* [sample][joint] quaternions of consecutive samples have the same sign */
    float *weights;         /* [sample][morph] */
} px_crowd_motion;

typedef struct px_crowd_influence {
    float weight;
    uint32_t bone;
} px_crowd_influence;

/* A vertex at rest. Coordinates a, b, c are x, y, z permuted cyclically so that a is the axis of the normal's
 * largest component. The normal is n_a (1, u, v), so the cofactor matrix of a matrix with columns A, B, C maps it to
 * n_a (B − u A) × (C − v A): less than half the cost of the full product. */
typedef struct px_crowd_vertex {
    uint32_t axis;     /* 0 to 2 */
    float position[3]; /* a, b, c */
    float normal[3];   /* n_a, u, v; without a normal n_a is 0, u and v are NaN */
} px_crowd_vertex;

/* Vertices in groups of four. The last quad repeats the last vertex if the count is not a multiple of 4. */
typedef struct px_crowd_quads {
    uint32_t count;
    size_t *first;                  /* [count + 1] first influence of each quad */
    px_crowd_influence *influences; /* per quad [4][K], K the largest influence count of its vertices */
    px_crowd_vertex *vertices;      /* [count][4] */
} px_crowd_quads;

/* A bone of a crowd of dual quaternions: first the stretch, then the dual quaternion is applied. */
typedef struct px_crowd_dual {
    float q[8];        /* as in pelt_dual_quaternion; consecutive samples have the same sign */
    float stretch[12]; /* 3×3 in rows of 4; the last column is 0 */
} px_crowd_dual;

#define PX_CROWD_RIGID 8u /* floats of a px_crowd_dual before the stretch */

typedef struct px_crowd_level {
    pelt_model *model;         /* borrowed: arrays as they were when the crowd was created */
    bool dual;                 /* dual quaternions; false: linear blend */
    px_crowd_quads quads;      /* vertices prepared for batches */
    pelt_packed_morphs morphs; /* vertex_count 0: no morphs */
    /* [motion] [sample][bone] pelt_affine, or px_crowd_dual if `dual`; levels with the same bones share them. */
    float **palettes;
    bool *stretched; /* [motion] some bone stretches; only if `dual` */
} px_crowd_level;

/* Floats per bone of a palette. */
static inline size_t px_crowd_width(const px_crowd_level *level) {
    return (level->dual ? sizeof(px_crowd_dual) : sizeof(pelt_affine)) / sizeof(float);
}

typedef struct px_crowd_character {
    px_crowd_level *levels; /* [level_count] level 0 defines skeleton, morphs and drivers */
    uint32_t level_count;
    uint32_t first_key;       /* key of level 0; level l has key first_key + l, unique in the crowd */
    px_crowd_motion *motions; /* [motion_count + 1] the last one is the rest pose, with one sample */
    uint32_t motion_count;
} px_crowd_character;

/* Range of output vertices of an instance. */
typedef struct px_crowd_range {
    size_t first;
    uint32_t count, instance;
} px_crowd_range;

/* Scratch memory of one thread; arrays are sized for the largest character. */
typedef struct px_crowd_slot {
    atomic_flag taken;
    pelt_transform *locals;                 /* [joint] */
    pelt_affine *globals;                   /* [joint] */
    pelt_affine *affines;                   /* [bone] palette before its conversion to dual quaternions */
    pelt_dual_quaternion *dual_quaternions; /* [bone] */
    pelt_affine *stretches;                 /* [bone] */
    float *posed[PX_CROWD_LANES];           /* [bone] per lane: palettes of poses that are not samples */
    float *weights[PX_CROWD_LANES];         /* [morph] per lane */
    float *palette;                         /* [bone][20][lane], [24][lane]: see px_crowd_job */
    float *lane_weights;                    /* [morph][lane] */
} px_crowd_slot;

struct pelt_crowd {
    pelt_context *context;
    px_arena *memory;
    pelt_skinning skinning;
    px_crowd_character *characters; /* [character_count] */
    uint32_t character_count;
    px_crowd_slot *slots; /* [slot_count] one per thread of the context */
    uint32_t slot_count;
    /* Current frame: instances sorted by key and divided into batches. */
    uint32_t key_count;
    uint32_t *first_instance, *first_batch; /* [key_count + 1] */
    size_t *first_vertex;                   /* [key_count + 1] scratch of pelt_crowd_place */
    uint32_t *order;                        /* [capacity] instances sorted by key; heap block, may grow */
    px_crowd_range *ranges;                 /* [2][capacity] scratch of the overlap check; heap block, may grow */
    uint32_t capacity;
};

/* Takes a slot that no other thread uses. There is one per thread, so one is always free. */
px_crowd_slot *px_crowd_take(pelt_crowd *crowd);
void px_crowd_give(px_crowd_slot *slot);

/* Reserves capacity for this many instances in a frame. */
pelt_result px_crowd_reserve(pelt_crowd *crowd, uint32_t instance_count);

/* Fails if two instances would write the same bytes. The instances must be valid and sorted in crowd->order. */
pelt_result px_crowd_check_overlap(const pelt_crowd *crowd, const pelt_crowd_instance *instances, uint32_t count,
                                   const pelt_crowd_output *output);

/* Samples all motions of all characters. The slots must exist. */
pelt_result px_crowd_sample(pelt_crowd *crowd, double fps);

/* ---- Poses ------------------------------------------------------------------------------------------------ */

/* The palette of an instance is share[0] · palette[0] + share[1] · palette[1], in the space of the character. */
typedef struct px_crowd_pose {
    const float *palette[2]; /* [bone] as those of the level */
    float share[2];
    bool stretched; /* dual quaternions only: some bone stretches */
    bool morphed;   /* some weight of a morph is not 0 */
    const pelt_affine *world;
} px_crowd_pose;

/* Returns the pose of an instance; poses that are not samples are computed in slot->posed[lane]. Sets
 * slot->weights[lane] if the level has morphs. */
px_crowd_pose px_crowd_pose_of(const px_crowd_character *character, const pelt_crowd_instance *instance,
                               px_crowd_slot *slot, uint32_t lane);

/* The palette where pelt_skin_palette and the like write it, before px_crowd_finish: `out` itself, if linear. */
pelt_affine *px_crowd_affines(const px_crowd_level *level, px_crowd_slot *slot, float *out);
/* Converts the palette to dual quaternions in `out`, if the level has them. Returns true if some bone stretches. */
bool px_crowd_finish(const px_crowd_level *level, px_crowd_slot *slot, float *out);

/* ---- Vertices --------------------------------------------------------------------------------------------- */

typedef enum px_crowd_layout { PX_CROWD_POSITIONS, PX_CROWD_PLANAR, PX_CROWD_INTERLEAVED } px_crowd_layout;

/* The caller's buffers. */
typedef struct px_crowd_target {
    float *positions, *normals; /* address of vertex 0; normals may be NULL */
    size_t stride;              /* floats */
    px_crowd_layout layout;     /* layout of batches; INTERLEAVED: a vertex is exactly six floats */
    bool streams;               /* use non-temporal stores */
} px_crowd_target;

/* Copies planar arrays [count][3] to vertices [at, at + count), for any stride. */
void px_crowd_spread(const px_crowd_target *target, const float *positions, const float *normals, size_t at,
                     size_t count);

/* ---- Batches ---------------------------------------------------------------------------------------------- */

#define PX_CROWD_STAGE 32u /* vertices, a multiple of 8: two stages of sixteen lanes take 24 KB */

/* Instances of a batch that are skinned in the same way. */
typedef struct px_crowd_job {
    const px_crowd_level *level;
    px_crowd_layout layout;
    bool stretched, morphed;    /* as those of their poses */
    const px_crowd_pose *poses; /* [lane] */
    /* Linear: [bone][12][lane] in world space. Dual quaternions: [bone][8 or, if stretched, 20][lane], then the matrices
     * of the world [12][lane] and their cofactors [12][lane]. */
    float *palette;
    const float *weights; /* [morph][lane] */
} px_crowd_job;

/* A version of the batch kernel for one number of lanes; batch_kernel.h is compiled for each. */
typedef struct px_crowd_body {
    uint32_t lanes;
    const struct px_crowd_body *narrow; /* for batches of fewer instances: at least half as many lanes; or NULL */
    /* Computes the palette of a job. */
    void (*gather)(const px_crowd_job *job);
    /* Skins quads [first, first + count) to stage [lane][6 · PX_CROWD_STAGE]. INTERLEAVED: [vertex][6], else
     * positions [vertex][3], with normals from the middle of the lane's stage on. */
    void (*skin)(const px_crowd_job *job, uint32_t first, uint32_t count, float *stage);
    /* memcpy of floats with non-temporal stores, for buffers that are not read soon. */
    void (*stream)(float *to, const float *from, size_t count);
} px_crowd_body;
/* One and four do the same operations; eight and sixteen fuse multiplications and additions, which rounds otherwise. */
extern const px_crowd_body px_crowd_one, px_crowd_four, px_crowd_eight, px_crowd_sixteen;
/* The body for an instruction set, which must be available. */
const px_crowd_body *px_crowd_body_of(pelt_simd simd);

pelt_result px_crowd_quads_make(px_arena *memory, const pelt_model *model, px_crowd_quads *quads);

/* Double-buffered output: while one stage is filled, the other is written, lane by lane, so that the load on memory
 * is even. */
typedef struct px_crowd_writer {
    _Alignas(64) float stages[2][PX_CROWD_LANES][6 * PX_CROWD_STAGE];
    const px_crowd_body *body;
    const px_crowd_target *target;
    uint32_t filling;             /* index of the stage being filled; the other one is full */
    uint32_t written, lane_count; /* lanes of the full stage */
    size_t vertex_count;          /* vertices per lane */
    size_t first[PX_CROWD_LANES]; /* output vertex of each lane */
} px_crowd_writer;
void px_crowd_writer_begin(px_crowd_writer *w, const px_crowd_body *body, const px_crowd_target *target);
void px_crowd_writer_end(px_crowd_writer *w);

/* Skins instances order[0] … order[count - 1], all of one level. */
void px_crowd_batch(const pelt_crowd *crowd, const pelt_crowd_instance *instances, const uint32_t *order,
                    uint32_t count, px_crowd_slot *slot, px_crowd_writer *w);

#endif
