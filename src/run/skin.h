/* Internals of run: skinning kernels per instruction set, and evaluation of poses for ranges of vertices. */
#ifndef PELT_RUN_SKIN_H
#define PELT_RUN_SKIN_H

#include "core/core.h"

#include <pelt/run.h>

/* A version of the skinning kernel; runs the whole job on the calling thread. */
typedef void px_skin_body(const pelt_skin_job *job);
px_skin_body px_skin_scalar, px_skin_sse2, px_skin_avx2, px_skin_fma, px_skin_neon, px_skin_wasm;

/* Converts a dual quaternion of any length > 0 to a matrix. */
pelt_affine px_affine_from_dual(const pelt_dual_quaternion *dual);

/* ---- Prepared skins --------------------------------------------------------------------------------------- */

/* First vertex of a block of a shared group. The last block is full too: it repeats vertices of the block before. */
static inline size_t px_prepared_place(const pelt_prepared_group *group, size_t block) {
    return px_min_size(block * PELT_PREPARED_BLOCK, group->vertex_count - PELT_PREPARED_BLOCK);
}

/* Data shared by the vertices of a group in one pose. The weight of the last bone is implied, 1 − Σ of the others: Σ
 * w·B = B_last + Σ w·(B − B_last). */
typedef struct px_prepared_pose {
    float matrices[PELT_MAX_INFLUENCES][12]; /* B_last, then B_k − B_last */
    float duals[PELT_MAX_INFLUENCES][9]; /* dual quaternions in the same form, all in one hemisphere, then the scale */
    float cofactor[12];                  /* single bone only: rows of 4 */
    bool turned;                         /* single bone whose `cofactor` preserves unit length */
} px_prepared_pose;

typedef enum px_prepared_kind {
    PX_PREPARED_LINEAR,    /* blend matrices: linear blend skinning, and single bones of dual quaternions */
    PX_PREPARED_DUAL,      /* dual quaternions with uniform scale */
    PX_PREPARED_STRETCHED, /* dual quaternions with non-uniform stretch: stretches are blended and applied first */
} px_prepared_kind;

#define PX_PREPARED_POSES 16u

/* Consecutive shared groups with the same number of influences, in a pose. Blocks of all groups form one loop: most
 * groups are short, and leaving a loop costs a mispredicted branch. */
typedef struct px_prepared_run {
    const pelt_prepared_skin *prepared;
    uint32_t first_group, group_count; /* at most PX_PREPARED_POSES */
    px_prepared_kind kind;
    const px_prepared_pose *poses; /* [group_count] */
    /* Planar output arrays that begin at the first group's first vertex; normals and tangents may be NULL. */
    float *positions, *normals, *tangents;
    const pelt_packed_morphs *morphs; /* NULL: no morphs */
    const float *morph_weights;       /* [morph] */
} px_prepared_run;

/* A version of the kernel for shared groups. */
typedef void px_prepared_body(const px_prepared_run *run);
px_prepared_body px_prepared_scalar, px_prepared_sse2, px_prepared_avx2, px_prepared_fma, px_prepared_avx512,
    px_prepared_avx512_fused, px_prepared_neon, px_prepared_wasm;
/* The body for an instruction set, which must be available. */
px_prepared_body *px_prepared_body_of(pelt_simd simd, bool exact);

/* ---- Morphs ------------------------------------------------------------------------------------------------- */

/* A version of the kernel for packed morphs: out [count][3] = rest + Σ weight · displacement for vertices [first,
 * first + count); `offsets` and `deltas` of pelt_packed_morphs, `rest` from vertex 0 on. */
typedef void px_morph_body(const size_t *offsets, const pelt_packed_delta *deltas, const float *weights,
                           const float *rest, size_t first, size_t count, float *out);
px_morph_body px_morph_scalar, px_morph_sse2, px_morph_avx2, px_morph_neon, px_morph_wasm;
/* The body for an instruction set, which must be available. */
px_morph_body *px_morph_body_of(pelt_simd simd);

/* The job restricted to vertices [first, first + count); with morphs, `first` is a multiple of PELT_MORPH_BLOCK. */
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
    if (job->gradients.offsets) {
        part.gradients.offsets += first;
        part.gradients.scales += first;
    }
    if (job->tangents) {
        part.tangents += 4 * first;
        part.out_tangents += 4 * first;
    }
    if (job->morphs.offsets) {
        assert(first % PELT_MORPH_BLOCK == 0);
        part.morphs.offsets += first / PELT_MORPH_BLOCK;
        part.morphs.vertex_count = (uint32_t)count;
    }
    return part;
}

/* pelt_morph_run for vertices [first, first + count): out arrays hold only these. out_normals or out_tangents may be
 * NULL; they are not written if the mesh has none. */
void px_morph_range(const pelt_mesh *mesh, const pelt_morph_set *morphs, const float *weights, size_t first,
                    size_t count, float *out_positions, float *out_normals, float *out_tangents);

/* A pose: palette and morph weights at one time. Lives in its own arena. */
typedef struct px_pose {
    const pelt_model *model;
    pelt_skinning skinning;
    const float *weights;                   /* [morph] or NULL: no morph is active */
    pelt_affine *palette;                   /* [bone] or NULL: no skin */
    pelt_dual_quaternion *dual_quaternions; /* [bone] or NULL: not DUAL_QUATERNION */
    pelt_affine *stretches;                 /* [bone] or NULL: not DUAL_QUATERNION, or bones do not scale */
    pelt_weight_gradients gradients;        /* for accurate normals of px_pose_normals, set by the caller; or {0} */
    px_arena *scratch;
} px_pose;

/* Computes everything of a pose that does not depend on vertices. Safe from any thread. On failure *pose needs no
 * freeing. */
pelt_result px_pose_make(pelt_context *context, const pelt_model *model, const pelt_motion *motion, float time,
                         pelt_skinning skinning, px_pose *pose);
void px_pose_free(px_pose *pose);

/* Evaluates positions and, if out_normals is not NULL, normals of vertices [first, first + count) on the calling
 * thread. Out arrays hold only these. Safe from any thread. Never allocates. */
void px_pose_range(const px_pose *pose, size_t first, size_t count, float *out_positions, float *out_normals);
/* Computes the unit normal of a vertex by every rule. Dual quaternions are rigid, so all are equal; without gradients
 * ACCURATE is INVERSE. The mesh must have normals. Safe from any thread. */
void px_pose_normals(const px_pose *pose, uint32_t vertex, float out[PELT_NORMAL_RULES][3]);

#endif
