/* Pelt: a vertex animation becomes bones and sparse convex weights (Kavan, Sloan, O'Sullivan 2010, and beyond it; or
 * James, Twigg 2005).
 *
 * Two doors: pelt_decompose does everything at once; a pelt_decomposer does it step by step.
 */
#ifndef PELT_DECOMPOSE_H
#define PELT_DECOMPOSE_H

#include <pelt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a bone can do. */
typedef enum pelt_transforms {
    PELT_TRANSFORMS_AFFINE,    /* any 3×4 matrix; two nested nodes in a file */
    PELT_TRANSFORMS_TRS,       /* scale along axes that are fixed in the bone, rotation, translation; one node */
    PELT_TRANSFORMS_RIGID,     /* rotation and translation; one node */
    PELT_TRANSFORMS_SIMILARITY /* rotation, one scale for all axes, translation; one node */
} pelt_transforms;

/* How bones and weights are found. */
typedef enum pelt_decompose_method {
    PELT_DECOMPOSE_FESAM, /* seeds, then iterations over transforms, rest pose and weights */
    PELT_DECOMPOSE_SMA    /* bones where triangles turn alike, as many as there are; weights; no iterations */
} pelt_decompose_method;

/* How SMA finds the weights of a vertex. */
typedef enum pelt_weight_solver {
    PELT_WEIGHTS_NNLS,   /* none negative */
    PELT_WEIGHTS_TSVD,   /* any, but for directions that the animation hardly shows */
    PELT_WEIGHTS_BOUNDED /* none below min_weight */
} pelt_weight_solver;

/* How the animation is reduced to a subspace before anything else. */
typedef enum pelt_reduction {
    PELT_REDUCE_SVD,          /* the best subspace there is: streams the animation */
    PELT_REDUCE_MAX,          /* the others hold it in memory and are there to be compared (FESAM Table 1) */
    PELT_REDUCE_GRAM_SCHMIDT, /* */
    PELT_REDUCE_POWER1,       /* */
    PELT_REDUCE_POWER2        /* */
} pelt_reduction;

/* Where bones begin. */
typedef enum pelt_seed_method {
    PELT_SEED_SPLIT,  /* clusters of like motion, split where they fit worst */
    PELT_SEED_REGIONS /* regions grown over the surface from seeds far apart, as in the paper */
} pelt_seed_method;

