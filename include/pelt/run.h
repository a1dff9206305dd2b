/* Pelt: skinning kernels. Morphs, linear blend skinning and dual quaternion skinning, with normals and tangents.
 *
 * Kernels never allocate. They are chosen at run time. Jobs marked `exact` have the same bits on every machine: a scalar
 * reference and SIMD versions perform the same operations in the same order, without fused multiply-adds. Other jobs use fused
 * multiply-adds where the machine has them, which is faster; results then differ by rounding. docs/run.md describes them.
 */
#ifndef PELT_RUN_H
#define PELT_RUN_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Blend matrices (LINEAR) or unit dual quaternions (DUAL_QUATERNION: no volume loss in twists). */
typedef enum pelt_skinning { PELT_SKINNING_LINEAR, PELT_SKINNING_DUAL_QUATERNION } pelt_skinning;

/* A unit dual quaternion: real part x y z w, then dual part x y z w. */
typedef struct pelt_dual_quaternion {
    float q[8]; /* real x y z w, dual x y z w */
} pelt_dual_quaternion;

/* The rigid parts of palette [count]; scale and shear are dropped. */
PELT_API void pelt_dual_quaternions(const pelt_affine *palette, uint32_t count, pelt_dual_quaternion *out);
/* Scale and shear of the palette [count] without translation: palette = rigid · stretch. Shear and non-uniform scale below 1e-4
 * are dropped. Returns false when all stretches are the identity, so that skinning needs none. */
PELT_API bool pelt_stretches(const pelt_affine *palette, const pelt_dual_quaternion *rigid, uint32_t count,
                             pelt_affine *out);

/* Instruction sets of the kernels. */
typedef enum pelt_simd {
    PELT_SIMD_SCALAR,
    PELT_SIMD_SSE2,
    PELT_SIMD_AVX2,   /* with fused multiply-adds where the CPU has them and the job is not `exact` */
    PELT_SIMD_AVX512, /* for prepared skins; other kernels use AVX2 */
    PELT_SIMD_NEON,
    PELT_SIMD_WASM, /* WebAssembly with 128-bit vectors */
    PELT_SIMD_COUNT
} pelt_simd;
/* "scalar", "sse2" … */
PELT_API const char *pelt_simd_name(pelt_simd simd);
/* Whether this machine and this build support it. */
PELT_API bool pelt_simd_available(pelt_simd simd);
/* The fastest available one. */
PELT_API pelt_simd pelt_simd_best(void);

/* How the weight of one bone changes along the surface at a vertex: gradient = scale · value, in 1 / object units. */
typedef struct pelt_weight_gradient {
    uint16_t bone;    /* index into the palette */
    int16_t value[3]; /* x, y, z; the values of all bones of a vertex sum to 0 where its weights sum to 1 */
} pelt_weight_gradient;

/* Gradients of the weights on the rest surface, for accurate normals of LINEAR jobs. */
typedef struct pelt_weight_gradients {
    const uint32_t *offsets;             /* [vertex + 1] first entry of each vertex; NULL: no gradients */
    const pelt_weight_gradient *entries; /* [entry] none for vertices around which the weights are constant */
    const float *scales;                 /* [vertex] 0 for vertices without entries */
} pelt_weight_gradients;

/* Computes the gradients of the model's skin, which it must have: the mean of those in the triangles of a vertex, weighted
 * by area; hard edges of the mesh's normals separate surfaces. Welds the model. The result lives in the model's memory until it
 * is freed; later changes of the model do not affect it. */
PELT_API pelt_result pelt_skin_gradients(pelt_context *context, pelt_model *model, pelt_weight_gradients *gradients);
/* Frees gradients before the model is destroyed, and empties the struct. */
PELT_API void pelt_weight_gradients_free(pelt_model *model, pelt_weight_gradients *gradients);

#define PELT_MORPH_BLOCK 16u

/* How one morph moves a block of vertices: weight · scale · values, off by 1/65534 of the largest at most. */
typedef struct pelt_packed_delta {
    uint32_t morph;                      /* place in the morph set */
    float scale;                         /* object units per step of values */
    int16_t values[3][PELT_MORPH_BLOCK]; /* x, y, z of every vertex */
} pelt_packed_delta;

/* Morphs in the order in which a kernel reads them: for every block of 16 vertices the morphs that move any of them. For many
 * morphs that move few vertices each, such as pose-driven corrections. Blocks are those of the mesh, ⌈vertex_count / 16⌉, or those
 * of a prepared skin. */
