/* Pelt: decompose a vertex animation into bones, transforms and sparse convex weights (Kavan, Sloan, O'Sullivan 2010, with
 * extensions; or James, Twigg 2005).
 *
 * pelt_decompose runs the whole decomposition; a pelt_decomposer runs it step by step.
 */
#ifndef PELT_DECOMPOSE_H
#define PELT_DECOMPOSE_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which matrices a bone can have. */
typedef enum pelt_transforms {
    PELT_TRANSFORMS_AFFINE,    /* any 3×4 matrix; two nested nodes in a file */
    PELT_TRANSFORMS_TRS,       /* rotation, translation, scale along axes that are fixed in the bone; one node */
    PELT_TRANSFORMS_RIGID,     /* rotation and translation; one node */
    PELT_TRANSFORMS_SIMILARITY /* rotation, translation, one scale for all axes; one node */
} pelt_transforms;

/* How bones and weights are found. */
typedef enum pelt_decompose_method {
    PELT_DECOMPOSE_FESAM, /* seeds, then iterations over transforms, rest pose and weights */
    PELT_DECOMPOSE_SMA    /* a bone for each cluster of triangles with similar rotations, then weights; no iterations */
} pelt_decompose_method;

/* How the method sma solves for the weights of a vertex. */
typedef enum pelt_weight_solver {
    PELT_WEIGHT_SOLVER_NNLS,   /* non-negative least squares */
    PELT_WEIGHT_SOLVER_TSVD,   /* truncated singular value decomposition; weights may be negative */
    PELT_WEIGHT_SOLVER_BOUNDED /* least squares with weights of at least min_weight */
} pelt_weight_solver;

/* How the animation is reduced to a subspace. All but svd hold the animation in memory; they are for comparison (FESAM,
 * Algorithm 1 and Table 1). */
typedef enum pelt_reduction {
    PELT_REDUCE_SVD,          /* singular value decomposition: the smallest subspace; streams the animation */
    PELT_REDUCE_MAX,          /* the longest remaining column, one after another */
    PELT_REDUCE_GRAM_SCHMIDT, /* the columns in order */
    PELT_REDUCE_POWER1,       /* the longest remaining column after one power iteration */
    PELT_REDUCE_POWER2,       /* the same after two */
    PELT_REDUCE_MAX_PLAIN     /* as max, without line 5 of Algorithm 1, which keeps the basis orthogonal */
} pelt_reduction;

/* How the first bones are found. */
typedef enum pelt_seed_method {
    PELT_SEED_SPLIT,  /* clusters of similar motion, split where their error is largest */
    PELT_SEED_REGIONS /* regions grown over the surface from distant seed triangles, as in FESAM §4.1 */
} pelt_seed_method;

/* How much time to spend. */
typedef enum pelt_effort {
    PELT_EFFORT_FAST,    /* a third of `iterations` */
    PELT_EFFORT_DEFAULT, /* `iterations` */
    PELT_EFFORT_BEST /* twice `iterations` (eight times with other than affine bones), a hundredth of `tolerance`, more starts and
                          * exchanges of bones: up to ten times the time */
} pelt_effort;

