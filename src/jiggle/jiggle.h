/* Soft-tissue simulation: the lattice around a mesh, and the joint weights of its particles.
 *
 *   subject.c   mesh and joints in world space, in the rest pose
 *   lattice.c   cells, particles, chains, embedding of vertices; pieces.c: connected pieces of voxels
 *   bones.c     segments of bones
 *   weights.c   joint weights of particles; diffuse.c: by iterated diffusion
 *   parts.c     grouping of particles by bone and by joint
 */
#ifndef PELT_JIGGLE_INTERNAL_H
#define PELT_JIGGLE_INTERNAL_H

#include "voxel/graph.h"
#include "weights/weights.h"

#include <pelt/jiggle.h>

/* ---- Subject ---------------------------------------------------------------------------------------------- */

/* A model in world space, in its rest pose. A joint at global G moves its tissue by G · joints[j]⁻¹. */
typedef struct px_jiggle_subject {
    const pelt_model *model; /* welded */
    float *positions;        /* [vertex][3] output of pelt_model_pose at rest */
    pelt_affine *joints;     /* [joint] global transforms at rest */
    pelt_affine *inverses;   /* [joint] inverses of `joints`; singular: the parent's inverse, for a root the identity */
    pelt_vertex_classes classes; /* the weld, split by rest positions in world space */
    float *class_positions;      /* [class][3] */
    uint32_t *triangles;         /* [triangle of the mesh][3] classes */
} px_jiggle_subject;

/* Welds the model. Arrays live in the arena. */
pelt_result px_jiggle_subject_make(pelt_context *context, px_arena *arena, pelt_model *model,
                                   px_jiggle_subject *subject);

/* ---- Lattice ---------------------------------------------------------------------------------------------- */

#define PX_LATTICE_DEFAULT_PARTICLES 2000u /* approximate, where the cell size is not given */
#define PX_LATTICE_MAX_CELLS         1024u

/* Runs of particles: chain c is items[firsts[c]] … items[firsts[c + 1] − 1]. */
typedef struct px_chains {
    uint32_t count;
    uint32_t *firsts; /* [count + 1] */
    uint32_t *items;
} px_chains;

/* Cubic cells around and inside the mesh. Cells at the same grid position need not be connected: two fingers that
 * pass through one cube are two cells. Neighbouring cells share their four common corners where the mesh continues,
 * so two particles may also have the same grid position. */
typedef struct px_lattice {
    float cell;       /* side of a cell, units */
    double origin[3]; /* world position of grid position (0, 0, 0) */
    uint32_t cell_count;
    uint32_t particle_count;
    uint32_t (*cells)[8];   /* [cell] its particles: corner x + 2y + 4z */
    float (*fills)[8];      /* [cell][corner] fraction of the octant that the mesh fills, 0 to 1 */
    int32_t (*places)[3];   /* [particle] grid position, ≥ 0 */
    float *rest;            /* [particle][3] origin + cell · place */
    px_graph links;         /* neighbouring particles, each edge from both ends; weights: cells around the edge / 4 */
    px_chains chains[3];    /* along x, y, z, ascending. Every link is in one chain: a particle where the lattice
                              * branches is in two chains; every particle is in at least one of each axis */
    uint32_t vertex_count;  /* vertices of the source */
    uint32_t *vertex_cells; /* [vertex] the cell that contains it; PELT_NONE: none */
    float *
        vertex_places; /* [vertex][3] coordinates in the cell, 0 to 1 up to rounding; their products = corner weights */
} px_lattice;

/* Input of a lattice. Vertices without triangles and triangles without area are allowed. */
typedef struct px_lattice_source {
    const float *positions; /* [vertex][3] finite */
    uint32_t vertex_count;
    const uint32_t *triangles; /* [triangle][3] */
    uint32_t triangle_count;
    uint32_t cells;     /* along the longest side of the box, 1 to PX_LATTICE_MAX_CELLS; 0: chosen for `particles` */
    uint32_t particles; /* approximate number; 0: PX_LATTICE_DEFAULT_PARTICLES */
} px_lattice_source;

