/* Blends vertices of thin tissue towards the rig's own skinning; vertices of rigid shells use it alone. See hold.c. */
#ifndef PELT_JIGGLE_HOLD_H
#define PELT_JIGGLE_HOLD_H

#include "jiggle/detail.h"
#include "jiggle/thickness.h"

/* Data per particle of one lattice. h: share of the rig's skinning, 0 to 1. */
typedef struct px_hold_lattice {
    const px_weight_table *weights;
    uint32_t particle_count;
    const float *rest; /* [particle][3] */
    float *shares;     /* [particle] h; NULL: 0 for all */
    float *limits;     /* [particle] bound on the distance from linear blend skinning, units */
    float *linear;     /* [particle][4] scratch: positions by linear blend skinning */
    float *moved;      /* [particle][4] scratch */
} px_hold_lattice;

typedef struct px_hold {
    const pelt_model *model;
    const px_jiggle_subject *subject;
    px_hold_lattice coarse, fine; /* fine: particle_count 0 without detail */
    float *vertex_shares;         /* [vertex] h; NULL: 0 for all */
    const bool *rigid;            /* [vertex] skinned by the rig alone; NULL: no vertex */
    float *bind;                  /* [vertex][3] bind pose with the rest weights of morphs */
    float *morphed;       /* [vertex][3] scratch: bind pose with the current weights of morphs; NULL: no morphs */
    float *skinned;       /* [vertex][3] scratch: positions skinned by the rig */
    float *normals;       /* [vertex][3] scratch: normals skinned by the rig; NULL: the mesh has no normals */
    float *blended;       /* [vertex][3] scratch: positions from linear blend skinning of the lattices */
    pelt_affine *motions; /* [joint] scratch */
    pelt_affine *palette; /* [bone] scratch */
} px_hold;

/* rigid [vertex] or NULL: from px_rigid_find. Arrays live in the arena; all arguments must outlive it. */
pelt_result px_hold_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                         const px_lattice *lattice, const px_weight_table *weights, const px_detail *detail,
                         const px_thickness *thickness, const bool *rigid, px_hold *out);
/* Computes linear blend skinning of both lattices for joints at `globals` [joint]. Call it before the functions
 * below. Never allocates. */
void px_hold_pose(const px_hold *hold, const px_detail *detail, const pelt_affine *globals);
/* Clamps the distance of particles [particle][4] from linear blend skinning, in proportion to h. Returns `particles`
 * if h is 0 for all. Never allocates. */
const float *px_hold_particles(const px_hold_lattice *lattice, const float *particles);
/* Applies the formula of hold.c to `positions`, which the embeddings computed from those particles. Vertices of
 * rigid shells get position and normal of the rig's skinning. `normals` may be NULL. Never allocates. */
void px_hold_vertices(const px_hold *hold, const px_mesh_embedding *mesh, const px_mesh_embedding *fine,
                      const pelt_affine *globals, float *positions, float *normals);

#endif
