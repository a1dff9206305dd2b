/* Weighted graphs of voxels, and their coarsening for multigrid. */
#ifndef PELT_VOXEL_GRAPH_H
#define PELT_VOXEL_GRAPH_H

#include "core/core.h"
#include "core/groups.h"

/* Undirected weighted graph in compressed rows: the edges of node i are [firsts[i], firsts[i + 1]); every edge is
 * stored at both ends. */
typedef struct px_graph {
    uint32_t count;   /* nodes */
    uint32_t *firsts; /* [node + 1] */
    uint32_t *to;     /* [edge] node at the other end */
    float *weights;   /* [edge] face area / distance of centres */
} px_graph;

/* The coarse node of each fine node, and the fine nodes of each coarse one. */
typedef struct px_graph_groups {
    uint32_t *of;      /* [fine node] coarse node */
    uint32_t *firsts;  /* [coarse node + 1] prefix sums: its first entry in `members` */
    uint32_t *members; /* fine nodes, ascending in each group */
} px_graph_groups;

/* Coarsens by blocks of 2×2×2 cells: one coarse node per connected component of the nodes in a block, so that surfaces
 * which do not touch are not merged. `cells` [node][3]: in, cells of the fine nodes; out, of the coarse nodes. */
pelt_result px_graph_coarsen(px_arena *arena, const px_graph *fine, uint16_t (**cells)[3], px_graph *coarse,
                             px_graph_groups *groups);

#endif
