/* Corrections from inside. Index letters: u unit, k frame of all pairs, r mode.
 * Frames of all pairs are numbered one after another.
 */
#ifndef PELT_CORRECT_INTERNAL_H
#define PELT_CORRECT_INTERNAL_H

#include "core/skin.h"
#include "numeric/numeric.h"

#include <pelt/correct.h>

/* Displacements and their weights; the rank in use is that of the caller. */
typedef struct px_modes {
    double *places;  /* [unit][3][rank_most] */
    double *weights; /* [rank_most][frame] */
} px_modes;

/* That a couple of bones moves a unit; see couples.c. */
typedef struct px_couple_use {
    uint32_t unit, couple;
    double factor;
} px_couple_use;

typedef struct px_correction {
    pelt_context *context;
    px_arena *scratch;
    pelt_model *model;
    pelt_mesh mesh; /* the model's, welded by the pairs' clips */
    const pelt_correct_pair *pairs;
    uint32_t pair_count;
    pelt_correct_desc desc;
    uint32_t frame_count, rank_most;
    uint32_t *pair_frames; /* [pair + 1] its first frame */
    float *times;          /* [frame] of its motion */
    pelt_vertex_classes units;        /* vertices that get the same displacement */
    double *shares;        /* [unit] how many points it stands for; a point is shared by its vertices */
    pelt_affine *palettes; /* [frame][bone] */
    float *morph_weights;  /* [frame][morph] */
    float *residuals;      /* [unit][frame][3] e: the clip − the skin */
    float *pulled;         /* [unit][3][frame] Bᵀe, with B the linear part of the blended transform */
    uint32_t couple_count;
    double *squares;       /* [couple][PX_SYMMETRIC][frame] Q: BᵀB = Σ factor · Q */
    px_couple_use *uses;   /* by unit … */
    uint32_t *unit_uses;   /* [unit + 1] its first one */
    uint32_t *sorted;      /* … and their numbers by couple */
    uint32_t *couple_uses; /* [couple + 1] its first place in `sorted` */
    double radius;         /* of the ball around the first frame */
    double scale;          /* E_rms = scale · √(Σ share · |residual|²) */
    double *seeds;       /* [rank_most][frame] right singular vectors of the displacements at rest, largest first … */
    double *seed_values; /* [rank_most] … and their squared singular values */
    double *errors;      /* [rank_most + 1] in the model's memory */
    uint32_t ill_count;  /* units whose transform is ill-conditioned in some frame */
    px_modes modes;      /* what is found … */
    uint32_t rank;       /* … so many of it */
    pelt_vertex_classes shades; /* vertices that are alike in their normals too; only with normals */
    double *normals;            /* [shade][3][rank] displacements of normals, or NULL */
    double normal_rms[2];       /* before and after */
} px_correction;

#define PX_UNIT_BLOCK 32u
#define PX_SYMMETRIC  6u /* numbers of a symmetric matrix: xx xy xz yy yz zz */

/* The displacements of a unit, as a view [3][rank]. */
static inline px_matrix px_modes_of(const px_correction *c, const px_modes *modes, size_t unit, size_t count,
                                    uint32_t rank) {
    return (px_matrix){modes->places + 3 * unit * c->rank_most, 3 * count, rank, c->rank_most, false};
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

/* The linear part of the blended transform, row by row. */
void px_correct_blend(const px_correction *c, uint32_t unit, uint32_t frame, double out[9]);

/* Checks what was asked for, gathers, makes room for modes and measures the skin alone (correct.c). Needs context,
 * scratch, model, pairs, pair_count and desc. */
pelt_result px_correct_begin(px_correction *c);
/* From the weights of the modes that are there to modes that fit them, and `sweeps` alternations at most. */
pelt_result px_correct_settle(px_correction *c, uint32_t rank, uint32_t sweeps, double *error);

/* Units, poses, residuals; needs pairs and desc (gather.c). */
pelt_result px_correct_gather(px_correction *c);

/* Couples of bones; needs poses (couples.c). */
pelt_result px_correct_couple(px_correction *c);

/* Displacements at rest of units [first, first + count): out [count][3][frame], residuals through the inverse
 * transforms. Where these are ill-conditioned, singular values under a tenth of the largest count as a tenth; says for
 * how many units (rest.c). */
uint32_t px_correct_pull(const px_correction *c, size_t first, size_t count, double *out);
/* Fills seeds, seed_values and ill_count. */
pelt_result px_correct_seed(px_correction *c);
/* places = displacements at rest · seeds: the paper's basis. */
pelt_result px_correct_project(px_correction *c, px_modes *modes, uint32_t rank);

/* E_rms with the first `rank` modes (fit.c). */
pelt_result px_correct_measure(const px_correction *c, const px_modes *modes, uint32_t rank, double *error);
/* The best places for the weights, from where they are; `error` is about the one that they leave. */
pelt_result px_correct_fit_places(const px_correction *c, px_modes *modes, uint32_t rank, double *error);
/* The best weights for the places, likewise. */
pelt_result px_correct_fit_weights(const px_correction *c, px_modes *modes, uint32_t rank);
/* The same sums of displacements with orthonormal weights (modes.c) … */
pelt_result px_correct_orthonormal(const px_correction *c, px_modes *modes, uint32_t rank);
/* … and, at the end, the strongest mode first, weights at most 1. */
pelt_result px_correct_order(const px_correction *c, px_modes *modes, uint32_t rank);

/* Displacements of normals for the weights (normals.c). */
pelt_result px_correct_normals(px_correction *c);

/* Puts all into the model (apply.c). */
pelt_result px_correct_apply(px_correction *c);

#endif
