/* Graphs of voxels and of what is made of them. */
#ifndef PELT_VOXEL_GRAPH_H
#define PELT_VOXEL_GRAPH_H

#include "core/core.h"
#include "core/groups.h"

/* Nodes and weighted edges; the edges of node i are firsts[i] … firsts[i + 1] − 1, each edge is there from both ends. */
typedef struct px_graph {
    uint32_t count;
    uint32_t *firsts; /* [count + 1] */
    uint32_t *to;     /* [edge] */
    float *weights;   /* [edge] area over length */
} px_graph;

/* One node for every connected piece in a block of 2×2×2: what does not touch stays apart. `cells` [node][3] (replaced by
 * those of the coarser nodes), groups [node] the coarser node. */
pelt_result px_graph_coarsen(px_arena *arena, const px_graph *fine, uint16_t (**cells)[3], px_graph *coarse,
                             uint32_t **groups);

#endif
