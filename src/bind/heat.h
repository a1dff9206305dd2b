/* Diffusion solver: a hierarchy of graphs, level 0 the finest, and the linear system of one bone on each. H: anchor
 * weights, see heat.c. */
#ifndef PELT_BIND_HEAT_H
#define PELT_BIND_HEAT_H

#include "bind/bind.h"

#define PX_HEAT_LEVELS 7u

typedef struct px_heat_level {
    px_graph graph;
    float *degrees;         /* [node] sum of the weights of its edges */
    float *holds;           /* [node] H */
    px_graph_groups groups; /* of the next coarser level; empty on the coarsest */
    uint32_t *voxel_node;   /* [voxel] node that contains it; NULL on level 0: the voxel itself */
    /* [node] It and the next nodes, up to this many, have edges with the same weights to nodes at the same distance in
     * memory: voxels of a row with the same faces. 0: the next node has other edges. */
    uint8_t *alike;
} px_heat_level;

typedef struct px_heat {
    pelt_context *context;
    px_arena *arena;
    const px_bind_subject *subject;
    px_heat_level levels[PX_HEAT_LEVELS];
    uint32_t level_count;
    uint32_t border_level;  /* on which borders move and the solution has its full accuracy */
    float *holds;           /* [voxel] H */
    float *distances;       /* [voxel] to its bone, in cells */
    uint32_t *labels;       /* [voxel] target that it belongs to */
    uint32_t *label_firsts; /* [target + 1] prefix sums: first entry of each target in label_voxels */
    uint32_t *label_voxels; /* voxels sorted by label */
    px_bind_sampler sampler;
    bool *near;             /* [voxel] near those that vertices interpolate; NULL: all are */
    px_bind_fields *fields; /* result */
    /* While borders move: [block][node of the coarsest level] the largest weight among the block's targets … */
    float **strongest;
    uint32_t **winners; /* … and the target that has it */
    px_mutex lock;      /* protects `idle` */
    /* Free list of scratch buffers that no block is using. */
    struct px_heat_scratch *idle;
} px_heat;

/* Consecutive nodes [first, end). */
typedef struct px_heat_run {
    uint32_t first, end;
} px_heat_run;

/* Scratch buffers of the solver. Vectors are 0 outside of the current nodes, so that edges leading out need no
 * check. */
typedef struct px_heat_scratch {
    float *x[PX_HEAT_LEVELS];
    float *b, *r, *p, *ap, *faded;
    float *diagonal, *inverse; /* of L + H; 1 / diagonal */
    uint8_t *marks;
    uint32_t *nodes, *queue;
    uint32_t node_count;
    px_heat_run *runs; /* the nodes as runs */
    uint32_t run_count;
    px_arena *arena;
    struct px_heat_scratch *next;
} px_heat_scratch;

pelt_result px_heat_scratch_make(const px_heat *h, px_arena *arena, px_heat_scratch *s);
/* Allocates and computes `degrees` and `alike` of a level from its graph. */
pelt_result px_heat_level_edges(px_arena *arena, px_heat_level *level);
/* Counting sort of the voxels by label. */
void px_heat_sort_labels(px_heat *h);
/* The node of level `at` that contains a voxel. */
static inline uint32_t px_heat_node(const px_heat *h, uint32_t at, uint32_t voxel) {
    return h->levels[at].voxel_node ? h->levels[at].voxel_node[voxel] : voxel;
}
/* Builds a target's right-hand side H p on a level, lists, ascending, the nodes whose weight is not negligible: on
 * the coarsest level those close enough, on others those with such a weight in the solution x of the next coarser one,
 * whose nodes are the current ones; and sets x of this level to the initial guess. On the finest level the nodes are those near vertices,
 * or, after these are solved, the rest. `hold` scales H. */
void px_heat_gather(const px_heat *h, uint32_t at, uint32_t target, float hold, bool rest, px_heat_scratch *s);
/* Conjugate gradients for x on these nodes, with x as initial guess, until the squared preconditioned
 * residual norm is `tolerance` times that of the right-hand side, or for `most` iterations. */
void px_heat_solve(const px_heat_level *l, float hold, px_heat_scratch *s, float *x, double tolerance, uint32_t most);

#endif
