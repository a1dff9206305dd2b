/* A decomposition under way: A ≈ T X, column i of X holding w_ij · (v_i, 1) for the few bones j of vertex i.
 *
 * L. Kavan, P.-P. Sloan, C. O'Sullivan, "Fast and Efficient Skinning of Animated Meshes", Eurographics 2010 (FESAM).
 *
 * Nothing after the reduction A ≈ B C touches the frames again, and all passes over vertices need only moments:
 *   transforms  S = X Xᵀ and Q = X Cᵀ
 *   vertices    H = T_rᵀ T_r, and Y = T_rᵀ C, made block by block where it is used
 * Space is normalised: the first frame's enclosing ball is the unit ball (see px_clip_ball).
 *
 *   paper   here           shape
 *   A       (never held)   [vertex][row], row = 3·frame + axis
 *   B       basis          [row][dimension]
 *   C       coords         [vertex][dimension], floats: no coarser than the input, and half the memory
 *   v_i     rest           [vertex][3]
 *   w_ij    weights        [vertex][K], of bones [vertex][K]
 *   T_r     reduced        [4P][dimension]: row 4j + c is column c of bone j's matrix, in the basis
 *   T       full           [row][4P]: kept by kinds of bone that leave the basis (all but affine)
 */
#ifndef PELT_DECOMPOSE_FIT_H
#define PELT_DECOMPOSE_FIT_H

#include "core/core.h"
#include "numeric/numeric.h"
#include <pelt/decompose.h>

/* What the solver changes. Two of them make stepping back possible. */
typedef struct px_fit_state {
    double *rest;     /* [vertex][3] */
    double *weights;  /* [vertex][K], 0 where unused */
    uint16_t *bones;  /* [vertex][K] */
    uint8_t *counts;  /* [vertex] bones used, 1 to K */
    double *reduced;  /* [4P][dimension] */
    double *full;     /* [row][4P]; NULL for kinds that are unconstrained */
    double *axes;     /* [bone][9] the constant rotation U; NULL for kinds without axes */
    double objective; /* Σ over vertices of the squared residual */
} px_fit_state;

typedef struct px_bone_kind px_bone_kind; /* kinds.h */

typedef struct px_fit {
    pelt_context *context;
    px_arena *arena;
    const px_bone_kind *kind;
    uint32_t vertex_count;    /* N, welded */
    uint32_t row_count;       /* 3F */
    uint32_t dimension;       /* d */
    uint32_t bone_count;      /* P so far */
    uint32_t bone_capacity;   /* P at most */
    uint32_t influence_count; /* K */
    bool fixed_rest;
    const double *home; /* [vertex][3] where rest positions are pulled to; NULL: nowhere. See pulls.h */
    double rest_pull;   /* how strongly: like this many frames */
    double bone_pull;   /* how strongly affine bones are pulled to rotations: this part of what they carry, 0: not */
    bool wide;          /* the pass over vertices looks further for bones, at twice the time or more */
    const uint8_t *lock_motions;  /* [bone] keeps its transforms; NULL: none does */
    const uint8_t *lock_weights;  /* [bone] keeps its weights; NULL: none does */
    const uint8_t *lock_vertices; /* [vertex] keeps its weights; NULL: none does */
    const px_fit_state *base;     /* weights that locked bones had; the steps scale them down together where bones that
                                   * are not locked take a share. NULL: weights of locked bones stay as they are */
    const struct px_smoothing *smoothing; /* what pulls weights towards the neighbours'; NULL: nothing */
    double *outside;   /* [row][4P] part of affine bones outside the basis; NULL: none. See px_pull_outside */
    double *basis;     /* [row][dimension] */
    float *coords;     /* [vertex][dimension] */
    double *norms;     /* [vertex] ‖a_i‖², of the whole trajectory, with the part in the subspace as in coords */
    double *residuals; /* [vertex] squared, from the last pass over the vertices */
    px_fit_state now, before;
    double *scatter;     /* S [4P][4P] */
    double *cross;       /* Q [4P][dimension] */
    double *gram;        /* H [4P][4P] */
    uint32_t gram_count; /* bones of which `gram` and `pairs` hold those of locked bones; 0: none */
    double *pairs;       /* [bone l][10][bone j]: the quadric in (x, y, z, 1) that gives vᵀ H_jl v; see px_fit_gram */
    double *slots;       /* [px_fit_lanes − 1] sums of S and Q; also [block][bone] of other sums */
    double *block_objective;
} px_fit;

/* ---- Steps ------------------------------------------------------------------------------------------------ */

/* A block of Y = T_rᵀ C: `y` [count][4P] for vertices [first, first + count). */
pelt_result px_fit_products(const px_fit *fit, size_t first, size_t count, double *y);
/* S and Q of the current rest pose and weights. */
pelt_result px_fit_moments(px_fit *fit);
/* Better transforms for these moments; never worse ones. */
pelt_result px_fit_transforms(px_fit *fit);
/* H and pairs of the current transforms. */
void px_fit_gram(px_fit *fit);
/* Rest positions (unless fixed), then weights, of every vertex; sets residuals and now.objective. No vertex gets worse.
 */