typedef struct pelt_decompose_desc {
    uint32_t cookie; /* set by pelt_decompose_desc_default; do not change */
    uint32_t bones;  /* P; 0 (default): chosen from `error`, or by itself where the error curve flattens. The result
                          * is then the one that this many bones give */
    double error; /* reach E_rms ≤ this with as few bones as possible: one less misses it; 0 (default): not asked */
    uint32_t influences; /* K, 1 to 8; default 4 */
    uint32_t transforms; /* pelt_transforms; default affine */
    uint32_t iterations; /* at most; default 42 */
    double tolerance;    /* stop when the error falls by less than this fraction in ten iterations; default 0.005 */
    double epsilon;      /* E_rms that the reduction may lose; 0 (default): as little as the bones can make use of */
    uint32_t reduce;     /* pelt_reduction; default svd */
    size_t memory; /* bytes that the work may take beside the model; 0 (default): no bound. The result is the same; too
                    * few are an error that tells how many it takes */
    double key_tolerance; /* leave out keys while the error rises by at most this fraction; 0: none; default 0.01 */
    uint32_t seed_method; /* pelt_seed_method; default split */
    double smooth;   /* weights vary smoothly: that a vertex's weights jump from its neighbours' counts like an error of
                      * this E_rms; 0 (default): they fit as well as they can */
    bool fixed_rest; /* keep the rest pose as it is; default false */
    bool free_rest;  /* let it change even where a rig holds it; default false */
    bool free_bones; /* affine bones may flatten or mirror thin surfaces: the least error, but engines then shade those
                      * wrongly; default false: where over 5 % of the normals would turn to the wrong side, bones are held
                      * near rotations, at the price of a larger error. With `error` they are always free */
    bool turned_normals; /* rest normals only turn with the rest pose; default false: fitted, see "Normals" */
    bool hierarchy;      /* rigid bones become a skeleton, joined where they move most alike; default false: flat */

    uint32_t method;           /* pelt_decompose_method; default fesam. The next three are for sma */
    double rotation_tolerance; /* ε: mean difference of rotation matrix entries up to which triangles turn alike; above
                                * 0, default 0.05. Larger: fewer bones */
    uint32_t weight_solver;    /* pelt_weight_solver; default nnls */
    double min_weight;         /* of bounded, 0 or less; default -0.1 */

    /* The rest pose to start from (with fixed_rest: that stays); not used with a rig, but for rest_positions. */
    uint32_t rest_frame;         /* a frame, counted over all clips; default 0: the first one, or the one that sizes are
                                  * measured by where the first is degenerate (see measure.h) */
    const float *rest_positions; /* [point][3] instead of a frame; NULL (default): none */

    /* What is known already; see "With a rig". */
    const pelt_model *rig; /* NULL (default): nothing. Must stay until the result is there; may be the model */
    bool given_motion;     /* its bones move as its motions say */
    bool given_weights;    /* its weights are those of the mesh */
    bool refine;           /* they are only where to start */
    uint32_t add; /* helper bones that it gets, fewer where nothing is left for them (E_rms < 0.01); default 0 */
    const char *lock_bones;    /* names, divided by commas or lines, of bones that keep motion and weights; or NULL */
    const char *lock_vertices; /* names of parts or materials whose vertices keep their weights; or NULL */
} pelt_decompose_desc;
PELT_API const pelt_option_table *pelt_decompose_options(void);
PELT_API pelt_decompose_desc pelt_decompose_desc_default(void);

/* With a rig. Its bones are those of the result: `bones` and `error` choose nothing, and no bone moves elsewhere.
 *
 *   given_motion         the weights are solved for; the rig's skeleton and motions stay as they are, to the bit
 *   given_weights        the transforms are solved for, and nothing else changes; the bones get a flat skeleton, with
 *                        their names
 *   both                 nothing stays but what is locked: weights, transforms and rest pose are refined from there, and
 *                        the bones get a flat skeleton
 *   one and refine       the other is solved for, then everything is refined as above
 *   add                  (implies both) bones are added where the error is largest; the rig's skeleton, motions and rest
 *                        pose stay as they are; its weights are scaled by 1 − what helper bones take, at vertices that
 *                        have fewer than `influences` bones
 *   add and refine       the same, with everything refined
 *   lock_bones           (with both) these bones keep their joints, tracks and weights, to the bit; the others get joints
 *                        of their own under one root beside the rig's
 *   lock_vertices        (with weights) these vertices keep their weights
 *
 * The rest pose to start from is the rig's (the mesh's own where the rig's vertices are others), or rest_positions; it
 * stays, to the bit, unless both are given, something is refined or free_rest is set. Where weights are given,
 * `influences` is at least what the rig has.
 * Motions belong to the clips of the same name, or else in their order, and must be as long; they are evaluated at the
 * clips' times. The rig's vertices are those of the mesh (or its points) in order, or where their rest positions are
 * the same. */

/* With the method sma the rest pose stays, `iterations`, `tolerance`, `seed_method` and `smooth` mean nothing, and `bones`,
 * `error` and a rig are errors: the number of bones follows from rotation_tolerance. No skin may have negative weights:
 * vertices that have some get the best ones without, of the same bones. seconds_seed is the search for bones,
 * seconds_solve their transforms and the weights. */

