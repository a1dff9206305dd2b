/* Bones fitted to the largest distance of a vertex, and vertices that encode to few bytes. */
#ifndef PELT_BUDGET_TIGHT_H
#define PELT_BUDGET_TIGHT_H

#include "core/core.h"
#include "decompose/keys.h"
#include "io/precision.h"

#define PX_TIGHT_INFLUENCES 4u

/* A skin of rigid or affine bones under one root. Point i of frame k is Σ_j w_ij (R_jk (p_i − g_j) + t_jk). Points are the weld
 * classes of the model. */
typedef struct px_tight {
    pelt_context *context;
    px_arena *arena;
    uint32_t point_count, frame_count, bone_count;
    uint32_t influence_count; /* bones of a point at most */
    bool affine;              /* R is any matrix */
    float *targets;           /* [point][frame][3] the clips, one after another; shared by fits of one model */
    const uint32_t *order;    /* [place] point: in the order in which sorted triangles use them; shared */
    const bool *inside;       /* [frame] its clip has frames before and after it; shared */
    float *rest;              /* [point][3] p */
    uint16_t *bones;          /* [point][4] */
    float *weights;           /* [point][4] w */
    double *pivots;           /* [bone][3] g */
    double pivot_step;        /* pivots are multiples of it */
    double *poses;            /* [frame][bone][12] R, row-major, then t */
    uint32_t *parents;        /* [bone] parent, or PELT_NONE; set by px_tight_join … */
    uint32_t *sequence;       /* [place] bone: parents first … */
    px_bone_frame *frames;    /* [bone] … and this one by px_tight_frames */
    const uint32_t *motions;  /* [clip] motion of the model */
    double distance;          /* largest distance after px_tight_polish */
    double expected;          /* the same, or what it would have been after all rounds */
} px_tight;

/* Reads the clips of a model with its weld: targets and order. */
pelt_result px_tight_begin(pelt_context *context, px_arena *arena, const pelt_model *model, px_tight *base);
/* Reads bones, weights and rest positions of a decomposed model: motions [clip] are its motions by clip. Data is
 * allocated in the arena. */
pelt_result px_tight_read(const px_tight *base, px_arena *arena, const pelt_model *model, const uint32_t *motions,
                          px_tight *out);
/* Minimises the largest distance: Newton steps on the p-norm of all distances, p rising, in turn for transforms and for
 * rest positions with weights. Ends early where the distance will not fall below `bound`. */
pelt_result px_tight_polish(px_tight *r, uint32_t rounds, double bound);
/* Moves points that are farther off than `enough`, and changes their weights and bones, for poses that stay as they are. */
pelt_result px_tight_refine(px_tight *r, double enough);
/* Chooses the parent of each bone, such that keys relative to it are cheap where places are rounded to steps. */
pelt_result px_tight_join(px_tight *r, double step);
/* Chooses constant axes and scales of affine bones, for their motions relative to their parents. */
pelt_result px_tight_frames(px_tight *r);
/* Root mean square distances of the points of bones from their pivots: arms [bone]. */
void px_tight_arms(const px_tight *r, double *arms);
/* Writes skeleton, motions with a key at every frame, skin and rest positions to a model borrowed from the one that was read.
 * *joint_bits: for px_precision, in the memory of the model. */
pelt_result px_tight_write(const px_tight *r, pelt_model *model, const int8_t **joint_bits);
/* Replaces the keys of a model that borrows from one that was written, or of which key frames were removed then, by rounded
 * ones. Bones follow their rounded parents. */
pelt_result px_tight_round(const px_tight *r, pelt_model *model, const px_precision *precision);
/* Writes rest positions and weights only. */
pelt_result px_tight_write_vertices(const px_tight *r, pelt_model *model);

typedef struct px_vertex_grid {
    int exponent;    /* positions are multiples of 2^exponent */
    int weight_bits; /* weights are multiples of 2^-weight_bits */
    double bound;    /* largest distance */
} px_vertex_grid;

/* Chooses rest positions and weights on a grid, for the bones as they are in a file that was read back, such that points
 * keep the bound and encode to few bytes: the cheaper of several candidates, in the order of the encoder. *distance:
 * the largest. */
pelt_result px_tight_vertices(px_tight *r, const pelt_model *model, const pelt_model *written,
                              const px_vertex_grid *grid, double *distance);

#endif
