/* Diffusion from inside: graphs from fine to coarse, and one bone's system on them. */
#ifndef PELT_BIND_HEAT_H
#define PELT_BIND_HEAT_H

#include "bind/bind.h"

#include <pthread.h>

#define PX_HEAT_LEVELS 4u

typedef struct px_heat_level {
    px_graph graph;
    float *degrees;   /* [node] sum of its edges' weights */
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
    float *distances;       /* [voxel] to its bone */
    uint32_t *labels;       /* [voxel] target */
    uint32_t *label_firsts; /* [target + 1] */
    uint32_t *label_voxels; /* voxels by label: label_firsts[t] … label_firsts[t + 1] − 1 */
    px_bind_place *places;  /* [class] */
    float *values;          /* [class][target] */
    float **strongest;      /* [block][node of the coarsest level] the largest weight of the block's targets … */
    uint32_t **winners;     /* … and whose it is, while borders move */
    pthread_mutex_t lock;   /* of: */
    struct px_heat_scratch *idle; /* what solving takes, when no block is using it */
} px_heat;

/* What solving takes. Vectors are 0 outside the nodes at hand, so that edges that lead out of them need no check. */
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
/* The node of a level that a voxel is in. */
static inline uint32_t px_heat_node(const px_heat *h, uint32_t at, uint32_t voxel) {
    for (uint32_t n = 0; n < at; n++)
        voxel = h->levels[n].groups[voxel];
    return voxel;
}
/* A target's right-hand side H p on a level, and the nodes where its solution will not have faded, ascending. H counts
 * `hold` times. */
void px_heat_gather(const px_heat *h, uint32_t at, uint32_t target, float hold, px_heat_scratch *s);
/* Solves for x at these nodes by conjugate gradients, from x as it is, until the residual's energy is `tolerance` times
 * that of the right-hand side, or for `most` iterations. */
void px_heat_solve(const px_heat_level *l, float hold, px_heat_scratch *s, float *x, double tolerance, uint32_t most);

#endif
