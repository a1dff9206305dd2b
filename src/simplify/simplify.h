/* Mesh simplification by edge collapses with quadrics summed over poses (internal header).
 *
 *   poses.c     selects poses that represent the motion
 *   mesh.c      connectivity, borders, folds and seams
 *   quadric.c   error quadrics in all poses
 *   topology.c  validity and execution of a collapse
 *   collapse.c  priority queue of collapses
 *   level.c     builds the simplified model
 *   simplify.c  entry points
 *
 * A class is a set of vertices that coincide and have equal weights. Edges between classes collapse; vertices (the
 * wedges of a class, its sides at a seam) follow. Data of poses is contiguous, [class][…][pose], so that loops over
 * poses read contiguous memory. Lengths are fractions of the model's size. */
#ifndef PELT_SIMPLIFY_SIMPLIFY_H
#define PELT_SIMPLIFY_SIMPLIFY_H

#include "core/skin.h"

#include <pelt/simplify.h>

/* Freedom of a class to collapse. */
typedef enum px_class_kind {
    PX_CLASS_FREE,  /* may collapse along any edge */
    PX_CLASS_EDGE,  /* on a border: may collapse along the border only */
    PX_CLASS_LOCKED /* cannot collapse or move */
} px_class_kind;

/* An edge whose shape is preserved: a border, a fold or a seam. */
typedef struct px_held_edge {
    uint32_t triangle, corner; /* the edge runs from this corner to the next one */
    float weight;              /* of its quadric, in addition to those of the triangles' planes */
} px_held_edge;

typedef struct px_simplify {
    pelt_context *context;
    px_arena *arena;
    pelt_model *model;
    pelt_simplify_desc desc;
    pelt_vertex_classes classes; /* the weld, split where weights differ */
    double size;                 /* diagonal of the mesh's bounding box at rest, object units; 1 if that is 0 */
    /* Poses */
    uint32_t pose_count;
    bool own_places; /* positions are given per pose, by a clip; else they follow from the rest pose */
    float *places;   /* [class][3][pose] positions */
    float *linear;   /* [class][9][pose] linear part of the blended transform; NULL: the identity */
    float
        *quadrics; /* [class][10][pose] xx xy xz yy yz zz, x y z, 1; about the class's place, times the pose's weight */
    double *weights;    /* [pose] sum 1 */
    double (*moves)[3]; /* [class] displacement at rest, object units; 0 with own_places */
    /* Original mesh */
    uint32_t *faces; /* [triangle][3] classes */
    uint32_t held_count;
    px_held_edge *held; /* [held_count] borders, folds and seams */
    /* Current mesh */
    uint32_t triangle_count;  /* remaining triangles */
    uint32_t *corners;        /* [triangle][3] vertices; the first is PELT_NONE if the triangle was removed */
    uint32_t *next;           /* [triangle][3] next corner of the same class: a circular list */
    uint32_t *first;          /* [class] first corner of its list, or PELT_NONE */
    uint8_t *kinds;           /* [class] px_class_kind */
    uint32_t *parents;        /* [class] class that it collapsed into; itself if it remains */
    uint32_t *part_of;        /* [vertex] its part, if parts have separate vertices; else NULL */
    uint32_t *triangle_parts; /* [triangle] its part */
    uint32_t *part_counts;    /* [part] remaining triangles */
    double harm;              /* largest px_collapse.distance so far */
} px_simplify;

/* Iteration over the corners of a class. Corners of removed triangles are unlinked when the iteration meets them. A
 * class without triangles has no first corner: PELT_NONE. */
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
/* Loops over all corners of class u. */
#define PX_CIRCLE(s, u, corner)                                                                                        \
    for (uint32_t px_start = px_circle_first(s, u), corner = px_start; corner != PELT_NONE;                            \
         corner = px_circle_next(s, corner), corner = corner == px_start ? PELT_NONE : corner)

/* Selects poses that represent the motion and computes positions of all classes in them (poses.c). */
pelt_result px_simplify_poses(px_simplify *s);

/* Builds faces, corner lists, kinds and held edges (mesh.c). Requires `places`. */
pelt_result px_simplify_mesh(px_simplify *s);

/* ---- Quadrics (quadric.c) --------------------------------------------------------------------------------- */

#define PX_QUADRIC 10

/* Adds one pose's quadrics of all original faces and held edges, times `weight`, to the owners of their classes: owners
 * [class]; NULL: each class is its own owner. positions [class][3] are fractions of the model's size. A quadric is
 * relative to its owner's position. quadrics [class][10][stride]; entry `pose` is changed. */
void px_quadrics_add(const px_simplify *s, const float *positions, const uint32_t *owners, double weight,
                     float *quadrics, uint32_t stride, uint32_t pose);

/* Result of collapsing class `go` into `keep`. */
typedef struct px_collapse {
    double cost;     /* quadric error, sum over poses */
    double distance; /* RMS distance from the planes, in the worst pose */
    double move[3];  /* displacement of `keep` at rest, as a fraction of the model's size; 0 with own_places */
} px_collapse;
/* Also computes moves [3][pose], the displacement of `keep` in each pose, and quadrics [10][pose], the sum of both
 * classes relative to the old position of `keep`. Both may be NULL. */
void px_collapse_measure(const px_simplify *s, uint32_t go, uint32_t keep, px_collapse *out, float *moves,
                         float *quadrics);
/* Changes the origin of quadrics [10][pose] to that of a class displaced by moves [3][pose]. */
void px_quadrics_shift(uint32_t pose_count, const float *moves, float *quadrics);
/* Displacement of least quadric error, regularized towards 0. */
void px_quadric_solve(const double quadric[PX_QUADRIC], double move[3]);

/* ---- Collapses -------------------------------------------------------------------------------------------- */

/* Whether class `go` can collapse into `keep` (topology.c), and which vertex of `keep` replaces each vertex of `go`. */
#define PX_WEDGES_MAX 32
typedef struct px_wedges {
    uint32_t count;
    uint32_t from[PX_WEDGES_MAX], to[PX_WEDGES_MAX]; /* vertices */
} px_wedges;
typedef struct px_topology px_topology;
pelt_result px_topology_create(px_simplify *s, px_topology **out);
bool px_topology_allows(px_topology *topology, uint32_t go, uint32_t keep, px_wedges *wedges);
/* Removes the triangles that contain both classes and replaces `go` by `keep` in the others. */
void px_topology_collapse(px_topology *topology, uint32_t go, uint32_t keep, const px_wedges *wedges);
/* Calls visit(user, class) once for every neighbour. */
void px_topology_neighbours(px_topology *topology, uint32_t u, void (*visit)(void *user, uint32_t u), void *user);

/* Collapses edges until at most `wanted` triangles remain or no collapse is possible (collapse.c). */
typedef struct px_queue px_queue;
pelt_result px_queue_create(px_simplify *s, px_queue **out);
pelt_result px_queue_run(px_queue *queue, uint32_t wanted);

/* Stores the current mesh with skin, morphs and clips in `target`, in its memory (level.c). */
pelt_result px_simplify_build(px_simplify *s, pelt_model *target);

#endif
