/* State of a fit: linear blend skinning as A ≈ T X, where column i of X holds w_ij · (v_i, 1) for the bones j of vertex
 * i.
 *
 * L. Kavan, P.-P. Sloan, C. O'Sullivan, "Fast and Efficient Skinning of Animated Meshes", Eurographics 2010 (FESAM).
 *
 * After the reduction A ≈ B C no step reads the frames again; all steps work on moments:
 *   transforms  S = X Xᵀ and Q = X Cᵀ
 *   vertices    H = T_rᵀ T_r (Gram matrix), and Y = T_rᵀ C, computed block by block when needed
 * Coordinates are normalised: the enclosing sphere of the first frame becomes the unit sphere (see px_clip_ball).
 *
 * A vertex of the fit is a class of mesh vertices (px_gathered.classes).
 *
 *   paper   here           shape
 *   A       (never held)   [vertex][row], row = 3·frame + axis
 *   B       basis          [row][dimension]
 *   C       coords         [vertex][dimension], floats: as precise as the input, half the memory
 *   v_i     rest           [vertex][3]
 *   w_ij    weights        [vertex][K], for bones [vertex][K]
 *   T_r     reduced        [4P][dimension]: row 4j + c is column c of bone j's matrix, in the basis
 *   T       full           [row][4P]: kept by bone kinds that leave the basis (all except affine)
 */
#ifndef PELT_DECOMPOSE_FIT_H
#define PELT_DECOMPOSE_FIT_H

#include "core/core.h"
#include "core/group.h"
#include "numeric/numeric.h"
#include <pelt/decompose.h>

/* The unknowns of the fit. The solver keeps two states so that it can reject an iteration. */
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
    uint32_t vertex_count;    /* N, classes of mesh vertices: those of this process (divide.h) */
    uint32_t total_count;     /* those of all processes */
    uint32_t first_vertex;    /* number of vertex 0 of this process */
    uint32_t block_vertices;  /* see px_fit_block */
    px_leaves leaves;         /* order of sums over vertices */
    uint32_t row_count;       /* 3F */
    uint32_t dimension;       /* d */
    uint32_t bone_count;      /* P, current */
    uint32_t bone_target;     /* P of the result */
    uint32_t bone_capacity;   /* capacity for P: room for more bones while they are exchanged */
    uint32_t influence_count; /* K */
    bool fixed_rest;
    bool published;     /* only the steps of the paper; see pelt_decompose_desc */
    double basis_error; /* largest entry of |BᵀB − I|; 0: not measured */
    const double *home; /* [vertex][3] target of the penalty on rest positions (pulls.h); NULL: no penalty */
    double rest_pull;   /* weight of that penalty, in frames: 1 counts like one more frame at the target */
    double rest_most;   /* its upper bound, set where a stronger one would stop the iterations; 0: none */
    bool rest_firm;     /* a strong penalty on rest positions: the last iterations of thin surfaces */
    double bone_pull;   /* weight of the penalty on affine bones, relative to size_j² (pulls.h); 0: no penalty */
    bool wide;          /* every pass is px_fit_vertices_wide for all vertices, at twice the time or more */
    const uint8_t *lock_motions;  /* [bone] true: its transforms are constant; NULL: no bone is locked */
    const uint8_t *lock_weights;  /* [bone] true: its weights are constant; NULL: no bone is locked */
    const uint8_t *lock_vertices; /* [vertex] true: its weights are constant; NULL: no vertex is locked */
    /* base: initial weights of locked bones. The steps scale them down by a common factor per vertex to give unlocked
     * bones a share. NULL: weights of locked bones are constant. */
    const px_fit_state *base;
    const struct px_smoothing *smoothing; /* penalty towards the neighbours' weights; NULL: none */
    double *outside; /* [row][4P] part of affine bones outside the basis; NULL: none. See px_pull_outside */
    double *basis;   /* [row][dimension] */
    float *coords;   /* [vertex][dimension] */
    double *norms; /* [vertex] ‖a_i‖² of the whole trajectory, with its part in the subspace taken from `coords` */
    uint8_t *quiet;    /* [vertex] searches for better bones without success, since the last one with */
    double *residuals; /* [vertex] squared residual, set by px_fit_vertices */
    px_fit_state now, before;
    double *scatter;     /* S [4P][4P] */
    double *cross;       /* Q [4P][dimension] */
    double *gram;        /* H [4P][4P] */
    uint32_t gram_count; /* bone count for which `gram` and `pairs` of locked bones are valid; 0: none */
    double *blocks;      /* [bone j][bone l][16]: H_jl */
    double *pairs;       /* [bone l][10][pitch]: quadric of bone j in (x, y, z, 1) for vᵀ H_jl v; see px_fit_gram */
    double *squares;     /* [10][pitch]: the same for vᵀ H_jj v */
    double *slots;       /* [block][bone] scratch */
    double *bone_sums;   /* [2][bone] scratch */
    double *block_objective;
} px_fit;

