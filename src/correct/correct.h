/* Corrective morphs on top of a skin (internal header). Index letters: u class of vertices, k frame, r mode. Frames of all pairs are numbered consecutively.
 *
 *   B  linear part of the blended transform     e  residuals     d  px_modes.places     c  px_modes.weights */
#ifndef PELT_CORRECT_INTERNAL_H
#define PELT_CORRECT_INTERNAL_H

#include "core/skin.h"
#include "numeric/numeric.h"

#include <pelt/correct.h>

/* Displacements and their weights; the caller passes the rank in use. */
typedef struct px_modes {
    double *places;  /* [class][3][rank_most] displacements at rest */
    double *weights; /* [rank_most][frame] */
} px_modes;

/* A class that both bones of a couple influence; see couples.c. */
typedef struct px_couple_use {
    uint32_t class, couple;
    double factor;
} px_couple_use;

typedef struct px_correction {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model;
    pelt_mesh mesh; /* the model's mesh, welded by the pairs' clips */
    const pelt_correct_pair *pairs;
    uint32_t pair_count;
    pelt_correct_desc desc;
    uint32_t frame_count, rank_most;
    uint32_t *pair_frames;       /* [pair + 1] its first frame */
    float *times;                /* [frame] time in its motion, seconds */
    pelt_vertex_classes classes; /* vertices that get the same displacement */
    double *shares;              /* [class] number of points it represents; a point is divided among its vertices */
    pelt_affine *palettes;       /* [frame][bone] skinning matrices */
    float *morph_weights;        /* [frame][morph] */
    float *residuals;            /* [class][frame][3] e: clip position − skinned position */
    float *pulled;               /* [class][3][frame] Bᵀe, with B the linear part of the blended transform */
    uint32_t couple_count;
    double *squares;       /* [couple][PX_SYMMETRIC][frame] Q: BᵀB = Σ factor · Q */
    px_couple_use *uses;   /* sorted by class */
    uint32_t *class_uses;  /* [class + 1] first entry of a class in `uses` */
    uint32_t *sorted;      /* indices into `uses`, sorted by couple */
    uint32_t *couple_uses; /* [couple + 1] first entry of a couple in `sorted` */
    double radius;         /* of the enclosing sphere of the first frame */
    double scale;          /* E_rms = scale · √(Σ share · |residual|²) */
    double *seeds;       /* [rank_most][frame] right singular vectors of the displacements at rest, largest first … */
    double *seed_values; /* [rank_most] … and their squared singular values */
    double *errors;      /* [rank_most + 1] in the model's memory */
    uint32_t ill_count;  /* classes whose transform is ill-conditioned in some frame */
    px_modes modes;      /* result: the first `rank` modes */
    uint32_t rank;       /* number of modes found */
    pelt_vertex_classes normal_classes; /* vertices with equal normals too; only if normals are corrected */
    uint32_t shared_count;              /* modes of normals with the weights of positions: 0, or `rank` */
    uint32_t normal_rank;               /* modes of normals, those with weights of their own last */
    double *normal_weights;             /* [normal_rank][frame] */
    double *normals;      /* [class of normal_classes][3][normal_rank] displacements of normals, or NULL */
    double normal_rms[2]; /* RMS error of normals before and after */
} px_correction;

#define PX_CLASS_BLOCK 32u
#define PX_SYMMETRIC   6u /* elements of a symmetric 3×3 matrix: xx xy xz yy yz zz */

/* View of the displacements of `count` classes: [3 · count][rank]. */
static inline px_matrix px_modes_of(const px_correction *c, const px_modes *modes, size_t class, size_t count,
                                    uint32_t rank) {
    return (px_matrix){modes->places + 3 * class * c->rank_most, 3 * count, rank, c->rank_most, false};
}
static inline px_matrix px_modes_weights(const px_correction *c, const px_modes *modes, uint32_t rank) {
    return px_matrix_of(modes->weights, rank, c->frame_count);
}

