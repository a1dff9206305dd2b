/* Vertices of thin tissue and of rigid shells keep the skin of the rig; see hold.c. */
#ifndef PELT_JIGGLE_HOLD_H
#define PELT_JIGGLE_HOLD_H

#include "jiggle/detail.h"
#include "jiggle/thickness.h"

/* One lattice. */
typedef struct px_hold_lattice {
    const px_weight_table *weights;
    uint32_t particle_count;
    const float *rest; /* [particle][3] */
    float *shares;     /* [particle] h; NULL: 0 everywhere */
    float *limits;     /* [particle] bound on the difference to linear blending, units */
    float *linear;     /* [particle][4] scratch: by linear blending */
    float *moved;      /* [particle][4] scratch */
} px_hold_lattice;

typedef struct px_hold {
    const pelt_model *model;
    const px_jiggle_subject *subject;
    px_hold_lattice coarse, fine; /* fine: of no particles where there is no detail */
    float *vertex_shares;         /* [vertex] h; NULL: 0 everywhere */
    const bool *rigid;            /* [vertex] moved by the skin of the rig alone; NULL: none */
    float *bind;                  /* [vertex][3] in the bind pose, with morphs as at rest */
    float *morphed;               /* [vertex][3] scratch: with morphs as they are; NULL: there are none */
    float *skinned;               /* [vertex][3] scratch: by the rig's skin … */
    float *normals;               /* [vertex][3] scratch: the same of normals; NULL: the mesh has none */
    float *blended;               /* … and by linear blending of the lattices */
    pelt_affine *motions;         /* [joint] scratch */
    pelt_affine *palette;         /* [bone] scratch */
} px_hold;

/* rigid [vertex] or NULL: see px_rigid_find. Arrays live in the arena; all arguments must outlive it. */
pelt_result px_hold_make(pelt_context *context, px_arena *arena, const px_jiggle_subject *subject,
                         const px_lattice *lattice, const px_weight_table *weights, const px_detail *detail,
                         const px_thickness *thickness, const bool *rigid, px_hold *out);
/* Linear blending of both lattices for joints at `globals` [joint]. The functions below need it. Never allocates. */
void px_hold_pose(const px_hold *hold, const px_detail *detail, const pelt_affine *globals);
/* Clamps the difference of particles [particle][4] to linear blending, in proportion to h. Returns `particles` where h is 0
 * everywhere. Never allocates. */
const float *px_hold_particles(const px_hold_lattice *lattice, const float *particles);
/* Applies the formula of hold.c to `positions`, which the embeddings computed from those particles. Vertices of rigid shells
 * get position and normal of the skin of the rig. `normals` may be NULL. Never allocates. */
void px_hold_vertices(const px_hold *hold, const px_mesh_embedding *mesh, const px_mesh_embedding *fine,
                      const pelt_affine *globals, float *positions, float *normals);

#endif