/* Vertices of the lattice are those of the source. Arrays live in the arena; after a failure *out is empty. */
pelt_result px_lattice_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, px_lattice *out);
/* The lattice of a subject, whose vertices are those of the mesh. */
pelt_result px_jiggle_lattice(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject, uint32_t cells,
                              uint32_t particles, px_lattice *out);

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* A segment of a bone, from its joint to a child or to the end of its tissue. */
typedef struct px_jiggle_bone {
    uint32_t joint, child; /* child: PELT_NONE at the end of a chain */
    float from[3], to[3];  /* world space, at rest */
} px_jiggle_bone;

typedef struct px_jiggle_bones {
    uint32_t count;
    px_jiggle_bone *items; /* in the order of joints */
} px_jiggle_bones;

/* Segments of the joints that the skin uses; without a skin, of all joints. A joint without children has a segment
 * through the centroid of its vertices, or one of length 0 where it has none. */
pelt_result px_jiggle_bones_make(px_arena *arena, const px_jiggle_subject *subject, px_jiggle_bones *bones);
/* Distance from p to the segment. *along: parameter of the nearest point, 0 at the joint to 1 at the end. */
float px_jiggle_bone_distance(const px_jiggle_bone *bone, const float p[3], float *along);

/* ---- Weights ---------------------------------------------------------------------------------------------- */

#define PX_JIGGLE_INFLUENCES 8u

/* These functions compute a row of joints (not bones) for every particle, at most PX_JIGGLE_INFLUENCES, with sum 1.
 * Particles without a row copy the row of the nearest particle that has one. */

/* From the skin of the subject's model: weights of vertices are distributed to the corners of their cells, and
 * interpolated harmonically elsewhere. Fails without a skin. */
pelt_result px_jiggle_weights_from_skin(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                        const px_lattice *lattice, px_weight_table *weights);

/* Heat source of a bone. */
typedef struct px_jiggle_heat {
    float strength; /* > 0; default 1 */
    float width;    /* in cells, > 0; default 1: particles closer to the bone have its heat alone */
} px_jiggle_heat;

/* By heat diffusion: for each bone, its own particles have temperature 1 and those of other bones 0; the other
 * particles solve the Laplace equation. Temperatures are multiplied by strength. A particle near several bones
 * belongs to the one with the smallest distance / width; a bone without particles takes the nearest one. `heat`
 * [joint] or NULL: strength and width 1. */
pelt_result px_jiggle_weights_by_heat(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                      const px_lattice *lattice, const px_jiggle_heat *heat, px_weight_table *weights);
/* The same by iterated means over the 26 neighbours, at most four joints (diffuse.c). */
pelt_result px_jiggle_weights_by_iteration(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                           const px_lattice *lattice, const px_jiggle_heat *heat,
                                           px_weight_table *weights);

/* Shared by the two: rows of the particles of bones, marked in `known` [particle]. */
pelt_result px_jiggle_heat_sources(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                   const px_lattice *lattice, const px_jiggle_heat *heat, px_weight_table *table,
                                   uint8_t **known);
/* Copies rows to particles that are not `known`, multiplies by the strength of joints and keeps the largest influences. */
pelt_result px_jiggle_weights_cut(px_arena *arena, const px_lattice *lattice, const px_jiggle_heat *heat,
                                  uint32_t influences, const uint8_t *known, px_weight_table *table,
                                  px_weight_table *out);

/* ---- Parts ------------------------------------------------------------------------------------------------ */

/* Particles grouped by bone and by joint. Parts are sorted by joint: parents before children. */
typedef struct px_jiggle_parts {
    uint32_t *bones; /* [particle] the joint with the largest weight */
    uint32_t *parts; /* [particle] its part: first half of a bone: its joint's; second half: the child joint's */
    uint32_t part_count;
    uint32_t *joints; /* [part] its joint, ascending */
    uint32_t *halves; /* [part] of a split part: the bone whose half it is; else PELT_NONE */
} px_jiggle_parts;

/* desc->parts: parts to merge or split; `desc` NULL: none. */
pelt_result px_jiggle_parts_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                                 const px_weight_table *weights, const pelt_jiggle_desc *desc, px_jiggle_parts *parts);

#endif