pelt_result px_fit_vertices(px_fit *fit, bool rest);
/* Residuals and now.objective of the weights as they are. */
pelt_result px_fit_measure(px_fit *fit);
/* Clusters with one bone each: the start. Sets bone_count: `count`, or fewer when those explain everything. Rigid shells
 * that get a bone each (px_shells_bones) keep it as their only one: their vertices are locked. `shells` may be NULL. */
struct px_shells;
pelt_result px_fit_seed(px_fit *fit, const struct px_shells *shells, uint32_t count);
/* To each vertex the one bone that predicts it best. Needs the current H. */
pelt_result px_fit_assign(px_fit *fit);

/* ---- Bones that come and go ------------------------------------------------------------------------------- */

/* The bone without which the objective would rise least, PELT_NONE where each holds a locked vertex. Needs the current H. */
pelt_result px_fit_least_bone(px_fit *fit, uint32_t *least);
/* Removes a bone (the last one takes its number); weights are shared out. H follows. */
void px_fit_remove_bone(px_fit *fit, uint32_t gone);
/* Adds a bone where the residuals are largest. Below bone_capacity only. The objective may rise: vertices that it takes
 * have it alone until the next pass. Adds none when every vertex is locked. */
pelt_result px_fit_add_bone(px_fit *fit);
/* The same for `count` bones at once, each where the ones before it leave the largest residuals: one pass of moments and
 * transforms for all of them. */
pelt_result px_fit_add_bones(px_fit *fit, uint32_t count);
/* Adds a bone with the transform of another, without any weight. */
void px_fit_copy_bone(px_fit *fit, size_t from);

/* ---- Locks ------------------------------------------------------------------------------------------------ */

/* Whether some weight of the vertex is locked. */
static inline bool px_fit_locked(const px_fit *fit, size_t i) {
    size_t K = fit->influence_count;
    bool locked = fit->lock_vertices && fit->lock_vertices[i];
    for (size_t a = 0; fit->lock_weights && a < fit->now.counts[i]; a++)
        locked |= fit->lock_weights[fit->now.bones[i * K + a]];
    return locked;
}

/* Whether a new bone may take the vertex. */
static inline bool px_fit_may_take(const px_fit *fit, size_t i) {
    if (fit->base)
        return fit->base->counts[i] < fit->influence_count && !(fit->lock_vertices && fit->lock_vertices[i]);
    return !px_fit_locked(fit, i);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

pelt_result px_fit_state_make(px_fit *fit, px_fit_state *state);
void px_fit_state_copy(const px_fit *fit, const px_fit_state *from, px_fit_state *to);
/* Everything that the steps need, once the dimension is known. */
pelt_result px_fit_make_moments(px_fit *fit);

/* E_rms of an objective. */
double px_fit_error(const px_fit *fit, double objective);

#define PX_FIT_EXACT 1e-4 /* E_rms below which floats cannot tell the fit from the input */

/* Parts of the vertices, the same for any number of threads, whose moments are summed apart: up to 16, fewer where S is
 * large (230 bones and more), since clearing and adding its sums would take longer than the vertices do. */
static inline size_t px_fit_lanes(size_t bone_capacity, size_t dimension) {
    size_t most = 16, doubles = (size_t)1 << 24, n = 4 * bone_capacity;
    return px_max_size(px_min_size(doubles / (n * (n + dimension) + 1), most), 1);
}

/* Vertices per block of a parallel pass: at most 64 blocks, whose sums have a slot each. */
static inline size_t px_fit_block(const px_fit *fit) {
    return px_max_size(512, ((size_t)fit->vertex_count + 63) / 64);
}

/* Squared distance of two vertices in the rest pose. */
static inline double px_fit_distance2(const px_fit *fit, size_t a, size_t b) {
    double sum = 0;
    for (size_t axis = 0; axis < 3; axis++) {
        double difference = fit->now.rest[3 * a + axis] - fit->now.rest[3 * b + axis];
        sum += difference * difference;
    }
    return sum;
}

/* The monomials of the quadric in `pairs`. */
static inline void px_fit_monomials(const double v[3], double m[10]) {
    double x = v[0], y = v[1], z = v[2];
    m[0] = x * x, m[1] = x * y, m[2] = x * z, m[3] = x, m[4] = y * y;
    m[5] = y * z, m[6] = y, m[7] = z * z, m[8] = z, m[9] = 1;
}

/* (v, 1)ᵀ Y_j: the linear term of bone j at a vertex; `y` is its row of Y. */
static inline double px_fit_linear(const double v[3], const double *y, size_t j) {
    return v[0] * y[4 * j] + v[1] * y[4 * j + 1] + v[2] * y[4 * j + 2] + y[4 * j + 3];
}

/* vᵀ H_jl v from the monomials of v. */
static inline double px_fit_pair(const px_fit *fit, size_t j, size_t l, const double m[10]) {
    const double *quadric = fit->pairs + l * 10 * fit->bone_count + j;
    double sum = 0;
    for (size_t k = 0; k < 10; k++)
        sum += m[k] * quadric[k * fit->bone_count];
    return sum;
}

/* Squared residual of a vertex with bone j alone, less its norm. */
static inline double px_fit_alone(const px_fit *fit, size_t j, const double *v, const double m[10], const double *y) {
    return px_fit_pair(fit, j, j, m) - 2 * px_fit_linear(v, y, j);
}

#endif