typedef struct pelt_packed_morphs {
    uint32_t vertex_count;              /* number of vertices of the mesh */
    const size_t *offsets;              /* [block + 1] first entry of each block; NULL: no morphs */
    const pelt_packed_delta *positions; /* [entry] sorted by morph in a block */
    const pelt_packed_delta *normals;   /* [entry] of the same morphs, or NULL: none has any */
} pelt_packed_morphs;

/* One skinning job: `vertex_count` vertices from in to out. in and out arrays must not overlap. */
typedef struct pelt_skin_job {
    uint32_t vertex_count;                        /* number of vertices */
    uint32_t influence_count;                     /* K, 1 to 8 */
    const uint16_t *bones;                        /* [vertex][K] indices into palette; not checked */
    const float *weights;                         /* [vertex][K] sum 1 */
    const pelt_affine *palette;                   /* [bone], LINEAR */
    const pelt_dual_quaternion *dual_quaternions; /* [bone], DUAL_QUATERNION */
    const pelt_affine *stretches;    /* [bone], DUAL_QUATERNION: blended and applied before the rigid part; or NULL */
    pelt_skinning skinning;          /* LINEAR or DUAL_QUATERNION */
    const float *positions;          /* [vertex][3] */
    const float *normals;            /* [vertex][3] or NULL */
    const float *tangents;           /* [vertex][4] or NULL */
    float *out_positions;            /* [vertex][3] */
    float *out_normals;              /* [vertex][3] unit length; NULL exactly when normals is NULL */
    float *out_tangents;             /* [vertex][4] unit length, handedness kept; NULL exactly when tangents is */
    pelt_weight_gradients gradients; /* LINEAR: accurate normals; {0}: cofactor matrix of the blended matrix */
    pelt_packed_morphs morphs;       /* of these vertices, from pelt_morph_pack: applied first; {0}: none */
    const float *morph_weights;      /* [morph] */
    bool exact; /* the same bits on every machine; false: faster where there are fused multiply-adds */
} pelt_skin_job;

/* Runs a job with the best kernel of this machine on the calling thread. Morphs and skin are one pass over the vertices: morphed
 * ones stay in the L1 cache, and results equal those of pelt_morph_run_packed followed by this function without morphs, bit for
 * bit. Tangents do not follow morphs. Normals of LINEAR jobs go through the
 * cofactor matrix of the blended 3×3 part (correct for scale and shear), tangents through the 3×3 part itself. With
 * `gradients`, normals go through the cofactor matrix of the deformation gradient, which includes the change of the weights
 * along the surface. */
PELT_API void pelt_skin_run(const pelt_skin_job *job);
/* The same with a given instruction set, which must be available. */
PELT_API void pelt_skin_run_simd(const pelt_skin_job *job, pelt_simd simd);
/* The same on the context's threads. */
PELT_API pelt_result pelt_skin_run_threads(pelt_context *context, const pelt_skin_job *job);

/* ---- Prepared skins ---------------------------------------------------------------------------------------- */

#define PELT_PREPARED_BLOCK 16u
#define PELT_PREPARED_GROUP 256u

/* Vertices at places [first_place, first_place + vertex_count) of the prepared order with the same number of influences. In a
 * shared group they also have the same bones: matrices are loaded once, and only weights differ. */
typedef struct pelt_prepared_group {
    uint32_t first_place;     /* index into prepared.order */
    uint32_t vertex_count;    /* 1 to PELT_PREPARED_GROUP; shared: at least PELT_PREPARED_BLOCK */
    uint32_t influence_count; /* K: influences of weight 0 are dropped, or added to let a vertex join a shared group */
    uint32_t first_block;     /* start of its vertices in the streams, in blocks of 16 vertices */
    size_t first_bone;        /* in `bones`: [K], not shared: [vertex][K] */
    /* in `weights`: [block][K − 1][16], the last weight is 1 − the others; not shared: [vertex][K] */
    size_t first_weight;
    bool shared; /* all vertices have the same bones */
} pelt_prepared_group;

/* A block of 16 vertices of a group. */
typedef struct pelt_prepared_block {
    uint32_t group; /* its group */
    uint32_t place; /* of its first vertex */
} pelt_prepared_block;

/* A skin and the mesh's arrays in the order in which kernels read them. Streams of shared groups are [block][component][16], of
 * others [vertex][component]. The last block of a shared group whose count is no multiple of 16 holds its last 16 vertices, so
 * that some vertices occur twice. */