/* ---- Steps ------------------------------------------------------------------------------------------------ */

/* A block of Y = T_rᵀ C: `y` [count][4P] for vertices [first, first + count). */
pelt_result px_fit_products(const px_fit *fit, size_t first, size_t count, double *y);
/* The same for `vertices` [count]. */
pelt_result px_fit_products_of(const px_fit *fit, const uint32_t *vertices, size_t count, double *y);
/* px_fit_products in single precision, to exclude bones by: `y` [count][px_float_pitch(4P)]. */
pelt_result px_fit_estimates(const px_fit *fit, size_t first, size_t count, float *y);
/* The row of bone j and vertex i, in double precision. */
void px_fit_product(const px_fit *fit, size_t i, size_t j, double y[4]);
/* S and Q of the current rest pose and weights. */
pelt_result px_fit_moments(px_fit *fit);
/* S alone. */
pelt_result px_fit_scatter(px_fit *fit);
/* Improves the transforms for the current moments. The objective (plus the penalty on bones, if any) never rises. */
pelt_result px_fit_transforms(px_fit *fit);
/* H and pairs of the current transforms. */
void px_fit_gram(px_fit *fit);
/* Solves every vertex: rest position (if `rest` and not fixed_rest), bones and weights. Sets residuals and
 * now.objective. No vertex's residual (plus the penalty on its rest position) rises. */
pelt_result px_fit_vertices(px_fit *fit, bool rest);
/* The same with rest positions; of vertices with large residuals more sets of bones are searched. */
pelt_result px_fit_vertices_wide(px_fit *fit);
/* The same in iteration `turn` of a series. Vertices whose bones did not change lately keep them in most iterations,
 * which takes a fraction of the time. */
pelt_result px_fit_vertices_due(px_fit *fit, uint32_t turn);
/* Computes residuals and now.objective for the current weights without changing them. */
pelt_result px_fit_measure(px_fit *fit);
/* Initial clusters, one bone per vertex. Sets bone_count to `count`, or to fewer if those fit exactly. Rigid components
 * that get a bone each (px_shells_bones) keep it as their only bone: their vertices are locked. `shells` may be NULL.
 * stiffness: bone_pull meanwhile, for affine bones. */
struct px_shells;
pelt_result px_fit_seed(px_fit *fit, const struct px_shells *shells, uint32_t count, double stiffness);
/* Clusters from the current transforms. */
pelt_result px_fit_seed_again(px_fit *fit, double stiffness);
#define PX_FREE_BONES 1e-6 /* the least stiffness: fixes flat clusters along their normal and nothing else */
/* Assigns to each vertex the single bone with the smallest residual. Needs the current H. */
pelt_result px_fit_assign(px_fit *fit);

/* ---- Adding and removing bones ------------------------------------------------------------------------------ */

/* The bone whose removal raises the objective least; PELT_NONE if every bone influences a locked vertex. Needs the
 * current H. */
pelt_result px_fit_least_bone(px_fit *fit, uint32_t *least);
/* Removes a bone and renormalises the weights; the last bone takes its index. Updates H. */
pelt_result px_fit_remove_bone(px_fit *fit, uint32_t gone);
/* Adds a bone where the residuals are largest. Needs bone_count < bone_capacity. The objective may rise: the vertices
 * it takes follow it alone until the next px_fit_vertices. Adds none if every vertex is locked. */
pelt_result px_fit_add_bone(px_fit *fit);
/* The same for `count` bones, each where the residuals not yet taken are largest, with a single update of moments and
 * transforms. */
