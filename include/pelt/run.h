/* Pelt: what runs every frame. Morphs, linear blend skinning and dual quaternion skinning, with normals and tangents.
 *
 * Kernels never allocate. They have a scalar reference and SIMD bodies chosen at run time; all bodies perform the same
 * operations in the same order, and agree to the last bit (no fused multiply-add, no reassociation). docs/run.md says how.
 */
#ifndef PELT_RUN_H
#define PELT_RUN_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Blend matrices (LINEAR) or unit dual quaternions (DUAL_QUATERNION: keeps volume at twists). */
typedef enum pelt_skinning { PELT_SKINNING_LINEAR, PELT_SKINNING_DUAL_QUATERNION } pelt_skinning;

/* A unit dual quaternion: real part x y z w, then dual part x y z w. */
typedef struct pelt_dual_quaternion {
    float q[8]; /* real x y z w, dual x y z w */
} pelt_dual_quaternion;

/* The rigid parts of palette [count]; scale and shear are dropped. */
PELT_API void pelt_dual_quaternions(const pelt_affine *palette, uint32_t count, pelt_dual_quaternion *out);
/* What these rigid parts [count] leave of the palette: palette = rigid · stretch, scale and shear without translation.
 * Shear and uneven scale of less than 1e-4 are dropped. False: all are the identity, and skinning can do without. */
PELT_API bool pelt_stretches(const pelt_affine *palette, const pelt_dual_quaternion *rigid, uint32_t count,
                             pelt_affine *out);

/* Instruction sets of the kernels. */
typedef enum pelt_simd {
    PELT_SIMD_SCALAR,
    PELT_SIMD_SSE2,
    PELT_SIMD_AVX2,
    PELT_SIMD_AVX512, /* prepared skins; all else as AVX2 */
    PELT_SIMD_NEON,
    PELT_SIMD_COUNT
} pelt_simd;
/* "scalar", "sse2" … */
PELT_API const char *pelt_simd_name(pelt_simd simd);
/* Whether this machine and this build have it. */
PELT_API bool pelt_simd_available(pelt_simd simd);
/* The fastest available one. */
PELT_API pelt_simd pelt_simd_best(void);

/* One skinning job: `vertex_count` vertices from in to out. in and out arrays must not overlap. */
typedef struct pelt_skin_job {
    uint32_t vertex_count;                        /* number of vertices */
    uint32_t influence_count;                     /* K, 1 to 8 */
    const uint16_t *bones;                        /* [vertex][K] indices into palette; not checked */
    const float *weights;                         /* [vertex][K] sum 1 */
    const pelt_affine *palette;                   /* [bone], LINEAR */
    const pelt_dual_quaternion *dual_quaternions; /* [bone], DUAL_QUATERNION */
    const pelt_affine *stretches; /* [bone], DUAL_QUATERNION: blended and applied before the rigid part; or NULL */
    pelt_skinning skinning;       /* LINEAR or DUAL_QUATERNION */
    const float *positions;       /* [vertex][3] */
    const float *normals;         /* [vertex][3] or NULL */
    const float *tangents;        /* [vertex][4] or NULL */
    float *out_positions;         /* [vertex][3] */
    float *out_normals;           /* [vertex][3] unit length; NULL exactly when normals is NULL */
    float *out_tangents;          /* [vertex][4] unit length, handedness kept; NULL exactly when tangents is */
} pelt_skin_job;

/* Runs a job with the best kernel of this machine on the calling thread. Normals of LINEAR jobs go through the
 * cofactor matrix of the blended 3×3 (right for scale and shear), tangents through the 3×3 itself. */
PELT_API void pelt_skin_run(const pelt_skin_job *job);
/* The same with a given body; `simd` must be available. */
PELT_API void pelt_skin_run_simd(const pelt_skin_job *job, pelt_simd simd);
/* The same on the context's threads. */
PELT_API pelt_result pelt_skin_run_threads(pelt_context *context, const pelt_skin_job *job);

/* ---- Prepared skins ---------------------------------------------------------------------------------------- */

#define PELT_PREPARED_BLOCK 16u
#define PELT_PREPARED_GROUP 256u

/* Vertices at places [first_place, first_place + vertex_count) of the prepared order that have as many influences, and,
 * where `shared`, the same bones: their matrices are then loaded once, and only weights differ. */