typedef struct pelt_prepared_skin {
    uint32_t vertex_count;  /* number of vertices */
    uint32_t bone_count;    /* number of bones */
    uint32_t group_count;   /* number of groups */
    uint32_t shared_count;  /* vertices in shared groups */
    const uint32_t *order;  /* [place] vertex */
    const uint32_t *places; /* [vertex] place */
    /* [group] in the order of their places: shared ones of full blocks, at multiples of 16; other shared ones; loose ones. In
     * each of these three, groups of one influence first, of 8 last */
    const pelt_prepared_group *groups;
    const uint16_t *bones;             /* bone indices of all groups; see pelt_prepared_group.first_bone */
    const float *weights;              /* weights of all groups; see pelt_prepared_group.first_weight */
    const float *positions;            /* 3 components */
    const float *normals;              /* 3 components; or NULL */
    const float *tangents;             /* 4 components; or NULL */
    const pelt_prepared_block *blocks; /* [block] of all groups */
} pelt_prepared_skin;

/* Prepares the model's skin, which it must have, with copies of the mesh's positions, normals and tangents. The result lives in
 * the model's memory until it is freed; later changes of the model do not affect it. */
PELT_API pelt_result pelt_skin_prepare(pelt_context *context, pelt_model *model, pelt_prepared_skin *prepared);
/* Frees a prepared skin before the model is destroyed, and empties the struct. */
PELT_API void pelt_prepared_skin_free(pelt_model *model, pelt_prepared_skin *prepared);

/* One pose of a prepared skin. */
typedef struct pelt_prepared_job {
    const pelt_prepared_skin *prepared;           /* from pelt_skin_prepare */
    uint32_t first_group;                         /* first group to skin */
    uint32_t group_count;                         /* from there on; PELT_NONE: all */
    pelt_skinning skinning;                       /* LINEAR or DUAL_QUATERNION */
    const pelt_affine *palette;                   /* [bone], LINEAR */
    const pelt_dual_quaternion *dual_quaternions; /* [bone], DUAL_QUATERNION */
    const pelt_affine *stretches;                 /* [bone], DUAL_QUATERNION, or NULL, as in pelt_skin_job */
    float *out_positions;                         /* of place (or vertex) 0, for any first group */
    float *out_normals;                           /* unit length; or NULL */
    float *out_tangents;                          /* 4 floats; or NULL */
    size_t stride;                                /* bytes from one vertex to the next in all three; 0: 12, 12 and 16 */
    pelt_packed_morphs morphs;                    /* from pelt_morph_pack_prepared: applied first; {0}: none */
    const float *morph_weights;                   /* [morph] */
    bool mesh_order; /* write vertices at their index in the mesh; false: at their place in the prepared order */
    bool exact;      /* as in pelt_skin_job */
} pelt_prepared_job;

/* Runs a job on the calling thread. The result equals that of pelt_skin_run up to rounding (2e-6 of the size of the summed
 * terms, 2e-6 for unit vectors). Never allocates. Normals and tangents are normalised. Morphs and skin are one pass, as in
 * pelt_skin_run. Prepared order with stride 0 is fastest. */
PELT_API void pelt_prepared_run(const pelt_prepared_job *job);
/* The same with a given instruction set, which must be available. */
PELT_API void pelt_prepared_run_simd(const pelt_prepared_job *job, pelt_simd simd);
/* The same on the context's threads. */
PELT_API pelt_result pelt_prepared_run_threads(pelt_context *context, const pelt_prepared_job *job);

/* ---- Morphs and poses --------------------------------------------------------------------------------------- */

/* out = mesh array + Σ weight · displacement for positions and, where not NULL, normals and tangents
 * (not normalised). Morphs of weight 0 cost nothing. out arrays [vertex] as in the mesh. */
PELT_API void pelt_morph_run(const pelt_mesh *mesh, const pelt_morph_set *morphs, const float *weights,
                             float *out_positions, float *out_normals, float *out_tangents);

/* Packs the model's morphs. The result lives in the model's memory until it is freed; later changes of the morphs do not
 * affect it. */
PELT_API pelt_result pelt_morph_pack(pelt_context *context, pelt_model *model, pelt_packed_morphs *packed);
/* The same for jobs of a prepared skin of this model. */
PELT_API pelt_result pelt_morph_pack_prepared(pelt_context *context, pelt_model *model,
                                              const pelt_prepared_skin *prepared, pelt_packed_morphs *packed);
