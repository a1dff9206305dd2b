/* Internals of run: kernels per instruction set, and poses of ranges of vertices. */
#ifndef PELT_RUN_SKIN_H
#define PELT_RUN_SKIN_H

#include "core/core.h"

#include <pelt/run.h>

/* One body of the kernel: the whole job on the calling thread. */
typedef void px_skin_body(const pelt_skin_job *job);
px_skin_body px_skin_scalar, px_skin_sse2, px_skin_avx2, px_skin_neon;

/* The matrix of a dual quaternion, of any length but 0. */
pelt_affine px_affine_from_dual(const pelt_dual_quaternion *dual);

/* ---- Prepared skins --------------------------------------------------------------------------------------- */

/* First vertex of a block of a shared group: the last block is full too, and repeats vertices of the block before. */
static inline size_t px_prepared_place(const pelt_prepared_group *group, size_t block) {
    return px_min_size(block * PELT_PREPARED_BLOCK, group->vertex_count - PELT_PREPARED_BLOCK);
}

/* What the vertices of a shared group have in common in one pose. The last bone has the weight that the others leave:
 * Σ w·B = B_last + Σ w·(B − B_last). */
typedef struct px_prepared_pose {
    uint32_t influence_count;
    bool linear;    /* matrices are blended: linear skinning, and single bones of dual quaternions */
    bool stretched; /* dual quaternions: matrices are blended and applied before them, as scales are not enough */
    bool turned;    /* a single bone whose `cofactor` keeps unit vectors at unit length */
    float matrices[PELT_MAX_INFLUENCES][12]; /* B_last, then B_k − B_last */
    float duals[PELT_MAX_INFLUENCES][9];     /* the same for dual quaternions, all on one side, and scales */
    float cofactor[9];                       /* of a single bone */
} px_prepared_pose;

/* Planar arrays that begin at a group's first vertex; normals and tangents may be NULL. */
typedef struct px_prepared_out {
    float *positions, *normals, *tangents;
} px_prepared_out;

/* One body for shared groups. */
typedef void px_prepared_body(const pelt_prepared_skin *prepared, const pelt_prepared_group *group,
                              const px_prepared_pose *pose, const px_prepared_out *out);
px_prepared_body px_prepared_scalar, px_prepared_sse2, px_prepared_avx2, px_prepared_avx512, px_prepared_neon;
/* The body for an instruction set, which must be available. */
px_prepared_body *px_prepared_body_of(pelt_simd simd);

/* ---- Morphs ------------------------------------------------------------------------------------------------- */

/* One body of packed morphs: out [count][3] = rest + Σ weight · displacement for vertices [first, first + count);
 * `offsets` and `deltas` of pelt_packed_morphs, `rest` from vertex 0 on. */
typedef void px_morph_body(const size_t *offsets, const pelt_packed_delta *deltas, const float *weights,
                           const float *rest, size_t first, size_t count, float *out);
px_morph_body px_morph_scalar, px_morph_sse2, px_morph_avx2, px_morph_neon;
/* The body for an instruction set, which must be available. */
px_morph_body *px_morph_body_of(pelt_simd simd);

/* The part of a job that concerns vertices [first, first + count). */
static inline pelt_skin_job px_skin_range(const pelt_skin_job *job, size_t first, size_t count) {
    pelt_skin_job part = *job;
    part.vertex_count = (uint32_t)count;
    part.bones += first * job->influence_count;
    part.weights += first * job->influence_count;
    part.positions += 3 * first;
    part.out_positions += 3 * first;
    if (job->normals) {
        part.normals += 3 * first;
        part.out_normals += 3 * first;
    }
    if (job->tangents) {
        part.tangents += 4 * first;
        part.out_tangents += 4 * first;
    }
    return part;
}

/* pelt_morph_run for vertices [first, first + count): the out arrays hold these only. out_normals or out_tangents may
 * be NULL; they are left alone where the mesh has none. */
void px_morph_range(const pelt_mesh *mesh, const pelt_morph_set *morphs, const float *weights, size_t first,
                    size_t count, float *out_positions, float *out_normals, float *out_tangents);

/* A pose: palette and morph weights at one time. Lives in its own arena. */
typedef struct px_pose {
    const pelt_model *model;
    pelt_skinning skinning;
    const float *weights;                   /* [morph] or NULL: none is active */
    pelt_affine *palette;                   /* [bone] or NULL: no skin */
    pelt_dual_quaternion *dual_quaternions; /* [bone] or NULL: not DUAL_QUATERNION */
    pelt_affine *stretches;                 /* [bone] or NULL: not DUAL_QUATERNION, or bones do not scale */
    px_arena *scratch;
} px_pose;

/* Everything of a pose that does not depend on vertices. Safe from any thread. On failure *pose needs no freeing. */
pelt_result px_pose_make(pelt_context *context, const pelt_model *model, const pelt_motion *motion, float time,
                         pelt_skinning skinning, px_pose *pose);
void px_pose_free(px_pose *pose);

/* Positions and, where out_normals is not NULL, normals of vertices [first, first + count) on the calling thread. The
 * out arrays hold these only. Safe from any thread. Never allocates. */
void px_pose_range(const px_pose *pose, size_t first, size_t count, float *out_positions, float *out_normals);
/* The unit normal of a vertex, as engines skin it: by the blended matrix itself, then by its inverse transpose.
 * Dual quaternions only turn: there both are the same. The mesh must have normals. Safe from any thread. */
void px_pose_normals(const px_pose *pose, uint32_t vertex, float out[6]);

#endif
