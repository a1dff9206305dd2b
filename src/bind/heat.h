/* Diffusion solver: a hierarchy of graphs, level 0 the finest, and the linear system of one bone on each. H: anchor
 * weights, see heat.c. */
#ifndef PELT_BIND_HEAT_H
#define PELT_BIND_HEAT_H

#include "bind/bind.h"

#define PX_HEAT_LEVELS 4u

typedef struct px_heat_level {
    px_graph graph;
    float *degrees;   /* [node] sum of the weights of its edges */
    float *holds;     /* [node] H */
    uint32_t *groups; /* [node] node of the next coarser level; NULL on the coarsest */
} px_heat_level;

typedef struct px_heat {
    pelt_context *context;
    px_arena *arena;
    const px_bind_subject *subject;
    px_heat_level levels[PX_HEAT_LEVELS];
    uint32_t level_count;
    float *holds;           /* [voxel] H */
    float *distances;       /* [voxel] to its bone, in cells */
    uint32_t *labels;       /* [voxel] target that it belongs to */
    uint32_t *label_firsts; /* [target + 1] prefix sums: first entry of each target in label_voxels */
    uint32_t *label_voxels; /* voxels sorted by label */
    px_bind_sampler sampler;
    px_bind_fields *fields; /* result */
    /* While borders move: [block][node of the coarsest level] the largest weight among the block's targets … */
    float **strongest;
    uint32_t **winners; /* … and the target that has it */
    px_mutex lock;      /* protects `idle` */
    /* Free list of scratch buffers that no block is using. */
    struct px_heat_scratch *idle;
} px_heat;

/* Scratch buffers of the solver. Vectors are 0 outside of the current nodes, so that edges leading out need no
 * check. */
typedef struct px_heat_scratch {
    float *x[PX_HEAT_LEVELS];
    float *b, *r, *p, *ap, *faded;
    uint8_t *marks;
    uint32_t *nodes, *queue;
    uint32_t node_count;
    px_arena *arena;
    struct px_heat_scratch *next;
} px_heat_scratch;

pelt_result px_heat_scratch_make(const px_heat *h, px_arena *arena, px_heat_scratch *s);
/* Counting sort of the voxels by label. */
void px_heat_sort_labels(px_heat *h);
/* The node of level `at` that contains a voxel. */
static inline uint32_t px_heat_node(const px_heat *h, uint32_t at, uint32_t voxel) {
    for (uint32_t n = 0; n < at; n++)
        voxel = h->levels[n].groups[voxel];
    return voxel;
}
/* Builds a target's right-hand side H p on a level and lists, ascending, the nodes close enough for a weight that is
 * not negligible. `hold` scales H. */
void px_heat_gather(const px_heat *h, uint32_t at, uint32_t target, float hold, px_heat_scratch *s);
/* Conjugate gradients for x on these nodes, with x as initial guess, until the squared preconditioned
 * residual norm is `tolerance` times that of the right-hand side, or for `most` iterations. */
void px_heat_solve(const px_heat_level *l, float hold, px_heat_scratch *s, float *x, double tolerance, uint32_t most);

#endif