typedef struct pelt_decompose_desc {
    uint32_t cookie; /* set by pelt_decompose_desc_default; do not change */
    /* P, 0 to 4000. 0 (default): the fewest that reach `error`, or without `error` the number at which the error
     * curve flattens; the result is the one that `bones` set to that number gives */
    uint32_t bones;
    double error;        /* E_rms to reach with as few bones as possible; default 0: no target */
    uint32_t influences; /* K, bones per vertex at most, 1 to 8; default 4 */
    uint32_t transforms; /* pelt_transforms; default affine */
    uint32_t effort;     /* pelt_effort; default PELT_EFFORT_DEFAULT */
    uint32_t iterations; /* at most, from 0: the initial segmentation, one bone per vertex; default 100 */
    double tolerance; /* stop when ten iterations lower the error by less than this fraction, 0 to 1; default 0.003 */
    double epsilon;   /* E_rms that the reduction may lose; default 0: a negligible amount for this number of bones */
    uint32_t reduce;  /* pelt_reduction; default svd */
    /* bytes that may be used beside the model; default 0: no limit. Does not change the result. Too few bytes are an
     * error that states how many are needed */
    size_t memory;
    /* remove keys while the error rises by at most this fraction, 0 to 1; 0: keep all keys; default 0.01 */
    double key_tolerance;
    uint32_t seed_method; /* pelt_seed_method; default split */
    /* smoothness of weights: a difference from the neighbours' weights costs like an error of this E_rms; default 0:
     * none */
    double smooth;
    bool fixed_rest; /* keep the rest pose; default false */
    bool free_rest;  /* change the rest pose even where a rig would keep it; default false */
    /* affine bones may flatten or mirror thin surfaces: smallest error, but engines shade such surfaces wrongly;
     * default false: where over 5 % of the normals would flip, bones are kept near rotations at the cost of a larger
     * error. Always free with `error` */
    bool free_bones;
    bool turned_normals; /* rotate rest normals with the rest pose only; default false: fit them, see "Normals" */
    bool hierarchy;      /* join rigid bones to a skeleton where their motions are most similar; default false: flat */

    bool published;  /* only the steps of the method's paper, see "As published"; default false */
    uint32_t method; /* pelt_decompose_method; default fesam. The next three fields are for sma */
    /* ε, 1e-4 to 1: mean difference of rotation matrix entries within a bone; larger: fewer bones; default 0.05 */
    double rotation_tolerance;
    uint32_t weight_solver; /* pelt_weight_solver; default nnls */
    double min_weight;      /* lower bound of the solver `bounded`, -1000 to 0; default -0.1 */
    /* sma: vertex colours (mesh.colors) show the triangles of each bone; outliers are black; default false */
    bool color_clusters;

    /* Initial rest pose (final with fixed_rest). Ignored with a rig, except rest_positions. */
    /* frame, counted over all clips; default 0: the first frame, or, where that is degenerate, the frame that sizes
     * are measured in (see measure.h) */
    uint32_t rest_frame;
    const float *rest_positions; /* [point][3], used instead of a frame; NULL (default): use rest_frame */

    /* Initial or fixed parts of the solution; see "With a rig". */
    const pelt_model *rig; /* NULL (default): none. Must outlive the call or the decomposer; may be the model itself */
    bool given_motion;     /* use the motions of the rig; default false */
    bool given_weights;    /* use the weights of the rig; default false */
    bool refine;           /* the given parts are initial values and may change; default false */
    uint32_t add; /* helper bones to add to the rig, 0 to 1000; fewer where E_rms falls below 0.01; default 0 */
    const char *lock_bones; /* names of bones that keep motion and weights, separated by commas or newlines; or NULL */
    const char *lock_vertices; /* names of parts or materials whose vertices keep their weights, likewise; or NULL */

    struct pelt_decompose_cache *cache; /* of earlier calls with the same clips; NULL (default): none */

    const char *checkpoint;    /* path of a file for the state of the solver, see "Checkpoints"; NULL (default): none */
    uint32_t checkpoint_every; /* iterations after which it is saved; default 0: 10 */
} pelt_decompose_desc;
PELT_API const pelt_option_table *pelt_decompose_options(void);
PELT_API pelt_decompose_desc pelt_decompose_desc_default(void);

