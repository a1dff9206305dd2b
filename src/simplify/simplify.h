/* Simplification from inside: what is known of the model in its poses, the mesh as it shrinks, and the levels.
 *
 * A class is a set of vertices that coincide and are weighted alike. Edges between classes collapse; vertices
 * (wedges of a class: its sides at a seam) follow. Numbers of poses lie side by side, [class][…][pose], so that loops over
 * poses are loops over memory. Lengths are parts of the model's size.
 */
#ifndef PELT_SIMPLIFY_SIMPLIFY_H
#define PELT_SIMPLIFY_SIMPLIFY_H

#include "core/skin.h"

#include <pelt/simplify.h>

/* What may happen to a class. */
typedef enum px_class_kind {
    PX_CLASS_FREE,  /* it may go anywhere */
    PX_CLASS_EDGE,  /* it is on a border, and goes only along that */
    PX_CLASS_LOCKED /* it stays where it is */
} px_class_kind;

/* An edge that must stay in shape: a border, a fold or a seam. */
typedef struct px_held_edge {
    uint32_t triangle, corner; /* from this corner to the next one */
    float weight;              /* of its quadric, beside that of the triangles' planes */
} px_held_edge;

typedef struct px_simplify {
    pelt_context *context;
    px_arena *arena;
    pelt_model *model;
    pelt_simplify_desc desc;
    pelt_vertex_classes classes; /* the weld, split where weights differ */
    double size;                 /* of the model in its first pose */
    /* Poses */
    uint32_t pose_count;
    bool own_places; /* vertices have a place of their own in every pose: those of a clip */
    float *places;   /* [class][3][pose] */
    float *linear;   /* [class][9][pose] how a displacement at rest moves with the class; NULL: as it is */
    float
        *quadrics; /* [class][10][pose] xx xy xz yy yz zz, x y z, 1; about the class's place, times the pose's weight */
    double *weights;    /* [pose] sum 1 */
    double (*moves)[3]; /* [class] displacement at rest, object units; stays 0 with own_places */
    /* The mesh as it was … */
    uint32_t *faces; /* [triangle][3] classes */
    uint32_t held_count;
    px_held_edge *held; /* [held_count] */
    /* … and as it is */
    uint32_t triangle_count;  /* that are left */
    uint32_t *corners;        /* [triangle][3] vertices; the first is PELT_NONE of those that went */
    uint32_t *next;           /* [triangle][3] the next corner of the same unit, round in a circle */
    uint32_t *first;          /* [class] one of its corners, or PELT_NONE */
    uint8_t *kinds;           /* [class] px_class_kind */
    uint32_t *parents;        /* [class] the class that it went to; itself while it stays */
    uint32_t *part_of;        /* [vertex] its part, where parts have vertices of their own; else NULL */
    uint32_t *triangle_parts; /* [triangle] its part … */
    uint32_t *part_counts;    /* … [part] and how many triangles that has left */
    double harm;              /* largest so far */
} px_simplify;

/* Triangles that went leave circles when these pass by. A class without triangles has no first corner: PELT_NONE. */
static inline bool px_corner_gone(const px_simplify *s, uint32_t corner) {
    return s->corners[corner - corner % 3] == PELT_NONE;
}
static inline uint32_t px_circle_next(px_simplify *s, uint32_t corner) {
    uint32_t at = s->next[corner];
    while (at != corner && px_corner_gone(s, at))
        at = s->next[at];
    return s->next[corner] = at;
}
static inline uint32_t px_circle_first(px_simplify *s, uint32_t u) {
    uint32_t at = s->first[u];
    if (at != PELT_NONE && px_corner_gone(s, at)) {
        at = px_circle_next(s, at);
        s->first[u] = at = px_corner_gone(s, at) ? PELT_NONE : at;
    }
    return at;
}

static inline uint32_t px_corner_class(const px_simplify *s, uint32_t corner) {
    return s->classes.of[s->corners[corner]];
}
static inline uint32_t px_next_corner(uint32_t corner) {
    return corner % 3 == 2 ? corner - 2 : corner + 1;
}
/* For every corner of a class: */
#define PX_CIRCLE(s, u, corner)                                                                                        \
    for (uint32_t px_start = px_circle_first(s, u), corner = px_start; corner != PELT_NONE;                            \
         corner = px_circle_next(s, corner), corner = corner == px_start ? PELT_NONE : corner)

/* Poses that stand for the motion, and all classes in them (poses.c). */
pelt_result px_simplify_poses(px_simplify *s);

/* Faces, circles of corners, kinds and held edges (mesh.c). Needs the places. */
pelt_result px_simplify_mesh(px_simplify *s);

/* ---- Quadrics (quadric.c) --------------------------------------------------------------------------------- */

#define PX_QUADRIC 10

/* One pose's quadrics of all faces and held edges, times `weight`, added up at the owner of each class: owners [class]
 * (NULL: the class itself). positions [class][3], lengths as parts of the model's size. They are about the owner's
 * position. quadrics [class][10][stride], of which number `pose` is changed. */
void px_quadrics_add(const px_simplify *s, const float *positions, const uint32_t *owners, double weight,
                     float *quadrics, uint32_t stride, uint32_t pose);

/* What the collapse of class `go` into `keep` comes to. */
typedef struct px_collapse {
    double cost;     /* Σ over poses */
    double distance; /* RMS of the planes' distances in the worst pose */
    double move[3];  /* of `keep` at rest, as a part of the model's size; 0 with own_places */
} px_collapse;
/* With moves [3][pose] of `keep` in the poses, and quadrics [10][pose] of both about its old place; NULL: not wanted. */
void px_collapse_measure(const px_simplify *s, uint32_t go, uint32_t keep, px_collapse *out, float *moves,
                         float *quadrics);
/* The quadrics [10][pose] of a class that has moved by moves [3][pose]. */
void px_quadrics_shift(uint32_t pose_count, const float *moves, float *quadrics);
/* The move of least harm by one quadric, not far from 0. */
void px_quadric_solve(const double quadric[PX_QUADRIC], double move[3]);

/* ---- Collapsing ------------------------------------------------------------------------------------------- */

/* Whether a class can go into another without harm to the mesh (topology.c): its wedges have partners, see wedges. */
#define PX_WEDGES_MAX 32
typedef struct px_wedges {
    uint32_t count;
    uint32_t from[PX_WEDGES_MAX], to[PX_WEDGES_MAX]; /* vertices */
} px_wedges;
typedef struct px_topology px_topology;
pelt_result px_topology_create(px_simplify *s, px_topology **out);
bool px_topology_allows(px_topology *topology, uint32_t go, uint32_t keep, px_wedges *wedges);
/* Does it: faces that have both go, others have `keep` in place of `go`. */
void px_topology_collapse(px_topology *topology, uint32_t go, uint32_t keep, const px_wedges *wedges);
/* Calls visit(user, class) for every neighbour, each once. */
void px_topology_neighbours(px_topology *topology, uint32_t u, void (*visit)(void *user, uint32_t u), void *user);

/* Collapses until no more than `wanted` triangles are left, or nothing can go (collapse.c). */
typedef struct px_queue px_queue;
pelt_result px_queue_create(px_simplify *s, px_queue **out);
pelt_result px_queue_run(px_queue *queue, uint32_t wanted);

/* The level as it is now becomes the mesh, skin, morphs and clips of `target`, in its memory (level.c). */
pelt_result px_simplify_build(px_simplify *s, pelt_model *target);

#endif