/* Normals. Engines (three.js, Babylon.js, Godot) skin them by the blended matrix itself, n' = M n / |M n|. Rest normals
 * (and tangents) are therefore fitted: each is the one that M takes nearest to what the clips show, in the mean of squared
 * angles over the frames. What a clip shows is the mesh's own normal carried along with the triangles around it, hard
 * edges staying hard; smooth normals where the mesh has none. No vertex is worse than with its normal turned along with
 * the rest pose. Where that leaves more than 30 degrees RMS (crumpled surfaces), frames that no normal matches hardly count.
 * Where the mesh is large (more than 2²⁴ vertices times frames), every second, third … frame says so; at
 * least 32. A rig's rest pose that stays keeps its normals. */

typedef struct pelt_decompose_report {
    uint32_t vertex_count;    /* welded */
    uint32_t frame_count;     /* of all clips */
    uint32_t bone_count;      /* bones of the skin */
    uint32_t influence_count; /* largest number of bones per vertex */
    uint32_t dimension;       /* of the subspace */
    uint32_t iteration_count; /* iterations done */
    double error_fit;         /* E_rms of the solver's own estimate, before rounding to floats */
    double seconds_reduce, seconds_seed, seconds_solve; /* wall time of each step */
    const float *iteration_errors; /* [iteration] E_rms after each, never rising; lives in the result's memory */
    const uint32_t *motions;      /* [clip] the motion of the result that plays it; PELT_NONE: a rig that stays has none
                                    * for a clip without frames. Lives there too */
    bool keeps_morphs;            /* morph targets of the model stay: helper bones were added to it */
    uint32_t search_count;        /* numbers of bones tried; 0 when `bones` or a rig said how many */
    const uint32_t *search_bones; /* [search] these, ascending … */
    const float *search_errors;   /* [search] … and the E_rms that each reached; both live there too */
    double near_rigid;            /* sma: η, the part of the triangles that turn as their bone does; else 0 */
    uint32_t flat_count;          /* sma: triangles without an area at rest, which η does not count */
    double error_weights;         /* sma: E_rms with the first weights, be they negative … */
    uint32_t negative_count; /* … vertices that had such, and got others; bones were then fitted to all vertices */
} pelt_decompose_report;

/* Decomposes all clips of the model together, in place: it gets a new rest pose, a skeleton, one skin, and one
 * motion per clip (but see "With a rig"); the clips stay for comparison. After a failure the model is as it was. `desc`
 * and `report` may be NULL. */
PELT_API pelt_result pelt_decompose(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                    pelt_decompose_report *report);

/* Fits the rest normals of a decomposed model again, to its clips and its current motions: after those were changed.
 * `source` is model.mesh as it was before decomposing, whose normals are the ones to reproduce. */
PELT_API pelt_result pelt_decompose_normals(pelt_context *context, pelt_model *model, const pelt_mesh *source);

/* The same step by step, for hosts that show what happens or decide themselves when it is enough. The model must stay
 * until the decomposer is destroyed; it changes only in finish. */
typedef struct pelt_decomposer pelt_decomposer;
/* Reads the clips, reduces them and finds the first bones. Where the number of bones is searched for, all is done then:
 * numbers are compared by what they reach in the end. */
PELT_API pelt_result pelt_decomposer_create(pelt_context *context, pelt_model *model, const pelt_decompose_desc *desc,
                                            pelt_decomposer **decomposer);
/* One iteration. *done: the settings say that it is enough; further steps go on all the same up to desc.iterations. */
PELT_API pelt_result pelt_decomposer_step(pelt_decomposer *decomposer, bool *done);
/* E_rms of the current state; never rises from step to step. */
PELT_API double pelt_decomposer_error(const pelt_decomposer *decomposer);
/* Puts the current state into the model. `report` may be NULL. Until this succeeds, destroying the decomposer leaves the
 * model as it was before pelt_decomposer_create, but for its weld. */
PELT_API pelt_result pelt_decomposer_finish(pelt_decomposer *decomposer, pelt_decompose_report *report);
/* NULL is allowed. */
PELT_API void pelt_decomposer_destroy(pelt_decomposer *decomposer);

#ifdef __cplusplus
}
#endif

#endif