/* With a rig. The bones of the result are those of the rig; `bones` and `error` are ignored.
 *
 *   given_motion         solve for weights; skeleton and motions of the rig are kept to the bit
 *   given_weights        solve for transforms, keep everything else; bones keep their names and get a flat skeleton
 *   both                 refine weights, transforms and rest pose from these initial values, except what is locked; bones get
 *                        a flat skeleton
 *   one and refine       solve for the other one, then refine as above
 *   add                  (implies both) add bones where the error is largest; skeleton, motions and rest pose of the rig are
 *                        kept; its weights are scaled by 1 − the share of the helper bones, at vertices that have fewer than
 *                        `influences` bones
 *   add and refine       the same, then refine
 *   lock_bones           (with both) these bones keep joints, tracks and weights to the bit; the others get new joints
 *                        under one root beside those of the rig
 *   lock_vertices        (with weights) these vertices keep their weights
 *
 * The initial rest pose is that of the rig (of the mesh where the vertices of the rig do not match), or rest_positions. It is
 * kept to the bit unless both are given, refine or free_rest is set. With given weights, `influences` is at least that of the
 * rig. Motions are matched to clips by name, else by order; they must be as long and are evaluated at the times of the clips.
 * Vertices of the rig are matched to the vertices (or points) of the mesh by order, else by rest position. */

/* As published. Presets of pelt_decompose_options: `fesam2010` and `sma2005`. With `published`, the method fesam takes the steps
 * of FESAM §4 and no others: no extrapolation, relocation of bones, regularisation or search for better sets of bones; weights
 * are those of the `influences` bones that predict a vertex best alone. The error may rise in an iteration. The method sma takes
 * the steps of SMA §4 and §5: bones are fitted to core triangles by their areas, a vertex has the bones of least γ (eq. 5),
 * and negative weights (weight_solver tsvd and bounded) are kept. Files of glTF cannot hold negative weights. */

/* A cache for repeated decompositions of the same clips on the same mesh, with the same rest pose and without a rig: the
 * reduction and the clusters of the method sma (for the same rotation_tolerance and `published`) are computed once. Results
 * do not depend on it. It is used by one call at a time. */
typedef struct pelt_decompose_cache pelt_decompose_cache;
/* Creates an empty cache. */
PELT_API pelt_result pelt_decompose_cache_create(pelt_context *context, pelt_decompose_cache **cache);
/* NULL is allowed. */
PELT_API void pelt_decompose_cache_destroy(pelt_decompose_cache *cache);

/* Checkpoints. With `checkpoint`, the state of the solver is saved to that file after the reduction and the seeds, every
 * checkpoint_every iterations and after the last one; what the reduction found is in a file of the same name with ".reduced" at its end. A call that finds
 * the files goes on from there, to the same result as without them. It fails with PELT_ERROR_INPUT if they are of other inputs, settings
 * or another version, or damaged: the inputs are read once more to tell. Files are replaced as a whole, so a process that is killed leaves the
 * last state. Remove them when the result is safe. Not with a rig or the method sma. */
/* Removes the files of a checkpoint; without any it does nothing. */
PELT_API PELT_EXPERIMENTAL void pelt_decompose_checkpoint_remove(const char *path);

/* Method sma: the rest pose is kept; `iterations`, `tolerance`, `seed_method` and `smooth` are ignored; `bones` and `error`
 * are usage errors, since the number of bones follows from rotation_tolerance. With a rig and given_motion, and no other part of
 * it, the weights of SMA §5 are computed for the rig's bones. Vertices with negative weights, which
 * files cannot hold, get the best non-negative weights of the same bones (unless `published`). seconds_seed is the time of the clustering,
 * seconds_solve that of transforms and weights. */

/* Normals. three.js, Babylon.js and Godot skin normals by the blended matrix itself, n' = M n / |M n|. Rest normals and tangents
 * are fitted to that rule: each minimises the mean squared angle, over the frames, between M n and the normal of the clip.
 * The normal of the clip is the mesh's normal rotated with the triangles around the vertex, with hard edges kept; smooth normals
 * where the mesh has none. No vertex is worse than with its normal rotated with the rest pose. Where more than 30 degrees RMS
 * remain (crumpled surfaces), outlier frames are weighted down. With more than 2²⁴ vertices times frames, every n-th frame is
 * used, at least 32. A kept rest pose of a rig keeps its normals. */