typedef struct pelt_prepared_group {
    uint32_t first_place;     /* index into prepared.order */
    uint32_t vertex_count;    /* 1 to PELT_PREPARED_GROUP; shared: at least PELT_PREPARED_BLOCK */
    uint32_t influence_count; /* K: those without weight are left out, unless they lead into a group */
    uint32_t first_block;     /* where its vertices begin in the streams, in blocks of 16 vertices */
    size_t first_bone;        /* in `bones`: [K], not shared: [vertex][K] */
    size_t first_weight; /* in `weights`: [block][K − 1][16], the last has what is left to 1; not shared: [vertex][K] */
    bool shared;         /* all vertices have the same bones */
} pelt_prepared_group;

/* A skin and the mesh's arrays as a pass over vertices wants them. The streams are of shared groups
 * [block][component][16], of others [vertex][component]. The last block of a shared group whose count is no multiple of
 * 16 holds its last 16 vertices, some of them again. */
typedef struct pelt_prepared_skin {
    uint32_t vertex_count;             /* number of vertices */
    uint32_t bone_count;               /* number of bones */
    uint32_t group_count;              /* number of groups */
    uint32_t shared_count;             /* vertices in shared groups */
    const uint32_t *order;             /* [place] vertex: groups of one influence first, of 8 last */
    const uint32_t *places;            /* [vertex] place */
    const pelt_prepared_group *groups; /* [group] in the order of their places */
    const uint16_t *bones;             /* bone indices of all groups; see pelt_prepared_group.first_bone */
    const float *weights;              /* weights of all groups; see pelt_prepared_group.first_weight */
    const float *positions;            /* 3 components */
    const float *normals;              /* 3 components, see `axes`; or NULL */
    const float *tangents;             /* 4 components; or NULL */
    const uint8_t *axes; /* [block] 3: normals are x y z. 0, 1, 2: component `axis` is as it is, the two behind it (in a
                          * circle) are divided by it. That saves most of the cofactor matrix */
} pelt_prepared_skin;

/* Prepares the model's skin, which it must have, with the mesh's positions, normals and tangents as they are now. Lives
 * in the model's memory; what changes in the model later does not change it. */
PELT_API pelt_result pelt_skin_prepare(pelt_context *context, pelt_model *model, pelt_prepared_skin *prepared);

/* One pose of a prepared skin. */
typedef struct pelt_prepared_job {
    const pelt_prepared_skin *prepared;           /* from pelt_skin_prepare */
    uint32_t first_group;                         /* first group to skin */
    uint32_t group_count;                         /* from there on; PELT_NONE: all */
    pelt_skinning skinning;                       /* LINEAR or DUAL_QUATERNION */
    const pelt_affine *palette;                   /* [bone], LINEAR */
    const pelt_dual_quaternion *dual_quaternions; /* [bone], DUAL_QUATERNION */
    const pelt_affine *stretches;                 /* [bone], DUAL_QUATERNION, or NULL, as in pelt_skin_job */
    float *out_positions;                         /* of place (or vertex) 0, whatever the first group */
    float *out_normals;                           /* unit length; or NULL */
    float *out_tangents;                          /* 4 floats; or NULL */
    size_t stride;   /* bytes from one vertex to the next in all of them; 0: 12, 12 and 16 */
    bool mesh_order; /* the vertices go to their numbers in the mesh, not to their places */
} pelt_prepared_job;

/* Runs a job on the calling thread: what pelt_skin_run gives, but for rounding (2e-6 of the size of the terms that are
 * added, 2e-6 for unit vectors), with the same bits in all bodies. Never allocates. Normals and tangents are those of
 * the mesh made unit vectors. In prepared order with stride 0 it is fastest. */
PELT_API void pelt_prepared_run(const pelt_prepared_job *job);
/* The same with a given body; `simd` must be available. */
PELT_API void pelt_prepared_run_simd(const pelt_prepared_job *job, pelt_simd simd);
/* The same on the context's threads. */
PELT_API pelt_result pelt_prepared_run_threads(pelt_context *context, const pelt_prepared_job *job);

/* ---- Morphs and poses --------------------------------------------------------------------------------------- */

/* out = mesh array + Σ weight · displacement for positions and, where not NULL, normals and tangents
 * (not normalised). Morphs of weight 0 cost nothing. out arrays [vertex] as in the mesh. */
PELT_API void pelt_morph_run(const pelt_mesh *mesh, const pelt_morph_set *morphs, const float *weights,
                             float *out_positions, float *out_normals, float *out_tangents);

#define PELT_MORPH_BLOCK 16u