pelt_result px_fit_add_bones(px_fit *fit, uint32_t count);
/* Appends a bone with the transform of bone `from` and no weights. */
void px_fit_copy_bone(px_fit *fit, size_t from);

/* ---- Locks ------------------------------------------------------------------------------------------------ */

/* True if any weight of vertex i is locked. */
static inline bool px_fit_locked(const px_fit *fit, size_t i) {
    size_t K = fit->influence_count;
    bool locked = fit->lock_vertices && fit->lock_vertices[i];
    for (size_t a = 0; fit->lock_weights && a < fit->now.counts[i]; a++)
        locked |= fit->lock_weights[fit->now.bones[i * K + a]];
    return locked;
}

/* True if a new bone may influence vertex i. */
static inline bool px_fit_may_take(const px_fit *fit, size_t i) {
    if (fit->base)
        return fit->base->counts[i] < fit->influence_count && !(fit->lock_vertices && fit->lock_vertices[i]);
    return !px_fit_locked(fit, i);
}

/* ---- Memory ----------------------------------------------------------------------------------------------- */

pelt_result px_fit_state_make(px_fit *fit, px_fit_state *state);
void px_fit_state_copy(const px_fit *fit, const px_fit_state *from, px_fit_state *to);
/* Allocates the arrays of the steps. Needs fit->dimension. */
pelt_result px_fit_make_moments(px_fit *fit);

/* E_rms of an objective: 1000 · √(objective / (3 · vertices · frames)), in thousandths of the sphere's radius. */
double px_fit_error(const px_fit *fit, double objective);

#define PX_FIT_EXACT 1e-4 /* E_rms below which the error is rounding of single precision */

/* Vertices per block of a parallel pass. Each block has its own partial sum, a leaf is several blocks. */
static inline size_t px_fit_block(const px_fit *fit) {
    return fit->block_vertices;
}

/* Squared distance of a vertex in the rest pose from a point. */
static inline double px_fit_distance2(const px_fit *fit, size_t a, const double point[3]) {
    double sum = 0;
    for (size_t axis = 0; axis < 3; axis++) {
        double difference = fit->now.rest[3 * a + axis] - point[axis];
        sum += difference * difference;
    }
    return sum;
}

/* Elements of an array by bone in the vertex step: one more than bones, in whole vectors. */
static inline size_t px_fit_pitch(size_t bone_count) {
    return (bone_count + 8) & ~(size_t)7;
}

/* Monomials of (x, y, z, 1), in the order of the quadrics in `pairs`. */
static inline void px_fit_monomials(const double v[3], double m[10]) {
    double x = v[0], y = v[1], z = v[2];
    m[0] = x * x, m[1] = x * y, m[2] = x * z, m[3] = x, m[4] = y * y;
    m[5] = y * z, m[6] = y, m[7] = z * z, m[8] = z, m[9] = 1;
}

/* (v, 1)ᵀ Y_j: the linear term of bone j at a vertex; `y` is its row of Y. */
static inline double px_fit_linear(const double v[3], const double *y, size_t j) {
    return v[0] * y[4 * j] + v[1] * y[4 * j + 1] + v[2] * y[4 * j + 2] + y[4 * j + 3];
}
/* The same, estimated from a row of px_fit_estimates. */
static inline double px_fit_estimate(const double v[3], const float *y, size_t j) {
    return px_fit_linear(
        v, (double[4]){(double)y[4 * j], (double)y[4 * j + 1], (double)y[4 * j + 2], (double)y[4 * j + 3]}, 0);
}

/* vᵀ H_jl v from the monomials of v. */
static inline double px_fit_pair(const px_fit *fit, size_t j, size_t l, const double m[10]) {
    size_t pitch = px_fit_pitch(fit->bone_count);
    const double *quadric = fit->pairs + l * 10 * pitch + j;
    double sum = 0;
    for (size_t k = 0; k < 10; k++)
        sum += m[k] * quadric[k * pitch];
    return sum;
}

/* Squared residual of a vertex with bone j at weight 1, minus ‖a_i‖². */
static inline double px_fit_alone(const px_fit *fit, size_t j, const double *v, const double m[10], const double *y) {
    return px_fit_pair(fit, j, j, m) - 2 * px_fit_linear(v, y, j);
}

#endif