/* Frees packed morphs before the model is destroyed, and empties the struct. */
PELT_API void pelt_packed_morphs_free(pelt_model *model, pelt_packed_morphs *packed);
/* As pelt_morph_run, up to the error of packing, for vertices [first, first + count), `first` a multiple of 16, for meshes without
 * a skin; skinning jobs apply morphs themselves. The out arrays hold these vertices only. out_normals may be NULL; it is not
 * written where the mesh has no normals. Never allocates. */
PELT_API void pelt_morph_run_packed(const pelt_mesh *mesh, const pelt_packed_morphs *packed, const float *weights,
                                    uint32_t first, uint32_t count, float *out_positions, float *out_normals);

/* Evaluates a model at a time of a motion (NULL: rest pose) in world space: morphs, then skin. out_normals may be NULL; if not,
 * the mesh must have normals. Allocates scratch memory from the context. */
PELT_API pelt_result pelt_model_pose(pelt_context *context, const pelt_model *model, const pelt_motion *motion,
                                     float time, pelt_skinning skinning, float *out_positions, float *out_normals);
/* The same for given local transforms [joint] and morph weights [morph]. */
PELT_API pelt_result pelt_model_pose_locals(pelt_context *context, const pelt_model *model,
                                            const pelt_transform *locals, const float *weights, pelt_skinning skinning,
                                            float *out_positions, float *out_normals);

/* The same for sliders [slider of model.sliders] and local transforms [joint] of the other joints; `locals` NULL: the rest
 * pose. Morphs that no slider moves have their rest weights. */
PELT_API pelt_result pelt_model_pose_sliders(pelt_context *context, const pelt_model *model,
                                             const pelt_transform *locals, const float *sliders, pelt_skinning skinning,
                                             float *out_positions, float *out_normals);

/* A clip that evaluates a motion of the model when read. Frames are evenly spaced from the motion's start to its end,
 * both included: ceil(duration · fps) steps, so there are `fps` frames per second where that divides the duration, and
 * slightly more otherwise. The clip lives in the model's memory until it is freed; arrays replaced in the model later do
 * not change it. `motion` NULL: one frame, the rest pose. */
PELT_API pelt_result pelt_clip_from_motion(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                           double fps, pelt_skinning skinning, pelt_clip *clip);
/* The same at given times [frame_count] (seconds, ascending; copied), for example to compare a motion with the clip that it was
 * made from. */
PELT_API pelt_result pelt_clip_from_motion_at(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                              const float *times, uint32_t frame_count, pelt_skinning skinning,
                                              pelt_clip *clip);
/* Frees a clip of pelt_clip_from_motion, pelt_clip_from_motion_at or pelt_jiggle_bake (with the arrays of its report) before
 * the model is destroyed, and empties the struct. Other clips are not freed: they belong to the model. */
PELT_API void pelt_clip_free(pelt_model *model, pelt_clip *clip);
/* Cuts a motion to `from` … `to` seconds after its start (at most its end): the keys between, and new keys at both ends, shifted
 * so that the part starts when the motion does. The part moves as the motion does, CUBIC rotations up to rounding. It lives in
 * the model's memory until it is freed. Fails when the interval contains nothing of the motion. */
PELT_API pelt_result pelt_motion_part(pelt_context *context, pelt_model *model, const pelt_motion *motion, double from,
                                      double to, pelt_motion *part);
/* Closes a cycle. Game cycles often omit the last key, which would repeat the first. Where the first pose follows the last one
 * like the next key, `closed` is the motion with that key, and *added is its extra duration in seconds. Otherwise `closed` is
 * the unchanged motion and *added is 0. It lives in the model's memory until it is freed. */
PELT_API pelt_result pelt_motion_close(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                       pelt_motion *closed, double *added);
/* Frees a motion of pelt_motion_part or pelt_motion_close before the model is destroyed, and empties the struct. A motion that
 * was returned unchanged is not freed: it belongs to the model. */
PELT_API void pelt_motion_free(pelt_model *model, pelt_motion *motion);
/* Adds normals as players show them to a clip made by pelt_clip_from_motion: those of the mesh (smooth ones of the rest pose
 * where it has none; that welds the model) plus morph displacements, skinned by every rule (`source.read_normals`).
 * pelt_difference measures them. */
PELT_API pelt_result pelt_clip_skin_normals(pelt_context *context, pelt_model *model, pelt_clip *clip);

#ifdef __cplusplus
}
#endif

#endif