/* How one morph moves a block of vertices: weight · scale · values, off by 1/65534 of the largest at most. */
typedef struct pelt_packed_delta {
    uint32_t morph;                      /* place in the morph set */
    float scale;                         /* object units per step of values */
    int16_t values[3][PELT_MORPH_BLOCK]; /* x, y, z of every vertex */
} pelt_packed_delta;

/* Morphs as a pass over vertices wants them: of every block of 16 vertices the morphs that move any of it, one behind
 * the other. Made for many morphs that move few vertices each: corrections that follow the pose. */
typedef struct pelt_packed_morphs {
    uint32_t vertex_count;              /* number of vertices of the mesh */
    const size_t *offsets;              /* [⌈vertex_count / 16⌉ + 1] where a block's entries begin */
    const pelt_packed_delta *positions; /* [entry] sorted by morph in a block */
    const pelt_packed_delta *normals;   /* [entry] of the same morphs, or NULL: none has any */
} pelt_packed_morphs;

/* Packs the model's morphs as they are now. Lives in the model's memory. */
PELT_API pelt_result pelt_morph_pack(pelt_context *context, pelt_model *model, pelt_packed_morphs *packed);
/* What pelt_morph_run gives, but for that error, for vertices [first, first + count), `first` a multiple of 16. The out
 * arrays hold these vertices only: a few hundred at a time stay in the cache until they are skinned. out_normals may be
 * NULL; it is left alone where the mesh has no normals. Never allocates. */
PELT_API void pelt_morph_run_packed(const pelt_mesh *mesh, const pelt_packed_morphs *packed, const float *weights,
                                    uint32_t first, uint32_t count, float *out_positions, float *out_normals);

/* Everything at once: vertex positions (and normals where out_normals is not NULL; the mesh must have them) of a model
 * at a time of a motion (NULL: rest pose), in world space: morphs, then skin. Allocates scratch from the context. */
PELT_API pelt_result pelt_model_pose(pelt_context *context, const pelt_model *model, const pelt_motion *motion,
                                     float time, pelt_skinning skinning, float *out_positions, float *out_normals);
/* The same in a pose of the caller's: local transforms [joint] and morph weights [morph]. */
PELT_API pelt_result pelt_model_pose_locals(pelt_context *context, const pelt_model *model,
                                            const pelt_transform *locals, const float *weights, pelt_skinning skinning,
                                            float *out_positions, float *out_normals);

/* A clip that evaluates a motion of the model when read. Frames are evenly spaced from the motion's start to its end,
 * both included: ceil(duration · fps) steps, so there are `fps` frames per second where that divides the duration, and
 * slightly more elsewhere. The clip lives in the model's memory; nouns that are replaced in the model later do not change
 * it. `motion` NULL: one frame, the rest pose. */
PELT_API pelt_result pelt_clip_from_motion(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                           double fps, pelt_skinning skinning, pelt_clip *clip);
/* The same at times [frame_count] of the caller's choice (seconds, ascending; copied): to compare a motion with the
 * clip that it was made from, frame by frame. */
PELT_API pelt_result pelt_clip_from_motion_at(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                              const float *times, uint32_t frame_count, pelt_skinning skinning,
                                              pelt_clip *clip);
/* A part of a motion, from `from` to `to` seconds after its start (at most its end): the keys between, and keys at both ends,
 * moved so that it starts when the motion does. It moves as the motion does; CUBIC rotations to rounding. In the model's
 * memory. Fails where nothing of the motion lies between. */
PELT_API pelt_result pelt_motion_part(pelt_context *context, pelt_model *model, const pelt_motion *motion, double from,
                                      double to, pelt_motion *part);
/* Game cycles often leave out the last key, which would repeat the first one. Where the first pose follows the last one as
 * if it were one key later, `closed` is the motion with that key, and *added the seconds that it lasts longer; else it is
 * the motion as it is, and *added is 0: it is closed already, or no cycle. In the model's memory. */
PELT_API pelt_result pelt_motion_close(pelt_context *context, pelt_model *model, const pelt_motion *motion,
                                       pelt_motion *closed, double *added);
/* Gives such a clip of this model the normals that players show: the mesh's own (smooth ones of the rest pose where it has
 * none; that welds the model) and what morphs add to them, moved by the skin, by both rules (`source.read_normals`). To
 * measure them, see pelt_difference. */
PELT_API pelt_result pelt_clip_skin_normals(pelt_context *context, pelt_model *model, pelt_clip *clip);

#ifdef __cplusplus
}
#endif

#endif