/* Arrays live in the model. */
typedef struct pelt_decompose_report {
    uint32_t vertex_count;                              /* welded vertices */
    uint32_t frame_count;                               /* frames of all clips */
    uint32_t bone_count;                                /* bones of the skin */
    uint32_t influence_count;                           /* K, bones per vertex at most */
    uint32_t dimension;                                 /* of the subspace */
    uint32_t iteration_count;                           /* iterations run */
    double error_fit;                                   /* E_rms of the solver, before rounding to floats */
    double seconds_reduce, seconds_seed, seconds_solve; /* wall time of each step */
    const float *iteration_errors;                      /* [iteration] E_rms after each iteration, never rising */
    /* [clip] the motion of the result that plays it; PELT_NONE: a kept rig has no motion for a clip without frames */
    const uint32_t *motions;
    bool keeps_morphs;            /* the morph targets of the model were kept: helper bones were added to it */
    uint32_t search_count;        /* numbers of bones tried; 0: `bones` or a rig gave the number */
    const uint32_t *search_bones; /* [search] numbers of bones tried, ascending */
    const float *search_errors;   /* [search] E_rms reached with each */
    double near_rigid;            /* sma: η, fraction of triangles that belong to a bone (SMA §4.2); else 0 */
    double core_fraction; /* sma: fraction of triangles whose rotations are within one bandwidth of their bone's */
    double basis_error;   /* largest entry of |BᵀB − I| of the subspace's basis B; 0: not measured (reduce svd) */
    uint32_t flat_count;  /* sma: triangles without area at rest, not counted in η */
    double error_weights; /* sma: E_rms of the first weights, which may be negative */
    uint32_t negative_count; /* sma: vertices whose weights were replaced by non-negative ones */
    uint32_t
        process_count; /* processes that the vertices were divided among (group.h); 1: every process had all of them */
    uint64_t iteration_bytes; /* that all processes together sent in the last iteration */
} pelt_decompose_report;

/* Decomposes all clips of the model jointly, in place. Replaces rest pose, skeleton and skin, and makes one motion per clip
 * (exceptions: "With a rig"); the clips stay for comparison. After a failure the model is as it was. `desc` NULL: defaults.
 * `report` may be NULL. */
PELT_API pelt_result pelt_decompose(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                    pelt_decompose_report *report);

/* Fits the rest normals of a decomposed model again, to its clips and its current motions: after those were changed.
 * `source` is model.mesh as it was before decomposing, whose normals are the ones to reproduce. */
PELT_API pelt_result pelt_decompose_normals(pelt_context *context, pelt_model *model, const pelt_mesh *source);

/* A decomposition step by step, for hosts that show progress or decide when to stop. The model must outlive the decomposer;
 * only pelt_decomposer_finish changes it. */
typedef struct pelt_decomposer pelt_decomposer;
/* Reads and reduces the clips and finds the first bones. Where the number of bones is searched for, runs all iterations:
 * numbers are compared by their final errors. `desc` NULL: defaults. */
PELT_API pelt_result pelt_decomposer_create(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                            pelt_decomposer **decomposer);
/* Runs one iteration. Sets *done when the settings are met; further calls continue up to desc.iterations. */
PELT_API pelt_result pelt_decomposer_step(pelt_decomposer *decomposer, bool *done);
/* E_rms of the current state; never rises. */
PELT_API double pelt_decomposer_error(const pelt_decomposer *decomposer);
/* Writes the current state to the model. Until this succeeds, destroying the decomposer leaves the model as it was before
 * pelt_decomposer_create, except for its weld. `report` may be NULL. */
PELT_API pelt_result pelt_decomposer_finish(pelt_decomposer *decomposer, pelt_decompose_report *report);
/* NULL is allowed. */
PELT_API void pelt_decomposer_destroy(pelt_decomposer *decomposer);

#ifdef __cplusplus
}
#endif

#endif
