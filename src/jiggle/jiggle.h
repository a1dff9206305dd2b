/* Flesh from inside: a lattice around the mesh, moved by the skeleton, and what it does on its own.
 *
 *   subject.c   the mesh and the joints in one space: the world, at rest
 *   lattice.c   cells, particles, chains, where vertices lie; pieces.c: what is joined, what only touches
 *   bones.c     where bones lie
 *   weights.c   which joints move a particle
 *   parts.c     particles by bone and by joint
 */
#ifndef PELT_JIGGLE_ROOM_H
#define PELT_JIGGLE_ROOM_H

#include "voxel/graph.h"
#include "weights/weights.h"

/* ---- What is given a lattice ------------------------------------------------------------------------------ */

/* A model in the world, in its rest pose. A joint at global G moves what it holds by G · joints[j]⁻¹. */
typedef struct px_jiggle_subject {
    const pelt_model *model; /* welded */
    float *positions;        /* [vertex of the mesh][3] as pelt_model_pose gives them at rest */
    pelt_affine *joints;     /* [joint] globals at rest */
    pelt_affine *inverses;   /* [joint] their inverses; of joints without one: of their parents, at last the identity */
    uint32_t row_count;      /* welded vertices: those of one row are at one place, at rest */
    uint32_t *rows;          /* [vertex of the mesh] */
    float *row_positions;    /* [row][3] */
    uint32_t *triangles;     /* [triangle of the mesh][3] rows */
} px_jiggle_subject;

/* Welds the model. Arrays live in the arena. */
pelt_result px_jiggle_subject_make(pelt_context *context, px_arena *arena, pelt_model *model,
                                   px_jiggle_subject *subject);

/* ---- Lattice ---------------------------------------------------------------------------------------------- */

#define PX_LATTICE_PARTICLES  2000u /* about as many, where nobody says how large cells are */
#define PX_LATTICE_CELLS_MOST 1024u

/* Particles in runs: those of chain c are items[firsts[c]] … items[firsts[c + 1] − 1]. */
typedef struct px_chains {
    uint32_t count;
    uint32_t *firsts; /* [count + 1] */
    uint32_t *items;
} px_chains;

/* Cubes around and in the mesh. Two cells may be at one place and know nothing of each other: two fingers that pass
 * through one cube are two cells. Cells side by side share the four corners between them where the mesh goes on, so
 * particles too may lie on each other and stay apart. */
typedef struct px_lattice {
    float cell;              /* a cell's side */
    double origin[3];        /* of place (0, 0, 0) */
    uint32_t cell_count;     /* */
    uint32_t particle_count; /* */
    uint32_t (*cells)[8];    /* [cell] its particles: corner x + 2y + 4z */
    float (*fills)[8];       /* [cell][corner] how much of the octant there the mesh fills, 0 to 1 */
    int32_t (*places)[3];    /* [particle] place on the grid, ≥ 0 */
    float *rest;             /* [particle][3] origin + cell · place */
    px_graph links;          /* particles side by side, each edge from both ends; weights: cells around it / 4 */
    px_chains chains[3];     /* along x, y, z, ascending. Every link is in one chain: a particle from which the lattice
                              * goes on in two ways is in two chains, every particle in at least one of each axis */
    uint32_t vertex_count;   /* of what it was made for */
    uint32_t *vertex_cells;  /* [vertex] the cell it lies in; PELT_NONE: in none */
    float *vertex_places; /* [vertex][3] in it, 0 to 1 each but for rounding: weights of corners are their products */
} px_lattice;

/* What becomes a lattice. Vertices need not be in triangles, and triangles need no area. */
typedef struct px_lattice_source {
    const float *positions; /* [vertex][3] finite */
    uint32_t vertex_count;
    const uint32_t *triangles; /* [triangle][3] */
    uint32_t triangle_count;
    uint32_t cells;     /* along the longest side of the box, 1 to PX_LATTICE_CELLS_MOST; 0: as many as give … */
    uint32_t particles; /* … about this number of particles; 0: PX_LATTICE_PARTICLES */
} px_lattice_source;

/* Vertices are the source's: rows of a subject. Arrays live in the arena; after a failure *out is empty. */
pelt_result px_lattice_make(pelt_context *context, px_arena *arena, const px_lattice_source *source, px_lattice *out);
/* The lattice of a subject, whose vertices are those of the mesh. */
pelt_result px_jiggle_lattice(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject, uint32_t cells,
                              uint32_t particles, px_lattice *out);

/* ---- Bones ------------------------------------------------------------------------------------------------ */

/* A stretch of a bone from its joint to a child, or to where its flesh ends. */
typedef struct px_jiggle_bone {
    uint32_t joint, child; /* child PELT_NONE: there is none */
    float from[3], to[3];  /* in the world, at rest */
} px_jiggle_bone;

typedef struct px_jiggle_bones {
    uint32_t count;
    px_jiggle_bone *items; /* in the order of joints */
} px_jiggle_bones;

/* Those of joints that the skin uses; without a skin, of all. A joint without children has a stretch through the middle
 * of its vertices, or one without length where it has none. */
pelt_result px_jiggle_bones_make(px_arena *arena, const px_jiggle_subject *subject, px_jiggle_bones *bones);
/* How far p is from a stretch; *along: 0 at its joint to 1 at its end. */
float px_jiggle_bone_distance(const px_jiggle_bone *bone, const float p[3], float *along);

/* ---- Weights ---------------------------------------------------------------------------------------------- */

#define PX_JIGGLE_INFLUENCES 8u

/* Both give a row of joints (not bones) for every particle, at most PX_JIGGLE_INFLUENCES, sum 1. Particles of pieces that
 * get none have those of the nearest particle that has some. */

/* From the skin of the subject's model: what vertices have goes to the corners of their cells; between, weights are
 * harmonic. Fails without a skin. */
pelt_result px_jiggle_weights_from_skin(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                        const px_lattice *lattice, px_weight_table *weights);

/* How a bone heats. */
typedef struct px_jiggle_heat {
    float strength; /* its heat, > 0; 1 */
    float width;    /* in cells, > 0: particles this near to the bone are its own; 1 */
} px_jiggle_heat;

/* By diffusion from the bones: a bone's own particles are held at 1 and those of other bones at 0, between them heat is
 * harmonic, and counts by strength. A particle near several bones is the nearest one's, distances over widths; a bone
 * near none takes the nearest. `heat` [joint] or NULL: strength and width 1. */
pelt_result px_jiggle_weights_by_heat(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                                      const px_lattice *lattice, const px_jiggle_heat *heat, px_weight_table *weights);

/* ---- Parts ------------------------------------------------------------------------------------------------ */

/* Particles by whom they belong to. Parts come from the root outwards: by joint, ascending. */
typedef struct px_jiggle_parts {
    uint32_t *bones; /* [particle] the joint with the largest weight */
    uint32_t *parts; /* [particle] its part around a joint: of a bone's particles those of the first half are its
                      * joint's, those of the second half the child's; all where there is no child */
    uint32_t part_count;
    uint32_t *joints; /* [part] its joint, ascending */
} px_jiggle_parts;

pelt_result px_jiggle_parts_make(px_arena *arena, const px_jiggle_subject *subject, const px_lattice *lattice,
                                 const px_weight_table *weights, px_jiggle_parts *parts);

#endif