static inline uint32_t px_correct_point(const px_correction *c, uint32_t vertex) {
    return pelt_vertex_class(&c->mesh.points, vertex);
}
/* The pair of a frame. */
static inline uint32_t px_correct_pair_of(const px_correction *c, uint32_t frame) {
    uint32_t pair = 0;
    while (frame >= c->pair_frames[pair + 1])
        pair++;
    return pair;
}

/* Linear part of the blended transform, row-major. */
void px_correct_blend(const px_correction *c, uint32_t class, uint32_t frame, double out[9]);

/* Validates the input, gathers, allocates modes and measures the skin alone (correct.c). Requires context, scratch,
 * model, pairs, pair_count and desc. */
pelt_result px_correct_begin(px_correction *c);
/* Fits displacements to the weights in c->modes, then alternates at most `sweeps` times. *error: E_rms. */
pelt_result px_correct_settle(px_correction *c, uint32_t rank, uint32_t sweeps, double *error);

/* Computes classes, poses and residuals; requires pairs and desc (gather.c). */
pelt_result px_correct_gather(px_correction *c);

/* Computes the couples of bones; requires poses (couples.c). */
pelt_result px_correct_couple(px_correction *c);

/* Displacements at rest of classes [first, first + count): out [count][3][frame], residuals times the inverse linear
 * transforms. In ill-conditioned transforms, singular values below a tenth of the largest are replaced by a tenth.
 * Returns the number of such classes (rest.c). */
uint32_t px_correct_pull(const px_correction *c, size_t first, size_t count, double *out);
/* A matrix [class][3][frame] that is computed in pieces. */
typedef struct px_row_source {
    size_t class_count;
    const double *shares; /* [class] weight of its rows */
    /* Rows of classes [first, first + count): out [count][3][frame]. Returns the number of ill-conditioned ones. */
    uint32_t (*pull)(const void *user, size_t first, size_t count, double *out);
    const void *user;
} px_row_source;
/* Leading right singular vectors [count][frame], largest first, and their squared singular values. *ill: number of
 * ill-conditioned classes. */
pelt_result px_correct_singular(const px_correction *c, const px_row_source *rows, uint32_t count, double *vectors,
                                double *values, uint32_t *ill);
/* Computes seeds, seed_values and ill_count. */
pelt_result px_correct_seed(px_correction *c);
/* places = displacements at rest · seedsᵀ: the paper's basis. */
pelt_result px_correct_project(px_correction *c, px_modes *modes, uint32_t rank);

/* E_rms with the first `rank` modes (fit.c). */
pelt_result px_correct_measure(const px_correction *c, const px_modes *modes, uint32_t rank, double *error);
/* Least-squares displacements for the given weights, starting from the present ones. *error: approximate E_rms
 * afterwards. */
pelt_result px_correct_fit_places(const px_correction *c, px_modes *modes, uint32_t rank, double *error);
/* Least-squares weights for the given displacements, starting from the present ones. */
pelt_result px_correct_fit_weights(const px_correction *c, px_modes *modes, uint32_t rank);
/* Number of pairs (r, s) with r ≥ s, in the order of loops over r and s. */
static inline size_t px_mode_pairs(size_t rank) {
    return rank * (rank + 1) / 2;
}
/* Normal equations of a class: matrix [3·rank][3·rank], row 3·r + axis, from Σ_k c_rk c_sk M of symmetric 3×3 matrices
 * M, normal [PX_SYMMETRIC][r ≥ s]. */
void px_correct_assemble(uint32_t rank, const double *normal, double *matrix);
/* Makes the weights orthonormal without changing the corrections (modes.c). */
pelt_result px_correct_orthonormal(const px_correction *c, px_modes *modes, uint32_t rank);
/* Final form: modes by descending strength, weights with maximum 1. */
pelt_result px_correct_order(const px_correction *c, px_modes *modes, uint32_t rank);

/* Modes of normals, after those of positions are final (normals.c). */
pelt_result px_correct_normals(px_correction *c);
/* Whether desc asks for them. */
static inline bool px_correct_has_normals(const px_correction *c) {
    return c->desc.normals || c->desc.normal_rank > 0;
}

/* Stores morphs and weight tracks in the model, as part of an operation (px_operation) (apply.c). */
pelt_result px_correct_apply(px_correction *c);

#endif
